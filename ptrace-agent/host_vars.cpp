// SPDX-License-Identifier: MIT
// Builtin variables that the agent provides: rows NUMBER and STRING of dif/vars.h.
#include "dif/vars.h"

#include "process/open_file.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/host.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/runtime/uregs.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

int FiringHost::ureg(std::uint32_t index, std::uint64_t* value) const
{
    const Registers& regs = regs_;
    switch (index) {
#define ROW(number, source)                                                            \
    case number:                                                                       \
        *value = static_cast<std::uint64_t>(source);                                   \
        return 0;
#define GPR(name, number, reg) ROW(number, regs[Reg::reg])
#define STATE(name, number, what) ROW(number, regs.what)
#define CONST(name, number, constant) ROW(number, constant)
        AGENT_UREGS(GPR, STATE, CONST)
#undef CONST
#undef STATE
#undef GPR
#undef ROW
    default:
        return -1;
    }
}

const std::string& FiringHost::status()
{
    if (status_.empty())
        status_ = thread_status(thread_.process->pid, thread_.tid);
    return status_;
}

// Reads the errno of the program's C library. Returns -1 if that is not possible, for
// example because the C library is unknown (errno_place.hpp).
int FiringHost::errno_of_thread(std::uint64_t* value)
{
    AddressSpace& space = *thread_.process->space;
    auto offset = space.errno_place.offset(space);
    std::int32_t number = 0;
    if (!offset ||
        !space.read_value(
            TargetAddr{regs_.fs_base + static_cast<std::uint64_t>(*offset)}, number))
        return -1;
    space.runtime.learn_errno(*offset); // the runtime now reads errno itself
    *value = static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
    return 0;
}

int FiringHost::var(std::uint32_t id, std::uint32_t index, std::uint64_t* value)
{
    auto pid = thread_.process->pid;
    switch (id) {
    case DIF_VAR_uregs:
        return ureg(index, value);
    case DIF_VAR_pid:
        *value = static_cast<std::uint64_t>(pid);
        return 0;
    case DIF_VAR_tid:
        *value = static_cast<std::uint64_t>(thread_.tid);
        return 0;
    case DIF_VAR_ppid:
        *value = status_number(status(), "PPid");
        return 0;
    case DIF_VAR_uid: // uid and gid are the effective ids
    case DIF_VAR_pr_euid:
        *value = status_number(status(), "Uid", 1);
        return 0;
    case DIF_VAR_gid:
    case DIF_VAR_pr_egid:
        *value = status_number(status(), "Gid", 1);
        return 0;
    case DIF_VAR_pr_pgid:
        *value = static_cast<std::uint64_t>(getpgid(pid));
        return 0;
    case DIF_VAR_pr_sid:
        *value = static_cast<std::uint64_t>(getsid(pid));
        return 0;
    case DIF_VAR_errno:
        return errno_of_thread(value);
    case DIF_VAR_ipl: // processes have no interrupt level, and Linux has no jails
    case DIF_VAR_jid:
        *value = 0;
        return 0;
    default:
        break;
    }
    auto number = OpenFile(pid, thread_.tid, index).number(id);
    *value = number.value_or(0);
    return number ? 0 : -1;
}

static std::string command_line(pid_t pid)
{
    std::string args = read_proc_file(pid, "cmdline", 4096);
    while (!args.empty() && args.back() == '\0')
        args.pop_back();
    std::replace(args.begin(), args.end(), '\0', ' ');
    return args;
}

std::uint64_t FiringHost::var_string(std::uint32_t id, std::uint32_t index, char* to,
                                     std::uint64_t max)
{
    pid_t pid = thread_.process->pid;
    std::string text;
    switch (id) {
    case DIF_VAR_execname:
        // This is the name of the leader. Other threads may have other names.
        text = read_proc_file(pid, "comm", 64);
        if (!text.empty() && text.back() == '\n')
            text.pop_back();
        break;
    case DIF_VAR_pr_psargs:
    case DIF_VAR_execargs:
        text = command_line(pid);
        break;
    case DIF_VAR_cwd:
        text = read_proc_link(pid, "cwd");
        break;
    case DIF_VAR_root:
        text = read_proc_link(pid, "root");
        break;
    case DIF_VAR_zonename:
        text = "global";
        break;
    default: // a variable of an open file; jailname is empty
        text = OpenFile(pid, thread_.tid, index).text(id).value_or("");
        break;
    }
    std::uint64_t n = std::min<std::uint64_t>(max, text.size());
    std::memcpy(to, text.data(), n);
    return n;
}

int FiringHost::progenyof(std::uint64_t pid)
{
    auto at = static_cast<std::uint64_t>(thread_.process->pid);
    // The depth is limited, because parents may change while the loop runs.
    for (int depth = 0; at != 0 && depth < 4096; ++depth) {
        if (at == pid)
            return 1;
        at = status_number(read_proc_file(static_cast<pid_t>(at), "status"), "PPid");
    }
    return 0;
}

// Sends a signal to the stopped thread. The thread receives it when it continues.
// Returns -1 if the signal cannot be sent.
int FiringHost::raise(int signal)
{
    return syscall(SYS_tgkill, thread_.process->pid, thread_.tid, signal) == 0 ? 0 : -1;
}

} // namespace dt::agent
