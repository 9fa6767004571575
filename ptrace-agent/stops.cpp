// SPDX-License-Identifier: MIT
// Handles the stops of threads: for a signal, a hit, a new task, a new program, or job
// control.
//
// Stops that are not caused by tracing keep their effect. A signal is delivered with
// its original siginfo, and PTRACE_LISTEN keeps a group-stop. A SIGTRAP is ours only if
// the kernel raised it for a breakpoint that we wrote.
#include "ptrace-agent/agent.hpp"

#include "base/clock_ns.hpp"
#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/deferred_signals.hpp"
#include "ptrace-agent/hold/refusals.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <csignal>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::uint64_t crowded_wait_ns = 20'000'000;

// Returns the signal to deliver when the agent detaches from a thread at this stop.
// Returns 0 for a SIGTRAP of our breakpoints, and for a SIGTRAP of a single-step that
// missed its deadline (Leaving::late). If the breakpoint was removed after the hit,
// sets the pc back to the breakpoint's address.
static int signal_at_leave(Thread& thread)
{
    if (thread.event() != 0)
        return 0;
    const int signal = thread.signal();
    siginfo_t info;
    user_regs_struct user;
    std::byte text{};
    if (signal != SIGTRAP || !get_siginfo(thread.tid, info) ||
        !get_regs(thread.tid, user))
        return signal;
    if (thread.hit_at.value != 0 ||
        (thread.leaving == Leaving::late && info.si_code == TRAP_TRACE))
        return 0;
    if (is_breakpoint(info) &&
        thread.process->space->read_text({user.rip - 1}, {&text, 1}) &&
        text != std::byte{0xcc}) {
        user.rip -= 1;
        set_regs(thread.tid, user);
        return 0;
    }
    return signal;
}

void Agent::settle(Thread& thread)
{
    thread.interrupted = false;
    if (thread.is_pending())
        hits_.undo_stray(thread);
    pid_t tid = thread.tid;
    bool own = thread.step.active && hits_.end_step(thread);
    if (tracees_.find_thread(tid) != &thread)
        return; // the thread was killed
    if (own)
        thread.move_to(ThreadState::handled);
    hits_.leave_copy(thread);
}

void Agent::handle_stop(Thread& thread)
{
    if (thread.age == ThreadAge::newborn) {
        task_events_.started(thread);
        return follower_.begin(thread);
    }
    thread.move_to(ThreadState::handled);
    thread.interrupted = false;
    if (thread.age == ThreadAge::fresh) {
        thread.age = ThreadAge::known;
        TrapMask::learn(thread);
        rseq_.begin(thread);
        bases_.learn(thread);
        if (std::exchange(thread.starts, false))
            task_events_.started(thread);
    }
    int event = thread.event();
    if (thread.leaving != Leaving::no) {
        if (event == PTRACE_EVENT_EXEC)
            follower_.begin_program(thread); // the process has no other threads now
        hits_.leave_copy(thread);
        return releaser_.detach_thread(thread, signal_at_leave(thread));
    }
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
        event == PTRACE_EVENT_VFORK) {
        // The child has inherited the parent's step, so the new task is handled before
        // the step ends.
        follower_.handle_new_task(thread);
        if (thread.step.active)
            hits_.end_step(thread);
        return go_on(thread);
    }
    if (thread.step.active) {
        pid_t tid = thread.tid;
        bool own = hits_.end_step(thread);
        if (tracees_.find_thread(tid) != &thread)
            return; // the thread was killed
        if (own)
            return go_on(thread);
        event = thread.event();
    }
    if (event != 0)
        return handle_event(thread, event, thread.signal());
    handle_signal(thread, thread.signal());
}

// Returns whether the agent only needs to continue the thread and to deliver its
// signal, if there is one.
bool Agent::is_simple(const Thread& thread) const
{
    if (!thread.is_pending() || thread.held || thread.age != ThreadAge::known ||
        thread.leaving != Leaving::no || thread.step.active || has_deferred(thread))
        return false;
    if (thread.is_interrupt())
        return thread.samples.empty() && !thread.reenter;
    siginfo_t info;
    user_regs_struct user;
    return thread.event() == 0 && get_siginfo(thread.tid, info) &&
           info.si_signo != SIGTRAP && !is_synchronous(info) &&
           get_regs(thread.tid, user) &&
           !in_our_code(*thread.process->space, {user.rip});
}

void Agent::go_on(Thread& thread, int signal)
{
    if (thread.held)
        return;
    if (thread.reenter) {
        thread.reenter = false;
        user_regs_struct user;
        if (signal == 0 && get_regs(thread.tid, user)) {
            Tracepoint* tp = thread.process->space->tracepoints.find({user.rip});
            if (tp != nullptr && tp->written)
                return hits_.run_displaced(thread, *tp, user);
        }
    }
    task_events_.begins_handler(thread);
    const bool stops_in_handler = signal != 0 && task_events_.receives(thread, signal);
    if (signal != 0 && trap_mask_.enter_handler(thread, signal))
        return;
    thread.move_to(ThreadState::running);
    if (stops_in_handler && !thread.interrupted) {
        // The kernel first prepares the handler, and then stops the thread.
        thread.interrupted = true;
        ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    }
    resume_thread(PTRACE_CONT, thread, signal);
    if (!has_deferred(thread) || thread.interrupted)
        return;
    if (thread.queue_is_full) { // the program needs time to handle its queued signals
        alarms_.set_if_unset(Alarms::full_queue, monotonic_ns() + crowded_wait_ns);
        return;
    }
    thread.interrupted = true;
    ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
}

bool Agent::handle_in_our_code(Thread& thread, int signal)
{
    std::shared_ptr<AddressSpace> space = thread.process->space;
    siginfo_t info;
    user_regs_struct user;
    if (space->runtime.image.value == 0 || thread.hit_at.value != 0 ||
        !get_siginfo(thread.tid, info) || !get_regs(thread.tid, user))
        return false;
    const TargetAddr trapped = trapped_at(info, user);
    if (is_synchronous(info) && probe_context_.move_into_copy(thread, info, user)) {
        uprobe_watch_.window_trapped(*space, trapped);
        go_on(thread);
        return true;
    }
    if (!in_our_code(*space, {user.rip}))
        return false;
    if (is_synchronous(info)) {
        if (probe_context_.serve_runtime(thread, info, user)) {
            go_on(thread);
            return true;
        }
        probe_context_.show_as_program(thread, info, user);
        go_on(thread, signal);
        return true;
    }
    defer_signal(thread, info);
    runtime_exit_.deliver_deferred(thread);
    return true;
}

void Agent::handle_signal(Thread& thread, int signal)
{
    restore_deferred(thread, signal);
    if (handle_in_our_code(thread, signal))
        return;
    signal = exchange_deferred(thread, signal);
    if (signal != SIGTRAP) {
        hits_.leave_copy(thread);
        return go_on(thread, signal);
    }
    siginfo_t info;
    user_regs_struct user;
    if (!get_regs(thread.tid, user))
        return go_on(thread, signal);
    if (thread.hit_at.value != 0) {
        Tracepoint* hit = thread.process->space->tracepoints.find(thread.hit_at);
        user.rip = thread.hit_at.value + 1; // the pc after an int3
        thread.hit_at = {};
        if (hit != nullptr && hit->written)
            return hits_.handle(thread, *hit, user);
        trap_signals_.repair_after_trap(thread); // the breakpoint was removed
        return go_on(thread);
    }
    // If the replaced instruction has several bytes, the pc is inside this instruction.
    // The program itself cannot be there, so the SIGTRAP is ours. If the instruction
    // has one byte, another process may have sent the SIGTRAP, so the siginfo is
    // examined. While a SIGTRAP of the program is withheld, no other can arrive.
    Tracepoint* tp = thread.process->space->tracepoints.find({user.rip - 1});
    if (tp != nullptr && tp->written &&
        (tp->insn.length > 1 || TrapMask::withholds(thread))) {
        hits_.handle(thread, *tp, user);
        return;
    }
    if (!get_siginfo(thread.tid, info))
        return go_on(thread, signal);
    if (info.si_code != SI_KERNEL) {
        hits_.leave_copy(thread);
        if (!trap_signals_.deliver(thread))
            go_on(thread, signal);
        return;
    }
    if (tp != nullptr && tp->written)
        return hits_.handle(thread, *tp, user);
    // If the breakpoint was removed after the hit, the text contains the original
    // instruction. An int3 that is still in the text is the program's own.
    std::byte text{};
    if (thread.process->space->read_text({user.rip - 1}, {&text, 1}) &&
        text != std::byte{0xcc}) {
        trap_signals_.repair_after_trap(thread);
        user.rip -= 1;
        set_regs(thread.tid, user);
        return go_on(thread);
    }
    if (!trap_signals_.deliver(thread))
        go_on(thread, signal);
}

void Agent::handle_vfork_done(Thread& parent)
{
    parent.in_vfork = false;
    TrapMask::learn(parent);
    // The vfork child used the parent's fs_base, so the runtime's table may contain the
    // child's ids.
    bases_.learn(parent);
}

void Agent::handle_event(Thread& thread, int event, int signal)
{
    switch (event) {
    case PTRACE_EVENT_STOP:
        hits_.leave_copy(thread);
        if (signal == SIGTRAP) {
            sampler_.take_sample(thread);
            if (has_deferred(thread))
                return runtime_exit_.deliver_deferred(thread);
            return go_on(thread);
        }
        // In a group-stop, the thread stays stopped. The kernel reports the end of the
        // stop.
        thread.move_to(ThreadState::listening);
        resume_thread(PTRACE_LISTEN, thread.tid, 0);
        return;
    case PTRACE_EVENT_VFORK_DONE:
        handle_vfork_done(thread);
        return go_on(thread);
    case PTRACE_EVENT_EXEC:
        return handle_exec(thread);
    case PTRACE_EVENT_EXIT:
        task_events_.exits(thread);
        thread.held = false; // it runs no more instructions of the program
        return go_on(thread);
    default:
        return go_on(thread);
    }
}

// Handles a new task that was not reported, because its parent was killed first. The
// task is assumed to be a copy of the process that exited last. Restores the text and
// the semaphores in the task, and detaches from it.
void Agent::handle_unannounced(pid_t tid)
{
    std::string status = read_proc_file(tid, "status");
    auto group = static_cast<pid_t>(status_number(status, "Tgid"));
    auto parent = static_cast<pid_t>(status_number(status, "PPid"));
    if (tracees_.find_process(group) != nullptr ||
        tracees_.find_process(parent) != nullptr)
        return;
    if (ended_ != nullptr) {
        user_regs_struct user;
        if (get_regs(tid, user) && ended_->slots.contain({user.rip})) {
            // A system call in a slot (slots.hpp) created the task. The slot's owner is
            // unknown, so the call cannot be finished.
            ::kill(tid, SIGKILL);
        }
        ended_->tracepoints.restore_copy(tid);
        ended_->patches.restore_in(tid);
        ended_->statics.lower_in(*ended_, tid);
    }
    tracees_.drop_early_stop(tid);
    ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
}

void Agent::handle_exec(Thread& thread)
{
    Process& process = *thread.process;
    if (!process.is_target())
        follower_.become_target(process);
    follower_.begin_program(thread);
    task_events_.executed(thread);
    auto detach = [&] {
        ptrace(PTRACE_DETACH, thread.tid, nullptr, nullptr);
        tracees_.drop_thread(thread, {});
    };
    // A process that is not a target is a vfork child that is not followed. It shared
    // its parent's memory until this exec.
    if (!process.is_target())
        return detach();
    SessionSet staying; // sessions for which it remains a target with probes
    for (const auto& [session, interest] : process.interests)
        staying[session] = interest.follow_exec != FollowExec::none;
    auto refuse = [&](const Error& error) {
        AgentEvent event;
        event.kind = AgentEvent::agent_error;
        event.pid = process.pid;
        event.text = error.text;
        sessions_.send_event(staying, event);
        staying.reset();
    };
    if (auto runnable = refuse_32_bit(process.pid, "its new program");
        staying.any() && !runnable)
        refuse(runnable.error());
    else if (auto permitted = refuse_gained_rights(process.pid, "its new program");
             staying.any() && !permitted)
        refuse(permitted.error());
    const bool waits = staying.any() && process.started;
    ++process.n_execs;
    process.library_changes += waits ? 1 : 0;
    AgentEvent event;
    event.kind = AgentEvent::execed;
    event.pid = process.pid;
    event.text = read_proc_link(process.pid, "exe"); // before the process is resumed
    sessions_.send_event(process.sessions() & ~staying, event);
    event.status = waits ? process.library_changes : 0;
    sessions_.send_event(staying, event);
    for (auto& [session, interest] : process.interests) {
        interest.has_other_program = !staying.test(session);
        if (waits && staying.test(session))
            interest.awaited_change = process.library_changes;
    }
    std::erase_if(process.interests, [&](const auto& each) {
        return each.second.followed && !staying.test(each.first);
    });
    if (!process.is_target()) {
        process.no_events = true; // the exit of this process is not reported
        return detach();
    }
    if (client_wait_.is_awaited(process))
        return follower_.hold_after_exec(thread);
    go_on(thread);
}

} // namespace dt::agent
