// SPDX-License-Identifier: MIT
// Structures, unions and arrays in thread-local variables and associative arrays. They
// have no memory before the first store to them, and until then load as null:
//
//   info[pid].calls = 1      ldgaam info, %r1     allocates the element, zeroed, if it is absent
//   info[pid].calls          ldgaa info, %r1;  tst %r1;  bne there
//                            setx size, %r1;  allocs %r1, %r1      zeros in scratch memory; no element
//                            there:
//
// An object is prepared for a store if it is on the left of an assignment, if its
// address is taken, or if it is an array that decays to a pointer.
#include "libdtrace/compile/generate/generate.hpp"

#include "dif/ops.h"
#include "dif/vars.h"

namespace dt {

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

// part: a part of an object. The object that contains it is allocated before the store.
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

// An array is used as a pointer: the program may store through it.
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
