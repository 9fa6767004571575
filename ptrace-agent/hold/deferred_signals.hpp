// SPDX-License-Identifier: MIT
// Signals that arrive while a thread is in our code. They are deferred until the thread
// has left our code (Thread::deferred).
//
// Deferred signals are merged as the kernel merges blocked signals. Each one is then
// sent to the thread again. When the thread stops for it, the agent restores the
// original siginfo.
//
// Job-control signals are different, because SIGCONT and stop signals cancel each other
// when they are sent:
// - A stop signal without a handler is delivered at once, because this runs no code of
//   the program. But it is deferred if it was sent only to this thread.
// - SIGCONT without a handler is not deferred, because it took effect when it was sent.
// - A job-control signal with a handler is deferred. It is dropped if a signal arrives
//   that cancels it. A race of a few microseconds remains. If a cancelling signal
//   arrives between our last check and our tgkill(2), the kernel drops the cancelling
//   signal.
#pragma once

#include "ptrace-agent/hold/target.hpp"

namespace dt::agent {

bool is_stop_signal(int signal);
// Adds a signal to the deferred signals of the thread, or merges it with one of them.
// The thread must be in the signal-delivery-stop (ptrace(2)) for this signal.
// Job-control signals without a handler are treated as described above.
void defer_signal(Thread& thread, const siginfo_t& info);
// Returns whether the thread has a deferred signal that has not been sent again yet.
bool has_deferred(const Thread& thread);
// Restores the original siginfo of a signal that was deferred and sent again. The
// thread must be in the signal-delivery-stop for this signal.
void restore_deferred(Thread& thread, int signal);
// Sends the deferred signals to the thread again. If the kernel's queue is full, a
// signal stays deferred, and Thread::queue_is_full is set.
void resend_deferred(Thread& thread);
// Drops the deferred signals that the signal `arrived` cancels.
void cancel_deferred(Process& process, int arrived);
// Drops the deferred signals that a pending signal cancels. Returns whether the thread
// still has deferred signals that a later signal can cancel.
bool drop_cancelled(Thread& thread);
// Returns the signal to deliver to a thread that has stopped for `signal` outside our
// code. If a signal is still deferred, because the kernel's queue was full, returns
// that signal and defers `signal`.
int exchange_deferred(Thread& thread, int signal);

} // namespace dt::agent
