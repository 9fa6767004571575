// SPDX-License-Identifier: MIT
#include "process/task_vars.hpp"

#include "dif/vars.h"
#include "process/open_file.hpp"
#include "process/proc_files.hpp"

#include <algorithm>
#include <unistd.h>

namespace dt {

const std::string& TaskVars::status()
{
    if (status_.empty())
        status_ = thread_status(pid_, tid_);
    return status_;
}

std::optional<std::uint64_t> TaskVars::number(std::uint32_t id, std::uint32_t index)
{
    switch (id) {
    case DIF_VAR_pid:
        return static_cast<std::uint64_t>(pid_);
    case DIF_VAR_tid:
        return static_cast<std::uint64_t>(tid_);
    case DIF_VAR_ppid:
        return status_number(status(), "PPid");
    case DIF_VAR_uid: // uid and gid are the effective ids
    case DIF_VAR_pr_euid:
        return status_number(status(), "Uid", 1);
    case DIF_VAR_gid:
    case DIF_VAR_pr_egid:
        return status_number(status(), "Gid", 1);
    case DIF_VAR_pr_pgid:
        return static_cast<std::uint64_t>(::getpgid(pid_));
    case DIF_VAR_pr_sid:
        return static_cast<std::uint64_t>(::getsid(pid_));
    case DIF_VAR_ipl: // processes have no interrupt level, and Linux has no jails
    case DIF_VAR_jid:
        return 0;
    default:
        return OpenFile(pid_, tid_, index).number(id);
    }
}

static std::string command_line(pid_t pid)
{
    std::string args = read_proc_file(pid, "cmdline", 4096);
    while (!args.empty() && args.back() == '\0')
        args.pop_back();
    std::replace(args.begin(), args.end(), '\0', ' ');
    return args;
}

std::string TaskVars::text(std::uint32_t id, std::uint32_t index) const
{
    switch (id) {
    case DIF_VAR_execname: {
        // This is the name of the leader. Other threads may have other names.
        std::string name = read_proc_file(pid_, "comm", 64);
        if (!name.empty() && name.back() == '\n')
            name.pop_back();
        return name;
    }
    case DIF_VAR_pr_psargs:
    case DIF_VAR_execargs:
        return command_line(pid_);
    case DIF_VAR_cwd:
        return read_proc_link(pid_, "cwd");
    case DIF_VAR_root:
        return read_proc_link(pid_, "root");
    case DIF_VAR_zonename:
        return "global";
    default: // a variable of an open file; jailname is empty
        return OpenFile(pid_, tid_, index).text(id).value_or("");
    }
}

} // namespace dt
