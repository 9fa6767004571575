// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/tracees.hpp"

#include "process/proc_files.hpp"
#include "ptrace-agent/hold/deferred_signals.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/hold/waits.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <cerrno>

namespace dt::agent {

Process* Tracees::find_process(pid_t pid) const
{
    auto found = processes_.find(pid);
    return found == processes_.end() ? nullptr : found->second.get();
}

Result<Process*> Tracees::find_target(pid_t pid, const char* doing) const
{
    Process* found = find_process(pid);
    if (found == nullptr || found->interests.count(sessions_.current().number) == 0)
        return Error{Code::gone, std::string(doing) + " process " +
                                     std::to_string(pid) + ": it is not traced"};
    return found;
}

void Tracees::report(pid_t pid, std::string text)
{
    SessionSet to;
    if (const Process* process = find_process(pid))
        to = process->sessions();
    if (to.none() && sessions_.is_serving())
        to.set(sessions_.current().number);
    if (to.none())
        to.set();
    AgentEvent event;
    event.kind = AgentEvent::agent_error;
    event.pid = pid;
    event.text = std::move(text);
    sessions_.send_event(to, event);
}

Thread* Tracees::find_thread(pid_t tid)
{
    if (last_ != nullptr && last_->tid == tid)
        return last_;
    auto found = threads_.find(tid);
    if (found == threads_.end())
        return nullptr;
    return last_ = found->second;
}

Process& Tracees::add_process(pid_t pid, std::shared_ptr<AddressSpace> space)
{
    auto process = std::make_unique<Process>();
    process->pid = pid;
    process->space = std::move(space);
    auto& kept = processes_[pid];
    kept = std::move(process);
    return *kept;
}

Thread& Tracees::add_thread(Process& process, pid_t tid)
{
    auto thread = std::make_unique<Thread>();
    thread->tid = tid;
    thread->process = &process;
    Thread& added = *thread;
    process.threads[tid] = std::move(thread);
    threads_[tid] = &added;
    handler_.thread_added(tid);
    return added;
}

void Tracees::drop_thread(Thread& thread, WaitStatus status)
{
    Process& process = *thread.process;
    const pid_t tid = thread.tid;
    if (last_ == &thread)
        last_ = nullptr;
    process.space->slots.free(tid);
    threads_.erase(tid);
    process.threads.erase(tid);
    if (!process.threads.empty())
        return;
    auto ended = processes_.extract(process.pid);
    handler_.process_ended(*ended.mapped(), status);
}

void Tracees::remove_thread(Thread& thread)
{
    Process& process = *thread.process;
    forget_thread(thread);
    if (process.threads.empty() && process.space->presence == Presence::attached)
        processes_.erase(process.pid);
}

void Tracees::forget_thread(Thread& thread)
{
    const pid_t tid = thread.tid;
    if (last_ == &thread)
        last_ = nullptr;
    threads_.erase(tid);
    thread.process->threads.erase(tid);
}

void Tracees::remove_process(pid_t pid)
{
    processes_.erase(pid);
}

void Tracees::end_process(pid_t pid, WaitStatus status)
{
    auto ended = processes_.extract(pid);
    if (!ended.empty())
        handler_.process_ended(*ended.mapped(), status);
}

// Handles the exit of a command while the agent is away from it (Attendance). The kernel
// reports the exit because the agent is the command's parent.
void Tracees::end_untraced(pid_t pid, WaitStatus status)
{
    const Process* process = find_process(pid);
    if (process == nullptr || !process->created || !process->threads.empty())
        return;
    for (const auto& session : sessions_.all())
        session->arena.free_shards_of(pid);
    end_process(pid, status);
}

void Tracees::remove_untraced(const AddressSpace& space)
{
    std::erase_if(processes_, [&space](const auto& each) {
        return each.second->space.get() == &space && each.second->threads.empty();
    });
}

void Tracees::remove_others(Thread& thread)
{
    Process& process = *thread.process;
    std::erase_if(process.threads, [&](const auto& other) {
        if (other.second.get() == &thread)
            return false;
        process.space->slots.free(other.first);
        threads_.erase(other.first);
        return true;
    });
    last_ = nullptr;
}

std::vector<Thread*> Tracees::threads_in(const AddressSpace& space) const
{
    std::vector<Thread*> all;
    for (auto& [pid, process] : processes_) {
        if (process->space.get() != &space)
            continue;
        for (auto& [tid, thread] : process->threads)
            all.push_back(thread.get());
    }
    return all;
}

std::vector<pid_t> Tracees::tids_in(const AddressSpace& space) const
{
    std::vector<pid_t> tids;
    for (const Thread* thread : threads_in(space))
        tids.push_back(thread->tid);
    return tids;
}

pid_t Tracees::guest_of(const Thread& thread) const
{
    pid_t guest = 0;
    for (const Thread* other : threads_in(*thread.process->space)) {
        if (other->process != thread.process &&
            (guest == 0 || other->process->is_target()))
            guest = other->process->pid;
    }
    return guest;
}

void Tracees::adopt(Process& process, pid_t tid)
{
    if (find_thread(tid) != nullptr)
        return;
    Thread& thread = add_thread(process, tid);
    thread.starts = true;
    auto early = early_stops_.find(tid);
    if (early == early_stops_.end())
        return;
    thread.move_to(ThreadState::pending);
    thread.status = early->second;
    early_stops_.erase(early);
    ready_.push_back(tid);
}

bool Tracees::collect(Wait wait)
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

void Tracees::note_stop(pid_t tid, WaitStatus status)
{
    Thread* thread = find_thread(tid);
    if (!status.is_stopped()) {
        early_stops_.erase(tid);
        late_children_.erase(tid);
        if (thread != nullptr)
            drop_thread(*thread, status);
        else
            end_untraced(tid, status);
        return;
    }
    if (thread == nullptr && status.event() == PTRACE_EVENT_EXEC) {
        // The leader exited before the process was seized. The thread that called
        // execve(2) now has the leader's tid.
        if (Process* process = find_process(tid))
            thread = &add_thread(*process, tid);
    }
    if (thread == nullptr && late_children_.erase(tid) != 0) {
        ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
        return;
    }
    if (thread == nullptr) {
        early_stops_[tid] = status;
        handler_.handle_unannounced(tid);
        return;
    }
    const bool was_listening = thread->is_listening();
    thread->move_to(ThreadState::pending);
    thread->status = status;
    if (status.event() == 0)
        cancel_deferred(*thread->process, status.signal());
    if (thread->late_call && !handler_.end_late_call(*thread))
        return;
    if (!take_raised_signal(*thread))
        return;
    // SIGCONT wakes a listening thread (PTRACE_LISTEN). Its system call must then end
    // with EINTR, as in an untraced thread.
    if (thread->is_interrupt() && !was_listening)
        repeat_wait(tid);
    ready_.push_back(tid);
}

// Returns whether the kernel has queued a signal that an instruction of the thread
// raised. Ignores blocked signals. When an instruction raises a signal, the kernel
// unblocks this signal. So a blocked signal comes from the program itself.
//
// Another process may have queued 100,000 signals for the thread. The kernel would need
// seconds to list them all. So a signal that is not listed counts as raised by an
// instruction if its number fits. If a process has sent it, it is only reported early.
static bool has_raised_signal(const Thread& thread)
{
    constexpr int n_at_once = 16;
    constexpr int max_listed = 8 * n_at_once;
    siginfo_t queue[n_at_once];
    __ptrace_peeksiginfo_args args{}; // flags 0: the thread's own queue
    args.nr = n_at_once;
    std::uint64_t raised = 0;
    long n = n_at_once;
    for (; n == n_at_once && args.off < max_listed; args.off += n_at_once) {
        n = ptrace(PTRACE_PEEKSIGINFO, thread.tid, &args, queue);
        for (long i = 0; i < n; ++i) {
            if (is_synchronous(queue[i]))
                raised |= signal_bit(queue[i].si_signo);
        }
    }
    const bool is_complete = n < n_at_once;
    if (raised == 0 && is_complete)
        return false;
    const std::string status = thread_status(thread.process->pid, thread.tid);
    if (!is_complete)
        raised |= status_number(status, "SigPnd", 0, 16) & ~asynchronous_signals;
    return (raised & ~status_number(status, "SigBlk", 0, 16)) != 0;
}

// The kernel reports our interrupt before a queued signal, for example the SIGTRAP of a
// breakpoint. If the agent moved the pc before it received the signal, the signal would
// seem to belong to another instruction. So the thread is continued until it stops for
// the signal.
bool Tracees::take_raised_signal(Thread& thread)
{
    if (thread.event() != PTRACE_EVENT_STOP || !has_raised_signal(thread) ||
        !resume_thread(PTRACE_CONT, thread.tid, 0))
        return true;
    WaitStatus status;
    Waited waited = wait_for_stop(*thread.process->space, thread.tid, status);
    if (waited != Waited::stopped) {
        if (waited == Waited::late)
            leave_late(
                thread,
                "a signal for one of its threads did not arrive before the deadline");
        else
            drop_thread(thread, status);
        return false;
    }
    thread.status = status;
    ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    return true;
}

bool Tracees::stop_one(Thread& thread)
{
    if (thread.is_stopped())
        return true;
    WaitStatus status;
    if (!thread.interrupted)
        ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    Waited waited = wait_for_stop(*thread.process->space, thread.tid, status);
    if (waited == Waited::late) {
        thread.interrupted = true;
        give_up(*thread.process->space,
                "one of its threads did not stop before the deadline");
        return false;
    }
    if (waited == Waited::ended) {
        drop_thread(thread, status);
        return false;
    }
    const bool was_listening = thread.is_listening();
    thread.status = status;
    thread.stop(!thread.is_interrupt());
    if (thread.is_interrupt()) {
        thread.interrupted = false;
        if (!was_listening)
            repeat_wait(thread.tid);
        handler_.take_sample(thread);
        return true;
    }
    thread.interrupted = true; // the interrupt has not been reported yet
    ready_.push_back(thread.tid);
    return true;
}

void Tracees::handle_ready()
{
    pid_t tid = ready_.front();
    ready_.pop_front();
    Thread* thread = find_thread(tid);
    if (thread == nullptr || !thread->is_pending())
        return;
    if (thread->held && thread->event() == 0)
        return; // the signal is delivered when the hold ends
    handler_.handle_stop(*thread);
}

void Tracees::pass_signals()
{
    while (collect(Wait::poll)) {
    }
    std::deque<pid_t> later;
    for (pid_t tid : std::exchange(ready_, {})) {
        Thread* thread = find_thread(tid);
        if (thread != nullptr && handler_.is_simple(*thread))
            handler_.handle_stop(*thread);
        else if (thread != nullptr && thread->is_pending())
            later.push_back(tid);
    }
    ready_.insert(ready_.begin(), later.begin(), later.end());
}

} // namespace dt::agent
