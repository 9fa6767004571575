// SPDX-License-Identifier: MIT
// Breakpoints at the calls with which a program changes its signal actions and masks.
//
//   sigaction()         at the function in C libraries. The system call in libc is not
//                       watched, because posix_spawn() makes it dozens of times.
//   rt_sigaction(2)     in the text of the program, which may contain its own copy of a
//                       C library
//   rt_sigprocmask(2)   in the text of the program and of C libraries, except in
//                       getcontext(), setcontext() and swapcontext(). Coroutines call
//                       these functions often, and only restore masks that TrapMask has
//                       recorded.
//
// A call is found if its number is a constant shortly before the instruction. So the
// function syscall() is not watched.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"

namespace dt::agent {

// Writes the breakpoints. Does nothing if this was done before.
void watch_signal_calls(StoppedWorld& world);

} // namespace dt::agent
