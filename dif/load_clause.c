/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Loads clauses. Checks the order of the actions, and assigns an offset to each
 * recorded value.
 *
 * A record begins with a struct dt_rechdr. The values follow in the order of
 * their actions. A value of 1, 2, 4 or 8 bytes is aligned to its size, any
 * other value to 8 bytes. The parts of an aggregation's key are laid out in the
 * same way, from offset 0 of the key.
 *
 * dt_clause_rules() checks the rules about speculation, because DOF is not
 * trusted. These rules ensure that a clause does not write to a buffer while it
 * commits records to the same buffer.
 */
#include "dif/load.h"

/* Assigns offsets to the parts of the key of the aggregation at actions[at]. */
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

		if (a->in_key || DTRACEACT_ISAGG(a->kind) || !a->rec_size ||
		    (a->kind != DTRACEACT_DIFEXPR &&
		     (a->kind < DTRACEACT_USTACK ||
		      a->kind > DTRACEACT_UADDR) &&
		     (a->kind < DTRACEACT_STACK || a->kind > DTRACEACT_MOD)))
			return dt_refuse(l, i,
					 "action cannot be part of a key");
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

/*
 * Checks the order of speculate(), commit() and actions that record data. Sets
 * the clause's flags.
 */
static int dt_clause_rules(struct dt_loader *l, struct dt_clause *c,
			   const struct dt_action *actions)
{
	dt_u32 data = 0;

	for (dt_u32 i = 0; i < c->n_actions; i++) {
		const struct dt_action *a = &actions[i];

		if (a->in_key || DTRACEACT_ISAGG(a->kind))
			continue;
		if (a->kind == DTRACEACT_SPECULATE) {
			if (data || (c->flags & (DT_CLAUSE_SPECULATES |
						 DT_CLAUSE_COMMITS)))
				return dt_refuse(l, i,
						 "speculate() may not follow "
						 "speculate(), commit() or an "
						 "action that records data");
			c->flags |= DT_CLAUSE_SPECULATES;
		} else if (a->kind == DTRACEACT_COMMIT) {
			c->flags |= DT_CLAUSE_COMMITS;
		} else if (dt_action_records(a->kind) &&
			   (a->kind != DTRACEACT_DIFEXPR || a->rec_size)) {
			data = 1;
			if (a->kind == DTRACEACT_EXIT)
				c->flags |= DT_CLAUSE_EXITS;
		}
	}
	if ((c->flags & DT_CLAUSE_COMMITS) &&
	    (data || (c->flags & DT_CLAUSE_SPECULATES)))
		return dt_refuse(l, 0,
				 "a clause with commit() may not record data "
				 "or use speculate()");
	if ((c->flags & DT_CLAUSE_EXITS) && (c->flags & DT_CLAUSE_SPECULATES))
		return dt_refuse(
		    l, 0, "a clause with speculate() may not use exit()");
	/*
	 * An empty clause, and a clause whose only action is speculate(), make
	 * a record without data.
	 */
	if (data || !c->n_actions ||
	    (c->n_actions == 1 && (c->flags & DT_CLAUSE_SPECULATES)))
		c->flags |= DT_CLAUSE_RECORDS;
	return 0;
}

static int dt_clause_layout(struct dt_loader *l, struct dt_clause *c,
			    struct dt_action *actions)
{
	dt_u64 end = sizeof(struct dt_rechdr);

	for (dt_u32 i = 0; i < c->n_actions; i++) {
		struct dt_action *a = &actions[i];

		if (!DTRACEACT_ISAGG(a->kind))
			continue;
		if (a->ntuple == DT_NTUPLE_INCREMENT) {
			if (i + 1 == c->n_actions ||
			    actions[i + 1].kind != a->kind ||
			    actions[i + 1].ntuple == DT_NTUPLE_INCREMENT)
				return dt_refuse(l, i,
						 "increment is not followed by "
						 "its distribution");
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
	if (!c->predicate && c->n_actions == 1 &&
	    actions[0].kind == DTRACEAGG_count && !actions[0].key_bytes)
		c->flags |= DT_CLAUSE_COUNTS;
	/*
	 * A clause with speculate() is accepted even if its record is too large
	 * for a buffer. The record is dropped at run time.
	 */
	if ((c->flags & DT_CLAUSE_RECORDS) &&
	    !(c->flags & DT_CLAUSE_SPECULATES) &&
	    c->rec_bytes > l->arena->plan.principal_bytes) {
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
		return dt_refuse(l, section,
				 "action section has an invalid size");
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
		/*
		 * rec_offset is the alignment until dt_clause_layout() sets the
		 * offset.
		 */
		actions[i].rec_offset = align;
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
