// SPDX-License-Identifier: MIT
// Assignment, op=, ++ and --. They use the same three steps for each kind of lvalue:
//
//   open    evaluates the parts of the lvalue that must be evaluated only once: its
//           address or, for an element, the keys that have side effects
//   fetch   reads the value of the lvalue
//   put     stores a value in the lvalue
//
//   lvalue         fetch                    put
//   variable       ldgs/ldts/ldls           stgs/stts/stls
//   element        keys, ldgaa/ldtaa        keys again, stgaa/sttaa
//   memory         ld* from the address     st* (objects: copys; bit-fields: or-ed in)
#include "libdtrace/compile/generate/generate.hpp"

#include "libdtrace/compile/check/conversions.hpp"

#include "dif/ops.h"
#include "dif/subrs.h"
#include "dif/vars.h"

namespace dt {

const ExprGenerator::ScopeOps& ExprGenerator::scope_ops(Scope scope)
{
    static constexpr ScopeOps global = {DIF_OP_LDGS,      DIF_OP_STGS, DIF_OP_LDGAA,
                                        DIF_OP_STGAA,     DIF_OP_LDGS, DIF_OP_LDGAAM,
                                        DIFV_SCOPE_GLOBAL};
    static constexpr ScopeOps thread = {DIF_OP_LDTS,      DIF_OP_STTS,  DIF_OP_LDTAA,
                                        DIF_OP_STTAA,     DIF_OP_LDTSM, DIF_OP_LDTAAM,
                                        DIFV_SCOPE_THREAD};
    // Clause-local associative arrays do not exist (D_ARR_LOCAL).
    static constexpr ScopeOps local = {DIF_OP_LDLS,     DIF_OP_STLS, DIF_OP_NOP,
                                       DIF_OP_NOP,      DIF_OP_LDLS, DIF_OP_NOP,
                                       DIFV_SCOPE_LOCAL};
    switch (scope) {
    case Scope::Self:
        return thread;
    case Scope::This:
        return local;
    default:
        return global;
    }
}

void ExprGenerator::note(const Ident& ident, unsigned flags)
{
    dif_varinfo info = {};
    info.id = ident.id;
    bool is_array = ident.kind == IdentKind::AssocArray ||
                    (ident.kind == IdentKind::Builtin && ident.id < DIF_VAR_OTHER_MIN);
    info.kind = is_array ? DIFV_KIND_ARRAY : DIFV_KIND_SCALAR;
    info.scope = scope_ops(ident.scope).scope;
    info.type = dif_type_of(ident.type, false);
    code_.note_variable(info, ident.name, flags);
}

void ExprGenerator::store_variable(const Node& node, int reg)
{
    note(*node.ident, DIFV_F_MOD);
    code_.emit_numbered(scope_ops(node.ident->scope).store, node.ident->id, reg);
}

Register ExprGenerator::address_to_store(const Node& node)
{
    will_store(node);
    return address(node);
}

ExprGenerator::Lvalue ExprGenerator::open(const Node& node)
{
    Lvalue out{&node, {}, {}};
    if (is_assoc(node))
        out.kept = keep_effects(node.args);
    else if (node.kind != NodeKind::Ident)
        out.address = address_to_store(node);
    return out;
}

Register ExprGenerator::fetch(const Lvalue& from)
{
    if (is_assoc(*from.node))
        return load_assoc(*from.node, from.kept);
    Register out = registers_.take(from.node->at);
    if (from.node->kind == NodeKind::Ident)
        load_object(*from.node, out);
    else
        load(from.address, out, *from.node);
    return out;
}

// Stores a value in an lvalue. `type` is the type of the value. The size of this type
// limits how many bytes of a by-reference value are read.
void ExprGenerator::put(int value, const Lvalue& to, const Type* type)
{
    if (is_assoc(*to.node))
        store_assoc(*to.node, value, to.kept);
    else if (to.node->kind == NodeKind::Ident && !to.address.held())
        store_variable(*to.node, value);
    else if (travels_by_ref(to.node->type))
        copy_object(value, to.address, *to.node, type);
    else
        store(value, to.address, *to.node);
}

// Returns whether a string is assigned to an array of char. Such a string must be
// copied only up to its NUL. Returns false for a thread-local variable, which has no
// address before the first store.
static bool is_array_given_string(const Node& assign)
{
    const Type* left = assign.left->type->resolve();
    return left->kind == TypeKind::Array && left->is_string_compatible() &&
           assign.left->ident->scope != Scope::Self &&
           assign.right->type->resolve()->kind != TypeKind::Array;
}

Register ExprGenerator::value_of_assign(const Node& node)
{
    if (node.op != Op::None)
        return modify(node);
    const Node& left = *node.left;
    bool in_memory =
        left.kind == NodeKind::Ident ? is_array_given_string(node) : !is_assoc(left);
    Lvalue to{&left, {}, {}};
    if (left.type->is_pointer())
        decays(*node.right);
    // The address is evaluated before the value only if that saves registers.
    bool address_first = in_memory && facts_.right_first(*node.right, left);
    if (address_first)
        to.address = address_to_store(left);
    Register value = narrowed_value(*node.right, left.type);
    if (left.bitfield)
        narrow_to(value, left);
    if (in_memory && !address_first)
        to.address = address_to_store(left);
    put(value, to, node.right->type);
    return value;
}

// Narrows a new value to the lvalue's type.
void ExprGenerator::narrow_to(int value, const Node& lvalue)
{
    if (lvalue.bitfield)
        ops_.extend_from(value, lvalue.bitfield_bits, is_signed_integer(lvalue.type),
                         lvalue.at);
    else
        ops_.narrow(value, lvalue.type, lvalue.at);
}

Register ExprGenerator::modify(const Node& node)
{
    const Node& left = *node.left;
    // The right side may change the left side, as in x += x++. In this case, the left
    // side is read first if there are enough registers.
    const std::size_t held = 3 + (is_assoc(left) ? left.args.size() : 0);
    const bool left_first =
        facts_.of(*node.right).has_effects &&
        static_cast<std::size_t>(facts_.of(*node.right).registers) + held <=
            static_cast<std::size_t>(options_.n_registers);
    Register right;
    if (!left_first)
        right = value(*node.right);
    Lvalue to = open(left);
    Register result = fetch(to);
    if (left_first)
        right = value(*node.right);
    const Type* type = node.operand_type != nullptr ? node.operand_type : left.type;
    if (type->is_float()) {
        ops_.modify_float(node.op, result, right, left);
        right.release();
        if (left.bitfield)
            narrow_to(result, left);
        put(result, to, left.type);
        return result;
    }
    bool is_signed = !left.type->is_pointer() && is_signed_integer(type);
    if (left.type->is_pointer())
        ops_.scale(right, element_bytes(left.type), node.at);
    // C converts a negative 32-bit value to unsigned before a division by an unsigned
    // value.
    if ((node.op == Op::Div || node.op == Op::Mod) && wraps_below_64(type) &&
        is_signed_integer(left.type))
        ops_.extend_from(result, 32, false, node.at);
    ops_.arithmetic(node.op, result, right, is_signed, node.at);
    right.release();
    narrow_to(result, left);
    put(result, to, left.type);
    return result;
}

Register ExprGenerator::value_of_step(const Node& node)
{
    const Node& left = *node.left;
    Lvalue to = open(left);
    Register before = fetch(to);
    if (left.type->is_float()) {
        Register one =
            ops_.integer(float_bits(node.op == Op::Inc ? 1 : -1, nullptr), node.at);
        Register after = registers_.take(node.at);
        code_.emit(DIF_OP_MOV, before, after);
        ops_.modify_float(Op::Add, after, one, left);
        one.release();
        put(after, to, left.type);
        return node.kind == NodeKind::PreInc ? std::move(after) : std::move(before);
    }
    Register after = ops_.integer(node.value, node.at);
    code_.emit(node.op == Op::Inc ? DIF_OP_ADD : DIF_OP_SUB, before, after, after);
    narrow_to(after, left);
    put(after, to, left.type);
    return node.kind == NodeKind::PreInc ? std::move(after) : std::move(before);
}

// The tuple contains the arguments of a subroutine or the keys of an associative array.
// The generated code builds and uses it in four steps:
//
//   1. Evaluate the parts up to the last part that itself uses the tuple, and keep
//      their values in registers.
//   2. flushts empties the tuple.
//   3. Evaluate each remaining part. pushtr (by reference) or pushtv adds each part.
//   4. call, ldgaa, stgaa, ldtaa or sttaa consumes the tuple.
//
// Usually no part uses the tuple. Then all parts are evaluated in step 3, in the same
// register.

bool is_assoc(const Node& node)
{
    return node.kind == NodeKind::Index && node.left->kind == NodeKind::Ident &&
           node.left->ident != nullptr &&
           node.left->ident->kind == IdentKind::AssocArray;
}

ExprGenerator::Kept ExprGenerator::keep_effects(const std::vector<NodePtr>& parts)
{
    Kept kept(parts.size());
    for (std::size_t i = 0; i < parts.size(); i++)
        if (facts_.of(*parts[i]).has_effects)
            kept[i] = value(*parts[i]);
    return kept;
}

static bool is_literal(const Node& part)
{
    return part.kind == NodeKind::Integer || part.kind == NodeKind::String;
}

void ExprGenerator::push_tuple(const std::vector<NodePtr>& parts,
                               const std::vector<const Type*>* as_types,
                               const Kept& kept, Place at)
{
    if (parts.size() > static_cast<std::size_t>(options_.n_tuple_registers))
        fail(Tag::NOREG, at,
             "Insufficient tuple registers to generate code: " +
                 std::to_string(parts.size()) +
                 " key parts or arguments, but at most " +
                 std::to_string(options_.n_tuple_registers) + " are possible");

    auto is_kept = [&](std::size_t i) { return i < kept.size() && kept[i].held(); };
    std::size_t n_waiting = 0;
    for (std::size_t i = 0; i < parts.size(); i++)
        if (!is_kept(i) && facts_.of(*parts[i]).uses_tuple)
            n_waiting = i + 1;
    std::vector<Register> waiting(n_waiting);
    for (std::size_t i = 0; i < n_waiting; i++)
        if (!is_kept(i) && !is_literal(*parts[i]))
            waiting[i] = value(*parts[i]);

    code_.emit(DIF_OP_FLUSHTS);
    for (std::size_t i = 0; i < parts.size(); i++) {
        const Type* as_type =
            as_types != nullptr && i < as_types->size() ? (*as_types)[i] : nullptr;
        if (is_kept(i)) {
            push(*parts[i], as_type, kept[i]);
            continue;
        }
        bool waits = i < n_waiting && waiting[i].held();
        Register part = waits ? std::move(waiting[i]) : value(*parts[i]);
        push(*parts[i], as_type, part);
    }
}

void ExprGenerator::push(const Node& part, const Type* as_type, int reg)
{
    if (part.type->is_string() || (as_type != nullptr && as_type->is_string())) {
        code_.emit(DIF_OP_PUSHTR, DIF_TYPE_STRING, DIF_REG_R0, reg);
    } else if (travels_by_ref(part.type)) {
        Register size = ops_.integer(part.type->resolve()->size, part.at);
        code_.emit(DIF_OP_PUSHTR, DIF_TYPE_CTF, size, reg);
    } else {
        // A key is converted to the key type that the array's first use has set, so
        // that equal keys have equal bits. A key of a wider type is not truncated.
        if (as_type != nullptr && as_type->is_integer() &&
            part.type->resolve()->size <= as_type->resolve()->size &&
            !is_canonical(part, as_type))
            ops_.narrow(reg, as_type, part.at);
        code_.emit(DIF_OP_PUSHTV, DIF_TYPE_CTF, DIF_REG_R0, reg);
    }
}

Register ExprGenerator::value_of_call(const Node& node)
{
    if (node.ident == nullptr || node.ident->kind != IdentKind::Subroutine)
        fail(Tag::CG_EXPR, node.at, node.text + "( ) may not be part of an expression");
    if (node.ident->id == DIF_SUBR_bcopy || node.ident->id == DIF_SUBR_copyinto)
        for (const NodePtr& argument : node.args)
            decays(*argument);
    push_tuple(node.args, nullptr, {}, node.at);
    Register out = registers_.take(node.at);
    code_.emit_numbered(DIF_OP_CALL, node.ident->id, out);
    return out;
}

Register ExprGenerator::load_assoc(const Node& node, const Kept& kept)
{
    const Ident& array = *node.left->ident;
    push_tuple(node.args, &array.keys, kept, node.at);
    Register out = registers_.take(node.at);
    load_object(node, out);
    return out;
}

void ExprGenerator::store_assoc(const Node& node, int reg, const Kept& kept)
{
    const Ident& array = *node.left->ident;
    push_tuple(node.args, &array.keys, kept, node.at);
    note(array, DIFV_F_MOD);
    code_.emit_numbered(scope_ops(array.scope).store_assoc, array.id, reg);
}

} // namespace dt
