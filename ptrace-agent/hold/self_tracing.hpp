// SPDX-License-Identifier: MIT
// Detaches from programs that trace themselves, and lets Attendance attach again. For
// example, LeakSanitizer attaches to all threads of its process when the process exits.
// It would fail while the agent is attached.
//
//   a thread makes a call that tracer_calls.hpp describes ──> the thread is held
//   work(): all threads leave the engine, and the agent detaches
//   Attendance: attaches when the program's tracer has detached
//
// Until the agent is back, compiled code that needs no agent fires its probes. A firing
// that needs the engine is a drop (DT_RT_KEPT_OUT). If anything may be missed, the user
// is informed once.
//
// The program's tracer must attach within two seconds. The agent comes back earlier if
// the process has no child that could be this tracer.
//
// The agent does not detach in the cases that refusal() lists, or if a thread does not
// leave the engine in time, for example because it has a pending signal. Then the agent
// reports that the program's tracer will fail.
//
// A program may make the call again and again. While the agent is away, a request of the
// client can wait for two seconds, and delays other targets. So the agent tries this
// only four times in a minute.
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
                JumpWriter& jumps, RuntimeExit& runtime_exit, Releaser& releaser)
        : tracees_(tracees), alarms_(alarms), injector_(injector), sampler_(sampler),
          jumps_(jumps), runtime_exit_(runtime_exit), releaser_(releaser)
    {
    }

    // Implements StopHandler::await_tracer().
    void await_tracer(Thread& thread, std::uint64_t number, std::uint64_t second);
    // Detaches from the processes with threads that await_tracer() has held. Must be
    // called while no target is stopped.
    void work();
    // Returns whether the program's tracer has not attached yet, but is still expected.
    static bool is_tracer_expected(AddressSpace& space);

private:
    bool detach_from(const std::shared_ptr<AddressSpace>& space);
    bool empty_engine(StoppedWorld& world);
    std::string missed(const AddressSpace& space) const;
    void report_failure(AddressSpace& space, const std::string& why);
    void let_continue(AddressSpace& space, const std::string& why);

    Tracees& tracees_;
    Alarms& alarms_;
    Injector& injector_;
    Sampler& sampler_;
    JumpWriter& jumps_;
    RuntimeExit& runtime_exit_;
    Releaser& releaser_;
};

} // namespace dt::agent
