// SPDX-License-Identifier: MIT
#include "ptrace-agent/trap/task_events.hpp"

#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "process/proc_files.hpp"
#include "process/signals.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/host.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <sys/syscall.h>
#include <utility>

namespace dt::agent {

namespace {

// Returns the arguments of fault and signal-handle. libdtrace/providers/target/proc.d
// reads them in this order.
std::array<std::uint64_t, 10> signal_arguments(std::uint64_t first, int signal,
                                               std::uint64_t handler,
                                               const siginfo_t& info)
{
    const bool is_fault = fault_of(info.si_signo, info.si_code) != 0;
    const bool is_child = info.si_signo == SIGCHLD && info.si_code > 0;
    auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
    return {first,
            number(signal),
            handler,
            number(info.si_code),
            is_fault ? 0 : number(info.si_pid),
            is_fault ? 0 : number(info.si_uid),
            is_child ? number(info.si_status) : 0,
            is_fault ? reinterpret_cast<std::uint64_t>(info.si_addr) : 0,
            is_fault || is_child
                ? 0
                : reinterpret_cast<std::uint64_t>(info.si_value.sival_ptr),
            number(info.si_errno)};
}

} // namespace

// Returns the process that has the probes for the tasks of `process`.
static const Process& traced_for(const Tracees& tracees, const Process& process)
{
    const Process* parent =
        process.is_target() ? nullptr : tracees.find_process(process.parent);
    return parent != nullptr ? *parent : process;
}

bool TaskEvents::fires(const Process& process, TaskEvent event) const
{
    for (const auto& [session, interest] : traced_for(tracees_, process).interests)
        if (interest.fires(event))
            return true;
    return false;
}

bool TaskEvents::needs_exits(const Process& process) const
{
    return fires(process, TaskEvent::exit) || fires(process, TaskEvent::lwp_exit);
}

void TaskEvents::fire(Thread& thread, TaskEvent event,
                      std::span<const std::uint64_t> args)
{
    user_regs_struct user;
    if (!fires(*thread.process, event) || !get_regs(thread.tid, user))
        return;
    user.rip = program_pc(*thread.process->space, user).value;
    const Registers regs = from_user_regs(user);
    for (const auto& [number, interest] :
         traced_for(tracees_, *thread.process).interests) {
        const AgentSession* session = tracees_.sessions().find(number);
        if (interest.fires(event) && session != nullptr &&
            session->arena.base() != nullptr)
            FiringHost(session->arena, thread, regs)
                .fire_at_stop(interest.task_probes[static_cast<std::size_t>(event)],
                              args);
    }
}

Reply TaskEvents::set_probes(Reader& in)
{
    auto process = tracees_.find_target(in.get<pid_t>(), "trace the tasks of");
    if (!process)
        return process.error();
    const auto probes = in.get<TaskProbes>();
    if (!in.ok())
        return Error{Code::invalid, "trace tasks: the request is truncated"};
    (*process)->interests[tracees_.sessions().current().number].task_probes = probes;
    const std::shared_ptr<AddressSpace> space = (*process)->space;
    if (space->reports_exits || !needs_exits(**process))
        return Body{};
    space->reports_exits = true;
    StoppedWorld world(tracees_, space);
    for (const Thread* thread : tracees_.threads_in(*space))
        if (thread->is_stopped())
            ptrace(PTRACE_SETOPTIONS, thread->tid, nullptr, options_of(*thread));
    return Body{};
}

void TaskEvents::created(Thread& parent, pid_t child, bool is_thread)
{
    const auto number = static_cast<std::uint64_t>(child);
    if (is_thread)
        fire(parent, TaskEvent::lwp_create,
             std::array{number, static_cast<std::uint64_t>(parent.process->pid)});
    else
        fire(parent, TaskEvent::create, std::array{number | new_process});
}

void TaskEvents::started(Thread& thread)
{
    if (thread.tid == thread.process->pid)
        fire(thread, TaskEvent::start, {});
    fire(thread, TaskEvent::lwp_start, {});
}

void TaskEvents::executed(Thread& thread)
{
    const Process& process = *thread.process;
    process.space->reports_exits = needs_exits(process);
    thread.exits = false;
    fire(thread, TaskEvent::exec_success, {});
}

void TaskEvents::exits(Thread& thread)
{
    Process& process = *thread.process;
    unsigned long status = 0;
    user_regs_struct user{};
    (void)get_event_message(thread.tid, status);
    (void)get_regs(thread.tid, user);
    thread.exits = true;
    const bool is_last = std::ranges::all_of(
        process.threads, [](const auto& each) { return each.second->exits; });
    const int signal = WTERMSIG(static_cast<int>(status));
    const bool ends_process = is_last || signal != 0 || user.orig_rax == SYS_exit_group;
    if (ends_process && !std::exchange(process.exits, true)) {
        if (signal == SIGKILL) {
            siginfo_t unknown{};
            unknown.si_signo = SIGKILL;
            fire(thread, TaskEvent::signal_handle,
                 signal_arguments(SIGKILL, SIGKILL, 0, unknown));
        }
        const int reason = signal == 0                                ? CLD_EXITED
                           : WCOREDUMP(static_cast<int>(status)) != 0 ? CLD_DUMPED
                                                                      : CLD_KILLED;
        fire(thread, TaskEvent::exit, std::array{static_cast<std::uint64_t>(reason)});
    }
    fire(thread, TaskEvent::lwp_exit, {});
}

bool TaskEvents::receives(Thread& thread, int signal)
{
    siginfo_t info{};
    const bool any = fires(*thread.process, TaskEvent::fault) ||
                     fires(*thread.process, TaskEvent::signal_discard) ||
                     fires(*thread.process, TaskEvent::signal_handle);
    if (!any || !get_siginfo(thread.tid, info))
        return false;
    if (const int fault = fault_of(info.si_signo, info.si_code); fault != 0)
        fire(thread, TaskEvent::fault,
             signal_arguments(static_cast<std::uint64_t>(fault), signal, 0, info));
    const std::string status = thread_status(thread.process->pid, thread.tid);
    auto has = [&](const char* set) {
        return (status_number(status, set, 0, 16) & signal_bit(signal)) != 0;
    };
    if (has("SigCgt")) {
        if (!fires(*thread.process, TaskEvent::signal_handle))
            return false;
        info.si_signo = signal;
        thread.begins_handler = info;
        return true;
    }
    if (has("SigIgn") || is_ignored_by_default(signal)) {
        const auto pid = static_cast<std::uint64_t>(thread.process->pid);
        fire(thread, TaskEvent::signal_discard,
             std::array{static_cast<std::uint64_t>(thread.tid), pid,
                        static_cast<std::uint64_t>(signal)});
    } else {
        fire(thread, TaskEvent::signal_handle,
             signal_arguments(static_cast<std::uint64_t>(signal), signal, 0, info));
    }
    return false;
}

void TaskEvents::begins_handler(Thread& thread)
{
    const std::optional<siginfo_t> info =
        std::exchange(thread.begins_handler, std::nullopt);
    user_regs_struct user;
    // The first argument of a handler is its signal.
    if (info && get_regs(thread.tid, user) &&
        static_cast<int>(user.rdi) == info->si_signo)
        fire(thread, TaskEvent::signal_handle,
             signal_arguments(static_cast<std::uint64_t>(info->si_signo),
                              info->si_signo, user.rip, *info));
}

} // namespace dt::agent
