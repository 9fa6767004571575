// SPDX-License-Identifier: MIT
#include "libdtrace/compile/generate/register_code.hpp"

#include "dif/ops.h"
#include "dif/subrs.h"
#include "libdtrace/compile/generate/generate.hpp"

#include <utility>

namespace dt {

Register RegisterCode::integer(std::uint64_t value, Place at)
{
    Register out = registers_.take(at);
    code_.set_integer(value, out);
    return out;
}

void RegisterCode::scale(int reg, std::uint64_t by, Place at)
{
    if (by == 1)
        return;
    Register factor = integer(by, at);
    code_.emit(DIF_OP_MUL, reg, factor, reg);
}

void RegisterCode::add_offset(int reg, std::uint64_t by, Place at)
{
    if (by == 0)
        return;
    Register bytes = integer(by, at);
    code_.emit(DIF_OP_ADD, reg, bytes, reg);
}

void RegisterCode::arithmetic(Op op, int left, int right, bool is_signed, Place at)
{
    auto opcode = [&]() -> dif_op {
        switch (op) {
        case Op::Add:
            return DIF_OP_ADD;
        case Op::Sub:
            return DIF_OP_SUB;
        case Op::Mul:
            return DIF_OP_MUL;
        case Op::Div:
            return is_signed ? DIF_OP_SDIV : DIF_OP_UDIV;
        case Op::Mod:
            return is_signed ? DIF_OP_SREM : DIF_OP_UREM;
        case Op::Shl:
            return DIF_OP_SLL;
        case Op::Shr:
            return is_signed ? DIF_OP_SRA : DIF_OP_SRL;
        case Op::And:
            return DIF_OP_AND;
        case Op::Or:
            return DIF_OP_OR;
        case Op::Xor:
            return DIF_OP_XOR;
        default:
            fail(Tag::CG_EXPR, at, "operator has no instruction");
        }
    };
    code_.emit(opcode(), left, right, left);
}

void RegisterCode::extend_from(int reg, unsigned bits, bool is_signed, Place at)
{
    if (bits >= 64)
        return;
    Register count = integer(64 - bits, at);
    code_.emit(DIF_OP_SLL, reg, count, reg);
    code_.emit(is_signed ? DIF_OP_SRA : DIF_OP_SRL, reg, count, reg);
}

void RegisterCode::narrow(int reg, const Type* to, Place at)
{
    const Type* type = to->resolve();
    if (!type->is_integer())
        return;
    if (type->is_bool)
        truth(reg);
    else
        extend_from(reg, static_cast<unsigned>(type->size) * 8, is_signed_integer(type),
                    at);
}

// Sets the register `into` to 1 if the branch `if_true` is taken, else to 0.
Register RegisterCode::truth_by_branch(dif_op if_true, Register into)
{
    Assembler::Label yes = code_.new_label(), end = code_.new_label();
    code_.branch(if_true, yes);
    code_.set_integer(0, into);
    code_.branch(DIF_OP_BA, end);
    code_.place(yes);
    code_.set_integer(1, into);
    code_.place(end);
    return into;
}

// Sets reg to reg != 0.
void RegisterCode::truth(int reg)
{
    Assembler::Label end = code_.new_label();
    code_.emit(DIF_OP_TST, reg);
    code_.branch(DIF_OP_BE, end);
    code_.set_integer(1, reg);
    code_.place(end);
}

// Sets size to min(size, strlen(from) + 1).
void RegisterCode::limit_to_string(int size, int from, Place at)
{
    Register length = registers_.take(at);
    code_.emit(DIF_OP_FLUSHTS);
    code_.emit(DIF_OP_PUSHTR, DIF_TYPE_STRING, DIF_REG_R0, from);
    code_.emit_numbered(DIF_OP_CALL, DIF_SUBR_strlen, length);
    add_offset(length, 1, at);
    Assembler::Label end = code_.new_label();
    code_.emit(DIF_OP_CMP, length, size);
    code_.branch(DIF_OP_BGEU, end);
    code_.emit(DIF_OP_MOV, length, size);
    code_.place(end);
}

} // namespace dt
