// SPDX-License-Identifier: MIT
// Floating point. Expressions of type float and double are computed as doubles.
//
// The checker converts operands to double, so the generator always gets two operands of
// the same type. Values of type float exist only in memory and in variables. A long
// double can only be printed, with printf().
#include "libdtrace/compile/check/check_internal.hpp"

#include "dif/float.h"
#include "dif/ops.h"
#include "libdtrace/compile/check/fold.hpp"

#include <bit>

namespace dt {

static std::uint64_t truncated(double value, bool is_signed)
{
    return dt_flop(is_signed ? DIF_OP_FDTOI : DIF_OP_FDTOU,
                   std::bit_cast<std::uint64_t>(value), 0);
}

NodePtr make_double(double value, const Type* type, Place at)
{
    auto node = std::make_unique<Node>();
    node->kind = NodeKind::Float;
    node->float_value =
        type->resolve()->size == sizeof(float) ? static_cast<float>(value) : value;
    node->type = type;
    node->at = at;
    return node;
}

bool Checker::any_float(const Node& left, const Node& right)
{
    return (left.type->is_float() && right.type->is_arithmetic()) ||
           (right.type->is_float() && left.type->is_arithmetic());
}

void Checker::to_double(NodePtr& slot, std::string_view operation)
{
    const Type* type = slot->type->resolve();
    if (type->is_float() && type->size > sizeof(double))
        fail(Tag::OP_ARITH, slot->at,
             std::string(operation) +
                 " cannot be applied to long double values: printf( ) can print them, "
                 "but D's arithmetic is limited to double");
    const Type* wanted = types_.lookup("double");
    if (type != wanted->resolve())
        cast_to(slot, wanted);
}

// Replaces a floating-point condition with a comparison of its value with 0.
void Checker::to_truth(NodePtr& slot, std::string_view operation)
{
    if (!slot->type->is_float())
        return;
    const Place at = slot->at;
    to_double(slot, operation);
    auto test = std::make_unique<Node>();
    test->kind = NodeKind::Binary;
    test->op = Op::Ne;
    test->at = at;
    test->left = std::move(slot);
    test->right = make_double(0, test->left->type, at);
    slot = std::move(test);
    float_binary(slot, "operator !=");
}

static std::optional<double> computed(Op op, double a, double b)
{
    // clang-format off
    switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return a / b;
    default: return std::nullopt;
    }
    // clang-format on
}

static bool compared(Op op, double a, double b)
{
    // clang-format off
    switch (op) {
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    case Op::Eq: return a == b;
    default: return a != b;
    }
    // clang-format on
}

// Checks +, -, *, / and comparisons that have at least one floating-point operand.
void Checker::float_binary(NodePtr& slot, std::string_view operation)
{
    Node& node = *slot;
    to_double(node.left, operation);
    to_double(node.right, operation);
    bool compares = node.op >= Op::Lt && node.op <= Op::Ne;
    node.operand_type = node.left->type;
    node.type = compares ? types_.int_type() : node.operand_type;
    if (node.left->kind != NodeKind::Float || node.right->kind != NodeKind::Float)
        return;
    double a = node.left->float_value, b = node.right->float_value;
    if (compares)
        slot = make_integer(compared(node.op, a, b), node.type, node.at);
    else if (auto value = computed(node.op, a, b))
        slot = make_double(*value, node.type, node.at);
}

void Checker::float_negation(NodePtr& slot)
{
    Node& node = *slot;
    to_double(node.left, "operator -");
    node.type = node.operand_type = node.left->type;
    if (node.left->kind == NodeKind::Float)
        slot = make_double(-node.left->float_value, node.type, node.at);
}

// Checks a cast from or to a floating-point type. Both types are arithmetic.
void Checker::float_cast(NodePtr& slot, const Type* type)
{
    const Type* to = type->resolve();
    const Type* from = slot->type->resolve();
    const Place at = slot->at;
    for (const Type* one : {to, from})
        if (one->is_float() && one->size > sizeof(double))
            fail(Tag::CAST_INVAL, at,
                 "cannot cast " + quoted(slot->type) + " to " + quoted(type) +
                     ": D's arithmetic is limited to double");
    if (to->is_bool) {
        to_truth(slot, "a cast");
        slot->type = type;
        return;
    }
    bool is_constant = slot->kind == NodeKind::Float || slot->is_constant;
    double value = slot->kind == NodeKind::Float ? slot->float_value
                   : from->is_signed
                       ? static_cast<double>(static_cast<std::int64_t>(slot->value))
                       : static_cast<double>(slot->value);
    if (is_constant && to->is_float()) {
        slot = make_double(value, type, at);
        return;
    }
    if (is_constant) {
        std::uint64_t bits = truncated(value, to->is_signed || to->size < 8);
        slot = make_integer(narrow(bits, to->size, to->is_signed), type, at);
        return;
    }
    auto node = std::make_unique<Node>();
    node->kind = NodeKind::Cast;
    node->at = at;
    node->decl_type = node->type = type;
    node->left = std::move(slot);
    slot = std::move(node);
}

} // namespace dt
