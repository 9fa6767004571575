// SPDX-License-Identifier: MIT
// Structures, unions and arrays in thread-local variables and associative arrays. They
// have no memory before something is stored to them, and load as null:
//
//   info[pid].calls = 1      ldgaam info, %r1: the whole is made of zeros, if it is not there
//   info[pid].calls          ldgaa info, %r1;  tst %r1;  bne there
//                            setx size, %r1;  allocs %r1, %r1      zeros, and nothing is made
//                            there:
//
// What is about to be stored to is what an assignment leads to, what has its address taken,
// and an array that becomes a pointer.
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

// part: of an object; what contains all of it is made before it is stored to.
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

// An array where a pointer is wanted: anybody may store through that.
void ExprGenerator::decays(const Node& node)
{
    if (node.type->resolve()->kind == TypeKind::Array)
        will_store(node);
}

// into: a register. The variable's value, or the address of its object.
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
