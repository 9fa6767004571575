// SPDX-License-Identifier: MIT
// Chooses how an x86-64 instruction runs displaced, and makes its copy.
//
// A RIP-relative operand would refer to other memory at the copy's address. So the copy
// uses [spare + disp32] instead. The spare register holds the address of the next
// original instruction. ModRM changes from mod 00 rm 101 to mod 10 rm spare. The prefix
// bit B (in EVEX also X) is cleared, because it would extend the register number.
//
// The spare register is one of rsi, rdi and rbp. No instruction with a ModRM memory
// operand uses any of them implicitly. ModRM.reg and VEX.vvvv name at most two of them,
// so at least one is free.
#include "fasttrap/arch/x86_64/displace.hpp"

#include "fasttrap/arch/x86_64/decode.hpp"
#include "fasttrap/arch/x86_64/emulate.hpp"
#include "fasttrap/arch/x86_64/layout.hpp"

#include <algorithm>
#include <cassert>

namespace dt::x86 {

namespace {

constexpr std::byte trap_byte{0xcc};

Displaced refuse(const Instruction& insn, std::string_view reason)
{
    Displaced plan;
    plan.at = insn.at;
    plan.length = insn.length;
    plan.reason = reason;
    return plan;
}

Displaced copy_of(const Instruction& insn)
{
    Displaced plan;
    plan.how = Displaced::out_of_line;
    plan.at = insn.at;
    plan.length = insn.length;
    plan.copy_length = insn.length;
    plan.copy.fill(trap_byte);
    std::copy_n(insn.bytes.begin(), insn.length, plan.copy.begin());
    return plan;
}

Reg choose_spare(const Layout& layout, const Instruction& insn)
{
    unsigned reg = (byte_at(insn, layout.modrm_at) >> 3 & 7U) | (layout.r ? 8U : 0U);
    bool has_vvvv = layout.encoding != Encoding::legacy;
    for (Reg spare : {Reg::rsi, Reg::rdi, Reg::rbp}) {
        auto number = static_cast<unsigned>(spare);
        if (number != reg && !(has_vvvv && number == layout.vvvv))
            return spare;
    }
    return Reg::none; // not reached: at most two of the three are excluded
}

void clear_base_extension(const Layout& layout, Displaced& plan)
{
    if (layout.encoding == Encoding::legacy) {
        if (layout.has_rex)
            plan.copy[layout.rex_at] &= std::byte{0xfe};
        return;
    }
    if (plan.copy[layout.vex_at] == std::byte{0xc5})
        return; // the two-byte VEX prefix contains neither B nor X
    // Clear B and X. The prefix stores them inverted, so the bits are set. In a VEX
    // prefix, X has no effect here, because there is no SIB byte.
    plan.copy[layout.vex_at + 1U] |= std::byte{0x60};
}

void substitute_rip(const Instruction& insn, Displaced& plan)
{
    Layout layout = lay_out(insn.text());
    Reg spare = choose_spare(layout, insn);
    assert(spare != Reg::none);
    auto modrm = static_cast<unsigned>(plan.copy[layout.modrm_at]);
    modrm = (modrm & 0x38) | 0x80 | static_cast<unsigned>(spare);
    plan.copy[layout.modrm_at] = static_cast<std::byte>(modrm);
    clear_base_extension(layout, plan);
    plan.spares[0] = {spare, insn.next().value};
}

bool is_repeated_string(const Instruction& insn)
{
    if (!insn.has(prefix_rep) && !insn.has(prefix_repne))
        return false;
    if (insn.encoding != Encoding::legacy || insn.opcode_map != 0)
        return false;
    return (insn.opcode >= 0xa4 && insn.opcode <= 0xa7) ||
           (insn.opcode >= 0xaa && insn.opcode <= 0xaf);
}

// Returns whether insn is pushf or popf. They must not be single-stepped, because pushf
// would store the trap flag of the step, and popf would clear it.
bool moves_flags(const Instruction& insn)
{
    return insn.encoding == Encoding::legacy && insn.opcode_map == 0 &&
           (insn.opcode == 0x9c || insn.opcode == 0x9d);
}

Displaced plan_copy(const Instruction& insn)
{
    Displaced plan = copy_of(insn);
    if (insn.rip_relative)
        substitute_rip(insn, plan);
    plan.is_syscall = insn.flow == ControlFlow::syscall;
    plan.run_to_trap = plan.is_syscall || is_repeated_string(insn) || moves_flags(insn);
    return plan;
}

// Writes a copy that repeats only the failed memory access, with a mov. For a store,
// the copy is mov %rdi, 0(%rsi). For a load, it is mov 0(%rsi), %rsi. If the address is
// on the stack, the copy uses %rbp instead of %rsi. A non-canonical address then raises
// a stack fault (#SS), as in the original instruction.
void put_access(Displaced& plan, const MemoryFault& fault)
{
    std::size_t n = 0;
    auto put = [&](unsigned byte) { plan.copy[n++] = static_cast<std::byte>(byte); };
    Reg address = fault.stack ? Reg::rbp : Reg::rsi;
    auto rm = static_cast<unsigned>(address);
    unsigned reg = fault.write ? static_cast<unsigned>(Reg::rdi) : rm;
    if (fault.size == 2)
        put(0x66);
    if (fault.size == 8)
        put(0x48);
    if (fault.size == 1)
        put(0x40); // with REX, register 7 is dil and not bh
    put((fault.write ? 0x88U : 0x8aU) | (fault.size == 1 ? 0U : 1U));
    put(0x40 | reg << 3 | rm);
    put(0); // disp8
    plan.copy_length = static_cast<std::uint8_t>(n);
    plan.spares[0] = {address, fault.address.value};
    plan.spares[1] = {Reg::rdi, fault.value};
}

} // namespace

Displaced plan_displaced(const Instruction& insn)
{
    if (std::string_view reason = refusal_of(insn); !reason.empty())
        return refuse(insn, reason);
    if (can_emulate(insn)) {
        Displaced plan = copy_of(insn);
        plan.how = Displaced::emulate;
        return plan;
    }
    if (insn.flow != ControlFlow::next && insn.flow != ControlFlow::syscall &&
        insn.flow != ControlFlow::stop) // ud2, hlt
        return refuse(insn, "a branch has an unsupported encoding");
    return plan_copy(insn);
}

Displaced plan_after_fault(const Instruction& insn, const MemoryFault& fault)
{
    if (insn.flow == ControlFlow::next)
        return plan_copy(insn);
    Displaced plan = copy_of(insn);
    plan.copy.fill(trap_byte);
    plan.access_only = true;
    put_access(plan, fault);
    return plan;
}

} // namespace dt::x86
