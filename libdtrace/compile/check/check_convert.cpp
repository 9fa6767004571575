// SPDX-License-Identifier: MIT
// Conversions between types: casts, stringof, and the common type of a ? b : c.
//
// A constant is converted here and stays a constant. A string can be converted to an
// integer of eight bytes, which is its address.
#include "libdtrace/compile/check/check_internal.hpp"

#include "libdtrace/compile/check/fold.hpp"

namespace dt {

static bool takes_null(const Type* type)
{
    return type->is_string() || type->is_integer() || pointee(type) != nullptr;
}

void Checker::conditional(NodePtr& slot)
{
    Node& node = *slot;
    expr(node.cond);
    condition(node.cond, "operator ?:");
    const Node* action = nullptr;
    for (const Node* side : {node.left.get(), node.right.get()}) {
        if (side->kind != NodeKind::Call || !find_action_row(side->text))
            continue;
        if (side->text == "trace")
            check_count(*side, call_name(*side), 1, 1);
        action = side;
    }
    if (action)
        fail(Tag::OP_ACT, action->at,
             "operator ?: cannot be applied to the action " + call_name(*action) +
                 ": use a predicate or an if statement to choose between actions");
    expr(node.left);
    expr(node.right);
    if (any_float(*node.left, *node.right)) {
        to_double(node.left, "operator ?:");
        to_double(node.right, "operator ?:");
    }
    Node& left = *node.left;
    Node& right = *node.right;
    const Type* common = nullptr;
    if (is_void(left.type) && is_void(right.type))
        common = left.type;
    else if (left.type->is_integer() && right.type->is_integer())
        common = usual_conversion(left, right, types_);
    else if (same_type(left.type, right.type))
        common = left.type;
    else if (left.type->is_string_compatible() && right.type->is_string_compatible())
        common = types_.string_type();
    else if (takes_null(left.type) && is_null_constant(right))
        common = left.type;
    else if (takes_null(right.type) && is_null_constant(left))
        common = right.type;
    else if (pointers_compatible(left.type, right.type))
        common = is_void_pointer(left.type) ? right.type : left.type;
    if (!common)
        fail(Tag::OP_INCOMPAT, node.at,
             "operator ?: operands have incompatible types: \"" + node_type_text(left) +
                 "\" : \"" + node_type_text(right) + "\"");
    node.type = common;
    node.userland = left.userland || right.userland;
    node.alloca_pointer = left.alloca_pointer || right.alloca_pointer;
    // The next two calls may replace node.left and node.right. Do not use `left` and
    // `right` after these calls.
    to_operand_type(node.left, common);
    to_operand_type(node.right, common);
    if (node.cond->is_constant && node.left->is_constant && node.right->is_constant)
        slot =
            make_integer(node.cond->value != 0 ? node.left->value : node.right->value,
                         common, node.at);
}

void Checker::cast(NodePtr& slot)
{
    if (find_xlate(slot->left) && pointee(slot->left->decl_type))
        fail(Tag::CAST_INVAL, slot->at,
             "invalid cast: a translation of type " + quoted(slot->left->decl_type) +
                 " to " + quoted(slot->decl_type));
    expr(slot->left);
    const Type* type = slot->decl_type;
    NodePtr operand = std::move(slot->left);
    operand->at = operand->at.line ? operand->at : slot->at;
    slot = std::move(operand);
    cast_to(slot, type);
}

// Converts the checked expression to a type: adds a cast to the tree, or converts a
// constant.
void Checker::cast_to(NodePtr& slot, const Type* type)
{
    const Type* from = slot->type;
    const Place at = slot->at;
    bool ok = false;
    if (is_void(type))
        ok = true;
    else if ((type->is_float() || from->is_float()) && type->is_arithmetic() &&
             from->is_arithmetic())
        return float_cast(slot, type);
    else if (type->is_float() || from->is_float())
        ok = false;
    else if (type->is_string())
        ok = from->is_string_compatible() || is_void_pointer(from);
    else if (type->is_struct_or_union())
        ok = same_type(type, from);
    else if (type->is_scalar())
        ok = from->is_scalar() || is_array(from) || from->is_string();
    if (is_void(from) && !is_void(type))
        ok = false;
    // A narrowing cast would truncate a string's address.
    if (from->is_string() && type->is_integer())
        ok = type->resolve()->size == 8;
    if (!ok)
        fail(Tag::CAST_INVAL, at,
             "invalid cast: " + quoted(from) + " to " + quoted(type));

    if (slot->is_constant && type->is_scalar()) {
        const Type* r = type->resolve();
        std::uint64_t value = r->is_bool ? slot->value != 0
                              : r->is_integer()
                                  ? narrow(slot->value, r->size, r->is_signed)
                                  : slot->value;
        slot = make_integer(value, type, at);
        slot->userland = is_userland(type);
        return;
    }
    if (type->resolve()->is_bool && from->is_scalar()) {
        auto test = std::make_unique<Node>();
        test->kind = NodeKind::Binary;
        test->op = Op::Ne;
        test->at = at;
        test->type = type;
        test->operand_type = types_.uint64_type();
        test->right = make_integer(0, types_.int_type(), at);
        test->left = std::move(slot);
        slot = std::move(test);
        return;
    }
    auto node = std::make_unique<Node>();
    node->kind = NodeKind::Cast;
    node->at = at;
    node->decl_type = node->type = type;
    node->userland = is_userland(type) || slot->userland;
    node->alloca_pointer = slot->alloca_pointer && type->is_pointer();
    node->left = std::move(slot);
    slot = std::move(node);
}

void Checker::stringof(Node& node)
{
    expr(node.left);
    require_value(*node.left);
    const Type* type = node.left->type;
    bool address =
        type->is_integer() || type->is_pointer() || type->is_string_compatible();
    if (!address || is_function_pointer(type))
        fail(Tag::STRINGOF_TYPE, node.at,
             "cannot apply stringof to a value of type " + quoted(type));
    node.type = types_.string_type();
    node.userland = node.left->userland;
}

} // namespace dt
