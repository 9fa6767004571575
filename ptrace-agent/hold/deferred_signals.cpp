// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/deferred_signals.hpp"

#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/hold/waits.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

// Returns whether a signal looks like a deferred signal that we have sent again with
// tgkill(2). If the kernel's queue was full, the siginfo is empty (SI_USER, pid 0).
static bool is_resent(const siginfo_t& info)
{
    return info.si_code == SI_TKILL || (info.si_code == SI_USER && info.si_pid == 0);
}

constexpr std::uint64_t stop_signals = signal_bit(SIGSTOP) | signal_bit(SIGTSTP) |
                                       signal_bit(SIGTTIN) | signal_bit(SIGTTOU);

bool is_stop_signal(int signal)
{
    return (signal_bit(signal) & stop_signals) != 0;
}

// Returns the set of pending signals that the kernel discards when `signal` is sent.
static std::uint64_t cancelled_by(int signal)
{
    if (is_stop_signal(signal))
        return signal_bit(SIGCONT);
    return signal == SIGCONT ? stop_signals : 0;
}

void cancel_deferred(Process& process, int arrived)
{
    const std::uint64_t cancelled = cancelled_by(arrived);
    if (cancelled == 0)
        return;
    for (auto& [tid, thread] : process.threads)
        std::erase_if(thread->deferred, [cancelled](const DeferredSignal& each) {
            return (signal_bit(each.info.si_signo) & cancelled) != 0;
        });
}

// Returns true for a job-control signal without a handler, which need not be deferred.
// Stores a stop signal in Thread::delivers. Returns false for a stop signal that was
// sent only to this thread. It may come from stop() in the current clause, which must
// end first.
static bool take_job_control(Thread& thread, const siginfo_t& info)
{
    const int signal = info.si_signo;
    if (cancelled_by(signal) == 0 ||
        (is_stop_signal(signal) && info.si_code == SI_TKILL))
        return false;
    const std::string status = thread_status(thread.process->pid, thread.tid);
    if ((status_number(status, "SigCgt", 0, 16) & signal_bit(signal)) != 0)
        return false;
    if (is_stop_signal(signal))
        thread.delivers = signal;
    return true;
}

bool drop_cancelled(Thread& thread)
{
    auto can_be_cancelled = [](const DeferredSignal& each) {
        return !each.sent && cancelled_by(each.info.si_signo) != 0;
    };
    auto& all = thread.deferred;
    if (std::none_of(all.begin(), all.end(), can_be_cancelled))
        return false;
    const std::string status = thread_status(thread.process->pid, thread.tid);
    const std::uint64_t pending =
        status_number(status, "SigPnd", 0, 16) | status_number(status, "ShdPnd", 0, 16);
    // Every pending signal arrived after the deferred signals.
    std::erase_if(all, [&](const DeferredSignal& each) {
        return can_be_cancelled(each) &&
               (pending & cancelled_by(each.info.si_signo)) != 0;
    });
    return std::any_of(all.begin(), all.end(), can_be_cancelled);
}

void defer_signal(Thread& thread, const siginfo_t& info)
{
    cancel_deferred(*thread.process, info.si_signo);
    if (take_job_control(thread, info))
        return;
    // If a deferred signal with this number was sent again, there are three cases:
    // - `info` is our signal, which has stopped the thread in our code once more.
    // - Another standard signal arrived before our signal, and the kernel has merged
    //   our signal into it.
    // - Another real-time signal arrived before our signal, which is still queued. The
    //   other signal is deferred separately.
    auto sent =
        std::find_if(thread.deferred.begin(), thread.deferred.end(),
                     [&info](const DeferredSignal& each) {
                         return each.sent && each.info.si_signo == info.si_signo;
                     });
    if (sent != thread.deferred.end() &&
        (is_resent(info) || info.si_signo < SIGRTMIN)) {
        sent->sent = false;
        if (!is_resent(info))
            sent->info = info;
        return;
    }
    auto same = [&info](const DeferredSignal& each) {
        return each.info.si_signo == info.si_signo;
    };
    if (info.si_signo >= SIGRTMIN ||
        std::none_of(thread.deferred.begin(), thread.deferred.end(), same))
        thread.deferred.push_back({info, false});
}

bool has_deferred(const Thread& thread)
{
    return std::any_of(thread.deferred.begin(), thread.deferred.end(),
                       [](const DeferredSignal& each) { return !each.sent; });
}

void restore_deferred(Thread& thread, int signal)
{
    auto sent = std::find_if(thread.deferred.begin(), thread.deferred.end(),
                             [signal](const DeferredSignal& each) {
                                 return each.sent && each.info.si_signo == signal;
                             });
    if (sent == thread.deferred.end())
        return;
    siginfo_t now;
    bool is_ours = get_siginfo(thread.tid, now) && is_resent(now);
    if (is_ours)
        set_siginfo(thread.tid, sent->info);
    // If the siginfo is not ours, another signal with this number arrived first. If it
    // is a standard signal, the kernel has merged our signal into it. If it is a
    // real-time signal, our signal is still queued, and the thread will stop for it
    // later.
    if (is_ours || signal < SIGRTMIN)
        thread.deferred.erase(sent);
}

void resend_deferred(Thread& thread)
{
    drop_cancelled(thread);
    pid_t pid = thread.process->pid;
    auto queued = [&](DeferredSignal& each) {
        int signal = each.info.si_signo;
        if (each.sent)
            return false;
        // The kernel queues a signal with its original siginfo if si_code is negative.
        // If the queue is full, the kernel refuses the signal instead of dropping its
        // siginfo.
        if (signal >= SIGRTMIN && each.info.si_code < 0 &&
            each.info.si_code != SI_TKILL &&
            syscall(SYS_rt_tgsigqueueinfo, pid, thread.tid, signal, &each.info) == 0)
            return true;
        // If the queue is full, the signal stays deferred and is sent later.
        each.sent = syscall(SYS_tgkill, pid, thread.tid, signal) == 0 || errno == ESRCH;
        return false;
    };
    auto& all = thread.deferred;
    all.erase(std::remove_if(all.begin(), all.end(), queued), all.end());
    thread.queue_is_full = has_deferred(thread);
}

int exchange_deferred(Thread& thread, int signal)
{
    // An ignored signal interrupts a system call only if the thread is traced, so the
    // call is repeated. A stop signal may also interrupt the call of an untraced thread
    // (signal(7)), so the call is not repeated after a stop signal.
    if (!is_stop_signal(signal))
        repeat_wait(thread.tid);
    if (!has_deferred(thread))
        return signal;
    // A blocked signal cannot be delivered. The current mask is read from /proc,
    // because PTRACE_GETSIGMASK returns another mask during sigsuspend(2).
    std::string status = thread_status(thread.process->pid, thread.tid);
    std::uint64_t mask = status_number(status, "SigBlk", 0, 16);
    auto first = std::find_if(thread.deferred.begin(), thread.deferred.end(),
                              [mask](const DeferredSignal& each) {
                                  return !each.sent &&
                                         (mask & signal_bit(each.info.si_signo)) == 0;
                              });
    siginfo_t now;
    if (first == thread.deferred.end() || !get_siginfo(thread.tid, now) ||
        is_synchronous(now) || !set_siginfo(thread.tid, first->info))
        return signal;
    int taken = first->info.si_signo;
    thread.deferred.erase(first);
    defer_signal(thread, now);
    return taken;
}

} // namespace dt::agent
