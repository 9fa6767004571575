// SPDX-License-Identifier: MIT
// Checks operators: which types they accept, and the type of the result. Folds
// constants.
//
// Arithmetic is done in 64 bits. The type of a node determines the sign of its value,
// and the size of the value in a record or a variable. Only casts and assignments
// narrow a value.
//
// Unsigned 32-bit arithmetic is an exception, because C defines its result modulo 2^32.
// Casts are added to signed operands and to results that may exceed 32 bits. So -1u is
// 4294967295.
#include "libdtrace/compile/check/check_internal.hpp"

#include "libdtrace/compile/check/fold.hpp"

namespace dt {

namespace {

constexpr int max_expression_depth = 1000;

struct Deeper {
    explicit Deeper(int& depth) : depth_(depth) { depth_++; }
    ~Deeper() { depth_--; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    int& depth_;
};

std::string operator_name(Op op)
{
    return "operator " + std::string(op_text(op));
}

[[noreturn]] void incompatible(const Node& node)
{
    fail(Tag::OP_INCOMPAT, node.at,
         "operands have incompatible types: \"" + node_type_text(*node.left) + "\" " +
             std::string(op_text(node.op)) + " \"" + node_type_text(*node.right) +
             "\"");
}

} // namespace

void Checker::expr(NodePtr& slot)
{
    Deeper deeper(depth_);
    if (depth_ > max_expression_depth)
        fail(Tag::SYNTAX, slot->at, "expression is nested too deeply");
    dispatch(slot);
    context_.target.types().complete(slot->type);
}

void Checker::dispatch(NodePtr& slot)
{
    Node& node = *slot;
    switch (node.kind) {
    case NodeKind::Integer:
        if (!node.type)
            node.type = types_.int_type();
        node.is_constant = true;
        return;
    case NodeKind::String:
        node.type = types_.string_type();
        return;
    case NodeKind::Float:
        return;
    case NodeKind::Ident:
        return identifier(slot);
    case NodeKind::Aggregate:
        fail(Tag::OP_DYN, node.at,
             "aggregation @" + node.text + " may not be read in an expression");
    case NodeKind::Index:
        return index(slot);
    case NodeKind::Call:
        return call(slot);
    case NodeKind::Member:
    case NodeKind::Arrow:
        return member(slot);
    case NodeKind::Unary:
        return unary(slot);
    case NodeKind::PostInc:
    case NodeKind::PreInc:
        return pre_or_post(node);
    case NodeKind::Binary:
        return binary(slot);
    case NodeKind::Assign:
        return assign(slot);
    case NodeKind::Cond:
        return conditional(slot);
    case NodeKind::Cast:
        return cast(slot);
    case NodeKind::SizeofType:
    case NodeKind::SizeofExpr:
        return size_of(slot);
    case NodeKind::Offsetof:
        return offset_of(slot);
    case NodeKind::Stringof:
        return stringof(node);
    case NodeKind::Xlate:
        return xlate(slot);
    case NodeKind::TypeName:
        fail(Tag::SYNTAX, node.at,
             "type " + quoted(node.decl_type) + " is used where a value is needed");
    }
}

void Checker::require_value(const Node& node)
{
    if (is_void(node.type))
        fail(Tag::OP_INCOMPAT, node.at,
             node.kind == NodeKind::Call
                 ? call_name(node) + " has no value and may not be an operand"
                 : std::string("a void expression may not be an operand"));
    if (is_dynamic(node.type))
        fail(Tag::OP_DYN, node.at,
             "the type of the dynamic variable is not known: nothing has been assigned "
             "to it yet");
}

void Checker::require_integer(const Node& node, std::string_view operation)
{
    require_value(node);
    if (!node.type->is_integer())
        fail(Tag::OP_INT, node.at,
             std::string(operation) + " requires operands of integral type, not \"" +
                 node_type_text(node) + "\"");
}

void Checker::require_scalar(const Node& node, std::string_view operation)
{
    require_value(node);
    if (!node.type->is_scalar())
        fail(Tag::OP_SCALAR, node.at,
             std::string(operation) + " requires operands of scalar type, not \"" +
                 node_type_text(node) + "\"");
}

// Checks a condition, which must be a scalar. It is true if it is not 0.
void Checker::condition(NodePtr& slot, std::string_view operation)
{
    require_scalar(*slot, operation);
    to_truth(slot, operation);
}

// Replaces an operation on constants with its result.
void Checker::fold(NodePtr& slot)
{
    const Node& node = *slot;
    std::optional<std::uint64_t> value;
    if (node.kind == NodeKind::Unary && node.left->is_constant)
        value = fold_unary(node.op, node.left->value);
    if (node.kind == NodeKind::Binary && node.left->is_constant &&
        node.right->is_constant && !pointee(node.left->type) &&
        !pointee(node.right->type))
        value =
            fold_binary(node.op, node.left->value, node.right->value,
                        node.operand_type && node.operand_type->resolve()->is_signed);
    if (value)
        slot = make_integer(*value, node.type, node.at);
}

// Keeps the result of an unsigned 32-bit operation within 32 bits.
void Checker::wrap(NodePtr& slot)
{
    if (slot->type && wraps_below_64(slot->type))
        cast_to(slot, slot->type);
}

// Converts a signed operand of an unsigned 32-bit operation to the type of the
// operation. Otherwise the 64-bit result would differ from C's.
void Checker::to_operand_type(NodePtr& slot, const Type* type)
{
    if (type && wraps_below_64(type) && slot->type->is_integer() &&
        slot->type->resolve()->is_signed)
        cast_to(slot, type);
}

void Checker::unary(NodePtr& slot)
{
    Node& node = *slot;
    if (node.op == Op::AddrOf && node.left->kind == NodeKind::Ident &&
        node.left->scope == Scope::Global &&
        node.left->text.find('`') != std::string::npos) {
        slot = std::move(node.left);
        return symbol(slot, true);
    }
    if (node.op == Op::Deref && find_xlate(slot))
        return xlate(slot);
    expr(node.left);
    switch (node.op) {
    case Op::Deref:
        return deref(node);
    case Op::AddrOf:
        return address_of(node);
    case Op::Not:
        condition(node.left, operator_name(node.op));
        node.type = types_.int_type();
        break;
    case Op::BitNot:
        require_integer(*node.left, operator_name(node.op));
        node.type = promoted(*node.left, types_);
        break;
    default: // Neg, Plus
        require_value(*node.left);
        if (!node.left->type->is_arithmetic())
            fail(Tag::OP_ARITH, node.at,
                 operator_name(node.op) +
                     " requires an operand of arithmetic type, not \"" +
                     node_type_text(*node.left) + "\"");
        if (node.left->type->is_float() && node.op == Op::Neg)
            return float_negation(slot);
        if (node.left->type->is_float()) {
            slot = std::move(node.left);
            return to_double(slot, "operator +");
        }
        node.type = promoted(*node.left, types_);
        if (node.op == Op::Plus && !node.left->is_constant) {
            const Type* type = node.type;
            slot = std::move(node.left);
            slot->is_lvalue = false;
            slot->type = type;
            return;
        }
        break;
    }
    const bool may_exceed = node.op != Op::Not && node.op != Op::Plus;
    fold(slot);
    if (may_exceed)
        wrap(slot);
}

void Checker::binary(NodePtr& slot)
{
    Node& node = *slot;
    if (node.op == Op::Comma)
        for (const Node* operand : {node.left.get(), node.right.get()})
            if (operand->kind == NodeKind::Call && find_action_row(operand->text))
                fail(
                    Tag::OP_ACT, operand->at,
                    "operator , cannot be applied to the action " +
                        call_name(*operand) +
                        ": write each action as a separate statement that ends with ;");
    expr(node.left);
    expr(node.right);
    switch (node.op) {
    case Op::Comma:
        node.type = node.right->type;
        node.userland = node.right->userland;
        node.alloca_pointer = node.right->alloca_pointer;
        return;
    case Op::Mul:
    case Op::Div:
        for (const Node* operand : {node.left.get(), node.right.get()}) {
            require_value(*operand);
            if (!operand->type->is_arithmetic())
                fail(Tag::OP_ARITH, node.at,
                     operator_name(node.op) +
                         " requires operands of arithmetic type, not \"" +
                         node_type_text(*operand) + "\"");
        }
        if (any_float(*node.left, *node.right))
            return float_binary(slot, operator_name(node.op));
        node.type = node.operand_type =
            usual_conversion(*node.left, *node.right, types_);
        break;
    case Op::Mod:
    case Op::Shl:
    case Op::Shr:
    case Op::And:
    case Op::Or:
    case Op::Xor:
        shift_or_bits(node);
        break;
    case Op::Add:
    case Op::Sub:
        require_value(*node.left);
        require_value(*node.right);
        if (any_float(*node.left, *node.right))
            return float_binary(slot, operator_name(node.op));
        add_or_sub(node);
        break;
    case Op::LogAnd:
    case Op::LogOr:
    case Op::LogXor:
        logical(node);
        break;
    default:
        require_value(*node.left);
        require_value(*node.right);
        if (any_float(*node.left, *node.right))
            return float_binary(slot, operator_name(node.op));
        comparison(node);
        break;
    }
    if ((node.op == Op::Div || node.op == Op::Mod) && is_null_constant(*node.right))
        fail(Tag::DIV_ZERO, node.right->at, "expression contains division by zero");
    const bool shift = node.op == Op::Shl || node.op == Op::Shr;
    to_operand_type(node.left, node.operand_type);
    if (!shift)
        to_operand_type(node.right, node.operand_type);
    const bool may_exceed = node.op == Op::Add || node.op == Op::Sub ||
                            node.op == Op::Mul || node.op == Op::Shl;
    fold(slot);
    if (may_exceed)
        wrap(slot);
}

void Checker::shift_or_bits(Node& node)
{
    require_integer(*node.left, operator_name(node.op));
    require_integer(*node.right, operator_name(node.op));
    bool shift = node.op == Op::Shl || node.op == Op::Shr;
    node.operand_type = shift ? promoted(*node.left, types_)
                              : usual_conversion(*node.left, *node.right, types_);
    // A left shift by 32 or more is undefined in C. D programs use such shifts to build
    // 64-bit values, so the shift is computed in 64 bits.
    if (node.op == Op::Shl && wraps_below_64(node.operand_type) &&
        node.right->is_constant && node.right->value >= 32)
        node.operand_type = types_.uint64_type();
    node.type = node.operand_type;
}

void Checker::add_or_sub(Node& node)
{
    Node& left = *node.left;
    Node& right = *node.right;
    if (left.type->is_integer() && right.type->is_integer()) {
        node.type = node.operand_type = usual_conversion(left, right, types_);
        return;
    }
    const Node* text = left.type->is_string() ? &left : &right;
    const Node& count = text == &left ? right : left;
    if (text->type->is_string() && count.type->is_integer() &&
        (text == &left || node.op == Op::Add)) {
        // A string plus an offset is the part of the string that starts at the offset.
        node.type = node.operand_type = types_.string_type();
        node.userland = text->userland;
        node.alloca_pointer = text->alloca_pointer;
        return;
    }

    const Type* left_base = pointee(left.type);
    const Type* right_base = pointee(right.type);
    for (const Type* base : {left_base, right_base})
        if (base && is_incomplete(base))
            fail(Tag::OP_INCOMPLETE, node.at,
                 operator_name(node.op) +
                     " cannot be applied to a pointer to the incomplete type " +
                     quoted(base));
    for (const Node* operand : {&left, &right})
        if (is_function_pointer(operand->type))
            fail(Tag::OP_VFPTR, node.at,
                 operator_name(node.op) + " cannot be applied to a function pointer");

    if (left_base && right_base && node.op == Op::Sub) {
        if (!pointers_compatible(left.type, right.type))
            incompatible(node);
        node.type = types_.int64_type();
        node.operand_type = left.type;
        return;
    }
    const Node* pointer = left_base && right.type->is_integer() ? &left
                          : right_base && left.type->is_integer() && node.op == Op::Add
                              ? &right
                              : nullptr;
    if (!pointer)
        incompatible(node);
    node.type = is_array(pointer->type)
                    ? types_.pointer_to(pointee(pointer->type), pointer->userland)
                    : pointer->type;
    node.operand_type = node.type;
    node.userland = pointer->userland;
    node.alloca_pointer = pointer->alloca_pointer;
}

void Checker::comparison(Node& node)
{
    Node& left = *node.left;
    Node& right = *node.right;
    node.type = types_.int_type();

    if (left.type->is_integer() && right.type->is_integer()) {
        node.operand_type = usual_conversion(left, right, types_);
        return;
    }
    bool strings = (left.type->is_string() && right.type->is_string_compatible()) ||
                   (right.type->is_string() && left.type->is_string_compatible());
    // Two arrays of char are also compared as strings.
    strings = strings ||
              (is_array(left.type) && is_array(right.type) &&
               left.type->is_string_compatible() && right.type->is_string_compatible());
    if (strings) {
        node.string_compare = true;
        node.operand_type = types_.string_type();
        return;
    }
    auto is_null_pointer = [](const Node& n) {
        return is_null_constant(n) && n.type->is_pointer();
    };
    bool null_string = (left.type->is_string() && is_null_pointer(right)) ||
                       (right.type->is_string() && is_null_pointer(left));
    bool addresses = (pointee(left.type) && right.type->is_integer()) ||
                     (pointee(right.type) && left.type->is_integer()) ||
                     pointers_compatible(left.type, right.type);
    if (!null_string && !addresses)
        incompatible(node);
    node.operand_type = types_.uint64_type();
}

void Checker::logical(Node& node)
{
    condition(node.left, operator_name(node.op));
    condition(node.right, operator_name(node.op));
    node.type = node.operand_type = types_.int_type();
}

void Checker::pre_or_post(Node& node)
{
    assign_target(node.left, false);
    const Node& target = *node.left;
    if (is_array(target.type))
        fail(Tag::OP_ARRFUN, node.at,
             operator_name(node.op) + " cannot be applied to the array type \"" +
                 node_type_text(target) + "\"");
    require_scalar(target, operator_name(node.op));
    if (target.type->is_float() && target.type->resolve()->size > sizeof(double))
        // this call always fails, because D has no long double arithmetic
        to_double(node.left, operator_name(node.op));
    if (is_function_pointer(target.type))
        fail(Tag::OP_VFPTR, node.at,
             operator_name(node.op) + " cannot be applied to a function pointer");
    if (target.type->is_pointer() && is_incomplete(pointee(target.type)))
        fail(Tag::OP_INCOMPLETE, node.at,
             operator_name(node.op) +
                 " cannot be applied to a pointer to the incomplete type " +
                 quoted(pointee(target.type)));
    node.type = target.type;
    node.value = target.type->is_pointer() ? step_of(target.type) : 1;
    node.userland = target.userland;
    node.alloca_pointer = target.alloca_pointer;
    mark_modified(target);
}

} // namespace dt
