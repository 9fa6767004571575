// SPDX-License-Identifier: MIT
// Calls of rt_sigaction(2) in a target.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"

#include <optional>

namespace dt::agent {

// Calls rt_sigaction(2) in the thread: sets the action `wanted`, and stores the action
// before it in `previous`. Both may be null. Returns false if the call fails. The thread
// may exit during the call. `room` is memory of the thread for a KernelAction. By
// default, it is below the red zone of the thread's stack.
bool exchange_action(Injector& injector, Thread& thread, int signal,
                     const KernelAction* wanted, KernelAction* previous,
                     std::optional<TargetAddr> room = std::nullopt);
// Sets the action `wanted` if the current action is `expected`. Otherwise another thread
// has set an action, which stays. Returns false in that case, or if the call fails.
bool replace_action(Injector& injector, Thread& thread, int signal,
                    const KernelAction& expected, const KernelAction& wanted,
                    std::optional<TargetAddr> room = std::nullopt);

// Returns a thread of the process that can make a system call, or null. Prefers a thread
// that has not stopped for a signal.
Thread* calling_thread(Tracees& tracees, const Process& process);

} // namespace dt::agent
