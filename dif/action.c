/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Runs the actions of a clause. A clause has a list of entries (struct
 * dt_action), which run in order. Each entry is an action, or a part of the key
 * of the aggregation that follows it.
 *
 * The loader has checked the entries, and has computed where each entry records
 * its value (rec_offset, rec_size): in the clause's record or in the key.
 */
#include "dif/mstate.h"

#define DT_MAX_SIGNAL 64

static int dt_needs_target(struct dt_mstate *m)
{
	if (m->host->has_target)
		return 1;
	dt_fault(m, DTRACEFLT_UPRIV, 0);
	return 0;
}

/*
 * Records a string in a key. The last part of a key is padded with zeros only
 * to a multiple of 8 bytes. The rest of the key is neither written nor
 * compared.
 */
static void dt_record_key_string(struct dt_mstate *m, const struct dt_action *a,
				 dt_u8 *to, dt_u64 value)
{
	dt_u64 used = dt_copy_string(m, value, to, a->rec_size);
	dt_u64 zeros = a->rec_size;

	if (m->fault)
		return;
	if (!a[1].in_key) {
		m->key_used = DT_ALIGN(a->rec_offset + used, 8);
		zeros = m->key_used - a->rec_offset;
	}
	dt_zero(to + used, zeros - used);
}

static void dt_record_value(struct dt_mstate *m, const struct dt_action *a,
			    dt_u8 *to, dt_u64 value)
{
	const struct dt_difo *d = dt_at(m->base, a->difo);
	const struct dif_type *t = &d->rtype;

	if (t->kind == DIF_TYPE_STRING) {
		if (a->in_key)
			dt_record_key_string(m, a, to, value);
		else
			dt_copy_string(m, value, to, a->rec_size);
	} else if (t->flags & DIF_TF_BYUREF) {
		dt_load_target(m, value, to, a->rec_size);
	} else if ((t->flags & DIF_TF_BYREF) || a->kind == DTRACEACT_TRACEMEM) {
		dt_load_bytes(m, value, to, a->rec_size);
	} else {
		dt_put_uint(to, value, a->rec_size);
	}
}

/*
 * Returns whether the key consists of a single user stack. In such a key, one
 * zero follows the last frame. The rest of the key is neither written nor
 * compared.
 */
DT_INLINE int dt_is_stack_key(const struct dt_action *a)
{
	return a->kind == DTRACEACT_USTACK && a->in_key &&
	       a->key_bytes == 8 + 8ull * DTRACE_USTACK_NFRAMES(a->arg);
}

static int dt_is_string_key(const struct dt_mstate *m, const struct dt_action *a)
{
	const struct dt_difo *d = dt_at(m->base, a->difo);

	return a->difo && a->kind == DTRACEACT_DIFEXPR && !a[1].in_key &&
	       d->rtype.kind == DIF_TYPE_STRING;
}

static void dt_record_stack(struct dt_mstate *m, const struct dt_action *a,
			    dt_u64 *pcs)
{
	dt_u32 max = (dt_u32)a->arg;
	dt_s64 n = -1;

	if (m->ops->stack)
		n = m->ops->stack(m->host, pcs, max);
	if (n < 0)
		dt_fault(m, DTRACEFLT_BADSTACK, 0);
	else if (n < (dt_s64)max)
		dt_zero(pcs + n, (max - (dt_u64)n) * 8);
}

static void dt_record_ustack(struct dt_mstate *m, const struct dt_action *a,
			     dt_u8 *to)
{
	dt_u32 max = DTRACE_USTACK_NFRAMES(a->arg);
	dt_u64 *pcs = (dt_u64 *)(to + 8);
	dt_s64 n = 0;

	dt_put64(to, dt_pid(m));
	if (m->host->has_target && m->ops->ustack)
		n = m->ops->ustack(m->host, pcs, max);
	if (n < 0) {
		dt_fault(m, DTRACEFLT_BADSTACK, 0);
		return;
	}
	if (n >= (dt_s64)max)
		return;
	if (dt_is_stack_key(a)) {
		pcs[n] = 0;
		m->key_used = 8 + ((dt_u64)n + 1) * 8;
		return;
	}
	dt_zero(pcs + n, (max - (dt_u64)n) * 8);
}

/*
 * Runs the action exit(). The first exit() ends tracing. An exit() in END
 * replaces the status. All other later calls are ignored. The remaining actions
 * of the clause still run.
 */
static void dt_exit(struct dt_mstate *m)
{
	struct dt_own_session *own = dt_at(m->base, m->arena->own);
	dt_u32 *activity = m->activity;
	dt_u32 now = dt_acquire32(activity);

	m->exited = 1;
	if (now == DT_ACTIVITY_COOLDOWN)
		return;
	if ((now != DT_ACTIVITY_WARMUP && now != DT_ACTIVITY_ACTIVE) ||
	    !dt_cas32(activity, now, DT_ACTIVITY_DRAINING)) {
		m->discard = 1;
		return;
	}
	if (activity != &m->session->activity) {
		dt_release32(&own->exited, 1);
		dt_release32(&m->session->activity, DT_ACTIVITY_DRAINING);
	}
	dt_release32(&m->session->exited, 1);
}

static void dt_raise(struct dt_mstate *m, dt_u64 sig)
{
	if (!dt_needs_target(m))
		return;
	if (!sig || sig > DT_MAX_SIGNAL || !m->ops->raise ||
	    m->ops->raise(m->host, (int)sig) != 0)
		dt_fault(m, DTRACEFLT_ILLOP, 0);
}

static void dt_stop(struct dt_mstate *m)
{
	if (!dt_needs_target(m))
		return;
	if (!m->ops->stop || m->ops->stop(m->host) != 0)
		dt_fault(m, DTRACEFLT_ILLOP, 0);
}

static void dt_harm(struct dt_mstate *m, dt_u32 action, dt_u64 value)
{
	if (!m->ops->harm || m->ops->harm(m->host, action, value) != 0)
		dt_fault(m, DTRACEFLT_ILLOP, 0);
}

/*
 * Returns the address at which an entry records its value. The address is in
 * the key if in_key is 1, otherwise in the record. Returns null if this firing
 * has no key for the aggregation, or no record.
 */
static dt_u8 *dt_record_place(struct dt_mstate *m, const struct dt_action *a)
{
	if (a->in_key)
		return m->key ? m->key + a->rec_offset : DT_NULL;
	return m->record ? m->record + a->rec_offset : DT_NULL;
}

static void dt_record_entry(struct dt_mstate *m, const struct dt_action *a,
			    dt_u64 value)
{
	dt_u8 *to = dt_record_place(m, a);

	if (!to)
		return;
	switch (a->kind) {
	case DTRACEACT_USTACK:
	case DTRACEACT_JSTACK:
		dt_record_ustack(m, a, to);
		break;
	case DTRACEACT_STACK:
		dt_record_stack(m, a, (dt_u64 *)to);
		break;
	case DTRACEACT_USYM:
	case DTRACEACT_UMOD:
	case DTRACEACT_UADDR:
		dt_put64(to, dt_pid(m));
		dt_put64(to + 8, value);
		break;
	case DTRACEACT_PRINTA:
		if (!a->difo) {
			dt_put64(to, a->uarg);
			break;
		}
		dt_record_value(m, a, to, value);
		break;
	case DTRACEACT_SYM:
	case DTRACEACT_MOD:
		dt_put64(to, value);
		break;
	default:
		dt_record_value(m, a, to, value);
	}
}

/*
 * Allocates the key of the next aggregation in scratch memory. `a` is the first
 * part of the key, and its key_bytes is the size of the entire key.
 */
static void dt_key_start(struct dt_mstate *m, const struct dt_action *a)
{
	dt_u64 at = dt_alloc(m, a->key_bytes);

	m->increment = 1;
	m->key = DT_NULL;
	if (!at)
		return;
	m->key = dt_scratch(m, at);
	m->key_used = a->key_bytes;
	if (!dt_is_stack_key(a) && !dt_is_string_key(m, a))
		dt_zero(m->key, a->key_bytes);
}

void dt_action_run(struct dt_mstate *m, const struct dt_action *a)
{
	dt_u64 value = 0;

	m->pc = 0;
	if (a->in_key && a->key_bytes)
		dt_key_start(m, a);
	if (a->difo && !m->fault)
		value = dt_value(m, &a->brief, a->difo);
	if (m->fault)
		return;
	if (DTRACEACT_ISAGG(a->kind)) {
		if (a->ntuple == DT_NTUPLE_INCREMENT) {
			m->increment = value;
			return;
		}
		dt_aggregate(m, a, value);
		if (a->key_bytes) {
			m->key = DT_NULL;
			m->key_used = 0;
		}
		m->increment = 1;
		return;
	}
	switch (a->kind) {
	case DTRACEACT_EXIT:
		dt_exit(m);
		break;
	case DTRACEACT_RAISE:
		dt_raise(m, value);
		break;
	case DTRACEACT_STOP:
		dt_stop(m);
		break;
	case DTRACEACT_BREAKPOINT:
	case DTRACEACT_PANIC:
	case DTRACEACT_CHILL:
		dt_harm(m, a->kind, value);
		break;
	case DTRACEACT_SPECULATE:
		dt_speculate(m, value);
		break;
	case DTRACEACT_COMMIT:
		dt_commit(m, value);
		break;
	case DTRACEACT_DISCARD:
		dt_discard(m, value);
		break;
	default:
		break;
	}
	if (a->rec_size && !m->fault)
		dt_record_entry(m, a, value);
}
