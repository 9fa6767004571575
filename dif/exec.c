/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The interpreter of DIF, with one function dt_op_*() for each row of DIF_OPS.
 *
 * The loader has verified that registers, indices and branch targets are in
 * range, that all branches are forward, and that the last instruction returns.
 * Therefore every DIFO terminates. There are no condition codes. A comparison
 * stores its two operands, and a branch evaluates its condition on them. tst
 * stores its operand and 0. scmp stores the order of the two strings (negative,
 * 0 or positive) and 0.
 */
#include "dif/mstate.h"

#define R1(m, i) ((m)->r[DIF_INSTR_R1(i)])
#define R2(m, i) ((m)->r[DIF_INSTR_R2(i)])
#define RD(m, i) ((m)->r[DIF_INSTR_RD(i)])

/* clang-format off */
#define DT_ARITHMETIC(X) \
	X(OR,  a | b) X(XOR, a ^ b) X(AND, a & b) X(SUB, a - b) X(ADD, a + b) \
	X(MUL, a * b) \
	X(SLL, b < 64 ? a << b : 0) \
	X(SRL, b < 64 ? a >> b : 0) \
	X(SRA, (dt_u64)((dt_s64)a >> (b < 64 ? b : 63)))

#define DT_BRANCHES(X) \
	X(BE, a == b) X(BNE, a != b) \
	X(BG, (dt_s64)a > (dt_s64)b) X(BGU, a > b) \
	X(BGE, (dt_s64)a >= (dt_s64)b) X(BGEU, a >= b) \
	X(BL, (dt_s64)a < (dt_s64)b) X(BLU, a < b) \
	X(BLE, (dt_s64)a <= (dt_s64)b) X(BLEU, a <= b)

#define DT_LOADS(X) /* X(suffix, bytes, type) */ \
	X(SB, 1, dt_s8) X(SH, 2, dt_s16) X(SW, 4, dt_s32) \
	X(UB, 1, dt_u8) X(UH, 2, dt_u16) X(UW, 4, dt_u32) X(X, 8, dt_u64)

#define DT_STORES(X) X(STB, 1) X(STH, 2) X(STW, 4) X(STX, 8)
/* clang-format on */

#define X(op, expression)                                                      \
	DT_INLINE void dt_op_##op(struct dt_mstate *m, dt_u32 i)               \
	{                                                                      \
		dt_u64 a = R1(m, i), b = R2(m, i);                             \
		RD(m, i) = (expression);                                       \
	}
DT_ARITHMETIC(X)
#undef X

#define X(op, condition)                                                       \
	DT_INLINE void dt_op_##op(struct dt_mstate *m, dt_u32 i)               \
	{                                                                      \
		dt_u64 a = m->cmp_a, b = m->cmp_b;                             \
		if (condition)                                                 \
			m->pc = DIF_INSTR_LABEL(i);                            \
	}
DT_BRANCHES(X)
#undef X

#define X(suffix, bytes, type)                                                 \
	DT_INLINE void dt_op_LD##suffix(struct dt_mstate *m, dt_u32 i)         \
	{                                                                      \
		RD(m, i) = (dt_u64)(type)dt_load_uint(m, R1(m, i), bytes);     \
	}                                                                      \
	DT_INLINE void dt_op_ULD##suffix(struct dt_mstate *m, dt_u32 i)        \
	{                                                                      \
		RD(m, i) = (dt_u64)(type)dt_uload_uint(m, R1(m, i), bytes);    \
	}                                                                      \
	DT_INLINE void dt_op_RLD##suffix(struct dt_mstate *m, dt_u32 i)        \
	{                                                                      \
		RD(m, i) = (dt_u64)(type)dt_rload_uint(m, R1(m, i), bytes);    \
	}
DT_LOADS(X)
#undef X

#define X(op, bytes)                                                           \
	DT_INLINE void dt_op_##op(struct dt_mstate *m, dt_u32 i)               \
	{                                                                      \
		dt_store_uint(m, RD(m, i), R1(m, i), bytes);                   \
	}
DT_STORES(X)
#undef X

/*
 * INT64_MIN / -1 would trap on the processor, so a division by -1 is computed
 * as a negation, which wraps.
 */
DT_INLINE void dt_op_SDIV(struct dt_mstate *m, dt_u32 i)
{
	dt_s64 a = (dt_s64)R1(m, i), b = (dt_s64)R2(m, i);

	if (b == 0)
		dt_fault(m, DTRACEFLT_DIVZERO, 0);
	else if (b == -1)
		RD(m, i) = -(dt_u64)a;
	else
		RD(m, i) = (dt_u64)(a / b);
}

DT_INLINE void dt_op_SREM(struct dt_mstate *m, dt_u32 i)
{
	dt_s64 a = (dt_s64)R1(m, i), b = (dt_s64)R2(m, i);

	if (b == 0)
		dt_fault(m, DTRACEFLT_DIVZERO, 0);
	else if (b == -1)
		RD(m, i) = 0;
	else
		RD(m, i) = (dt_u64)(a % b);
}

DT_INLINE void dt_op_UDIV(struct dt_mstate *m, dt_u32 i)
{
	if (R2(m, i) == 0)
		dt_fault(m, DTRACEFLT_DIVZERO, 0);
	else
		RD(m, i) = R1(m, i) / R2(m, i);
}

DT_INLINE void dt_op_UREM(struct dt_mstate *m, dt_u32 i)
{
	if (R2(m, i) == 0)
		dt_fault(m, DTRACEFLT_DIVZERO, 0);
	else
		RD(m, i) = R1(m, i) % R2(m, i);
}

DT_INLINE void dt_op_NOT(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = ~R1(m, i);
}

DT_INLINE void dt_op_MOV(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = R1(m, i);
}

DT_INLINE void dt_op_CMP(struct dt_mstate *m, dt_u32 i)
{
	m->cmp_a = R1(m, i);
	m->cmp_b = R2(m, i);
}

DT_INLINE void dt_op_TST(struct dt_mstate *m, dt_u32 i)
{
	m->cmp_a = R1(m, i);
	m->cmp_b = 0;
}

/*
 * Compares two strings as unsigned bytes, up to strsize bytes of each. A null
 * pointer is the empty string.
 */
static void dt_op_SCMP(struct dt_mstate *m, dt_u32 i)
{
	dt_u64 used = m->scratch_used, na = 0, nb = 0, n;
	const dt_u8 *a = DT_NULL, *b = DT_NULL;
	dt_s64 order = 0;

	if (R1(m, i))
		a = dt_string(m, R1(m, i), &na);
	if (R2(m, i) && !m->fault)
		b = dt_string(m, R2(m, i), &nb);
	m->scratch_used = used;
	if (m->fault)
		return;
	for (n = 0; n < na && n < nb && a[n] == b[n]; n++)
		;
	if (n < na)
		order = n < nb ? (dt_s64)a[n] - b[n] : 1;
	else if (n < nb)
		order = -1;
	m->cmp_a = (dt_u64)order;
	m->cmp_b = 0;
}

DT_INLINE void dt_op_BA(struct dt_mstate *m, dt_u32 i)
{
	m->pc = DIF_INSTR_LABEL(i);
}

DT_INLINE void dt_op_RET(struct dt_mstate *m, dt_u32 i)
{
	m->result = RD(m, i);
	m->done = 1;
}

DT_INLINE void dt_op_NOP(struct dt_mstate *m, dt_u32 i)
{
	(void)m;
	(void)i;
}

DT_INLINE void dt_op_SETX(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = m->ints[DIF_INSTR_IDX(i)];
}

DT_INLINE void dt_op_SETS(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = m->strs + DIF_INSTR_IDX(i);
}

static void dt_op_LDGA(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = dt_builtin_array(m, DIF_INSTR_R1(i), R2(m, i));
}

static void dt_op_LDGS(struct dt_mstate *m, dt_u32 i)
{
	dt_u32 id = DIF_INSTR_IDX(i);

	RD(m, i) = id < DIF_VAR_OTHER_UBASE
		       ? dt_builtin(m, id)
		       : dt_static_get(m, DIFV_SCOPE_GLOBAL, id);
}

static void dt_op_STGS(struct dt_mstate *m, dt_u32 i)
{
	dt_static_set(m, DIFV_SCOPE_GLOBAL, DIF_INSTR_IDX(i), RD(m, i));
}

/*
 * ldta would load an element of a thread-local array that is a builtin. No such
 * builtin exists, so the verifier refuses ldta.
 */
static void dt_op_LDTA(struct dt_mstate *m, dt_u32 i)
{
	(void)i;
	dt_fault(m, DTRACEFLT_ILLOP, 0);
}

static void dt_op_LDTS(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = dt_self_get(m, DIF_INSTR_IDX(i));
}

static void dt_op_STTS(struct dt_mstate *m, dt_u32 i)
{
	dt_self_set(m, DIF_INSTR_IDX(i), RD(m, i));
}

static void dt_op_LDGAA(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = dt_dynvar_get(m, DIFV_SCOPE_GLOBAL, DIF_INSTR_IDX(i),
				 DT_DYN_ELEMENT);
}

static void dt_op_LDGAAM(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = dt_dynvar_get(m, DIFV_SCOPE_GLOBAL, DIF_INSTR_IDX(i),
				 DT_DYN_ELEMENT | DT_DYN_MAKE);
}

static void dt_op_LDTAAM(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = dt_dynvar_get(m, DIFV_SCOPE_THREAD, DIF_INSTR_IDX(i),
				 DT_DYN_ELEMENT | DT_DYN_MAKE);
}

static void dt_op_LDTSM(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = dt_self_make(m, DIF_INSTR_IDX(i));
}

static void dt_op_STGAA(struct dt_mstate *m, dt_u32 i)
{
	dt_dynvar_set(m, DIFV_SCOPE_GLOBAL, DIF_INSTR_IDX(i), RD(m, i), 1);
}

static void dt_op_LDTAA(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = dt_dynvar_get(m, DIFV_SCOPE_THREAD, DIF_INSTR_IDX(i),
				 DT_DYN_ELEMENT);
}

static void dt_op_STTAA(struct dt_mstate *m, dt_u32 i)
{
	dt_dynvar_set(m, DIFV_SCOPE_THREAD, DIF_INSTR_IDX(i), RD(m, i), 1);
}

static void dt_op_LDLS(struct dt_mstate *m, dt_u32 i)
{
	RD(m, i) = dt_static_get(m, DIFV_SCOPE_LOCAL, DIF_INSTR_IDX(i));
}

static void dt_op_STLS(struct dt_mstate *m, dt_u32 i)
{
	dt_static_set(m, DIFV_SCOPE_LOCAL, DIF_INSTR_IDX(i), RD(m, i));
}

static void dt_op_CALL(struct dt_mstate *m, dt_u32 i)
{
	dt_subr(m, DIF_INSTR_IDX(i), DIF_INSTR_RD(i));
}

static void dt_push(struct dt_mstate *m, dt_u32 i, dt_u32 byref)
{
	struct dt_tuple *t;

	if (m->n_tuple == DIF_DTR_NREGS) {
		dt_fault(m, DTRACEFLT_TUPOFLOW, 0);
		return;
	}
	t = &m->tuple[m->n_tuple++];
	t->type = DIF_INSTR_R1(i);
	t->byref = byref;
	t->size = R2(m, i);
	t->value = RD(m, i);
}

static void dt_op_PUSHTR(struct dt_mstate *m, dt_u32 i)
{
	dt_push(m, i, 1);
}

static void dt_op_PUSHTV(struct dt_mstate *m, dt_u32 i)
{
	dt_push(m, i, 0);
}

DT_INLINE void dt_op_POPTS(struct dt_mstate *m, dt_u32 i)
{
	(void)i;
	if (m->n_tuple)
		m->n_tuple--;
}

DT_INLINE void dt_op_FLUSHTS(struct dt_mstate *m, dt_u32 i)
{
	(void)i;
	m->n_tuple = 0;
}

static void dt_op_ALLOCS(struct dt_mstate *m, dt_u32 i)
{
	dt_u64 bytes = R1(m, i), at = dt_alloc(m, bytes);

	if (at)
		dt_zero(dt_scratch(m, at), bytes);
	RD(m, i) = at;
}

/* The operands of copys are the source, the size and the destination. */
static void dt_op_COPYS(struct dt_mstate *m, dt_u32 i)
{
	dt_dmem_copy(m, RD(m, i), R1(m, i), R2(m, i));
}

/*
 * The compiler resolves translators, so the verifier refuses xlate and xlarg.
 */
static void dt_op_XLATE(struct dt_mstate *m, dt_u32 i)
{
	(void)i;
	dt_fault(m, DTRACEFLT_ILLOP, 0);
}

static void dt_op_XLARG(struct dt_mstate *m, dt_u32 i)
{
	dt_op_XLATE(m, i);
}

/* clang-format off */
#define DT_FLOATS(X) \
	X(FADD) X(FSUB) X(FMUL) X(FDIV) X(FEQ) X(FLT) X(FLE) \
	X(FITOD) X(FUTOD) X(FDTOI) X(FDTOU) X(FSTOD) X(FDTOS)
/* clang-format on */
#define X(op)                                                                  \
	static void dt_op_##op(struct dt_mstate *m, dt_u32 i)                  \
	{                                                                      \
		RD(m, i) = dt_float(m, DIF_OP_##op, R1(m, i), R2(m, i));       \
	}
DT_FLOATS(X)
#undef X

/*
 * Simple instructions: arithmetic without division, cmp, tst, branches and
 * constants. They cannot cause a fault or end the DIFO.
 */
#define DT_OP_IS_SIMPLE(number)                                                \
	((number) <= DIF_OP_MUL ||                                             \
	 ((number) >= DIF_OP_NOT && (number) <= DIF_OP_BLEU) ||                \
	 ((number) >= DIF_OP_NOP && (number) <= DIF_OP_SETS) ||                \
	 (number) == DIF_OP_SRA)
#define DT_OP_IS_BRANCH(number)                                                \
	((number) >= DIF_OP_BA && (number) <= DIF_OP_BLEU)

/*
 * Instructions that may call the host, or whose time depends on the size of a
 * string or copy. dt_work() counts each execution.
 */
#define DT_OP_IS_WORK(number)                                                  \
	((number) == DIF_OP_SCMP ||                                            \
	 ((number) >= DIF_OP_LDGA && (number) <= DIF_OP_STTS) ||               \
	 (number) == DIF_OP_CALL ||                                            \
	 ((number) >= DIF_OP_LDGAA && (number) <= DIF_OP_COPYS) ||             \
	 ((number) >= DIF_OP_LDGAAM && (number) <= DIF_OP_LDTSM))

/*
 * Runs the instructions until one returns or causes a fault. The code of each
 * instruction ends with its own jump to the next instruction. So the processor
 * predicts the successor of each opcode separately. pc is copied to m->pc
 * before code that may read m->pc.
 */
static void dt_run(struct dt_mstate *m)
{
#ifndef DT_NO_COMPUTED_GOTO
	/*
	 * The distances of the labels from op_0. A table of their addresses
	 * would need relocations.
	 */
	static const dt_s32 code[DIF_OP_MAX + 1] = {
	    [0] = 0,
#define X(op, number, operands, mnemonic)                                      \
	[number] = (dt_s32)((const char *)&&op_##number - (const char *)&&op_0),
	    DIF_OPS(X)
#undef X
	};
#define DT_NEXT                                                                \
	do {                                                                   \
		i = text[pc++];                                                \
		goto *((const char *)&&op_0 + code[DIF_INSTR_OP(i)]);          \
	} while (0)
#else
#define DT_NEXT goto next
#endif
	const dt_u32 *text = m->text;
	dt_u32 pc = 0, i;

	DT_NEXT;
#ifdef DT_NO_COMPUTED_GOTO
next:
	i = text[pc++];
	switch (DIF_INSTR_OP(i)) {
#define X(op, number, operands, mnemonic)                                      \
	case number:                                                           \
		goto op_##number;
		DIF_OPS(X)
#undef X
	default:
		goto op_0;
	}
#endif
	/* clang-format off */
#define X(op, number, operands, mnemonic)                                      \
op_##number:                                                                   \
	if (DT_OP_IS_BRANCH(number) || !DT_OP_IS_SIMPLE(number))               \
		m->pc = pc;                                                    \
	if (DT_OP_IS_WORK(number))                                             \
		dt_work(m);                                                    \
	dt_op_##op(m, i);                                                      \
	if (DT_OP_IS_BRANCH(number))                                           \
		pc = m->pc;                                                    \
	if (!DT_OP_IS_SIMPLE(number) && (m->fault || m->done))                 \
		return;                                                        \
	DT_NEXT;
	DIF_OPS(X)
#undef X
	/* clang-format on */
op_0:
	/* Not reached, because the verifier refuses unknown opcodes. */
	m->pc = pc;
	dt_fault(m, DTRACEFLT_ILLOP, 0);
}

dt_u64 dt_exec(struct dt_mstate *m, dt_off at)
{
	const struct dt_difo *d = dt_at(m->base, at);

	m->text = dt_at(m->base, d->text);
	m->ints = dt_at(m->base, d->ints);
	m->strs = DT_VBASE + d->strs;
	m->pc = 0;
	m->n_tuple = 0;
	m->done = 0;
	m->result = 0;
	m->cmp_a = m->cmp_b = 0;
	for (int i = 0; i < DIF_DIR_NREGS; i++)
		m->r[i] = 0;

	dt_run(m);
	return m->fault ? 0 : m->result;
}
