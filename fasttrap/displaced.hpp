// SPDX-License-Identifier: MIT
// How to run an instruction whose first byte was replaced by a breakpoint.
//
//   emulate      compute its effect on Registers and TargetMemory; no stop of the
//   thread out_of_line  write a copy into a slot in the target and run the thread over
//   it refused      neither is right; the reason is a sentence for people
//
// A thread at a tracepoint (registers fetched, rip put back to the instruction's
// address):
//
//   Displaced plan = arch.plan_displaced(insn);               once per tracepoint
//   if (plan.how == Displaced::emulate) {
//       Emulation did = arch.emulate(insn, regs, memory);
//       if (did.outcome == Emulation::done)
//           -> set registers, continue the thread
//       plan = arch.plan_after_fault(insn, did.memory_fault); memory was not there
//   }
//   write plan.copy_text() to a slot of this thread;
//   SlotRun run = prepare_out_of_line(plan, slot, regs);      rip is now the slot
//   set registers; PTRACE_SINGLESTEP, or PTRACE_CONT when plan.run_to_trap; wait;
//   SlotEnd end = finish_out_of_line(plan, run, regs);        rip is in the program
//   again
//
// The copy is followed by trap instructions, so that a thread may be continued over it
// instead of stepped: a repeated string instruction then takes one stop, not one per
// round. finish_out_of_line() accepts both. It must be called at whatever stop comes
// next, before a signal is delivered, because the program must never see the slot:
//
//   finished     the instruction is done; rip is where it leads
//   unfinished   rip was still on the copy: a signal came first, the instruction
//   faulted
//                (deliver the signal: the program sees the original address), or a
//                stepped string instruction has rounds left (prepare and step again).
//                Registers are those of the original instruction, a string's progress
//                included
//   elsewhere    rip was not in the slot (sigreturn, exec): registers are untouched
//
// A child made by a system call in the slot starts there too: finish_out_of_line() is
// applied to its registers before it runs. original_address() does the same for the
// address in siginfo (SIGILL, SIGFPE and SIGTRAP name the instruction).
//
// Emulation needs the memory's agreement: on a fault nothing has changed, and
// plan_after_fault() gives a copy that makes the same access natively, so that stack
// growth, userfaultfd and the program's SIGSEGV handler see the real thing at the
// original rip. For an instruction that does not depend on rip that copy is the
// instruction itself; for a call, ret or indirect jump it only makes the access, and
// finish_out_of_line() ends in SlotEnd::unfinished with rip at the instruction, which
// is emulated once more. A second fault after a successful access means memory that
// ptrace cannot reach (a device's mapping): remove the tracepoint, let the thread run
// the original, and count it.
//
// Not exact, and known: the x87 instruction pointer (fnstenv, fxsave) is the copy's.
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/memory.hpp"
#include "fasttrap/registers.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace dt {

constexpr std::size_t slot_bytes = 32; // what a copy needs at most; alignment: none

struct MemoryFault {
    TargetAddr address;
    std::uint8_t size = 0; // bytes: 1, 2, 4 or 8
    bool write = false;
    bool stack = false; // by way of rsp or rbp: a bad address is SIGBUS, not SIGSEGV
    std::uint64_t value = 0; // what was to be written
};

struct Emulation {
    enum Outcome : std::uint8_t { done, fault, cannot } outcome = cannot;
    MemoryFault memory_fault; // of fault
};

// While the copy runs, a register that the instruction does not use holds a value that
// the original found in rip.
struct Spare {
    Reg reg = Reg::none;
    std::uint64_t value = 0;
};

struct Displaced {
    enum How : std::uint8_t { emulate, out_of_line, refused } how = refused;
    std::string_view reason;      // of refused, a literal
    TargetAddr at;                // of the original
    std::uint8_t length = 0;      // of the original
    std::uint8_t copy_length = 0; // of the instruction in copy, without the traps
    bool run_to_trap = false;     // continue rather than step
    bool is_syscall = false;      // rcx and r11 need repair
    bool access_only = false;     // the copy is a memory access, emulate afterwards
    std::array<Spare, 2> spares{};
    std::array<std::byte, slot_bytes> copy{};

    std::span<const std::byte> copy_text() const { return copy; }
};

// One thread's run over a slot. Keep it until finish_out_of_line().
struct SlotRun {
    TargetAddr slot;
    std::array<std::uint64_t, 2> saved{}; // what the spares held
    std::uint64_t rflags = 0;
};

enum class SlotEnd : std::uint8_t { finished, unfinished, elsewhere };

SlotRun prepare_out_of_line(const Displaced& plan, TargetAddr slot, Registers& regs);
SlotEnd finish_out_of_line(const Displaced& plan, const SlotRun& run, Registers& regs);

// An address inside the slot as the address of the original; any other unchanged.
TargetAddr original_address(const Displaced& plan, const SlotRun& run, TargetAddr seen);

} // namespace dt
