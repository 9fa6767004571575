// SPDX-License-Identifier: MIT
// Matches the enabled descriptions against the current modules of one process. This is
// done when a process becomes a target while the session traces, has loaded a library,
// or has executed a program.
//
//   descriptions ──▶ pid and usdt providers ──▶ new probes ──▶ Backend: arena, ECBs
//
// dtrace_prog::matched contains the probes that a description matched when it was
// compiled. Probes that the description matches later are added to the arena
// immediately. Targets::plant() plants their sites afterwards.
#pragma once

#include "libdtrace/session/backends/backend.hpp"
#include "libdtrace/session/probe_recycler.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace dt {

// Makes one pass over the descriptions. The symbols of the process must have been
// refreshed before.
class ProcessMatcher {
public:
    ProcessMatcher(SessionState& state, Backend& backend, ProbeRecycler& recycler,
                   ps_prochandle& process);

    // Adds the probes that match, appends them to ps_prochandle::unplanted, and enables
    // them. Returns 0, or -1 after SessionState::fail().
    int add_probes();

private:
    bool recycles() const;
    const std::vector<std::uint32_t>& probes_of(const ProbeSpec& spec);
    std::vector<std::uint32_t> provide(const ProbeSpec& spec);

    SessionState& s_;
    Backend& backend_;
    ProbeRecycler& recycler_;
    ps_prochandle& process_;
    // The name of the process's pid provider (SessionState::pid_provider_of()).
    const std::string provider_;
    // The results of matching. If several clauses contain the same description, it is
    // matched only once. The key consists of the four parts of the description.
    using Names = std::tuple<std::string, std::string, std::string, std::string>;
    std::map<Names, std::vector<std::uint32_t>> matched_;
};

} // namespace dt
