// SPDX-License-Identifier: MIT
// Finds out why a process cannot be a target. The kernel only returns EPERM, so the
// reason is read from /proc, before the system call if possible.
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>
#include <sys/types.h>

namespace dt::agent {

// Refuses a process with a shadow stack. A call instruction that is moved for a probe
// does not change the shadow stack, so the matching return would kill the process. The
// error message begins with `name`.
Result<Ok> refuse_shadow_stack(pid_t pid, const std::string& name);
// Refuses a process that runs a 32-bit program, with Code::unsupported.
Result<Ok> refuse_32_bit(pid_t pid, const std::string& name);
// Refuses a program that gained privileges when it was executed (set-user-ID,
// set-group-ID, file capabilities). The targets of a session share memory, so another
// target could read or change the program's records.
Result<Ok> refuse_gained_rights(pid_t pid, const std::string& name);

// Returns the agent that has detached from the process while the process is idle
// (attendance.hpp). Returns nothing if there is no such agent. The result comes from the
// memory of the process, which may have forged it.
std::optional<pid_t> absent_agent_of(pid_t pid);

// Returns an error if the process does not exist or cannot be traced. Also refuses the
// id of a thread, and processes of dtrace itself.
Result<Ok> check_grabbable(pid_t pid);
// Returns the reason why the kernel refused to seize a process (ptrace(2), "Ptrace
// access mode checking"). `error` is the errno.
Error explain_refusal(pid_t pid, int error);

} // namespace dt::agent
