/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Checks the header and the section table of a DOF image, and finds sections.
 *
 * Loadable sections must follow the section table in the order of their numbers
 * and must not overlap. The function that uses a section checks its content.
 */
#include "dif/load.h"
#include "dif/text.h"

#define DT_MAX_SECTIONS (1u << 20)

int dt_refuse(struct dt_loader *l, dt_u64 where, const char *text)
{
	struct dt_text t;

	dt_text_start(&t, l->error->text, sizeof(l->error->text));
	dt_text_put(&t, text);
	l->error->where = where;
	l->error->too_large = 0;
	return -1;
}

static int dt_dof_header(struct dt_loader *l, dt_u64 bytes)
{
	static const dt_u8 magic[4] = {0x7f, 'D', 'O', 'F'};
	const struct dof_hdr *h = &l->hdr;

	if (bytes < sizeof(*h))
		return dt_refuse(l, 0, "DOF is shorter than its header");
	if (bytes > DOF_MAX_BYTES)
		return dt_refuse(l, 0, "DOF is too large");
	dt_copy(&l->hdr, l->dof, sizeof(*h));
	if (!dt_same(h->ident, magic, 4))
		return dt_refuse(l, 0, "not DOF: wrong magic");
	if (h->ident[DOF_ID_MODEL] != DOF_MODEL_LP64 ||
	    h->ident[DOF_ID_ENCODING] != DOF_ENCODE_LSB)
		return dt_refuse(
		    l, DOF_ID_MODEL,
		    "DOF is not for 64-bit little-endian programs");
	if (h->ident[DOF_ID_VERSION] != DOF_VERSION ||
	    h->ident[DOF_ID_DIFVERS] != DIF_VERSION)
		return dt_refuse(l, DOF_ID_VERSION,
				 "DOF has an unsupported version");
	if (h->ident[DOF_ID_DIFIREG] != DIF_DIR_NREGS ||
	    h->ident[DOF_ID_DIFTREG] != DIF_DTR_NREGS)
		return dt_refuse(l, DOF_ID_DIFIREG,
				 "DOF uses an unsupported number of registers");
	if (h->ident[DOF_ID_ABI] != DOF_ABI_LINUX)
		return dt_refuse(l, DOF_ID_ABI,
				 "DOF is for another system's DTrace");
	if (h->flags || h->hdrsize != sizeof(*h) ||
	    h->secsize != sizeof(struct dof_sec))
		return dt_refuse(l, 16,
				 "DOF header has invalid flags or sizes");
	if (h->filesz > bytes || h->loadsz > h->filesz)
		return dt_refuse(l, 40, "DOF is truncated");
	if (h->secnum > DT_MAX_SECTIONS || h->secoff < sizeof(*h) ||
	    (h->secoff & 7) || h->secoff > h->filesz ||
	    h->secnum * (dt_u64)h->secsize > h->filesz - h->secoff)
		return dt_refuse(l, 28, "DOF section table is out of bounds");
	l->bytes = h->filesz;
	return 0;
}

static void dt_dof_read_section(struct dt_loader *l, dt_u32 no,
				struct dof_sec *sec)
{
	dt_copy(sec, l->dof + l->hdr.secoff + no * sizeof(*sec), sizeof(*sec));
}

int dt_dof_check(struct dt_loader *l)
{
	dt_u64 end, at;
	struct dof_sec sec;

	if (dt_dof_header(l, l->bytes) != 0)
		return -1;
	at = l->hdr.secoff;
	end = at + l->hdr.secnum * sizeof(sec);
	for (dt_u32 i = 0; i < l->hdr.secnum; i++, at += sizeof(sec)) {
		dt_dof_read_section(l, i, &sec);
		if (!sec.type)
			continue;
		if (sec.type > DOF_SECT_PRENOFFS)
			return dt_refuse(l, at,
					 "DOF section has an unknown type");
		if (!sec.align || (sec.align & (sec.align - 1)) ||
		    sec.align > 4096 || (sec.offset & (sec.align - 1)))
			return dt_refuse(l, at,
					 "DOF section has an invalid alignment "
					 "or is misaligned");
		if (sec.flags & ~(dt_u32)DOF_SECF_LOAD)
			return dt_refuse(l, at,
					 "DOF section has unknown flags");
		if (sec.offset > l->bytes || sec.size > l->bytes - sec.offset)
			return dt_refuse(l, at, "DOF section is out of bounds");
		if (sec.entsize && sec.size % sec.entsize)
			return dt_refuse(l, at,
					 "DOF section's size is not a multiple "
					 "of its entry size");
		if (!(sec.flags & DOF_SECF_LOAD))
			continue;
		if (sec.offset + sec.size > l->hdr.loadsz)
			return dt_refuse(
			    l, at, "DOF section extends beyond the loadable part");
		if (sec.offset < end)
			return dt_refuse(l, at, "DOF sections overlap");
		end = sec.offset + sec.size;
	}
	return 0;
}

int dt_dof_section(struct dt_loader *l, dt_u32 no, dt_u32 type,
		   struct dof_sec *sec)
{
	if (no >= l->hdr.secnum)
		return dt_refuse(l, no, "DOF section number is out of range");
	dt_dof_read_section(l, no, sec);
	if (sec->type != type)
		return dt_refuse(l, no, "DOF section has the wrong type");
	if (!(sec->flags & DOF_SECF_LOAD))
		return dt_refuse(l, no, "DOF section is not loadable");
	return 0;
}

const char *dt_dof_string(struct dt_loader *l, dt_u32 strtab, dt_u32 at)
{
	struct dof_sec sec;
	const char *s;

	if (dt_dof_section(l, strtab, DOF_SECT_STRTAB, &sec) != 0)
		return DT_NULL;
	s = (const char *)l->dof + sec.offset;
	if (!sec.size || s[sec.size - 1] || at >= sec.size) {
		dt_refuse(l, strtab, "DOF string is not in its string table");
		return DT_NULL;
	}
	return s + at;
}

dt_off dt_heap(struct dt_loader *l, dt_u64 bytes)
{
	dt_u64 at = DT_ALIGN(l->heap_used, 8);

	if (at > l->arena->program_bytes ||
	    bytes > l->arena->program_bytes - at) {
		dt_refuse(l, bytes, "the program is too large for its arena");
		return 0;
	}
	l->heap_used = at + bytes;
	return at;
}

dt_off dt_heap_copy(struct dt_loader *l, const void *from, dt_u64 bytes)
{
	dt_off at = dt_heap(l, bytes);

	if (at)
		dt_copy(dt_at(l->base, at), from, bytes);
	return at;
}

dt_off dt_heap_string(struct dt_loader *l, const char *s)
{
	dt_u64 n = 0;

	while (s[n])
		n++;
	return dt_heap_copy(l, s, n + 1);
}
