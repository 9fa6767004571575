// SPDX-License-Identifier: MIT
#include "ptrace-agent/confine/stopped_threads.hpp"

#include "base/seccomp_filter.hpp"
#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <sys/ptrace.h>

namespace dt::agent {

// If two threads need the same place, the requests for the first one go to the broker.
static std::array<StoppedThread, 256> stopped_threads;

static StoppedThread& place_of(std::uint64_t tid)
{
    return stopped_threads[tid % stopped_threads.size()];
}

StoppedThread* find_stopped(std::uint64_t tid)
{
    StoppedThread& found = place_of(tid);
    return tid != 0 && static_cast<std::uint64_t>(found.tid) == tid ? &found : nullptr;
}

void keep_state(pid_t tid, int status, bool has_report, const RelayReply& reply)
{
    StoppedThread& place = place_of(static_cast<std::uint64_t>(tid));
    place.tid = 0;
    if (reply.head.n_bytes != stop_state_at + sizeof place.state)
        return;
    std::memcpy(&place.state, reply.bytes.data() + stop_state_at, sizeof place.state);
    place.tid = tid;
    place.status = status;
    place.has_report = has_report;
}

bool read_state(const TraceArguments& args, const StopState& state, long& result)
{
    result = 0;
    switch (args[0]) {
    case PTRACE_GETREGS:
        std::memcpy(reinterpret_cast<void*>(args[3]), &state.regs, sizeof state.regs);
        return true;
    case PTRACE_GETSIGINFO:
        if (state.has_info != 0)
            std::memcpy(reinterpret_cast<void*>(args[3]), &state.info,
                        sizeof state.info);
        return state.has_info != 0;
    case PTRACE_GETSIGMASK:
        if (args[2] == sizeof state.mask)
            std::memcpy(reinterpret_cast<void*>(args[3]), &state.mask,
                        sizeof state.mask);
        return args[2] == sizeof state.mask;
    case PTRACE_PEEKSIGINFO:
        return state.may_queue == 0; // the result is the number of signals
    default:
        return false;
    }
}

// Returns whether the kernel stores these registers without a change. It checks segment
// registers, and ignores some flags.
static bool are_stored_unchanged(const user_regs_struct& now,
                                 const user_regs_struct& next)
{
    constexpr std::uint64_t settable_flags = 0x40cd5; // CF PF AF ZF SF DF OF AC
    const auto number = static_cast<std::int64_t>(next.orig_rax);
    return now.cs == next.cs && now.ss == next.ss && now.ds == next.ds &&
           now.es == next.es && now.fs == next.fs && now.gs == next.gs &&
           now.fs_base == next.fs_base && now.gs_base == next.gs_base &&
           ((now.eflags ^ next.eflags) & ~settable_flags) == 0 &&
           static_cast<std::int32_t>(number) == number;
}

// Returns whether the kernel stores this siginfo without a change. It stores only the
// fields that the known layouts use.
static bool is_stored_unchanged(const siginfo_t& info)
{
    constexpr std::size_t stored_bytes = 48; // sizeof(struct kernel_siginfo)
    std::array<std::byte, sizeof info> bytes;
    std::memcpy(bytes.data(), &info, sizeof info);
    return std::all_of(bytes.begin() + stored_bytes, bytes.end(),
                       [](std::byte each) { return each == std::byte{0}; });
}

bool change_state(const TraceArguments& args, StopState& state)
{
    constexpr std::uint64_t unblockable = signal_bit(SIGKILL) | signal_bit(SIGSTOP);
    user_regs_struct regs;
    siginfo_t info;
    switch (args[0]) {
    case PTRACE_SETREGS:
        std::memcpy(&regs, reinterpret_cast<void*>(args[3]), sizeof regs);
        if (!are_stored_unchanged(state.regs, regs))
            return false;
        state.regs = regs;
        return true;
    case PTRACE_SETSIGINFO:
        std::memcpy(&info, reinterpret_cast<void*>(args[3]), sizeof info);
        if (state.has_info == 0 || !is_stored_unchanged(info))
            return false;
        state.info = info;
        return true;
    case PTRACE_SETSIGMASK:
        if (args[2] != sizeof state.mask)
            return false;
        std::memcpy(&state.mask, reinterpret_cast<void*>(args[3]), sizeof state.mask);
        state.mask &= ~unblockable;
        return true;
    case PTRACE_SETOPTIONS: // suspending a filter can fail
        return (args[3] & PTRACE_O_SUSPEND_SECCOMP) == 0;
    default:
        return false;
    }
}

} // namespace dt::agent
