/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads and writes memory for D programs.
 *
 * An address of the form DT_VBASE + offset refers to memory of the arena. A D
 * program may read these parts of the arena:
 *   - the program part, which contains the D program's strings
 *   - global variables and dynamic variables
 *   - in its own shard, the clause-local variables, and the scratch memory that
 *     the current clause has allocated
 * The D program may write to this scratch memory and to the values of
 * by-reference variables. Any other address belongs to the target, and is read
 * with the host operation load().
 */
#include "dif/mstate.h"

dt_u8 *dt_dmem(struct dt_mstate *m, dt_u64 addr, dt_u64 *avail)
{
	const struct dt_arena *a = m->arena;
	dt_u64 off = addr - DT_VBASE;

	if (off - dt_scratch_at(m) < m->scratch_used)
		*avail = dt_scratch_at(m) + m->scratch_used - off;
	else if (off < a->program_bytes)
		*avail = a->program_bytes - off;
	else if (off - a->globals < a->globals_bytes)
		*avail = a->globals + a->globals_bytes - off;
	else if (off - a->dynvars < a->dynvars_bytes)
		*avail = a->dynvars + a->dynvars_bytes - off;
	else if (off - dt_locals_at(m) < a->plan.locals_bytes)
		*avail = dt_locals_at(m) + a->plan.locals_bytes - off;
	else
		return DT_NULL;
	return m->base + off;
}

/*
 * Returns whether the bytes at the offset `off` are in the value of a global or
 * clause-local by-reference variable. A flag word precedes the value.
 */
static int dt_static_stores(struct dt_mstate *m, dt_u64 off, dt_u64 bytes)
{
	const struct dt_arena *a = m->arena;
	const struct dt_var *vars = dt_at(m->base, a->vars.at);
	dt_u32 n = dt_acquire32(&a->vars.n);

	dt_work(m);
	for (dt_u32 i = 0; i < n; i++) {
		const struct dt_var *v = &vars[i];
		dt_u64 start;

		if (v->kind != DIFV_KIND_SCALAR || !dt_type_byref(&v->type))
			continue;
		if (v->scope == DIFV_SCOPE_GLOBAL)
			start = v->storage + 8;
		else if (v->scope == DIFV_SCOPE_LOCAL)
			start = dt_locals_at(m) + v->storage + 8;
		else
			continue;
		if (off >= start && off - start <= v->type.size &&
		    bytes <= dt_type_bytes(a, &v->type) - (off - start))
			return 1;
	}
	return 0;
}

dt_u8 *dt_dmem_store(struct dt_mstate *m, dt_u64 addr, dt_u64 bytes)
{
	const struct dt_arena *a = m->arena;
	dt_u64 off = addr - DT_VBASE;
	int may = 0;

	if (off - dt_scratch_at(m) < m->scratch_used)
		may = bytes <= dt_scratch_at(m) + m->scratch_used - off;
	else if (off - a->globals < a->globals_bytes ||
		 off - dt_locals_at(m) < a->plan.locals_bytes)
		may = dt_static_stores(m, off, bytes);
	if (may)
		return m->base + off;
	dt_fault(m, DTRACEFLT_BADADDR, addr);
	return DT_NULL;
}

int dt_load_target(struct dt_mstate *m, dt_u64 addr, void *to, dt_u64 bytes)
{
	dt_u64 bad = addr;

	if (m->host->has_target && m->ops->load && !dt_is_dmem(m, addr) &&
	    addr + bytes >= addr &&
	    m->ops->load(m->host, addr, to, bytes, &bad) == 0)
		return 0;
	dt_fault(m, DTRACEFLT_BADADDR, bad);
	return -1;
}

int dt_load_bytes(struct dt_mstate *m, dt_u64 addr, void *to, dt_u64 bytes)
{
	dt_u64 avail;
	const dt_u8 *from;

	if (!dt_is_dmem(m, addr))
		return dt_load_target(m, addr, to, bytes);
	from = dt_dmem(m, addr, &avail);
	if (!from || bytes > avail) {
		dt_fault(m, DTRACEFLT_BADADDR, addr);
		return -1;
	}
	dt_move(to, from, bytes);
	return 0;
}

dt_u64 dt_rload_uint(struct dt_mstate *m, dt_u64 addr, dt_u32 bytes)
{
	dt_u64 avail;
	const dt_u8 *from = dt_dmem(m, addr, &avail);

	if (DT_LIKELY(from && bytes <= avail))
		return dt_get_uint(from, bytes);
	dt_fault(m, DTRACEFLT_BADADDR, addr);
	return 0;
}

dt_u64 dt_uload_uint(struct dt_mstate *m, dt_u64 addr, dt_u32 bytes)
{
	dt_u64 v = 0;

	if (dt_load_target(m, addr, &v, bytes) != 0)
		return 0;
	return dt_get_uint(&v, bytes);
}

dt_u64 dt_load_uint(struct dt_mstate *m, dt_u64 addr, dt_u32 bytes)
{
	return dt_is_dmem(m, addr) ? dt_rload_uint(m, addr, bytes)
				   : dt_uload_uint(m, addr, bytes);
}

dt_u64 dt_alloc(struct dt_mstate *m, dt_u64 bytes)
{
	dt_u64 at = m->scratch_used;

	if (bytes > m->arena->plan.scratch_bytes - at) {
		dt_fault(m, DTRACEFLT_NOSCRATCH, 0);
		return 0;
	}
	m->scratch_used = DT_ALIGN(at + bytes, 8);
	return DT_VBASE + dt_scratch_at(m) + at;
}

const dt_u8 *dt_string(struct dt_mstate *m, dt_u64 addr, dt_u64 *len)
{
	dt_u64 avail, bad = addr, at;
	dt_s64 n;

	*len = 0;
	if (DT_LIKELY(dt_is_dmem(m, addr))) {
		const dt_u8 *s = dt_dmem(m, addr, &avail);

		if (!s) {
			dt_fault(m, DTRACEFLT_BADADDR, addr);
			return DT_NULL;
		}
		*len = dt_strnlen(s, avail < m->strsize ? avail : m->strsize);
		return s;
	}
	if (!m->host->has_target || !m->ops->load_string) {
		dt_fault(m, DTRACEFLT_BADADDR, addr);
		return DT_NULL;
	}
	at = dt_alloc(m, m->strsize);
	if (!at)
		return DT_NULL;
	n = m->ops->load_string(m->host, addr, (char *)dt_scratch(m, at),
				m->strsize - 1, &bad);
	if (n < 0 || n > (dt_s64)m->strsize - 1) {
		dt_fault(m, DTRACEFLT_BADADDR, bad);
		return DT_NULL;
	}
	*len = dt_strnlen(dt_scratch(m, at), (dt_u64)n);
	return dt_scratch(m, at);
}

dt_u64 dt_new_string(struct dt_mstate *m, const void *from, dt_u64 len)
{
	dt_u64 at;

	if (len > m->strsize - 1)
		len = m->strsize - 1;
	at = dt_alloc(m, len + 1);
	if (!at)
		return 0;
	dt_copy(dt_scratch(m, at), from, len);
	dt_scratch(m, at)[len] = 0;
	return at;
}

dt_u64 dt_copy_string(struct dt_mstate *m, dt_u64 addr, dt_u8 *to, dt_u64 max)
{
	dt_u64 bad = addr, len, avail;
	const dt_u8 *from;
	dt_s64 n;

	if (!max)
		return 0;
	if (dt_is_dmem(m, addr)) {
		from = dt_dmem(m, addr, &avail);
		if (!from) {
			dt_fault(m, DTRACEFLT_BADADDR, addr);
			return 0;
		}
		len = dt_strnlen(from, avail < max - 1 ? avail : max - 1);
		dt_move(to, from, len);
		to[len] = 0;
		return len + 1;
	}
	if (!m->host->has_target || !m->ops->load_string) {
		dt_fault(m, DTRACEFLT_BADADDR, addr);
		return 0;
	}
	n = m->ops->load_string(m->host, addr, (char *)to, max - 1, &bad);
	if (n < 0 || n > (dt_s64)max - 1) {
		dt_fault(m, DTRACEFLT_BADADDR, bad);
		return 0;
	}
	to[n] = 0;
	return (dt_u64)n + 1;
}
