// SPDX-License-Identifier: MIT
// Detaches from programs that trace themselves, and lets Attendance attach again. For
// example, LeakSanitizer attaches to all threads of its process when the process exits.
// It would fail while the agent is attached.
//
//   a thread makes a call that tracer_calls.hpp describes ──> the thread is held
//   work(): all threads leave the engine; breakpoints are removed; the agent detaches
//   Attendance: attaches when the program's tracer has detached ──> come_back()
//
// Until the agent is back, compiled code that needs no agent fires its probes. A firing
// that needs the engine is a drop (DT_RT_KEPT_OUT). Breakpoints fire nothing. If
// anything may be missed, the user is informed once.
//
// The program's tracer must attach within two seconds. The agent comes back earlier if
// the process has no child that could be this tracer.
//
// The agent does not detach if it is confined, if several sessions trace the process, or
// if a thread does not leave the engine in time. Then it reports that the program's
// tracer will fail.
#pragma once

#include "ptrace-agent/hold/releaser.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/sample/sampler.hpp"
#include "ptrace-agent/wire/alarms.hpp"

#include <string>

namespace dt::agent {

class SelfTracing {
public:
    SelfTracing(Tracees& tracees, Alarms& alarms, Injector& injector, Sampler& sampler,
                JumpWriter& jumps, HitHandler& hits, RuntimeExit& runtime_exit,
                TrapSignals& trap_signals, Releaser& releaser)
        : tracees_(tracees), alarms_(alarms), injector_(injector), sampler_(sampler),
          jumps_(jumps), hits_(hits), runtime_exit_(runtime_exit),
          trap_signals_(trap_signals), releaser_(releaser)
    {
    }

    // Implements StopHandler::await_tracer().
    void await_tracer(Thread& thread, std::uint64_t number, std::uint64_t second);
    // Detaches from the processes with threads that await_tracer() has held. Must be
    // called while no target is stopped.
    void work();
    // Returns whether the program's tracer has not attached yet, but is still expected.
    static bool is_tracer_expected(AddressSpace& space);
    // Restores what the agent removed when it detached. Called when the agent has
    // attached again, while all threads are stopped.
    void come_back(StoppedWorld& world);

private:
    bool detach_from(const std::shared_ptr<AddressSpace>& space);
    bool empty_engine(StoppedWorld& world);
    std::string missed(const AddressSpace& space) const;
    void let_continue(AddressSpace& space, const std::string& why);

    Tracees& tracees_;
    Alarms& alarms_;
    Injector& injector_;
    Sampler& sampler_;
    JumpWriter& jumps_;
    HitHandler& hits_;
    RuntimeExit& runtime_exit_;
    TrapSignals& trap_signals_;
    Releaser& releaser_;
};

} // namespace dt::agent
