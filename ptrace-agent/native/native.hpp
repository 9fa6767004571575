// SPDX-License-Identifier: MIT
// Clauses as machine code that runs in a target, instead of the engine.
//
//   dt_clause ──plan_clause()──> ClausePlan ──compile()──> bytes for DT_RT_CODE
//                   │
//                   └─ refused: by reason, and the engine interprets it
//
// What is compiled is straight on: a predicate and actions made of arguments, constants,
// `timestamp` and thread-local integers, which count, sum, quantize or record. Such a
// clause needs no frame and no stack of ours, and a shard only if it records. The engine
// stays what decides: code that meets anything out of the ordinary has done nothing yet,
// and goes to it.
//
// The code of a clause is one for all its probes: what differs from probe to probe is in
// the site (struct dt_rt_site). Only where static probes keep the arguments that it reads
// in different places is there code for each way. It is made for one target, whose
// addresses it holds.
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

// What a site's registers and stack mean to D's arguments.
enum class Arguments : std::uint8_t {
    of_call,
    of_return,
    of_static, // where the probe's operands say
};
constexpr std::uint32_t max_operands = 10; // D has arg0 to arg9

// Where a thread's struct rseq is, if threads of this target have one.
struct RseqArea {
    std::int64_t offset = 0; // from fs_base
    std::uint32_t signature = 0;
};

struct Target {
    std::uint64_t image = 0; // of the runtime
    std::uint64_t arena = 0; // where the target has it
    bool has_rdfsbase = false;
    bool has_rdpid = false;
    std::optional<RseqArea> rseq;
};

struct Value {
    const dt_difo* difo = nullptr; // null: there is none
    const dt_short* brief = nullptr;
};

struct Step {
    const dt_action* action = nullptr;
    Value value;
    struct Part {
        const dt_action* action = nullptr;
        Value value; // none: a name of the probe
    };
    std::vector<Part> key; // of an aggregation
};

// Of a clause among those of its probe. When their number changes, what was compiled is
// the engine's.
struct Place {
    std::uint32_t n_clauses = 1;
    bool is_last = true;
    auto operator<=>(const Place&) const = default;
};

// A clause that can be compiled.
struct ClausePlan {
    const void* arena = nullptr; // here
    Arguments arguments = Arguments::of_call;
    std::vector<dt_operand> operands; // of a static probe, up to max
    Place place;
    Value predicate;
    std::vector<Step> steps;
    std::uint32_t record_bytes = 0; // with its header; 0: it makes none
    struct Needs {
        bool time = false;
        bool thread = false;             // its ids
        std::vector<std::uint32_t> self; // ids, ascending
        std::uint32_t ahead = 0; // arguments that may turn out to be the engine's
    };
    Needs for_predicate, for_steps;
    std::uint32_t arguments_read = 0; // a bit for each of arg0 to arg9
    unsigned n_registers = 0;         // of DIF, in the value that has most
};

// Code::unsupported with the reason why it is left to the engine.
Result<ClausePlan> plan_clause(const void* arena, std::uint32_t clause,
                               Arguments arguments, Place place,
                               std::span<const dt_operand> operands = {});

// Code that stands at this distance from the image, a multiple of code_align.
constexpr std::uint64_t code_align = 64;
struct Compiled {
    std::vector<std::byte> bytes;
    // Offsets: a thread that faults at [begin, end) has no struct rseq where the others
    // have theirs, or an argument that cannot be read, and goes on at `to` without it.
    struct Fixup {
        std::uint64_t begin, end, to;
    };
    std::vector<Fixup> fixups;
};
Result<Compiled> compile(const ClausePlan& plan, const Target& target,
                         std::uint64_t at);

} // namespace dt::native
