// SPDX-License-Identifier: MIT
// Stops all threads of an address space, and resumes them.
//
// Each running thread gets a PTRACE_INTERRUPT. Then reports are collected until each
// thread has stopped. Most stops remain pending, and the agent handles them later.
// Three kinds of stop are handled at once, because they would become invalid if the
// text changed:
// - The kernel may have queued the SIGTRAP of a breakpoint without reporting it. The
//   thread is continued until the report arrives (take_raised_signal()).
// - A trap inside a window is undone (HitHandler::undo_stray()).
// - A thread in a slot (slots.hpp) is moved back to the program's text. If the copied
//   instruction has not run yet, it is emulated or executed later, without firing
//   again.
//
// A thread counts as stopped without a report if it cannot run user code before it
// handles our interrupt:
// - a thread that waits in the kernel for its vfork child
// - a thread in uninterruptible sleep
// - a leader that has exited before its threads
#include "ptrace-agent/hold/tracees.hpp"

#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/hold/waits.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <algorithm>
#include <cassert>
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
    return thread.event() == PTRACE_EVENT_EXEC && !thread.process->is_target() &&
           thread.process->is_guest();
}

// Runs a thread to the end of its fork(2) or clone(2). No system call can be injected
// inside such a call.
void Tracees::finish_call(Thread& thread)
{
    if (thread.in_vfork || thread.step.active)
        return;
    thread.move_to(ThreadState::running);
    thread.interrupted = true;
    ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    resume_thread(PTRACE_CONT, thread.tid, 0);
}

// Stops all threads. Returns false if a thread does not stop before the deadline. With
// Try::last, the agent then gives up on the process.
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
                // The new task may run in this address space, so it is handled now.
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
                    handler_.handle_exec(*thread); // the thread has left this memory
                    new_tasks = true;
                    break; // the list of threads has changed
                }
                continue;
            }
            // A new thread stops by itself, at its first instruction.
            if (!thread->interrupted && thread->age != ThreadAge::fresh) {
                thread->interrupted = true;
                ptrace(PTRACE_INTERRUPT, thread->tid, nullptr, nullptr);
            }
            // A thread that waits for its vfork child counts as stopped. When the child
            // has left this memory, the kernel reports a stop of the thread.
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
            // Our interrupt stops these threads before they run code of the program, so
            // the caller may change the text.
            if (which == Try::last)
                give_up(space, "one of its threads did not stop before the deadline");
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

// Returns whether the thread only needs to be resumed.
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
            handler_.handle_stop(*thread); // at once, not in the agent's loop
    }
}

StoppedWorld::StoppedWorld(Tracees& tracees, std::shared_ptr<AddressSpace> space,
                           Try which)
    : tracees_(tracees), space_(std::move(space))
{
    // The threads may exit while they are being stopped.
    assert(space_->presence != Presence::away || !tracees_.threads_in(*space_).empty());
    in_time_ = tracees_.stop_all(*space_, which);
}

StoppedWorld::~StoppedWorld()
{
    tracees_.handler_.before_release(*space_);
    tracees_.release_all(*space_);
}

Thread* StoppedWorld::any_thread() const
{
    Thread* with_signal = nullptr;
    Thread* in_runtime = nullptr;
    for (Thread* thread : tracees_.threads_in(*space_)) {
        if (!thread->is_stopped() || thread->in_vfork)
            continue;
        if (thread->inside_exec)
            return thread; // the Injector runs it to the end of its execve(2)
        // Event 0 is a signal. At all other events except PTRACE_EVENT_STOP, the thread
        // is inside a system call.
        if (thread->event() == 0)
            with_signal = thread;
        if (thread->event() != PTRACE_EVENT_STOP)
            continue;
        // A thread in native code is the second choice. An injected call would end its
        // restartable sequence without a restart.
        user_regs_struct user;
        if (get_regs(thread->tid, user) && !space_->runtime.in_code({user.rip}))
            return thread;
        in_runtime = thread;
    }
    return in_runtime != nullptr ? in_runtime : with_signal;
}

} // namespace dt::agent
