// SPDX-License-Identifier: MIT
// The places where probes of processes fire, by probe id: the pid provider's sites in
// functions, and the sites in notes of static probes.
//
// When a module is unloaded, its sites are removed. When a process exits or execs, all
// of its sites are removed.
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/further_blocks.hpp"
#include "libdtrace/providers/extent_maps.hpp"
#include "libdtrace/symbols/process_symbols.hpp"
#include "ptrace-agent/runtime/runtime.h"
#include "ptrace-agent/wire/client.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <sys/types.h>
#include <vector>

namespace dt {

enum class ProbeSiteKind { Entry, Return, Offset, Static };

// The operands of a site. At a static probe, they are the probe's arguments. At a
// return site with an indirect jump, they are the jump's destination and the ranges of
// the function's parts. Such a site fires only if dt_leaves_function() returns 1 for
// these operands.
struct StaticArguments {
    TargetAddr semaphore; // 0 if there is no semaphore
    std::vector<dt_operand> operands;
};

struct ProbeSite {
    TargetAddr at;
    ProbeSiteKind kind = ProbeSiteKind::Entry;
    // The offset from the function's start. It is negative if a split-off part precedes
    // the function.
    std::int64_t offset = 0;
    // The range of bytes around the site that may be moved (fasttrap/extents.hpp), set
    // by find_extents(). Both are 0 if unknown.
    TargetAddr first, end;
    // A block begins at a branch target and contains no other branch target. The block
    // that begins at `end` ends at `beyond`. `further` contains the blocks after it.
    TargetAddr beyond;
    FurtherBlocks further{};
    // For Entry: the end of the last branch that leads back to the first instruction of
    // the function; 0 if there is no such branch. Set with the extents.
    TargetAddr loop_end;
    bool restartable = false; // is in a restartable sequence; set with the extents
    bool unknown = false;     // is not known to be code; set with the extents
    // Set for Go code that runs before a stack check or without one. A jump's
    // trampoline writes below the stack pointer, which is not allowed there.
    bool no_stack = false;
    bool planted = false;                       // set by the backend
    const StaticArguments* arguments = nullptr; // owned by the site's provider
};

struct ProcessProbe {
    pid_t pid = 0;
    std::vector<ProbeSite> sites;
    bool has_site(TargetAddr at) const;
    void set_planted(TargetAddr at, bool planted);
};

class ProcessProbes {
public:
    // Returns null if the probe is not a probe of a process.
    const ProcessProbe* probe(std::uint32_t id) const;
    ProcessProbe* probe(std::uint32_t id);
    // Returns the ids of a process's probes that have sites, in ascending order.
    std::vector<std::uint32_t> of_process(pid_t pid) const;

    // Adds the sites in the module. Sites that the probe already has are not changed.
    void add(std::uint32_t id, pid_t pid, const Module* module,
             std::vector<ProbeSite> sites);
    void reserve(std::size_t n_probes); // reserves space for ids up to n_probes

    // Records that a forked child inherited the planted static probes of its parent.
    // They fire with the parent's ids. The child gets no probes of its own for these
    // sites.
    void inherit(pid_t parent, pid_t child);
    bool is_inherited(pid_t pid, TargetAddr at) const;

    // Removes the sites in modules that have been unloaded. `symbols` must be up to
    // date.
    void drop_gone(const ProcessSymbols& symbols);
    // Removes all sites of a process that has a new image or has exited.
    void forget(pid_t pid);

    // Sets the extents, and the other members that depend on them, in all sites of
    // these probes that have no extents yet. The first call for a module sweeps its
    // entire text, which takes about 40 ms for 10 MB. Therefore call this function
    // only for probes that will be planted, once for all of them.
    void find_extents(ProcessSymbols& symbols, std::span<const std::uint32_t> ids);
    ExtentMaps& extents() { return extents_; }

private:
    // Indexed by probe id. If the id belongs to a probe that is not in a process, the
    // element is unused and its pid is 0.
    std::vector<ProcessProbe> probes_;
    std::map<pid_t, std::map<const Module*, std::vector<std::uint32_t>>> ids_;
    std::map<pid_t, std::set<TargetAddr>> inherited_;
    ExtentMaps extents_;
};

} // namespace dt
