// SPDX-License-Identifier: MIT
// Wrappers for ptrace(2). A wrapper returns false if the call fails. The usual error is
// ESRCH, which means that the thread is about to exit.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

namespace dt::agent {

constexpr int seize_options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                              PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE |
                              PTRACE_O_TRACEEXEC;

inline bool get_regs(pid_t tid, user_regs_struct& regs)
{
    return ptrace(PTRACE_GETREGS, tid, nullptr, &regs) == 0;
}

inline bool set_regs(pid_t tid, const user_regs_struct& regs)
{
    return ptrace(PTRACE_SETREGS, tid, nullptr, &regs) == 0;
}

inline bool set_gs_base(pid_t tid, std::uint64_t value)
{
    return ptrace(PTRACE_POKEUSER, tid, offsetof(user_regs_struct, gs_base), value) ==
           0;
}

// Sets gs_base to 0 if it is `key`. Otherwise the program has set its own gs_base,
// which is kept.
inline void remove_gs_key(pid_t tid, std::uint64_t key)
{
    user_regs_struct user;
    if (key != 0 && get_regs(tid, user) && user.gs_base == key)
        set_gs_base(tid, 0);
}

inline bool get_siginfo(pid_t tid, siginfo_t& info)
{
    return ptrace(PTRACE_GETSIGINFO, tid, nullptr, &info) == 0;
}

inline bool set_siginfo(pid_t tid, const siginfo_t& info)
{
    return ptrace(PTRACE_SETSIGINFO, tid, nullptr, &info) == 0;
}

// `mask` is the kernel's signal set, in which bit n - 1 is signal n.
inline bool get_mask(pid_t tid, std::uint64_t& mask)
{
    return ptrace(PTRACE_GETSIGMASK, tid, sizeof mask, &mask) == 0;
}

inline bool set_mask(pid_t tid, std::uint64_t mask)
{
    return ptrace(PTRACE_SETSIGMASK, tid, sizeof mask, &mask) == 0;
}

inline bool get_event_message(pid_t tid, unsigned long& message)
{
    return ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &message) == 0;
}

inline bool resume_thread(int request, pid_t tid, int signal)
{
    return ptrace(static_cast<__ptrace_request>(request), tid, nullptr,
                  static_cast<long>(signal)) == 0;
}

constexpr std::uint64_t signal_bit(int signal)
{
    return 1ull << (signal - 1);
}

// The signals that no instruction raises. The agent blocks them, for example, while a
// thread executes a copied instruction. The other signals stay unblocked. If an
// instruction raises a blocked signal, the kernel resets the signal's handler.
constexpr std::uint64_t asynchronous_signals =
    ~(signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGILL) |
      signal_bit(SIGFPE) | signal_bit(SIGTRAP) | signal_bit(SIGSYS));

} // namespace dt::agent
