/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Loads one action of a clause. Checks that the action exists, and that the
 * host and the options permit it. Checks that it has the value and parameters
 * that its kind needs. Computes how many bytes it records.
 */
#include "dif/distribution.h"
#include "dif/load.h"

#define DT_MAX_FRAMES 2048

enum dt_action_flag {
	DT_ACT_DATA = 1,	/* the action records data */
	DT_ACT_DESTRUCTIVE = 2, /* the action requires the option -w */
	DT_ACT_KERNEL = 4,	/* only the kernel supports the action */
	DT_ACT_ELSEWHERE = 8,	/* only DTrace on other systems supports it */
};

static dt_u32 dt_action_flags(const char *flags)
{
	dt_u32 bits = 0;

	for (; *flags; flags++)
		bits |= *flags == 'D'	? DT_ACT_DATA
			: *flags == 'W' ? DT_ACT_DESTRUCTIVE
			: *flags == 'K' ? DT_ACT_KERNEL
					: DT_ACT_ELSEWHERE;
	return bits;
}

/*
 * Sets *flags to the flags of the actions of this kind. Returns 0 if there is
 * no such action.
 */
static int dt_action_find(dt_u32 kind, dt_u32 *flags)
{
	if (kind == DTRACEACT_TRACEMEM_DYNSIZE) {
		*flags = DT_ACT_DATA;
		return 1;
	}
#define X(name, number, libact, prototype, letters)                            \
	if (kind == (number)) {                                                \
		*flags = dt_action_flags(letters);                             \
		return 1;                                                      \
	}
	DIF_ACTIONS(X)
#undef X
	return 0;
}

int dt_action_records(dt_u32 kind)
{
	dt_u32 flags;

	return dt_action_find(kind, &flags) && (flags & DT_ACT_DATA);
}

static int dt_agg_known(dt_u32 kind)
{
	switch (kind) {
#define X(name, number, prototype) case number:
		DIF_AGGS(X)
#undef X
		return 1;
	default:
		return 0;
	}
}

static int dt_record_size(struct dt_loader *l, const struct dof_actdesc *d,
			  const struct dt_difo *difo, dt_u32 *bytes,
			  dt_u32 *align)
{
	dt_u64 size = 0;

	*align = 8;
	switch (d->kind) {
	case DTRACEACT_USTACK:
	case DTRACEACT_JSTACK:
		if (DTRACE_USTACK_NFRAMES(d->arg) > DT_MAX_FRAMES)
			return dt_refuse(l, d->kind, "too many stack frames");
		size = 8 + 8ull * DTRACE_USTACK_NFRAMES(d->arg);
		break;
	case DTRACEACT_STACK:
		if (d->arg > DT_MAX_FRAMES)
			return dt_refuse(l, d->kind, "too many stack frames");
		size = 8ull * d->arg;
		break;
	case DTRACEACT_USYM:
	case DTRACEACT_UMOD:
	case DTRACEACT_UADDR:
		size = 16;
		break;
	case DTRACEACT_SYM:
	case DTRACEACT_MOD:
		size = 8;
		break;
	case DTRACEACT_SPECULATE:
	case DTRACEACT_COMMIT:
	case DTRACEACT_DISCARD:
	case DTRACEACT_RAISE:
	case DTRACEACT_STOP:
	case DTRACEACT_BREAKPOINT:
	case DTRACEACT_PANIC:
	case DTRACEACT_CHILL:
		break;
	case DTRACEACT_PRINTA:
		if (!difo) {
			size = 8;
			break;
		}
		/* fall through */
	default:
		if (!difo)
			break;
		size = difo->rtype.kind == DIF_TYPE_STRING
			   ? l->arena->options[DTRACEOPT_strsize]
			   : difo->rtype.size;
		if (!dt_type_byref(&difo->rtype) && !difo->rtype.flags &&
		    size && d->kind != DTRACEACT_TRACEMEM)
			*align = (dt_u32)size;
	}
	*bytes = (dt_u32)size;
	return 0;
}

/* Checks that the action has the value and parameters that its kind needs. */
static int dt_action_shape(struct dt_loader *l, const struct dof_actdesc *d,
			   const struct dt_difo *difo)
{
	int scalar = difo && !difo->rtype.flags &&
		     difo->rtype.kind != DIF_TYPE_STRING && difo->rtype.size;

	switch (d->kind) {
	case DTRACEACT_EXIT:
	case DTRACEACT_RAISE:
	case DTRACEACT_SPECULATE:
	case DTRACEACT_COMMIT:
	case DTRACEACT_DISCARD:
	case DTRACEACT_CHILL:
	case DTRACEACT_USYM:
	case DTRACEACT_UMOD:
	case DTRACEACT_UADDR:
	case DTRACEACT_SYM:
	case DTRACEACT_MOD:
		if (!scalar)
			return dt_refuse(l, d->kind,
					 "action needs an integer value");
		return 0;
	case DTRACEACT_USTACK:
	case DTRACEACT_JSTACK:
	case DTRACEACT_STACK:
	case DTRACEACT_STOP:
	case DTRACEACT_BREAKPOINT:
	case DTRACEACT_PANIC:
		if (difo)
			return dt_refuse(l, d->kind, "action takes no value");
		return 0;
	case DTRACEACT_TRACEMEM:
		if (!difo || !difo->rtype.size)
			return dt_refuse(l, d->kind, "action needs a value");
		return 0;
	case DTRACEAGG_count:
		return 0;
	case DTRACEAGG_lquantize:
		if (!dt_lquantize_ok(d->arg))
			return dt_refuse(l, d->kind,
					 "lquantize() has invalid parameters");
		break;
	case DTRACEAGG_llquantize:
		if (!dt_llquantize_ok(d->arg))
			return dt_refuse(l, d->kind,
					 "llquantize() has invalid parameters");
		break;
	default:
		if (dt_agg_is_float(d->kind, d->arg) && !l->arena->has_float)
			return dt_refuse(l, d->kind,
					 "floating-point arithmetic is not "
					 "available in the kernel");
		break;
	}
	if (DTRACEACT_ISAGG(d->kind) && !scalar)
		return dt_refuse(l, d->kind,
				 "aggregating function needs an integer value");
	return 0;
}

static int dt_action_allowed(struct dt_loader *l, const struct dof_actdesc *d,
			     const struct dt_difo *difo, dt_u32 *flags)
{
	dt_u64 may = l->arena->options[DTRACEOPT_destructive];

	*flags = 0;
	if (DTRACEACT_ISAGG(d->kind)) {
		if (!dt_agg_known(d->kind))
			return dt_refuse(l, d->kind,
					 "unknown aggregating function");
	} else if (!dt_action_find(d->kind, flags)) {
		return dt_refuse(l, d->kind, "unknown action");
	}
	if ((*flags & DT_ACT_KERNEL) && !l->arena->has_kernel &&
	    !(d->kind == DTRACEACT_STACK && l->arena->has_stack))
		return dt_refuse(l, d->kind,
				 "action is available only in the kernel");
	if (*flags & DT_ACT_ELSEWHERE)
		return dt_refuse(l, d->kind,
				 "action is available only on other systems");
	if (difo && difo->destructive)
		*flags |= DT_ACT_DESTRUCTIVE;
	if ((*flags & DT_ACT_DESTRUCTIVE) && (may == DT_OPT_UNSET || !may))
		return dt_refuse(l, d->kind, "Destructive actions not allowed");
	return 0;
}

int dt_load_action(struct dt_loader *l, struct dt_clause *c,
		   struct dt_action *a, const struct dof_actdesc *d,
		   dt_u32 *align)
{
	const struct dt_difo *difo = DT_NULL;
	const char *format;
	dt_u32 flags;

	dt_zero(a, sizeof(*a));
	a->kind = d->kind;
	a->ntuple = d->ntuple;
	a->arg = d->arg;
	a->uarg = d->uarg;
	if (d->difo != DOF_SECIDX_NONE) {
		if (dt_load_difo(l, d->difo, &a->difo) != 0)
			return -1;
		difo = dt_at(l->base, a->difo);
	}
	if (dt_action_allowed(l, d, difo, &flags) != 0 ||
	    dt_action_shape(l, d, difo) != 0)
		return -1;
	if (flags & DT_ACT_DESTRUCTIVE)
		c->flags |= DT_CLAUSE_DESTRUCTIVE;
	if (d->strtab != DOF_SECIDX_NONE && !DTRACEACT_ISAGG(d->kind)) {
		if (d->arg > 0xffffffffu)
			return dt_refuse(
			    l, d->arg,
			    "offset of the format string is out of range");
		format = dt_dof_string(l, d->strtab, (dt_u32)d->arg);
		if (!format)
			return -1;
		a->format = *format ? dt_heap_string(l, format) : 0;
		if (*format && !a->format)
			return -1;
	}
	dt_short_make(l->base, a->difo, &a->brief);
	a->value_bytes = dt_agg_value_bytes(d->kind, d->arg);
	if (DTRACEACT_ISAGG(d->kind))
		return 0;
	return dt_record_size(l, d, difo, &a->rec_size, align);
}
