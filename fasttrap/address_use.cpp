// SPDX-License-Identifier: MIT
#include "fasttrap/address_use.hpp"

#include <set>
#include <utility>

namespace dt {

namespace {

using RegisterSet = std::uint16_t; // one bit per register, as in Instruction::reads

constexpr RegisterSet bit_of(Reg reg)
{
    return reg == Reg::none
               ? RegisterSet{0}
               : static_cast<RegisterSet>(1U << static_cast<unsigned>(reg));
}

class UseOfAddresses {
public:
    explicit UseOfAddresses(CodeRange block) : block_(block) {}

    void take(const Instruction& insn, const Glance& seen)
    {
        TargetAddr there =
            insn.next() + static_cast<std::uint64_t>(std::int64_t{seen.displacement});
        bool takes = seen.is(Glance::takes_address) && there >= block_.begin &&
                     there < block_.end;
        bool computes = takes || is_lea(insn);
        if (insn.has_memory && !computes) {
            RegisterSet used = bit_of(insn.memory.base) | bit_of(insn.memory.index);
            is_read_ = is_read_ || (used & straight_) != 0;
            take_stack_slot(insn);
        } else if (insn.flow == ControlFlow::jump_indirect) {
            is_jumped_to_ = is_jumped_to_ || (insn.reads & held_) != 0;
        }
        for (RegisterSet* held : {&straight_, &held_}) {
            bool copied = takes || (insn.reads & *held & ~bit_of(Reg::rsp)) != 0;
            RegisterSet written = insn.writes & ~bit_of(Reg::rsp);
            *held = copied ? *held | written : *held & ~written;
        }
        if (is_load(insn) && may_hold(insn.memory))
            held_ |= insn.writes;
        if (seen.is(Glance::ends))
            straight_ = 0;
    }

    AddressUse found() const
    {
        return is_read_        ? AddressUse::read
               : is_jumped_to_ ? AddressUse::jumped_to
                               : AddressUse::unknown;
    }

private:
    static bool is_lea(const Instruction& insn)
    {
        return insn.encoding == Encoding::legacy && insn.opcode_map == 0 &&
               insn.opcode == 0x8d;
    }

    static bool is_store(const Instruction& insn) // mov %reg, memory
    {
        return insn.encoding == Encoding::legacy && insn.opcode_map == 0 &&
               insn.opcode == 0x89;
    }

    static bool is_load(const Instruction& insn) // mov memory, %reg
    {
        return insn.encoding == Encoding::legacy && insn.opcode_map == 0 &&
               insn.opcode == 0x8b && insn.has_memory;
    }

    static bool is_on_stack(const MemoryOperand& memory)
    {
        return memory.base == Reg::rsp || memory.base == Reg::rbp;
    }

    // Returns whether the operand may refer to a stack slot that holds an address in
    // the block. An operand with an index may refer to any slot of an array.
    bool may_hold(const MemoryOperand& memory) const
    {
        if (!is_on_stack(memory))
            return false;
        auto slot = slots_.lower_bound({memory.base, memory.disp});
        return slot != slots_.end() && slot->first == memory.base &&
               (memory.index != Reg::none || slot->second == memory.disp);
    }

    // Tracks stores to stack slots and jumps through them. A variable with a label's
    // address is in a stack slot if it is volatile, spilled or an element of a local
    // array.
    void take_stack_slot(const Instruction& insn)
    {
        const MemoryOperand& memory = insn.memory;
        if (is_store(insn) && is_on_stack(memory) && memory.index == Reg::none &&
            (insn.reads & held_ & ~bit_of(memory.base)) != 0)
            slots_.insert({memory.base, memory.disp});
        if (insn.flow == ControlFlow::jump_indirect)
            is_jumped_to_ = is_jumped_to_ || may_hold(memory);
    }

    CodeRange block_;
    // Sets of registers that hold an address computed from an address in the block. A
    // register in held_ holds it on at least one path. A register in straight_ certainly
    // holds it, because no jump or return is between the lea and the current
    // instruction.
    RegisterSet straight_ = 0, held_ = 0;
    using StackSlot = std::pair<Reg, std::int64_t>; // base and displacement
    std::set<StackSlot> slots_; // slots that may hold an address in the block
    bool is_read_ = false, is_jumped_to_ = false;
};

} // namespace

AddressUse use_of_addresses(const Arch& arch, CodeRange block, CodeRange function,
                            const ReachedCode& code, const AddressSet& instructions,
                            const TextAt& text)
{
    UseOfAddresses use(block);
    // The second round finds uses of an address after a backward branch.
    for (int round = 0; round < 2; ++round) {
        TargetAddr at = function.begin;
        while ((at = instructions.next(at)) < function.end) {
            if (!code.bytes.has(at)) {
                at = code.bytes.next(at);
                continue;
            }
            Result<Instruction> insn = arch.decode(text(at), at);
            if (insn)
                use.take(*insn, arch.glance(text(at)));
            at = at + 1;
        }
    }
    return use.found();
}

} // namespace dt
