// SPDX-License-Identifier: MIT
// Deadlines: a target that does not stop delays the agent only for a bounded time.
//
//   wait for a stop ─ late ─> give_up(space) ─ main loop ─> event `given_up`, release
//
// In one turn of the agent's loop, all waits for threads of one address space share a
// budget of 2 s (stop_timeout_ns, wait_budget.hpp). If a thread has not stopped when
// the budget is spent, it is late. The agent then gives up on the process: it restores
// the text and detaches from the stopped threads. The late thread is detached at its
// next stop. The runtime fires no more probes, but it stays mapped, because a thread
// may be in it.
//
// On a busy machine, a thread may wait for a processor longer than the budget. So it is
// late only if, in addition, one of these conditions is true:
// - For 100 ms after the budget was spent, it has neither run nor been runnable. A
//   shorter time may be a part of the system call that the thread makes for the agent,
//   or the report of its stop may not have arrived yet.
// - It has run for half a second since the budget was spent. For example, the kernel
//   may repeat a page fault without end (userfaultfd).
// - The agent has waited for 10 s.
// - The consumer has exited, so the agent must also release all other targets.
// - The process was given up before.
#include "ptrace-agent/hold/tracees.hpp"

#include "base/clock_ns.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <cerrno>

namespace dt::agent {

constexpr std::uint64_t max_runnable_ns = 10'000'000'000;
constexpr std::uint64_t max_run_ns = 500'000'000;
constexpr std::uint64_t max_asleep_ns = 100'000'000;
constexpr std::uint64_t lone_exec_ns = 10'000'000'000;

// Returns whether the time after the budget was spent is enough for a thread to stop.
static bool could_have_stopped(AddressSpace& space, pid_t tid)
{
    const auto [ran_ns, asleep_ns] = space.budget.since_spent(
        tid, thread_run_ns(tid, tid), thread_state(tid, tid) == 'R');
    return ran_ns >= max_run_ns || asleep_ns >= max_asleep_ns;
}

bool Tracees::is_overdue(AddressSpace& space, pid_t tid)
{
    return space.budget.is_spent() &&
           (space.budget.given_up() || sessions_.check_in_wait() ||
            space.budget.spent_ns() >= max_runnable_ns ||
            could_have_stopped(space, tid));
}

// Returns how long an execve(2) of this process may take, in ns. The limit is long,
// because the file system may be slow. It is shorter if other targets would have to
// wait.
std::uint64_t Tracees::exec_timeout_ns(pid_t of) const
{
    const std::size_t n_own = processes_.count(of);
    return processes_.size() > n_own ? stop_timeout_ns : lone_exec_ns;
}

// Returns after how many milliseconds a wait is interrupted to check its deadline. The
// result is never 0, because the wait must first find a stop that has already happened.
int look_in_ms(const AddressSpace& space)
{
    return space.budget.is_spent() ? 1 : look_again_ms;
}

// waitpid(2), also in a confined agent.
static pid_t take_report(pid_t tid, WaitStatus& status, int options)
{
    return relays_calls() ? relay_waitpid(tid, status.raw, options)
                          : waitpid(tid, &status.raw, options);
}

// waitid(2), also in a confined agent.
static int see_report(idtype_t type, id_t id, siginfo_t& report, int options)
{
    return relays_calls() ? relay_waitid(type, id, report, options)
                          : waitid(type, id, &report, options);
}

// Waits like waitpid(2), for any thread if tid is -1. If secure_hits() was called,
// calls StopHandler::secure_hit() for each SIGTRAP before waitpid(2) takes the report.
// Even without WSTOPPED, waitid(2) reports the stops of traced threads. With WSTOPPED, it
// would also report a child that is stopped but not traced, again and again, and no other
// thread.
pid_t Tracees::wait_for(pid_t tid, WaitStatus& status, int flags)
{
    if (!secures_hits_)
        return take_report(tid, status, __WALL | flags);
    siginfo_t report{};
    if (see_report(tid == -1 ? P_ALL : P_PID, tid == -1 ? 0 : static_cast<id_t>(tid),
                   report, WEXITED | WNOWAIT | __WALL | flags) != 0)
        return -1;
    if (report.si_pid == 0)
        return 0;
    if (Thread* thread = find_thread(report.si_pid)) {
        thread->hit_at = {};
        if (report.si_code == CLD_TRAPPED && report.si_status == SIGTRAP)
            handler_.secure_hit(*thread);
    }
    pid_t reported = take_report(report.si_pid, status, __WALL | WNOHANG);
    if (reported != 0 || (flags & WNOHANG) != 0)
        return reported;
    errno = EINTR; // the thread was killed between the calls; its exit is reported next
    return -1;
}

// Waits until the thread `tid` stops, exits or is late (is_overdue()). The thread
// belongs to the address space, or is a new child of one of its threads.
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
        pid_t reported = wait_for(tid, status);
        if (reported == tid)
            return status.is_stopped() ? Waited::stopped : Waited::ended;
        if (reported >= 0 || errno != EINTR)
            return Waited::ended;
        sessions_.check_in_wait(); // reads requests and resets Mailbox::rang()
        // A leader was killed. The kernel does not report its exit before the exits of
        // the other threads have been reported.
        if (thread_state(tid, tid) == 'Z') {
            status = WaitStatus{SIGKILL};
            return Waited::ended;
        }
        if (is_overdue(space, tid))
            return Waited::late;
    }
}

// Lets the thread run, and gives up on its process.
void Tracees::leave_late(Thread& thread, const char* why)
{
    thread.move_to(ThreadState::running);
    thread.leaving = Leaving::late;
    give_up(*thread.process->space, why);
}

// Marks the address space, so that the main loop releases its processes. All later
// waits for their threads share one short budget.
void Tracees::give_up(AddressSpace& space, const char* why)
{
    if (space.budget.given_up())
        return;
    space.budget.give_up(second_timeout_ns);
    given_up_.emplace_back(space.owner(), why);
    Mailbox::ring_in_ms(1);
}

void Tracees::abandon(std::shared_ptr<AddressSpace> space)
{
    abandoned_.push_back(std::move(space));
    Mailbox::ring_in_ms(1);
}

// Returns null if there is no such address space.
std::shared_ptr<AddressSpace> Tracees::take_abandoned()
{
    if (abandoned_.empty())
        return nullptr;
    auto first = std::move(abandoned_.front());
    abandoned_.pop_front();
    return first;
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
