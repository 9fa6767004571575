/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A load in progress. It adds data after the published end of the heap and the
 * tables, so an abandoned load leaves nothing to undo there. Only the index of
 * variables is written in place; it is restored if the load fails.
 */
#ifndef DIF_LOAD_H
#define DIF_LOAD_H

#include "dif/mstate.h"

#define DT_MAX_TEXT ((256u << 10) / 4)
#define DT_MAX_ACTIONS 16384
#define DT_MAX_STATIC 16384
#define DT_MAX_RECORD (1u << 20)
#define DT_LOAD_CACHE 8

struct dt_loader {
	dt_u8 *base;
	struct dt_arena *arena;
	const dt_u8 *dof;
	dt_u64 bytes; /* of the image, from its header */
	struct dof_hdr hdr;
	struct dt_load_error *error;

	dt_u64 heap_used, globals_used, locals_used;
	dt_u32 counters_used;
	dt_u32 n_difos, n_clauses, n_enablings, n_vars;

	/*
	 * The tables that were copied last: the section, and the offset of its
	 * copy.
	 */
	dt_u32 cached_sec[DT_LOAD_CACHE];
	dt_off cached_at[DT_LOAD_CACHE];
	dt_u32 cache_next;
};

/* Fills in the error. Always returns -1. */
int dt_refuse(struct dt_loader *l, dt_u64 where, const char *text);

/*
 * Checks all rules for a DIFO, which is in the heap and whose variables are
 * declared.
 */
int dt_verify(struct dt_loader *l, const struct dt_difo *difo);

/* --- load_dof.c: the contents of sections --- */
int dt_dof_check(struct dt_loader *l);
/* Stores the header of section `no`, which must be of this type. */
int dt_dof_section(struct dt_loader *l, dt_u32 no, dt_u32 type,
		   struct dof_sec *sec);
/*
 * Returns a string from a string table, or null if it is not valid.
 */
const char *dt_dof_string(struct dt_loader *l, dt_u32 strtab, dt_u32 at);
dt_off dt_heap(struct dt_loader *l, dt_u64 bytes);
/* Copies bytes into the heap. Returns their offset, or 0 if it is full. */
dt_off dt_heap_copy(struct dt_loader *l, const void *from, dt_u64 bytes);
dt_off dt_heap_string(struct dt_loader *l, const char *s);

/* --- load_difo.c, load_action.c, load_clause.c --- */
int dt_load_difo(struct dt_loader *l, dt_u32 sec, dt_off *difo);
/* align: receives the alignment of the recorded value. */
int dt_load_action(struct dt_loader *l, struct dt_clause *c,
		   struct dt_action *a, const struct dof_actdesc *d,
		   dt_u32 *align);
/* Returns whether a clause makes a record for the action. */
int dt_action_records(dt_u32 kind);
int dt_load_clause(struct dt_loader *l, const struct dof_ecbdesc *ecb,
		   dt_u32 *clause);

/*
 * --- counters.c: allocates a range of counters for an aggregation, if
 * possible; its key's parts precede it ---
 */
void dt_counters_take(struct dt_loader *l, struct dt_action *a);

/* --- short.c: the short form of a verified DIFO; kind 0: none --- */
void dt_short_make(const void *base, dt_off difo, struct dt_short *s);

#endif
