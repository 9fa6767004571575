// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/sampled_tasks.hpp"

#include "dif/vars.h"
#include "process/task_vars.hpp"

namespace dt {

SampledTasks::Process& SampledTasks::process(pid_t pid)
{
    const auto [found, is_new] = processes_.try_emplace(pid);
    Process& process = found->second;
    if (is_new && pid != 0) {
        TaskVars vars(pid, pid);
        process.name = vars.text(DIF_VAR_execname, 0);
        process.parent = static_cast<pid_t>(vars.number(DIF_VAR_ppid, 0).value_or(0));
    }
    return process;
}

void SampledTasks::change(const PerfTaskEvent& event)
{
    const bool is_leader = event.pid == event.tid;
    switch (event.kind) {
    case PerfTaskEvent::named:
    case PerfTaskEvent::execed:
        if (is_leader)
            process(event.pid).name = event.name;
        break;
    case PerfTaskEvent::forked:
        if (is_leader)
            processes_[event.pid] = {process(event.parent).name, event.parent};
        break;
    case PerfTaskEvent::exited:
        // Other threads may continue after their leader. Then /proc has the name.
        if (is_leader)
            processes_.erase(event.pid);
        break;
    }
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
