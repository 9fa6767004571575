/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Verifies DIFOs when they are loaded. The interpreter relies on the properties
 * that are checked here.
 *
 * The operand column of DIF_OPS determines which fields of an instruction are
 * registers, indices or zero. Branches go only forward and the last instruction
 * returns, so every DIFO terminates. The loader declares a DIFO's variables
 * before it calls dt_verify().
 */
#include "dif/load.h"

struct dt_check {
	struct dt_loader *l;
	const struct dt_difo *d;
	dt_u32 at; /* index of the instruction */
	dt_u32 destructive;
};

static int dt_bad(struct dt_check *c, const char *text)
{
	return dt_refuse(c->l, c->at, text);
}

static int dt_reads(struct dt_check *c, dt_u32 reg)
{
	return reg < DIF_DIR_NREGS ? 0 : dt_bad(c, "no such register");
}

static int dt_writes(struct dt_check *c, dt_u32 reg)
{
	if (reg == DIF_REG_R0)
		return dt_bad(c, "cannot write to %r0");
	return dt_reads(c, reg);
}

static int dt_is_zero(struct dt_check *c, dt_u32 bits)
{
	return bits ? dt_bad(c, "unused bits of an instruction are not zero")
		    : 0;
}

/* Checks the 24 bits after the opcode according to the operand format. */
static int dt_check_operands(struct dt_check *c, dt_u32 i, dt_u32 format)
{
	dt_u32 r1 = DIF_INSTR_R1(i), r2 = DIF_INSTR_R2(i);
	dt_u32 rd = DIF_INSTR_RD(i), idx = DIF_INSTR_IDX(i);

	switch (format) {
	case DIF_FMT_R1_R2_RD:
		return dt_reads(c, r1) || dt_reads(c, r2) || dt_writes(c, rd);
	case DIF_FMT_R1_RD:
	case DIF_FMT_LOAD:
		return dt_is_zero(c, r2) || dt_reads(c, r1) || dt_writes(c, rd);
	case DIF_FMT_R1_R2:
		return dt_is_zero(c, rd) || dt_reads(c, r1) || dt_reads(c, r2);
	case DIF_FMT_R1:
		return dt_is_zero(c, r2 | rd) || dt_reads(c, r1);
	case DIF_FMT_STORE:
		return dt_is_zero(c, r2) || dt_reads(c, r1) || dt_writes(c, rd);
	case DIF_FMT_LABEL:
		if (DIF_INSTR_LABEL(i) >= c->d->n_text)
			return dt_bad(c, "branch leaves the text");
		if (DIF_INSTR_LABEL(i) <= c->at)
			return dt_bad(c, "branch does not go forward");
		return 0;
	case DIF_FMT_RD:
		return dt_is_zero(c, r1 | r2) || dt_reads(c, rd);
	case DIF_FMT_NONE:
		return dt_is_zero(c, DIF_INSTR_LABEL(i));
	case DIF_FMT_INT_RD:
		if (idx >= c->d->n_ints)
			return dt_bad(c, "no such entry in the integer table");
		return dt_writes(c, rd);
	case DIF_FMT_STR_RD:
		if (idx >= c->d->strs_bytes)
			return dt_bad(c, "no such offset in the string table");
		return dt_writes(c, rd);
	case DIF_FMT_VAR_RD:
	case DIF_FMT_SUBR_RD:
		return dt_writes(c, rd);
	case DIF_FMT_RD_VAR:
		return dt_reads(c, rd);
	case DIF_FMT_VAR_R2_RD:
		return dt_reads(c, r2) || dt_writes(c, rd);
	case DIF_FMT_TUPLE:
		if (r1 > DIF_TYPE_STRING)
			return dt_bad(c, "tuple element has an unknown type");
		return dt_reads(c, r2) || dt_reads(c, rd);
	default:
		return dt_bad(c, "instruction is not available");
	}
}

#define DT_GOOD_ENGINE 1
#define DT_GOOD_ARG 1
#define DT_GOOD_NUMBER 1
#define DT_GOOD_STRING 1
#define DT_GOOD_TYPED 1
#define DT_GOOD_KERNEL 2

/*
 * Returns 1 for a builtin that all hosts have, 2 for a builtin that only the
 * kernel has, and -1 for any other id.
 */
static int dt_builtin_scalar(dt_u32 id)
{
	switch (id) {
#define X(name, number, type, source)                                          \
	case number:                                                           \
		return DT_GOOD_##source;
		DIF_VAR_SCALARS(X)
#undef X
	default:
		return -1;
	}
}

/* Does the same as dt_builtin_scalar() for builtin arrays. */
static int dt_is_array(dt_u32 id)
{
	switch (id) {
#define X(name, number, type, source)                                          \
	case number:                                                           \
		return DT_GOOD_##source;
		DIF_VAR_ARRAYS(X)
#undef X
	default:
		return -1;
	}
}

static int dt_check_builtin(struct dt_check *c, dt_u32 id, int good)
{
	int is_of_stack = id == DIF_VAR_caller || id == DIF_VAR_stackdepth;

	if (good < 0)
		return dt_bad(c, "no such built-in variable");
	if (good == DT_GOOD_KERNEL && !c->l->arena->has_kernel &&
	    !(is_of_stack && c->l->arena->has_stack))
		return dt_bad(
		    c, "built-in variable is available only in the kernel");
	return 0;
}

static int dt_check_var(struct dt_check *c, dt_u32 id, dt_u32 scope,
			dt_u32 kind)
{
	const struct dt_var *v;

	if (id < DIF_VAR_OTHER_UBASE)
		return dt_bad(c, "not a user variable");
	v = dt_find_var(c->l->base, c->l->arena, scope, id);
	if (!v)
		return dt_bad(c, "variable was not declared");
	if (v->kind != kind)
		return dt_bad(c, "variable was declared with a different kind");
	return 0;
}

/* Checks that the variable is declared with a structure or array type. */
static int dt_check_object(struct dt_check *c, dt_u32 id, dt_u32 scope,
			   dt_u32 kind)
{
	const struct dt_var *v;

	if (dt_check_var(c, id, scope, kind) != 0)
		return -1;
	v = dt_find_var(c->l->base, c->l->arena, scope, id);
	if (!dt_type_byref(&v->type) || v->type.kind == DIF_TYPE_STRING)
		return dt_bad(c, "variable is not a structure or array");
	return 0;
}

static int dt_subr_where(dt_u32 subr, int has_kernel, dt_u32 *destructive)
{
	enum { ANY, WRITE, KERNEL, NONE } where;

	switch (subr) {
#define X(name, number, prototype, availability)                               \
	case number:                                                           \
		where = availability;                                          \
		break;
		DIF_SUBRS(X)
#undef X
	default:
		return -1;
	}
	*destructive |= where == WRITE;
	return where == ANY || where == WRITE ||
	       (where == KERNEL && has_kernel);
}

static int dt_check_call(struct dt_check *c, dt_u32 subr)
{
	int can = dt_subr_where(subr, c->l->arena->has_kernel != 0,
				&c->destructive);

	if (can < 0)
		return dt_bad(c, "no such subroutine");
	if (can)
		return 0;
	return dt_bad(c,
		      "subroutine is available only in the kernel or on other systems");
}

/* Checks the rules that the operand column of DIF_OPS does not express. */
static int dt_check_meaning(struct dt_check *c, dt_u32 i)
{
	dt_u32 id = DIF_INSTR_IDX(i);

	if (DIF_OP_IS_FLOAT(DIF_INSTR_OP(i)) && !c->l->arena->has_float)
		return dt_bad(
		    c,
		    "floating-point arithmetic is not available in the kernel");
	switch (DIF_INSTR_OP(i)) {
	case DIF_OP_LDGS:
		if (id < DIF_VAR_OTHER_UBASE)
			return dt_check_builtin(c, id, dt_builtin_scalar(id));
		return dt_check_var(c, id, DIFV_SCOPE_GLOBAL, DIFV_KIND_SCALAR);
	case DIF_OP_STGS:
		return dt_check_var(c, id, DIFV_SCOPE_GLOBAL, DIFV_KIND_SCALAR);
	case DIF_OP_LDGAAM:
		return dt_check_object(c, id, DIFV_SCOPE_GLOBAL,
				       DIFV_KIND_ARRAY);
	case DIF_OP_LDTAAM:
		return dt_check_object(c, id, DIFV_SCOPE_THREAD,
				       DIFV_KIND_ARRAY);
	case DIF_OP_LDTSM:
		return dt_check_object(c, id, DIFV_SCOPE_THREAD,
				       DIFV_KIND_SCALAR);
	case DIF_OP_LDTS:
	case DIF_OP_STTS:
		return dt_check_var(c, id, DIFV_SCOPE_THREAD, DIFV_KIND_SCALAR);
	case DIF_OP_LDLS:
	case DIF_OP_STLS:
		return dt_check_var(c, id, DIFV_SCOPE_LOCAL, DIFV_KIND_SCALAR);
	case DIF_OP_LDGAA:
	case DIF_OP_STGAA:
		return dt_check_var(c, id, DIFV_SCOPE_GLOBAL, DIFV_KIND_ARRAY);
	case DIF_OP_LDTAA:
	case DIF_OP_STTAA:
		return dt_check_var(c, id, DIFV_SCOPE_THREAD, DIFV_KIND_ARRAY);
	case DIF_OP_LDGA:
		return dt_check_builtin(c, DIF_INSTR_R1(i),
					dt_is_array(DIF_INSTR_R1(i)));
	case DIF_OP_LDTA:
		return dt_check_builtin(c, DIF_INSTR_R1(i), -1);
	case DIF_OP_CALL:
		return dt_check_call(c, id);
	default:
		return 0;
	}
}

static const dt_u8 dt_op_format[256] = {
#define X(op, number, operands, mnemonic) [number] = DIF_FMT_##operands + 1,
    DIF_OPS(X)
#undef X
};

int dt_verify(struct dt_loader *l, const struct dt_difo *d)
{
	struct dt_check c = {l, d, 0, 0};
	const dt_u32 *text = dt_at(l->base, d->text);

	for (c.at = 0; c.at < d->n_text; c.at++) {
		dt_u32 format = dt_op_format[DIF_INSTR_OP(text[c.at])];

		if (!format)
			return dt_bad(&c, "unknown opcode");
		if (dt_check_operands(&c, text[c.at], format - 1) != 0 ||
		    dt_check_meaning(&c, text[c.at]) != 0)
			return -1;
	}
	c.at = d->n_text - 1;
	if (DIF_INSTR_OP(text[c.at]) != DIF_OP_RET)
		return dt_bad(&c, "last instruction is not ret");
	((struct dt_difo *)d)->destructive = c.destructive;
	return 0;
}
