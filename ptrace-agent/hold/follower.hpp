// SPDX-License-Identifier: MIT
// Handles forks and execs of targets (-x follow).
//
// A child with its own memory begins in two steps:
// 1. At the fork, the child's text is restored, and the parent's probes are recorded.
// 2. When the agent's loop reaches the child, the probes are planted, and the child
//    runs.
//
// A followed child is a separate target with its own runtime. It runs no instruction
// before its probes are planted. Planting stops all threads of the child. This is
// impossible while another target is stopped, so the second step waits for the agent's
// loop.
//
// An exec removes the probes. -x follow selects which processes remain targets:
// - With follow=exec, a followed child remains a target, and a vfork child becomes a
//   target. The process waits at the end of execve(2) until the client has planted
//   probes.
// - Without follow=exec, a followed child is detached.
// - A command that -c has started remains a target, unless follow=none is set.
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/arena_map.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/rseq.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/trap/task_events.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/protocol.hpp"

namespace dt::agent {

class Follower {
public:
    Follower(Tracees& tracees, TracepointTable& table, Injector& injector,
             RseqAreas& rseq, JumpWriter& jumps, TrapMask& trap_mask,
             TrapSignals& trap_signals, TaskEvents& task_events, LinkerWatch& linker,
             ClientWait& client_wait)
        : tracees_(tracees), table_(table), injector_(injector), rseq_(rseq),
          jumps_(jumps), trap_mask_(trap_mask), trap_signals_(trap_signals),
          task_events_(task_events), linker_(linker), client_wait_(client_wait)
    {
    }

    Reply set_follow(Reader& in); // handles the request `follow`

    // Handles the stop at which `parent` reports a new thread or process.
    void handle_new_task(Thread& parent);
    // Plants the recorded probes in a followed child, and lets the child run.
    void begin(Thread& newborn);
    // Makes a vfork child a target at its exec, if its parent has follow=exec.
    void become_target(Process& guest);
    // Prepares a process after an exec. Only one thread remains, and the new address
    // space contains nothing of ours. Another traced process that runs in the old
    // address space keeps its probes.
    void begin_program(Thread& thread);
    // Holds a thread at the end of its execve(2) until the client has planted probes.
    // The hold is not at the exec event, because no system call can be injected at that
    // event.
    void hold_after_exec(Thread& thread);

private:
    // Restores the text of a child that has its own memory. Then follows the child, or
    // detaches from it.
    void forked(Thread& parent, pid_t child);
    bool has_only_old_guests(const AddressSpace& space) const;
    // Makes a child a target. Returns false if there is no reason to trace the child.
    // The child is already stopped at its first instruction, and its text is already
    // restored.
    bool follow(const Process& parent, pid_t child, WaitStatus status);
    // Unmaps our inherited mappings, except the one that contains the child's pc.
    void drop_inherited(StoppedWorld& world, const Inheritance& inherited);

    Tracees& tracees_;
    TracepointTable& table_;
    Injector& injector_;
    RseqAreas& rseq_;
    JumpWriter& jumps_;
    TrapMask& trap_mask_;
    TrapSignals& trap_signals_;
    TaskEvents& task_events_;
    LinkerWatch& linker_;
    ClientWait& client_wait_;
};

} // namespace dt::agent
