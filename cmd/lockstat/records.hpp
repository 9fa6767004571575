// SPDX-License-Identifier: MIT
// Converts aggregations to the rows of the tables. The values for an event and a key
// form a record. Flags then select records and merge them into rows:
//
//   aggregations ── by event, key ──> records ── -f, -k, -c, -w, -W, -g ──> rows
#pragma once

#include <dtrace.h>

#include "arguments.hpp"
#include "program.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

struct Record {
    std::string lock, caller; // names as they are printed
    std::vector<std::string> stack;
    std::uint64_t count = 0, ns = 0;
    // Element n counts the times from 2^n up to 2^(n+1) ns. Element 0 also counts 0 ns.
    std::array<std::uint64_t, 64> histogram{};

    void add(const Record& other);
};

struct Rows {
    // The totals of all events. With -g, each event counts in the record of every
    // function in its stack. So the totals are less than the sums of the records.
    std::uint64_t count = 0, ns = 0;
    std::vector<Record> records; // in the order of printing
};

class Records {
public:
    Records(dtrace_hdl_t* session, const Arguments& args, std::vector<Range> functions)
        : session_(session), args_(args), functions_(std::move(functions))
    {
    }
    // Reads the aggregations. Must be called after dtrace_aggregate_snap(). Returns -1
    // and sets the session's error if it fails.
    int take();
    // Returns the rows of one event's table. Call it only once for each event, because
    // it changes the stacks of the event's records.
    Rows rows(const Event& event);

private:
    struct Raw {
        std::uint64_t lock = 0, caller = 0;
        std::vector<std::uint64_t> stack; // starts with the caller
        Record record;
    };
    static int on_aggregate(const dtrace_aggdata_t* data, void* arg);
    void add(const dtrace_aggdata_t& data, char what, int id);
    bool find_caller(Raw& raw, const Event& event);
    std::string lock_name(const Raw& raw, const Event& event);
    std::string place_name(std::uint64_t addr);
    void name(Raw& raw, const Event& event);
    void merge(std::map<std::string, Record>& to, const Record& record, std::size_t n);

    dtrace_hdl_t* session_;
    const Arguments& args_;
    std::vector<Range> functions_;
    std::map<std::pair<int, std::string>, Raw> raw_; // indexed by event and key
};
