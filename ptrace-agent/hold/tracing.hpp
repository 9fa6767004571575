// SPDX-License-Identifier: MIT
// Wrappers for ptrace(2). A wrapper returns false if the call fails. The usual error is
// ESRCH, which means that the thread is about to exit.
#pragma once

#include "ptrace-agent/confine/relayed_calls.hpp"

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

// ptrace(2) for a stopped thread, also in a confined agent.
inline bool trace(int request, pid_t tid, std::uint64_t addr, const void* data)
{
    if (relays_calls())
        return relay_ptrace(request, tid, addr, const_cast<void*>(data)) == 0;
    return ptrace(static_cast<__ptrace_request>(request), tid, addr, data) == 0;
}

inline bool get_regs(pid_t tid, user_regs_struct& regs)
{
    return trace(PTRACE_GETREGS, tid, 0, &regs);
}

inline bool set_regs(pid_t tid, const user_regs_struct& regs)
{
    return trace(PTRACE_SETREGS, tid, 0, &regs);
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
    return trace(PTRACE_GETSIGINFO, tid, 0, &info);
}

inline bool set_siginfo(pid_t tid, const siginfo_t& info)
{
    return trace(PTRACE_SETSIGINFO, tid, 0, &info);
}

// `mask` is the kernel's signal set, in which bit n - 1 is signal n.
inline bool get_mask(pid_t tid, std::uint64_t& mask)
{
    return trace(PTRACE_GETSIGMASK, tid, sizeof mask, &mask);
}

inline bool set_mask(pid_t tid, std::uint64_t mask)
{
    return trace(PTRACE_SETSIGMASK, tid, sizeof mask, &mask);
}

inline bool get_event_message(pid_t tid, unsigned long& message)
{
    return ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &message) == 0;
}

inline bool resume_thread(int request, pid_t tid, int signal)
{
    return trace(request, tid, 0, reinterpret_cast<void*>(static_cast<long>(signal)));
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
