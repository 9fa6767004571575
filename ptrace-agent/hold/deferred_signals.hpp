// SPDX-License-Identifier: MIT
// Signals that arrive while a thread is in our code. They are deferred until the
// thread has left our code (Thread::deferred).
//
// Deferred signals are merged as the kernel merges blocked signals. When the thread has
// left our code, each deferred signal is sent to the thread again. The kernel creates a
// new siginfo for it. When the thread stops for the signal, the agent replaces the new
// siginfo with the original one.
//
// Job-control signals are an exception. When SIGCONT is sent, the kernel drops the
// pending stop signals and continues the process. When a stop signal is sent, the
// kernel drops a pending SIGCONT. Suppose that a SIGCONT is deferred, a SIGSTOP
// arrives, and the agent then sends the SIGCONT again. The process would run, although
// it should be stopped. So:
//   - A stop signal without a handler is delivered while the thread is in our code,
//     unless it was sent only to the thread. Its delivery runs no code of the program,
//     and the kernel knows whether a SIGCONT has arrived since.
//   - SIGCONT without a handler is not deferred, because it took effect when it was
//     sent.
//   - A job-control signal with a handler is deferred. It is dropped if a signal
//     arrives that cancels it. If the cancelling signal arrives in the microseconds
//     between our last check and our tgkill(2), the kernel drops the cancelling signal
//     instead.
#pragma once

#include "ptrace-agent/hold/target.hpp"

namespace dt::agent {

// Returns whether the signal's default action stops the process.
bool is_stop_signal(int signal);
// Adds a signal to the deferred signals of the thread, or merges it with one of them.
// The thread must be in the signal-delivery-stop (ptrace(2)) for this signal. A
// job-control signal without a handler is not deferred, unless it is a stop signal that
// was sent only to the thread. resume_thread() delivers a stop signal that is not
// deferred (Thread::delivers).
void defer_signal(Thread& thread, const siginfo_t& info);
// Returns whether the thread has a deferred signal that has not been sent again yet.
bool has_deferred(const Thread& thread);
// Restores the original siginfo of a deferred signal that was sent again. The thread
// must be in the signal-delivery-stop for this signal. Does nothing if the signal was
// not deferred.
void restore_deferred(Thread& thread, int signal);
// Sends the deferred signals to the thread again. A signal for which the kernel's queue
// has no space stays deferred, and Thread::queue_is_full is set.
void resend_deferred(Thread& thread);
// Drops the deferred signals that the signal `arrived` cancels.
void cancel_deferred(Process& process, int arrived);
// Drops the deferred signals that a pending signal cancels. Returns whether the thread
// still has deferred signals that a later signal can cancel.
bool drop_cancelled(Thread& thread);
// Returns the signal to deliver to a thread that is not in our code and has stopped for
// `signal`. If a signal is still deferred because the kernel's queue was full, returns
// the deferred signal, and defers `signal` instead. Otherwise returns `signal`.
int exchange_deferred(Thread& thread, int signal);

} // namespace dt::agent
