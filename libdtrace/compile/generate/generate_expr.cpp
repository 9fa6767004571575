// SPDX-License-Identifier: MIT
// Generates code for expressions. The value of a node is in a register that the caller
// owns.
#include "libdtrace/compile/generate/generate.hpp"

#include "dif/ops.h"
#include "dif/vars.h"

namespace dt {

static bool is_builtin_array(const Node& node)
{
    return node.kind == NodeKind::Ident && node.ident->kind == IdentKind::Builtin &&
           node.ident->id < DIF_VAR_OTHER_MIN;
}

ExprGenerator::ExprGenerator(const CompileOptions& options, Place at)
    : options_(options), code_(at), registers_(options.n_registers),
      facts_(options.n_registers)
{
}

std::shared_ptr<Difo> ExprGenerator::generate(const CompileOptions& options,
                                              const Node& node, dif_type rtype)
{
    ExprGenerator generator(options, node.at);
    generator.facts_.of(node); // refuses an expression that is nested too deeply
    Register result = generator.value(node);
    generator.code_.emit(DIF_OP_RET, result);
    return std::make_shared<Difo>(generator.code_.finish(rtype));
}

std::shared_ptr<Difo> ExprGenerator::constant(const CompileOptions& options, Place at,
                                              std::uint64_t value)
{
    ExprGenerator generator(options, at);
    Register result = generator.ops_.integer(value, at);
    generator.code_.emit(DIF_OP_RET, result);
    return std::make_shared<Difo>(generator.code_.finish(dif_type_word()));
}

Register ExprGenerator::value(const Node& node)
{
    switch (node.kind) {
    case NodeKind::Integer:
        return ops_.integer(node.value, node.at);
    case NodeKind::Float:
        return ops_.integer(float_bits(node.float_value, node.type), node.at);
    case NodeKind::String: {
        Register out = registers_.take(node.at);
        code_.set_string(node.text, out);
        return out;
    }
    case NodeKind::Ident:
        return value_of_ident(node);
    case NodeKind::Index:
        if (is_assoc(node))
            return load_assoc(node, {});
        if (is_builtin_array(*node.left))
            return value_of_element(node);
        return value_in_memory(node);
    case NodeKind::Member:
    case NodeKind::Arrow:
        return value_in_memory(node);
    case NodeKind::Call:
        return value_of_call(node);
    case NodeKind::Unary:
        return value_of_unary(node);
    case NodeKind::PostInc:
    case NodeKind::PreInc:
        return value_of_step(node);
    case NodeKind::Binary:
        return value_of_binary(node);
    case NodeKind::Assign:
        return value_of_assign(node);
    case NodeKind::Cond:
        return value_of_cond(node);
    case NodeKind::Cast:
        return value_of_cast(node);
    case NodeKind::Stringof:
        return value(*node.left);
    case NodeKind::Aggregate:
    case NodeKind::SizeofType:
    case NodeKind::SizeofExpr:
    case NodeKind::Offsetof:
    case NodeKind::Xlate:
    case NodeKind::TypeName:
        break;
    }
    fail(Tag::CG_EXPR, node.at, "expression cannot be evaluated in probe context");
}

Register ExprGenerator::value_of_ident(const Node& node)
{
    Register out = registers_.take(node.at);
    load_object(node, out);
    return out;
}

Register ExprGenerator::value_in_memory(const Node& node)
{
    Register out = address(node);
    load(out, out, node);
    return out;
}

// Returns the value of an element of a builtin array, such as uregs[i].
Register ExprGenerator::value_of_element(const Node& node)
{
    Register out = value(*node.args[0]);
    note(*node.left->ident, DIFV_F_REF);
    code_.emit(DIF_OP_LDGA, static_cast<int>(node.left->ident->id), out, out);
    return out;
}

Register ExprGenerator::value_of_unary(const Node& node)
{
    switch (node.op) {
    case Op::Not:
        return value_of_not(node);
    case Op::Deref:
        return value_in_memory(node);
    case Op::AddrOf:
        return address_to_store(*node.left);
    case Op::BitNot: {
        Register out = value(*node.left);
        code_.emit(DIF_OP_NOT, out, out);
        return out;
    }
    case Op::Neg: {
        Register out = value(*node.left);
        if (node.type->is_float()) {
            ops_.negate_float(out, node.at);
            return out;
        }
        code_.emit(DIF_OP_SUB, DIF_REG_R0, out, out);
        return out;
    }
    default:
        return value(*node.left);
    }
}

std::pair<Register, Register> ExprGenerator::operands(const Node& left,
                                                      const Node& right)
{
    std::pair<Register, Register> out;
    if (facts_.right_first(left, right)) {
        out.second = value(right);
        out.first = value(left);
    } else {
        out.first = value(left);
        out.second = value(right);
    }
    return out;
}

Register ExprGenerator::value_of_binary(const Node& node)
{
    switch (node.op) {
    case Op::Comma:
        value(*node.left).release();
        return value(*node.right);
    case Op::LogAnd:
    case Op::LogOr:
        return value_of_logical(node);
    case Op::LogXor:
        return value_of_logical_xor(node);
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
    case Op::Eq:
    case Op::Ne:
        return value_of_comparison(node);
    default:
        break;
    }
    const Type* left_type = node.left->type->resolve();
    const Type* right_type = node.right->type->resolve();
    auto is_address = [](const Type* type) {
        return type->kind == TypeKind::Pointer || type->kind == TypeKind::Array;
    };
    if ((node.op == Op::Add || node.op == Op::Sub) &&
        (is_address(left_type) || is_address(right_type)))
        return value_of_pointer_sum(node);
    const Type* type = node.operand_type != nullptr ? node.operand_type : node.type;
    auto [left, right] = operands(*node.left, *node.right);
    if (type->is_float())
        ops_.float_arithmetic(node.op, left, right, node.at);
    else
        ops_.arithmetic(node.op, left, right, is_signed_integer(type), node.at);
    return std::move(left);
}

Register ExprGenerator::value_of_pointer_sum(const Node& node)
{
    auto is_address = [](const Node& side) {
        TypeKind kind = side.type->resolve()->kind;
        return kind == TypeKind::Pointer || kind == TypeKind::Array;
    };
    bool left_points = is_address(*node.left), right_points = is_address(*node.right);
    std::uint64_t bytes = element_bytes((left_points ? node.left : node.right)->type);
    decays(*node.left);
    decays(*node.right);
    auto [left, right] = operands(*node.left, *node.right);
    if (left_points && right_points) {
        code_.emit(DIF_OP_SUB, left, right, left);
        right.release();
        if (bytes != 1) {
            Register size = ops_.integer(bytes, node.at);
            code_.emit(DIF_OP_SDIV, left, size, left);
        }
        return std::move(left);
    }
    ops_.scale(left_points ? right : left, bytes, node.at);
    code_.emit(node.op == Op::Add ? DIF_OP_ADD : DIF_OP_SUB, left, right, left);
    return std::move(left);
}

// --- narrowing ---

static std::uint64_t narrowed_constant(std::uint64_t value, const Type* to)
{
    const Type* type = to->resolve();
    if (!type->is_integer())
        return value;
    if (type->is_bool)
        return value != 0;
    if (type->size >= 8)
        return value;
    unsigned unused_bits = 64 - static_cast<unsigned>(type->size) * 8;
    std::uint64_t high = value << unused_bits;
    if (is_signed_integer(type))
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(high) >>
                                          unused_bits);
    return high >> unused_bits;
}

// Returns whether the value of a node is known to be canonical in the type `to`
// (generate.hpp). A canonical value need not be narrowed.
bool ExprGenerator::is_canonical(const Node& node, const Type* to)
{
    const Type* target = to->resolve();
    if (!target->is_integer() || (target->size >= 8 && !target->is_bool))
        return true;
    bool comparison =
        node.kind == NodeKind::Binary && node.op >= Op::Lt && node.op <= Op::LogXor;
    bool logical = node.kind == NodeKind::Unary && node.op == Op::Not;
    if (comparison || logical)
        return true;
    switch (node.kind) {
    case NodeKind::Binary:
        if (node.op == Op::Comma)
            return is_canonical(*node.right, to);
        return false;
    case NodeKind::Cond:
        return is_canonical(*node.left, to) && is_canonical(*node.right, to);
    case NodeKind::Integer:
        return narrowed_constant(node.value, to) == node.value;
    case NodeKind::Unary:
        if (node.op != Op::Deref)
            return false;
        break;
    default:
        break;
    }
    const Type* source = node.type->resolve();
    if (!source->is_integer())
        return false;
    if (target->is_bool || source->is_bool)
        return source->is_bool;
    bool from_signed = is_signed_integer(source), to_signed = is_signed_integer(target);
    if (source->size == target->size)
        return from_signed == to_signed;
    return source->size < target->size && (!from_signed || to_signed);
}

Register ExprGenerator::narrowed_value(const Node& right, const Type* to)
{
    if (right.kind == NodeKind::Integer)
        return ops_.integer(narrowed_constant(right.value, to), right.at);
    Register out = value(right);
    if (!is_canonical(right, to))
        ops_.narrow(out, to, right.at);
    return out;
}

Register ExprGenerator::value_of_cast(const Node& node)
{
    if (node.type->resolve()->kind == TypeKind::Void)
        return value(*node.left);
    if (node.type->is_float() || node.left->type->is_float()) {
        Register out = narrowed_value(*node.left, node.left->type);
        ops_.to_double(out, node.left->type);
        ops_.from_double(out, node.type, node.at);
        return out;
    }
    if (node.type->is_pointer())
        decays(*node.left);
    return narrowed_value(*node.left, node.type);
}

} // namespace dt
