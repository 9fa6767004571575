/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Computes the layout of an arena, and changes the activity of its session.
 *
 * dt_plan() is called twice: first to determine the sizes of the parts, and
 * later to store the offsets in the arena. Large tables are cheap, because
 * pages that are never written use no memory.
 */
#include "dif/mstate.h"

#define DT_PART 65536ull
#define DT_LIMIT_BYTES (1ull << 46)
#define DT_MAX_CPUS 4096

static dt_u64 dt_or(dt_u64 v, dt_u64 otherwise)
{
	return v ? v : otherwise;
}

static dt_u64 dt_clamp(dt_u64 v, dt_u64 low, dt_u64 high)
{
	return v < low ? low : v > high ? high : v;
}

static dt_u64 dt_take(dt_u64 *at, dt_u64 bytes, dt_u64 align)
{
	dt_u64 here = DT_ALIGN(*at, align);

	*at = here + bytes;
	return here;
}

static void dt_table(struct dt_table *t, dt_u64 *at, dt_u32 max, dt_u64 each)
{
	t->at = dt_take(at, max * each, 8);
	t->n = 0;
	t->max = max;
}

static void dt_plan_options(struct dt_arena *a,
			    const struct dt_arena_config *config)
{
	dt_u64 *o = a->options;

	for (int i = 0; i < DTRACEOPT_N; i++)
		o[i] = config->options[i];
#define X(name, number, kind, value, dynamic)                                  \
	if (o[number] == DT_OPT_UNSET)                                         \
		o[number] = value;
	DIF_OPTIONS(X)
#undef X
	o[DTRACEOPT_strsize] = dt_clamp(o[DTRACEOPT_strsize], 1, 1 << 20);
	o[DTRACEOPT_nspec] = dt_clamp(o[DTRACEOPT_nspec], 0, DT_MAX_SPECS);
}

static void dt_plan_shard(struct dt_arena *a,
			  const struct dt_arena_config *config)
{
	struct dt_shard_plan *p = &a->plan;
	const dt_u64 *o = a->options;
	dt_u64 at = sizeof(struct dt_shard);
	dt_u64 strsize = DT_ALIGN(o[DTRACEOPT_strsize], 8);

	p->n_specs = (dt_u32)o[DTRACEOPT_nspec];
	p->locals_bytes = DT_ALIGN(dt_or(config->locals_bytes, 256 << 10), 8);
	p->principal_bytes =
	    dt_clamp(o[DTRACEOPT_bufsize], 64, 1ull << 32) & ~7ull;
	p->agg_bytes = dt_clamp(o[DTRACEOPT_aggsize], 128, 1ull << 31) & ~7ull;
	p->spec_bytes = dt_clamp(o[DTRACEOPT_specsize], 64, 1ull << 32) & ~7ull;
	p->scratch_bytes =
	    dt_clamp(p->principal_bytes, 16 * strsize + 4096, 4 << 20);
	p->scratch_bytes = DT_ALIGN(p->scratch_bytes, 8);
	p->agg_buckets = 2;
	while (p->agg_buckets < 65536 && p->agg_buckets < p->agg_bytes / 256)
		p->agg_buckets *= 2;

	p->specs = dt_take(&at, p->n_specs * sizeof(struct dt_buffer), 8);
	p->strtok = dt_take(&at, 2 * strsize, 8);
	p->locals = dt_take(&at, 2 * p->locals_bytes, 64);
	p->scratch = dt_take(&at, p->scratch_bytes, 4096);
	for (int i = 0; i < 2; i++) {
		p->principal[i] = dt_take(&at, p->principal_bytes, 4096);
		p->agg[i] = dt_take(&at, p->agg_bytes, 4096);
	}
	p->spec_data = dt_take(&at, p->n_specs * p->spec_bytes, 4096);
	a->shard_bytes = DT_ALIGN(at, 4096ull);
}

static void dt_plan(struct dt_arena *a, const struct dt_arena_config *config)
{
	dt_u64 at = DT_ALIGN(sizeof(*a), 64ull), shared, spare, sets_bytes;
	dt_u32 clauses = (dt_u32)dt_or(config->max_clauses, 4096);
	dt_u32 vars = (dt_u32)dt_or(config->max_vars, 4096);
	dt_u32 probes = (dt_u32)dt_or(config->max_probes, 65536);
	dt_u32 ecbs = (dt_u32)dt_or(config->max_ecbs, 131072);

	dt_plan_options(a, config);
	dt_plan_shard(a, config);
	a->magic = DT_ARENA_MAGIC;
	a->version = DT_ARENA_VERSION;
	a->has_float = config->has_float;
	a->has_kernel = config->has_kernel;
	a->has_stack = config->has_stack;
	a->n_shards =
	    (dt_u32)dt_clamp(dt_or(config->n_shards, 16) + config->n_private,
			     1, DT_MAX_SHARDS);
	a->n_shared = a->n_shards - (dt_u32)dt_clamp(config->n_private, 0,
						     a->n_shards - 1);
	/*
	 * At least n_cpus + 2 shared shards are never parked: one for each CPU
	 * and two in reserve.
	 */
	spare = a->n_shared - dt_clamp(config->n_cpus + 2ull, 0, a->n_shared);
	a->plan.n_parkable = (dt_u32)dt_clamp(
	    config->n_parkable, 0, dt_clamp(spare, 0, a->n_shared / 2));
	dt_table(&a->difos, &at, clauses * 16 + 64, sizeof(struct dt_difo));
	dt_table(&a->clauses, &at, clauses, sizeof(struct dt_clause));
	dt_table(&a->enablings, &at, clauses * 4, sizeof(struct dt_enabling));
	dt_table(&a->probes, &at, probes, sizeof(struct dt_probe));
	dt_table(&a->ecbs, &at, ecbs, sizeof(struct dt_ecb));
	dt_table(&a->vars, &at, vars, sizeof(struct dt_var));
	a->var_index = dt_take(&at, 3 * 65536 * sizeof(dt_u32), 64);
	a->counters.n_cpus = (dt_u32)dt_clamp(
	    dt_or(config->n_cpus, a->n_shared), 1, DT_MAX_CPUS);
	a->counters.n_sets = config->has_kernel ? 0 : a->counters.n_cpus + 1;
	/*
	 * Offset 0 means that an action has no counters, so the first offset is
	 * 64. If there are no sets, the space is marked as full.
	 */
	a->counters.used = a->counters.n_sets ? 64 : DT_COUNTERS_BYTES;
	sets_bytes = (dt_u64)a->counters.n_sets << DT_COUNTERS_SHIFT;
	/* A private part, if there is one, contains counters.seen instead. */
	if (a->n_shared == a->n_shards)
		a->counters.seen = dt_take(&at, sets_bytes, 4096);
	a->heap_used = DT_ALIGN(at, 64ull);
	at = a->heap_used + dt_or(config->heap_bytes, 16 << 20);
	a->program_bytes = DT_ALIGN(at, DT_PART);

	at = a->program_bytes;
	a->session = dt_take(&at, sizeof(struct dt_session), 64);
	a->globals_bytes = DT_ALIGN(dt_or(config->globals_bytes, 1 << 20), 8);
	a->globals_used = 0;
	a->globals = dt_take(&at, a->globals_bytes, 4096);
	a->dynvars_bytes = DT_ALIGN(
	    dt_clamp(a->options[DTRACEOPT_dynvarsize], 8192, 1ull << 31), 64);
	a->dynvars = dt_take(&at, a->dynvars_bytes, 4096);
	dt_dynvar_layout(a);
	a->counters.sets = dt_take(&at, sets_bytes, 4096);
	a->own = 0;
	shared = a->n_shared * a->shard_bytes;
	if (a->n_shared == a->n_shards) {
		a->shards = dt_take(&at, shared, 4096);
		a->total_bytes = DT_ALIGN(at, DT_PART);
		a->private_at = a->total_bytes;
	} else {
		/*
		 * All shards are in one array. The first private shard begins
		 * where the private part begins.
		 */
		a->private_at = DT_ALIGN(DT_ALIGN(at, 4096ull) + shared, DT_PART);
		a->shards = a->private_at - shared;
		at = a->private_at +
		     (a->n_shards - a->n_shared) * a->shard_bytes;
		a->own = dt_take(&at, sizeof(struct dt_own_session), 64);
		a->counters.seen = dt_take(&at, sets_bytes, 4096);
		a->total_bytes = DT_ALIGN(at, DT_PART);
	}
	a->locals_used = 0;
	a->start_walltime = config->walltime;
}

void dt_arena_layout(const struct dt_arena_config *config,
		     dt_u64 *program_bytes, dt_u64 *total_bytes)
{
	struct dt_arena a;

	dt_plan(&a, config);
	*program_bytes = a.program_bytes;
	*total_bytes = a.total_bytes;
}

dt_u64 dt_arena_private_at(const struct dt_arena_config *config)
{
	struct dt_arena a;

	dt_plan(&a, config);
	return a.private_at;
}

static void dt_shard_init(struct dt_arena *a, dt_u32 no, dt_u64 arena)
{
	const struct dt_shard_plan *p = &a->plan;
	struct dt_shard *s = dt_shard_at((dt_u8 *)a, a, no);
	dt_off at = (dt_off)((dt_u8 *)s - (dt_u8 *)a);
	struct dt_buffer *specs = dt_at(s, p->specs);

	for (int i = 0; i < 2; i++) {
		s->principal[i].at = at + p->principal[i];
		s->principal[i].size = p->principal_bytes;
		s->agg[i].at = at + p->agg[i];
		s->agg[i].size = p->agg_bytes;
	}
	for (dt_u32 i = 0; i < p->n_specs; i++) {
		specs[i].at = at + p->spec_data + i * p->spec_bytes;
		specs[i].size = p->spec_bytes;
	}
	s->agg_buckets = p->agg_buckets;
	s->specs = at + p->specs;
	s->scratch = at + p->scratch;
	s->scratch_bytes = p->scratch_bytes;
	s->locals = at + p->locals;
	s->locals_bytes = p->locals_bytes;
	s->rand_state = (a->start_walltime + arena * DT_MAX_SHARDS + no + 1) *
			0x9e3779b97f4a7c15ull;
}

static void dt_data_init(void *mem, dt_u64 number)
{
	struct dt_arena *a = mem;

	for (dt_u32 i = 0; i < a->n_shards; i++)
		dt_shard_init(a, i, number);
	dt_dynvar_init(mem, a);
}

void dt_arena_init(void *mem, const struct dt_arena_config *config)
{
	dt_plan(mem, config);
	dt_data_init(mem, 0);
}

void dt_arena_init_like(void *mem, const void *first, dt_u64 number)
{
	const struct dt_arena *a = first;
	const struct dt_session *from = dt_at(first, a->session);
	const struct dt_own_session *own = dt_at(first, a->own);
	struct dt_session *session = dt_at(mem, a->session);

	dt_data_init(mem, number);
	session->lease_until = dt_once64(&from->lease_until);
	session->activity = dt_acquire32(&own->activity);
	((struct dt_own_session *)dt_at(mem, a->own))->activity =
	    session->activity;
}

int dt_activity_advance(void *arena, dt_u32 from, dt_u32 to)
{
	const struct dt_arena *a = arena;
	struct dt_session *session = dt_at(arena, a->session);
	struct dt_own_session *own = dt_at(arena, a->own);

	if (!a->own)
		return to > from && dt_cas32(&session->activity, from, to);
	if (to <= from || !dt_cas32(&own->activity, from, to))
		return 0;
	dt_release32(&session->activity, to);
	return 1;
}

/* Returns whether a clause with exit() has probes that fire in targets. */
static int dt_targets_exit(const struct dt_arena *a)
{
	const struct dt_clause *clauses = dt_at(a, a->clauses.at);
	dt_u32 both = DT_CLAUSE_EXITS | DT_CLAUSE_IN_TARGETS;
	dt_u32 n = dt_acquire32(&a->clauses.n);

	for (dt_u32 i = 0; i < n; i++)
		if ((dt_once32(&clauses[i].flags) & both) == both)
			return 1;
	return 0;
}

int dt_has_exited(void *arena)
{
	const struct dt_arena *a = arena;
	struct dt_session *session = dt_at(arena, a->session);
	struct dt_own_session *own = dt_at(arena, a->own);
	dt_u32 seen, now;

	if (!a->own)
		return dt_acquire32(&session->exited) != 0;
	if (dt_acquire32(&own->exited))
		return 1;
	if (dt_targets_exit(a)) {
		if (!dt_acquire32(&session->exited))
			return 0;
		now = dt_acquire32(&own->activity);
		if (now == DT_ACTIVITY_WARMUP || now == DT_ACTIVITY_ACTIVE)
			dt_cas32(&own->activity, now, DT_ACTIVITY_DRAINING);
		return 1;
	}
	/*
	 * An exit() writes the private activity first, then the shared one. So
	 * read them in the opposite order here. If the shared value is new, the
	 * private value is also new.
	 */
	seen = dt_acquire32(&session->activity);
	now = dt_acquire32(&own->activity);
	if (seen != now)
		dt_cas32(&session->activity, seen, now);
	return 0;
}
