// SPDX-License-Identifier: MIT
// Emits instructions for floating-point operators and conversions. A register contains
// the bits of a double, or the bits of a float in its lower half. The checker has
// converted the operands of operators to doubles.
#include "libdtrace/compile/generate/register_code.hpp"

#include "dif/ops.h"
#include "libdtrace/compile/generate/generate.hpp"

#include <cstring>

namespace dt {

static bool is_single(const Type* type)
{
    return type != nullptr && type->is_float() &&
           type->resolve()->size == sizeof(float);
}

std::uint64_t float_bits(double value, const Type* type)
{
    std::uint64_t bits = 0;
    if (is_single(type)) {
        auto single = static_cast<float>(value);
        std::memcpy(&bits, &single, sizeof single);
    } else {
        std::memcpy(&bits, &value, sizeof value);
    }
    return bits;
}

void RegisterCode::to_double(int reg, const Type* from)
{
    if (is_single(from))
        code_.emit(DIF_OP_FSTOD, reg, reg);
    else if (!from->is_float())
        code_.emit(is_signed_integer(from) ? DIF_OP_FITOD : DIF_OP_FUTOD, reg, reg);
}

void RegisterCode::from_double(int reg, const Type* to, Place at)
{
    if (is_single(to)) {
        code_.emit(DIF_OP_FDTOS, reg, reg);
    } else if (!to->is_float()) {
        bool whole = to->resolve()->size == 8 && !is_signed_integer(to);
        code_.emit(whole ? DIF_OP_FDTOU : DIF_OP_FDTOI, reg, reg);
        narrow(reg, to, at);
    }
}

void RegisterCode::float_arithmetic(Op op, int left, int right, Place at)
{
    auto opcode = [&]() -> dif_op {
        switch (op) {
        case Op::Add:
            return DIF_OP_FADD;
        case Op::Sub:
            return DIF_OP_FSUB;
        case Op::Mul:
            return DIF_OP_FMUL;
        case Op::Div:
            return DIF_OP_FDIV;
        default:
            fail(Tag::CG_EXPR, at, "operator has no floating-point instruction");
        }
    };
    code_.emit(opcode(), left, right, left);
}

Register RegisterCode::float_comparison(Op op, Register left, Register right, Place at)
{
    bool swapped = op == Op::Gt || op == Op::Ge;
    dif_op opcode = op == Op::Lt || op == Op::Gt   ? DIF_OP_FLT
                    : op == Op::Le || op == Op::Ge ? DIF_OP_FLE
                                                   : DIF_OP_FEQ;
    code_.emit(opcode, swapped ? right : left, swapped ? left : right, left);
    right.release();
    if (op == Op::Ne) {
        Register one = integer(1, at);
        code_.emit(DIF_OP_XOR, left, one, left);
    }
    return left;
}

void RegisterCode::negate_float(int reg, Place at)
{
    Register sign = integer(std::uint64_t{1} << 63, at);
    code_.emit(DIF_OP_XOR, reg, sign, reg);
}

void RegisterCode::modify_float(Op op, int value, int right, const Node& lvalue)
{
    to_double(value, lvalue.type);
    float_arithmetic(op, value, right, lvalue.at);
    from_double(value, lvalue.type, lvalue.at);
}

} // namespace dt
