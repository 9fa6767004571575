// SPDX-License-Identifier: MIT
// Uses the instructions before an indirect jump to distinguish a jump table from a tail
// call.
//
//   cmp $7, %edi ; ja default                 the bound: 8 entries
//   lea table(%rip), %rdx                     the base, possibly hoisted far up
//   movslq (%rdx,%rdi,4), %rax                the load of an entry by its index
//   add %rdx, %rax
//   notrack jmp *%rax
//
// In position-dependent code, and for a computed goto, the jump is
//
//   jmp *table(,%rdi,8)   or   mov (%rdx,%rdi,8), %rax ; jmp *%rax
//
// The search goes backwards through the text and ignores branches. The caller then
// checks the entries of the table. A jump belongs to a table if it has the prefix
// notrack, or if its address comes from an indexed load. The table itself may remain
// unknown. All other jumps are tail calls, for example jmp *8(%rax).
#include "fasttrap/arch/x86_64/jump_table.hpp"

#include "fasttrap/arch/x86_64/decode.hpp"

#include <optional>

namespace dt::x86 {

namespace {

// The maximum number of instructions that a search examines. dispatch_window limits the
// search for the load before the jump, and for the bound before the load. base_window
// limits the search for the base. A compiler may hoist the base out of a long loop, for
// example the loop of an interpreter.
constexpr std::size_t dispatch_window = 32;
constexpr std::size_t base_window = 65536;

bool writes(const Instruction& insn, Reg reg)
{
    return reg != Reg::none && (insn.writes >> static_cast<unsigned>(reg) & 1) != 0;
}

class Dispatch {
public:
    explicit Dispatch(std::span<const Instruction> code)
        : code_(code), jump_at_(code.size() - 1)
    {
    }

    IndirectJump classify()
    {
        const Instruction& jump = code_[jump_at_];
        bool notrack = !jump.has_memory && jump.has(prefix_segment);
        if (jump.rip_relative)
            return {};
        if (jump.has_memory)
            take_absolute(jump_at_);
        else if (jump.n_operands == 1)
            take_address(jump_at_, jump.operands[0].number);
        if (notrack && found_.kind == IndirectJump::tail_call)
            found_.kind = IndirectJump::unresolved;
        if (found_.kind == IndirectJump::table)
            found_.n_entries = bound();
        return found_;
    }

private:
    // Returns the index of the last instruction before `before` that writes the
    // register. Searches only the dispatch_window instructions that precede the jump.
    std::optional<std::size_t> writer(std::size_t before, Reg reg) const
    {
        std::size_t first = jump_at_ > dispatch_window ? jump_at_ - dispatch_window : 0;
        for (std::size_t i = before; i-- > first;) {
            if (writes(code_[i], reg))
                return i;
        }
        return std::nullopt;
    }

    // Handles a register that contains an address from the table, or the sum of an
    // entry and the base.
    void take_address(std::size_t before, Reg reg)
    {
        std::optional<std::size_t> at = writer(before, reg);
        if (!at)
            return;
        const Instruction& insn = code_[*at];
        switch (operation_of(insn)) {
        case Op::mov:
            if (insn.has_memory)
                take_absolute(*at);
            else if (insn.operands[1].kind == Operand::reg)
                take_address(*at, insn.operands[1].number);
            break;
        case Op::add:
            if (insn.operands[1].kind == Operand::reg)
                take_sum(*at, reg, insn.operands[1].number);
            break;
        case Op::lea:
            if (insn.memory.index != Reg::none && insn.memory.scale == 1)
                take_sum(*at, insn.memory.base, insn.memory.index);
            break;
        default:
            break;
        }
    }

    // Finds out which of two registers was loaded from the table. The other register is
    // the base.
    void take_sum(std::size_t at, Reg a, Reg b)
    {
        if (!take_relative(at, a))
            take_relative(at, b);
    }

    bool take_relative(std::size_t before, Reg loaded)
    {
        std::optional<std::size_t> at = writer(before, loaded);
        if (!at)
            return false;
        const Instruction& insn = code_[*at];
        Op op = operation_of(insn);
        if (op == Op::widen)
            return take_relative(*at, Reg::rax);
        if (op != Op::movsx && op != Op::mov)
            return false;
        if (!insn.has_memory)
            return op == Op::movsx && insn.operands[1].kind == Operand::reg &&
                   take_relative(*at, insn.operands[1].number);
        return take_load(*at, 4);
    }

    void take_absolute(std::size_t at) { take_load(at, 8); }

    // Handles a load of an entry at base + index * size. In unoptimised code, the
    // address may be the sum of two registers, and an earlier lea has scaled one of
    // them. Returns false for other loads.
    bool take_load(std::size_t at, std::uint8_t size)
    {
        MemoryOperand memory = code_[at].memory;
        if (memory.index == Reg::none || memory.base == memory.index)
            return false;
        if (memory.scale == 1) {
            if (is_scaled(at, memory.base, size))
                memory.base = memory.index;
            else if (!is_scaled(at, memory.index, size))
                return false;
        } else if (memory.scale != size) {
            return false;
        }
        found_.kind = IndirectJump::unresolved;
        take_base(at, memory, size);
        return true;
    }

    // Returns whether the register was written by a lea with this scale and no base:
    // lea 0(,%rax,4), %reg.
    bool is_scaled(std::size_t before, Reg reg, std::uint8_t size) const
    {
        std::optional<std::size_t> at = writer(before, reg);
        return at && operation_of(code_[*at]) == Op::lea &&
               code_[*at].memory.base == Reg::none && code_[*at].memory.scale == size;
    }

    void take_base(std::size_t load_at, const MemoryOperand& memory,
                   std::uint8_t entry_size)
    {
        load_at_ = load_at;
        std::optional<std::uint64_t> base = 0;
        if (memory.base != Reg::none)
            base = value_of(load_at, memory.base);
        if (!base || (entry_size == 4 && memory.disp != 0))
            return;
        found_.kind = IndirectJump::table;
        found_.table_at = TargetAddr{*base + static_cast<std::uint64_t>(memory.disp)};
        found_.entry_size = entry_size;
    }

    // Returns the address that a lea or mov put into the register, at most base_window
    // instructions earlier. Follows copies from another register. Skips all other
    // writes to the register, and assumes that they belong to other blocks.
    std::optional<std::uint64_t> value_of(std::size_t before, Reg reg) const
    {
        std::size_t first = before > base_window ? before - base_window : 0;
        for (std::size_t i = before; i-- > first;) {
            const Instruction& insn = code_[i];
            if (!writes(insn, reg))
                continue;
            Op op = operation_of(insn);
            if (op == Op::lea && insn.rip_relative)
                return insn.next().value + static_cast<std::uint64_t>(insn.memory.disp);
            if (op == Op::mov && insn.operands[1].kind == Operand::imm)
                return static_cast<std::uint64_t>(insn.immediate);
            if (op == Op::mov && insn.operands[1].kind == Operand::reg)
                reg = insn.operands[1].number;
        }
        return std::nullopt;
    }

    // Returns the number of entries according to the bound check: a cmp with an
    // immediate, then ja, jae, jbe or jb. Returns 0 if there is no check, or if the
    // number is not plausible. The cmp may use any register, because the load may use a
    // copy of the index.
    std::uint32_t bound() const
    {
        std::size_t first = load_at_ > dispatch_window ? load_at_ - dispatch_window : 0;
        for (std::size_t i = load_at_; i-- > first;) {
            const Instruction& insn = code_[i];
            if (insn.flow == ControlFlow::jump_indirect)
                break;
            if (operation_of(insn) != Op::cmp || insn.operands[1].kind != Operand::imm)
                continue;
            for (std::size_t j = i + 1; j < load_at_ && j < i + 8; ++j) {
                unsigned condition = code_[j].condition;
                if (operation_of(code_[j]) != Op::jcc || condition < 2 ||
                    condition == 4 || condition == 5 || condition > 7)
                    continue;
                // With the conditions a and be (7, 6), the immediate is the largest
                // valid index. With ae and b (3, 2), it is the number of entries.
                std::int64_t n = insn.immediate + (condition >= 6 ? 1 : 0);
                return n > 0 && n <= 65536 ? static_cast<std::uint32_t>(n) : 0;
            }
        }
        return 0;
    }

    std::span<const Instruction> code_;
    std::size_t jump_at_;
    std::size_t load_at_ = 0;
    IndirectJump found_;
};

} // namespace

IndirectJump classify_jump(std::span<const Instruction> code)
{
    return Dispatch(code).classify();
}

} // namespace dt::x86
