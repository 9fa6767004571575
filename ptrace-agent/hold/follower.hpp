// SPDX-License-Identifier: MIT
// Handles forks and execs of targets (-x follow).
//
// A child with its own memory begins in two steps:
//   1. At the fork, the child's text is restored, and the parent's probes are recorded.
//   2. When the agent's loop reaches the child, our inherited mappings are unmapped,
//      the child gets its own runtime, its probes are planted, and it runs.
//
// A followed child is a separate target: its runtime fires with its pid, it has its own
// jumps and breakpoints, and its exit is reported. It runs no instruction before its
// probes are planted. Planting stops all threads of the child. That is impossible while
// another target is stopped, so the child waits until the agent's loop reaches it.
//
// An exec removes the probes. Which processes remain targets depends on -x follow:
//   - With follow=exec, a followed child remains a target. A vfork child, which shared
//     its parent's memory until the exec, becomes a target. The process waits at the
//     end of execve(2) until the client has planted the probes of the new program.
//   - Without follow=exec, a followed child is detached.
//   - A command that -c has started remains a target through its own execs, unless
//     follow=none is set.
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/arena_map.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/rseq.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/client_link.hpp"
#include "ptrace-agent/wire/protocol.hpp"

namespace dt::agent {

class Follower {
public:
    Follower(Tracees& tracees, ClientLink& client, TracepointTable& table,
             Injector& injector, ArenaMap& arena, RseqAreas& rseq, JumpWriter& jumps,
             TrapSignals& trap_signals, LinkerWatch& linker, ClientWait& client_wait)
        : tracees_(tracees), client_(client), table_(table), injector_(injector),
          arena_(arena), rseq_(rseq), jumps_(jumps), trap_signals_(trap_signals),
          linker_(linker), client_wait_(client_wait)
    {
    }

    Reply set_follow(Reader& in); // handles the request `follow`

    // Handles the stop at which `parent` reports a new task. The task is a thread of
    // the same process, a process that shares the memory of `parent`, or a process with
    // its own memory.
    void handle_new_task(Thread& parent);
    // Plants the recorded probes in a followed child, and lets the child run.
    void begin(Thread& newborn);
    // Makes a vfork child a target when it executes a program, if its parent has
    // follow=exec.
    void become_target(Process& guest);
    // Prepares a process after an exec. Only one thread remains, and the new address
    // space contains nothing of ours. If another traced process still runs in the old
    // address space, for example a vfork child of another thread, that process keeps
    // its probes.
    void begin_program(Thread& thread);
    // Holds a thread at the end of its execve(2) until the client has planted probes.
    // The thread first runs from the exec event to the end of the call, because no
    // system call can be injected at the event.
    void hold_after_exec(Thread& thread);

private:
    // Restores the text of a child that has its own memory. Then follows the child, or
    // detaches from it.
    void forked(Thread& parent, pid_t child);
    // Makes a child a target if it inherits probes from the parent, if the kernel fires
    // the parent's probes, if the parent's libraries are watched, or if the parent has
    // follow=exec. Otherwise returns false. The child is stopped at its first
    // instruction, and its text is restored.
    bool follow(const Process& parent, pid_t child, WaitStatus status);
    // Unmaps our mappings that a child has inherited, except the one that contains its
    // pc.
    void drop_inherited(StoppedWorld& world, const Inheritance& inherited);

    Tracees& tracees_;
    ClientLink& client_;
    TracepointTable& table_;
    Injector& injector_;
    ArenaMap& arena_;
    RseqAreas& rseq_;
    JumpWriter& jumps_;
    TrapSignals& trap_signals_;
    LinkerWatch& linker_;
    ClientWait& client_wait_;
};

} // namespace dt::agent
