// SPDX-License-Identifier: MIT
// A thread that stops in our code: in a trampoline, in the runtime, or inside a jump.
//
// The program never sees such a pc. What a stop there means:
//
//   fault of a safe load             a fault of D: the thread continues at the fix-up
//   rdtsc where it is forbidden      the agent executes it
//   upcall of the runtime            served (upcalls.hpp)
//   trap inside a window             a stray jump: the thread continues in the moved copy
//   fault of a moved instruction     delivered, with the address that the program knows
//   any other signal                 deferred until the thread has left (runtime_exit.hpp)
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/upcalls.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"

#include <csignal>
#include <sys/user.h>

namespace dt::agent {

class ProbeContext {
public:
    ProbeContext(TrapSignals& trap_signals, Upcalls& upcalls)
        : trap_signals_(trap_signals), upcalls_(upcalls)
    {
    }

    // Serves a fault or trap of the runtime. Returns whether the thread may continue.
    bool serve_runtime(Thread& thread, const siginfo_t& info, user_regs_struct& user);
    // Gives a fault of a moved instruction the registers and the address that the program
    // knows. Returns false if the thread is not at a moved instruction.
    static bool show_as_program(Thread& thread, siginfo_t& info,
                                user_regs_struct& user);
    // Handles a jump into the middle of a window, which encountered a byte that traps.
    // Returns false if the stop is something else.
    bool move_into_copy(Thread& thread, const siginfo_t& info, user_regs_struct& user);

private:
    TrapSignals& trap_signals_;
    Upcalls& upcalls_;
};

} // namespace dt::agent
