/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The interface of /dev/dtrace between the kernel module and libdtrace.
 *
 * Each open file is one consumer with its arena and probes. They are removed when the
 * file is closed or its process exits.
 *
 *   DTK_ARENA    creates the arena; mmap() at 0 then maps its program part, read-only,
 *                and mmap() at program_bytes the rest
 *   DTK_LOAD     loads a program as DOF, which is not trusted
 *   DTK_PROBES   adds names of probes; their ids continue the earlier ones
 *   DTK_ECBS     enables these clauses at these probes
 *   DTK_ATTACH   makes these probes fire
 *   DTK_FIRE     fires BEGIN or END, in the caller
 *   DTK_TABLE    adds the rules for walking stacks in a file's text, for ustack()
 *   DTK_MAPS     replaces the list of files that a process has mapped as text
 *   DTK_STRANGERS  returns processes in which ustack() found unknown text, or text known for
 *                more than a second
 *   DTK_DETACH   detaches all probes, so that none of them fires any more
 *   DTK_CLAIM    replaces all requests above: the file takes over the anonymous consumer
 *
 * State that changes while probes fire (the activity, the buffers and the lease, see
 * dif/engine.h) is changed directly in the arena. All fields are little-endian and have
 * a fixed width. The caller sets all fields except those that are marked "set by the
 * module".
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
/*
 * The version of this file, of the rows of abi/stable.h and of the engine's input. It
 * is incremented with each change.
 */
#define DTK_ABI 9

/* the kernel disables interrupts while it copies a string */
#define DTK_MAX_STRSIZE (64u << 10)

struct dtk_info {
	dt_u32 abi;		    /* DTK_ABI */
	dt_u32 arena_version;	    /* DT_ARENA_VERSION */
	dt_u32 n_cpus;		    /* possible CPUs */
	dt_u32 destructive_allowed; /* the value of the module's parameter */
};

struct dtk_arena {
	/* the module sets has_*, n_shards and walltime */
	struct dt_arena_config config;
	dt_u64 program_bytes;	       /* set by the module */
	dt_u64 total_bytes;	       /* set by the module */
};

struct dtk_load {
	dt_u64 dof; /* address */
	dt_u64 bytes;
	dt_u32 first_clause; /* set by the module */
	dt_u32 n_clauses;    /* set by the module */
	/* set by the module if it fails with EINVAL */
	struct dt_load_error error;
};

/* A list in the caller's memory. */
struct dtk_list {
	dt_u64 at;    /* address of the first element */
	/* DTK_PROBES: the size of all elements; otherwise n times the size of one */
	dt_u64 bytes;
	dt_u32 n;
	dt_u32 n_done; /* set by the module, even if the request fails */
};

/*
 * An element of DTK_PROBES consists of four strings: provider, module, function and
 * name, each followed by a NUL. The elements follow each other without gaps.
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
	/* where: address of its name; more: DTK_ARG_* for its arguments */
	DTK_TRACEPOINT,
	/* where: the row of abi/stable.h, from 0; more: its function's address, or 0 */
	DTK_STABLE_ROW,
	DTK_PROFILE,	/* where: ns between firings, on each CPU */
	DTK_TICK,	/* the same, on any CPU */
	/* where: address of a struct dtk_uprobe, as for the next two */
	DTK_UPROBE,
	DTK_URETURN,	/* at an instruction that leaves a function */
	DTK_USTATIC,	/* the operands give the arguments */
	DTK_CPC,	/* where: the event's number; more: DT_CPC_MORE() of abi/cpc.h */
};

/*
 * How arguments of a tracepoint are converted to arg0 to arg9, 4 bits each, arg0 in the
 * lowest bits. If an argument is smaller than its register, the upper bits of the
 * register are undefined.
 */
#define DTK_ARG_WHOLE 0
#define DTK_ARG_U8 1
#define DTK_ARG_U16 2
#define DTK_ARG_U32 3
#define DTK_ARG_S8 5
#define DTK_ARG_S16 6
#define DTK_ARG_S32 7
#define DTK_ARGS_MAX 10

#define DTK_NAME_MAX 128 /* length of a tracepoint's name with its NUL */

/* An element of DTK_ATTACH. A probe may have several. */
struct dtk_site {
	dt_u32 probe;
	dt_u32 kind;
	dt_u64 where;
	dt_u64 more;
	/*
	 * Set by the module: 0, or -errno if this site does not fire. The other sites fire
	 * even then.
	 */
	dt_s32 error;
	dt_u32 pad;
};

/*
 * An instruction of a mapped file. A DTK_UPROBE has the arguments that C's calling
 * convention passes, in registers and on the stack. A DTK_URETURN has arg0 and %rax as
 * its arguments, and a DTK_USTATIC has its operands.
 */
struct dtk_uprobe {
	dt_s32 fd;     /* descriptor of the file */
	dt_s32 pid;    /* the process in which the probe fires; 0: all processes */
	dt_u64 offset; /* in the file */
	/* a 16-bit counter of tracers, in the file; 0: none */
	dt_u64 semaphore;
	dt_u64 arg0;	  /* DTK_URETURN */
	/*
	 * DTK_USTATIC: the address of the first operand. DTK_URETURN at an indirect jump: the
	 * address of an operand for the jump's destination, followed by the first address and
	 * the end of each part of the function. The jump is a return if its destination is
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
#define DTK_INSIDE_MAX (64u << 10) /* each site decodes at most this many bytes */
/*
 * The probe also fires in children that the process forks from now on, until
 * they exec.
 */
#define DTK_UPROBE_CHILDREN 1
/* At an entry or return. The stack pointer points to the return address. */
#define DTK_UPROBE_AT_CALL 2
#define DTK_UPROBE_FLAGS 3
#define DTK_OPERANDS_MAX 64

/*
 * An anonymous enabling: a file that the module reads when it is loaded, with
 * the requests that it then carries out. The following parts come after the
 * head, without gaps: struct dtk_ecb; struct dtk_site (its fields `where` and
 * `more` contain no addresses: such sites have a name); for each program the
 * length of its DOF as dt_u64, and the DOF, padded to 8 bytes; names as in
 * DTK_PROBES; a text for each site, empty if it needs none; and data for
 * libdtrace.
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
	dt_u64 file; /* address for a copy of the file; 0: no copy is wanted */
	dt_u64 file_bytes; /* size of that space; the module sets it to the file's size */
	dt_u64 program_bytes, total_bytes; /* set by the module */
};

/*
 * A rule of DTK_TABLE: how to find the caller's frame from this place in a file's text
 * up to the next rule's place. The caller's pc is the word below the CFA, and the CFA
 * is the caller's stack pointer. Rules are in ascending order. The module sets n_done
 * to the table's number. For a frame that has called a function, the place is the pc
 * minus one.
 */
struct dtk_unwind_rule {
	dt_u32 at;	 /* offset in the file */
	dt_s32 cfa;	 /* added to the value of `from` */
	/* this plus the value of rbp_from is the address of the saved %rbp */
	dt_s16 rbp;
	dt_u8 from;	 /* enum dtk_unwind_from */
	/* DTK_UNWIND_OUTERMOST: %rbp is still the caller's; or _CFA or _RBP */
	dt_u8 rbp_from;
};
enum dtk_unwind_from {
	DTK_UNWIND_OUTERMOST, /* there is no caller */
	DTK_UNWIND_RSP,
	DTK_UNWIND_RBP,
	DTK_UNWIND_AT_RBP, /* the word at %rbp + cfa is the CFA */
	DTK_UNWIND_CFA,
	/* the registers of the code that a signal interrupted are at %rsp */
	DTK_UNWIND_SIGNAL,
	DTK_UNWIND_NONE,   /* use frame pointers */
	DTK_UNWIND_N,
};

/* The mappings are in ascending order and include files without a table. */
struct dtk_unwind_map {
	dt_u64 start, end;
	dt_u64 offset; /* file offset of start */
	dt_u32 table;  /* its number; 0: none */
	dt_u32 pad;
};
struct dtk_unwind_maps {
	dt_u64 at; /* address of the first */
	dt_u32 n;
	dt_s32 pid;
};

/*
 * Elements of DTK_STRANGERS are pids. There is space for n pids, and the module writes
 * n_done of them. A pid may occur twice.
 */

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

/* The owner id of a CPU that holds a lock in the arena from within the kernel. Such an
 * owner never exits. */
#define DTK_OWNER_OF_CPU(cpu) (0x40000000u | ((cpu) + 1))
#define DTK_IS_CPU(owner) ((owner) >= 0x40000000u)

#endif
