// SPDX-License-Identifier: MIT
// The parts of a processor that operations use: operands, memory, flags.
//
// A Machine has a copy of the registers. If no access failed, emulate() stores the copy
// in the caller's registers. Flags that an operation leaves undefined have arbitrary
// values. No code may depend on them.
#pragma once

#include "fasttrap/arch/x86_64/decode.hpp"
#include "fasttrap/arch/x86_64/emulate.hpp"
#include "fasttrap/arch/x86_64/flags.hpp"

#include <array>
#include <bit>

namespace dt::x86 {

inline bool on_own_stack(const MemoryOperand& memory)
{
    return memory.segment == Segment::flat &&
           (memory.base == Reg::rsp || memory.base == Reg::rbp);
}

class Machine {
public:
    Machine(const Instruction& insn, const Registers& regs, TargetMemory& memory)
        : insn_(insn), regs_(regs), memory_(memory)
    {
        regs_.rip = insn.next().value;
    }
    const Registers& registers() const { return regs_; }
    const MemoryFault& fault() const { return fault_; }

protected:
    // --- operands ---
    unsigned size() const { return insn_.operands[0].size; }

    std::uint64_t load(TargetAddr from, unsigned size, bool stack)
    {
        std::array<std::byte, 8> raw{};
        if (!memory_.read(from, std::span(raw).first(size))) {
            faulted_ = true;
            fault_ = {from, static_cast<std::uint8_t>(size), false, stack, 0};
        }
        return std::bit_cast<std::uint64_t>(raw);
    }
    void store(TargetAddr to, unsigned size, std::uint64_t value, bool stack)
    {
        if (faulted_)
            return;
        auto raw = std::bit_cast<std::array<std::byte, 8>>(value);
        if (!memory_.write(to, std::span<const std::byte>(raw).first(size))) {
            faulted_ = true;
            fault_ = {to, static_cast<std::uint8_t>(size), true, stack, value};
        }
    }
    std::uint64_t get(std::size_t i)
    {
        const Operand& operand = insn_.operands[i];
        switch (operand.kind) {
        case Operand::reg:
            return regs_[operand.number] & mask_of(operand.size);
        case Operand::high_byte:
            return regs_[operand.number] >> 8 & 0xff;
        case Operand::imm:
            return static_cast<std::uint64_t>(insn_.immediate);
        case Operand::mem:
            return load(effective_address(insn_, regs_), operand.size,
                        on_own_stack(insn_.memory));
        case Operand::none:
            break;
        }
        return 0;
    }
    // Writes a register. A write of 4 bytes clears the upper half. A write of 1 or 2
    // bytes leaves the other bytes unchanged.
    void set_general(Reg number, unsigned size, std::uint64_t value)
    {
        std::uint64_t& reg = regs_[number];
        if (size >= 4)
            reg = value & mask_of(size);
        else
            reg = (reg & ~mask_of(size)) | (value & mask_of(size));
    }
    void set(std::size_t i, std::uint64_t value)
    {
        const Operand& operand = insn_.operands[i];
        if (operand.kind == Operand::reg)
            set_general(operand.number, operand.size, value);
        else if (operand.kind == Operand::high_byte)
            regs_[operand.number] =
                (regs_[operand.number] & ~0xff00ULL) | (value & 0xff) << 8;
        else if (operand.kind == Operand::mem)
            store(effective_address(insn_, regs_), operand.size, value,
                  on_own_stack(insn_.memory));
    }
    void push_value(std::uint64_t value)
    {
        store(TargetAddr{regs_[Reg::rsp] - 8}, 8, value, true);
        regs_[Reg::rsp] -= 8;
    }
    std::uint64_t pop_value()
    {
        std::uint64_t value = load(TargetAddr{regs_[Reg::rsp]}, 8, true);
        regs_[Reg::rsp] += 8;
        return value;
    }

    // --- flags ---
    void set_flags(std::uint64_t which, std::uint64_t to)
    {
        regs_.rflags = (regs_.rflags & ~which) | (to & which);
    }
    std::uint64_t result_flags(std::uint64_t result) const
    {
        result &= mask_of(size());
        std::uint64_t flags = result == 0 ? zf : 0;
        flags |= (result & sign_bit(size())) != 0 ? sf : 0;
        flags |= std::popcount(result & 0xff) % 2 == 0 ? pf : 0;
        return flags;
    }
    bool carry() const { return (regs_.rflags & cf) != 0; }

    std::uint64_t sum(std::uint64_t a, std::uint64_t b, bool carry_in)
    {
        std::uint64_t mask = mask_of(size());
        a &= mask;
        b &= mask;
        std::uint64_t result = (a + b + (carry_in ? 1 : 0)) & mask;
        std::uint64_t carries = (a & b) | ((a | b) & ~result);
        std::uint64_t flags = result_flags(result) | ((a ^ b ^ result) & af);
        flags |= (carries & sign_bit(size())) != 0 ? cf : 0;
        flags |= (~(a ^ b) & (a ^ result) & sign_bit(size())) != 0 ? of : 0;
        set_flags(arithmetic_flags, flags);
        return result;
    }
    std::uint64_t difference(std::uint64_t a, std::uint64_t b, bool borrow_in)
    {
        std::uint64_t mask = mask_of(size());
        a &= mask;
        b &= mask;
        std::uint64_t result = (a - b - (borrow_in ? 1 : 0)) & mask;
        std::uint64_t borrows = (~a & b) | ((~a | b) & result);
        std::uint64_t flags = result_flags(result) | ((a ^ b ^ result) & af);
        flags |= (borrows & sign_bit(size())) != 0 ? cf : 0;
        flags |= ((a ^ b) & (a ^ result) & sign_bit(size())) != 0 ? of : 0;
        set_flags(arithmetic_flags, flags);
        return result;
    }
    std::uint64_t logic(std::uint64_t result)
    {
        set_flags(arithmetic_flags, result_flags(result));
        return result;
    }
    // Sets the flags after a shift. carry_out is the last bit that was shifted out.
    void shift_flags(std::uint64_t result, bool carry_out, bool overflow)
    {
        set_flags(arithmetic_flags,
                  result_flags(result) | (carry_out ? cf : 0) | (overflow ? of : 0));
    }
    unsigned shift_count()
    {
        return static_cast<unsigned>(get(1)) & (size() == 8 ? 63U : 31U);
    }

    // --- control ---
    void go_to(std::uint64_t where) { regs_.rip = where; }
    // Returns whether a jump may lead to `where`, and records a fault if it may not. A
    // jump to a non-canonical address raises the same exception as a read from that
    // address. Addresses of 48 to 57 bits are accepted, although they are canonical
    // only with five levels of page tables.
    bool can_go_to(std::uint64_t where)
    {
        if (sign_extend_57(where) != where && !faulted_) {
            faulted_ = true;
            fault_ = {TargetAddr{where}, 1, false, false, 0};
        }
        return !faulted_;
    }

    const Instruction& insn_;
    Registers regs_;
    TargetMemory& memory_;
    MemoryFault fault_;
    bool faulted_ = false;
};

} // namespace dt::x86
