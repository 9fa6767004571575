// SPDX-License-Identifier: MIT
// Integer constant expressions in declarations (see parser.hpp): sizes of arrays,
// widths of bit-fields, and enumerators. In D, the arithmetic is signed, has 64 bits
// and wraps around. In a C header, it follows C's usual arithmetic conversions.
#include "libdtrace/compile/parse/parser.hpp"
#include "libdtrace/compile/types/constants.hpp"

namespace dt {

namespace {

std::optional<std::int64_t> divide(Op op, std::int64_t a, std::int64_t b,
                                   bool is_unsigned)
{
    if (b == 0)
        return std::nullopt;
    if (is_unsigned) {
        auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
        return static_cast<std::int64_t>(op == Op::Div ? ua / ub : ua % ub);
    }
    if (b == -1)
        return op == Op::Div ? static_cast<std::int64_t>(-static_cast<std::uint64_t>(a))
                             : 0;
    return op == Op::Div ? a / b : a % b;
}

std::optional<std::int64_t> shift(Op op, std::int64_t a, std::int64_t b,
                                  bool is_unsigned)
{
    if (b < 0 || b > 63)
        return std::nullopt;
    auto ua = static_cast<std::uint64_t>(a);
    if (op == Op::Shl)
        return static_cast<std::int64_t>(ua << b);
    return is_unsigned ? static_cast<std::int64_t>(ua >> b) : a >> b;
}

bool less(std::int64_t a, std::int64_t b, bool is_unsigned)
{
    if (is_unsigned)
        return static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b);
    return a < b;
}

// Converts a value to an integer type. Truncates it to the type's width, then extends
// it. A value of type bool becomes 0 or 1.
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

std::int64_t narrow(std::int64_t value, int bits, bool is_unsigned)
{
    Type type;
    type.size = static_cast<std::uint64_t>(bits) / 8;
    type.is_signed = !is_unsigned;
    return narrow(value, type);
}

bool is_comparison(Op op)
{
    return op == Op::Lt || op == Op::Le || op == Op::Gt || op == Op::Ge ||
           op == Op::Eq || op == Op::Ne || op == Op::LogAnd || op == Op::LogOr ||
           op == Op::LogXor;
}

std::optional<std::int64_t> calculate(Op op, std::int64_t a, std::int64_t b,
                                      bool is_unsigned)
{
    auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
    switch (op) {
    case Op::Add:
        return static_cast<std::int64_t>(ua + ub);
    case Op::Sub:
        return static_cast<std::int64_t>(ua - ub);
    case Op::Mul:
        return static_cast<std::int64_t>(ua * ub);
    case Op::Div:
    case Op::Mod:
        return divide(op, a, b, is_unsigned);
    case Op::Shl:
    case Op::Shr:
        return shift(op, a, b, is_unsigned);
    case Op::And:
        return a & b;
    case Op::Or:
        return a | b;
    case Op::Xor:
        return a ^ b;
    case Op::Lt:
        return less(a, b, is_unsigned);
    case Op::Le:
        return !less(b, a, is_unsigned);
    case Op::Gt:
        return less(b, a, is_unsigned);
    case Op::Ge:
        return !less(a, b, is_unsigned);
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

} // namespace

std::optional<std::int64_t> Parser::constant_expression()
{
    NodePtr node = conditional();
    auto found = evaluate(*node);
    return found ? std::optional(found->value) : std::nullopt;
}

std::optional<Parser::Constant> Parser::evaluate_name(const Node& node) const
{
    const std::string& name = node.text;
    if (auto found = enumerators_.find(name); found != enumerators_.end())
        return found->second;
    const Type* in = nullptr;
    if (const Enumerator* found = context_.types.find_enumerator(name, in)) {
        bool is_large = found->value < 0 && !in->is_signed;
        bool is_int =
            !is_large && found->value >= INT32_MIN && found->value <= INT32_MAX;
        return Constant{found->value, !is_int && !in->is_signed,
                        is_int && node.at.c_header ? 32 : 64};
    }
    const auto& inlines = context_.symbols.inline_values;
    if (auto found = inlines.find(name); found != inlines.end())
        return Constant{found->second};
    if (const std::int64_t* constant = find_constant(name))
        return Constant{*constant};
    return std::nullopt;
}

std::optional<Parser::Constant> Parser::evaluate(const Node& node) const
{
    const bool is_c = node.at.c_header;
    // Returns a constant of this integer type, after C's integer promotions. The type
    // is ignored outside C headers.
    auto typed = [is_c](std::int64_t value, const Type* type) -> Constant {
        if (!is_c || type == nullptr)
            return {value};
        bool is_small = type->resolve()->size < 4;
        return {value, !is_small && !type->resolve()->is_signed,
                is_small ? 32 : static_cast<int>(type->resolve()->size) * 8};
    };
    auto size_of = [is_c](const Type* type) -> std::optional<Constant> {
        const Type* real = type == nullptr ? nullptr : type->resolve();
        if (real == nullptr || !real->complete || (real->size == 0 && !is_c))
            return std::nullopt;
        return Constant{static_cast<std::int64_t>(real->size), is_c};
    };
    switch (node.kind) {
    case NodeKind::Integer:
        return typed(static_cast<std::int64_t>(node.value), node.type);
    case NodeKind::Ident:
        if (node.scope != Scope::Global)
            return std::nullopt;
        return evaluate_name(node);
    case NodeKind::SizeofType:
        return size_of(node.decl_type);
    case NodeKind::SizeofExpr:
        return is_c ? size_of(expression_type(*node.left)) : std::nullopt;
    case NodeKind::Offsetof: {
        Member member;
        if (!node.decl_type->find_member(node.text, member) ||
            member.bitfield_bits != 0)
            return std::nullopt;
        return Constant{static_cast<std::int64_t>(member.offset_bits / 8), is_c};
    }
    case NodeKind::Cast: {
        auto value = evaluate(*node.left);
        if (!value || !node.decl_type->is_integer())
            return std::nullopt;
        const Type* type = node.decl_type->resolve();
        return typed(narrow(value->value, *type), type);
    }
    case NodeKind::Cond: {
        auto condition = evaluate(*node.cond);
        if (!condition)
            return std::nullopt;
        return evaluate(condition->value != 0 ? *node.left : *node.right);
    }
    case NodeKind::Unary:
        return evaluate_unary(node);
    case NodeKind::Binary:
        return evaluate_binary(node);
    default:
        return std::nullopt;
    }
}

std::optional<Parser::Constant> Parser::evaluate_unary(const Node& node) const
{
    auto found = evaluate(*node.left);
    if (!found)
        return std::nullopt;
    Constant result = *found;
    switch (node.op) {
    case Op::Plus:
        return result;
    case Op::Neg:
        result.value =
            static_cast<std::int64_t>(-static_cast<std::uint64_t>(result.value));
        break;
    case Op::BitNot:
        result.value = ~result.value;
        break;
    case Op::Not:
        return Constant{result.value == 0, false, node.at.c_header ? 32 : 64};
    default:
        return std::nullopt;
    }
    result.value = narrow(result.value, result.bits, result.is_unsigned);
    return result;
}

// Evaluates a binary operator after C's usual arithmetic conversions, which have no
// effect in D.
std::optional<Parser::Constant> Parser::evaluate_binary(const Node& node) const
{
    auto left = evaluate(*node.left), right = evaluate(*node.right);
    if (!left || !right)
        return std::nullopt;
    Constant a = *left, b = *right, result = a;
    bool is_shift = node.op == Op::Shl || node.op == Op::Shr;
    if (!is_shift && b.bits > a.bits)
        result = b;
    else if (!is_shift && b.bits == a.bits)
        result.is_unsigned = a.is_unsigned || b.is_unsigned;
    auto as_common = [&](std::int64_t value) {
        return narrow(value, result.bits, result.is_unsigned);
    };
    auto value = calculate(node.op, as_common(a.value),
                           is_shift ? b.value : as_common(b.value), result.is_unsigned);
    if (!value)
        return std::nullopt;
    if (is_comparison(node.op))
        return Constant{*value, false, node.at.c_header ? 32 : 64};
    result.value = as_common(*value);
    return result;
}

} // namespace dt
