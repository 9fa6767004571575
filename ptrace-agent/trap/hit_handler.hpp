// SPDX-License-Identifier: MIT
// Handles a thread at one of our breakpoints: fires the probes, then does what the
// replaced instruction does. There are three ways to do that:
//
//   emulate      Computes the instruction's effect on the thread's registers.
//   copy         Resumes the thread at a copy of the instruction. A jump after the copy
//                leads back. Used if the instruction accesses memory and has the same
//                effect at any address.
//   slot         Writes a copy into the thread's own slot, and single-steps it there.
//                Used if the instruction cannot be emulated. end_step() handles the
//                stop after the step. If the copy has not run, end_step() sets the pc
//                to the original instruction.
//
// Asynchronous signals are blocked while a thread steps in its slot. So the program
// never observes a pc in a slot, and runs no handler between the firing and the
// instruction. A system call in a slot runs with the program's own mask.
//
// If an instruction faults and the program's handler lets it run again, its probe fires
// again.
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/arena_map.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"

#include <sys/user.h>

namespace dt::agent {

class HitHandler {
public:
    HitHandler(Tracees& tracees, Injector& injector, TrapMask& trap_mask,
               TrapSignals& trap_signals, LinkerWatch& linker, ClientWait& client_wait)
        : tracees_(tracees), injector_(injector), trap_mask_(trap_mask),
          trap_signals_(trap_signals), linker_(linker), client_wait_(client_wait)
    {
    }

    // Handles a stop at the breakpoint. `user` contains the registers after the int3.
    void handle(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    // Emulates the instruction under the breakpoint, or lets the thread execute a copy
    // of it. Resumes the thread.
    void run_displaced(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    // Ends the step of a thread that has stopped. Returns whether the step itself
    // caused the stop. If not, the caller must still handle the stop.
    bool end_step(Thread& thread);
    // Sets the pc of a thread that has stopped in a copy to the corresponding address
    // in the text.
    static void leave_copy(Thread& thread);

    // Implements StopHandler::secure_hit().
    static void secure(Thread& thread);
    // Undoes a hit that has not been handled yet: sets the pc back to the instruction.
    // Called before the breakpoint is removed. If `all` is false, ignores breakpoints
    // that have probes.
    void undo(Thread& thread, bool all);
    // Undoes a trap inside a window if the trap has not been handled yet. Called before
    // the text may change. If the window were removed first, the program would receive
    // the SIGTRAP.
    void undo_stray(Thread& thread);

private:
    void arrive(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    void fire(Thread& thread, const Tracepoint& tp, const Registers& regs);
    void run_in_slot(Thread& thread, Tracepoint& tp, const Displaced& plan,
                     user_regs_struct& user);
    void step_in_place(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    void drop_tracepoint(Tracepoint& tp, AddressSpace& space, const char* why);

    Tracees& tracees_;
    Injector& injector_;
    TrapMask& trap_mask_;
    TrapSignals& trap_signals_;
    LinkerWatch& linker_;
    ClientWait& client_wait_;
};

} // namespace dt::agent
