// SPDX-License-Identifier: MIT
// Where the probes of processes fire, by id, whoever made them: functions' sites of the pid
// provider, the sites that notes tell of.
//
// A module that goes takes its sites along; a process that ends or execs, all of its own.
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/further_blocks.hpp"
#include "libdtrace/providers/extent_maps.hpp"
#include "libdtrace/symbols/process_symbols.hpp"
#include "ptrace-agent/client.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <sys/types.h>
#include <vector>

namespace dt {

enum class ProbeSiteKind { Entry, Return, Offset, Static };

// Operands of a static probe's site in its process, or of a return site at an indirect
// jump, which fires if the jump leads out of the function (SiteKind::jump_out has the
// operands).
struct StaticArguments {
    TargetAddr semaphore; // 0: there is none
    std::vector<dt_operand> operands;
};

struct ProbeSite {
    TargetAddr at;
    ProbeSiteKind kind = ProbeSiteKind::Entry;
    // From the function's start; a part that was split off may lie before it.
    std::int64_t offset = 0;
    // How far the bytes around may be moved (fasttrap/extents.hpp), once find_extents()
    // was called; both 0: not known.
    TargetAddr first, end;
    TargetAddr beyond;       // of what begins at `end`
    FurtherBlocks further{}; // of what begins at `beyond`
    // For Entry: the end of the function's last branch that leads back to its first
    // instruction; 0 if there is none. Known together with the extents.
    TargetAddr loop_end;
    bool restartable = false; // in a restartable sequence; known with the extents
    bool unknown = false;     // no known code; found with the extents
    // In Go, before or without a check of the stack: no byte below the stack pointer may be
    // written there, as a jump's trampoline does.
    bool no_stack = false;
    bool planted = false;                       // as who plants it says
    const StaticArguments* arguments = nullptr; // its provider's
};

struct ProcessProbe {
    pid_t pid = 0;
    std::vector<ProbeSite> sites;
    bool has_site(TargetAddr at) const;
    void set_planted(TargetAddr at, bool planted);
};

class ProcessProbes {
public:
    // Null: no probe of a process.
    const ProcessProbe* probe(std::uint32_t id) const;
    ProcessProbe* probe(std::uint32_t id);
    // Those of a process that have sites, ascending.
    std::vector<std::uint32_t> of_process(pid_t pid) const;

    // Sites that lie in the module; those that the probe has already stay as they are.
    void add(std::uint32_t id, pid_t pid, const Module* module,
             std::vector<ProbeSite> sites);
    void reserve(std::size_t n_probes); // ids up to it are coming

    // A forked child has what is planted of its parent's static probes, and they fire by
    // the parent's ids: no probes of its own are made there.
    void inherit(pid_t parent, pid_t child);
    bool is_inherited(pid_t pid, TargetAddr at) const;

    // The process' symbols were refreshed: sites of unloaded modules go.
    void drop_gone(const ProcessSymbols& symbols);
    // The process has a new image, or ended: its probes have no sites any more.
    void forget(pid_t pid);

    // Fills first and end of the sites of one process that lack them. The first time for a
    // module its whole text is swept, some 40 ms for 10 MB: ask for probes that will be
    // planted, and for all of them at once.
    void find_extents(ProcessSymbols& symbols, std::span<const std::uint32_t> ids);
    ExtentMaps& extents() { return extents_; }

private:
    std::vector<ProcessProbe> probes_; // by id; pid 0: of no process
    std::map<pid_t, std::map<const Module*, std::vector<std::uint32_t>>> ids_;
    std::map<pid_t, std::set<TargetAddr>> inherited_;
    ExtentMaps extents_;
};

} // namespace dt
