// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads an argument of a static probe from registers and memory of the process
 * that has reached the probe.
 *
 * Only memory of the process is read, even if the registers contain a kernel
 * address. A float is converted to a double by integer arithmetic, because
 * kernel code does not use floating-point instructions.
 */
#include "kmod/operand.h"

#include "kmod/consumer.h"
#include "kmod/process.h"

#include <linux/bitops.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include <asm/fpu/types.h>

bool dt_operand_is_valid(const struct dt_operand *o)
{
	bool has_reg = o->reg != DT_OPERAND_NO_REG;

	if (o->form > DT_OPERAND_MEMORY || o->flags & ~DT_OPERAND_FLAGS || o->pad)
		return false;
	if (o->form == DT_OPERAND_UNKNOWN)
		return true;
	if (o->bytes != 1 && o->bytes != 2 && o->bytes != 4 && o->bytes != 8)
		return false;
	if (o->form == DT_OPERAND_CONST)
		return true;
	if ((has_reg || o->form != DT_OPERAND_MEMORY) && o->reg > 15)
		return false;
	return o->form != DT_OPERAND_MEMORY ||
	       ((o->index == DT_OPERAND_NO_REG || o->index <= 15) && o->shift <= 3 &&
		(!o->segment || o->segment == 'f' || o->segment == 'g'));
}

/* Returns the register with this number in the instruction encoding. */
static u64 dt_general(const struct pt_regs *regs, u32 number)
{
	switch (number & 15) {
	case 0:
		return regs->ax;
	case 1:
		return regs->cx;
	case 2:
		return regs->dx;
	case 3:
		return regs->bx;
	case 4:
		return regs->sp;
	case 5:
		return regs->bp;
	case 6:
		return regs->si;
	case 7:
		return regs->di;
	case 8:
		return regs->r8;
	case 9:
		return regs->r9;
	case 10:
		return regs->r10;
	case 11:
		return regs->r11;
	case 12:
		return regs->r12;
	case 13:
		return regs->r13;
	case 14:
		return regs->r14;
	default:
		return regs->r15;
	}
}

static u64 dt_vector_in_cpu(u32 number)
{
	u64 low = 0;

	switch (number & 15) {
#define ROW(n)                                                                         \
	case n:                                                                        \
		asm volatile("movq %%xmm" #n ", %0" : "=r"(low));                      \
		break;
		ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
		ROW(8) ROW(9) ROW(10) ROW(11) ROW(12) ROW(13) ROW(14) ROW(15)
#undef ROW
	}
	return low;
}

/*
 * Returns the low 64 bits of a vector register. Interrupts are off, so the
 * registers do not change.
 */
static u64 dt_vector(u32 number)
{
	const union fpregs_state *saved = &current->thread.fpu.fpstate->regs;
	u64 low;

	if (!test_thread_flag(TIF_NEED_FPU_LOAD))
		return dt_vector_in_cpu(number);
	if (boot_cpu_has(X86_FEATURE_XSAVE) &&
	    !(saved->xsave.header.xfeatures & XFEATURE_MASK_SSE))
		return 0; /* the process has not used vector registers yet */
	memcpy(&low, (const u8 *)saved->fxsave.xmm_space + 16 * (number & 15), sizeof(low));
	return low;
}

static u64 dt_double_of_float(u32 bits)
{
	u64 sign = (u64)(bits >> 31) << 63, fraction = bits & 0x7fffff;
	int exponent = bits >> 23 & 0xff;

	if (exponent == 0xff) /* infinity or NaN; any NaN becomes a quiet NaN */
		return sign | 0x7ffull << 52 | fraction << 29 |
		       (fraction ? 1ull << 51 : 0);
	if (!exponent) {
		if (!fraction)
			return sign;
		for (exponent = 1; !(fraction & 0x800000); exponent--)
			fraction <<= 1;
		fraction &= 0x7fffff;
	}
	return sign | (u64)(exponent + 1023 - 127) << 52 | fraction << 29;
}

static u64 dt_meant(const struct dt_operand *o, u64 bits)
{
	u32 above = 64 - 8 * (u32)o->bytes;

	if (o->flags & DT_OPERAND_FLOAT)
		return o->bytes == 4 ? dt_double_of_float((u32)bits) : bits;
	if (o->flags & DT_OPERAND_SIGNED)
		return (u64)((s64)(bits << above) >> above);
	return bits << above >> above;
}

static u64 dt_address(const struct dt_operand *o, const struct pt_regs *regs)
{
	u64 at = (u64)o->value;

	if (o->reg != DT_OPERAND_NO_REG)
		at += dt_general(regs, o->reg);
	if (o->index != DT_OPERAND_NO_REG)
		at += dt_general(regs, o->index) << o->shift;
	if (o->segment == 'f')
		at += dt_user_fs_base();
	else if (o->segment == 'g')
		at += dt_user_gs_base();
	return at;
}

static int dt_peek_operand(u64 *bits, u64 at, u32 bytes)
{
	if (at >= TASK_SIZE_MAX)
		return -1;
	return copy_from_user_nofault(bits, (const void __user *)at, bytes) ? -1 : 0;
}

int dt_operand_value(const struct dt_operand *o, struct dt_context *x, u64 *value,
		     u64 *bad)
{
	const struct pt_regs *regs = x->regs;
	u64 bits = 0, at;

	*value = *bad = 0;
	switch (o->form) {
	case DT_OPERAND_CONST:
		bits = (u64)o->value;
		break;
	case DT_OPERAND_GENERAL:
		bits = dt_general(regs, o->reg);
		if (o->flags & DT_OPERAND_HIGH_BYTE)
			bits >>= 8;
		break;
	case DT_OPERAND_VECTOR:
		bits = dt_vector(o->reg);
		break;
	case DT_OPERAND_MEMORY:
		at = dt_address(o, regs);
		*bad = at;
		if (!dt_peek_operand(&bits, at, o->bytes))
			break;
		if (!dt_fault_in(x, at, o->bytes) || dt_peek_operand(&bits, at, o->bytes))
			return -1;
		break;
	default:
		return -1;
	}
	*value = dt_meant(o, bits);
	return 0;
}
