// SPDX-License-Identifier: MIT
// Handles the stop of a thread in our code: in a trampoline, in the runtime, or inside
// a window. The program never observes a pc in our code.
//
//   fault of a safe load           becomes a D fault; the thread continues at the
//                                  fix-up code of the load
//   rdtsc that is forbidden        emulated by the agent
//   upcall of the runtime          served (upcalls.hpp)
//   trap inside a window           the thread continues in the moved copy
//   fault of a moved instruction   delivered with the original instruction's address
//   any other signal               deferred until the thread is back in the program
//                                  (runtime_exit.hpp)
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

    // Serves a fault or trap of the runtime, so that the thread can continue. Returns
    // false if the stop has another reason.
    bool serve_runtime(Thread& thread, const siginfo_t& info, user_regs_struct& user);
    // Replaces the registers and the fault address of a moved instruction with those of
    // the original. Returns false if the thread is not in a trampoline or its registers
    // cannot be changed.
    static bool show_as_program(Thread& thread, siginfo_t& info,
                                user_regs_struct& user);
    // Moves a thread that has trapped in the middle of a window into the moved copy.
    // Returns false if the stop has another reason.
    bool move_into_copy(Thread& thread, const siginfo_t& info, user_regs_struct& user);

private:
    TrapSignals& trap_signals_;
    Upcalls& upcalls_;
};

} // namespace dt::agent
