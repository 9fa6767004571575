/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Built-in variables, and user variables with static storage.
 *
 * Each row of dif/vars.h with the source ENGINE has a dt_var_*() here.
 *
 * A global integer has 8 bytes of static storage. A global by-reference
 * variable (a string or structure) has a flag word (DT_VAR_*), followed by its
 * value. A clause-local variable begins with a word that identifies the firing
 * that set it. In other firings, the variable reads as 0.
 */
#include "dif/mstate.h"

#define DT_VAR_UNSET 0
#define DT_VAR_SET 1
#define DT_VAR_NULL 2 /* NULL was assigned to a by-reference variable */
#define DT_LOCAL_NULL (1ull << 63)

/*
 * Returns the monotonic time in ns. The clock is read once per clause. The
 * result is never earlier than the last time that was used in the shard. Also
 * sets lease_over if the lease has expired.
 */
dt_u64 dt_now(struct dt_mstate *m)
{
	dt_u64 lease;

	if (m->have_time)
		return m->timestamp;
	m->timestamp = m->ops->timestamp(m->host);
	if (m->timestamp < m->shard->last_timestamp)
		m->timestamp = m->shard->last_timestamp;
	m->shard->last_timestamp = m->timestamp;
	m->have_time = 1;
	lease = dt_once64(&m->session->lease_until);
	if (lease && m->timestamp > lease)
		m->lease_over = 1;
	return m->timestamp;
}

static dt_u64 dt_host_number(struct dt_mstate *m, dt_u32 id, dt_u32 index)
{
	dt_u64 v = 0;

	if (!m->ops->var || m->ops->var(m->host, id, index, &v) != 0)
		return 0;
	return v;
}

static dt_u64 dt_host_string(struct dt_mstate *m, dt_u32 id, dt_u32 index)
{
	dt_u64 at = dt_alloc(m, m->strsize), n = 0;
	dt_u8 *to;

	if (!at)
		return 0;
	to = dt_scratch(m, at);
	if (m->ops->var_string)
		n = m->ops->var_string(m->host, id, index, (char *)to,
				       m->strsize - 1);
	if (n > m->strsize - 1)
		n = m->strsize - 1;
	to[n] = 0;
	m->scratch_used = DT_ALIGN(at - DT_VBASE - dt_scratch_at(m) + n + 1, 8);
	return at;
}

dt_u64 dt_pid(struct dt_mstate *m)
{
	return dt_host_number(m, DIF_VAR_pid, 0);
}

static dt_u64 dt_probe_arg(struct dt_mstate *m, dt_u64 n)
{
	dt_u64 value = 0, bad = 0;

	if (n < m->n_args)
		return m->args[n];
	if (n > 63) {
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return 0;
	}
	if ((m->probe->flags & DT_PROBE_DTRACE) || !m->ops->arg)
		return 0;
	if (m->ops->arg(m->host, (dt_u32)n, &value, &bad) == 0)
		return value;
	dt_fault(m, bad ? DTRACEFLT_BADADDR : DTRACEFLT_ILLOP, bad);
	return 0;
}

static dt_u64 dt_var_timestamp(struct dt_mstate *m)
{
	return dt_now(m);
}

static dt_u64 dt_var_vtimestamp(struct dt_mstate *m)
{
	if (!m->have_vtime) {
		m->vtime = m->ops->vtimestamp ? m->ops->vtimestamp(m->host) : 0;
		m->have_vtime = 1;
	}
	return m->vtime;
}

static dt_u64 dt_var_walltimestamp(struct dt_mstate *m)
{
	if (!m->have_wall) {
		m->walltime = m->ops->walltime(m->host);
		m->have_wall = 1;
	}
	return m->walltime;
}

static dt_u64 dt_var_epid(struct dt_mstate *m)
{
	return m->epid;
}

static dt_u64 dt_var_id(struct dt_mstate *m)
{
	return m->probe_id;
}

static dt_u64 dt_var_probeprov(struct dt_mstate *m)
{
	return DT_VBASE + m->probe->provider;
}

static dt_u64 dt_var_probemod(struct dt_mstate *m)
{
	return DT_VBASE + m->probe->mod;
}

static dt_u64 dt_var_probefunc(struct dt_mstate *m)
{
	return DT_VBASE + m->probe->func;
}

static dt_u64 dt_var_probename(struct dt_mstate *m)
{
	return DT_VBASE + m->probe->name;
}

static dt_u64 dt_var_cpu(struct dt_mstate *m)
{
	return m->host->cpu;
}

/*
 * Stores the program counters of the user stack in the unused scratch memory,
 * and makes *pcs point to them. Returns the number of frames, or 0 if there is
 * no user stack. Raises a fault and returns 0 if the host cannot read the
 * stack.
 */
static dt_u64 dt_frames(struct dt_mstate *m, dt_u64 **pcs, dt_u32 max)
{
	dt_u64 room = (m->arena->plan.scratch_bytes - m->scratch_used) / 8;
	dt_s64 n;

	*pcs = dt_at(m->base, dt_scratch_at(m) + m->scratch_used);
	if (!m->host->has_target || !m->ops->ustack)
		return 0;
	if (room < max)
		max = (dt_u32)room;
	n = max ? m->ops->ustack(m->host, *pcs, max) : 0;
	if (n < 0) {
		dt_fault(m, DTRACEFLT_BADSTACK, 0);
		return 0;
	}
	return (dt_u64)n > max ? max : (dt_u64)n;
}

static dt_u64 dt_var_ustackdepth(struct dt_mstate *m)
{
	dt_u64 *pcs;

	return dt_frames(m, &pcs, 1024);
}

static dt_u64 dt_var_ucaller(struct dt_mstate *m)
{
	dt_u64 *pcs;

	return dt_frames(m, &pcs, 2) > 1 ? pcs[1] : 0;
}

#define DT_FETCH_ENGINE(m, name, no) dt_var_##name(m)
#define DT_FETCH_ARG(m, name, no) dt_probe_arg(m, (no)-DIF_VAR_arg0)
#define DT_FETCH_NUMBER(m, name, no) dt_host_number(m, no, 0)
#define DT_FETCH_STRING(m, name, no) dt_host_string(m, no, 0)
#define DT_FETCH_KERNEL(m, name, no) dt_host_number(m, no, 0)

dt_u64 dt_builtin(struct dt_mstate *m, dt_u32 id)
{
	switch (id) {
#define X(name, number, type, source)                                          \
	case number:                                                           \
		return DT_FETCH_##source(m, name, number);
		DIF_VAR_SCALARS(X)
#undef X
	default:
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return 0;
	}
}

#define DT_ELEMENT_NUMBER(m, no, index) dt_host_number(m, no, index)
#define DT_ELEMENT_STRING(m, no, index) dt_host_string(m, no, index)

dt_u64 dt_builtin_array(struct dt_mstate *m, dt_u32 id, dt_u64 index)
{
	dt_u64 v = 0;

	switch (id) {
	case DIF_VAR_args:
		return dt_probe_arg(m, index);
	case DIF_VAR_uregs:
		if (index <= 0xffffffffu && m->ops->var &&
		    m->ops->var(m->host, id, (dt_u32)index, &v) == 0)
			return v;
		break;
#define X(name, number, type, source)                                          \
	case number:                                                           \
		return DT_ELEMENT_##source(m, number, (dt_u32)index);
		DIF_VAR_FILES(X)
#undef X
	default:
		break;
	}
	dt_fault(m, DTRACEFLT_ILLOP, 0);
	return 0;
}

static int dt_static_fill(struct dt_mstate *m, const struct dt_var *v,
			  dt_u8 *to, dt_u64 from)
{
	if (v->type.kind == DIF_TYPE_STRING)
		dt_copy_string(m, from, to, v->type.size);
	else
		dt_load_bytes(m, from, to, v->type.size);
	return !m->fault;
}

static dt_u64 dt_local_get(struct dt_mstate *m, const struct dt_var *v)
{
	dt_off at = dt_locals_at(m) + v->storage;
	dt_u64 *flag = dt_at(m->base, at);
	int byref = dt_type_byref(&v->type);

	if (*flag == (m->generation | DT_LOCAL_NULL))
		return 0;
	if (*flag != m->generation) {
		if (!byref)
			return 0;
		dt_zero(flag + 1, v->type.size);
		*flag = m->generation;
	}
	return byref ? DT_VBASE + at + 8 : flag[1];
}

dt_u64 dt_static_get(struct dt_mstate *m, dt_u32 scope, dt_u32 id)
{
	const struct dt_var *v = dt_find_var(m->base, m->arena, scope, id);
	dt_u64 *at;

	if (DT_UNLIKELY(!v)) {
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return 0;
	}
	if (scope == DIFV_SCOPE_LOCAL)
		return dt_local_get(m, v);
	at = dt_at(m->base, v->storage);
	if (!dt_type_byref(&v->type))
		return dt_once64(at);
	return dt_once64(at) == DT_VAR_NULL ? 0 : DT_VBASE + v->storage + 8;
}

void dt_static_set(struct dt_mstate *m, dt_u32 scope, dt_u32 id, dt_u64 value)
{
	const struct dt_var *v = dt_find_var(m->base, m->arena, scope, id);
	int local = scope == DIFV_SCOPE_LOCAL;
	dt_u64 set = local ? m->generation : DT_VAR_SET;
	dt_u64 *at;

	if (DT_UNLIKELY(!v)) {
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return;
	}
	at = dt_at(m->base, (local ? dt_locals_at(m) : 0) + v->storage);
	if (!dt_type_byref(&v->type)) {
		if (local)
			*at++ = set;
		__atomic_store_n(at, value, __ATOMIC_RELAXED);
		return;
	}
	if (!value)
		*at = local ? set | DT_LOCAL_NULL : DT_VAR_NULL;
	else if (dt_static_fill(m, v, (dt_u8 *)(at + 1), value))
		*at = set;
}
