// SPDX-License-Identifier: MIT
#include "fasttrap/arch/x86_64/user_regs.hpp"

#if defined(__x86_64__)

namespace dt {

// clang-format off
#define USER_REGS(X)                                                           \
    X(rax) X(rcx) X(rdx) X(rbx) X(rsp) X(rbp) X(rsi) X(rdi)                    \
    X(r8) X(r9) X(r10) X(r11) X(r12) X(r13) X(r14) X(r15)
// clang-format on

Registers from_user_regs(const user_regs_struct& user)
{
    Registers regs;
#define X(name) regs[Reg::name] = user.name;
    USER_REGS(X)
#undef X
    regs.rip = user.rip;
    regs.rflags = user.eflags;
    regs.fs_base = user.fs_base;
    regs.gs_base = user.gs_base;
    return regs;
}

void to_user_regs(const Registers& regs, user_regs_struct& user)
{
#define X(name) user.name = regs[Reg::name];
    USER_REGS(X)
#undef X
    user.rip = regs.rip;
    user.eflags = regs.rflags;
    user.fs_base = regs.fs_base;
    user.gs_base = regs.gs_base;
}

} // namespace dt

#endif
