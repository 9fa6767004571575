// SPDX-License-Identifier: MIT
// The broker of a confined agent: a small process that has the rights that the agent
// lacks. It makes system calls on processes for the agent.
//
//   agent (no rights) ──RelayRequest──> broker ──ptrace(2), waitpid(2), ...──> targets
//                     <──RelayReply───         <──stops──
//
// The broker is the tracer of the targets. It permits a call only if the agent's domain
// covers the process that the call names (process/trust_domain.hpp). It accepts
// only requests with at most 4 KiB of input. It reads no memory of a target and executes
// no program. It can start a limited number of rule readers, which have no rights.
//
// A target may execute a program that gains rights, for example su. The kernel reports
// this exec before the program runs. After such a report, the broker permits only
// PTRACE_DETACH. If the agent continues the thread instead, or does nothing for two
// seconds, the broker detaches from the thread, and reports its exit to the agent.
//
// The agent cannot use the program before the broker has noticed the exec:
//   - A request for a thread's registers or signals is permitted only after the thread's
//     last stop was reported.
//   - If another thread than the leader executes a program, it gets the id of the leader,
//     which may have been stopped. The kernel refuses requests for this id until the
//     report of the exec is consumed (since Linux 5.13, and in the stable kernels of that
//     time). The broker examines each report that it consumes.
//   - The agent cannot remove PTRACE_O_TRACEEXEC. Without it, the kernel does not report
//     an exec.
//   - A descriptor of /proc/PID/mem remains that of the earlier program.
//
// The broker exits when the agent exits, and the kernel then detaches from all targets.
// If the broker is killed, the agent exits. Both cases are like the death of an agent
// that has no broker (trap/rescue.hpp).
#pragma once

#include "base/fd.hpp"
#include "process/trust_domain.hpp"

#include <sys/types.h>

namespace dt::agent {

// Serves the agent until it exits.
[[noreturn]] void run_broker(Fd socket, pid_t agent, TrustDomain domain);

} // namespace dt::agent
