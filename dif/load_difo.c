/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Loads DIFOs, and declares the variables that they use.
 *
 * The tables of a DIFO are copied into the arena. Storage for a variable is
 * allocated when the first DIFO that uses the variable is loaded. In all later
 * DIFOs, the variable must have the same type. When all variables are declared,
 * the verifier checks the instructions.
 */
#include "dif/load.h"

static dt_off dt_cached_copy(struct dt_loader *l, dt_u32 no, const void *from,
			     dt_u64 bytes)
{
	dt_off at;

	for (int i = 0; i < DT_LOAD_CACHE; i++) {
		if (l->cached_sec[i] == no && l->cached_at[i])
			return l->cached_at[i];
	}
	at = dt_heap_copy(l, from, bytes);
	if (at) {
		l->cached_sec[l->cache_next] = no;
		l->cached_at[l->cache_next] = at;
		l->cache_next = (l->cache_next + 1) % DT_LOAD_CACHE;
	}
	return at;
}

static int dt_is_builtin(const struct dif_varinfo *v)
{
	if (v->scope != DIFV_SCOPE_GLOBAL)
		return 0;
	switch (v->id) {
#define X(name, number, type, source)                                          \
	case number:                                                           \
		return v->kind == DIFV_KIND_SCALAR;
		DIF_VAR_SCALARS(X)
#undef X
#define X(name, number, type, source)                                          \
	case number:                                                           \
		return v->kind == DIFV_KIND_ARRAY;
		DIF_VAR_ARRAYS(X)
#undef X
	default:
		return 0;
	}
}

static int dt_var_storage(struct dt_loader *l, struct dt_var *v)
{
	dt_u64 bytes = DT_ALIGN((dt_u64)v->type.size, 8), *used, max;

	if (v->kind == DIFV_KIND_ARRAY || v->scope == DIFV_SCOPE_THREAD)
		return 0;
	if (v->scope == DIFV_SCOPE_GLOBAL) {
		used = &l->globals_used;
		max = l->arena->globals_bytes;
		bytes = dt_type_byref(&v->type) ? bytes + 8 : 8;
	} else {
		used = &l->locals_used;
		max = l->arena->plan.locals_bytes;
		bytes = dt_type_byref(&v->type) ? bytes + 8 : 16;
	}
	if (bytes > max - *used)
		return dt_refuse(l, v->id, "not enough space for variables");
	v->storage = *used;
	if (v->scope == DIFV_SCOPE_GLOBAL)
		v->storage += l->arena->globals;
	*used += bytes;
	return 0;
}

static int dt_var_same(struct dt_loader *l, const struct dt_var *old,
		       const struct dt_var *v)
{
	if (old->kind != v->kind || old->type.kind != v->type.kind ||
	    old->type.flags != v->type.flags || old->type.size != v->type.size)
		return dt_refuse(l, v->id,
				 "variable was declared earlier with a "
				 "different kind, type or size");
	return 0;
}

static int dt_var_add(struct dt_loader *l, struct dt_var *v, const char *name)
{
	struct dt_arena *a = l->arena;
	dt_u32 *index = dt_at(l->base, a->var_index);
	struct dt_var *to;

	if (l->n_vars == a->vars.max)
		return dt_refuse(l, v->id, "too many variables");
	v->name = dt_heap_string(l, name);
	if (!v->name || dt_var_storage(l, v) != 0)
		return -1;
	to = (struct dt_var *)dt_at(l->base, a->vars.at) + l->n_vars;
	dt_copy(to, v, sizeof(*v));
	dt_release32(&index[(dt_u32)v->scope << 16 | v->id], ++l->n_vars);
	return 0;
}

static int dt_declare(struct dt_loader *l, const struct dt_difo *d,
		      const struct dif_varinfo *info)
{
	const struct dt_var *old;
	struct dt_var v;

	if (info->name >= d->strs_bytes)
		return dt_refuse(l, info->id,
				 "variable's name is not in the string table");
	if (info->kind > DIFV_KIND_SCALAR || info->scope > DIFV_SCOPE_LOCAL ||
	    (info->flags & ~(DIFV_F_REF | DIFV_F_MOD)) || info->id > 0xffff)
		return dt_refuse(l, info->id, "variable entry is malformed");
	if (info->id < DIF_VAR_OTHER_UBASE)
		return dt_is_builtin(info)
			   ? 0
			   : dt_refuse(l, info->id,
				       "no such built-in variable");
	if (info->kind == DIFV_KIND_ARRAY && info->scope == DIFV_SCOPE_LOCAL)
		return dt_refuse(l, info->id,
				 "clause-local variable cannot be an array");
	dt_zero(&v, sizeof(v));
	v.id = info->id;
	v.kind = info->kind;
	v.scope = info->scope;
	dt_copy(&v.type, &info->type, sizeof(v.type));
	if (v.type.kind > DIF_TYPE_STRING)
		return dt_refuse(l, info->id, "variable has an unknown type");
	if (v.type.kind == DIF_TYPE_STRING)
		v.type.size = (dt_u32)l->arena->options[DTRACEOPT_strsize];
	else if (dt_type_byref(&v.type)
		     ? !v.type.size || v.type.size > DT_MAX_STATIC
		     : v.type.size > 8)
		return dt_refuse(l, info->id, "variable has an invalid size");
	old = dt_find_var(l->base, l->arena, v.scope, v.id);
	if (old)
		return dt_var_same(l, old, &v);
	return dt_var_add(l, &v,
			  (const char *)dt_at(l->base, d->strs) + info->name);
}

static int dt_rtype_ok(struct dt_loader *l, dt_u32 sec,
		       const struct dif_type *t)
{
	if (t->kind > DIF_TYPE_STRING ||
	    (t->flags & ~(DIF_TF_BYREF | DIF_TF_BYUREF)))
		return dt_refuse(l, sec, "DIFO's result has an unknown type");
	if (t->kind == DIF_TYPE_STRING)
		return 0;
	if (t->flags) {
		if (t->size > DT_MAX_RECORD)
			return dt_refuse(l, sec, "DIFO's result is too large");
		return 0;
	}
	if (t->size > 8 || (t->size & (t->size - 1)))
		return dt_refuse(l, sec, "DIFO's result has an invalid size");
	return 0;
}

/*
 * Copies one table of a DIFO into the arena. The table is section number `no`
 * of the DOF image. Refuses a second table of the same kind.
 */
static int dt_difo_table(struct dt_loader *l, struct dt_difo *d, dt_u32 no)
{
	struct dof_sec sec;
	const dt_u8 *from;
	dt_off *to, at;

	if (no >= l->hdr.secnum)
		return dt_refuse(l, no, "DOF section number is out of range");
	dt_copy(&sec, l->dof + l->hdr.secoff + no * sizeof(sec), sizeof(sec));
	switch (sec.type) {
	case DOF_SECT_DIF:
		to = &d->text;
		if (sec.size > DT_MAX_TEXT * 4ull || !sec.size ||
		    (sec.size & 3))
			return dt_refuse(l, no, "DIF text has an invalid size");
		d->n_text = (dt_u32)(sec.size / 4);
		break;
	case DOF_SECT_INTTAB:
		to = &d->ints;
		if (sec.size > 65536 * 8ull || (sec.size & 7))
			return dt_refuse(l, no,
					 "integer table has an invalid size");
		d->n_ints = (dt_u32)(sec.size / 8);
		break;
	case DOF_SECT_STRTAB:
		to = &d->strs;
		if (!sec.size || sec.size > DOF_MAX_BYTES)
			return dt_refuse(l, no,
					 "string table has an invalid size");
		d->strs_bytes = (dt_u32)sec.size;
		break;
	case DOF_SECT_VARTAB:
		to = &d->vars;
		if (sec.size % sizeof(struct dif_varinfo) ||
		    sec.size > 65536 * sizeof(struct dif_varinfo))
			return dt_refuse(l, no,
					 "variable table has an invalid size");
		d->n_vars = (dt_u32)(sec.size / sizeof(struct dif_varinfo));
		break;
	default:
		return dt_refuse(
		    l, no,
		    "DIFO refers to a section that cannot be part of a DIFO");
	}
	if (*to)
		return dt_refuse(l, no, "DIFO has two tables of the same kind");
	if (dt_dof_section(l, no, sec.type, &sec) != 0)
		return -1;
	from = l->dof + sec.offset;
	if (sec.type == DOF_SECT_STRTAB && from[sec.size - 1])
		return dt_refuse(l, no, "string table is not terminated");
	at = sec.size ? dt_cached_copy(l, no, from, sec.size)
		      : l->arena->vars.at;
	if (!at)
		return -1;
	*to = at;
	return 0;
}

int dt_load_difo(struct dt_loader *l, dt_u32 no, dt_off *difo)
{
	struct dt_difo *d;
	struct dof_sec sec;
	dt_u32 link;

	if (dt_dof_section(l, no, DOF_SECT_DIFOHDR, &sec) != 0)
		return -1;
	if (sec.size < sizeof(struct dof_difohdr) || (sec.size & 3) ||
	    sec.size > sizeof(struct dof_difohdr) + 16)
		return dt_refuse(l, no, "DIFO header has an invalid size");
	if (l->n_difos == l->arena->difos.max)
		return dt_refuse(l, no, "too many DIFOs");
	*difo = l->arena->difos.at + l->n_difos * sizeof(*d);
	d = dt_at(l->base, *difo);
	dt_zero(d, sizeof(*d));
	dt_copy(&d->rtype, l->dof + sec.offset, sizeof(d->rtype));
	if (dt_rtype_ok(l, no, &d->rtype) != 0)
		return -1;
	for (dt_u64 at = sizeof(struct dof_difohdr); at < sec.size; at += 4) {
		dt_copy(&link, l->dof + sec.offset + at, sizeof(link));
		if (link != DOF_SECIDX_NONE && dt_difo_table(l, d, link) != 0)
			return -1;
	}
	if (!d->text)
		return dt_refuse(l, no, "DIFO has no text");
	for (dt_u32 i = 0; i < d->n_vars; i++) {
		struct dif_varinfo info;

		dt_copy(&info,
			(dt_u8 *)dt_at(l->base, d->vars) + i * sizeof(info),
			sizeof(info));
		if (dt_declare(l, d, &info) != 0)
			return -1;
	}
	l->n_difos++;
	return dt_verify(l, d);
}
