/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The structures of DOF, the format of a compiled D program. DOF is the only
 * way to load a program into an engine. The engine does not trust it.
 *
 * A DOF image consists of a header, a table of sections, and the bytes of the
 * sections. Sections refer to other sections by index, and to strings by the
 * offset in a string table section. The numbers and layouts are those of
 * DTrace, but the meanings of some ids differ. Therefore the engine accepts
 * only images with DOF_ABI_LINUX in the identification.
 *
 *   ECBDESC -> PROBEDESC (-> STRTAB), DIFOHDR (predicate), ACTDESC[]
 *   ACTDESC -> DIFOHDR, STRTAB (format)
 *   DIFOHDR -> DIF text, INTTAB, STRTAB, VARTAB
 */
#ifndef DIF_DOF_H
#define DIF_DOF_H

#include "dif/types.h"

#define DOF_ID_SIZE 16
#define DOF_ID_MAG0 0
#define DOF_ID_MODEL 4
#define DOF_ID_ENCODING 5
#define DOF_ID_VERSION 6
#define DOF_ID_DIFVERS 7
#define DOF_ID_DIFIREG 8
#define DOF_ID_DIFTREG 9
#define DOF_ID_ABI 10

#define DOF_MODEL_LP64 2
#define DOF_ENCODE_LSB 1
#define DOF_VERSION 2
#define DIF_VERSION 2
/* 'L'. Change this value when the meaning of a number in DOF changes. */
#define DOF_ABI_LINUX 0x4c

#define DOF_MAX_BYTES (256u << 20)
#define DOF_SECIDX_NONE 0xffffffffu
#define DOF_STRIDX_NONE 0u

typedef dt_u32 dof_secidx;
typedef dt_u32 dof_stridx;

struct dof_hdr {
	dt_u8 ident[DOF_ID_SIZE];
	dt_u32 flags;
	dt_u32 hdrsize;
	dt_u32 secsize;
	dt_u32 secnum;
	dt_u64 secoff;
	dt_u64 loadsz;
	dt_u64 filesz;
	dt_u64 pad;
};
DT_STATIC_ASSERT(sizeof(struct dof_hdr) == 64, "DOF header is 64 bytes");

struct dof_sec {
	dt_u32 type;
	dt_u32 align;
	dt_u32 flags; /* DOF_SECF_LOAD */
	dt_u32 entsize;
	dt_u64 offset;
	dt_u64 size;
};
DT_STATIC_ASSERT(sizeof(struct dof_sec) == 32, "DOF section is 32 bytes");
#define DOF_SECF_LOAD 1

/* clang-format off */
#define DOF_SECTIONS(X) /* X(name, number) */ \
	X(NONE, 0) X(COMMENTS, 1) X(SOURCE, 2) X(ECBDESC, 3) X(PROBEDESC, 4) \
	X(ACTDESC, 5) X(DIFOHDR, 6) X(DIF, 7) X(STRTAB, 8) X(VARTAB, 9) \
	X(RELTAB, 10) X(TYPTAB, 11) X(URELHDR, 12) X(KRELHDR, 13) X(OPTDESC, 14) \
	X(PROVIDER, 15) X(PROBES, 16) X(PRARGS, 17) X(PROFFS, 18) X(INTTAB, 19) \
	X(UTSNAME, 20) X(XLTAB, 21) X(XLMEMBERS, 22) X(XLIMPORT, 23) \
	X(XLEXPORT, 24) X(PREXPORT, 25) X(PRENOFFS, 26)
/* clang-format on */
enum dof_sectype {
#define X(name, number) DOF_SECT_##name = number,
	DOF_SECTIONS(X)
#undef X
};

struct dof_ecbdesc {
	dof_secidx probes;  /* PROBEDESC section with the probe description */
	dof_secidx pred;    /* DIFOHDR section of the predicate, or NONE */
	dof_secidx actions; /* ACTDESC section of the clause, or NONE */
	dt_u32 line;	    /* source line of the clause */
	/* number of the clause, the same for all its probe descriptions */
	dt_u64 uarg;
};

struct dof_probedesc {
	dof_secidx strtab;
	dof_stridx provider;
	dof_stridx mod;
	dof_stridx func;
	dof_stridx name;
	dt_u32 id;
};

struct dof_actdesc {
	dof_secidx difo;   /* DIFOHDR section of the expression, or NONE */
	dof_secidx strtab; /* section with the format, or NONE */
	dt_u32 kind;	   /* DTRACEACT_* or DTRACEAGG_* */
	/*
	 * For an aggregation, the number of key parts that precede this entry.
	 * For the first entry of an action with several values, such as
	 * printf(), the number of values.
	 */
	dt_u32 ntuple;
	/*
	 * depends on kind: string index of the format, parameters of the
	 * aggregating function, number of frames, or LIBACT number
	 */
	dt_u64 arg;
	/* aggregation: its variable id; other actions: the source line */
	dt_u64 uarg;
};

struct dif_type {
	dt_u8 kind;  /* DIF_TYPE_CTF, DIF_TYPE_STRING */
	dt_u8 ckind; /* DIF_CKIND_*: the kind of C type */
	dt_u8 flags; /* DIF_TF_* */
	dt_u8 pad;
	dt_u32 size; /* bytes */
};
#define DIF_TF_BYREF 0x1
#define DIF_TF_BYUREF 0x2
#define DIF_CKIND_UNKNOWN 0
#define DIF_CKIND_INTEGER 1
#define DIF_CKIND_FLOAT 2
#define DIF_CKIND_POINTER 3
#define DIF_CKIND_ARRAY 4
#define DIF_CKIND_FUNCTION 5
#define DIF_CKIND_STRUCT 6
#define DIF_CKIND_UNION 7
#define DIF_CKIND_ENUM 8

struct dif_varinfo {
	dt_u32 name; /* offset in the DIFO's string table */
	dt_u32 id;
	dt_u8 kind;   /* DIFV_KIND_* */
	dt_u8 scope;  /* DIFV_SCOPE_* */
	dt_u16 flags; /* DIFV_F_* */
	struct dif_type type;
};
DT_STATIC_ASSERT(sizeof(struct dif_varinfo) == 20,
		 "variable entry is 20 bytes");

/*
 * This header is followed by an array of dof_secidx: the DIF, INTTAB, STRTAB
 * and VARTAB sections of the DIFO in any order.
 */
struct dof_difohdr {
	struct dif_type rtype;
};

struct dof_optdesc {
	dt_u32 option; /* DTRACEOPT_* */
	dof_secidx strtab;
	dt_u64 value;
};

#endif
