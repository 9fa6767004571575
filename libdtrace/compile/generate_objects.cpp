// SPDX-License-Identifier: MIT
// Structures, unions and arrays in thread-local variables and associative arrays. They
// have no memory before something is stored to them, and load as null:
//
//   info[pid].calls = 1      the whole, zeros, is stored first, then the member
//   info[pid].calls          of one that is not there is a member of zeros
//
//   ldgaa info, %r1;  tst %r1;  bne there
//   setx size, %r1;  allocs %r1, %r1           zeros
//   stgaa info, %r1;  ldgaa info, %r1          only where something is about to be stored
//   there:
//
// The tuple with the keys is as it was after each of these instructions.
#include "libdtrace/compile/generate.hpp"

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

void ExprGenerator::make_if_absent(const Node& node, int reg)
{
    // An array is a pointer that anybody may store through.
    const Type* type = node.type->resolve();
    bool make = type->kind == TypeKind::Array || made_.contains(&node);
    Assembler::Label there = code_.new_label();
    code_.emit(DIF_OP_TST, reg);
    code_.branch(DIF_OP_BNE, there);
    code_.set_integer(type->size, reg);
    code_.emit(DIF_OP_ALLOCS, reg, reg);
    if (make) {
        const Ident& ident = is_assoc(node) ? *node.left->ident : *node.ident;
        const ScopeOps& ops = scope_ops(ident.scope);
        note(ident, DIFV_F_MOD);
        code_.emit_numbered(is_assoc(node) ? ops.store_assoc : ops.store, ident.id, reg);
        code_.emit_numbered(is_assoc(node) ? ops.load_assoc : ops.load, ident.id, reg);
    }
    code_.place(there);
}

} // namespace dt
