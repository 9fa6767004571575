// SPDX-License-Identifier: MIT
// Emits code that reads the arguments of a static probe, as runtime/operands.c does.
// There are three kinds of arguments:
//
//   direct   a full register that the routine never changes: used in place
//   moved    another register, a part of one, or a constant: read each time it is used
//   ahead    memory, and values that need arithmetic: read once into a slot on the
//            stack, before any action runs, while the engine can still take over
//
// Memory is read only where it is expected to be readable: near the stack pointer, at
// an address that the program's file contains, in the thread's own area (%fs or %gs),
// or in a range that the agent found readable. The engine reads any other address. If a
// load faults, the agent continues the thread in the engine (`Fixup`).
#include "ptrace-agent/native/arch/x86_64/operands.hpp"

#include "ptrace-agent/runtime/operands.h"

#include <bit>
#include <cstddef>

namespace dt::native::x86 {

using namespace Xbyak::util;

// The number of bytes above the stack pointer that are assumed to belong to the stack.
constexpr std::uint32_t near_bytes = 0x4000;
constexpr unsigned red_zone_bytes = 128;

namespace {

bool is_float(const dt_operand& operand)
{
    return (operand.flags & DT_OPERAND_FLOAT) != 0;
}

bool is_signed(const dt_operand& operand)
{
    return (operand.flags & DT_OPERAND_SIGNED) != 0 && !is_float(operand);
}

} // namespace

Xbyak::Address OperandReader::slot(std::uint32_t n) const
{
    auto n_below =
        static_cast<std::size_t>(std::popcount(registers_.ahead() & ((1u << n) - 1)));
    return qword[rsp + 8 * n_below];
}

// Loads the value that a register has in the program.
void OperandReader::load_program(Reg64 to, unsigned number)
{
    switch (number) {
    case Xbyak::Operand::RAX:
        return a_.mov(to, registers_.saved(0));
    case Xbyak::Operand::RCX:
        return a_.mov(to, registers_.saved(1));
    case Xbyak::Operand::RBX:
        return a_.mov(to, registers_.saved(2));
    case Xbyak::Operand::RSP:
        return a_.lea(to, ptr[rsp + 8 * registers_.above(3) + red_zone_bytes]);
    default:
        break;
    }
    const Reg64 reg(static_cast<int>(number));
    if (auto before = registers_.saved(reg))
        return a_.mov(to, *before);
    a_.mov(to, reg);
}

void OperandReader::load_operand(Reg64 to, std::uint32_t n)
{
    if (n >= plan_.operands.size())
        return a_.mov(to.cvt32(), 0); // the probe has fewer arguments, so this one is 0
    const dt_operand& operand = plan_.operands[n];
    if ((registers_.ahead() & 1u << n) != 0)
        return a_.mov(to, slot(n));
    if (operand.form == DT_OPERAND_CONST) {
        auto bits = static_cast<std::uint64_t>(operand.value);
        return a_.mov(to, dt_rt_operand_value(&operand, bits));
    }
    read_operand(to, operand);
    widen(to, operand);
}

// Loads an operand's bits. The higher bits of `to` are undefined.
void OperandReader::read_operand(Reg64 to, const dt_operand& operand)
{
    if (operand.form == DT_OPERAND_GENERAL)
        return load_program(to, operand.reg);
    if (operand.form == DT_OPERAND_VECTOR)
        return a_.movq(to, Xbyak::Xmm(operand.reg));
    address_of(to, operand);
    if (operand.segment == 0)
        ensure_known(to, operand);
    auto access = std::make_unique<Access>();
    a_.L(access->begin);
    if (operand.segment != 0)
        a_.db(operand.segment == 'f' ? 0x64 : 0x65);
    switch (operand.bytes) {
    case 1:
        a_.movzx(to.cvt32(), byte[to]);
        break;
    case 2:
        a_.movzx(to.cvt32(), word[to]);
        break;
    case 4:
        a_.mov(to.cvt32(), dword[to]);
        break;
    default:
        a_.mov(to, qword[to]);
    }
    a_.L(access->end);
    accesses_.push_back(std::move(access));
}

// Computes the address of an operand, without its segment's base. Changes rcx and the
// flags.
void OperandReader::address_of(Reg64 to, const dt_operand& operand)
{
    auto displacement = static_cast<std::uint64_t>(operand.value);
    if (operand.reg == DT_OPERAND_NO_REG)
        a_.mov(to, displacement);
    else
        load_program(to, operand.reg);
    if (operand.index != DT_OPERAND_NO_REG) {
        load_program(rcx, operand.index);
        a_.lea(to, ptr[to + rcx * (1 << operand.shift)]);
    }
    if (operand.reg != DT_OPERAND_NO_REG && displacement != 0) {
        a_.mov(rcx, displacement);
        a_.add(to, rcx);
    }
}

// Emits code that checks whether the address is expected to be readable. If it is not,
// the engine runs the clause. The ranges are searched as in dt_rt_known(). ranges_seq
// is tested only once. If the agent rewrites the ranges during the search, the agent is
// alive and handles a possible fault.
void OperandReader::ensure_known(Reg64 address, const dt_operand& operand)
{
    if (operand.reg == DT_OPERAND_NO_REG && operand.index == DT_OPERAND_NO_REG)
        return;
    auto lookup = std::make_unique<Lookup>();
    a_.mov(rcx, address);
    a_.sub(rcx, rsp);
    a_.cmp(rcx, near_bytes);
    a_.jae(lookup->unsure);
    a_.L(lookup->known);
    Reg64 left = registers_.temporary({address}),
          half = registers_.temporary({address, left});
    Lookup& out = *lookup;
    lookup->rest = [this, &out, address, left, half, bytes = operand.bytes] {
        static_assert(sizeof(dt_rt_range) == 16 && offsetof(dt_rt_range, end) == 8);
        Label next, below, found;
        a_.L(out.unsure);
        a_.test(dword[a_.config(offsetof(dt_rt_config, ranges_seq))], 1);
        a_.jnz(bail_);
        a_.mov(left.cvt32(), ptr[a_.config(offsetof(dt_rt_config, n_ranges))]);
        a_.lea(rcx, ptr[a_.config(offsetof(dt_rt_config, ranges))]);
        a_.cmp(left.cvt32(), DT_RT_MAX_RANGES);
        a_.ja(bail_);
        // Find the last range that begins at or before the address.
        a_.L(next);
        a_.cmp(left.cvt32(), 1);
        a_.jb(bail_);
        a_.je(found);
        a_.mov(half.cvt32(), left.cvt32());
        a_.shr(half.cvt32(), 1);
        a_.sub(left.cvt32(), half.cvt32());
        a_.shl(half, 4);
        a_.cmp(ptr[rcx + half], address);
        a_.ja(next);
        a_.add(rcx, half);
        a_.jmp(next);
        a_.L(found);
        a_.mov(left, ptr[rcx + offsetof(dt_rt_range, end)]);
        a_.mov(rcx, ptr[rcx]);
        a_.mov(half, address);
        a_.sub(half, rcx);
        a_.jb(bail_);
        a_.sub(left, rcx);
        a_.sub(left, bytes); // not negative, because a range is at least a page
        a_.cmp(half, left);
        a_.ja(bail_);
        a_.jmp(out.known);
    };
    lookups_.push_back(std::move(lookup));
}

// Emits the rare cases of address checks after the code of the routine.
void OperandReader::place_lookups()
{
    for (auto& lookup : lookups_)
        lookup->rest();
}

// Extends an integer operand, as dt_rt_operand_value() does. Does not change the flags.
void OperandReader::widen(Reg64 value, const dt_operand& operand)
{
    switch (operand.bytes) {
    case 1:
        return is_signed(operand) ? a_.movsx(value, value.cvt8())
                                  : a_.movzx(value.cvt32(), value.cvt8());
    case 2:
        return is_signed(operand) ? a_.movsx(value, value.cvt16())
                                  : a_.movzx(value.cvt32(), value.cvt16());
    case 4:
        return is_signed(operand) ? a_.movsxd(value, value.cvt32())
                                  : a_.mov(value.cvt32(), value.cvt32());
    default:
        return;
    }
}

// Converts a float to a double. The engine handles denormal and infinite values and
// NaN.
void OperandReader::widen_float(Reg64 value)
{
    constexpr std::uint32_t exponent = 0x7f800000, least = 0x00800000;
    constexpr std::uint64_t bias = std::uint64_t{1023 - 127} << 52;
    Reg64 rest = registers_.temporary({value});
    Label zero;
    a_.mov(rest.cvt32(), value.cvt32());
    a_.and_(rest.cvt32(), 0x7fffffff);
    a_.shr(value.cvt32(), 31);
    a_.shl(value, 63);
    a_.test(rest.cvt32(), rest.cvt32());
    a_.jz(zero);
    a_.lea(ecx, ptr[rest - least]);
    a_.cmp(ecx, exponent - least);
    a_.jae(bail_);
    a_.shl(rest, 52 - 23);
    a_.mov(rcx, bias);
    a_.add(rest, rcx);
    a_.or_(value, rest);
    a_.L(zero);
}

// Emits code that stores arguments in their slots before the actions run. Skips
// arguments that an earlier call has read.
void OperandReader::load_ahead(std::uint32_t arguments)
{
    for (std::uint32_t n = 0; n < plan_.operands.size(); ++n) {
        if ((arguments & ~have_ahead_ & 1u << n) == 0)
            continue;
        const dt_operand& operand = plan_.operands[n];
        Reg64 value = registers_.temporary({});
        read_operand(value, operand);
        if ((operand.flags & DT_OPERAND_HIGH_BYTE) != 0)
            a_.shr(value, 8);
        if (is_float(operand) && operand.bytes == 4)
            widen_float(value);
        else
            widen(value, operand);
        a_.mov(slot(n), value);
    }
    have_ahead_ |= arguments;
}

void OperandReader::add_fixups(Compiled& to) const
{
    for (const auto& access : accesses_)
        to.fixups.push_back({a_.offset_of(access->begin), a_.offset_of(access->end),
                             a_.offset_of(bail_)});
}

} // namespace dt::native::x86
