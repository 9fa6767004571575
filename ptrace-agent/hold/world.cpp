// SPDX-License-Identifier: MIT
// Stopping all threads of an address space, and letting them go on.
//
// Every running thread gets a PTRACE_INTERRUPT; then reports are collected until all
// have stopped, for whatever reason. What a thread stopped for stays pending, except
// two things that would dangle when text changes under them:
//
//   - a hit that the kernel has queued as SIGTRAP but not reported yet: the thread is
//     continued until the report comes (take_raised_signal());
//   - a run over a copy: it is ended, and where the copy had not run, the thread's pc
//     is the original instruction again, which it enters without firing a second time.
//
// A thread counts as stopped without a report when it cannot run user code before it
// sees our interrupt: one that waits in the kernel for its vfork child, one in
// uninterruptible sleep, a leader that ended before its threads.
#include "ptrace-agent/agent.hpp"

#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/hold/waits.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/ptrace.h>

namespace dt::agent {

bool Agent::collect(Wait wait)
{
    WaitStatus status;
    if (wait == Wait::a_while)
        Mailbox::ring_in_ms(look_again_ms);
    pid_t tid = wait_for(-1, status, wait == Wait::poll ? WNOHANG : 0);
    if (tid > 0) {
        note_stop(tid, status);
        return true;
    }
    if (tid < 0 && errno == ECHILD && wait != Wait::poll)
        Mailbox::wait_for_ring(-1);
    return false;
}

void Agent::note_stop(pid_t tid, WaitStatus status)
{
    Thread* thread = find_thread(tid);
    if (!status.is_stopped()) {
        early_stops_.erase(tid);
        late_children_.erase(tid);
        if (thread != nullptr)
            drop_thread(*thread, status);
        return;
    }
    if (thread == nullptr && status.event() == PTRACE_EVENT_EXEC) {
        // The leader had ended before we came, and another thread takes its place.
        if (auto process = processes_.find(tid); process != processes_.end())
            thread = &add_thread(*process->second, tid);
    }
    if (thread == nullptr && late_children_.erase(tid) != 0) {
        ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
        return;
    }
    if (thread == nullptr) {
        early_stops_[tid] = status;
        release_orphan(tid);
        return;
    }
    thread->stopped = true;
    thread->pending = true;
    thread->status = status;
    if (thread->late_call && !end_late_call(*thread))
        return;
    if (!take_raised_signal(*thread))
        return;
    if (thread->is_interrupt() && !thread->listening) // which SIGCONT ended
        repeat_wait(tid);
    thread->listening = false;
    ready_.push_back(tid);
}

bool Agent::cannot_run(const Thread& thread)
{
    if (thread.in_vfork && guest_of(thread) != 0)
        return true;
    char state = thread_state(thread.process->pid, thread.tid);
    return state == 'Z' || state == 'X' || state == 'D' || state == '\0';
}

static bool is_new_task(int event)
{
    return event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
           event == PTRACE_EVENT_VFORK;
}

static bool is_guests_exec(const Thread& thread)
{
    return thread.event() == PTRACE_EVENT_EXEC && !thread.process->is_target &&
           thread.process->is_guest();
}

// Another process that runs in its memory, its vfork child say; 0: none. A target before
// others.
pid_t Agent::guest_of(const Thread& thread)
{
    pid_t guest = 0;
    for (const Thread* other : threads_in(*thread.process->space)) {
        if (other->process != thread.process &&
            (guest == 0 || other->process->is_target))
            guest = other->process->pid;
    }
    return guest;
}

// In the middle of fork(2) or clone(2) nobody can make a call for us: it comes to its end,
// and to a stop there.
void Agent::finish_call(Thread& thread)
{
    if (thread.in_vfork || thread.step.active)
        return;
    thread.stopped = false;
    thread.interrupted = true;
    ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    resume_thread(PTRACE_CONT, thread.tid, 0);
}

// Returns whether no thread is late. With another try to come the process is not given up.
bool Agent::stop_all(AddressSpace& space, Try which)
{
    space.budget.begin_turn(turn_);
    WaitBudget::Wait wait(space.budget);
    bool in_time = true;
    for (;;) {
        bool all_stopped = true;
        bool new_tasks = false;
        for (Thread* thread : threads_in(space)) {
            if (thread->stopped) {
                // Its child belongs to the world that is being stopped.
                if (thread->pending && is_new_task(thread->event())) {
                    thread->pending = false;
                    handle_new_task(*thread);
                    new_tasks = true;
                    finish_call(*thread);
                } else if (thread->pending &&
                           thread->event() == PTRACE_EVENT_VFORK_DONE) {
                    thread->pending = false;
                    thread->in_vfork = false;
                    learn_thread(*thread); // its child ran on its fs_base
                    new_tasks = true;
                    finish_call(*thread);
                } else if (thread->pending && is_guests_exec(*thread)) {
                    thread->pending = false;
                    handle_exec(*thread); // it is in other memory, and let go
                    new_tasks = true;
                    break; // it and others are no more
                }
                continue;
            }
            // A new thread stops by itself, at its first instruction.
            if (!thread->interrupted && !thread->fresh) {
                thread->interrupted = true;
                ptrace(PTRACE_INTERRUPT, thread->tid, nullptr, nullptr);
            }
            // Its child has gone on, and it is about to: that is reported.
            bool waits = thread->in_vfork && guest_of(*thread) != 0;
            all_stopped = all_stopped && waits;
        }
        if (new_tasks)
            continue;
        if (all_stopped)
            break;
        if (collect(Wait::a_while)) {
            while (collect(Wait::poll)) {
            }
            continue;
        }
        bool all_inert = true;
        bool all_late = true;
        for (Thread* thread : threads_in(space)) {
            if (thread->stopped || cannot_run(*thread))
                continue;
            all_inert = false;
            all_late = all_late && is_overdue(space, thread->tid);
        }
        if (all_inert)
            break;
        if (all_late) {
            // They run no code of the program before the interrupt stops them.
            if (which == Try::last)
                give_up(space, "one of its threads did not stop within the deadline");
            in_time = false;
            break;
        }
    }
    for (Thread* thread : threads_in(space)) {
        if (thread->stopped)
            settle(*thread);
    }
    return in_time;
}

// A signal that the kernel raised for an instruction of the thread, and will deliver before
// it runs another; not one that the program queued for itself and blocks.
static bool has_raised_signal(const Thread& thread)
{
    siginfo_t queue[16];
    __ptrace_peeksiginfo_args args{}; // glibc spells it so
    args.nr = 16;                     // of the thread's own queue
    std::uint64_t raised = 0;
    for (long n = args.nr; n == args.nr; args.off += args.nr) {
        n = ptrace(PTRACE_PEEKSIGINFO, thread.tid, &args, queue);
        for (long i = 0; i < n; ++i) {
            if (is_synchronous(queue[i]))
                raised |= signal_bit(queue[i].si_signo);
        }
    }
    if (raised == 0)
        return false;
    std::string status = thread_status(thread.process->pid, thread.tid);
    return (raised & ~status_number(status, "SigBlk", 0, 16)) != 0;
}

// The kernel reports our interrupt first, with the signal of an instruction that has run
// still in the queue: a breakpoint's, or that of a dispatched system call. Whoever moves the
// pc before it arrives makes it another instruction's, and a call that we inject would take
// it for its own. So it becomes the stop, and the interrupt comes once more.
bool Agent::take_raised_signal(Thread& thread)
{
    if (thread.event() != PTRACE_EVENT_STOP || !has_raised_signal(thread) ||
        !resume_thread(PTRACE_CONT, thread.tid, 0))
        return true;
    WaitStatus status;
    Waited waited = wait_for_stop(*thread.process->space, thread.tid, status);
    if (waited != Waited::stopped) {
        if (waited == Waited::late)
            leave_late(thread, "a signal of a thread of it did not arrive in time");
        else
            drop_thread(thread, status);
        return false;
    }
    thread.status = status;
    ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    return true;
}

// A trap inside a window that nobody handled yet never happened: the window may be gone
// when the world goes on, and the signal would be the program's. While it stands the
// thread meets the byte again.
void Agent::undo_stray(Thread& thread)
{
    siginfo_t info;
    user_regs_struct user;
    if (thread.event() != 0 || thread.hit_at.value != 0 ||
        !get_siginfo(thread.tid, info) || !is_synchronous(info) ||
        !get_regs(thread.tid, user))
        return;
    TargetAddr at = trapped_at(info, user);
    if (!is_inside_window(*thread.process->space, at))
        return;
    if (is_breakpoint(info)) {
        repair_after_trap(thread);
        user.rip = at.value;
        set_regs(thread.tid, user);
    }
    thread.pending = false;
}

void Agent::settle(Thread& thread)
{
    thread.interrupted = false;
    if (thread.pending)
        undo_stray(thread);
    pid_t tid = thread.tid;
    bool own = thread.step.active && end_step(thread);
    if (find_thread(tid) != &thread)
        return; // killed meanwhile
    if (own)
        thread.pending = false;
    leave_copy(thread);
}

// It was interrupted, and nothing else is to be done about it.
static bool is_only_interrupted(const Thread& thread)
{
    return thread.is_interrupt() && !thread.newborn && !thread.leaving &&
           !thread.step.active;
}

void Agent::release_all(AddressSpace& space)
{
    for (pid_t tid : tids_in(space)) {
        Thread* thread = find_thread(tid);
        if (thread == nullptr || !thread->stopped || thread->held)
            continue;
        if (!thread->pending)
            go_on(*thread);
        else if (is_only_interrupted(*thread) || is_simple(*thread))
            handle_stop(*thread); // not when all that is under way is done
    }
}

StoppedWorld::StoppedWorld(Agent& agent, std::shared_ptr<AddressSpace> space, Try which)
    : agent_(agent), space_(std::move(space)), in_time_(agent_.stop_all(*space_, which))
{
}

StoppedWorld::~StoppedWorld()
{
    if (!agent_.is_stub_in_use(*space_))
        space_->remove_stub(); // for calls that were made meanwhile
    agent_.release_all(*space_);
}

Thread* StoppedWorld::any_thread() const
{
    Thread* with_signal = nullptr;
    Thread* counting = nullptr;
    for (Thread* thread : agent_.threads_in(*space_)) {
        if (!thread->stopped || thread->in_vfork)
            continue;
        if (thread->inside_exec)
            return thread; // inject() leads it out
        // The other events stand in the middle of a system call.
        if (thread->event() == 0)
            with_signal = thread;
        if (thread->event() != PTRACE_EVENT_STOP)
            continue;
        // A restartable sequence would be forgotten, and not restarted.
        user_regs_struct user;
        if (get_regs(thread->tid, user) && !space_->runtime.in_code({user.rip}))
            return thread;
        counting = thread;
    }
    return counting != nullptr ? counting : with_signal;
}

} // namespace dt::agent
