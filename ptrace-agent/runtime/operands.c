/* SPDX-License-Identifier: MIT */
/*
 * Reads each argument of a static probe when the D program uses it. The
 * destination of an indirect jump is read in the same way. The runtime never
 * changes vector registers.
 */
#include "ptrace-agent/runtime/host.h"
#include "ptrace-agent/runtime/operands.h"

static dt_u64 dt_rt_general(const struct dt_rt_frame *frame, dt_u32 number)
{
	/* indexes of rax rcx rdx rbx rsp rbp rsi rdi r8 ... in the frame */
	static const dt_u8 words[16] = {14, 13, 12, 11, 16, 10, 9, 8,
					7,  6,	5,  4,	3,  2,	1, 0};

	return ((const dt_u64 *)frame)[words[number & 15]];
}

static dt_u64 dt_rt_vector(dt_u32 number)
{
	dt_u64 low = 0;

	switch (number) {
#define X(n)                                                                   \
	case n:                                                                \
		__asm__ volatile("movq %%xmm" #n ", %0" : "=r"(low));          \
		break;
		X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
		X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#undef X
	default:
		break;
	}
	return low;
}

static int dt_rt_operand_address(struct dt_rt_run *run,
				 const struct dt_operand *o, dt_u64 *addr)
{
	dt_u64 base = 0;

	*addr = (dt_u64)o->value;
	if (o->reg != DT_OPERAND_NO_REG)
		*addr += dt_rt_general(run->frame, o->reg);
	if (o->index != DT_OPERAND_NO_REG)
		*addr += dt_rt_general(run->frame, o->index) << o->shift;
	if (o->segment &&
	    (o->segment == 'f' ? dt_rt_fs_base(run, &base)
			       : dt_rt_gs_base(&base)) != 0)
		return -1;
	*addr += base;
	return 0;
}

int dt_rt_static_arg(struct dt_rt_run *run, dt_u32 n, dt_u64 *value, dt_u64 *bad)
{
	dt_u64 list = run->firing->arg0, bits = 0;
	dt_u64 at = (dt_u32)list + (dt_u64)n;
	const struct dt_operand *o;

	*bad = 0;
	*value = 0;
	if (n >= list >> 32 || at >= DT_RT_MAX_OPERANDS)
		return 0; /* the probe has fewer arguments, so the value is 0 */
	o = &dt_rt_config.operands[at];
	switch (o->form) {
	case DT_OPERAND_CONST:
		bits = (dt_u64)o->value;
		break;
	case DT_OPERAND_GENERAL:
		bits = dt_rt_general(run->frame, o->reg);
		if (o->flags & DT_OPERAND_HIGH_BYTE)
			bits >>= 8;
		break;
	case DT_OPERAND_VECTOR:
		bits = dt_rt_vector(o->reg);
		break;
	case DT_OPERAND_MEMORY:
		if (dt_rt_operand_address(run, o, &at) != 0 ||
		    dt_rt_load(&run->host, at, &bits, o->bytes, bad) != 0)
			return -1;
		break;
	default:
		return -1;
	}
	*value = dt_rt_operand_value(o, bits);
	return 0;
}

/*
 * Returns 1 if the indirect jump that is about to run leaves its function
 * (dt_leaves_function()). Sets *offset to the distance of the jump from the
 * function's entry. Returns 0 also if the destination cannot be read, because
 * the jump will then fault.
 */
int dt_rt_jumps_out(struct dt_rt_run *run, dt_u64 *offset)
{
	dt_u64 list = run->firing->arg0, to, bad;
	const struct dt_operand *o = &dt_rt_config.operands[(dt_u32)list];

	if (dt_rt_static_arg(run, 0, &to, &bad) != 0 ||
	    !dt_leaves_function(o, (dt_u32)(list >> 32), to))
		return 0;
	*offset = run->site->at - (dt_u64)o[1].value;
	return 1;
}
