// SPDX-License-Identifier: MIT
// How to run an instruction whose first byte was replaced with a breakpoint.
//
// Displaced::How has three values:
//
//   emulate      compute the effect on Registers and TargetMemory; the thread does not
//                stop again
//   out_of_line  write a copy into a slot in the target, and let the thread execute it
//   refused      neither is possible; the reason is a sentence for the user
//
// The caller has fetched the registers of a thread at a tracepoint, and has set rip
// back to the address of the instruction. Then:
//
//   Displaced plan = arch.plan_displaced(insn);               // once per tracepoint
//   if (plan.how == Displaced::emulate) {
//       Emulation did = arch.emulate(insn, regs, memory);
//       if (did.outcome == Emulation::done)
//           -> set the registers, continue the thread
//       plan = arch.plan_after_fault(insn, did.memory_fault); // an access has faulted
//   }
//   write plan.copy_text() to a slot of this thread;
//   SlotRun run = prepare_out_of_line(plan, slot, regs);      // rip is in the slot
//   set the registers; PTRACE_SINGLESTEP, or PTRACE_CONT if plan.run_to_trap; wait;
//   SlotEnd end = finish_out_of_line(plan, run, regs);        // rip is in the program
//
// The caller must call finish_out_of_line() at the next stop of any kind, before it
// delivers a signal, because the program must never see the slot. finish_out_of_line()
// returns:
//
//   finished     The instruction has run. rip is where the program continues.
//   unfinished   The effect of the instruction is not complete. Either the thread
//                stopped before the end of the copy, or the copy has made only the
//                memory access of a call, ret or indirect jump (access_only). rip is
//                the address of the original. If the stop is for a signal of the
//                program, the caller delivers it. Otherwise the caller begins again at
//                plan_displaced(). A string instruction then continues with the
//                remaining iterations. A call, ret or indirect jump is then emulated.
//   elsewhere    rip was not in the slot (sigreturn, exec). The registers are
//                unchanged.
//
// - The caller must also apply finish_out_of_line() to a child process that a system
//   call in the slot creates, before the child runs.
// - The thread itself executes the copy that plan_after_fault() returns, so the memory
//   access is the thread's own. Stack growth, userfaultfd and the program's SIGSEGV
//   handler work as usual.
// - The siginfo of SIGILL, SIGFPE and SIGTRAP contains the address of the copy.
//   original_address() converts it to the address of the original.
// - If the copy could access the memory, but the emulation after the copy faults again,
//   ptrace cannot access this memory. The caller must remove the tracepoint and let the
//   thread run the original.
// - If an x87 instruction ran as a copy, fnstenv and fxsave store the copy's address
//   as the x87 instruction pointer.
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/memory.hpp"
#include "fasttrap/registers.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace dt {

// The size of a slot, which contains a copy and the trap instructions after it. A slot
// may have any alignment.
constexpr std::size_t slot_bytes = 32;

struct MemoryFault {
    TargetAddr address;
    std::uint8_t size = 0; // 1, 2, 4 or 8 bytes
    bool write = false;
    // Set if the address comes from rsp or rbp. A non-canonical address of this kind
    // causes SIGBUS, not SIGSEGV.
    bool stack = false;
    std::uint64_t value = 0; // the value to write
};

struct Emulation {
    enum Outcome : std::uint8_t { done, fault, cannot } outcome = cannot;
    MemoryFault memory_fault; // valid if the outcome is fault
};

// A register that holds `value` while the copy runs. Usually `value` is the rip after
// the original instruction. In an access_only copy, it is the address or the data of
// the access.
struct Spare {
    Reg reg = Reg::none;
    std::uint64_t value = 0;
};

struct Displaced {
    enum How : std::uint8_t { emulate, out_of_line, refused } how = refused;
    std::string_view reason;      // set if refused; a string literal
    TargetAddr at;                // address of the original
    std::uint8_t length = 0;      // length of the original
    std::uint8_t copy_length = 0; // length of the copy without the traps after it
    bool run_to_trap = false;     // continue the thread instead of stepping it
    bool is_syscall = false;      // rcx and r11 must be corrected afterwards
    bool access_only = false; // the copy only accesses memory; emulate insn afterwards
    std::array<Spare, 2> spares{};
    std::array<std::byte, slot_bytes> copy{};

    std::span<const std::byte> copy_text() const { return copy; }
};

// The state of one thread while it runs in a slot. The caller must keep it until
// finish_out_of_line() has returned.
struct SlotRun {
    TargetAddr slot;
    std::array<std::uint64_t, 2> saved{}; // original values of the spare registers
    std::uint64_t rflags = 0;
};

enum class SlotEnd : std::uint8_t { finished, unfinished, elsewhere };

SlotRun prepare_out_of_line(const Displaced& plan, TargetAddr slot, Registers& regs);
SlotEnd finish_out_of_line(const Displaced& plan, const SlotRun& run, Registers& regs);

// Converts an address inside the slot to the corresponding address in the original
// text. Returns any other address unchanged.
TargetAddr original_address(const Displaced& plan, const SlotRun& run, TargetAddr seen);

} // namespace dt
