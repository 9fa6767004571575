// SPDX-License-Identifier: MIT
// The contract between the checker and the code generator. It describes the form of the
// tree after check().
//
// check() rewrites the tree in place. It replaces some kinds of node by simpler ones,
// so that the generator has few kinds to handle:
//
//   removed   Plus, SizeofType, SizeofExpr, Offsetof, TypeName, Xlate, Float; Ident of
//             an Enumerator, Inline or Symbol; args[n]; curpsinfo->x, curlwpsinfo->x,
//             fds[n].x; parameterised inlines; any integer expression of
//             constants (Integer now)
//   Integer   value: 64 bits, as evaluated at run time, not narrowed to type. Constants
//             of pointer type (NULL, &object`symbol) are Integer nodes too.
//   String    text; type string
//   Ident     ident: Scalar or CArray (D variable; scope Global, Self, This), Builtin
//             (ident->id is the DIF variable). An Ident of by-reference type (string,
//             struct, array) evaluates to its address.
//   Aggregate ident (id: the aggregation's variable), args: checked keys. Only on the left
//             of a statement's Assign and as argument of printa, clear, trunc, normalize,
//             denormalize.
//   Index     left is Ident of kind AssocArray: args are the key parts, each checked
//               against ident->keys. left->ident->scope: global or thread-local.
//             left is Ident of kind Builtin (uregs, fi_name): args[0] is the index.
//             else left has array or pointer type, or is a string (of char): one
//               args[0], element i is at value(left) + i * type->size. A constant index
//               is within declared bounds.
//   Member    left has struct or union type (its value is its address); Arrow: left is a
//             pointer to one. value: byte offset of the member's storage unit, which has
//             type's size. With bitfield: the unit has bitfield_unit bytes, the bits are
//             bitfield_offset (from the least significant bit of the unit), bitfield_bits
//             many, sign-extended when type is signed. Other members: bitfield_* are 0.
//   Unary     Not (operand scalar), BitNot, Neg,
//             Deref (a by-reference pointee evaluates to the pointer), AddrOf (left is an
//             lvalue in memory: Deref, Index of pointer or C array, Member, Arrow, or an
//             Ident of by-reference type)
//   PreInc, PostInc   op Inc or Dec; value: the step, 1 or the pointee's size
//   Binary    arithmetic and bits: operand_type is the type of C's usual conversions (for
//               shifts: the left operand's promoted type); its is_signed chooses
//               sdiv/udiv, srem/urem, sra/srl. Operands are not narrowed to it,
//               except that Casts keep unsigned 32-bit arithmetic in 32 bits.
//             Add, Sub with a pointer: type is the pointer (Add: the pointer may be left
//               or right; multiply the other by the pointee's size, which is 1 for
//               void), or int64_t for pointer - pointer (divide the difference).
//             comparisons: type int; string_compare: scmp, else cmp with operand_type's
//               is_signed (pointers: unsigned).
//             LogAnd, LogOr short-circuit; LogXor does not. Operands scalar.
//             Comma: left for its effect; type is right's.
//   Assign    left is an lvalue: Ident, Index, Member, Arrow, Deref. type is left's; the
//             right value must be narrowed to it (integers) or copied (types by
//             reference: left->type->size bytes; strings up to NUL). op != None: compute
//             in operand_type, then narrow; if left is a pointer, += and -= scale the
//             right side as in Binary.
//             If left is an Aggregate, right is a Call of an AggFunc (see below). This
//             is a complete statement, never part of an expression.
//             The type of left is never Dynamic: the first assignment has set it.
//   Cond      cond scalar; type is the common type of left and right; may be void.
//   Cast      never to bool (that is Binary Ne 0, with type bool). Integers are narrowed
//             or extended if left->type is wider than type, or has the same size below 8
//             and a different sign. Other casts (pointers, strings) change only the
//             type.
//   Stringof  left is an address; only the type changes.
//   Call      ident->kind
//     Subroutine  ident->id, args by prototype; ident->flags "ANY" or "WRITE". Missing
//                 optional arguments are absent. copyinstr, substr, index, rindex,
//                 strtoll, lltostr take fewer args then.
//     Action      only as a complete statement, except that stack() and symbol actions
//                 may be a key of an aggregation. trace(ustack()) and the like have
//                 become the inner call. ident->id is the kind (DTRACEACT_*);
//                 libact and flags are those of its row.
//                   trace, print   args[0]; text: "trace" or "print"
//                   printf, system, freopen   format; args are the values only
//                   printa         format, or null for the default; args: Aggregates
//                   tracemem       value: the bytes; args[0] address, args[1] (maybe)
//                                  the dynamic size; the constant size argument is removed
//                   ustack, jstack value: DTRACE_USTACK_ARG(frames, strsize); no args
//                   stack          value: frames; no args
//                   sym, mod, func, usym, ufunc, umod, uaddr   args[0] the address
//                   exit, raise, chill, speculate, commit, discard   args[0]
//                   clear, denormalize  args[0] Aggregate
//                   normalize      args[0] Aggregate, args[1] the divisor
//                   trunc          args[0] Aggregate, args[1] (maybe) the count
//                   setopt         args[0] and (maybe) args[1] strings
//                   ftruncate, stop, breakpoint, panic   none
//     AggFunc     right side of an aggregating statement. ident->id is DTRACEAGG_*; value
//                 is the packed parameter word of lquantize and llquantize (also in the
//                 Aggregation's ident->agg_arg), else 0. args[0]: the value (absent for
//                 count), args[1] (maybe): the increment. The parameters are removed.
//
// Every node: type is set. userland: loads through this pointer, or of this
// by-reference value, read the memory of the traced process. is_constant: the
// node is an Integer.
// Statements: all are Expr. Clause: default_action is set for an empty body;
// destructive is set when one of its actions or subroutines needs -w. Idents:
// referenced and modified are the flags of DIF's variable table. ProbeSpec: matched has
// the ids of its probes.
//
// Reading order: check.cpp (units, clauses, statements), check_names.cpp (what a name
// refers to), check_expr.cpp (types of expressions), check_calls.cpp and
// check_actions.cpp.
#pragma once

#include "libdtrace/compile/passes.hpp"
