/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Computes with doubles in probe context. The probe may have fired in the
 * middle of a floating-point computation of the target. Therefore each
 * operation saves the registers that it uses, and restores them at its end. It
 * computes in the default environment (round to nearest, no traps). The
 * instructions have SSE encodings, which do not change the upper parts of the
 * vector registers.
 */
#include "dif/float.h"

#include "dif/mem.h"
#include "dif/ops.h"

#ifndef __x86_64__
#error "floating point is not implemented for this architecture"
#endif

#define DT_F64_SIGN (1ull << 63)
#define DT_F64_INFINITY 0x7ff0000000000000ull
#define DT_F64_2_TO_63 0x43e0000000000000ull
#define DT_F64_2_TO_64 0x43f0000000000000ull

struct dt_vector_state {
	dt_u8 xmm0[16], xmm1[16];
	dt_u32 mxcsr, ours;
};

/*
 * Executes the instructions `text` and returns the result. The operands a and b
 * are in %xmm0 and %xmm1. `take` is DT_TAKE_XMM0 if the result is in %xmm0. It
 * is DT_TAKE_NOTHING if the result is in the general register %[r].
 */
#define DT_VECTOR(text, take)                                                  \
	({                                                                     \
		struct dt_vector_state saved = {.ours = 0x1f80};               \
		dt_u64 r = a;                                                  \
		__asm__ volatile("movups %%xmm0, %[x0]\n\t"                    \
				 "movups %%xmm1, %[x1]\n\t"                    \
				 "stmxcsr %[csr]\n\t"                          \
				 "ldmxcsr %[ours]\n\t"                         \
				 "movq %[r], %%xmm0\n\t"                       \
				 "movq %[b], %%xmm1\n\t" text "\n\t" take      \
				 "movups %[x0], %%xmm0\n\t"                    \
				 "movups %[x1], %%xmm1\n\t"                    \
				 "ldmxcsr %[csr]"                              \
				 : [r] "+r"(r), [x0] "=m"(saved.xmm0),         \
				   [x1] "=m"(saved.xmm1),                      \
				   [csr] "=m"(saved.mxcsr)                     \
				 : [b] "r"(b), [ours] "m"(saved.ours));        \
		r;                                                             \
	})
#define DT_TAKE_XMM0 "movq %%xmm0, %[r]\n\t"
#define DT_TAKE_NOTHING ""

DT_INLINE dt_u64 dt_is_nan(dt_u64 a)
{
	return (a & ~DT_F64_SIGN) > DT_F64_INFINITY;
}

DT_INLINE dt_u64 dt_from_unsigned(dt_u64 a)
{
	const dt_u64 b = 0;
	dt_u64 odd = a & 1;

	if (!(a >> 63))
		return DT_VECTOR("cvtsi2sdq %[r], %%xmm0", DT_TAKE_XMM0);
	/*
	 * cvtsi2sd takes a signed integer, so a is halved before the conversion
	 * and doubled after it. The bit that is shifted out is ORed into the
	 * lowest bit, so that it still affects the rounding.
	 */
	a = a >> 1 | odd;
	return DT_VECTOR("cvtsi2sdq %[r], %%xmm0\n\taddsd %%xmm0, %%xmm0",
			 DT_TAKE_XMM0);
}

DT_INLINE dt_u64 dt_to_signed(dt_u64 a)
{
	const dt_u64 b = 0;
	dt_u64 r;

	if (dt_is_nan(a))
		return 0;
	r = DT_VECTOR("cvttsd2siq %%xmm0, %[r]", DT_TAKE_NOTHING);
	/*
	 * cvttsd2si returns INT64_MIN for every value out of range. A large
	 * positive value becomes INT64_MAX instead.
	 */
	return r == DT_F64_SIGN && !(a & DT_F64_SIGN) ? r - 1 : r;
}

DT_INLINE dt_u64 dt_to_unsigned(dt_u64 a)
{
	const dt_u64 b = DT_F64_2_TO_63;

	if ((a & DT_F64_SIGN) || a < DT_F64_2_TO_63 || dt_is_nan(a))
		return dt_to_signed(a);
	if (a >= DT_F64_2_TO_64)
		return ~0ull;
	return DT_VECTOR("subsd %%xmm1, %%xmm0\n\tcvttsd2siq %%xmm0, %[r]",
			 DT_TAKE_NOTHING) +
	       DT_F64_SIGN;
}

/*
 * A test checks that no other function of the runtime changes vector registers.
 * Therefore this function must not be inlined.
 */
__attribute__((__noinline__)) dt_u64 dt_flop(dt_u32 op, dt_u64 a, dt_u64 b)
{
	switch (op) {
	case DIF_OP_FADD:
		return DT_VECTOR("addsd %%xmm1, %%xmm0", DT_TAKE_XMM0);
	case DIF_OP_FSUB:
		return DT_VECTOR("subsd %%xmm1, %%xmm0", DT_TAKE_XMM0);
	case DIF_OP_FMUL:
		return DT_VECTOR("mulsd %%xmm1, %%xmm0", DT_TAKE_XMM0);
	case DIF_OP_FDIV:
		return DT_VECTOR("divsd %%xmm1, %%xmm0", DT_TAKE_XMM0);
	case DIF_OP_FEQ:
		return DT_VECTOR("cmpeqsd %%xmm1, %%xmm0", DT_TAKE_XMM0) & 1;
	case DIF_OP_FLT:
		return DT_VECTOR("cmpltsd %%xmm1, %%xmm0", DT_TAKE_XMM0) & 1;
	case DIF_OP_FLE:
		return DT_VECTOR("cmplesd %%xmm1, %%xmm0", DT_TAKE_XMM0) & 1;
	case DIF_OP_FITOD:
		return DT_VECTOR("cvtsi2sdq %[r], %%xmm0", DT_TAKE_XMM0);
	case DIF_OP_FUTOD:
		return dt_from_unsigned(a);
	case DIF_OP_FDTOI:
		return dt_to_signed(a);
	case DIF_OP_FDTOU:
		return dt_to_unsigned(a);
	case DIF_OP_FSTOD:
		return DT_VECTOR("cvtss2sd %%xmm0, %%xmm0", DT_TAKE_XMM0);
	case DIF_OP_FDTOS:
		return DT_VECTOR("cvtsd2ss %%xmm0, %%xmm0", DT_TAKE_XMM0) &
		       0xffffffffull;
	default:
		return 0;
	}
}
