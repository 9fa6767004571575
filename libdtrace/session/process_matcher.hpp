// SPDX-License-Identifier: MIT
// Matches the enabled descriptions against the current modules of one process: when the
// process becomes a target, loads a library or executes a program.
//
//   descriptions ──▶ pid and usdt providers ──▶ new probes ──▶ Backend: arena, ECBs
//
// Targets::plant() plants the sites afterwards.
#pragma once

#include "libdtrace/session/backends/backend.hpp"
#include "libdtrace/session/probe_recycler.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace dt {

// The symbols of the process must be up to date.
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
    // names of the process's pid and plockstat providers
    const std::string provider_, plockstat_;
    // The matches of each description, so that equal descriptions are matched once. The
    // key is the four parts of the description.
    using Names = std::tuple<std::string, std::string, std::string, std::string>;
    std::map<Names, std::vector<std::uint32_t>> matched_;
};

} // namespace dt
