// SPDX-License-Identifier: MIT
// The sites at which probes of processes fire, by probe id. These are sites in
// functions (pid provider) and sites of static probes. A site is removed when its
// module is unloaded, or when its process exits or execs.
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

enum class ProbeSiteKind { Entry, Return, Offset, Static, SystemCall, SystemReturn };

// The operands of a site. At a static probe, they are the probe's arguments. At a
// return site with an indirect jump, they are passed to dt_leaves_function(), which
// decides whether the site fires.
struct StaticArguments {
    TargetAddr semaphore; // 0 if there is no semaphore
    std::vector<dt_operand> operands;
};

struct ProbeSite {
    TargetAddr at;
    ProbeSiteKind kind = ProbeSiteKind::Entry;
    // Offset from the function's start. Negative in a split-off part before the
    // function.
    std::int64_t offset = 0;
    // The range of bytes around the site that may be moved (fasttrap/extents.hpp). Set
    // by find_extents(); 0 if unknown.
    TargetAddr first, end;
    // The block after `end` ends at `beyond`. `further` contains the blocks after
    // `beyond`. A block is the code from one branch target to the next.
    TargetAddr beyond;
    FurtherBlocks further{};
    // For Entry: the end of the last branch that leads back to the first instruction,
    // or 0. Set by find_extents().
    TargetAddr loop_end;
    bool restartable = false; // is in a restartable sequence; set by find_extents()
    bool unknown = false;     // is not known to be code; set by find_extents()
    // True for Go code before its function's stack check, or in a function without a
    // check. A trampoline must not write below the stack pointer there.
    bool no_stack = false;
    // True for a probe at an instruction of a vDSO function other than the first. A
    // loop there reads the clock, and starts again if the kernel has updated the data
    // meanwhile. With breakpoints, it would start again nearly each time.
    bool only_jump = false;
    bool planted = false;                       // set by the backend
    const StaticArguments* arguments = nullptr; // owned by the site's provider
};

// Sets the range of bytes around a site that may be moved, and what depends on it.
void set_extent(ProbeSite& site, const Module& module, const ExtentMap& extents);

struct ProcessProbe {
    pid_t pid = 0;
    std::vector<ProbeSite> sites;
    bool has_site(TargetAddr at) const;
    void set_planted(TargetAddr at, bool planted);
};

class ProcessProbes {
public:
    // Returns null if the probe is not in a process.
    const ProcessProbe* probe(std::uint32_t id) const;
    ProcessProbe* probe(std::uint32_t id);
    // Returns the ids of a process's probes that have sites, in ascending order.
    std::vector<std::uint32_t> of_process(pid_t pid) const;

    // Adds sites that are in `module`. Sites that the probe already has are not
    // changed.
    void add(std::uint32_t id, pid_t pid, const Module* module,
             std::vector<ProbeSite> sites);
    void reserve(std::size_t n_probes); // reserves space for ids up to n_probes

    // Records that a forked child inherited its parent's planted static probes. The
    // child fires them with the parent's ids, and gets no probes of its own at these
    // sites.
    void inherit(pid_t parent, pid_t child);
    bool is_inherited(pid_t pid, TargetAddr at) const;

    // Removes the sites in unloaded modules. `symbols` must be up to date.
    void drop_gone(const ProcessSymbols& symbols);
    // Called when a process has a new image or has exited.
    void forget(pid_t pid);

    // Sets the extents, and the members that depend on them, in the sites of these
    // probes. Takes about 40 ms for 10 MB of text at the first call for a module. Call
    // it only for probes that will be planted, and once for all of them.
    void find_extents(ProcessSymbols& symbols, std::span<const std::uint32_t> ids);
    ExtentMaps& extents() { return extents_; }

private:
    // Indexed by probe id. The pid is 0 for a probe that is not in a process.
    std::vector<ProcessProbe> probes_;
    std::map<pid_t, std::map<const Module*, std::vector<std::uint32_t>>> ids_;
    std::map<pid_t, std::set<TargetAddr>> inherited_;
    ExtentMaps extents_;
};

} // namespace dt
