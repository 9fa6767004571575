// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/seize.hpp"

#include "base/signal_timer.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/confine/confinement.hpp"
#include "ptrace-agent/hold/tracing.hpp"

#include <array>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace dt::agent {

static sigjmp_buf leave;
static volatile sig_atomic_t in_seize;

// Returns whether the signal has interrupted ptrace(2) while the call waits. The kernel
// will then restart the call, so the pc is at the system call instruction again. If the
// pc is elsewhere, the call has returned or has not begun.
static bool is_waiting_in_ptrace(const ucontext_t& interrupted)
{
    constexpr std::array<unsigned char, 2> syscall_insn{0x0f, 0x05};
    const greg_t* regs = interrupted.uc_mcontext.gregs;
    return regs[REG_RAX] == SYS_ptrace &&
           std::memcmp(reinterpret_cast<const void*>(regs[REG_RIP]),
                       syscall_insn.data(), syscall_insn.size()) == 0;
}

static void on_timeout(int, siginfo_t*, void* context)
{
    if (in_seize && is_waiting_in_ptrace(*static_cast<ucontext_t*>(context)))
        siglongjmp(leave, 1);
}

static std::optional<timer_t> seize_timer()
{
    struct sigaction action = {};
    action.sa_sigaction = on_timeout;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, nullptr);
    return make_signal_timer(SIGUSR1);
}

// Sends the signal every `ms` milliseconds, or never again if `ms` is 0. One signal is
// not enough, because it may arrive before the call begins.
static void interrupt_every(const std::optional<timer_t>& timer, long ms)
{
    itimerspec every{};
    every.it_value.tv_nsec = every.it_interval.tv_nsec = ms * 1'000'000;
    if (timer)
        timer_settime(*timer, 0, &every, nullptr);
}

int seize(pid_t tid, int options)
{
    constexpr long timeout_ms = 20;
    static const std::optional<timer_t> timer = seize_timer();
    volatile int error = 0;
    if (sigsetjmp(leave, 1) == 0) {
        in_seize = 1;
        interrupt_every(timer, timeout_ms);
        if (ptrace(PTRACE_SEIZE, tid, nullptr, options) != 0)
            error = errno;
    } else {
        error = EINTR;
    }
    in_seize = 0;
    interrupt_every(timer, 0);
    // The signal may have arrived after the call succeeded.
    if (error == EINTR && status_number(thread_status(tid, tid), "TracerPid") ==
                              static_cast<std::uint64_t>(tracer_pid()))
        error = 0;
    return error;
}

std::vector<int> seize_in_turn(std::span<const pid_t> tids)
{
    if (relays_calls())
        return relay_attach(tids);
    std::vector<int> results;
    for (const pid_t tid : tids) {
        results.push_back(seize(tid));
        if (results.back() == EINTR)
            break;
    }
    return results;
}

} // namespace dt::agent
