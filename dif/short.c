/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Recognises and evaluates simple DIFOs (enum dt_short_kind). A simple DIFO is:
 *   - a builtin, a constant, or a thread-local variable
 *   - a comparison of a builtin with a constant
 *   - a store of a builtin or a constant to a thread-local variable
 *   - the difference of a builtin and a thread-local variable
 * The loader recognises a simple DIFO. dt_value() evaluates it without the
 * interpreter. The result is the same as that of the interpreter, including
 * faults and the instruction at which they occur.
 */
#include "dif/load.h"

/*
 * The indices of the instructions of a comparison, in the order in which the
 * compiler generates them.
 */
enum {
	DT_AT_LOAD,
	DT_AT_SETX,
	DT_AT_CMP,
	DT_AT_BRANCH,
	DT_AT_FALSE,
	DT_AT_SKIP,
	DT_AT_TRUE,
	DT_AT_RET,
	DT_COMPARE_INSNS
};

static int dt_is_var(dt_u32 insn)
{
	return DIF_INSTR_OP(insn) == DIF_OP_LDGS &&
	       DIF_INSTR_IDX(insn) < DIF_VAR_OTHER_UBASE;
}

static int dt_is_compare(const dt_u32 *t, const dt_u64 *ints)
{
	dt_u32 r = DIF_INSTR_RD(t[DT_AT_RET]);
	dt_u32 a = DIF_INSTR_RD(t[DT_AT_LOAD]), b = DIF_INSTR_RD(t[DT_AT_SETX]);
	dt_u32 op = DIF_INSTR_OP(t[DT_AT_BRANCH]);

	return dt_is_var(t[DT_AT_LOAD]) && a != b && r &&
	       DIF_INSTR_OP(t[DT_AT_SETX]) == DIF_OP_SETX &&
	       t[DT_AT_CMP] == DIF_INSTR(DIF_OP_CMP, a, b, 0) &&
	       op > DIF_OP_BA && op <= DIF_OP_BLEU &&
	       DIF_INSTR_LABEL(t[DT_AT_BRANCH]) == DT_AT_TRUE &&
	       t[DT_AT_FALSE] == DIF_INSTR(DIF_OP_MOV, 0, 0, r) &&
	       t[DT_AT_SKIP] == DIF_INSTR_WITH_LABEL(DIF_OP_BA, DT_AT_RET) &&
	       DIF_INSTR_OP(t[DT_AT_TRUE]) == DIF_OP_SETX &&
	       DIF_INSTR_RD(t[DT_AT_TRUE]) == r &&
	       ints[DIF_INSTR_IDX(t[DT_AT_TRUE])] == 1 &&
	       DIF_INSTR_OP(t[DT_AT_RET]) == DIF_OP_RET;
}

static int dt_is_ret(dt_u32 insn, dt_u32 rd)
{
	return DIF_INSTR_OP(insn) == DIF_OP_RET && DIF_INSTR_RD(insn) == rd;
}

/*
 * Recognises two instructions: a load of a builtin, a constant or a
 * thread-local variable, and ret.
 */
static void dt_short_of_two(const dt_u32 *t, const dt_u64 *ints,
			    struct dt_short *s)
{
	if (!dt_is_ret(t[1], DIF_INSTR_RD(t[0])))
		return;
	if (dt_is_var(t[0])) {
		s->kind = DT_SHORT_VAR;
		s->var = DIF_INSTR_IDX(t[0]);
	} else if (DIF_INSTR_OP(t[0]) == DIF_OP_SETX) {
		s->kind = DT_SHORT_CONST;
		s->value = ints[DIF_INSTR_IDX(t[0])];
	} else if (DIF_INSTR_OP(t[0]) == DIF_OP_LDTS) {
		s->kind = DT_SHORT_SELF;
		s->self = DIF_INSTR_IDX(t[0]);
	}
}

/*
 * Recognises three instructions: a load of a builtin or a constant, stts, and
 * ret.
 */
static void dt_short_of_three(const dt_u32 *t, const dt_u64 *ints,
			      struct dt_short *s)
{
	dt_u32 rd = DIF_INSTR_RD(t[0]);

	if (DIF_INSTR_OP(t[1]) != DIF_OP_STTS || DIF_INSTR_RD(t[1]) != rd ||
	    !dt_is_ret(t[2], rd))
		return;
	s->self = DIF_INSTR_IDX(t[1]);
	if (dt_is_var(t[0])) {
		s->kind = DT_SHORT_SET_VAR;
		s->var = DIF_INSTR_IDX(t[0]);
	} else if (DIF_INSTR_OP(t[0]) == DIF_OP_SETX) {
		s->kind = DT_SHORT_SET_CONST;
		s->value = ints[DIF_INSTR_IDX(t[0])];
	} else if (t[0] == DIF_INSTR(DIF_OP_MOV, 0, 0, rd)) {
		s->kind = DT_SHORT_SET_CONST;
	}
}

/* Recognises four instructions: ldgs, ldts, sub and ret. */
static void dt_short_of_four(const dt_u32 *t, struct dt_short *s)
{
	dt_u32 a = DIF_INSTR_RD(t[0]), b = DIF_INSTR_RD(t[1]);

	if (!dt_is_var(t[0]) || DIF_INSTR_OP(t[1]) != DIF_OP_LDTS || a == b ||
	    (t[2] & ~0xffu) != DIF_INSTR(DIF_OP_SUB, a, b, 0) ||
	    !dt_is_ret(t[3], DIF_INSTR_RD(t[2])))
		return;
	s->kind = DT_SHORT_SINCE;
	s->var = DIF_INSTR_IDX(t[0]);
	s->self = DIF_INSTR_IDX(t[1]);
}

void dt_short_make(const void *base, dt_off difo, struct dt_short *s)
{
	const struct dt_difo *d = dt_at(base, difo);
	const dt_u32 *t = dt_at(base, d->text);
	const dt_u64 *ints = dt_at(base, d->ints);

	dt_zero(s, sizeof(*s));
	s->kind = DT_SHORT_NONE;
	if (!difo)
		return;
	if (d->n_text == 2) {
		dt_short_of_two(t, ints, s);
	} else if (d->n_text == 3) {
		dt_short_of_three(t, ints, s);
	} else if (d->n_text == 4) {
		dt_short_of_four(t, s);
	} else if (d->n_text == DT_COMPARE_INSNS && dt_is_compare(t, ints)) {
		s->kind = DT_SHORT_COMPARE;
		s->var = DIF_INSTR_IDX(t[DT_AT_LOAD]);
		s->op = DIF_INSTR_OP(t[DT_AT_BRANCH]);
		s->value = ints[DIF_INSTR_IDX(t[DT_AT_SETX])];
	}
	if (s->kind >= DT_SHORT_SELF && !dt_has_slot(base, base, s->self))
		s->kind = DT_SHORT_NONE;
}

DT_INLINE dt_u64 dt_short_var(struct dt_mstate *m, const struct dt_short *s)
{
	dt_u64 n = (dt_u64)s->var - DIF_VAR_arg0;

	m->pc = 1;
	if (DT_LIKELY(n < m->n_args))
		return m->args[n];
	if (s->var == DIF_VAR_timestamp)
		return dt_now(m);
	return dt_builtin(m, s->var);
}

static dt_u64 dt_short_compare(dt_u32 op, dt_u64 a, dt_u64 b)
{
	switch (op) {
	case DIF_OP_BE:
		return a == b;
	case DIF_OP_BNE:
		return a != b;
	case DIF_OP_BG:
		return (dt_s64)a > (dt_s64)b;
	case DIF_OP_BGU:
		return a > b;
	case DIF_OP_BGE:
		return (dt_s64)a >= (dt_s64)b;
	case DIF_OP_BGEU:
		return a >= b;
	case DIF_OP_BL:
		return (dt_s64)a < (dt_s64)b;
	case DIF_OP_BLU:
		return a < b;
	case DIF_OP_BLE:
		return (dt_s64)a <= (dt_s64)b;
	default: /* BLEU */
		return a <= b;
	}
}

DT_INLINE dt_u64 dt_short_self(struct dt_mstate *m, const struct dt_short *s,
			       dt_u32 pc)
{
	m->pc = pc;
	return dt_slot_get(m, s->self);
}

dt_u64 dt_value(struct dt_mstate *m, const struct dt_short *s, dt_off difo)
{
	dt_u64 v;

	switch (s->kind) {
	case DT_SHORT_VAR:
		v = dt_short_var(m, s);
		break;
	case DT_SHORT_CONST:
		return s->value;
	case DT_SHORT_COMPARE:
		v = dt_short_compare(s->op, dt_short_var(m, s), s->value);
		break;
	case DT_SHORT_SELF:
		v = dt_short_self(m, s, 1);
		break;
	case DT_SHORT_SET_VAR:
	case DT_SHORT_SET_CONST:
		v = s->value;
		if (s->kind == DT_SHORT_SET_VAR)
			v = dt_short_var(m, s);
		if (DT_UNLIKELY(m->fault))
			return 0;
		m->pc = 2;
		dt_slot_put(m, s->self, v);
		break;
	case DT_SHORT_SINCE:
		v = dt_short_var(m, s);
		if (DT_LIKELY(!m->fault))
			v -= dt_short_self(m, s, 2);
		break;
	default:
		return dt_exec(m, difo);
	}
	return DT_UNLIKELY(m->fault) ? 0 : v;
}
