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
#include "ptrace-agent/hold/tracees.hpp"

#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/hold/waits.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/ptrace.h>

namespace dt::agent {

bool Tracees::cannot_run(const Thread& thread) const
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

// In the middle of fork(2) or clone(2) nobody can make a call for us: it comes to its end,
// and to a stop there.
void Tracees::finish_call(Thread& thread)
{
    if (thread.in_vfork || thread.step.active)
        return;
    thread.move_to(ThreadState::running);
    thread.interrupted = true;
    ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    resume_thread(PTRACE_CONT, thread.tid, 0);
}

// Returns whether no thread is late. With another try to come the process is not given up.
bool Tracees::stop_all(AddressSpace& space, Try which)
{
    space.budget.begin_turn(turn_);
    WaitBudget::Wait wait(space.budget);
    bool in_time = true;
    for (;;) {
        bool all_stopped = true;
        bool new_tasks = false;
        for (Thread* thread : threads_in(space)) {
            if (thread->is_stopped()) {
                // The new task belongs to the address space that is being stopped.
                if (thread->is_pending() && is_new_task(thread->event())) {
                    thread->move_to(ThreadState::handled);
                    handler_.handle_new_task(*thread);
                    new_tasks = true;
                    finish_call(*thread);
                } else if (thread->is_pending() &&
                           thread->event() == PTRACE_EVENT_VFORK_DONE) {
                    thread->move_to(ThreadState::handled);
                    handler_.handle_vfork_done(*thread);
                    new_tasks = true;
                    finish_call(*thread);
                } else if (thread->is_pending() && is_guests_exec(*thread)) {
                    thread->move_to(ThreadState::handled);
                    handler_.handle_exec(*thread); // it is in other memory, and let go
                    new_tasks = true;
                    break; // it and others are no more
                }
                continue;
            }
            // A new thread stops by itself, at its first instruction.
            if (!thread->interrupted && thread->age != ThreadAge::fresh) {
                thread->interrupted = true;
                ptrace(PTRACE_INTERRUPT, thread->tid, nullptr, nullptr);
            }
            // If its vfork child is no guest any more, the thread is about to continue,
            // and the kernel will report that.
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
            if (thread->is_stopped() || cannot_run(*thread))
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
        if (thread->is_stopped())
            handler_.settle(*thread);
    }
    return in_time;
}

// It was interrupted, and nothing else is to be done about it.
static bool is_only_interrupted(const Thread& thread)
{
    return thread.is_interrupt() && thread.age != ThreadAge::newborn &&
           thread.leaving == Leaving::no && !thread.step.active;
}

void Tracees::release_all(AddressSpace& space)
{
    for (pid_t tid : tids_in(space)) {
        Thread* thread = find_thread(tid);
        if (thread == nullptr || !thread->is_stopped() || thread->held)
            continue;
        if (!thread->is_pending())
            handler_.go_on(*thread, 0);
        else if (is_only_interrupted(*thread) || handler_.is_simple(*thread))
            handler_.handle_stop(*thread); // not when all that is under way is done
    }
}

StoppedWorld::StoppedWorld(Tracees& tracees, std::shared_ptr<AddressSpace> space,
                           Try which)
    : tracees_(tracees), space_(std::move(space)),
      in_time_(tracees_.stop_all(*space_, which))
{
}

StoppedWorld::~StoppedWorld()
{
    tracees_.handler_.before_release(*space_);
    tracees_.release_all(*space_);
}

Thread* StoppedWorld::any_thread() const
{
    Thread* with_signal = nullptr;
    Thread* counting = nullptr;
    for (Thread* thread : tracees_.threads_in(*space_)) {
        if (!thread->is_stopped() || thread->in_vfork)
            continue;
        if (thread->inside_exec)
            return thread; // Injector leads it out
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
