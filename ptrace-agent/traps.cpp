// SPDX-License-Identifier: MIT
// Putting back what a breakpoint breaks: the program's SIGTRAP mask and action.
//
// The kernel forces the SIGTRAP of a breakpoint or a single step on the thread. Is the
// signal blocked there, it is unblocked; is it blocked or ignored, the action becomes
// SIG_DFL (kernel/signal.c, force_sig_info_to_task). Neither leaves a trace of what was
// before, so the agent knows it beforehand or infers it:
//
//   mask    Every stop that is not a trap shows the mask as it is: which masks (without
//           SIGTRAP's bit) had SIGTRAP blocked is remembered per process. A mask never
//           seen so is taken to have it blocked when it blocks nearly everything, as
//           libc does around clone() and posix_spawn().
//   action  Asked of the kernel when the target is grabbed. /proc/PID/status tells
//           afterwards, on the rare damaged hit, whether it was lost.
//
// Not covered: a thread that blocks SIGTRAP and little else by itself, after its first
// stop and before its first hit, finds it unblocked; a program that installs a SIGTRAP
// handler after grab() and has SIGTRAP blocked at a hit finds the handler reset.
#include "ptrace-agent/agent.hpp"

#include "ptrace-agent/proc_files.hpp"
#include "ptrace-agent/tracing.hpp"

#include <bit>
#include <sys/syscall.h>

namespace dt::agent {

constexpr std::uint64_t trap_bit = signal_bit(SIGTRAP);
constexpr std::uint64_t sig_ignore = 1; // SIG_IGN as the kernel has it
// SIGKILL and SIGSTOP are never in a mask, and libc's "all" may lack its own two.
constexpr int nearly_everything = 58;

void Agent::learn_mask(Thread& thread)
{
    std::uint64_t mask = 0;
    if (get_mask(thread.tid, mask))
        thread.process->trap_blocked[mask & ~trap_bit] = (mask & trap_bit) != 0;
}

void Agent::learn_trap_action(Process& process, Thread& thread)
{
    TrapAction& action = process.trap_action;
    action = TrapAction{true};
    std::string status = read_proc_file(process.pid, "status");
    if ((status_number(status, "SigIgn", 0, 16) & trap_bit) != 0)
        action.handler = sig_ignore;
    if ((status_number(status, "SigCgt", 0, 16) & trap_bit) == 0)
        return;
    // rt_sigaction(2) writes below the red zone of this thread, and what was there is
    // put back.
    user_regs_struct user;
    if (!get_regs(thread.tid, user))
        return;
    TargetAddr at{(user.rsp - 1024) & ~15ull};
    std::array<std::uint64_t, 4> before{}, told{};
    AddressSpace& space = *process.space;
    if (!space.read_value(at, before))
        return;
    auto asked = inject(thread, SYS_rt_sigaction, {SIGTRAP, 0, at.value, 8, 0, 0});
    if (!asked || *asked != 0 || !space.read_value(at, told))
        return;
    space.write(at, std::as_bytes(std::span(before)));
    action.handler = told[0];
    action.flags = told[1];
    action.restorer = told[2];
    action.mask = told[3];
}

void Agent::repair_after_trap(Thread& thread)
{
    Process& process = *thread.process;
    std::uint64_t mask = 0;
    if (!get_mask(thread.tid, mask) || (mask & trap_bit) != 0)
        return;
    auto known = process.trap_blocked.find(mask);
    bool blocked = known != process.trap_blocked.end()
                       ? known->second
                       : std::popcount(mask) >= nearly_everything;
    if (blocked)
        set_mask(thread.tid, mask | trap_bit);
    const TrapAction& action = process.trap_action;
    bool lost =
        action.known && (blocked ? action.handler != 0 : action.handler == sig_ignore);
    if (!lost)
        return;
    // The program may have made it SIG_DFL itself; then the bit was gone before, and it
    // is put back wrongly. Programs that handle SIGTRAP at all do not.
    std::string status = read_proc_file(process.pid, "status");
    const char* field = action.handler == sig_ignore ? "SigIgn" : "SigCgt";
    if ((status_number(status, field, 0, 16) & trap_bit) != 0)
        return;
    user_regs_struct user;
    if (!get_regs(thread.tid, user))
        return;
    TargetAddr at{(user.rsp - 1024) & ~15ull};
    std::array<std::uint64_t, 4> before{};
    std::array<std::uint64_t, 4> wanted{action.handler, action.flags, action.restorer,
                                        action.mask};
    AddressSpace& space = *process.space;
    if (!space.read_value(at, before) ||
        !space.write(at, std::as_bytes(std::span(wanted))))
        return;
    (void)inject(thread, SYS_rt_sigaction, {SIGTRAP, at.value, 0, 8, 0, 0});
    space.write(at, std::as_bytes(std::span(before)));
}

} // namespace dt::agent
