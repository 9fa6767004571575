// SPDX-License-Identifier: MIT
// The tuple: arguments of subroutines and keys of associative arrays.
//
//   parts up to the last that uses the tuple itself     evaluated into registers
//   flushts
//   each part, from its register or evaluated now       pushtr (by reference) / pushtv
//   call, ldgaa, stgaa, ldtaa or sttaa                  consumes the tuple
//
// So the parts that do not use the tuple (nearly all) share one register, and eight
// keys fit into the seven registers.
#include "libdtrace/compile/generate/generate.hpp"

#include "dif/ops.h"
#include "dif/subrs.h"
#include "dif/vars.h"

namespace dt {

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
        if (facts(*parts[i]).has_effects)
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
                 std::to_string(parts.size()) + " key parts or arguments, at most " +
                 std::to_string(options_.n_tuple_registers) + " are possible");

    auto is_kept = [&](std::size_t i) { return i < kept.size() && kept[i].held(); };
    std::size_t n_waiting = 0;
    for (std::size_t i = 0; i < parts.size(); i++)
        if (!is_kept(i) && facts(*parts[i]).uses_tuple)
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
        Register size = integer(part.type->resolve()->size, part.at);
        code_.emit(DIF_OP_PUSHTR, DIF_TYPE_CTF, size, reg);
    } else {
        // A key is converted to the type of the array's first use, so that equal keys
        // have equal bits. A key of a wider type keeps its bits: a[0] does not truncate
        // a[timestamp] to 32 bits.
        if (as_type != nullptr && as_type->is_integer() &&
            part.type->resolve()->size <= as_type->resolve()->size &&
            !is_canonical(part, as_type))
            narrow(reg, as_type, part.at);
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
