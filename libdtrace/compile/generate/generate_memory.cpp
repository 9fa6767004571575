// SPDX-License-Identifier: MIT
// Generates code for memory: addresses of lvalues, loads by size and sign, stores,
// bit-fields and copies.
#include "libdtrace/compile/generate/generate.hpp"

#include "dif/ops.h"
#include "dif/subrs.h"

#include "dif/vars.h"
#include <algorithm>
#include <utility>

namespace dt {

namespace {

struct LoadOps {
    std::uint64_t bytes;
    dif_op as_signed, as_unsigned, user_signed, user_unsigned, store;
};

constexpr LoadOps load_table[] = {
    {1, DIF_OP_LDSB, DIF_OP_LDUB, DIF_OP_ULDSB, DIF_OP_ULDUB, DIF_OP_STB},
    {2, DIF_OP_LDSH, DIF_OP_LDUH, DIF_OP_ULDSH, DIF_OP_ULDUH, DIF_OP_STH},
    {4, DIF_OP_LDSW, DIF_OP_LDUW, DIF_OP_ULDSW, DIF_OP_ULDUW, DIF_OP_STW},
    {8, DIF_OP_LDX, DIF_OP_LDX, DIF_OP_ULDX, DIF_OP_ULDX, DIF_OP_STX},
};

const LoadOps& ops_for(const Node& node)
{
    std::uint64_t bytes =
        node.bitfield ? node.bitfield_unit : node.type->resolve()->size;
    for (const LoadOps& row : load_table)
        if (row.bytes == bytes)
            return row;
    fail(Tag::CG_EXPR, node.at,
         "cannot load or store a value of type " + type_text(node.type) +
             " with one instruction");
}

} // namespace

// Returns whether the node's address is the address of an object in memory plus an
// offset.
static bool is_part(const Node& node)
{
    bool deref = node.kind == NodeKind::Unary && node.op == Op::Deref;
    bool element = node.kind == NodeKind::Index && !is_assoc(node);
    return travels_by_ref(node.type) &&
           (deref || element || node.kind == NodeKind::Member ||
            node.kind == NodeKind::Arrow);
}

// Returns the address of a node plus `distance` bytes. The constant offsets of nested
// parts are added up at compile time.
Register ExprGenerator::address(const Node& node, std::uint64_t distance)
{
    bool constant_index = false;
    switch (node.kind) {
    case NodeKind::Member:
    case NodeKind::Arrow:
        distance += node.value;
        break;
    case NodeKind::Index:
        constant_index = node.args[0]->kind == NodeKind::Integer;
        if (is_assoc(node) || !constant_index) {
            Register out = is_assoc(node) ? value(node) : address_of_element(node);
            ops_.add_offset(out, distance, node.at);
            return out;
        }
        distance += node.args[0]->value * element_bytes(node.left->type);
        break;
    case NodeKind::Unary:
        if (node.op == Op::Deref)
            break;
        [[fallthrough]];
    default: {
        Register out = value(node); // a by-reference type, so its value is its address
        ops_.add_offset(out, distance, node.at);
        return out;
    }
    }
    if (is_part(*node.left))
        return address(*node.left, distance);
    Register out = value(*node.left);
    ops_.add_offset(out, distance, node.at);
    return out;
}

Register ExprGenerator::address_of_element(const Node& node)
{
    auto [base, position] = operands(*node.left, *node.args[0]);
    ops_.scale(position, element_bytes(node.left->type), node.at);
    code_.emit(DIF_OP_ADD, base, position, base);
    return std::move(base);
}

void ExprGenerator::load(int from, int to, const Node& node)
{
    if (travels_by_ref(node.type)) {
        if (from != to)
            code_.emit(DIF_OP_MOV, from, to);
        return;
    }
    const LoadOps& ops = ops_for(node);
    bool is_signed = is_signed_integer(node.type);
    dif_op plain = is_signed ? ops.as_signed : ops.as_unsigned;
    dif_op user = is_signed ? ops.user_signed : ops.user_unsigned;
    code_.emit(node.left->userland ? user : plain, from, to);
    if (!node.bitfield)
        return;
    // Shift the field's highest bit to bit 63, then its lowest bit to bit 0.
    unsigned above = 64 - node.bitfield_offset - node.bitfield_bits;
    if (above != 0) {
        Register count = ops_.integer(above, node.at);
        code_.emit(DIF_OP_SLL, to, count, to);
    }
    if (node.bitfield_bits < 64) {
        Register count = ops_.integer(64 - node.bitfield_bits, node.at);
        code_.emit(is_signed ? DIF_OP_SRA : DIF_OP_SRL, to, count, to);
    }
}

void ExprGenerator::store(int value, int to, const Node& lvalue)
{
    if (lvalue.bitfield)
        store_bits(value, to, lvalue);
    else
        code_.emit(ops_for(lvalue).store, value, to);
}

// Computes unit = (unit & ~mask) | (value << offset & mask). The value register is not
// changed.
void ExprGenerator::store_bits(int value, int to, const Node& lvalue)
{
    const LoadOps& ops = ops_for(lvalue);
    std::uint64_t field =
        lvalue.bitfield_bits >= 64 ? ~0ull : (1ull << lvalue.bitfield_bits) - 1;
    Register unit = registers_.take(lvalue.at);
    code_.emit(ops.as_unsigned, to, unit);
    {
        Register others = ops_.integer(~(field << lvalue.bitfield_offset), lvalue.at);
        code_.emit(DIF_OP_AND, unit, others, unit);
    }
    Register bits = ops_.integer(field, lvalue.at);
    code_.emit(DIF_OP_AND, value, bits, bits);
    if (lvalue.bitfield_offset != 0) {
        Register count = ops_.integer(lvalue.bitfield_offset, lvalue.at);
        code_.emit(DIF_OP_SLL, bits, count, bits);
    }
    code_.emit(DIF_OP_OR, unit, bits, unit);
    code_.emit(ops.store, unit, to);
}

// Copies a by-reference value to memory. A string is read only up to its NUL, because
// the bytes after it may be unmapped.
void ExprGenerator::copy_object(int from, int to, const Node& lvalue,
                                const Type* from_type)
{
    std::uint64_t bytes = lvalue.type->resolve()->size;
    if (travels_by_ref(from_type))
        bytes = std::min(bytes, from_type->resolve()->size);
    Register size = ops_.integer(bytes, lvalue.at);
    if (from_type->is_string_compatible())
        ops_.limit_to_string(size, from, lvalue.at);
    code_.emit(DIF_OP_COPYS, from, size, to);
}

// Structures, unions and arrays in thread-local variables and associative arrays have
// no memory before the first store to them. Until then, ldts, ldtaa and ldgaa load a
// null address.
//
//   info[pid].calls = 1      ldgaam info, %r1
//
//   info[pid].calls          ldgaa info, %r1;  tst %r1;  bne there
//                            setx size, %r1;  allocs %r1, %r1
//                            there:
//
// For a store, ldgaam allocates an absent element, filled with zeros. For a read of an
// absent element, the code uses zeros in scratch memory, and the element stays absent.

bool ExprGenerator::may_be_absent(const Node& node)
{
    if (!travels_by_ref(node.type) || node.type->is_string())
        return false;
    if (is_assoc(node))
        return true;
    return node.kind == NodeKind::Ident && node.ident->scope == Scope::Self &&
           (node.ident->kind == IdentKind::Scalar ||
            node.ident->kind == IdentKind::CArray);
}

// Records that the program stores to the object that contains `part`. load_object()
// then allocates the object if it is absent.
void ExprGenerator::will_store(const Node& part)
{
    const Node* whole = &part;
    for (;;) {
        bool element = whole->kind == NodeKind::Index && !is_assoc(*whole) &&
                       whole->left->type->resolve()->kind == TypeKind::Array;
        if (!element && whole->kind != NodeKind::Member)
            break;
        whole = whole->left.get();
    }
    if (may_be_absent(*whole))
        made_.insert(whole);
}

// Calls will_store() for an array that is used as a pointer.
void ExprGenerator::decays(const Node& node)
{
    if (node.type->resolve()->kind == TypeKind::Array)
        will_store(node);
}

// Loads the variable's value, or the address of its object, into the given register.
void ExprGenerator::load_object(const Node& node, int into)
{
    const Ident& ident = is_assoc(node) ? *node.left->ident : *node.ident;
    const ScopeOps& ops = scope_ops(ident.scope);
    const bool absent = may_be_absent(node), make = absent && made_.contains(&node);
    note(ident, make ? DIFV_F_REF | DIFV_F_MOD : DIFV_F_REF);
    if (is_assoc(node))
        code_.emit_numbered(make ? ops.make_assoc : ops.load_assoc, ident.id, into);
    else
        code_.emit_numbered(make ? ops.make : ops.load, ident.id, into);
    if (!absent || make)
        return;
    Assembler::Label there = code_.new_label();
    code_.emit(DIF_OP_TST, into);
    code_.branch(DIF_OP_BNE, there);
    code_.set_integer(node.type->resolve()->size, into);
    code_.emit(DIF_OP_ALLOCS, into, into);
    code_.place(there);
}

} // namespace dt
