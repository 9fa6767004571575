// SPDX-License-Identifier: MIT
// Expressions (see parser.hpp). A table contains the precedence of operators. The
// grammar is that of C, plus D's ^^, stringof, xlate, aggregations, self-> and this->.
#include "libdtrace/compile/parse/parser.hpp"

#include <algorithm>

namespace dt {

namespace {

// clang-format off
#define D_BINARY_OPERATORS(X) /* X(token, op, precedence), all left-associative */ \
    X(OrOr, LogOr, 1) X(XorXor, LogXor, 2) X(AndAnd, LogAnd, 3) X(Or, Or, 4) \
    X(Xor, Xor, 5) X(And, And, 6) X(EqEq, Eq, 7) X(NotEq, Ne, 7) X(Lt, Lt, 8) \
    X(Le, Le, 8) X(Gt, Gt, 8) X(Ge, Ge, 8) X(Shl, Shl, 9) X(Shr, Shr, 9) \
    X(Plus, Add, 10) X(Minus, Sub, 10) X(Star, Mul, 11) X(Slash, Div, 11) \
    X(Percent, Mod, 11)

#define D_ASSIGNMENT_OPERATORS(X) /* X(token, op) */ \
    X(Assign, None) X(AddAssign, Add) X(SubAssign, Sub) X(MulAssign, Mul) \
    X(DivAssign, Div) X(ModAssign, Mod) X(AndAssign, And) X(OrAssign, Or) \
    X(XorAssign, Xor) X(ShlAssign, Shl) X(ShrAssign, Shr)

#define D_UNARY_OPERATORS(X) /* X(token, op) */ \
    X(And, AddrOf) X(Star, Deref) X(Plus, Plus) X(Minus, Neg) X(Tilde, BitNot) X(Bang, Not)
// clang-format on

struct Binary {
    Op op = Op::None;
    int precedence = 0; // 0 if not a binary operator
};

Binary binary_operator(Tok kind)
{
    switch (kind) {
#define X(token, op, precedence)                                                       \
    case Tok::token:                                                                   \
        return {Op::op, precedence};
        D_BINARY_OPERATORS(X)
#undef X
    default:
        return {};
    }
}

bool assignment_operator(Tok kind, Op& found)
{
    switch (kind) {
#define X(token, op)                                                                   \
    case Tok::token:                                                                   \
        found = Op::op;                                                                \
        return true;
        D_ASSIGNMENT_OPERATORS(X)
#undef X
    default:
        return false;
    }
}

bool unary_operator(Tok kind, Op& found)
{
    switch (kind) {
#define X(token, op)                                                                   \
    case Tok::token:                                                                   \
        found = Op::op;                                                                \
        return true;
        D_UNARY_OPERATORS(X)
#undef X
    default:
        return false;
    }
}

} // namespace

NodePtr Parser::make(NodeKind kind, Place place) const
{
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->at = place;
    return node;
}

// Sets the height of a node's subtree, and refuses the node if the height exceeds the
// limit. Called for each node after its children have been added.
NodePtr Parser::fit(NodePtr node) const
{
    std::uint32_t highest = 0;
    for (const NodePtr* child : {&node->left, &node->right, &node->cond})
        if (*child)
            highest = std::max(highest, (*child)->height);
    for (const NodePtr& argument : node->args)
        highest = std::max(highest, argument->height);
    node->height = highest + 1;
    if (node->height > static_cast<std::uint32_t>(max_depth))
        fail(Tag::SYNTAX, node->at,
             "expression nested too deeply: more than " + std::to_string(max_depth) +
                 " levels");
    return node;
}

NodePtr Parser::unary_node(Op op, Place place, NodePtr operand) const
{
    NodePtr node = make(NodeKind::Unary, place);
    node->op = op;
    node->left = std::move(operand);
    return fit(std::move(node));
}

NodePtr Parser::expression()
{
    NodePtr left = assignment();
    while (at(Tok::Comma)) {
        NodePtr node = make(NodeKind::Binary, token_.at);
        node->op = Op::Comma;
        advance();
        node->left = std::move(left);
        node->right = assignment();
        left = fit(std::move(node));
    }
    return left;
}

NodePtr Parser::assignment()
{
    Depth depth(*this);
    NodePtr left = conditional();
    Op op = Op::None;
    if (!assignment_operator(token_.kind, op))
        return left;
    NodePtr node = make(NodeKind::Assign, token_.at);
    node->op = op;
    advance();
    node->left = std::move(left);
    node->right = assignment();
    return fit(std::move(node));
}

NodePtr Parser::conditional()
{
    NodePtr condition = binary(1);
    if (!at(Tok::Question))
        return condition;
    Depth depth(*this);
    NodePtr node = make(NodeKind::Cond, token_.at);
    advance();
    node->cond = std::move(condition);
    node->left = expression();
    expect(Tok::Colon);
    node->right = conditional();
    return fit(std::move(node));
}

// Parses binary operators that have at least this precedence.
NodePtr Parser::binary(int lowest)
{
    NodePtr left = unary();
    for (;;) {
        Binary found = binary_operator(token_.kind);
        if (found.precedence < lowest || found.precedence == 0)
            return left;
        NodePtr node = make(NodeKind::Binary, token_.at);
        node->op = found.op;
        advance();
        node->left = std::move(left);
        node->right = binary(found.precedence + 1);
        left = fit(std::move(node));
    }
}

NodePtr Parser::unary()
{
    Depth depth(*this);
    Place place = token_.at;
    Op op = Op::None;
    if (at(Tok::PlusPlus) || at(Tok::MinusMinus)) {
        NodePtr node = make(NodeKind::PreInc, place);
        node->op = at(Tok::PlusPlus) ? Op::Inc : Op::Dec;
        advance();
        node->left = unary();
        return fit(std::move(node));
    }
    if (unary_operator(token_.kind, op)) {
        advance();
        return unary_node(op, place, unary());
    }
    if (at(Key::Sizeof))
        return size_of();
    if (at(Key::Stringof))
        return string_of();
    if (at(CWord::Alignof))
        return align_of();
    if (at(CWord::Extension)) {
        advance();
        return unary();
    }
    if (at(Tok::LParen) && starts_type(peek()))
        return cast_or_parenthesis();
    return postfix();
}

NodePtr Parser::cast_or_parenthesis()
{
    NodePtr node = make(NodeKind::Cast, token_.at);
    advance();
    node->decl_type = type_name();
    expect(Tok::RParen);
    node->left = unary();
    return fit(std::move(node));
}

NodePtr Parser::size_of()
{
    Place place = token_.at;
    advance();
    if (at(Tok::LParen) && (starts_type(peek()) ||
                            kernel_typedef(peek().raw, TypePlace::Sizeof) != nullptr)) {
        NodePtr node = make(NodeKind::SizeofType, place);
        advance();
        node->decl_type = type_name();
        expect(Tok::RParen);
        return node;
    }
    NodePtr node = make(NodeKind::SizeofExpr, place);
    node->left = unary();
    return fit(std::move(node));
}

NodePtr Parser::string_of()
{
    NodePtr node = make(NodeKind::Stringof, token_.at);
    advance();
    node->left = unary();
    return fit(std::move(node));
}

NodePtr Parser::offset_of()
{
    NodePtr node = make(NodeKind::Offsetof, token_.at);
    advance();
    expect(Tok::LParen);
    node->decl_type = type_name();
    expect(Tok::Comma);
    node->text = take_name();
    expect(Tok::RParen);
    return node;
}

// Parses xlate <type> (expr).
NodePtr Parser::translate()
{
    NodePtr node = make(NodeKind::Xlate, token_.at);
    advance();
    expect(Tok::Lt);
    node->decl_type = type_name();
    expect(Tok::Gt);
    expect(Tok::LParen);
    node->left = expression();
    expect(Tok::RParen);
    return fit(std::move(node));
}

NodePtr Parser::postfix()
{
    NodePtr node = primary();
    for (;;) {
        Place place = token_.at;
        NodePtr outer;
        if (at(Tok::LParen)) {
            node = call(std::move(node));
            continue;
        }
        if (accept(Tok::LBracket)) {
            if (node->kind == NodeKind::Aggregate)
                fail(Tag::AGG_MDIM, place,
                     "an aggregation cannot be indexed twice: write @a[x, y]");
            outer = make(NodeKind::Index, place);
            outer->args = arguments(Tok::RBracket);
        } else if (at(Tok::Dot) || at(Tok::Arrow)) {
            outer = make(at(Tok::Dot) ? NodeKind::Member : NodeKind::Arrow, place);
            advance();
            outer->text = take_name();
        } else if (at(Tok::PlusPlus) || at(Tok::MinusMinus)) {
            outer = make(NodeKind::PostInc, place);
            outer->op = at(Tok::PlusPlus) ? Op::Inc : Op::Dec;
            advance();
        } else {
            return node;
        }
        outer->left = std::move(node);
        node = fit(std::move(outer));
    }
}

NodePtr Parser::call(NodePtr callee)
{
    if (callee->kind != NodeKind::Ident || callee->scope != Scope::Global)
        fail(Tag::FUNC_IDENT, callee->at,
             "function designator is not of identifier type");
    NodePtr node = make(NodeKind::Call, callee->at);
    node->text = std::move(callee->text);
    advance();
    if (at(Tok::RParen))
        advance();
    else
        node->args = arguments(Tok::RParen);
    return fit(std::move(node));
}

// Reads one or more arguments and the closing token.
std::vector<NodePtr> Parser::arguments(Tok close)
{
    std::vector<NodePtr> list;
    do {
        if (starts_type(token_)) {
            NodePtr type = make(NodeKind::TypeName, token_.at);
            type->decl_type = type_name();
            list.push_back(std::move(type));
        } else {
            list.push_back(assignment());
        }
    } while (accept(Tok::Comma));
    expect(close);
    return list;
}

NodePtr Parser::primary()
{
    Place place = token_.at;
    switch (token_.kind) {
    case Tok::Ident: {
        NodePtr node = make(NodeKind::Ident, place);
        node->text = std::move(token_.text);
        advance();
        return node;
    }
    case Tok::Aggregation: {
        NodePtr node = make(NodeKind::Aggregate, place);
        node->text = std::move(token_.text);
        advance();
        if (accept(Tok::LBracket))
            node->args = arguments(Tok::RBracket);
        return fit(std::move(node));
    }
    case Tok::LParen: {
        advance();
        NodePtr node = expression();
        expect(Tok::RParen);
        return node;
    }
    case Tok::Integer:
    case Tok::Char:
    case Tok::Float:
    case Tok::String:
        return constant();
    default:
        break;
    }
    if (at(Key::Self) || at(Key::This))
        return scoped_variable(at(Key::Self) ? Scope::Self : Scope::This);
    if (at(Key::Offsetof))
        return offset_of();
    if (at(Key::Xlate))
        return translate();
    syntax_error();
}

// Parses self->name or this->name.
NodePtr Parser::scoped_variable(Scope scope)
{
    NodePtr node = make(NodeKind::Ident, token_.at);
    node->scope = scope;
    advance();
    expect(Tok::Arrow);
    node->text = take_name();
    return node;
}

NodePtr Parser::constant()
{
    Token token = std::move(token_);
    NodePtr node;
    if (token.kind == Tok::String) {
        node = make(NodeKind::String, token.at);
        node->text = std::move(token.text);
    } else if (token.kind == Tok::Float) {
        node = make(NodeKind::Float, token.at);
        node->float_value = token.float_value;
        node->type = context_.types.lookup("double");
        node->text = token.raw;
    } else {
        node = make(NodeKind::Integer, token.at);
        node->value = token.value;
        node->type = integer_type(token);
        node->text = token.raw;
    }
    advance();
    if (token.negative)
        node = unary_node(Op::Neg, token.at, std::move(node));
    return node;
}

// Returns the type of an integer or character constant: the first type that can
// represent the value, among the types that the suffix and base permit. A decimal
// constant that is too large for long is an unsigned long.
const Type* Parser::integer_type(const Token& token) const
{
    static constexpr const char* names[] = {"int",       "unsigned int",
                                            "long",      "unsigned long",
                                            "long long", "unsigned long long"};
    static constexpr std::uint64_t largest[] = {INT32_MAX,  UINT32_MAX, INT64_MAX,
                                                UINT64_MAX, INT64_MAX,  UINT64_MAX};
    bool is_char = token.kind == Tok::Char;
    std::size_t step = token.decimal && !is_char ? 2 : 1;
    if (token.unsigned_suffix)
        step = 2;
    std::size_t i = static_cast<std::size_t>(token.long_suffix) * 2;
    if (is_char && token.value >= UINT64_MAX - INT32_MAX)
        return context_.types.int_type();
    for (i += token.unsigned_suffix ? 1 : 0; i < std::size(names); i += step)
        if (token.value <= largest[i])
            return context_.types.lookup(names[i]);
    return context_.types.lookup("unsigned long");
}

} // namespace dt
