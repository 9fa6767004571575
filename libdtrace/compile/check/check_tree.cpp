// SPDX-License-Identifier: MIT
// Operations on trees: copying, substituting names, and text for messages.
#include "libdtrace/compile/check/check_internal.hpp"

namespace dt {

std::string call_name(const Node& call)
{
    return call.text + "( )";
}

NodePtr make_cast(const Type* type, NodePtr value, Place at)
{
    auto node = std::make_unique<Node>();
    node->kind = NodeKind::Cast;
    node->at = at;
    node->decl_type = type;
    node->left = std::move(value);
    return node;
}

NodePtr make_integer(std::uint64_t value, const Type* type, Place at)
{
    auto node = std::make_unique<Node>();
    node->kind = NodeKind::Integer;
    node->value = value;
    node->type = type;
    node->is_constant = true;
    node->at = at;
    return node;
}

NodePtr clone(const Node& node)
{
    auto copy = std::make_unique<Node>();
    copy->kind = node.kind;
    copy->at = node.at;
    copy->op = node.op;
    copy->scope = node.scope;
    copy->value = node.value;
    copy->float_value = node.float_value;
    copy->text = node.text;
    copy->decl_type = node.decl_type;
    copy->height = node.height;
    copy->type = node.type;
    copy->ident = node.ident;
    copy->is_lvalue = node.is_lvalue;
    copy->is_constant = node.is_constant;
    copy->defines = node.defines;
    copy->userland = node.userland;
    copy->bitfield = node.bitfield;
    copy->bitfield_unit = node.bitfield_unit;
    copy->bitfield_offset = node.bitfield_offset;
    copy->bitfield_bits = node.bitfield_bits;
    copy->operand_type = node.operand_type;
    copy->string_compare = node.string_compare;
    copy->alloca_pointer = node.alloca_pointer;
    copy->format = node.format;
    if (node.left)
        copy->left = clone(*node.left);
    if (node.right)
        copy->right = clone(*node.right);
    if (node.cond)
        copy->cond = clone(*node.cond);
    for (const NodePtr& argument : node.args)
        copy->args.push_back(clone(*argument));
    return copy;
}

void move_to(Node& body, Place at)
{
    body.at = at;
    for (const NodePtr* child : {&body.left, &body.right, &body.cond})
        if (*child)
            move_to(**child, at);
    for (const NodePtr& argument : body.args)
        move_to(*argument, at);
}

std::size_t count_nodes(const Node& node)
{
    std::size_t n = 1;
    for (const NodePtr* child : {&node.left, &node.right, &node.cond})
        if (*child)
            n += count_nodes(**child);
    for (const NodePtr& argument : node.args)
        n += count_nodes(*argument);
    return n;
}

bool assigns(const Node& node)
{
    // An assignment in a definition creates no variable, because the definition declares
    // them.
    if (node.defines)
        return false;
    if (node.kind == NodeKind::Assign || node.kind == NodeKind::PreInc ||
        node.kind == NodeKind::PostInc)
        return true;
    for (const NodePtr* child : {&node.left, &node.right, &node.cond})
        if (*child && assigns(**child))
            return true;
    for (const NodePtr& argument : node.args)
        if (assigns(*argument))
            return true;
    return false;
}

void substitute(NodePtr& slot, const std::vector<std::string>& names,
                const std::vector<const Node*>& replacements)
{
    if (!slot)
        return;
    if (slot->kind == NodeKind::Ident && slot->scope == Scope::Global) {
        for (std::size_t i = 0; i < names.size(); i++) {
            if (slot->text == names[i]) {
                slot = clone(*replacements[i]);
                return;
            }
        }
        return;
    }
    substitute(slot->left, names, replacements);
    substitute(slot->right, names, replacements);
    substitute(slot->cond, names, replacements);
    for (NodePtr& argument : slot->args)
        substitute(argument, names, replacements);
}

} // namespace dt
