// SPDX-License-Identifier: MIT
// See parser.hpp: integral constant expressions in declarations (array sizes, bit-field
// widths, enumerators), where types are not checked yet. Arithmetic is 64-bit and wraps.
#include "libdtrace/compile/constants.hpp"
#include "libdtrace/compile/parser.hpp"

namespace dt {

namespace {

std::optional<std::int64_t> divide(Op op, std::int64_t a, std::int64_t b)
{
    if (b == 0)
        return std::nullopt;
    if (b == -1)
        return op == Op::Div ? static_cast<std::int64_t>(-static_cast<std::uint64_t>(a))
                             : 0;
    return op == Op::Div ? a / b : a % b;
}

std::optional<std::int64_t> shift(Op op, std::int64_t a, std::int64_t b)
{
    if (b < 0 || b > 63)
        return std::nullopt;
    if (op == Op::Shr)
        return a >> b;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
}

// Cuts a value to an integer type's width.
std::int64_t narrow(std::int64_t value, const Type& type)
{
    if (type.is_bool)
        return value != 0;
    if (type.size == 0 || type.size >= 8)
        return value;
    unsigned unused = 64 - static_cast<unsigned>(type.size) * 8;
    std::uint64_t high = static_cast<std::uint64_t>(value) << unused;
    if (type.is_signed)
        return static_cast<std::int64_t>(high) >> unused;
    return static_cast<std::int64_t>(high >> unused);
}

} // namespace

std::optional<std::int64_t> Parser::constant_expression()
{
    NodePtr node = conditional();
    return evaluate(*node);
}

std::optional<std::int64_t> Parser::evaluate_name(const std::string& name) const
{
    if (auto found = enumerators_.find(name); found != enumerators_.end())
        return found->second;
    const Type* in = nullptr;
    if (const Enumerator* found = context_.types.find_enumerator(name, in))
        return found->value;
    const auto& inlines = context_.symbols.inline_values;
    if (auto found = inlines.find(name); found != inlines.end())
        return found->second;
    if (const std::int64_t* constant = find_constant(name))
        return *constant;
    return std::nullopt;
}

std::optional<std::int64_t> Parser::evaluate(const Node& node) const
{
    switch (node.kind) {
    case NodeKind::Integer:
        return static_cast<std::int64_t>(node.value);
    case NodeKind::Ident:
        if (node.scope != Scope::Global)
            return std::nullopt;
        return evaluate_name(node.text);
    case NodeKind::SizeofType: {
        const Type* type = node.decl_type->resolve();
        if (!type->complete || type->size == 0)
            return std::nullopt;
        return static_cast<std::int64_t>(type->size);
    }
    case NodeKind::Offsetof: {
        Member member;
        if (!node.decl_type->find_member(node.text, member) ||
            member.bitfield_bits != 0)
            return std::nullopt;
        return static_cast<std::int64_t>(member.offset_bits / 8);
    }
    case NodeKind::Cast: {
        auto value = evaluate(*node.left);
        if (!value || !node.decl_type->is_integer())
            return std::nullopt;
        return narrow(*value, *node.decl_type->resolve());
    }
    case NodeKind::Cond: {
        auto condition = evaluate(*node.cond);
        if (!condition)
            return std::nullopt;
        return evaluate(*condition != 0 ? *node.left : *node.right);
    }
    case NodeKind::Unary: {
        auto value = evaluate(*node.left);
        if (!value)
            return std::nullopt;
        switch (node.op) {
        case Op::Plus:
            return value;
        case Op::Neg:
            return static_cast<std::int64_t>(-static_cast<std::uint64_t>(*value));
        case Op::BitNot:
            return ~*value;
        case Op::Not:
            return *value == 0;
        default:
            return std::nullopt;
        }
    }
    case NodeKind::Binary:
        return evaluate_binary(node);
    default:
        return std::nullopt;
    }
}

std::optional<std::int64_t> Parser::evaluate_binary(const Node& node) const
{
    auto left = evaluate(*node.left), right = evaluate(*node.right);
    if (!left || !right)
        return std::nullopt;
    std::int64_t a = *left, b = *right;
    auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
    switch (node.op) {
    case Op::Add:
        return static_cast<std::int64_t>(ua + ub);
    case Op::Sub:
        return static_cast<std::int64_t>(ua - ub);
    case Op::Mul:
        return static_cast<std::int64_t>(ua * ub);
    case Op::Div:
    case Op::Mod:
        return divide(node.op, a, b);
    case Op::Shl:
    case Op::Shr:
        return shift(node.op, a, b);
    case Op::And:
        return a & b;
    case Op::Or:
        return a | b;
    case Op::Xor:
        return a ^ b;
    case Op::Lt:
        return a < b;
    case Op::Le:
        return a <= b;
    case Op::Gt:
        return a > b;
    case Op::Ge:
        return a >= b;
    case Op::Eq:
        return a == b;
    case Op::Ne:
        return a != b;
    case Op::LogAnd:
        return a != 0 && b != 0;
    case Op::LogOr:
        return a != 0 || b != 0;
    case Op::LogXor:
        return (a != 0) != (b != 0);
    default:
        return std::nullopt;
    }
}

} // namespace dt
