// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/call_stub.hpp"

extern "C" const std::byte dt_call_stub_begin[], dt_call_stub_block[],
    dt_call_stub_end[];

namespace dt::agent {

std::span<const std::byte> call_stub()
{
    return {dt_call_stub_begin, dt_call_stub_end};
}

TargetAddr block_of(TargetAddr stub)
{
    return stub + static_cast<std::uint64_t>(dt_call_stub_block - dt_call_stub_begin);
}

// The kernel's results for an interrupted system call (include/linux/errno.h). With
// ERESTART_RESTARTBLOCK, restart_syscall(2) continues the call. With the other results,
// the same call is made again.
constexpr std::int64_t first_restart = -512, restart_block = -516;
constexpr std::uint64_t nr_restart_syscall = 219;
constexpr std::uint64_t syscall_bytes = 2;

user_regs_struct resumed(user_regs_struct before)
{
    auto result = static_cast<std::int64_t>(before.rax);
    bool in_call = static_cast<std::int64_t>(before.orig_rax) >= 0;
    if (in_call && result <= first_restart && result >= restart_block) {
        before.rax = result == restart_block ? nr_restart_syscall : before.orig_rax;
        before.rip -= syscall_bytes;
    }
    before.orig_rax = ~0ull;
    return before;
}

CallBlock block_for(const user_regs_struct& before, std::uint64_t mask)
{
    const user_regs_struct r = resumed(before);
    return {mask, r.r15, r.r14, r.r13, r.r12, r.rbp, r.rbx, r.r11,    r.r10, r.r9,
            r.r8, r.rax, r.rcx, r.rdx, r.rsi, r.rdi, r.rip, r.eflags, r.rsp};
}

} // namespace dt::agent
