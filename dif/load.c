/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Loads programs, and adds probes and ECBs. Only the arena's owner calls these
 * functions.
 *
 * dt_load() updates the counts of the tables as its last step, so either the
 * entire program or nothing becomes visible. Each entry of a table is complete
 * before a count or a link makes it visible. So probes can be added while other
 * threads fire.
 */
#include "dif/load.h"

static void dt_load_begin(struct dt_loader *l, void *arena, const void *dof,
			  dt_u64 bytes, struct dt_load_error *error)
{
	dt_zero(l, sizeof(*l));
	l->base = arena;
	l->arena = arena;
	l->dof = dof;
	l->bytes = bytes;
	l->error = error;
	l->heap_used = l->arena->heap_used;
	l->globals_used = l->arena->globals_used;
	l->locals_used = l->arena->locals_used;
	l->counters_used = l->arena->counters.used;
	l->n_difos = l->arena->difos.n;
	l->n_clauses = l->arena->clauses.n;
	l->n_enablings = l->arena->enablings.n;
	l->n_vars = l->arena->vars.n;
}

static void dt_load_undo(struct dt_loader *l)
{
	dt_u32 *index = dt_at(l->base, l->arena->var_index);
	const struct dt_var *vars = dt_at(l->base, l->arena->vars.at);

	for (dt_u32 i = l->arena->vars.n; i < l->n_vars; i++)
		index[(dt_u32)vars[i].scope << 16 | vars[i].id] = 0;
}

static void dt_load_publish(struct dt_loader *l)
{
	struct dt_arena *a = l->arena;

	a->heap_used = l->heap_used;
	a->globals_used = l->globals_used;
	a->locals_used = l->locals_used;
	a->counters.used = l->counters_used;
	dt_release32(&a->vars.n, l->n_vars);
	dt_release32(&a->difos.n, l->n_difos);
	dt_release32(&a->clauses.n, l->n_clauses);
	dt_release32(&a->enablings.n, l->n_enablings);
}

static void dt_ecb_read(struct dt_loader *l, const struct dof_sec *sec,
			dt_u64 i, struct dof_ecbdesc *ecb)
{
	dt_copy(ecb, l->dof + sec->offset + i * sizeof(*ecb), sizeof(*ecb));
}

/*
 * Finds the clause that an earlier ecbdesc with the same uarg has created in
 * this load. Returns 0 if there is no such clause.
 */
static int dt_clause_known(struct dt_loader *l, const struct dof_ecbdesc *ecb,
			   dt_u32 *clause)
{
	const struct dt_clause *clauses = dt_at(l->base, l->arena->clauses.at);

	for (dt_u32 i = l->n_clauses; i-- > l->arena->clauses.n;) {
		if (clauses[i].uarg == ecb->uarg) {
			*clause = i;
			return 1;
		}
	}
	return 0;
}

static int dt_enabling_names(struct dt_loader *l, dt_u32 section,
			     struct dt_enabling *e)
{
	dt_off *to[4] = {&e->provider, &e->mod, &e->func, &e->name};
	struct dof_probedesc p;
	struct dof_sec sec;
	dt_u32 at[4];

	if (dt_dof_section(l, section, DOF_SECT_PROBEDESC, &sec) != 0)
		return -1;
	if (sec.size != sizeof(p))
		return dt_refuse(l, section,
				 "probe description has an invalid size");
	dt_copy(&p, l->dof + sec.offset, sizeof(p));
	at[0] = p.provider;
	at[1] = p.mod;
	at[2] = p.func;
	at[3] = p.name;
	e->id = p.id;
	for (int i = 0; i < 4; i++) {
		const char *s = dt_dof_string(l, p.strtab, at[i]);

		if (!s)
			return -1;
		*to[i] = dt_heap_string(l, s);
		if (!*to[i])
			return -1;
	}
	return 0;
}

static int dt_load_ecb(struct dt_loader *l, const struct dof_ecbdesc *ecb)
{
	struct dt_enabling *e;
	dt_u32 clause;

	if (!dt_clause_known(l, ecb, &clause) &&
	    dt_load_clause(l, ecb, &clause) != 0)
		return -1;
	if (l->n_enablings == l->arena->enablings.max)
		return dt_refuse(l, ecb->line, "too many enablings");
	e = (struct dt_enabling *)dt_at(l->base, l->arena->enablings.at) +
	    l->n_enablings;
	dt_zero(e, sizeof(*e));
	e->clause = clause;
	if (dt_enabling_names(l, ecb->probes, e) != 0)
		return -1;
	l->n_enablings++;
	return 0;
}

static int dt_load_option(struct dt_loader *l, dt_u32 no)
{
	struct dof_optdesc o;
	struct dof_sec sec;

	if (dt_dof_section(l, no, DOF_SECT_OPTDESC, &sec) != 0)
		return -1;
	if (sec.size % sizeof(o))
		return dt_refuse(l, no, "option section has an invalid size");
	for (dt_u64 at = 0; at < sec.size; at += sizeof(o)) {
		dt_copy(&o, l->dof + sec.offset + at, sizeof(o));
		if (o.option >= DTRACEOPT_N)
			return dt_refuse(l, no, "unknown option");
	}
	return 0;
}

static int dt_load_sections(struct dt_loader *l)
{
	struct dof_ecbdesc ecb;
	struct dof_sec sec;

	for (dt_u32 i = 0; i < l->hdr.secnum; i++) {
		dt_copy(&sec, l->dof + l->hdr.secoff + i * sizeof(sec),
			sizeof(sec));
		if (sec.type == DOF_SECT_OPTDESC && dt_load_option(l, i) != 0)
			return -1;
		if (sec.type != DOF_SECT_ECBDESC)
			continue;
		if (dt_dof_section(l, i, DOF_SECT_ECBDESC, &sec) != 0)
			return -1;
		if (!sec.size || sec.size % sizeof(ecb))
			return dt_refuse(l, i,
					 "ECB section has an invalid size");
		for (dt_u64 k = 0; k < sec.size / sizeof(ecb); k++) {
			dt_ecb_read(l, &sec, k, &ecb);
			if (dt_load_ecb(l, &ecb) != 0)
				return -1;
		}
	}
	return 0;
}

int dt_load(void *arena, const void *dof, dt_u64 bytes, dt_u32 *first_clause,
	    dt_u32 *n_clauses, struct dt_load_error *error)
{
	struct dt_load_error unused;
	struct dt_loader l;

	dt_load_begin(&l, arena, dof, bytes, error ? error : &unused);
	if (dt_dof_check(&l) != 0 || dt_load_sections(&l) != 0) {
		dt_load_undo(&l);
		return -1;
	}
	*first_clause = l.arena->clauses.n;
	*n_clauses = l.n_clauses - l.arena->clauses.n;
	dt_load_publish(&l);
	return 0;
}

/*
 * Returns the offset of a heap string that is equal to s: `old` if it is equal,
 * otherwise a new copy. Returns 0 if the heap is full.
 */
static dt_off dt_shared_string(struct dt_loader *l, const char *s, dt_off old)
{
	if (old && dt_streq(dt_at(l->base, old), s))
		return old;
	return dt_heap_string(l, s);
}

dt_u32 dt_probe_add(void *arena, const char *provider, const char *mod,
		    const char *func, const char *name)
{
	struct dt_arena *a = arena;
	struct dt_probe *probes = dt_at(arena, a->probes.at), *p;
	struct dt_probe last;
	struct dt_load_error error;
	struct dt_loader l;
	dt_u32 n = a->probes.n;

	if (n == a->probes.max)
		return 0;
	dt_load_begin(&l, arena, DT_NULL, 0, &error);
	dt_zero(&last, sizeof(last));
	if (n)
		dt_copy(&last, &probes[n - 1], sizeof(last));
	p = &probes[n];
	p->provider = dt_shared_string(&l, provider, last.provider);
	p->mod = dt_shared_string(&l, mod, last.mod);
	p->func = dt_shared_string(&l, func, last.func);
	p->name = dt_shared_string(&l, name, last.name);
	if (!p->provider || !p->mod || !p->func || !p->name)
		return 0;
	p->first_ecb = 0;
	p->flags = dt_streq(provider, "dtrace") ? DT_PROBE_DTRACE : 0;
	/*
	 * BEGIN, END and the profile provider fire only in the consumer or the
	 * agent. ERROR fires where the fault occurs.
	 */
	if ((p->flags && !dt_streq(name, "ERROR")) ||
	    dt_streq(provider, "profile"))
		p->flags |= DT_PROBE_OWN;
	a->heap_used = l.heap_used;
	dt_release32(&a->probes.n, n + 1);
	return n + 1;
}

int dt_probe_rename(void *arena, dt_u32 probe, const char *provider,
		    dt_u32 like)
{
	struct dt_arena *a = arena;
	struct dt_probe *probes = dt_at(arena, a->probes.at);
	struct dt_load_error error;
	struct dt_loader l;
	dt_off name;

	if (!probe || probe > a->probes.n || like > a->probes.n)
		return -1;
	dt_load_begin(&l, arena, DT_NULL, 0, &error);
	name = dt_shared_string(&l, provider,
				like ? probes[like - 1].provider : 0);
	if (!name)
		return -1;
	a->heap_used = l.heap_used;
	dt_release64(&probes[probe - 1].provider, name);
	return 0;
}

dt_u32 dt_ecb_add(void *arena, dt_u32 probe, dt_u32 clause)
{
	struct dt_arena *a = arena;
	struct dt_ecb *ecbs = dt_at(arena, a->ecbs.at), *e;
	struct dt_clause *clauses = dt_at(arena, a->clauses.at);
	struct dt_probe *p;
	dt_u32 n = a->ecbs.n, *link;

	if (!probe || probe > a->probes.n || clause >= a->clauses.n ||
	    n == a->ecbs.max)
		return 0;
	p = (struct dt_probe *)dt_at(arena, a->probes.at) + probe - 1;
	link = &p->first_ecb;
	while (*link && ecbs[*link - 1].clause < clause)
		link = &ecbs[*link - 1].next;
	if (*link && ecbs[*link - 1].clause == clause)
		return *link;
	dt_release32(&p->flags,
		     (p->flags | (p->first_ecb ? DT_PROBE_MANY : 0)) +
			 (1u << DT_PROBE_ECBS_SHIFT));
	e = &ecbs[n];
	e->probe = probe;
	e->clause = clause;
	e->next = *link;
	e->pad = 0;
	dt_release32(&a->ecbs.n, n + 1);
	if (!(p->flags & DT_PROBE_OWN))
		dt_release32(&clauses[clause].flags,
			     clauses[clause].flags | DT_CLAUSE_IN_TARGETS);
	if (!clauses[clause].epid)
		dt_release32(&clauses[clause].epid, n + 1);
	dt_release32(link, n + 1);
	return n + 1;
}
