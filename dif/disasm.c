/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Formats one instruction as dtrace -S prints it. The operand column of DIF_OPS
 * determines the format of the operands.
 */
#include "dif/engine.h"
#include "dif/ops.h"
#include "dif/text.h"

static void dt_reg(struct dt_text *t, dt_u32 reg)
{
	dt_text_put(t, "%r");
	dt_text_number(t, reg);
}

static void dt_named(struct dt_text *t, const char *before, dt_u32 n,
		     const char *after)
{
	dt_text_put(t, before);
	dt_text_number(t, n);
	dt_text_put(t, after);
}

static void dt_mnemonic(struct dt_text *t, const char *name)
{
	dt_text_put(t, name);
	while (t->used < 4)
		dt_text_char(t, ' ');
}

static void dt_operands(struct dt_text *t, dt_u32 i, enum dif_operands format)
{
	dt_u32 r1 = DIF_INSTR_R1(i), r2 = DIF_INSTR_R2(i);
	dt_u32 rd = DIF_INSTR_RD(i), idx = DIF_INSTR_IDX(i);

	if (format == DIF_FMT_NONE)
		return;
	dt_text_char(t, ' ');
	switch (format) {
	case DIF_FMT_R1_R2_RD:
		dt_reg(t, r1);
		dt_text_put(t, ", ");
		dt_reg(t, r2);
		dt_text_put(t, ", ");
		dt_reg(t, rd);
		break;
	case DIF_FMT_R1_RD:
		dt_reg(t, r1);
		dt_text_put(t, ", ");
		dt_reg(t, rd);
		break;
	case DIF_FMT_R1_R2:
		dt_reg(t, r1);
		dt_text_put(t, ", ");
		dt_reg(t, r2);
		break;
	case DIF_FMT_R1:
		dt_reg(t, r1);
		break;
	case DIF_FMT_LABEL:
		dt_text_number(t, DIF_INSTR_LABEL(i));
		break;
	case DIF_FMT_LOAD:
		dt_text_char(t, '[');
		dt_reg(t, r1);
		dt_text_put(t, "], ");
		dt_reg(t, rd);
		break;
	case DIF_FMT_STORE:
		dt_reg(t, r1);
		dt_text_put(t, ", [");
		dt_reg(t, rd);
		dt_text_char(t, ']');
		break;
	case DIF_FMT_RD:
		dt_reg(t, rd);
		break;
	case DIF_FMT_INT_RD:
		dt_named(t, "DT_INTEGER[", idx, "], ");
		dt_reg(t, rd);
		break;
	case DIF_FMT_STR_RD:
		dt_named(t, "DT_STRING[", idx, "], ");
		dt_reg(t, rd);
		break;
	case DIF_FMT_VAR_RD:
		dt_named(t, "DT_VAR(", idx, "), ");
		dt_reg(t, rd);
		break;
	case DIF_FMT_RD_VAR:
		dt_reg(t, rd);
		dt_named(t, ", DT_VAR(", idx, ")");
		break;
	case DIF_FMT_VAR_R2_RD:
		dt_named(t, "DT_VAR(", r1, "), ");
		dt_reg(t, r2);
		dt_text_put(t, ", ");
		dt_reg(t, rd);
		break;
	case DIF_FMT_SUBR_RD:
		dt_named(t, "DIF_SUBR(", idx, "), ");
		dt_reg(t, rd);
		break;
	case DIF_FMT_TUPLE:
		dt_named(t, "DT_TYPE(", r1, "), ");
		dt_reg(t, r2);
		dt_text_put(t, ", ");
		dt_reg(t, rd);
		break;
	case DIF_FMT_XLATE:
		dt_named(t, "DT_XLREF[", idx, "], ");
		dt_reg(t, rd);
		break;
	case DIF_FMT_NONE:
		break;
	}
}

int dt_disasm(dt_u32 insn, char *to, dt_size max)
{
	struct dt_text t;

	dt_text_start(&t, to, max);
	switch (DIF_INSTR_OP(insn)) {
#define X(op, number, operands, mnemonic)                                      \
	case number:                                                           \
		dt_mnemonic(&t, mnemonic);                                     \
		dt_operands(&t, insn, DIF_FMT_##operands);                     \
		break;
		DIF_OPS(X)
#undef X
	default:
		dt_text_put(&t, "illegal opcode ");
		dt_text_number(&t, DIF_INSTR_OP(insn));
	}
	return (int)t.used;
}
