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
// same time (release.cpp).
//
// A runnable thread that has no processor yet is not late: it gets more time on a busy
// machine. It is late once it has run for half a second and has not stopped: the kernel
// repeats a page fault that a userfaultfd holds back as long as a signal is pending. If the consumer has exited it does not, because other targets wait for their
// release.
#include "ptrace-agent/agent.hpp"

#include "base/clock_ns.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <cerrno>

namespace dt::agent {

constexpr std::uint64_t runnable_patience_ns = 10'000'000'000;
constexpr std::uint64_t run_patience_ns = 500'000'000;
constexpr std::uint64_t alone_patience_ns = 10'000'000'000;

// Reads mail during a wait. Returns whether the consumer has exited. The main loop
// serves the mail afterwards.
bool Agent::client_has_exited()
{
    if (Mailbox::rang()) {
        mail_.receive();
        rang_in_wait_ = true;
    }
    Mailbox::ring_in_ms(look_again_ms);
    return mail_.closed();
}

bool Agent::is_overdue(AddressSpace& space, pid_t tid)
{
    return space.budget.is_spent() &&
           (space.given_up || client_has_exited() ||
            space.budget.spent_ns() >= runnable_patience_ns ||
            thread_state(tid, tid) != 'R' ||
            space.budget.run_since_spent(tid, thread_run_ns(tid, tid)) >=
                run_patience_ns);
}

// Returns how long an execve(2) of this process may take. The kernel reads the program
// meanwhile, and a slow file system is no attack: while no other target waits it gets more
// time. If other targets wait, it gets as much as a thread gets for any stop; then the
// process is not attached to, or the command is not started, and its user can try again.
std::uint64_t Agent::exec_patience_ns(pid_t of) const
{
    const std::size_t n_own = processes_.count(of);
    return processes_.size() > n_own ? stop_patience_ns : alone_patience_ns;
}

// Returns the time until a wait is to look again. Where nothing is left of the budget, a
// stop that is due at once is still taken.
int Agent::look_in_ms(const AddressSpace& space)
{
    return space.budget.is_spent() ? 1 : look_again_ms;
}

// Protects a thread at a breakpoint against the agent's death. Taking a report from the
// kernel takes the thread's signal with it: if the agent died then, the thread would
// continue in the middle of the instruction. So the report is only read first, and the
// pc is put back while the signal is still pending. If the agent dies meanwhile, the
// thread gets the signal, and its handler (rescue.hpp) reads the instruction's address
// from the siginfo.
void Agent::secure_hit(Thread& thread)
{
    const AddressSpace& space = *thread.process->space;
    siginfo_t info;
    user_regs_struct user;
    if (!space.rescue.installed() || !get_siginfo(thread.tid, info) ||
        !is_breakpoint(info) || !get_regs(thread.tid, user))
        return;
    const Tracepoint* tp = space.find({user.rip - 1});
    if (tp == nullptr || !tp->written)
        return;
    info.si_errno = hit_magic;
    info.si_addr = reinterpret_cast<void*>(tp->at().value);
    user.rip = tp->at().value;
    if (set_siginfo(thread.tid, info) && set_regs(thread.tid, user))
        thread.hit_at = tp->at();
}

// Waits like waitpid(2); for any thread if tid is -1.
pid_t Agent::wait_for(pid_t tid, WaitStatus& status, int flags)
{
    if (!any_rescue_)
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
            secure_hit(*thread);
    }
    pid_t got = waitpid(report.si_pid, &status.raw, __WALL | WNOHANG);
    if (got != 0 || (flags & WNOHANG) != 0)
        return got;
    errno = EINTR; // it was killed in between: its end is about to be reported
    return -1;
}

// Waits for a thread of the address space, or for a new child of one.
Agent::Waited Agent::wait_for_stop(AddressSpace& space, pid_t tid, WaitStatus& status)
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
        client_has_exited(); // clears the mail signal
        if (is_overdue(space, tid))
            return Waited::late;
    }
}

// Lets the thread run until its next stop, at which it is detached.
void Agent::leave_late(Thread& thread, const char* why)
{
    thread.stopped = false;
    thread.pending = false;
    thread.leaving = thread.late = true;
    give_up(*thread.process->space, why);
}

// A process that was given up gets only a short time from then on.
void Agent::give_up(AddressSpace& space, const char* why)
{
    if (space.given_up)
        return;
    space.given_up = true;
    space.budget.set_last(second_patience_ns);
    given_up_.emplace_back(space.owner(), why);
    Mailbox::ring_in_ms(1);
}

// Releases processes that were given up. Called by the main loop, where no other world
// is stopped.
void Agent::release_given_up()
{
    auto [owner, why] = given_up_.front();
    given_up_.pop_front();
    std::shared_ptr<AddressSpace> space;
    std::vector<pid_t> targets;
    for (auto& [pid, process] : processes_) {
        if (!process->space->given_up || process->space->owner() != owner)
            continue;
        space = process->space;
        if (std::exchange(process->is_target, false) && !process->doomed)
            targets.push_back(pid);
    }
    if (space == nullptr)
        return;
    release(space);
    table_.reclaim();
    for (pid_t pid : targets) {
        AgentEvent event;
        event.kind = AgentEvent::given_up;
        event.pid = pid;
        event.text = "process " + std::to_string(pid) + " kept dtrace waiting: " + why +
                     "; its probes were removed, and it continues untraced";
        send_event(std::move(event));
    }
}

} // namespace dt::agent
