// SPDX-License-Identifier: MIT
// Assignments. The first assignment to an undeclared name creates the variable, with
// the type of the right side without qualifiers. ++, -- and op= create an int64_t.
//
// A pointer variable may hold addresses from alloca() or other addresses, but not both.
// NULL is always permitted.
#include "libdtrace/compile/check/check_internal.hpp"

namespace dt {

namespace {

[[noreturn]] void incompatible_assignment(const Node& node)
{
    fail(Tag::OP_INCOMPAT, node.at,
         "operands have incompatible types: \"" + node_type_text(*node.left) + "\" " +
             assign_text(node.op) + " \"" + node_type_text(*node.right) + "\"");
}

// Returns the variable that an assignment to this left side changes. Returns null if
// the assignment changes memory through a pointer.
Ident* changed_variable(const Node& target)
{
    switch (target.kind) {
    case NodeKind::Ident:
        return target.ident;
    case NodeKind::Member:
        return changed_variable(*target.left);
    case NodeKind::Index: {
        const Node& base = *target.left;
        if (base.ident && base.ident->kind == IdentKind::AssocArray)
            return base.ident;
        return base.type && is_array(base.type) ? changed_variable(base) : nullptr;
    }
    default:
        return nullptr;
    }
}

// Returns the variable if the left side is an entire variable or an element of an
// associative array, else null.
Ident* stored_variable(const Node& target)
{
    if (target.kind == NodeKind::Ident)
        return target.ident;
    if (target.kind == NodeKind::Index && target.left->ident &&
        target.left->ident->kind == IdentKind::AssocArray)
        return target.left->ident;
    return nullptr;
}

// Returns whether the left side is a thread-local variable or an element of an
// associative array. Storing zero frees the storage of such a variable.
bool is_element(const Node& target)
{
    const Ident* ident = stored_variable(target);
    return ident &&
           (ident->scope == Scope::Self || ident->kind == IdentKind::AssocArray);
}

} // namespace

Ident* Checker::target_variable(Node& name, IdentKind kind)
{
    if (Ident* ident = find_variable(name.scope, name.text)) {
        if (kind == IdentKind::Scalar && ident->kind == IdentKind::AssocArray)
            fail(Tag::IDENT_BADREF, name.at,
                 "associative array " + scoped_name(name.scope, name.text) +
                     "[ ] may not be referenced as a scalar");
        return ident;
    }
    if (name.scope == Scope::Global) {
        if (is_builtin_variable(name.text))
            fail(Tag::OP_WRITE, name.at,
                 name.text + " is a built-in variable and may not be written");
        if (symbols_.inlines.count(name.text) != 0)
            fail(Tag::OP_LVAL, name.at,
                 name.text + " is an inline and may not be assigned to");
    }
    if (kind == IdentKind::AssocArray && name.scope == Scope::This)
        fail(Tag::ARR_LOCAL, name.at,
             "clause-local associative arrays are not supported: " +
                 scoped_name(name.scope, name.text));
    return make_variable(name.scope, name.text, kind, types_.dynamic_type(), name.at);
}

// Checks the left side of an assignment. `plain` means that the operator is =.
void Checker::assign_target(NodePtr& slot, bool plain)
{
    Node& node = *slot;
    bool is_name =
        node.kind == NodeKind::Ident && node.text.find('`') == std::string::npos;
    if (is_name) {
        Ident* ident = target_variable(node, IdentKind::Scalar);
        uses(*ident, node.at);
        node.ident = ident;
        node.type = ident->type;
        node.is_lvalue = true;
        node.userland = is_userland(ident->type);
        node.alloca_pointer = ident->alloca_pointer;
        ident->referenced = ident->referenced || !plain;
    } else if (node.kind == NodeKind::Index && node.left->kind == NodeKind::Ident &&
               node.left->text.find('`') == std::string::npos &&
               (node.left->scope != Scope::Global ||
                (!find_variable_row(node.left->text) &&
                 symbols_.inlines.count(node.left->text) == 0))) {
        Ident* ident = find_variable(node.left->scope, node.left->text);
        if (!ident)
            ident = target_variable(*node.left, IdentKind::AssocArray);
        if (ident->kind == IdentKind::AssocArray) {
            index_assoc(node, true);
            ident->referenced = ident->referenced || !plain;
        } else {
            index(slot);
        }
    } else {
        expr(slot);
    }
    if (!slot->is_lvalue)
        fail(Tag::OP_LVAL, slot->at,
             "the left side of an assignment must be a modifiable lvalue");
    if (!is_dynamic(slot->type))
        return;
    Ident* ident = stored_variable(*slot);
    if (!plain && ident) {
        // ++, -- and op= read the variable before anything has been assigned to it. The
        // variable becomes an int64_t with the value 0.
        ident->type = types_.int64_type();
        slot->type = ident->type;
        if (slot->kind == NodeKind::Index)
            slot->left->type = ident->type;
    }
}

void Checker::fix_type(Ident& ident, const Node& value)
{
    const Type* type = value.bitfield ? promoted(value, types_) : value.type;
    if (value.kind == NodeKind::Integer && value.text == "NULL")
        // `x = NULL` creates x as an int64_t.
        type = types_.int64_type();
    while (type->kind == TypeKind::Typedef && (type->is_const || type->is_volatile))
        type = type->base;
    if (type->is_pointer() && value.userland && !is_userland(type))
        type = types_.pointer_to(type->resolve()->base, true);
    ident.type = type;
    if (is_array(type) && ident.kind == IdentKind::Scalar)
        ident.kind = IdentKind::CArray;
}

void Checker::check_alloca(const Node& target, const Node& value)
{
    Ident* ident = stored_variable(target);
    if (!ident || !target.type->is_pointer() || is_null_constant(value))
        return;
    if (value.alloca_pointer ? ident->other_pointer : ident->alloca_pointer)
        fail(Tag::ALLOCA_INCOMPAT, target.at,
             scoped_name(ident->scope, ident->name) +
                 " may not hold both alloca( ) pointers and other values");
    ident->alloca_pointer = ident->alloca_pointer || value.alloca_pointer;
    ident->other_pointer = ident->other_pointer || !value.alloca_pointer;
}

void Checker::mark_modified(const Node& target)
{
    if (Ident* ident = changed_variable(target))
        ident->modified = true;
}

void Checker::assign(NodePtr& slot)
{
    Node& node = *slot;
    if (node.left->kind == NodeKind::Aggregate)
        fail(Tag::AGG_NULL, node.at,
             "assigning to the aggregation @" + node.left->text +
                 " is a statement and may not be part of an expression");
    expr(node.right);
    require_value(*node.right);
    assign_target(node.left, node.op == Op::None);

    Node& left = *node.left;
    Node& right = *node.right;
    if (is_dynamic(left.type)) {
        Ident* ident = stored_variable(left);
        fix_type(*ident, right);
        left.type = ident->type;
        left.userland = is_userland(ident->type);
        if (left.kind == NodeKind::Index)
            left.left->type = ident->type;
    }
    node.type = left.type;
    node.userland = left.userland;
    node.alloca_pointer = right.alloca_pointer;

    if (node.op == Op::None) {
        // An assignment of 0 frees an element, whatever its type is.
        bool frees =
            left.type->is_by_ref() && is_null_constant(right) && is_element(left);
        if (!frees && !assignable(left.type, right))
            incompatible_assignment(node);
        if (any_float(left, right))
            cast_to(node.right, left.type);
        else if (left.type->resolve()->is_bool && !right.type->resolve()->is_bool)
            cast_to(node.right, left.type);
        check_alloca(left, *node.right);
        mark_modified(left);
        return;
    }

    const std::string name = "operator " + assign_text(node.op);
    if (is_array(left.type))
        fail(Tag::OP_ARRFUN, node.at,
             name + " cannot be applied to the array type \"" + node_type_text(left) +
                 "\"");
    bool additive = node.op == Op::Add || node.op == Op::Sub;
    if (additive && left.type->is_pointer() && right.type->is_integer()) {
        if (is_function_pointer(left.type))
            fail(Tag::OP_VFPTR, node.at,
                 name + " cannot be applied to a function pointer");
        if (is_incomplete(pointee(left.type)))
            fail(Tag::OP_INCOMPLETE, node.at,
                 name + " cannot be applied to a pointer to the incomplete type " +
                     quoted(pointee(left.type)));
        node.operand_type = left.type;
    } else if (any_float(left, right) && node.op <= Op::Div) {
        to_double(node.right, name);
        if (left.type->resolve()->size > sizeof(double))
            // this call always fails, because D has no long double arithmetic
            to_double(node.left, name);
        node.operand_type = node.right->type;
        mark_modified(left);
        return;
    } else if (left.type->is_integer() && right.type->is_integer()) {
        bool shift = node.op == Op::Shl || node.op == Op::Shr;
        node.operand_type =
            shift ? promoted(left, types_) : usual_conversion(left, right, types_);
        if (!shift)
            to_operand_type(node.right, node.operand_type);
    } else if (additive) {
        if (left.type->is_integer() && is_void_pointer(right.type))
            fail(Tag::OP_VFPTR, node.at,
                 name + " cannot be applied to \"" + node_type_text(right) + "\"");
        incompatible_assignment(node);
    } else {
        bool arithmetic = node.op == Op::Mul || node.op == Op::Div;
        fail(arithmetic ? Tag::OP_ARITH : Tag::OP_INT, node.at,
             name + " requires operands of " +
                 (arithmetic ? "arithmetic" : "integral") + " type: \"" +
                 node_type_text(left) + "\" " + assign_text(node.op) + " \"" +
                 node_type_text(right) + "\"");
    }
    if ((node.op == Op::Div || node.op == Op::Mod) && is_null_constant(*node.right))
        fail(Tag::DIV_ZERO, node.right->at, "expression contains division by zero");
    mark_modified(left);
}

} // namespace dt
