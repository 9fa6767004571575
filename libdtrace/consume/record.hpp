// SPDX-License-Identifier: MIT
// What a record is, as callbacks see it.
//
//   ProbeData   one record: which probe, clause and CPU, when, and all its bytes
//   RecordDesc  one action's part of it: kind, where its bytes lie, how to print them
//
// These are views: valid during the callback. The bytes are the consumer's own copy of
// the arena, but what they say comes from a target: a count or an offset in them is not
// to be believed.
#pragma once

#include "dif/arena.h"
#include "libdtrace/compile/program.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct ProbeName {
    std::uint32_t id = 0;
    std::string provider, module, function, name;
};

// An action that records something (or prints at its place, as a printf without
// arguments does). Of a printf with several values each has one, the first has the
// format and n_values.
struct RecordDesc {
    std::uint32_t action = 0;   // DTRACEACT_*, DTRACEAGG_*
    std::uint32_t size = 0;     // bytes
    std::uint32_t offset = 0;   // from the record's start (its dt_rechdr), or in a key
    std::uint32_t n_values = 1; // this one included
    std::uint64_t arg = 0, uarg = 0;
    const Action* compiled = nullptr; // never null; type, format, place
};

// One enabled probe for one clause.
struct EcbInfo {
    std::uint32_t epid = 0;
    const ProbeName* probe = nullptr;
    const CompiledClause* clause = nullptr;
    const Program* program = nullptr;
    std::uint32_t record_bytes = 0;  // with its dt_rechdr
    std::vector<RecordDesc> records; // in order; aggregations are not among them
};

enum class Flow { Entry, Return, None };

struct ProbeData {
    const EcbInfo* ecb = nullptr;
    const ProbeName* probe = nullptr; // ecb->probe
    std::uint32_t cpu = 0;
    std::uint64_t timestamp = 0; // monotonic ns
    Flow flow = Flow::None;
    std::string_view prefix;           // "-> ", "<= ", "| ", ""
    int indent = 0;                    // columns; 0 unless flowindent
    std::span<const std::byte> record; // from its dt_rechdr on
    // Of one action: offset and size are checked; empty for an action without bytes.
    std::span<const std::byte> bytes(const RecordDesc& desc) const
    {
        if (desc.offset > record.size() || desc.size > record.size() - desc.offset)
            return {};
        return record.subspan(desc.offset, desc.size);
    }
};

// The C API's DTRACE_CONSUME_*.
enum class Verdict { Error = -1, This = 0, Next = 1, Abort = 2 };

// Asked about each record. This: print it in the default way; Next: skip it.
class RecordSink {
public:
    virtual ~RecordSink() = default;
    // Before a record's actions; Next skips all of them.
    virtual Verdict probe(const ProbeData& data) = 0;
    // Before each action, and with null after the last one of a record.
    virtual Verdict record(const ProbeData& data, const RecordDesc* desc) = 0;
    // It writes to the same place by other ways than Output, as a C program's callback
    // with its FILE does: text is handed on before each call.
    virtual bool writes_beside() const { return true; }
};

struct FaultEvent {
    const EcbInfo* ecb = nullptr; // whose clause faulted
    std::uint32_t cpu = 0;
    std::uint32_t action = 0; // from 1; 0: predicate
    std::uint32_t offset = 0; // in the DIF, bytes
    std::uint32_t fault = 0;  // DTRACEFLT_*
    std::uint64_t value = 0;  // address
    std::string text;   // "error on enabled probe ID 1 (ID 1: dtrace:::BEGIN): ..."
    int line = 0;       // in the D program; 0: not known
    std::string source; // that line, empty when its text is not known
};

struct DropEvent {
    std::uint32_t kind = 0; // DTRACEDROP_*
    std::optional<std::uint32_t> cpu;
    std::uint64_t count = 0; // since the last report
    std::uint64_t total = 0;
    std::string text; // "2 drops on CPU 0"; with droptags "[DTRACEDROP_PRINCIPAL] "
};

// What happens besides text. False ends the consumption.
class Events {
public:
    virtual ~Events() = default;
    virtual bool fault(const FaultEvent&) { return true; }
    virtual bool drop(const DropEvent&) { return true; }
    // setopt(): nothing when it took the option, else why not. Consumer::display() is
    // the implementer's to change; without Events setopt() changes it alone.
    virtual std::optional<std::string> setopt(std::string_view name,
                                              std::string_view value) = 0;
    // Runs a command of system() like system(3), and returns the same value. A session
    // continues to serve its targets meanwhile.
    virtual int run_command(const std::string& command)
    {
        return std::system(command.c_str());
    }
    // Prints a sentence on stderr (a failed freopen(), a corrupt shard).
    virtual void complain(std::string_view text) = 0;
};

std::string fault_text(std::uint32_t fault);

} // namespace dt
