// SPDX-License-Identifier: MIT
// The part of a session that depends on where its probes fire. One backend handles all
// probes of the session:
//
//   ProcessBackend   dtrace itself, the ptrace-agent, and the targets with the injected
//                    runtime; they share an arena in memfds
//   KernelBackend    the kernel module, which owns the arena; probes in processes are
//                    uprobes
//
// Session::go() chooses a backend and calls its functions in this order:
//
//   make_arena  prepare_agents  load ...  add_probes  enable ...  touch_arenas  plant ...
//   attach  fire(BEGIN)  start_timers
//
// While tracing, add_probes, enable, plant and attach are called again for new programs
// and modules. A backend is used for one tracing run.
//
// Functions with an int result return 0, or -1 after SessionState::fail().
#pragma once

#include "dif/engine.h"
#include "libdtrace/session/session_state.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace dt {

class Backend {
public:
    explicit Backend(SessionState& state) : s_(state) {}
    virtual ~Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    // Creates the arena. Reduces buffer sizes in the options if necessary.
    virtual int make_arena() = 0;
    // Prepares the agents that were started since the last call. Also called when a
    // process is grabbed while tracing.
    virtual int prepare_agents() = 0;
    // Loads DOF into the arena, as dt_load() does.
    virtual int load(std::span<const std::byte> dof, dt_u32& first_clause,
                     dt_u32& n_clauses, dt_load_error& refused) = 0;
    // Adds the probes of the registry that are not in the arena yet.
    virtual int add_probes() = 0;
    // Enables a clause of the arena at these probes.
    virtual int enable(std::span<const std::uint32_t> ids, std::size_t clause) = 0;
    // Prefaults the arenas, so that their pages are not charged to targets' control
    // groups.
    virtual void touch_arenas() {}
    // Returns whether the consumer may return the memory of buffers to the system.
    virtual bool can_return_memory() const { return false; }
    // Chooses the mechanism for a process. Called before its first sites are planted,
    // and after an exec.
    virtual void choose_mechanism(ps_prochandle&) {}
    // Plants the sites of a process. Reports the sites that cannot be planted.
    virtual int plant(ps_prochandle& process, const std::vector<Site>& sites,
                      const StaticTable& statics) = 0;
    virtual void unplant(ps_prochandle& process) = 0;
    // Attaches the enabled probes that are not in a process.
    virtual int attach() { return 0; }
    virtual void fire(std::uint32_t probe) = 0;
    virtual int start_timers() = 0;
    virtual void stop_timers() {}
    // Does the backend's periodic work. The argument is monotonic time in ns.
    virtual void tend(std::uint64_t) {}

    // Returns the id that this process writes into the lock of a shard.
    virtual std::uint32_t owner() const = 0;
    // Returns the name of data that targets share through the D program, for example
    // "the variable n", or "". Targets that share data must belong to one trust domain.
    virtual const std::string& shared_between_targets() const = 0;
    // Called when a probe has been enabled or renamed.
    virtual void bind(std::uint32_t) {}
    // Returns whether probes in the arena can be renamed and thus reused.
    virtual bool can_rename_probes() const = 0;
    // Default size of aggregation buffers in bytes, or 0 for the general default.
    virtual std::uint64_t default_aggsize() const { return 0; }

protected:
    SessionState& s_;
};

} // namespace dt
