// SPDX-License-Identifier: MIT
// Builtin variables that the agent provides: rows NUMBER and STRING of dif/vars.h.
#include "dif/vars.h"

#include "process/proc_files.hpp"
#include "ptrace-agent/host.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/uregs.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

// Reads the errno of the program's C library. Returns -1 if that is not possible, for
// example because the C library is unknown (errno_place.hpp).
int FiringHost::errno_of_thread(std::uint64_t* value)
{
    if (kind_ == SiteKind::system_call || kind_ == SiteKind::system_return) {
        *value = kind_ == SiteKind::system_call ? 0 : dt_rt_errno_of(regs_[Reg::rax]);
        return 0;
    }
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
    if (id == DIF_VAR_errno)
        return errno_of_thread(value);
    const auto number =
        id == DIF_VAR_uregs ? ureg_of(regs_, index) : vars_.number(id, index);
    *value = number.value_or(0);
    return number ? 0 : -1;
}

std::uint64_t FiringHost::var_string(std::uint32_t id, std::uint32_t index, char* to,
                                     std::uint64_t max)
{
    const std::string text = vars_.text(id, index);
    const std::uint64_t n = std::min<std::uint64_t>(max, text.size());
    std::memcpy(to, text.data(), n);
    return n;
}

int FiringHost::progenyof(std::uint64_t pid)
{
    return is_descendant(thread_.process->pid, static_cast<pid_t>(pid)) ? 1 : 0;
}

// Sends a signal to the stopped thread. The thread receives it when it continues.
// Returns -1 if the signal cannot be sent.
int FiringHost::raise(int signal)
{
    return syscall(SYS_tgkill, thread_.process->pid, thread_.tid, signal) == 0 ? 0 : -1;
}

} // namespace dt::agent
