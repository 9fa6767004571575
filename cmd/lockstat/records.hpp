// SPDX-License-Identifier: MIT
// Converts aggregations to rows for printing.
//
//   aggregations ── by event, keys ──> records ── -f, -k, -c, -w, -W, -g ──> rows
#pragma once

#include <dtrace.h>

#include "arguments.hpp"
#include "program.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

struct Record {
    std::string lock, caller; // in the printed form
    std::vector<std::string> stack;
    std::uint64_t count = 0, ns = 0;
    std::array<std::uint64_t, 64> histogram{}; // indexed by power of two

    void add(const Record& other);
};

struct Rows {
    // The totals of all records. With -g they are less than the sum of the records.
    std::uint64_t count = 0, ns = 0;
    std::vector<Record> records; // in the order of printing
};

class Records {
public:
    Records(dtrace_hdl_t* session, const Arguments& args, std::vector<Range> functions)
        : session_(session), args_(args), functions_(std::move(functions))
    {
    }
    // Call it after dtrace_aggregate_snap(). Returns -1 if it fails; the session's
    // error says why.
    int take();
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
