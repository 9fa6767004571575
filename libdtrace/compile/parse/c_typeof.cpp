// SPDX-License-Identifier: MIT
// Parses __typeof__ and _Alignof (see parser.hpp). Expressions are supported only if
// their types are known before the checker runs: members, casts, names of functions and
// variables, and arithmetic.
#include "libdtrace/compile/parse/parser.hpp"

namespace dt {

namespace {

bool is_truth(Op op)
{
    switch (op) {
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Eq:
    case Op::Ne:
    case Op::LogAnd:
    case Op::LogOr:
    case Op::LogXor:
    case Op::Not:
        return true;
    default:
        return false;
    }
}

const Type* pointed_to(const Type* type)
{
    const Type* real = type == nullptr ? nullptr : type->resolve();
    bool leads_on = real != nullptr &&
                    (real->kind == TypeKind::Pointer || real->kind == TypeKind::Array);
    return leads_on ? real->base : nullptr;
}

// Returns the type that C's usual arithmetic conversions yield for types that are not
// wider than long.
const Type* common_type(const Type* left, const Type* right, const TypeTable& types)
{
    if (left == nullptr || right == nullptr)
        return nullptr;
    const Type *a = left->resolve(), *b = right->resolve();
    if (!a->is_arithmetic())
        return left;
    if (!b->is_arithmetic())
        return right;
    if (a->is_float() != b->is_float())
        return a->is_float() ? left : right;
    if (a->is_integer() && a->size < 4 && b->size < 4)
        return types.int_type();
    if (a->size != b->size)
        return a->size > b->size ? left : right;
    return a->is_signed ? right : left;
}

} // namespace

// Returns the type of an expression, or null if it is not known.
const Type* Parser::expression_type(const Node& node) const
{
    TypeTable& types = context_.types;
    switch (node.kind) {
    case NodeKind::Integer:
    case NodeKind::Float:
        return node.type;
    case NodeKind::String:
        return types.array_of(types.lookup("char"), node.text.size() + 1);
    case NodeKind::Cast:
        return node.decl_type;
    case NodeKind::SizeofType:
    case NodeKind::SizeofExpr:
    case NodeKind::Offsetof:
        return types.lookup("unsigned long");
    case NodeKind::Ident: {
        if (auto found = c_objects_.find(node.text); found != c_objects_.end())
            return found->second;
        return evaluate(node) ? types.int_type() : nullptr;
    }
    case NodeKind::Call: {
        auto found = c_objects_.find(node.text);
        const Type* real =
            found == c_objects_.end() ? nullptr : found->second->resolve();
        return real != nullptr && real->kind == TypeKind::Function ? real->base
                                                                   : nullptr;
    }
    case NodeKind::Member:
    case NodeKind::Arrow: {
        const Type* whole = expression_type(*node.left);
        if (node.kind == NodeKind::Arrow)
            whole = pointed_to(whole);
        Member member;
        bool found = whole != nullptr && whole->is_struct_or_union() &&
                     whole->resolve()->find_member(node.text, member);
        return found ? member.type : nullptr;
    }
    case NodeKind::Index:
        return pointed_to(expression_type(*node.left));
    case NodeKind::Cond:
        return common_type(expression_type(*node.left), expression_type(*node.right),
                           types);
    case NodeKind::Unary: {
        if (is_truth(node.op))
            return types.int_type();
        const Type* operand = expression_type(*node.left);
        if (operand == nullptr)
            return nullptr;
        if (node.op == Op::Deref)
            return pointed_to(operand);
        if (node.op == Op::AddrOf)
            return types.pointer_to(operand);
        return common_type(operand, types.int_type(), types);
    }
    case NodeKind::Binary:
        if (is_truth(node.op))
            return types.int_type();
        if (node.op == Op::Comma)
            return expression_type(*node.right);
        if (node.op == Op::Shl || node.op == Op::Shr)
            return common_type(expression_type(*node.left), types.int_type(), types);
        return common_type(expression_type(*node.left), expression_type(*node.right),
                           types);
    default:
        return nullptr;
    }
}

// Reads the operand of __typeof__: (type) or (expression).
const Type* Parser::typeof_operand()
{
    Depth depth(*this);
    advance();
    expect(Tok::LParen);
    const Type* type = nullptr;
    Place place = token_.at;
    if (starts_type(token_))
        type = type_name();
    else
        type = expression_type(*expression());
    if (type == nullptr)
        fail(Tag::TYPE_ERR, place, "cannot determine the type of the expression");
    expect(Tok::RParen);
    return type;
}

// Reads _Alignof (type) or __alignof__ (expression), which yields an integer.
NodePtr Parser::align_of()
{
    Place place = token_.at;
    advance();
    const Type* type = nullptr;
    if (at(Tok::LParen) && starts_type(peek())) {
        advance();
        type = type_name();
        expect(Tok::RParen);
    } else {
        type = expression_type(*unary());
    }
    if (type == nullptr)
        fail(Tag::TYPE_ERR, place, "cannot determine the type of the expression");
    NodePtr node = make(NodeKind::Integer, place);
    node->value = type->alignment();
    node->type = context_.types.lookup("unsigned long");
    node->text = std::to_string(node->value);
    return node;
}

} // namespace dt
