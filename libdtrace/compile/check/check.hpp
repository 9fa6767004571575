// SPDX-License-Identifier: MIT
// The contract between the checker and the code generator. It describes the form of the
// tree after check().
//
// check() rewrites the tree in place. It replaces some kinds of node with simpler ones,
// so that the generator has few kinds to handle:
//
//   removed   check() replaces these nodes: Plus, SizeofType, SizeofExpr, Offsetof,
//             TypeName and Xlate; an Ident of an Enumerator, Inline or Symbol; args[n];
//             curpsinfo->x, curlwpsinfo->x and fds[n].x; parameterised inlines. An
//             integer expression of constants becomes an Integer.
//   Integer   value is the 64-bit result that DIF would compute. It is not narrowed to
//             type. Constants of pointer type (NULL, &object`symbol) are Integer nodes
//             too.
//   Float     float_value; type float or double
//   String    text; type string
//   Ident     ident is a Scalar or CArray (a D variable of scope Global, Self or This),
//             or a Builtin (ident->id is the DIF variable). An Ident of by-reference
//             type (string, struct, array) evaluates to its address.
//   Aggregate ident->id is the aggregation's variable; args are the checked keys. An
//             Aggregate is only on the left of a statement's Assign, or an argument of
//             printa, clear, trunc, normalize or denormalize.
//   Index     If left is an Ident of kind AssocArray, args are the parts of the key,
//               each checked against ident->keys. The array is global or thread-local.
//             If left is an Ident of kind Builtin (uregs, fi_name), args[0] is the
//             index. Otherwise left is an array, a pointer or a string, and args[0] is
//             the only index. Element i is at value(left) + i * type->size. A constant
//             index is within the declared bounds.
//   Member, Arrow   left is a struct or union, whose value is its address; for Arrow,
//             left is a pointer to one. value is the byte offset of the member's
//             storage unit, which has the size of type. If bitfield is set, the unit
//             has bitfield_unit bytes, and the field has bitfield_bits bits, starting
//             bitfield_offset bits above the least significant bit of the unit. The
//             field is sign-extended if type is signed. For other members, bitfield_*
//             are 0.
//   Unary     Not of a scalar; BitNot; Neg; Deref, which evaluates to the pointer if
//             the pointee is passed by reference; AddrOf, whose left is an lvalue in
//             memory (a Deref, an Index of a pointer or C array, a Member, an Arrow, or
//             an Ident of by-reference type)
//   PreInc, PostInc   op is Inc or Dec; value is the step, 1 or the pointee's size
//   Binary    Arithmetic and bits: operand_type is the type of C's usual conversions
//               (for shifts, the left operand's promoted type). Whether it is signed
//               selects sdiv or udiv, srem or urem, sra or srl. Operands are not
//               narrowed to operand_type, except that Casts keep unsigned 32-bit
//               arithmetic in 32 bits.
//             Add and Sub of a pointer and an integer: type is that of the pointer,
//               which may be on either side of Add. The generator multiplies the
//               integer by the pointee's size (1 for void).
//             Sub of two pointers: type is int64_t. The generator divides the
//               difference by the pointee's size.
//             Comparisons: type is int. If string_compare is set, the generator uses
//               scmp, otherwise cmp with the sign of operand_type (pointers are
//               unsigned).
//             LogAnd and LogOr short-circuit, LogXor does not. The operands are
//             scalars.
//             Comma: left is evaluated for its effect; type is that of right.
//   Assign    left is an lvalue (Ident, Index, Member, Arrow or Deref) and sets the
//             type. An integer must be narrowed to this type. A value by reference must
//             be copied: left->type->size bytes, or a string up to its NUL. If op is
//             not None, the result is computed in operand_type, then narrowed; if left
//             is a pointer, += and -= scale the right side as in Binary.
//             If left is an Aggregate, right is a Call to an AggFunc (see below). This
//             is an entire statement, never part of an expression.
//             The type of left is never Dynamic, because the first assignment has set
//             it.
//   Cond      cond is a scalar; type is the common type of left and right, or void.
//   Cast      type is never bool: such a cast becomes Binary Ne with 0, of type bool.
//             An integer is narrowed to type, unless type has 8 bytes or the value is
//             known to be canonical in type (generate.hpp). Other casts (of pointers
//             and strings) change only the type.
//   Stringof  left is an address; only the type changes.
//   Call      ident->kind is one of:
//     Subroutine  args fit the prototype of ident->id; ident->flags is "ANY", "WRITE"
//                 or "KERNEL". Optional arguments that the program omits are absent.
//     Action      An entire statement, except that stack() and symbol actions may also
//                 be a key of an aggregation. trace(ustack()) and similar calls have
//                 been replaced with the inner call. ident->id is the kind
//                 (DTRACEACT_*); ident->libact and ident->flags come from its row.
//                   trace, print   args[0]; text is "trace" or "print"
//                   printf, system, freopen   format; args are only the values
//                   printa         format, or null for the default; args are Aggregates
//                   tracemem       value is the size in bytes, which is no longer in
//                                  args; args[0] is the address, args[1] the dynamic
//                                  size, if any
//                   ustack, jstack value is DTRACE_USTACK_ARG(frames, strsize); no args
//                   stack          value is the number of frames; no args
//                   sym, mod, func, usym, ufunc, umod, uaddr   args[0] is the address
//                   exit, raise, chill, speculate, commit, discard   args[0]
//                   clear, denormalize  args[0] is an Aggregate
//                   normalize      args[0] is an Aggregate, args[1] the divisor
//                   trunc          args[0] is an Aggregate, args[1] the count, if any
//                   setopt         args[0] and, if the option has a value, args[1] are
//                                  strings
//                   ftruncate, stop, breakpoint, panic   no args
//     AggFunc     The right side of an aggregating statement. ident->id is DTRACEAGG_*.
//                 For lquantize and llquantize, value contains the packed parameters.
//                 For other functions, value is DT_AGG_FLOAT if the aggregation
//                 contains doubles, and 0 otherwise. agg_arg of the aggregation is
//                 equal to value. args[0] is the value to aggregate (absent for count),
//                 args[1] the increment, if any. The parameters have been removed from
//                 args.
//
// Every node has a type. If userland is set, a load through this pointer, or of this
// by-reference value, reads the memory of the traced process. If is_constant is set,
// the node is an Integer.
//
// All statements are Expr. A clause with an empty body has default_action set, and a
// clause with an action or subroutine that needs -w has destructive set. A ProbeSpec's
// matched contains the ids of its probes.
//
// Reading order: check.cpp (units, clauses, statements), check_names.cpp (what a name
// refers to), check_expr.cpp (types of expressions), check_calls.cpp and
// check_actions.cpp.
#pragma once

#include "libdtrace/compile/passes.hpp"
