// SPDX-License-Identifier: MIT
// Signals that arrive while their thread is in our code. They are deferred until the
// thread has left it (Thread::deferred).
//
// Deferred signals are merged as the kernel merges blocked signals. When the thread has
// left our code, each of them is sent to it again. The kernel gives the new signal a
// siginfo of its own. When the thread stops for that signal, the agent replaces this
// siginfo by the original one.
#pragma once

#include "ptrace-agent/hold/target.hpp"

namespace dt::agent {

// Adds a signal to the deferred signals of the thread, or merges it with one of them.
void defer_signal(Thread& thread, const siginfo_t& info);
// Returns whether the thread has a deferred signal that was not sent again yet.
bool has_deferred(const Thread& thread);
// Restores the original siginfo of a signal that was sent again. The thread must be in
// the stop of this signal. Does nothing if the signal was not deferred.
void restore_deferred(Thread& thread, int signal);
// Sends the deferred signals to the thread again. A signal for which the kernel's queue
// has no space stays deferred, and Thread::queue_is_full is set.
void resend_deferred(Thread& thread);
// Returns the signal to deliver to a thread that is not in our code and has stopped for
// `signal`. If a signal is still deferred because the kernel's queue was full, returns
// that one, and defers `signal` instead. Otherwise returns `signal`.
int exchange_deferred(Thread& thread, int signal);

} // namespace dt::agent
