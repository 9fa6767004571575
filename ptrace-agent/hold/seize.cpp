// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/seize.hpp"

#include "base/signal_timer.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/confine/confinement.hpp"
#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <functional>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace dt::agent {

bool is_traced(pid_t pid, pid_t tid)
{
    return status_number(thread_status(pid, tid), "TracerPid") ==
           static_cast<std::uint64_t>(tracer_pid());
}

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
    if (error == EINTR && is_traced(tid, tid))
        error = 0;
    return error;
}

std::vector<SeizeResult> seize_threads(pid_t pid,
                                       const std::function<bool(pid_t)>& is_known)
{
    if (relays_calls())
        return relay_attach(pid);
    std::vector<pid_t> tids = threads_of(pid);
    std::erase_if(tids, is_known);
    // Threads with high ids are probably new, and will live longer than old ones.
    std::ranges::sort(tids, std::greater());
    std::vector<SeizeResult> results;
    std::vector<pid_t> refused;
    for (const pid_t tid : tids) {
        const int error = seize(tid);
        if (error == EPERM)
            refused.push_back(tid);
        else
            results.push_back({tid, error});
        if (error == EINTR || results.size() == max_attached)
            break;
    }
    std::erase_if(refused, [pid](pid_t tid) { return is_traced(pid, tid); });
    for (const pid_t tid : refused)
        if (results.size() < max_attached)
            results.push_back({tid, EPERM});
    return results;
}

} // namespace dt::agent
