// SPDX-License-Identifier: MIT
// Compiles clauses to machine code that runs in a target instead of the engine.
//
//   dt_clause ──plan_clause()──> ClausePlan ──compile()──> bytes for DT_RT_CODE
//                   │
//                   └─ refused, with a reason: the engine interprets the clause
//
// A clause can be compiled if its actions only count, sum, quantize or record. Its
// values must be computed from arguments, constants, `timestamp`, `pid`, `tid` and
// thread-local integers. The code needs no stack of the runtime, and needs a shard only
// if it records. If the code encounters a case that it does not handle, it jumps to the
// engine before it has run any action.
//
// All probes of a clause share its code. Data that differs between probes is in the
// site (struct dt_rt_site). Static probes share code only if each argument that the
// clause reads is in the same place. The code is for one target, because it contains
// addresses.
#pragma once

#include "base/result.hpp"
#include "dif/arena.h"
#include "ptrace-agent/runtime/runtime.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace dt::native {

// The location of a probe's arguments.
enum class Arguments : std::uint8_t {
    of_call,   // the arguments are in the registers of the calling convention
    of_return, // arg0 (the offset) is in the site, arg1 (the result) is in %rax
    of_static, // the operands of the static probe say where the arguments are
};
constexpr std::uint32_t max_operands = 10; // D has arg0 to arg9

// The distance of a thread's struct rseq from its fs_base, and the rseq signature.
struct RseqArea {
    std::int64_t offset = 0; // from fs_base
    std::uint32_t signature = 0;
};

struct Target {
    std::uint64_t image = 0; // address of the runtime's image
    std::uint64_t arena = 0; // address of the session's arena in the target
    std::uint32_t session = 0;
    bool has_rdfsbase = false;
    bool has_rdpid = false;
    std::optional<RseqArea> rseq;
};

struct Value {
    const dt_difo* difo = nullptr; // null if there is no value
    const dt_short* brief = nullptr;
};

struct Step {
    const dt_action* action = nullptr;
    Value value;
    struct Part {
        const dt_action* action = nullptr;
        Value value; // has no DIFO if the part is a probe name, such as probefunc
    };
    std::vector<Part> key; // the key of an aggregation
};

// The position of a clause among the clauses of its probe. If the number of clauses
// changes later, the engine fires the probe.
struct Place {
    std::uint32_t n_clauses = 1;
    bool is_last = true;
    auto operator<=>(const Place&) const = default;
};

// A clause that can be compiled.
struct ClausePlan {
    const void* arena = nullptr; // address of the arena in this process
    Arguments arguments = Arguments::of_call;
    std::vector<dt_operand> operands; // of a static probe, at most max_operands
    Place place;
    Value predicate;
    std::vector<Step> steps;
    std::uint32_t record_bytes =
        0; // size with the header, or 0 if the clause writes no record
    struct Needs {
        bool time = false;
        bool thread = false;             // pid or tid
        std::vector<std::uint32_t> self; // ids of thread-local variables, ascending
        // A bit for each argument that is read before the actions. If a read fails, the
        // engine can still run the clause.
        std::uint32_t ahead = 0;
    };
    Needs for_predicate, for_steps;
    std::uint32_t arguments_read = 0; // a bit for each of arg0 to arg9
    unsigned n_registers = 0;         // maximum number of DIF registers in one value

    // Returns whether the routine works while no agent traces the thread. It then needs
    // no data about the thread, holds no shard that a signal handler could keep, and
    // reads no memory that may be unreadable. It must also not read the clock, because
    // each change of the clock would make it jump to the engine.
    bool runs_alone() const;
};

// Plans a clause. Returns Code::unsupported, with the reason, if the engine must run
// it.
Result<ClausePlan> plan_clause(const void* arena, std::uint32_t clause,
                               Arguments arguments, Place place,
                               std::span<const dt_operand> operands = {});

// The distance in bytes between the image and each clause's code is a multiple of this.
constexpr std::uint64_t code_align = 64;
struct Compiled {
    std::vector<std::byte> bytes;
    // Offsets in the code. A thread that faults in [begin, end) continues at `to`. The
    // fault means that the thread has no struct rseq, or that an argument is not
    // readable.
    struct Fixup {
        std::uint64_t begin, end, to;
    };
    std::vector<Fixup> fixups;
};
// Compiles a planned clause for the address `at`, relative to the image. Returns
// Code::unsupported, with the reason, if the engine must run the clause.
Result<Compiled> compile(const ClausePlan& plan, const Target& target,
                         std::uint64_t at);

} // namespace dt::native
