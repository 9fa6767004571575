// SPDX-License-Identifier: MIT
// Deadlines: a target that misbehaves costs the agent two seconds, and the other
// targets nothing.
//
//   wait for a stop ── late ──> give_up(space) ── main loop ──> release, event `given_up`
//
// The waits for the threads of one address space, in one turn of the agent's loop, share
// a budget of stop_patience_ns (wait_budget.hpp). A thread that is late then is in
// uninterruptible sleep, or runs code of ours that its process has changed. Its process
// is given up: the text is restored, and the threads that are stopped are detached. The
// late thread is detached at its next stop, or by the kernel when the agent exits. The
// runtime stays mapped in such a process, because a thread may be in it, but it fires
// nothing any more.
//
// When the consumer has exited, all targets are released, and their deadlines run at the
// same time (releaser.hpp).
//
// A runnable thread that has no processor yet is not late: it gets more time on a busy
// machine. It is late once it has run for half a second and has not stopped: the kernel
// repeats a page fault that a userfaultfd holds back as long as a signal is pending. If the consumer has exited it does not, because other targets wait for their
// release.
#include "ptrace-agent/hold/tracees.hpp"

#include "base/clock_ns.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <cerrno>

namespace dt::agent {

constexpr std::uint64_t runnable_patience_ns = 10'000'000'000;
constexpr std::uint64_t run_patience_ns = 500'000'000;
constexpr std::uint64_t alone_patience_ns = 10'000'000'000;

bool Tracees::is_overdue(AddressSpace& space, pid_t tid)
{
    return space.budget.is_spent() &&
           (space.given_up || client_.check_in_wait() ||
            space.budget.spent_ns() >= runnable_patience_ns ||
            thread_state(tid, tid) != 'R' ||
            space.budget.run_since_spent(tid, thread_run_ns(tid, tid)) >=
                run_patience_ns);
}

// Returns how long an execve(2) of this process may take. The kernel reads the program
// meanwhile, and a slow file system is no attack: while no other target waits it gets more
// time. If other targets wait, it gets as much as a thread gets for any stop; then the
// process is not attached to, or the command is not started, and its user can try again.
std::uint64_t Tracees::exec_patience_ns(pid_t of) const
{
    const std::size_t n_own = processes_.count(of);
    return processes_.size() > n_own ? stop_patience_ns : alone_patience_ns;
}

// Returns the time until a wait is to look again. Where nothing is left of the budget, a
// stop that is due at once is still taken.
int look_in_ms(const AddressSpace& space)
{
    return space.budget.is_spent() ? 1 : look_again_ms;
}

// Waits like waitpid(2); for any thread if tid is -1.
pid_t Tracees::wait_for(pid_t tid, WaitStatus& status, int flags)
{
    if (!secures_hits_)
        return waitpid(tid, &status.raw, __WALL | flags);
    siginfo_t report{};
    if (waitid(tid == -1 ? P_ALL : P_PID, tid == -1 ? 0 : static_cast<id_t>(tid),
               &report, WEXITED | WSTOPPED | WNOWAIT | __WALL | flags) != 0)
        return -1;
    if (report.si_pid == 0)
        return 0;
    if (Thread* thread = find_thread(report.si_pid)) {
        thread->hit_at = {};
        if (report.si_code == CLD_TRAPPED && report.si_status == SIGTRAP)
            handler_.secure_hit(*thread);
    }
    pid_t got = waitpid(report.si_pid, &status.raw, __WALL | WNOHANG);
    if (got != 0 || (flags & WNOHANG) != 0)
        return got;
    errno = EINTR; // it was killed in between: its end is about to be reported
    return -1;
}

// Waits for a thread of the address space, or for a new child of one.
Waited Tracees::wait_for_stop(AddressSpace& space, pid_t tid, WaitStatus& status)
{
    if (auto early = early_stops_.find(tid); early != early_stops_.end()) {
        status = early->second;
        early_stops_.erase(early);
        return Waited::stopped;
    }
    space.budget.begin_turn(turn_);
    WaitBudget::Wait wait(space.budget);
    for (;;) {
        Mailbox::ring_in_ms(look_in_ms(space));
        pid_t got = wait_for(tid, status);
        if (got == tid)
            return status.is_stopped() ? Waited::stopped : Waited::ended;
        if (got >= 0 || errno != EINTR)
            return Waited::ended;
        client_.check_in_wait(); // clears the mail signal
        if (is_overdue(space, tid))
            return Waited::late;
    }
}

// Lets the thread run until its next stop, at which it is detached.
void Tracees::leave_late(Thread& thread, const char* why)
{
    thread.move_to(ThreadState::running);
    thread.leaving = Leaving::late;
    give_up(*thread.process->space, why);
}

// A process that was given up gets only a short time from then on.
void Tracees::give_up(AddressSpace& space, const char* why)
{
    if (space.given_up)
        return;
    space.given_up = true;
    space.budget.set_last(second_patience_ns);
    given_up_.emplace_back(space.owner(), why);
    Mailbox::ring_in_ms(1);
}

std::optional<std::pair<pid_t, std::string>> Tracees::take_given_up()
{
    if (given_up_.empty())
        return std::nullopt;
    auto first = std::move(given_up_.front());
    given_up_.pop_front();
    return first;
}

} // namespace dt::agent
