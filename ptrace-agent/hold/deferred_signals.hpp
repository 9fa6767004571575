// SPDX-License-Identifier: MIT
// Signals that arrive while their thread is in our code, and wait until it has left.
//
// They are merged as the kernel merges blocked ones. Out of our code the thread gets each
// sent once more, and its own siginfo back when it arrives (Thread::deferred).
#pragma once

#include "ptrace-agent/hold/target.hpp"

namespace dt::agent {

void defer_signal(Thread& thread, const siginfo_t& info);
bool has_deferred(const Thread& thread); // that was not sent once more
// Gives a signal that was sent once more its own siginfo back; the thread is in its stop.
void restore_deferred(Thread& thread, int signal);
// Sends what is deferred. What the kernel's queue has no room for stays (Thread::crowded).
void resend_deferred(Thread& thread);
// The thread is in the program, in the stop of this signal. Returns the signal that it gets:
// one that is still deferred for want of room, if there is one, and this one is deferred
// instead.
int exchange_deferred(Thread& thread, int signal);

} // namespace dt::agent
