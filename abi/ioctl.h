/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The interface of /dev/dtrace between the kernel module and libdtrace. Each open file
 * is one consumer with an arena and probes. Both are removed when the file is closed.
 *
 *   DTK_INFO     returns versions and other facts about the module
 *   DTK_ARENA    creates the arena; mmap() at offset 0 then maps its program part,
 *                read-only, and mmap() at offset program_bytes maps the rest
 *   DTK_LOAD     loads a program as DOF, which is not trusted
 *   DTK_PROBES   adds probes by name; their numbers continue those of earlier probes
 *   DTK_ECBS     adds ECBs: pairs of a probe and a clause
 *   DTK_ATTACH   attaches probes to the places where they fire
 *   DTK_FIRE     fires BEGIN or END, in the calling thread
 *   DTK_TABLE    adds the rules for walking stacks in a file's text, for ustack()
 *   DTK_MAPS     replaces the list of files that a process has mapped as text
 *   DTK_STRANGERS  returns processes with a list of mapped files (DTK_MAPS) that is
 *                incomplete or more than 1 s old
 *   DTK_DETACH   detaches all probes, so that they stop firing
 *   DTK_CLAIM    takes over the consumer of anonymous tracing, with its arena and
 *                attached probes
 *
 * The consumer changes the activity, the buffers and the lease (dif/engine.h) in the
 * arena, without a request. The caller sets all fields except those marked "set by the
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
 * The version of this file, of the other headers of abi/ that the module includes, and
 * of the DOF that the engine accepts. Increment it whenever one of them changes.
 */
#define DTK_ABI 11

/*
 * The maximum of the option strsize, in bytes. Interrupts are off while the module
 * copies a string.
 */
#define DTK_MAX_STRSIZE (64u << 10)

struct dtk_info {
	dt_u32 abi;		    /* DTK_ABI */
	dt_u32 arena_version;	    /* DT_ARENA_VERSION */
	dt_u32 n_cpus;		    /* possible CPUs */
	dt_u32 destructive_allowed; /* the module's parameter `destructive` */
};

struct dtk_arena {
	/* the module sets has_*, n_shards and walltime */
	struct dt_arena_config config;
	dt_u64 program_bytes;	       /* set by the module */
	dt_u64 total_bytes;	       /* set by the module */
};

struct dtk_load {
	dt_u64 dof; /* the address of the DOF */
	dt_u64 bytes;
	dt_u32 first_clause; /* set by the module */
	dt_u32 n_clauses;    /* set by the module */
	/* set by the module if the request fails with EINVAL */
	struct dt_load_error error;
};

/* A list in the caller's memory. */
struct dtk_list {
	dt_u64 at;    /* address of the first element */
	dt_u64 bytes; /* the size of all elements */
	dt_u32 n;     /* the number of elements */
	/*
	 * The number of processed elements. The module sets it even if the request
	 * fails. DTK_ATTACH counts only elements without an error. DTK_TABLE returns
	 * the number of the new table here instead.
	 */
	dt_u32 n_done;
};

/*
 * An element of DTK_PROBES is four strings: provider, module, function and name. Each
 * is followed by a NUL.
 */

/* An element of DTK_ECBS. */
struct dtk_ecb {
	dt_u32 probe;
	dt_u32 clause;
};

enum dtk_kind {
	DTK_FBT_ENTRY = 1, /* `where` is the function's address */
	DTK_FBT_RETURN,
	DTK_SYSCALL_ENTRY, /* `where` is the system call's number */
	DTK_SYSCALL_RETURN,
	/*
	 * `where` is the address of the tracepoint's name. `more` contains a DTK_ARG_*
	 * for each argument.
	 */
	DTK_TRACEPOINT,
	/*
	 * `where` is the index of a row in abi/stable.h. `more` is the address of the
	 * row's function, or 0 if the row has a tracepoint.
	 */
	DTK_STABLE_ROW,
	DTK_PROFILE,	/* `where` is the interval in ns; fires on each CPU */
	DTK_TICK,	/* `where` is the interval in ns; fires on one CPU */
	/*
	 * For DTK_UPROBE, DTK_URETURN and DTK_USTATIC, `where` is the address of a
	 * struct dtk_uprobe.
	 */
	DTK_UPROBE,
	DTK_URETURN,	/* a uprobe at an instruction that leaves a function */
	DTK_USTATIC,	/* a uprobe at a static probe; the operands give its arguments */
	/* `where` is the event's number, and `more` is a DT_CPC_MORE() (abi/cpc.h). */
	DTK_CPC,
};

/*
 * The type of a tracepoint's argument: its number of bits, and U for unsigned or S for
 * signed. DTK_ARG_WHOLE means that the argument fills its register. The field `more`
 * contains one of these values for each argument, in 4 bits. The lowest 4 bits belong
 * to arg0.
 */
#define DTK_ARG_WHOLE 0
#define DTK_ARG_U8 1
#define DTK_ARG_U16 2
#define DTK_ARG_U32 3
#define DTK_ARG_S8 5
#define DTK_ARG_S16 6
#define DTK_ARG_S32 7
#define DTK_ARGS_MAX 10

#define DTK_NAME_MAX 128 /* maximum size of a tracepoint's name in bytes, with its NUL */

/* An element of DTK_ATTACH is one of the places where a probe fires. */
struct dtk_site {
	dt_u32 probe;
	dt_u32 kind;
	dt_u64 where;
	dt_u64 more;
	/*
	 * Set by the module: 0, or -errno if the probe does not fire here. The other
	 * sites of the request are not affected.
	 */
	dt_s32 error;
	dt_u32 pad;
};

/*
 * A probed instruction in a file that is mapped into processes. A DTK_UPROBE reads its
 * arguments from registers and the stack, according to C's calling convention. A
 * DTK_URETURN has the arguments `arg0` and %rax. The arguments of a DTK_USTATIC are its
 * operands.
 */
struct dtk_uprobe {
	dt_s32 fd;     /* descriptor of the file */
	dt_s32 pid;    /* the process in which the probe fires; 0: all processes */
	dt_u64 offset; /* the instruction's offset in the file */
	/* the offset of the probe's semaphore in the file; 0: the probe has none */
	dt_u64 semaphore;
	dt_u64 arg0;	  /* arg0 of a DTK_URETURN */
	/*
	 * The address of an array of struct dt_operand. For a DTK_USTATIC, the operands
	 * are the probe's arguments. For a DTK_URETURN at an indirect jump, the
	 * operands are the arguments of dt_leaves_function(). The probe fires if this
	 * function returns 1.
	 */
	dt_u64 operands;
	dt_u32 n_operands;
	dt_u32 flags; /* DTK_UPROBE_* */
	/*
	 * For a DTK_URETURN at a conditional jump, 1 + the x86 condition code (0 to
	 * 15). The probe fires only if the jump is taken. 0 for all other instructions.
	 */
	dt_u32 when;
	/*
	 * The number of bytes from the start of an earlier instruction to `offset`. The
	 * module refuses the probe if these bytes do not decode to complete
	 * instructions.
	 */
	dt_u32 inside;
};
/*
 * The maximum of `inside`. The module decodes up to this number of bytes for each site.
 */
#define DTK_INSIDE_MAX (64u << 10)
/*
 * The probe also fires in children that the process forks after this request, until
 * they exec.
 */
#define DTK_UPROBE_CHILDREN 1
/*
 * The stack pointer points to the return address, because the instruction is the first
 * of a function or leaves the function.
 */
#define DTK_UPROBE_AT_CALL 2
#define DTK_UPROBE_FLAGS 3
#define DTK_OPERANDS_MAX 64

/*
 * The file with the program of anonymous tracing. The kernel module reads it when the
 * module is loaded. The file consists of a struct dtk_anonymous and these parts,
 * without gaps:
 *   - an array of n_ecbs struct dtk_ecb
 *   - an array of n_sites struct dtk_site, without addresses
 *   - for each program, the length of its DOF as a dt_u64, then the DOF, padded to a
 *     multiple of 8 bytes
 *   - the names of the probes, as in DTK_PROBES
 *   - for each site, the name of its kernel function or tracepoint, or "", each
 *     followed by a NUL
 *   - data that only libdtrace reads
 */
#define DTK_ANONYMOUS_FILE "/etc/dtrace/anonymous"
#define DTK_ANONYMOUS_MAGIC 0x6e6f6e61u

struct dtk_anonymous {
	dt_u32 magic, abi, arena_version;
	dt_u32 n_rows; /* the number of rows in abi/stable.h */
	dt_u32 n_programs, n_probes, n_ecbs, n_sites;
	dt_u64 programs_bytes, names_bytes, texts_bytes, rest_bytes;
	struct dt_arena_config config;
};

struct dtk_claim {
	/*
	 * the address to which the module copies the file; 0: only the sizes are
	 * returned, and the consumer is not claimed
	 */
	dt_u64 file;
	/* the size of the space at `file`; the module changes it to the file's size */
	dt_u64 file_bytes;
	dt_u64 program_bytes, total_bytes; /* set by the module */
};

/*
 * An element of DTK_TABLE is a rule that finds the caller's frame. The rule applies up
 * to the offset of the next rule. Rules are sorted by offset. The pc selects the rule
 * for the innermost frame, and the return address minus one for all other frames. The
 * CFA is the caller's stack pointer, and the caller's pc is the word below it.
 */
struct dtk_unwind_rule {
	dt_u32 at;	 /* offset in the file */
	/*
	 * The CFA is the sum of this field and the register that `from` selects. For
	 * DTK_UNWIND_AT_RBP, the CFA is in the word at %rbp plus this field.
	 */
	dt_s32 cfa;
	/*
	 * The address of the saved %rbp is the sum of this field and either the CFA or
	 * %rbp, as `rbp_from` selects.
	 */
	dt_s16 rbp;
	dt_u8 from;	 /* enum dtk_unwind_from */
	/*
	 * DTK_UNWIND_CFA or DTK_UNWIND_RBP; DTK_UNWIND_OUTERMOST if %rbp still has the
	 * caller's value
	 */
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
	DTK_UNWIND_NONE,   /* no rule is known here: use frame pointers */
	DTK_UNWIND_N,
};

/*
 * One mapping of text in a process. A process's mappings are sorted by address and
 * include files without a table.
 */
struct dtk_unwind_map {
	dt_u64 start, end;
	dt_u64 offset; /* file offset of start */
	dt_u32 table;  /* the number that DTK_TABLE returned for the file; 0: no table */
	dt_u32 pad;
};
struct dtk_unwind_maps {
	dt_u64 at; /* address of the first struct dtk_unwind_map */
	dt_u32 n;
	dt_s32 pid;
};

/*
 * The elements of DTK_STRANGERS are pids as dt_u32. The caller provides space for n
 * pids, and the module writes n_done. A pid may occur twice.
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

/*
 * The number that the kernel module stores in a lock of the arena, for code on CPU
 * `cpu`. Code in user space stores its thread id instead. The number is greater than
 * every thread id. The consumer never takes over a lock that contains such a number.
 */
#define DTK_OWNER_OF_CPU(cpu) (0x40000000u | ((cpu) + 1))
#define DTK_IS_CPU(owner) ((owner) >= 0x40000000u)

#endif
