// SPDX-License-Identifier: MIT
// Finds out why a process cannot be a target. The kernel only returns EPERM. So the
// rule that applies is determined from /proc, before the system call if possible.
#pragma once

#include "base/result.hpp"

#include <string>
#include <sys/types.h>

namespace dt::agent {

// Refuses a process that has a shadow stack. A call or return that is moved for a probe
// does not change the shadow stack, and the next return would kill the process. The
// error message begins with `name`.
Result<Ok> refuse_shadow_stack(pid_t pid, const std::string& name);
// Refuses a process that runs a 32-bit program, with Code::unsupported.
Result<Ok> refuse_32_bit(pid_t pid, const std::string& name);
// Refuses a program that gained privileges when it was executed (set-user-ID,
// set-group-ID, file capabilities). All targets of a session share memory, and the user
// of another target may have executed this program. Through the shared memory, the
// other target could read the records of the program's probes, and could change the
// probes.
Result<Ok> refuse_gained_rights(pid_t pid, const std::string& name);

// Returns an error if the process does not exist or cannot be traced. A pid is refused
// if it belongs to a thread that is not the first of its process, to dtrace or the
// agent, to a kernel thread, to a zombie, to a process that another tracer holds, to a
// 32-bit program, or to a process with a shadow stack.
Result<Ok> check_grabbable(pid_t pid);
// Returns the reason why the kernel refused, with this errno, to seize a process
// (ptrace(2), "Ptrace access mode checking").
Error explain_refusal(pid_t pid, int error);

} // namespace dt::agent
