// SPDX-License-Identifier: MIT
// Finds the code at the start of a Go function that checks the stack's bound. Go's
// assembler emits it in three forms (cmd/internal/obj/x86, stacksplit()):
//
//   cmp 0x10(%r14), %rsp ; jbe more                                  a small frame
//   lea -N(%rsp), %r12 ; cmp 0x10(%r14), %r12 ; jbe more             a larger frame
//   mov %rsp, %r12 ; sub $N, %r12 ; jb more ; cmp ... ; jbe more     a huge frame
//
// Here %r14 points to g, Go's structure for the current goroutine. Functions that take
// their arguments on the stack load g first: mov %fs:-8, %rcx. The bound is
// g.stackguard0 at 0x10, or g.stackguard1 at 0x18. `more` grows the stack and jumps
// back to the function's first instruction.
#include "fasttrap/arch/x86_64/stack_check.hpp"

#include "fasttrap/arch/x86_64/decode.hpp"

namespace dt::x86 {

namespace {

constexpr std::size_t max_instructions = 10;
constexpr unsigned below = 2, below_or_equal = 6; // conditions of jcc

bool reads_rsp(const Instruction& insn)
{
    return (insn.reads >> static_cast<unsigned>(Reg::rsp) & 1) != 0;
}

// Returns whether insn compares the stack pointer, or a copy of it, with a word of g.
bool compares_with_guard(const Instruction& insn, Reg copy)
{
    if (operation_of(insn) != Op::cmp || !insn.has_memory || insn.rip_relative ||
        insn.memory.index != Reg::none || insn.memory.base == Reg::rsp ||
        (insn.memory.disp != 0x10 && insn.memory.disp != 0x18))
        return false;
    const Operand& compared = insn.operands[0];
    return compared.kind == Operand::reg && compared.size == 8 &&
           (compared.number == Reg::rsp || compared.number == copy);
}

// Returns whether insn may precede the comparison. Such an instruction changes no
// register that carries an argument. Sets `copy` if insn copies the stack pointer.
bool prepares(const Instruction& insn, Reg& copy)
{
    const Op op = operation_of(insn);
    if (insn.flow != ControlFlow::next || insn.n_operands == 0)
        return op == Op::nop;
    const Operand& to = insn.operands[0];
    if (to.kind != Operand::reg || to.number == Reg::rsp)
        return op == Op::nop;
    if (op == Op::mov && insn.has_memory)
        return insn.memory.segment == Segment::fs || insn.memory.disp == 0;
    if ((op == Op::lea || op == Op::mov) && reads_rsp(insn)) {
        copy = to.number;
        return true;
    }
    return op == Op::sub && to.number == copy && insn.operands[1].kind == Operand::imm;
}

} // namespace

std::size_t stack_check_bytes(std::span<const std::byte> text, TargetAddr at)
{
    std::size_t offset = 0;
    Reg copy = Reg::none;
    bool compared = false;
    for (std::size_t n = 0; n < max_instructions && offset < text.size(); ++n) {
        auto insn = decode(text.subspan(offset), at + offset);
        if (!insn)
            return 0;
        offset += insn->length;
        if (operation_of(*insn) == Op::jcc) {
            // The branch must lead to `more`, which is later in the same function.
            if (insn->target - at >= text.size() || insn->target - at < offset)
                return 0;
            if (compared)
                return insn->condition == below_or_equal ? offset : 0;
            if (insn->condition != below || copy == Reg::none)
                return 0;
        } else if (compared) {
            return 0;
        } else if (compares_with_guard(*insn, copy)) {
            compared = true;
        } else if (!prepares(*insn, copy)) {
            return 0;
        }
    }
    return 0;
}

} // namespace dt::x86
