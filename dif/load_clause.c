/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Clauses: their actions, what each records and where.
 *
 * A record begins with struct dt_rechdr; values follow in the order of their
 * actions, each aligned to its size up to 8. Parts of an aggregation's key are
 * laid out alike, from 0, in a key of their own; the first of them carries the
 * key's size, and so does the aggregating entry.
 *
 * The compiler keeps the rules about speculation, too; here they keep records
 * and commits from meeting in one buffer.
 */
#include "dif/distribution.h"
#include "dif/load.h"

#define DT_MAX_FRAMES 2048

enum dt_action_flag {
	DT_ACT_DATA = 1,	/* the clause makes a record for it */
	DT_ACT_DESTRUCTIVE = 2, /* needs option destructive */
	DT_ACT_KERNEL = 4,	/* only a kernel host can do it */
	DT_ACT_ELSEWHERE = 8,	/* no host here can */
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

/* The row of DIF_ACTIONS with this kind; 0: there is none. */
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

static int dt_is_agg(dt_u32 kind)
{
	return DTRACEACT_ISAGG(kind);
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

/* Bytes and alignment of what an entry records. */
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

/* What a kind must come with. */
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
	case DTRACEACT_STOP:
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
					 "lquantize() has bad parameters");
		break;
	case DTRACEAGG_llquantize:
		if (!dt_llquantize_ok(d->arg))
			return dt_refuse(l, d->kind,
					 "llquantize() has bad parameters");
		break;
	default:
		break;
	}
	if (dt_is_agg(d->kind) && !scalar)
		return dt_refuse(l, d->kind,
				 "aggregating function needs an integer value");
	return 0;
}

static int dt_action_allowed(struct dt_loader *l, const struct dof_actdesc *d,
			     const struct dt_difo *difo, dt_u32 *flags)
{
	dt_u64 may = l->arena->options[DTRACEOPT_destructive];

	*flags = 0;
	if (dt_is_agg(d->kind)) {
		if (!dt_agg_known(d->kind))
			return dt_refuse(l, d->kind,
					 "unknown aggregating function");
	} else if (!dt_action_find(d->kind, flags)) {
		return dt_refuse(l, d->kind, "unknown action");
	}
	if (*flags & DT_ACT_KERNEL)
		return dt_refuse(l, d->kind, "action needs a kernel");
	if (*flags & DT_ACT_ELSEWHERE)
		return dt_refuse(l, d->kind, "action is not available");
	if (difo && difo->destructive)
		*flags |= DT_ACT_DESTRUCTIVE;
	if ((*flags & DT_ACT_DESTRUCTIVE) && (may == DT_OPT_UNSET || !may))
		return dt_refuse(l, d->kind, "Destructive actions not allowed");
	return 0;
}

static int dt_load_action(struct dt_loader *l, struct dt_clause *c,
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
	if (d->strtab != DOF_SECIDX_NONE && !dt_is_agg(d->kind)) {
		if (d->arg > 0xffffffffu)
			return dt_refuse(l, d->arg, "format is out of range");
		format = dt_dof_string(l, d->strtab, (dt_u32)d->arg);
		if (!format)
			return -1;
		a->format = *format ? dt_heap_string(l, format) : 0;
		if (*format && !a->format)
			return -1;
	}
	dt_short_make(l->base, a->difo, &a->brief);
	a->value_bytes = dt_agg_value_bytes(d->kind, d->arg);
	if (dt_is_agg(d->kind))
		return 0;
	return dt_record_size(l, d, difo, &a->rec_size, align);
}

/* Lays out the key of the aggregation at actions[at]. */
static int dt_load_key(struct dt_loader *l, struct dt_action *actions,
		       dt_u32 at)
{
	struct dt_action *agg = &actions[at];
	dt_u32 first, n = agg->ntuple, end = at;
	dt_u64 key = 0;

	if (end && actions[end - 1].kind == agg->kind &&
	    actions[end - 1].ntuple == DT_NTUPLE_INCREMENT)
		end--;
	if (n > end)
		return dt_refuse(l, at, "aggregation's key is incomplete");
	first = end - n;
	for (dt_u32 i = first; i < end; i++) {
		struct dt_action *a = &actions[i];
		dt_u32 align = a->rec_offset;

		if (a->in_key || dt_is_agg(a->kind) || !a->rec_size ||
		    (a->kind != DTRACEACT_DIFEXPR &&
		     (a->kind < DTRACEACT_USTACK ||
		      a->kind > DTRACEACT_UADDR) &&
		     a->kind != DTRACEACT_SYM && a->kind != DTRACEACT_MOD))
			return dt_refuse(l, i, "not a part of a key");
		a->in_key = 1;
		key = DT_ALIGN(key, (dt_u64)align);
		a->rec_offset = (dt_u32)key;
		key += a->rec_size;
		if (key > DT_MAX_RECORD)
			return dt_refuse(l, i, "key is too large");
	}
	agg->key_bytes = (dt_u32)DT_ALIGN(key, 8);
	if (n)
		actions[first].key_bytes = agg->key_bytes;
	return 0;
}

/* Order of speculation and commit among what records; sets the flags. */
static int dt_clause_rules(struct dt_loader *l, struct dt_clause *c,
			   const struct dt_action *actions)
{
	dt_u32 flags, data = 0, only_effects = 1;

	for (dt_u32 i = 0; i < c->n_actions; i++) {
		const struct dt_action *a = &actions[i];

		if (a->kind != DTRACEACT_DIFEXPR || a->in_key)
			only_effects = 0;
		if (a->in_key || dt_is_agg(a->kind))
			continue;
		dt_action_find(a->kind, &flags);
		if (a->kind == DTRACEACT_SPECULATE) {
			if (data || (c->flags & (DT_CLAUSE_SPECULATES |
						 DT_CLAUSE_COMMITS)))
				return dt_refuse(l, i,
						 "speculate() must come first");
			c->flags |= DT_CLAUSE_SPECULATES;
		} else if (a->kind == DTRACEACT_COMMIT) {
			c->flags |= DT_CLAUSE_COMMITS;
		} else if ((flags & DT_ACT_DATA) &&
			   (a->kind != DTRACEACT_DIFEXPR || a->rec_size)) {
			data = 1;
			if (a->kind == DTRACEACT_EXIT)
				c->flags |= DT_CLAUSE_EXITS;
		}
	}
	if ((c->flags & DT_CLAUSE_COMMITS) &&
	    (data || (c->flags & DT_CLAUSE_SPECULATES)))
		return dt_refuse(l, 0, "commit() beside data recording");
	if ((c->flags & DT_CLAUSE_EXITS) && (c->flags & DT_CLAUSE_SPECULATES))
		return dt_refuse(l, 0, "exit() after speculate()");
	/* Assignments alone leave an empty row; a quiet consumer shows none. */
	if (l->arena->options[DTRACEOPT_quiet] == 1)
		only_effects = c->n_actions == 0;
	if (data || only_effects ||
	    (c->n_actions == 1 && (c->flags & DT_CLAUSE_SPECULATES)))
		c->flags |= DT_CLAUSE_RECORDS;
	return 0;
}

static int dt_clause_layout(struct dt_loader *l, struct dt_clause *c,
			    struct dt_action *actions)
{
	dt_u64 end = sizeof(struct dt_rechdr), room;

	for (dt_u32 i = 0; i < c->n_actions; i++) {
		struct dt_action *a = &actions[i];

		if (!dt_is_agg(a->kind))
			continue;
		if (a->ntuple == DT_NTUPLE_INCREMENT) {
			if (i + 1 == c->n_actions ||
			    actions[i + 1].kind != a->kind ||
			    actions[i + 1].ntuple == DT_NTUPLE_INCREMENT)
				return dt_refuse(
				    l, i, "increment without a distribution");
			continue;
		}
		if (dt_load_key(l, actions, i) != 0)
			return -1;
		if (!i || actions[i - 1].ntuple != DT_NTUPLE_INCREMENT)
			dt_counters_take(l, a);
	}
	for (dt_u32 i = 0; i < c->n_actions; i++) {
		struct dt_action *a = &actions[i];

		if (!a->rec_size)
			a->rec_offset = 0;
		if (a->in_key || !a->rec_size)
			continue;
		end = DT_ALIGN(end, (dt_u64)a->rec_offset);
		a->rec_offset = (dt_u32)end;
		end += a->rec_size;
		if (end > DT_MAX_RECORD)
			return dt_refuse(l, i, "record is too large");
	}
	c->rec_bytes = (dt_u32)DT_ALIGN(end, 8);
	if (dt_clause_rules(l, c, actions) != 0)
		return -1;
	room = c->flags & DT_CLAUSE_SPECULATES ? l->arena->plan.spec_bytes
					       : l->arena->plan.principal_bytes;
	if ((c->flags & DT_CLAUSE_RECORDS) && c->rec_bytes > room) {
		dt_refuse(l, c->line, "Enabling exceeds size of buffer");
		l->error->too_large = l->n_clauses - l->arena->clauses.n + 1;
		return -1;
	}
	return 0;
}

static int dt_load_actions(struct dt_loader *l, struct dt_clause *c,
			   dt_u32 section)
{
	struct dof_sec sec;
	struct dof_actdesc d;
	struct dt_action *actions;
	dt_u64 n;

	if (section == DOF_SECIDX_NONE)
		return 0;
	if (dt_dof_section(l, section, DOF_SECT_ACTDESC, &sec) != 0)
		return -1;
	n = sec.size / sizeof(d);
	if (sec.size % sizeof(d) || n > DT_MAX_ACTIONS)
		return dt_refuse(l, section, "actions have a bad size");
	c->actions = dt_heap(l, n * sizeof(*actions));
	if (!c->actions)
		return -1;
	c->n_actions = (dt_u32)n;
	actions = dt_at(l->base, c->actions);
	for (dt_u64 i = 0; i < n; i++) {
		dt_u32 align = 8;

		dt_copy(&d, l->dof + sec.offset + i * sizeof(d), sizeof(d));
		if (dt_load_action(l, c, &actions[i], &d, &align) != 0)
			return -1;
		actions[i].rec_offset = align; /* until it is laid out */
	}
	return 0;
}

int dt_load_clause(struct dt_loader *l, const struct dof_ecbdesc *ecb,
		   dt_u32 *clause)
{
	struct dt_clause *c;
	const struct dt_difo *pred;

	if (l->n_clauses == l->arena->clauses.max)
		return dt_refuse(l, ecb->line, "too many clauses");
	*clause = l->n_clauses;
	c = (struct dt_clause *)dt_at(l->base, l->arena->clauses.at) +
	    l->n_clauses;
	dt_zero(c, sizeof(*c));
	c->line = ecb->line;
	c->uarg = ecb->uarg;
	if (ecb->pred != DOF_SECIDX_NONE) {
		if (dt_load_difo(l, ecb->pred, &c->predicate) != 0)
			return -1;
		pred = dt_at(l->base, c->predicate);
		if (pred->destructive)
			return dt_refuse(l, ecb->line,
					 "predicate is destructive");
	}
	dt_short_make(l->base, c->predicate, &c->brief);
	if (dt_load_actions(l, c, ecb->actions) != 0 ||
	    dt_clause_layout(l, c, dt_at(l->base, c->actions)) != 0)
		return -1;
	l->n_clauses++;
	return 0;
}
