// SPDX-License-Identifier: MIT
// Registers from and to the kernel's user_regs_struct (PTRACE_GETREGS, NT_PRSTATUS).
#pragma once

#if defined(__x86_64__)

#include "fasttrap/registers.hpp"

#include <sys/user.h>

namespace dt {

Registers from_user_regs(const user_regs_struct& user);

// Writes what Registers has and leaves the rest, orig_rax and the selectors, as it is.
// A thread stopped in a system call that would be restarted needs its orig_rax set to
// -1 by the caller when rip is changed, or the kernel takes two from the new rip.
void to_user_regs(const Registers& regs, user_regs_struct& user);

} // namespace dt

#endif
