// SPDX-License-Identifier: MIT
// Detaches from targets while nothing needs ptrace(2), and attaches again (-x
// release=idle). Meanwhile a debugger can attach, and a program can trace itself.
//
//   attached ── idle, and why_attached() is empty ──> away ── exec ──> dormant
//       ^                                              │
//       └── a request, a summons, a fork, a new fault handler, the end of a session
//
// SelfTracing (self_tracing.hpp) also detaches, without -x release=idle.
//
// While the agent is away, only compiled code that needs no agent fires probes
// (ClausePlan::runs_alone()). It runs on the program's stack, so a signal handler may
// run at any time. A thread that needs the engine summons the agent: it waits at the
// gate (doorbells.hpp), which the agent has shut, until the agent is attached again. A
// thread that loads a library does the same. While another tracer holds the process, the
// thread does not wait, and its firing is counted as a drop.
//
// The agent examines the processes that it is away from five times a second:
//   exit     A pidfd also reports this at once.
//   exec     The runtime is not in the process's memory any more. The process becomes
//            dormant: it stays the client's target, without probes, until it exits.
//   fork     The child fires nothing (DT_RT_LIVE). The agent restores the child's text,
//            and stays attached to the parent from then on.
//
// A process that has executed another program is never attached to again, so it does not
// matter whether the program has gained privileges.
//
// A debugger may set a breakpoint at an instruction that a jump overwrites. If possible,
// jumps are planned so that they already contain an int3 there (TrapBytes). Otherwise the
// agent does not detach.
//
// Not covered
//   - a debugger's breakpoint on an address at which no instruction begins
//   - a branch into the middle of a window that dtrace did not find. While the agent is
//     attached, the thread continues in the moved copy. Otherwise the trap is fatal.
//   - a signal handler that examines the interrupted pc may find it in our code.
#pragma once

#include "ptrace-agent/hold/grabber.hpp"
#include "ptrace-agent/hold/self_tracing.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/rseq.hpp"
#include "ptrace-agent/inject/thread_bases.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/sample/sampler.hpp"
#include "ptrace-agent/wire/alarms.hpp"

#include <memory>
#include <string_view>

namespace dt::agent {

class Attendance {
public:
    Attendance(Tracees& tracees, Alarms& alarms, Injector& injector, ThreadBases& bases,
               RseqAreas& rseq, JumpWriter& jumps, Sampler& sampler,
               ClientWait& client_wait, Releaser& releaser, Grabber& grabber,
               SelfTracing& self_tracing, TracepointTable& table)
        : tracees_(tracees), alarms_(alarms), injector_(injector), bases_(bases),
          rseq_(rseq), jumps_(jumps), sampler_(sampler), client_wait_(client_wait),
          releaser_(releaser), grabber_(grabber), self_tracing_(self_tracing),
          table_(table)
    {
    }

    Reply set_release(Reader& in); // handles the request `release`
    // Called before a request is served. Attaches to the targets that the request needs.
    // If another tracer holds one, waits for a limited time, and then fails.
    Result<Ok> begin_request(const Request& request);
    // Called after a request. The agent stays attached for a while.
    void end_request();
    // Does the work that is due. Must be called while no target is stopped, because it
    // may stop targets.
    void work();
    // Implements StopHandler::attend(). Does not wait for another tracer.
    bool attend(const std::shared_ptr<AddressSpace>& space);
    void has_forked(AddressSpace& space);

private:
    Result<Ok> attach(const std::shared_ptr<AddressSpace>& space);
    Result<Ok> attach_in_time(const std::shared_ptr<AddressSpace>& space);
    void come_back(StoppedWorld& world);
    void stay_out(AddressSpace& space);
    void leave_if_idle(const std::shared_ptr<AddressSpace>& space);
    bool leave(const std::shared_ptr<AddressSpace>& space);
    bool any_releases() const; // by any session
    // Returns the reason why the agent must stay attached, or an empty string.
    std::string_view why_attached(const AddressSpace& space) const;
    void examine(const std::shared_ptr<AddressSpace>& space);
    void become_dormant(Process& process, Fd pidfd);
    bool restore_children(AddressSpace& space);
    std::vector<std::shared_ptr<AddressSpace>> spaces() const;

    Tracees& tracees_;
    Alarms& alarms_;
    Injector& injector_;
    ThreadBases& bases_;
    RseqAreas& rseq_;
    JumpWriter& jumps_;
    Sampler& sampler_;
    ClientWait& client_wait_;
    Releaser& releaser_;
    Grabber& grabber_;
    SelfTracing& self_tracing_;
    TracepointTable& table_;
};

// Returns whether the tracepoint works while the agent is away.
bool works_alone(const AddressSpace& space, const Tracepoint& tp);

// Returns whether a fault in the instruction could reach a handler of the program.
// Accesses to the stack are not counted, because they fault only if the stack is full.
bool may_fault(const Instruction& insn);

} // namespace dt::agent
