// SPDX-License-Identifier: MIT
// Calls of rt_sigaction(2) in a target.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"

namespace dt::agent {

// Calls rt_sigaction(2) in the thread. `wanted` and `previous` may be null. Returns
// false if the call fails. The thread may exit during the call.
bool exchange_action(Injector& injector, Thread& thread, int signal,
                     const KernelAction* wanted, KernelAction* previous);

// Returns a thread of the process that can make a system call, or null. Prefers a thread
// that has not stopped for a signal.
Thread* calling_thread(Tracees& tracees, const Process& process);

} // namespace dt::agent
