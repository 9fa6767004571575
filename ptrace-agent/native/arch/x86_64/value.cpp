// SPDX-License-Identifier: MIT
// Translates values and predicates from DIF to machine code, one instruction at a time.
// DIF branches only go forward, so one pass is enough.
//
// The result of a comparison stays in the processor's flags. A clause is refused if
// another instruction changes the flags before the branch. DIF registers with a known
// value become immediates, up to the next branch target.
#include "ptrace-agent/native/arch/x86_64/routine.hpp"

#include "dif/ops.h"
#include "dif/vars.h"

namespace dt::native::x86 {

using namespace Xbyak::util;

namespace {

constexpr bool fits_32(std::uint64_t value)
{
    auto number = static_cast<std::int64_t>(value);
    return number == static_cast<std::int32_t>(number);
}

constexpr std::uint32_t immediate(std::uint64_t value)
{
    return static_cast<std::uint32_t>(value);
}

bool is_branch(std::uint32_t op)
{
    return op >= DIF_OP_BA && op <= DIF_OP_BLEU;
}

void branch(Assembler& a, std::uint32_t op, const Label& to)
{
    switch (op) {
    case DIF_OP_BA:
        return a.jmp(to);
    case DIF_OP_BE:
        return a.je(to);
    case DIF_OP_BNE:
        return a.jne(to);
    case DIF_OP_BG:
        return a.jg(to);
    case DIF_OP_BGU:
        return a.ja(to);
    case DIF_OP_BGE:
        return a.jge(to);
    case DIF_OP_BGEU:
        return a.jae(to);
    case DIF_OP_BL:
        return a.jl(to);
    case DIF_OP_BLU:
        return a.jb(to);
    case DIF_OP_BLE:
        return a.jle(to);
    default:
        return a.jbe(to);
    }
}

// Returns the branch instruction with the opposite condition.
std::uint32_t opposite(std::uint32_t op)
{
    switch (op) {
    case DIF_OP_BE:
        return DIF_OP_BNE;
    case DIF_OP_BNE:
        return DIF_OP_BE;
    case DIF_OP_BG:
        return DIF_OP_BLE;
    case DIF_OP_BGU:
        return DIF_OP_BLEU;
    case DIF_OP_BGE:
        return DIF_OP_BL;
    case DIF_OP_BGEU:
        return DIF_OP_BLU;
    case DIF_OP_BL:
        return DIF_OP_BGE;
    case DIF_OP_BLU:
        return DIF_OP_BGEU;
    case DIF_OP_BLE:
        return DIF_OP_BG;
    default:
        return DIF_OP_BGU;
    }
}

} // namespace

Reg64 Routine::destination(std::uint32_t reg)
{
    auto known = dif_registers_.find(reg);
    if (known != dif_registers_.end())
        return registers_.use(known->second);
    if (reg == 0 || dif_registers_.size() >= registers_.pool().size()) {
        frame_.fail("it needs more registers than are available");
        return rdx;
    }
    Reg64 given = registers_.pool()[dif_registers_.size()];
    dif_registers_.emplace(reg, given);
    return registers_.use(given);
}

Reg64 Routine::source(std::uint32_t reg)
{
    if (reg != 0)
        return destination(reg);
    a_.mov(ecx, 0); // not xor, which would change the flags
    return rcx;
}

void Routine::load_builtin(Reg64 to, std::uint32_t id)
{
    if (id == DIF_VAR_timestamp) {
        a_.mov(to, r11);
        return;
    }
    if (id == DIF_VAR_pid || id == DIF_VAR_tid) {
        auto member = id == DIF_VAR_pid ? offsetof(dt_rt_thread, pid)
                                        : offsetof(dt_rt_thread, tid);
        a_.mov(to.cvt32(), ptr[thread_ + member]);
        return;
    }
    std::uint32_t n = id - DIF_VAR_arg0;
    if (plan_.arguments == Arguments::of_return) {
        if (n == 0)
            a_.mov(to, ptr[rbx + offsetof(dt_rt_site, arg0)]);
        else if (n == 1)
            a_.mov(to, registers_.saved(0));
        else
            a_.mov(to.cvt32(), 0); // a return probe has only arg0 and arg1
        return;
    }
    if (plan_.arguments == Arguments::of_static)
        return operands_.load_operand(to, n);
    if (auto reg = argument_register(plan_, n))
        return a_.mov(to, *reg);
    if (n == 3)
        return a_.mov(to, registers_.saved(1));
    if (auto before = registers_.saved(rdx))
        return a_.mov(to, *before);
    a_.mov(to, rdx);
}

void Routine::arithmetic(std::uint32_t insn)
{
    std::uint32_t op = DIF_INSTR_OP(insn), r2 = DIF_INSTR_R2(insn);
    Reg64 to = destination(DIF_INSTR_RD(insn));
    bool same = DIF_INSTR_RD(insn) == r2 && DIF_INSTR_R1(insn) != r2;
    auto known = constants_.find(r2);
    bool constant = known != constants_.end() && fits_32(known->second) && !same;
    Reg64 b = rcx;
    if (same) {
        a_.mov(rcx, to); // r2 is in `to`, which is overwritten below
    } else if (!constant && r2 != 0) {
        b = source(r2);
    }
    if (DIF_INSTR_R1(insn) == 0)
        a_.mov(to.cvt32(), 0);
    else if (DIF_INSTR_R1(insn) != DIF_INSTR_RD(insn))
        a_.mov(to, source(DIF_INSTR_R1(insn)));
    if (!same && !constant && r2 == 0)
        a_.mov(ecx, 0);
    std::uint32_t imm = constant ? immediate(known->second) : 0;
    switch (op) {
    case DIF_OP_OR:
        constant ? a_.or_(to, imm) : a_.or_(to, b);
        break;
    case DIF_OP_XOR:
        constant ? a_.xor_(to, imm) : a_.xor_(to, b);
        break;
    case DIF_OP_AND:
        constant ? a_.and_(to, imm) : a_.and_(to, b);
        break;
    case DIF_OP_SUB:
        constant ? a_.sub(to, imm) : a_.sub(to, b);
        break;
    case DIF_OP_ADD:
        constant ? a_.add(to, imm) : a_.add(to, b);
        break;
    default: // MUL
        constant ? a_.imul(to, to, static_cast<int>(imm)) : a_.imul(to, b);
    }
}

// Shifts by a constant, which is how the D compiler implements casts.
void Routine::shift(std::uint32_t insn)
{
    auto known = constants_.find(DIF_INSTR_R2(insn));
    if (known == constants_.end() || known->second > 63)
        return frame_.fail("it shifts by a value that is not a constant from 0 to 63");
    auto n = static_cast<int>(known->second);
    Reg64 to = destination(DIF_INSTR_RD(insn));
    a_.mov(to, source(DIF_INSTR_R1(insn)));
    switch (DIF_INSTR_OP(insn)) {
    case DIF_OP_SLL:
        return a_.shl(to, n);
    case DIF_OP_SRL:
        return a_.shr(to, n);
    default:
        return a_.sar(to, n);
    }
}

// Translates one instruction. Returns whether the flags contain the result of a DIF
// comparison.
bool Routine::insn(const dt_difo& difo, std::uint32_t pc, std::vector<Label>& labels)
{
    const auto* text = static_cast<const dt_u32*>(dt_at(plan_.arena, difo.text));
    const auto* ints = static_cast<const dt_u64*>(dt_at(plan_.arena, difo.ints));
    std::uint32_t insn = text[pc], op = DIF_INSTR_OP(insn), rd = DIF_INSTR_RD(insn);
    if (is_branch(op)) {
        if (op != DIF_OP_BA && !condition_)
            frame_.fail("the flags of a comparison are changed before its branch");
        branch(a_, op, labels[DIF_INSTR_LABEL(insn)]);
        return condition_;
    }
    switch (op) {
    case DIF_OP_CMP:
    case DIF_OP_TST: {
        Reg64 left = source(DIF_INSTR_R1(insn));
        std::uint32_t r2 = op == DIF_OP_TST ? 0 : DIF_INSTR_R2(insn);
        auto known = constants_.find(r2);
        if (r2 == 0)
            a_.test(left, left);
        else if (known != constants_.end() && fits_32(known->second))
            a_.cmp(left, immediate(known->second));
        else
            a_.cmp(left, source(r2));
        return true;
    }
    case DIF_OP_SETX: {
        std::uint64_t value = ints[DIF_INSTR_IDX(insn)];
        a_.mov(destination(rd), value);
        constants_[rd] = value;
        return condition_;
    }
    case DIF_OP_LDGS:
        load_builtin(destination(rd), DIF_INSTR_IDX(insn));
        break;
    case DIF_OP_LDTS:
        a_.mov(destination(rd), variable(DIF_INSTR_IDX(insn)));
        break;
    case DIF_OP_STTS:
        if (rd == 0)
            a_.mov(variable(DIF_INSTR_IDX(insn)), 0);
        else
            a_.mov(variable(DIF_INSTR_IDX(insn)), destination(rd));
        return false;
    case DIF_OP_MOV:
    case DIF_OP_NOT: {
        Reg64 to = destination(rd);
        a_.mov(to, source(DIF_INSTR_R1(insn)));
        if (op == DIF_OP_NOT)
            a_.not_(to);
        break;
    }
    case DIF_OP_SLL:
    case DIF_OP_SRL:
    case DIF_OP_SRA:
        shift(insn);
        constants_.erase(rd);
        return false;
    case DIF_OP_NOP:
        return condition_;
    default:
        arithmetic(insn);
        constants_.erase(rd);
        return false;
    }
    constants_.erase(rd);
    return condition_ && op != DIF_OP_LDTS;
}

Reg64 Routine::text(const Value& value)
{
    const dt_difo& difo = *value.difo;
    const auto* text = static_cast<const dt_u32*>(dt_at(plan_.arena, difo.text));
    std::vector<Label> labels(difo.n_text + 1);
    std::vector<bool> targets(difo.n_text + 1);
    for (std::uint32_t pc = 0; pc < difo.n_text; ++pc)
        if (is_branch(DIF_INSTR_OP(text[pc])))
            targets[DIF_INSTR_LABEL(text[pc])] = true;
    std::optional<Reg64> result;
    Label end;
    constants_.clear();
    dif_registers_.clear();
    condition_ = false;
    for (std::uint32_t pc = 0; pc < difo.n_text; ++pc) {
        if (targets[pc]) {
            a_.L(labels[pc]);
            constants_.clear();
            condition_ = false;
        }
        if (DIF_INSTR_OP(text[pc]) != DIF_OP_RET) {
            condition_ = insn(difo, pc, labels);
            continue;
        }
        Reg64 from = source(DIF_INSTR_RD(text[pc]));
        if (!result)
            result = from.getIdx() == rcx.getIdx() ? registers_.temporary({}) : from;
        if (from.getIdx() != result->getIdx())
            a_.mov(*result, from);
        if (pc + 1 != difo.n_text)
            a_.jmp(end);
    }
    a_.L(end);
    if (!result)
        frame_.fail("it has no value");
    return result.value_or(rdx);
}

Reg64 Routine::value(const Value& value)
{
    const dt_short& brief = *value.brief;
    if (brief.kind == DT_SHORT_VAR && brief.var != DIF_VAR_timestamp)
        if (auto reg = argument_register(plan_, brief.var - DIF_VAR_arg0))
            return *reg;
    if (brief.kind == DT_SHORT_VAR && brief.var == DIF_VAR_timestamp)
        return r11;
    return text(value);
}

void Routine::predicate()
{
    const dt_short& brief = *plan_.predicate.brief;
    if (brief.kind != DT_SHORT_COMPARE || !fits_32(brief.value)) {
        Reg64 truth = value(plan_.predicate);
        a_.test(truth, truth);
        a_.jz(leave_);
        return;
    }
    dif_registers_.clear();
    std::optional<Reg64> left;
    if (brief.var == DIF_VAR_timestamp)
        left = r11;
    else
        left = argument_register(plan_, brief.var - DIF_VAR_arg0);
    if (!left) {
        left = rcx;
        load_builtin(rcx, brief.var);
    }
    a_.cmp(*left, immediate(brief.value));
    branch(a_, opposite(brief.op), leave_);
}

} // namespace dt::native::x86
