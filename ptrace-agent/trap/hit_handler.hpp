// SPDX-License-Identifier: MIT
// A thread at one of our breakpoints: fire, then do what the replaced instruction does.
//
//   hit ──> fire ──> emulate on the registers ─────────────> continue
//                ├─> continue at a copy that jumps back      (it touches memory and is
//                │                                           the same at any address)
//                └─> copy into the thread's slot, step ──┬─> end_step, continue
//                                                        └─> signal first: the copy has
//                                                            not run, deliver, re-enter
//
// Asynchronous signals are blocked while a thread is on a copy, so that the program
// never sees a pc in a slot and never runs a handler between firing and instruction. A
// copy of a system call runs with the program's own mask. An instruction that faults,
// and that the program's handler lets run again, fires again.
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/arena_map.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/client_link.hpp"

#include <sys/user.h>

namespace dt::agent {

class HitHandler {
public:
    HitHandler(Tracees& tracees, ClientLink& client, Injector& injector,
               const ArenaMap& arena, TrapSignals& trap_signals, LinkerWatch& linker,
               ClientWait& client_wait)
        : tracees_(tracees), client_(client), injector_(injector), arena_(arena),
          trap_signals_(trap_signals), linker_(linker), client_wait_(client_wait)
    {
    }

    // Handles a stop at the breakpoint. user: the thread's registers after the int3.
    void handle(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    // Does what the instruction under the breakpoint does, and resumes the thread.
    void run_displaced(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    // Ends the step of a thread that has stopped. Returns whether the stop was the step's
    // own; otherwise the stop is still to be handled.
    bool end_step(Thread& thread);
    // Takes a thread off a copy that runs by itself, so that its pc is the program's own.
    static void leave_copy(Thread& thread);

    // StopHandler::secure_hit()
    static void secure(Thread& thread);
    // Undoes a hit that is not handled yet, because its breakpoint is about to be removed:
    // the thread is put back before the instruction. Without `all` only hits of breakpoints
    // without a probe.
    void undo(Thread& thread, bool all);
    // Undoes a trap inside a window that is not handled yet: the window may be gone when
    // the threads continue, and then the signal would be the program's. If the window
    // remains, the thread encounters the byte again.
    void undo_stray(Thread& thread);

private:
    void arrive(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    void fire(Thread& thread, const Tracepoint& tp, const Registers& regs);
    void run_in_slot(Thread& thread, Tracepoint& tp, const Displaced& plan,
                     user_regs_struct& user);
    void step_in_place(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    void drop_tracepoint(Tracepoint& tp, AddressSpace& space, const char* why);

    Tracees& tracees_;
    ClientLink& client_;
    Injector& injector_;
    const ArenaMap& arena_;
    TrapSignals& trap_signals_;
    LinkerWatch& linker_;
    ClientWait& client_wait_;
};

} // namespace dt::agent
