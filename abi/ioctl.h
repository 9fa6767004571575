/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What /dev/dtrace takes: the interface of the kernel module and libdtrace.
 *
 * One open file is one consumer: its arena, its probes. Closing it, by whatever death,
 * takes all of it away.
 *
 *   DTK_ARENA    lays the arena out; mmap() at 0 then maps its program part, read-only,
 *                and at program_bytes the rest
 *   DTK_LOAD     a program as DOF, which is distrusted
 *   DTK_PROBES   names of probes; their ids continue from those before
 *   DTK_ECBS     these probes enable those clauses
 *   DTK_ATTACH   from now on these probes fire
 *   DTK_FIRE     BEGIN or END, in the caller
 *   DTK_TABLE    how stacks are walked in a file's text, for ustack()
 *   DTK_MAPS     where a process has which files' text, instead of what it had
 *   DTK_STRANGERS  whose text ustack() has met without knowing it, or knowing it for a second
 *   DTK_DETACH   nothing fires any more
 *   DTK_CLAIM    instead of all before: the file is the anonymous consumer's from here on
 *
 * What moves while probes fire is moved in the arena itself: the activity, the buffers,
 * the lease (dif/engine.h). All is little-endian and of fixed width; what is not said to
 * be set by the module is set by the caller.
 */
#ifndef ABI_IOCTL_H
#define ABI_IOCTL_H

#include "abi/operand.h"
#include "dif/engine.h"

#ifdef __KERNEL__
#include <linux/ioctl.h>
#else
#include <sys/ioctl.h>
#endif

#define DTK_DEVICE "/dev/dtrace"
/* The version of this file, of the rows of abi/stable.h and of the engine's input. Each change adds one. */
#define DTK_ABI 9

#define DTK_MAX_STRSIZE (64u << 10) /* the kernel's interrupts are off while a string is copied */

struct dtk_info {
	dt_u32 abi;		    /* DTK_ABI */
	dt_u32 arena_version;	    /* DT_ARENA_VERSION */
	dt_u32 n_cpus;		    /* that there can be */
	dt_u32 destructive_allowed; /* by the module's parameter */
};

struct dtk_arena {
	struct dt_arena_config config; /* has_*, n_shards and walltime are the module's */
	dt_u64 program_bytes;	       /* set */
	dt_u64 total_bytes;	       /* set */
};

struct dtk_load {
	dt_u64 dof; /* address */
	dt_u64 bytes;
	dt_u32 first_clause; /* set */
	dt_u32 n_clauses;    /* set */
	struct dt_load_error error; /* set when it fails by EINVAL */
};

/* A list in the caller's memory. */
struct dtk_list {
	dt_u64 at;    /* address of the first */
	dt_u64 bytes; /* DTK_PROBES: of all; else n times an element's */
	dt_u32 n;
	dt_u32 n_done; /* set, when it fails, too */
};

/*
 * Elements of DTK_PROBES are texts: provider, module, function and name, each with its
 * NUL, one probe behind the other.
 */

/* An element of DTK_ECBS. */
struct dtk_ecb {
	dt_u32 probe;
	dt_u32 clause;
};

enum dtk_kind {
	DTK_FBT_ENTRY = 1, /* where: the function's address */
	DTK_FBT_RETURN,
	DTK_SYSCALL_ENTRY, /* where: the system call's number */
	DTK_SYSCALL_RETURN,
	DTK_TRACEPOINT, /* where: address of its name; more: DTK_ARG_* of its arguments */
	/* where: the row of abi/stable.h, from 0; more: its function's address, or 0 */
	DTK_STABLE_ROW,
	DTK_PROFILE,	/* where: ns from one firing to the next, on each CPU */
	DTK_TICK,	/* on any */
	DTK_UPROBE,	/* where: address of a struct dtk_uprobe; so for these three */
	DTK_URETURN,	/* at an instruction that leaves a function */
	DTK_USTATIC,	/* its arguments are where operands say */
	DTK_CPC,	/* where: the event's number; more: DT_CPC_MORE() of abi/cpc.h */
};

/*
 * How an argument of a tracepoint becomes arg0 to arg9, 4 bits each, arg0's the lowest:
 * above its size a register holds anything.
 */
#define DTK_ARG_WHOLE 0
#define DTK_ARG_U8 1
#define DTK_ARG_U16 2
#define DTK_ARG_U32 3
#define DTK_ARG_S8 5
#define DTK_ARG_S16 6
#define DTK_ARG_S32 7
#define DTK_ARGS_MAX 10

#define DTK_NAME_MAX 128 /* of a tracepoint, with its NUL */

/* An element of DTK_ATTACH. A probe may have several. */
struct dtk_site {
	dt_u32 probe;
	dt_u32 kind;
	dt_u64 where;
	dt_u64 more;
	dt_s32 error; /* set: 0, or -errno: this one does not fire, the others do */
	dt_u32 pad;
};

/*
 * An instruction of a mapped file. Its arguments are what the calling convention of C
 * has in registers and on the stack; of a return arg0 and %rax.
 */
struct dtk_uprobe {
	dt_s32 fd;     /* of the file */
	dt_s32 pid;    /* the process whose instruction it is; 0: everybody's */
	dt_u64 offset; /* in the file */
	dt_u64 semaphore; /* of 16 bits, in the file: counts who listens; 0: there is none */
	dt_u64 arg0;	  /* DTK_URETURN */
	/*
	 * DTK_USTATIC: address of the first. DTK_URETURN at an indirect jump:
	 * the jump's destination, then the first address and the end of each
	 * part of the function. The jump is a return if its destination is
	 * outside all parts.
	 */
	dt_u64 operands;
	dt_u32 n_operands;
	dt_u32 flags; /* DTK_UPROBE_* */
	dt_u32 when;  /* DTK_URETURN at a conditional jump: 1 + its condition; 0: always */
	/* The distance in bytes from an address where an instruction begins, such as the start of the
	 * function, up to the offset. The text between them must decode to complete instructions. */
	dt_u32 inside;
};
#define DTK_INSIDE_MAX (64u << 10) /* each site decodes that much */
/* Of a process: children that it forks from now on too, each until it execs. */
#define DTK_UPROBE_CHILDREN 1
/* The return address is what the stack pointer points to: entry, return. */
#define DTK_UPROBE_AT_CALL 2
#define DTK_UPROBE_FLAGS 3
#define DTK_OPERANDS_MAX 64

/*
 * An anonymous enabling: a file that the module reads when it is loaded, and what it then has
 * done before anybody could ask for it. Behind the head, without gaps: struct dtk_ecb, struct
 * dtk_site (where and more are no addresses: those have a name); of each program its DOF's
 * length as dt_u64 and the DOF, filled up to 8 bytes; names as of DTK_PROBES; a text for
 * each site, empty where it needs none; and what libdtrace wants back.
 */
#define DTK_ANONYMOUS_FILE "/etc/dtrace/anonymous"
#define DTK_ANONYMOUS_MAGIC 0x6e6f6e61u

struct dtk_anonymous {
	dt_u32 magic, abi, arena_version;
	dt_u32 n_rows; /* of abi/stable.h */
	dt_u32 n_programs, n_probes, n_ecbs, n_sites;
	dt_u64 programs_bytes, names_bytes, texts_bytes, rest_bytes;
	struct dt_arena_config config;
};

struct dtk_claim {
	dt_u64 file; /* address: for a copy of the file; 0: none is wanted */
	dt_u64 file_bytes; /* there; set: that it has */
	dt_u64 program_bytes, total_bytes; /* set */
};

/*
 * A rule of DTK_TABLE: how to come from a frame to its caller's at this place of a file's
 * text, and up to the next rule's. The caller's pc is the word under the CFA, which is its
 * stack pointer. Rules ascend; n_done is set to the table's number. Of a frame that has
 * called the place is one less than its pc.
 */
struct dtk_unwind_rule {
	dt_u32 at;	 /* offset in the file */
	dt_s32 cfa;	 /* added to what `from` says */
	dt_s16 rbp;	 /* added to what rbp_from says: where it was saved */
	dt_u8 from;	 /* enum dtk_unwind_from */
	dt_u8 rbp_from; /* DTK_UNWIND_OUTERMOST: it is the caller's still; or _CFA or _RBP */
};
enum dtk_unwind_from {
	DTK_UNWIND_OUTERMOST, /* there is no caller */
	DTK_UNWIND_RSP,
	DTK_UNWIND_RBP,
	DTK_UNWIND_AT_RBP, /* the word at %rbp + cfa is the CFA */
	DTK_UNWIND_CFA,
	DTK_UNWIND_SIGNAL, /* the registers of what a signal has interrupted are at %rsp */
	DTK_UNWIND_NONE,   /* by frame pointers */
	DTK_UNWIND_N,
};

/* They ascend, and include what has no table. */
struct dtk_unwind_map {
	dt_u64 start, end;
	dt_u64 offset; /* of start, in the file */
	dt_u32 table;  /* its number; 0: none */
	dt_u32 pad;
};
struct dtk_unwind_maps {
	dt_u64 at; /* address of the first */
	dt_u32 n;
	dt_s32 pid;
};

/* Elements of DTK_STRANGERS are pids: n of them have room, n_done are set. One may be told twice. */

#define DTK_INFO _IOR('d', 1, struct dtk_info)
#define DTK_ARENA _IOWR('d', 2, struct dtk_arena)
#define DTK_LOAD _IOWR('d', 3, struct dtk_load)
#define DTK_PROBES _IOWR('d', 4, struct dtk_list)
#define DTK_ECBS _IOWR('d', 5, struct dtk_list)
#define DTK_ATTACH _IOWR('d', 6, struct dtk_list)
#define DTK_FIRE _IOW('d', 7, dt_u32)
#define DTK_DETACH _IO('d', 8)
#define DTK_CLAIM _IOWR('d', 9, struct dtk_claim)
#define DTK_TABLE _IOWR('d', 10, struct dtk_list)
#define DTK_MAPS _IOW('d', 11, struct dtk_unwind_maps)
#define DTK_STRANGERS _IOWR('d', 12, struct dtk_list)

/* Holders of locks in the arena that are CPUs of the kernel: they never die. */
#define DTK_OWNER_OF_CPU(cpu) (0x40000000u | ((cpu) + 1))
#define DTK_IS_CPU(owner) ((owner) >= 0x40000000u)

#endif
