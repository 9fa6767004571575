// SPDX-License-Identifier: MIT
// Generates code for comparisons and logical operators. Forward branches produce the
// values 0 and 1.
#include "libdtrace/compile/generate/generate.hpp"

#include "dif/ops.h"

namespace dt {

namespace {

dif_op branch_if(Op op, bool is_signed)
{
    switch (op) {
    case Op::Lt:
        return is_signed ? DIF_OP_BL : DIF_OP_BLU;
    case Op::Le:
        return is_signed ? DIF_OP_BLE : DIF_OP_BLEU;
    case Op::Gt:
        return is_signed ? DIF_OP_BG : DIF_OP_BGU;
    case Op::Ge:
        return is_signed ? DIF_OP_BGE : DIF_OP_BGEU;
    case Op::Eq:
        return DIF_OP_BE;
    default:
        return DIF_OP_BNE;
    }
}

} // namespace

Register ExprGenerator::value_of_comparison(const Node& node)
{
    auto [left, right] = operands(*node.left, *node.right);
    if (node.operand_type != nullptr && node.operand_type->is_float())
        return ops_.float_comparison(node.op, std::move(left), std::move(right),
                                     node.at);
    code_.emit(node.string_compare ? DIF_OP_SCMP : DIF_OP_CMP, left, right);
    right.release();
    // scmp sets the flags from the sign of a difference, so a signed branch must be
    // used.
    bool is_signed = node.string_compare || (node.operand_type != nullptr &&
                                             is_signed_integer(node.operand_type));
    return ops_.truth_by_branch(branch_if(node.op, is_signed), std::move(left));
}

Register ExprGenerator::value_of_not(const Node& node)
{
    Register out = value(*node.left);
    code_.emit(DIF_OP_TST, out);
    return ops_.truth_by_branch(DIF_OP_BE, std::move(out));
}

Register ExprGenerator::value_of_logical(const Node& node)
{
    // If an operand decides the result, its code branches to `decided`.
    bool is_or = node.op == Op::LogOr;
    dif_op decides = is_or ? DIF_OP_BNE : DIF_OP_BE;
    Assembler::Label decided = code_.new_label(), end = code_.new_label();
    {
        Register left = value(*node.left);
        code_.emit(DIF_OP_TST, left);
        code_.branch(decides, decided);
    }
    Register out = value(*node.right);
    code_.emit(DIF_OP_TST, out);
    code_.branch(decides, decided);
    code_.set_integer(is_or ? 0 : 1, out);
    code_.branch(DIF_OP_BA, end);
    code_.place(decided);
    code_.set_integer(is_or ? 1 : 0, out);
    code_.place(end);
    return out;
}

Register ExprGenerator::value_of_logical_xor(const Node& node)
{
    auto [left, right] = operands(*node.left, *node.right);
    ops_.truth(left);
    ops_.truth(right);
    code_.emit(DIF_OP_XOR, left, right, left);
    return std::move(left);
}

Register ExprGenerator::value_of_cond(const Node& node)
{
    Assembler::Label otherwise = code_.new_label(), end = code_.new_label();
    {
        Register condition = value(*node.cond);
        code_.emit(DIF_OP_TST, condition);
        code_.branch(DIF_OP_BE, otherwise);
    }
    int number;
    {
        Register first = value(*node.left);
        number = first;
        code_.branch(DIF_OP_BA, end);
    }
    // If the condition is false, the value of the second alternative is moved to the
    // register that the first alternative uses.
    code_.place(otherwise);
    Register second = value(*node.right);
    if (second != number) {
        code_.emit(DIF_OP_MOV, second, number);
        second = registers_.claim(number);
    }
    code_.place(end);
    return second;
}

} // namespace dt
