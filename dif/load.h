/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The state of a load, and the functions that the files of the loader share. A
 * load writes after the published end of the heap and of the tables, and
 * publishes nothing if it fails. Only the index of variables is changed in
 * place. It is restored after a failure.
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
	dt_u64 bytes; /* size of the image according to its header */
	struct dof_hdr hdr;
	struct dt_load_error *error;

	dt_u64 heap_used, globals_used, locals_used;
	dt_u32 counters_used;
	dt_u32 n_difos, n_clauses, n_enablings, n_vars;

	/*
	 * The section numbers of the most recently copied tables, and the
	 * offsets of their copies. DIFOs that share a table share its copy.
	 */
	dt_u32 cached_sec[DT_LOAD_CACHE];
	dt_off cached_at[DT_LOAD_CACHE];
	dt_u32 cache_next;
};

/*
 * Fills in l->error. Always returns -1, so that callers can return the result.
 */
int dt_refuse(struct dt_loader *l, dt_u64 where, const char *text);

/*
 * Checks that a DIFO obeys all rules. The DIFO must be in the heap, and its
 * variables must have been declared. Returns 0, or -1 with the error filled in.
 */
int dt_verify(struct dt_loader *l, const struct dt_difo *difo);

/* --- load_dof.c: sections of the DOF image, and memory for their copies --- */
int dt_dof_check(struct dt_loader *l);
/*
 * Copies the header of section number `no` to *sec. Returns -1 if the section
 * does not exist, has another type or is not loadable.
 */
int dt_dof_section(struct dt_loader *l, dt_u32 no, dt_u32 type,
		   struct dof_sec *sec);
/*
 * Returns the string at an offset in a string table, or null if the table or
 * the offset is not valid.
 */
const char *dt_dof_string(struct dt_loader *l, dt_u32 strtab, dt_u32 at);
dt_off dt_heap(struct dt_loader *l, dt_u64 bytes);
/*
 * Copies bytes to the heap. Returns the offset of the copy, or 0 if the heap is
 * full.
 */
dt_off dt_heap_copy(struct dt_loader *l, const void *from, dt_u64 bytes);
dt_off dt_heap_string(struct dt_loader *l, const char *s);

/* --- load_difo.c, load_action.c, load_clause.c --- */
int dt_load_difo(struct dt_loader *l, dt_u32 sec, dt_off *difo);
/* Sets *align to the alignment of the value that the action records. */
int dt_load_action(struct dt_loader *l, struct dt_clause *c,
		   struct dt_action *a, const struct dof_actdesc *d,
		   dt_u32 *align);
/* Returns whether actions of this kind record data. */
int dt_action_records(dt_u32 kind);
int dt_load_clause(struct dt_loader *l, const struct dof_ecbdesc *ecb,
		   dt_u32 *clause);

/*
 * --- counters.c ---
 * Allocates counters for an aggregation, if it can have counters and there is
 * space. The actions that compute the key must precede `a` in the clause.
 */
void dt_counters_take(struct dt_loader *l, struct dt_action *a);

/*
 * --- short.c ---
 * Checks whether a verified DIFO is simple. If it is, fills in *s so that
 * dt_value() can evaluate the DIFO without the interpreter. Otherwise sets
 * s->kind to DT_SHORT_NONE.
 */
void dt_short_make(const void *base, dt_off difo, struct dt_short *s);

#endif
