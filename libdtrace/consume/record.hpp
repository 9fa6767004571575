// SPDX-License-Identifier: MIT
// Records in the form that callbacks receive.
//
//   ProbeData   one record: its probe, clause, CPU and time, and all its bytes
//   RecordDesc  the part of a record that one action wrote: kind, offset, format
//
// Both are valid only during the callback. The bytes are the consumer's own copy, but
// come from a target. So counts and offsets in them are untrusted.
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

// An action that records or prints data. A printf has one RecordDesc for each value.
// The first RecordDesc has the format and n_values.
struct RecordDesc {
    std::uint32_t action = 0;   // DTRACEACT_*, DTRACEAGG_*
    std::uint32_t size = 0;     // bytes
    std::uint32_t offset = 0;   // from the start of the key or the record's dt_rechdr
    std::uint32_t n_values = 1; // number of the statement's values, including this one
    std::uint64_t arg = 0, uarg = 0;
    // The compiler's entry for the action. Null if a C program made this description.
    const Action* compiled = nullptr;
};

// One probe that is enabled for one clause.
struct EcbInfo {
    std::uint32_t epid = 0;
    const ProbeName* probe = nullptr;
    const CompiledClause* clause = nullptr;
    const Program* program = nullptr;
    std::uint32_t record_bytes = 0;  // size of a record, including its dt_rechdr
    std::vector<RecordDesc> records; // in order, without aggregations
};

enum class Flow { Entry, Return, None };

struct ProbeData {
    const EcbInfo* ecb = nullptr;
    const ProbeName* probe = nullptr; // ecb->probe
    std::uint32_t cpu = 0;
    std::uint64_t timestamp = 0; // monotonic ns
    Flow flow = Flow::None;
    std::string_view prefix;           // arrow for flowindent, such as " -> " or "| "
    int indent = 0;                    // in columns; 0 without the option flowindent
    std::span<const std::byte> record; // including its dt_rechdr
    // Returns the bytes of one action. Empty if they are not inside the record.
    std::span<const std::byte> bytes(const RecordDesc& desc) const
    {
        if (desc.offset > record.size() || desc.size > record.size() - desc.offset)
            return {};
        return record.subspan(desc.offset, desc.size);
    }
};

// The result of a callback, with the values of the C API's DTRACE_CONSUME_*.
enum class Verdict { Error = -1, This = 0, Next = 1, Abort = 2 };

// Receives each record. Verdict::This prints the record in the default form;
// Verdict::Next skips it. Earlier text is committed before each call, because a sink
// may write to the same file.
class RecordSink {
public:
    virtual ~RecordSink() = default;
    // Called before a record's actions. Verdict::Next skips all of them.
    virtual Verdict probe(const ProbeData& data) = 0;
    // Called before each action, and with null after the last action of a record.
    virtual Verdict record(const ProbeData& data, const RecordDesc* desc) = 0;
};

struct FaultEvent {
    const EcbInfo* ecb = nullptr; // the ECB whose clause faulted
    std::uint32_t cpu = 0;
    std::uint32_t action = 0; // number of the action, from 1; 0 for the predicate
    std::uint32_t offset = 0; // byte offset of the faulting instruction in the DIF
    std::uint32_t fault = 0;  // DTRACEFLT_*
    std::uint64_t value = 0;  // the address, for faults that have one
    std::string text;   // "error on enabled probe ID 1 (ID 1: dtrace:::BEGIN): ..."
    int line = 0;       // line in the D program; 0 if unknown
    std::string source; // the text of that line; empty if unknown
};

struct DropEvent {
    std::uint32_t kind = 0; // DTRACEDROP_*
    std::optional<std::uint32_t> cpu;
    std::uint64_t count = 0; // number of drops since the last report
    std::uint64_t total = 0;
    std::string text; // "2 drops on CPU 0"; droptags adds "[DTRACEDROP_PRINCIPAL] "
};

// The consumer's callbacks for everything except text. The consumer stops if fault() or
// drop() returns false.
class Events {
public:
    virtual ~Events() = default;
    virtual bool fault(const FaultEvent&) { return true; }
    virtual bool drop(const DropEvent&) { return true; }
    // Implements setopt(). Returns nullopt, or the reason if the option is refused.
    // Without Events, setopt() changes only display options.
    virtual std::optional<std::string> setopt(std::string_view name,
                                              std::string_view value) = 0;
    // Runs the command of a system() action. Returns the same value as system(3). A
    // session handles events of targets while the command runs.
    virtual int run_command(const std::string& command)
    {
        return std::system(command.c_str());
    }
    // Reports a message to the user.
    virtual void complain(std::string_view text) = 0;
};

std::string fault_text(std::uint32_t fault);

} // namespace dt
