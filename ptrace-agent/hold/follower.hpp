// SPDX-License-Identifier: MIT
// Forks and execs of targets: what becomes of a child, and of a program that replaces
// another (-x follow).
//
//   fork of the parent    the child gets clean text; the parent's probes are recorded
//   turn of the child     mappings of ours are removed, its own runtime is loaded, its
//                         probes are planted, it runs
//
// From then on the child is a target of its own: its runtime fires with its pid, it has its
// own jumps and breakpoints, and its exit is reported. It has run nothing before its probes
// are planted. PlacedSites stops all threads of the child, which is impossible while another
// target is stopped, so the child waits until the agent's loop reaches it.
//
// An exec removes the probes. Without follow=exec a followed child is released then. With
// follow=exec it remains a target, and so does a vfork child, which was not a target
// before: it waits at the end of execve(2) until the client has planted the probes of the
// new program. A command of -c remains a target through its own execs unless follow=none is
// set.
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

    Reply set_follow(Reader& in); // the request `follow`

    // Handles the stop in which a thread reports a new task: a thread of its process, a
    // process that shares its memory, or one with memory of its own.
    void handle_new_task(Thread& parent);
    // Plants the recorded probes in a child whose turn has come.
    void begin(Thread& newborn);
    // Makes a vfork child that is about to exec a target, if its parent has follow=exec.
    void become_target(Process& guest);
    // Prepares a process after its exec, which left one thread and an address space without
    // anything of ours. A process that lives on in the old address space, for example a
    // vfork child of another thread, keeps its probes.
    void begin_program(Thread& thread);
    // Holds a thread at the end of its execve(2) until the client has planted probes.
    // Within the exec event no system call of ours can be made.
    void hold_after_exec(Thread& thread);

private:
    // Restores the text of a child that has its own memory, and makes the child a target or
    // detaches from it.
    void forked(Thread& parent, pid_t child);
    bool follow(const Process& parent, pid_t child, WaitStatus status);
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
