/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Fires a probe: takes a shard, then runs every ECB of the probe in program
 * order.
 *
 * A clause evaluates its predicate, reserves space for the record, runs the
 * actions and publishes the record. A fault ends only the current clause. The
 * values that the clause has already stored and aggregated are kept. A separate
 * record describes the fault. Then the ECBs of ERROR run in the same shard,
 * with their own clause-local variables and strtok() state. A fault in an ECB
 * of ERROR is only counted.
 */
#include "dif/mstate.h"

#define DT_ERROR_ARGS 6
/*
 * The mask that selects every 64th firing in a shard. Only these firings check
 * the lease.
 */
#define DT_LEASE_EACH 63

static int dt_may_fire(struct dt_mstate *m)
{
	switch (dt_once32(m->activity)) {
	case DT_ACTIVITY_ACTIVE:
		return 1;
	case DT_ACTIVITY_WARMUP:
	case DT_ACTIVITY_DRAINING:
	case DT_ACTIVITY_COOLDOWN:
		return m->probe->flags & DT_PROBE_DTRACE;
	default:
		return 0;
	}
}

static void dt_record_header(struct dt_mstate *m, dt_u16 flags)
{
	struct dt_rechdr *h = (struct dt_rechdr *)m->record;

	h->epid = m->epid;
	h->cpu = (dt_u16)m->host->cpu;
	h->flags = flags;
	h->timestamp = dt_now(m);
}

static void dt_run_ecbs(struct dt_mstate *m, dt_u32 epid);

static void dt_record_error(struct dt_mstate *m)
{
	struct dt_rec_error *e;

	m->record = dt_reserve(m, sizeof(struct dt_rechdr) + sizeof(*e));
	if (!m->record)
		return;
	dt_record_header(m, DT_REC_ERROR);
	e = (struct dt_rec_error *)(m->record + sizeof(struct dt_rechdr));
	e->action = m->action;
	e->offset = m->pc ? (m->pc - 1) * 4 : 0;
	e->fault = m->fault;
	e->pad = 0;
	e->value = m->fault_value;
	dt_publish(m);
}

static void dt_error(struct dt_mstate *m)
{
	const struct dt_probe *probes = dt_at(m->base, m->arena->probes.at);
	dt_u64 args[DT_ERROR_ARGS] = {0,	 m->epid,
				      m->action, m->pc ? (m->pc - 1) * 4 : 0,
				      m->fault,	 m->fault_value};
	dt_u64 strtok = m->strtok_pos | (dt_u64)m->strtok_len << 32;
	const struct dt_probe *probe = m->probe;
	const dt_u64 *outer_args = m->args;
	dt_u32 n_args = m->n_args, id = m->probe_id;

	/* DT_FAULT_DROPPED was counted as a drop, so it does not fire ERROR. */
	if (m->fault == DT_FAULT_DROPPED) {
		m->fault = 0;
		return;
	}
	if (m->in_error) {
		m->shard->drops[DTRACEDROP_DBLERROR]++;
		return;
	}
	dt_record_error(m);
	m->fault = 0;
	if (dt_acquire32(&m->arena->probes.n) < DT_PROBE_ERROR)
		return;
	m->in_error = 1;
	m->probe_id = DT_PROBE_ERROR;
	m->probe = &probes[DT_PROBE_ERROR - 1];
	m->args = args;
	m->n_args = DT_ERROR_ARGS;
	m->strtok_pos = m->strtok_len = 0;
	if (!m->exited && dt_may_fire(m))
		dt_run_ecbs(m, dt_acquire32(&m->probe->first_ecb));
	m->strtok_pos = (dt_u32)strtok;
	m->strtok_len = (dt_u32)(strtok >> 32);
	m->n_args = n_args;
	m->args = outer_args;
	m->probe = probe;
	m->probe_id = id;
	m->in_error = 0;
	m->fault = 0;
}

/*
 * Reserves space for the record of a clause. Returns 1 if the clause may run,
 * or 0 if there is no space or the lease has expired. A clause that has no
 * record, or whose record belongs to a speculation, needs no space here and may
 * run.
 */
static int dt_clause_room(struct dt_mstate *m)
{
	const struct dt_clause *c = m->clause;

	if (!(c->flags & DT_CLAUSE_RECORDS) ||
	    (c->flags & DT_CLAUSE_SPECULATES))
		return 1;
	dt_now(m);
	if (m->lease_over) {
		dt_count(&m->session->drops[DTRACEDROP_LEASE]);
		return 0;
	}
	m->record = dt_reserve(m, c->rec_bytes);
	return m->record != DT_NULL;
}

static void dt_run_actions(struct dt_mstate *m)
{
	const struct dt_clause *c = m->clause;
	const struct dt_action *a = dt_at(m->base, c->actions);

	for (dt_u32 i = 0; i < c->n_actions && !m->skip; i++) {
		m->action = i + 1;
		dt_work(m);
		if (DT_LIKELY(!m->fault))
			dt_action_run(m, &a[i]);
		if (DT_UNLIKELY(m->fault))
			return;
	}
}

static void dt_run_clause(struct dt_mstate *m)
{
	const struct dt_clause *c = m->clause;

	m->scratch_used = 0;
	m->fault = 0;
	m->pc = 0;
	m->action = 0;
	m->have_time = m->have_wall = m->have_vtime = 0;
	m->record = DT_NULL;
	m->key = DT_NULL;
	m->key_used = 0;
	m->increment = 1;
	m->spec = 0;
	m->skip = 0;
	m->discard = 0;
	if (c->predicate && !dt_value(m, &c->brief, c->predicate)) {
		if (m->fault)
			dt_error(m);
		return;
	}
	if (!dt_clause_room(m))
		return;
	dt_run_actions(m);
	if (m->fault) {
		dt_error(m);
		return;
	}
	if (!m->record || m->discard)
		return;
	if (m->spec && !dt_spec_active(m, m->spec))
		return;
	dt_record_header(m, 0);
	dt_publish(m);
}

static void dt_run_ecbs(struct dt_mstate *m, dt_u32 epid)
{
	const struct dt_ecb *ecbs = dt_at(m->base, m->arena->ecbs.at);
	const struct dt_clause *clauses = dt_at(m->base, m->arena->clauses.at);

	while (epid) {
		const struct dt_ecb *ecb = &ecbs[epid - 1];

		m->epid = epid;
		m->clause = &clauses[ecb->clause];
		if (m->arena->options[DTRACEOPT_cpu] == DT_OPT_UNSET ||
		    m->arena->options[DTRACEOPT_cpu] == m->host->cpu ||
		    (m->probe->flags & DT_PROBE_DTRACE))
			dt_run_clause(m);
		epid = dt_acquire32(&ecb->next);
		dt_work(m);
		if (epid && (m->exited || !dt_may_fire(m)))
			break;
	}
}

static void dt_mstate_init(struct dt_mstate *m, struct dt_host *host)
{
	const struct dt_arena *arena = host->arena;

	m->host = host;
	m->ops = host->ops;
	m->base = host->arena;
	m->arena = arena;
	m->shard_no = host->shard;
	m->shard_at = arena->shards + host->shard * arena->shard_bytes;
	m->strsize = (dt_u32)arena->options[DTRACEOPT_strsize];
	m->generation = ++m->shard->fired;
	m->n_refs = 0;
	m->strtok_pos = m->strtok_len = 0;
	m->in_error = 0;
	m->exited = 0;
	m->lease_over = 0;
	m->have_time = m->have_wall = m->have_vtime = 0;
	m->n_work = 0;
	m->measured_at = 0;
}

/*
 * Prepares a firing of a probe. Returns the EPID of the probe's first ECB, or 0
 * if no ECB may run.
 */
static dt_u32 dt_fire_start(struct dt_mstate *m, struct dt_host *host,
			    dt_u32 probe)
{
	const struct dt_arena *arena = host->arena;
	const struct dt_probe *probes = dt_at(arena, arena->probes.at);
	dt_u32 epid;

	if (!probe || probe > dt_acquire32(&arena->probes.n))
		return 0;
	m->probe = &probes[probe - 1];
	m->probe_id = probe;
	epid = dt_acquire32(&m->probe->first_ecb);
	m->session = dt_at(arena, arena->session);
	m->activity = &m->session->activity;
	if (DT_UNLIKELY(host->own_shards) && arena->own)
		m->activity = &((struct dt_own_session *)dt_at(
				    host->arena, arena->own))->activity;
	return epid && dt_may_fire(m) ? epid : 0;
}

/*
 * The fast path for a probe whose only clause is one count() without a key.
 * Returns 0 if the general path must run, which also checks the lease.
 */
static int dt_fire_counts(const struct dt_host *host, struct dt_shard *shard,
			  dt_u32 epid)
{
	const struct dt_arena *arena = host->arena;
	const struct dt_ecb *ecbs = dt_at(arena, arena->ecbs.at);
	const struct dt_clause *clauses = dt_at(arena, arena->clauses.at), *c;

	c = &clauses[ecbs[epid - 1].clause];
	if (!(c->flags & DT_CLAUSE_COUNTS) ||
	    dt_acquire32(&ecbs[epid - 1].next) ||
	    arena->options[DTRACEOPT_cpu] != DT_OPT_UNSET ||
	    !((shard->fired + 1) & DT_LEASE_EACH) ||
	    !dt_agg_count_hinted(shard, &arena->plan, dt_at(arena, c->actions),
				 epid))
		return 0;
	shard->fired++;
	return 1;
}

/*
 * Runs the ECBs from `epid` on. The caller must hold the lock of host->shard.
 */
static void dt_fire_run(struct dt_mstate *m, struct dt_host *host, dt_u32 epid,
			const dt_u64 *args, dt_u32 n_args)
{
	m->shard = dt_shard_at(host->arena, host->arena, host->shard);
	if (dt_fire_counts(host, m->shard, epid))
		return;
	dt_mstate_init(m, host);
	m->args = args;
	m->n_args = n_args;
	if (!(m->generation & DT_LEASE_EACH))
		dt_now(m);
	if (!m->lease_over) {
		dt_run_ecbs(m, epid);
		return;
	}
	m->shard->fired--; /* so that the next firing checks the lease again */
	dt_count(&m->session->drops[DTRACEDROP_LEASE]);
}

void dt_fire_held(struct dt_host *host, dt_u32 probe, dt_u32 from,
		  const dt_u64 *args, dt_u32 n_args)
{
	const struct dt_arena *arena = host->arena;
	struct dt_mstate m;
	dt_u32 epid = dt_fire_start(&m, host, probe);

	if (DT_UNLIKELY(from) && epid)
		epid = from <= dt_acquire32(&arena->ecbs.n) ? from : 0;
	if (epid)
		dt_fire_run(&m, host, epid, args, n_args);
}

void dt_fire(struct dt_host *host, dt_u32 probe, const dt_u64 *args,
	     dt_u32 n_args)
{
	struct dt_mstate m;
	dt_u32 epid = dt_fire_start(&m, host, probe);

	if (!epid)
		return;
	if (dt_shard_take(host) < 0) {
		dt_count(&m.session->drops[DTRACEDROP_NOSHARD]);
		return;
	}
	dt_fire_run(&m, host, epid, args, n_args);
	if (DT_UNLIKELY(host->fills)) {
		host->fills = 0;
		dt_shard_leave(host->arena, host->shard, m.shard);
	} else {
		dt_release32(&m.shard->lock, 0);
	}
}
