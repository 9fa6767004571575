// SPDX-License-Identifier: MIT
// The contract between the checker and the code generator: the form of the tree after
// check().
//
// check() rewrites the tree in place, so that the generator has few kinds of nodes to
// handle:
//
//   removed   Plus, SizeofType, SizeofExpr, Offsetof, TypeName and Xlate; an Ident of
//             an Enumerator, Inline or Symbol; args[n]; curpsinfo->x, curlwpsinfo->x
//             and fds[n].x; parameterised inlines. An integer expression of constants
//             becomes an Integer.
//   Integer   value is the 64-bit result that DIF would compute, not narrowed to type.
//             Constants of pointer type (NULL, &object`symbol) are Integer nodes too.
//   Float     float_value; type float or double
//   String    text; type string
//   Ident     ident is a Scalar or CArray (a D variable of scope Global, Self or This),
//             or a Builtin (ident->id is the DIF variable). An Ident of by-reference
//             type (string, struct, array) evaluates to its address.
//   Aggregate ident->id is the aggregation's variable; args are the checked keys. An
//             Aggregate is only on the left of a statement's Assign, or an argument of
//             printa, clear, trunc, normalize or denormalize.
//   Index     left is an Ident of kind AssocArray: args are the parts of the key, each
//               checked against ident->keys. The array is global or thread-local.
//             left is an Ident of kind Builtin (uregs, fi_name): args[0] is the index.
//             left is any other array, pointer or string: args[0] is the only index.
//               Element i is at value(left) + i * type->size. A constant index is
//               within the declared bounds.
//   Member, Arrow   left is a struct or union, whose value is its address; for Arrow,
//             left is a pointer to a struct or union. value is the byte offset of the
//             member. For a bit-field, value is the offset of a unit of bitfield_unit
//             bytes. The field has bitfield_bits bits, and begins bitfield_offset bits
//             above the least significant bit of the unit. It is sign-extended if type
//             is signed.
//   Unary     Not of a scalar; BitNot; Neg; Deref, which evaluates to the pointer if
//             the pointee is passed by reference; AddrOf, whose left is an lvalue in
//             memory
//   PreInc, PostInc   op is Inc or Dec; value is the step, 1 or the pointee's size
//   Binary    Arithmetic and bits: operand_type is the type of C's usual conversions
//               (for shifts, the left operand's promoted type), and selects signed or
//               unsigned instructions. Operands are not narrowed to operand_type,
//               except that Casts keep unsigned 32-bit arithmetic in 32 bits.
//             Add and Sub of a pointer and an integer: type is that of the pointer,
//               which may be on either side of Add. The generator multiplies the
//               integer by the pointee's size (1 for void).
//             Sub of two pointers: type is int64_t. The generator divides the
//               difference by the pointee's size.
//             Comparisons: type is int. If string_compare is set, the generator uses
//               scmp, otherwise cmp with the sign of operand_type (pointers are
//               unsigned).
//             LogAnd and LogOr short-circuit, LogXor does not. The operands are
//               scalars.
//             Comma: left is evaluated for its effect; type is that of right.
//   Assign    left is an lvalue (Ident, Index, Member, Arrow or Deref). type is the
//               type of left, and is not Dynamic. An integer must be narrowed to it.
//               A value by reference must be copied: left->type->size bytes, or a
//               string up to its NUL.
//             If op is not None, the result is computed in operand_type, then narrowed.
//               If left is a pointer, += and -= scale the right side as in Binary.
//             If left is an Aggregate, right is a Call to an AggFunc. This is an entire
//               statement, never part of an expression.
//   Cond      cond is a scalar; type is the common type of left and right, or void.
//   Cast      type is never bool: such a cast becomes Binary Ne with 0, of type bool.
//             An integer is narrowed to type, unless type has 8 bytes or the value is
//             known to be canonical in type (generate.hpp). Other casts change only the
//             type.
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
//                 value contains the packed parameters of lquantize and llquantize,
//                 which are not in args. For other functions, value is DT_AGG_FLOAT if
//                 the aggregation contains doubles, and 0 otherwise. agg_arg of the
//                 aggregation is equal to value. args[0] is the value to aggregate
//                 (absent for count), args[1] the increment, if any.
//
// Every node has a type. If userland is set, a load through this pointer, or of this
// by-reference value, reads the memory of the traced process. If is_constant is set,
// the node is an Integer.
//
// All statements are Expr. A clause with an empty body has default_action set. A clause
// that needs -w has destructive set. A ProbeSpec's matched contains the ids of its
// probes.
#pragma once

#include "libdtrace/compile/passes.hpp"
