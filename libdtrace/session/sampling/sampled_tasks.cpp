// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/sampled_tasks.hpp"

#include "dif/vars.h"
#include "process/proc_files.hpp"
#include "process/task_vars.hpp"

#include <utility>

namespace dt {

// The number of threads that are known after they have exited.
static constexpr std::size_t most_exited = 1024;

SampledTasks::Process& SampledTasks::process(pid_t pid)
{
    const auto [found, is_new] = processes_.try_emplace(pid);
    Process& process = found->second;
    if (is_new && pid != 0) {
        TaskVars vars(pid, pid);
        process.name = vars.text(DIF_VAR_execname, 0);
        process.parent = static_cast<pid_t>(vars.number(DIF_VAR_ppid, 0).value_or(0));
        set_ids(vars, process);
    }
    return process;
}

void SampledTasks::set_ids(TaskVars& vars, Process& process)
{
    if (!vars.exists())
        return;
    process.uid = static_cast<uid_t>(vars.number(DIF_VAR_uid, 0).value_or(-1));
    process.gid = static_cast<gid_t>(vars.number(DIF_VAR_gid, 0).value_or(-1));
}

void SampledTasks::read_ids(pid_t pid)
{
    TaskVars vars(pid, pid);
    set_ids(vars, process(pid));
}

void SampledTasks::read_all()
{
    for (const pid_t pid : pids_in_proc()) {
        (void)process(pid);
        for (const pid_t tid : threads_of(pid))
            threads_[tid] = pid;
    }
}

void SampledTasks::change(const PerfTaskEvent& event)
{
    const bool is_leader = event.pid == event.tid;
    switch (event.kind) {
    case PerfTaskEvent::named:
    case PerfTaskEvent::execed:
        if (is_leader)
            process(event.pid).name = event.name;
        if (event.kind == PerfTaskEvent::execed)
            process(event.pid).arguments.clear();
        break;
    case PerfTaskEvent::forked:
        threads_[event.tid] = event.pid;
        has_exited_.erase(event.tid);
        if (is_leader) {
            const Process& parent = process(event.parent);
            processes_[event.pid] = {parent.name, event.parent, parent.arguments,
                                     parent.uid, parent.gid};
        }
        break;
    case PerfTaskEvent::exited:
        threads_[event.tid] = event.pid;
        has_exited_.insert(event.tid);
        exited_.push_back(event.tid);
        if (exited_.size() > most_exited) {
            // Other threads may continue after their leader. Then /proc has the name. The
            // id may belong to a new thread.
            if (has_exited_.erase(exited_.front()) != 0) {
                processes_.erase(exited_.front());
                threads_.erase(exited_.front());
            }
            exited_.pop_front();
        }
        break;
    }
}

void SampledTasks::set_arguments(pid_t pid, std::string arguments)
{
    process(pid).arguments = std::move(arguments);
}

void SampledTasks::forget_all()
{
    processes_.clear();
    threads_.clear();
    exited_.clear();
    has_exited_.clear();
}

pid_t SampledTasks::process_of(pid_t tid)
{
    if (tid == 0)
        return 0;
    const auto [known, is_new] = threads_.try_emplace(tid);
    if (is_new || known->second == 0)
        known->second =
            static_cast<pid_t>(status_number(thread_status(tid, tid), "Tgid"));
    return known->second;
}

const std::string& SampledTasks::name_of(pid_t pid)
{
    return process(pid).name;
}

pid_t SampledTasks::parent_of(pid_t pid)
{
    return process(pid).parent;
}

bool SampledTasks::is_descendant(pid_t pid, pid_t ancestor)
{
    constexpr int max_depth = 4096;
    for (int depth = 0; pid > 0 && depth < max_depth; depth++, pid = parent_of(pid))
        if (pid == ancestor)
            return true;
    return false;
}

} // namespace dt
