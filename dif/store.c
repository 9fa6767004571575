/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Writes values to the memory of D programs, including dynamic variables. */
#include "dif/mstate.h"

static int dt_is_dynvar(const struct dt_mstate *m, dt_u64 addr)
{
	return addr - DT_VBASE - m->arena->dynvars < m->arena->dynvars_bytes;
}

void dt_dmem_copy(struct dt_mstate *m, dt_u64 to, dt_u64 from, dt_u64 bytes)
{
	dt_u64 used = m->scratch_used, at;
	dt_u8 *place;

	if (!dt_is_dynvar(m, to)) {
		place = dt_dmem_store(m, to, bytes);
		if (place)
			dt_load_bytes(m, from, place, bytes);
		return;
	}
	/*
	 * Load into scratch memory first, because a load can be slow and
	 * dt_dynvar_put() holds the bucket's lock while it copies.
	 */
	at = dt_alloc(m, bytes);
	if (at && dt_load_bytes(m, from, dt_scratch(m, at), bytes) == 0)
		dt_dynvar_put(m, to - DT_VBASE, dt_scratch(m, at), bytes);
	m->scratch_used = used;
}

void dt_store_uint(struct dt_mstate *m, dt_u64 addr, dt_u64 v, dt_u32 bytes)
{
	dt_u8 *to;

	if (addr & (bytes - 1)) {
		dt_fault(m, DTRACEFLT_BADALIGN, addr);
		return;
	}
	if (dt_is_dynvar(m, addr)) {
		dt_dynvar_put(m, addr - DT_VBASE, &v, bytes);
		return;
	}
	to = dt_dmem_store(m, addr, bytes);
	if (to)
		dt_put_uint(to, v, bytes);
}
