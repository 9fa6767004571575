// SPDX-License-Identifier: MIT
// Converts registers from and to the kernel's user_regs_struct (PTRACE_GETREGS,
// NT_PRSTATUS).
#pragma once

#if defined(__x86_64__)

#include "fasttrap/registers.hpp"

#include <sys/user.h>

namespace dt {

Registers from_user_regs(const user_regs_struct& user);

// Writes the registers that `regs` contains. Leaves all other registers unchanged, for
// example orig_rax. The thread may have been stopped in a system call that will be
// restarted. If rip changes in this case, the caller must set orig_rax to -1. Otherwise
// the kernel subtracts 2 from the new rip.
void to_user_regs(const Registers& regs, user_regs_struct& user);

} // namespace dt

#endif
