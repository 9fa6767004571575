// SPDX-License-Identifier: MIT
// Changes registers before and after an instruction runs out of line.
#include "fasttrap/displaced.hpp"

namespace dt {

constexpr std::uint64_t trap_flag = 1 << 8;

SlotRun prepare_out_of_line(const Displaced& plan, TargetAddr slot, Registers& regs)
{
    SlotRun run;
    run.slot = slot;
    run.rflags = regs.rflags;
    for (std::size_t i = 0; i < plan.spares.size(); ++i) {
        const Spare& spare = plan.spares[i];
        if (spare.reg == Reg::none)
            continue;
        run.saved[i] = regs[spare.reg];
        regs[spare.reg] = spare.value;
    }
    regs.rip = slot.value;
    return run;
}

// Repairs rcx and r11 after a system call. The call leaves the address after the copy
// in rcx, and the flags in r11. These flags include the trap flag if the copy was
// single-stepped.
static void repair_syscall(const Displaced& plan, const SlotRun& run, Registers& regs)
{
    if (regs[Reg::rcx] == run.slot.value + plan.copy_length)
        regs[Reg::rcx] = plan.at.value + plan.length;
    if ((run.rflags & trap_flag) == 0)
        regs[Reg::r11] &= ~trap_flag;
}

SlotEnd finish_out_of_line(const Displaced& plan, const SlotRun& run, Registers& regs)
{
    std::uint64_t offset = regs.rip - run.slot.value;
    if (offset >= slot_bytes)
        return SlotEnd::elsewhere;

    for (std::size_t i = 0; i < plan.spares.size(); ++i) {
        if (plan.spares[i].reg != Reg::none)
            regs[plan.spares[i].reg] = run.saved[i];
    }
    // A trap follows the copy. If the thread executed the trap, rip is one byte higher
    // than after a single-step.
    bool ran = offset >= plan.copy_length;
    if (ran && plan.is_syscall)
        repair_syscall(plan, run, regs);
    bool finished = ran && !plan.access_only;
    regs.rip = plan.at.value + (finished ? plan.length : 0);
    return finished ? SlotEnd::finished : SlotEnd::unfinished;
}

TargetAddr original_address(const Displaced& plan, const SlotRun& run, TargetAddr seen)
{
    std::uint64_t offset = seen - run.slot;
    if (offset >= slot_bytes)
        return seen;
    return offset < plan.copy_length ? plan.at + offset : plan.at + plan.length;
}

} // namespace dt
