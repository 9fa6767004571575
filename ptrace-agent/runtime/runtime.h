/* SPDX-License-Identifier: MIT */
/*
 * Defines everything that the agent and the runtime share. The runtime is our
 * code inside a target. All its parts are at fixed distances from each other:
 *
 *   image base                 + DT_RT_CODE        + DT_RT_CONFIG             + DT_RT_BELLS  + DT_RT_LINKS
 *   | header, text, constants  | compiled clauses  | config (read-only here)  | three pages  | links
 *   | r-x, no writable data    | r-x, by the agent | written by the agent     | rw-, watched | r-x, by the agent
 *
 * At DT_RT_RAISED is a list of the semaphores that the agent has incremented.
 * If the agent is killed, its client or a later client uses the list to restore
 * the semaphores.
 *
 * At DT_RT_LIVE is a private page with one word, which the agent writes. Sites
 * fire while the word is not 0. In a forked child, the kernel fills this page
 * with zeros (MADV_WIPEONFORK) and removes the arena and the stacks
 * (MADV_DONTFORK). So a jump in the child fires nothing, even if the agent does
 * not know of the child. The child must not keep the arena, because it may drop
 * its privileges.
 *
 * Several sessions (clients of the agent) can trace a target at the same time.
 * Each has its own arena, shards and stacks, which are described by a struct
 * dt_rt_session in the config. A site fires the probes of one session. If
 * several sessions probe an instruction, each has a site there. The trampoline
 * enters the first of these sites, and `back` of each site leads to the next
 * one (DT_RT_LINKS).
 *
 * The stacks and arenas of the sessions are mapped elsewhere. The trampoline of
 * a site is near the module that contains the site:
 *
 *   head   lea -128(%rsp),%rsp    steps over the red zone, leaves the flags unchanged
 *          push %rbx
 *          mov $site,%ebx         index in the site table
 *          jmp *enter(%rip)       dt_rt_enter, in the image
 *   tail   pop %rbx               dt_rt_enter returns here by `jmp *%rbx`
 *          lea 128(%rsp),%rsp
 *          ...                    the moved instructions
 *
 * dt_rt_enter works in these steps:
 *
 *   1. It pushes three more words on the target's stack, so that 160 bytes are used
 *      there, including the red zone.
 *   2. It locks a shard. It also marks the shard's stack as used, in a word that
 *      only this process can write. If no shard is free, it counts a NOSHARD drop
 *      and jumps to the tail.
 *   3. It switches to the shard's stack, builds a struct dt_rt_frame there and calls
 *      dt_rt_fire().
 *   4. It switches back to the target's stack, releases the shard and jumps to
 *      frame->back.
 *
 * A shard's stack contains, from its highest address down, struct dt_rt_notes,
 * the frame (DT_RT_FRAME_AT) and the stack frames of C functions. The frame is
 * valid while rsp is on a shard's stack and rip is outside [enter, frame_begin)
 * and [leave_begin, leave_end). No instruction in these two ranges waits.
 *
 * Compiled code. dt_rt_enter jumps to site->code. This is the code for the
 * steps above, or a routine that the agent compiled from a clause
 * (ptrace-agent/native). A routine begins with the site's address in %rax, its
 * index in %ebx, and the program's %rbx, %rcx and %rax on the stack as above.
 * Flags and all other registers are those of the program. It uses at most eight
 * more words of the target's stack, 216 bytes in total. It jumps to
 * header->skip at its end, with the site's address in %rax. If it cannot handle
 * a case, it restores the registers and jumps to dt_rt_generic_at() before it
 * has run an action. It builds no frame and never waits, but may hold a shard.
 *
 * Threads that leave. While config->gather is set, a thread that leaves the
 * runtime waits at the gate. The ranges header->leaves contain the accesses to
 * the gate and the rest of the exit. In these ranges, %rbx is the address to
 * return to. The program's %rbx, %rcx, %rax and flags were pushed in this
 * order. The first `depth` + 1 of these words are still on the stack.
 *
 * Asking the agent (upcalls). The agent can die at any time. So the runtime
 * avoids traps, which would kill a target that has no agent. It sends signals
 * and makes system calls only if config->may_call is set, because a seccomp
 * filter could kill the target. This rule has one exception: if the agent has
 * died and masked_tid is not 0, a thread that leaves the runtime may restore
 * its signal mask.
 *
 * Upcalls use three pages: two doorbells (called bells) and the gate. The agent
 * write-protects them with userfaultfd(2). A thread that writes to a protected
 * page waits in the kernel until the agent resumes it or exits. The gate is
 * protected while gather is set. At least one of the two bells is protected at
 * any time.
 *
 * A shard's struct dt_rt_upcall is at the lowest address of its stack. Each
 * stack has its own word in each bell, by which the agent finds the upcall. A
 * write does not wait in a forked child, or if the agent has just released this
 * bell for another thread. In both cases, the upcall gets no reply, and the
 * runtime tries the other bell. If has_bells is 0, the pages cannot be
 * protected. In that case, an upcall is an int3, and threads do not wait at the
 * gate. No such upcall is made after the session's lease has expired, because
 * the agent may be dead.
 */
#ifndef PTRACE_AGENT_RUNTIME_RUNTIME_H
#define PTRACE_AGENT_RUNTIME_RUNTIME_H

#include "abi/frame_rule.h"
#include "abi/operand.h"
#include "dif/types.h"

#define DT_RT_MAGIC 0x31545254444c4344ull
#define DT_RT_LIVE 0x5f000ull	/* from the image base */
#define DT_RT_RAISED 0x60000ull /* from the image base */
#define DT_RT_CODE 0x80000ull     /* from the image base */
#define DT_RT_CODE_BYTES 0x80000ull
#define DT_RT_CONFIG 0x100000ull  /* from the image base */
#define DT_RT_BELLS 0x3ff0000ull  /* from the image base */
#define DT_RT_LINKS 0x4000000ull  /* from the image base */
#define DT_RT_LINK_BYTES 16ull
#define DT_RT_REGION_BYTES 0x4800000ull
#define DT_RT_STACK_BYTES 0x8000ull
#define DT_RT_MAX_SESSIONS 64
#define DT_RT_MAX_SHARDS 256  /* of one session */
#define DT_RT_MAX_STACKS 1024 /* of all sessions */
#define DT_RT_MAX_THREADS 65536 /* entries of the thread table: a power of two */
#define DT_RT_MAX_SITES 524288
#define DT_RT_MAX_FIRINGS 786432
#define DT_RT_LEAVES 7

/*
 * A link leads from one session's site to the next session's site at the same
 * instruction. Link n is at DT_RT_LINKS + n * DT_RT_LINK_BYTES, and enters site
 * n. It is the target of dt_rt_site::back, so the registers of the program are
 * as at a trampoline's tail:
 *
 *   mov $n,%ebx
 *   jmp dt_rt_enter
 *
 * The agent maps the links when a second session begins to trace the target.
 */
DT_STATIC_ASSERT(DT_RT_LINKS + DT_RT_MAX_SITES * DT_RT_LINK_BYTES <=
			 DT_RT_REGION_BYTES,
		 "the links fit into the region");

/* The header is at the image base. All offsets in it are from the image base. */
struct dt_rt_header {
	dt_u64 magic;
	dt_u64 image_bytes; /* page multiple */
	dt_u64 enter;	    /* trampolines jump here */
	dt_u64 upcall_trap; /* an int3 with struct dt_rt_upcall * in %rdi */
	/*
	 * A fault (SIGSEGV, SIGBUS) in [load_begin, load_end) becomes a fault
	 * of the D clause. The agent sets rip to load_fixup and %rdx to the
	 * address that faulted.
	 */
	dt_u64 load_begin, load_end, load_fixup;
	/* The frame is complete from frame_begin on, and not used from leave_begin on. */
	dt_u64 frame_begin;
	dt_u64 leave_begin, leave_end;
	/*
	 * Values of site->code for sites without compiled code. The code at
	 * `skip` fires nothing. The code that fires probes is different for
	 * each session (dt_rt_generic_at(), dt_rt_condition_at()).
	 */
	dt_u64 generic, skip;
	/*
	 * The code in [enter, build) uses the program's stack, holds no shard
	 * and fires no probe.
	 */
	dt_u64 build;
	struct dt_rt_leave {
		dt_u64 begin, end;
		dt_u64 depth; /* number of saved words on the stack, without %rbx */
	} leaves[DT_RT_LEAVES];
};

/*
 * Returns the offset of the code that fires the probes of a site that belongs
 * to a session.
 */
#define DT_RT_GENERIC_BYTES 1024
#define DT_RT_CONDITIONS 768 /* from the session's code */
#define DT_RT_CONDITION_BYTES 16
static inline dt_u64 dt_rt_generic_at(const struct dt_rt_header *header,
				      dt_u32 session)
{
	return header->generic + (dt_u64)session * DT_RT_GENERIC_BYTES;
}
/*
 * Returns the offset of code that fires the probes only if a jcc is taken.
 * `condition` is the low four bits of its opcode.
 */
static inline dt_u64 dt_rt_condition_at(const struct dt_rt_header *header,
					dt_u32 session, dt_u32 condition)
{
	return dt_rt_generic_at(header, session) + DT_RT_CONDITIONS +
	       (dt_u64)(condition & 0xf) * DT_RT_CONDITION_BYTES;
}

/*
 * A thread of the target. The threads are in a hash table with linear probing,
 * whose key is fs_base. An entry with key 0 is free. An entry with an odd key
 * is retired: it keeps its place, but matches no thread. The entry of a thread
 * that has exited stays until another thread has the same fs_base.
 */
struct dt_rt_thread {
	/*
	 * The key is the thread's fs_base or its gs key (dt_rt_is_gs_key()). If
	 * several threads share an fs_base, no entry has this fs_base as its
	 * key.
	 */
	dt_u64 fs_base;
	dt_u32 tid;
	/* the thread's process; differs from config->pid for a vfork child */
	dt_u32 pid;
	/*
	 * The key of this thread's variables (dif/slots.c), without the id of
	 * the variable. It is 0 if the thread has no slots.
	 */
	dt_u64 slot_key;
	/* The hash of slot_key. The hash of a variable's key is slot_hash ^ id. */
	dt_u64 slot_hash;
};
/* Returns the index in the table at which the search for a thread begins. */
static inline dt_u32 dt_rt_thread_slot(dt_u64 fs_base)
{
	return (dt_u32)(fs_base * 0x9e3779b97f4a7c15ull >> 48) &
	       (DT_RT_MAX_THREADS - 1);
}

#define DT_RT_FIRST_GS_KEY 2048
/*
 * Returns whether a gs_base is a gs key. This is a unique number that the agent
 * writes to the gs_base of a thread whose fs_base another thread shares
 * (ptrace-agent/inject/thread_bases.hpp). A gs key is even, because an odd key
 * marks a retired entry of the table.
 */
static inline int dt_rt_is_gs_key(dt_u64 gs_base)
{
	return gs_base >= DT_RT_FIRST_GS_KEY && gs_base < 4096 &&
	       !(gs_base & 1);
}

/*
 * DT_RT_LIBRARIES and DT_RT_TRACER are not probes. DT_RT_LIBRARIES fires where
 * the dynamic linker reports changes to the loaded libraries. DT_RT_TRACER fires
 * before the system call with the number arg0. If dt_rt_prepares_tracer() returns
 * 1, the thread makes the upcall DT_RT_UP_TRACER.
 */
enum dt_rt_kind {
	DT_RT_ENTRY,
	DT_RT_RETURN,
	DT_RT_OFFSET,
	DT_RT_STATIC, /* a static probe, which the program's author added */
	DT_RT_LIBRARIES,
	DT_RT_JUMP_OUT, /* an indirect jump, which is a return if it leaves the function */
	DT_RT_TRACER,
	/*
	 * These two fire before and after a syscall instruction that makes only
	 * the system call with the number arg0. If DT_RT_CHECK_RETURN is set in
	 * arg0, a branch also leads to the instruction after the call. So %rcx
	 * must contain its address, which the kernel has stored there.
	 */
	DT_RT_SYSCALL,
	DT_RT_SYSCALL_RETURN,
	/*
	 * These two are at a syscall instruction that can make any system call.
	 * arg0 is the index of a table of DT_RT_SYSCALLS firings. The number of
	 * the call is the index of its firing in this table.
	 */
	DT_RT_ANY_SYSCALL,
	DT_RT_ANY_SYSCALL_RETURN,
	/*
	 * Not a probe. Fires after mmap(2). If dt_rt_is_new_text() returns 1, the
	 * thread makes the upcall DT_RT_UP_LIBRARIES.
	 */
	DT_RT_NEW_TEXT,
};

/*
 * Returns whether an mmap(2) has mapped a file as executable. The arguments are
 * those of the call, and `result` is its result.
 */
static inline int dt_rt_is_new_text(dt_u64 protection, dt_u64 flags,
				    dt_u64 result)
{
	const dt_u64 prot_exec = 4, map_anonymous = 0x20;

	return (protection & prot_exec) && !(flags & map_anonymous) &&
	       result < -4095ull;
}
#define DT_RT_ANY_CALL (1ull << 32)
#define DT_RT_CHECK_RETURN (1ull << 33)
#define DT_RT_SYSCALLS 512 /* more than the kernel has */

/*
 * The probes of the proc provider that fire at system calls. Bits 40 to 47 of
 * arg0 contain one of these numbers, or 0 for a probe of the syscall provider. If
 * DT_RT_ANY_CALL is set in arg0, the instruction can make any system call.
 */
enum dt_rt_task_call {
	DT_RT_EXEC = 1,
	DT_RT_EXEC_FAILURE,
	DT_RT_SIGNAL_SEND,
	DT_RT_SIGNAL_CLEAR,
};
#define DT_RT_TASK_CALL_SHIFT 40
static inline dt_u32 dt_rt_task_call_of(dt_u64 arg0)
{
	return (dt_u32)(arg0 >> DT_RT_TASK_CALL_SHIFT) & 0xff;
}

/*
 * Stores the arguments of a probe of the proc provider in args[0..2]. in[] contains
 * the arguments of the system call with this number. `result` is its result if
 * the probe fires after it. Returns the number of arguments, or 0 if the probe
 * does not fire. The arguments of signal-send are the ids of the thread and of
 * the process, or 0 if they are unknown, and the signal.
 */
static inline dt_u32 dt_rt_task_args(dt_u32 call, dt_u64 number,
				     const dt_u64 *in, dt_u64 result,
				     dt_u64 *args)
{
	enum {
		kill = 62,
		tkill = 200,
		tgkill = 234,
		execve = 59,
		execveat = 322,
		rt_sigtimedwait = 128,
		rt_sigqueueinfo = 129,
		rt_tgsigqueueinfo = 297,
		pidfd_send_signal = 424,
	};
	const int failed = result >= -4095ull;
	const int thread = number == tgkill || number == rt_tgsigqueueinfo;

	switch (call) {
	case DT_RT_EXEC:
		args[0] = number == execveat ? in[1] : in[0];
		return number == execve || number == execveat;
	case DT_RT_EXEC_FAILURE:
		args[0] = -result;
		return (number == execve || number == execveat) && failed;
	case DT_RT_SIGNAL_CLEAR:
		args[0] = result;
		return number == rt_sigtimedwait && result && !failed;
	case DT_RT_SIGNAL_SEND:
		if (!thread && number != kill && number != tkill &&
		    number != rt_sigqueueinfo && number != pidfd_send_signal)
			return 0;
		args[0] = thread ? in[1] : number == tkill ? in[0] : 0;
		args[1] = number == tkill || number == pidfd_send_signal ? 0 : in[0];
		args[2] = (dt_u32)(thread ? in[2] : in[1]);
		return args[2] ? 3 : 0; /* the signal 0 only tests permissions */
	default:
		return 0;
	}
}

/*
 * The numbers of the calls in progress, for ANY_SYSCALL_RETURN. They are in a hash
 * table. A key identifies a stack pointer, an instruction and a session. A search
 * tests DT_RT_CALL_REACH consecutive entries. The memory is
 * private to the target, which can write it.
 */
struct dt_rt_call {
	dt_u64 key; /* 0: the entry is free */
	dt_u64 number;
};
#define DT_RT_MAX_CALLS 2048 /* a power of two */
#define DT_RT_CALL_REACH 64
#define DT_RT_CALLS 0x3ff4000ull /* from the image base */
DT_STATIC_ASSERT(DT_RT_CALLS + DT_RT_MAX_CALLS * sizeof(struct dt_rt_call) <=
			 DT_RT_LINKS,
		 "the calls in progress fit before the links");
static inline dt_u64 dt_rt_call_key(dt_u64 rsp, dt_u64 at, dt_u32 session)
{
	return ((rsp >> 3) * 0x9e3779b97f4a7c15ull ^ at) *
		       0x9e3779b97f4a7c15ull +
	       session + 1;
}
static inline dt_u32 dt_rt_call_slot(dt_u64 key)
{
	return (dt_u32)(key >> 40) & (DT_RT_MAX_CALLS - 1);
}

/* Returns the errno of a system call's result, or 0 if there was no error. */
static inline dt_u64 dt_rt_errno_of(dt_u64 result)
{
	return result >= -4095ull ? -result : 0;
}

/*
 * Returns whether a system call prepares the process to be traced by a process
 * of its own: a clone(2) with CLONE_UNTRACED, or a prctl(PR_SET_PTRACER) that
 * names one process. `first` and `second` are the call's arguments.
 */
static inline int dt_rt_prepares_tracer(dt_u64 number, dt_u64 first,
					dt_u64 second)
{
	const dt_u64 sys_clone = 56, sys_prctl = 157;
	const dt_u64 clone_untraced = 0x00800000;
	const dt_u32 pr_set_ptracer = 0x59616d61;
	const dt_u64 any = ~0ull; /* PR_SET_PTRACER_ANY */

	if (number == sys_clone)
		return (first & clone_untraced) != 0;
	return number == sys_prctl && (dt_u32)first == pr_set_ptracer &&
	       second && second != any;
}

struct dt_rt_firing {
	dt_u32 probe;
	dt_u32 kind; /* enum dt_rt_kind */
	/*
	 * For DT_RT_RETURN, the offset in the function. For DT_RT_STATIC, the
	 * low 32 bits are the index of the first operand, and the high 32 bits
	 * are the number of operands. DT_RT_JUMP_OUT has operands, too: the
	 * destination, then the first address and the end of each part of the
	 * function. The first part begins with the function's entry.
	 */
	dt_u64 arg0;
};

#define DT_RT_MAX_OPERANDS 262144

struct dt_rt_site {
	dt_u64 at;   /* the instruction's address, which is the pc for D programs */
	dt_u64 back; /* the trampoline's tail */
	/*
	 * The agent writes these two members as one dt_u64 while threads run.
	 * Read them as one dt_u64, too.
	 */
	dt_u32 first_firing;
	dt_u32 n_firings;
	dt_u64 code;	     /* dt_rt_enter jumps here */
	/*
	 * These three members describe the only probe of a site that has
	 * compiled code. They do not change once the site has such code.
	 */
	dt_u64 probe; /* address of the probe's struct dt_probe */
	dt_u64 arg0;
	dt_u32 epid;
	/*
	 * A conditional jump (jcc) is a return only when it is taken. `taken`
	 * is the low four bits of its opcode plus DT_RT_CONDITIONAL, or 0 for
	 * any other instruction. At a site with only return probes, `condition`
	 * is equal to `taken`, and is tested before any probe. At other sites,
	 * `condition` is 0.
	 */
	dt_u8 condition;
	dt_u8 taken;
	dt_u16 session; /* index in the config's table of sessions */
	/*
	 * The site of the probe's next clause, or 0. Compiled code runs only
	 * one clause, and then jumps to the code of the site `next`. That site
	 * has no trampoline. Its code is also compiled, or is the generic path,
	 * which runs all remaining clauses.
	 */
	dt_u32 next;
	/*
	 * The EPID of the clause at which this site begins, or 0 for the
	 * probe's first clause.
	 */
	dt_u32 from;
} __attribute__((aligned(64)));
#define DT_RT_CONDITIONAL 0x10

/*
 * A semaphore of static probes that the agent incremented by one. It may be
 * decremented only if the same offset of the same file is still mapped at its
 * address. The list is in private memory, so a forked child has its own list.
 */
struct dt_rt_raised {
	dt_u64 at;
	dt_u64 inode, offset; /* the place in the file */
	dt_u32 major, minor;
};
#define DT_RT_MAX_RAISED 4095
struct dt_rt_raised_list {
	dt_u64 n, pad[3];
	struct dt_rt_raised all[DT_RT_MAX_RAISED];
};
DT_STATIC_ASSERT(DT_RT_RAISED + sizeof(struct dt_rt_raised_list) <= DT_RT_CODE,
		 "the list fits before compiled code");

/*
 * A range of addresses that were readable when the agent last read the list of
 * mappings. The ranges are in ascending order.
 */
struct dt_rt_range {
	dt_u64 start, end;
};
#define DT_RT_MAX_RANGES 4096

/*
 * The frame rules (struct dt_rt_rule in abi/frame_rule.h) are in a hash table,
 * whose key is `at`. A search begins at dt_rt_rule_slot() and tests up to
 * DT_RT_RULE_REACH consecutive entries. An entry whose `at` is 0 is free; `at`
 * is written last. The agent never removes single entries. It removes all
 * entries together, while rules_seq is odd.
 */
#define DT_RT_MAX_RULES 65536 /* a power of two */
#define DT_RT_RULE_REACH 16
/* Returns the index in the table at which the search for a rule begins. */
static inline dt_u32 dt_rt_rule_slot(dt_u64 at)
{
	return (dt_u32)(at * 0x9e3779b97f4a7c15ull >> 48) &
	       (DT_RT_MAX_RULES - 1);
}

/*
 * The memory of one session in this target. If n_shards is 0, no session uses
 * this entry.
 */
struct dt_rt_session {
	dt_u64 arena;	    /* its address in the target */
	dt_u64 arena_bytes;
	dt_u64 shards;	    /* address of the first struct dt_shard */
	dt_u64 shard_bytes; /* from one shard to the next */
	dt_u64 stacks;	    /* address of the first stack's lowest byte */
	dt_u32 n_shards;    /* <= DT_RT_MAX_SHARDS; may be less than the arena's */
	dt_u32 first_stack; /* number of the first stack, for the bells */
	dt_u64 pad[2];
};

/* How the runtime finds the number of the CPU. */
enum dt_rt_cpu { DT_RT_CPU_RDPID, DT_RT_CPU_LSL };
/* How the runtime finds fs_base. */
enum dt_rt_fs { DT_RT_FS_RDFSBASE, DT_RT_FS_CALL };

/*
 * Whether the agent traces the threads. While it does not, only compiled code
 * that needs no agent fires probes. A thread that needs the engine first waits
 * at the gate until the agent traces the threads again (DT_RT_AWAY). If another
 * tracer holds the process, the thread does not wait, and its firing is counted
 * as a drop (DT_RT_KEPT_OUT).
 */
enum dt_rt_away { DT_RT_PRESENT, DT_RT_AWAY, DT_RT_KEPT_OUT };

struct dt_rt_config {
	/*
	 * The agent's robust futex word, in which the kernel sets
	 * FUTEX_OWNER_DIED when the agent dies. It has a page to itself.
	 */
	dt_u32 alive, alive_pad[1023];
	dt_u64 magic;
	dt_u32 pid;	      /* in the pid namespace of the agent */
	dt_u32 cpu_method;    /* enum dt_rt_cpu */
	dt_u32 fs_method;     /* enum dt_rt_fs */
	dt_u32 may_call;      /* 1: the runtime may make system calls */
	struct dt_rt_session sessions[DT_RT_MAX_SESSIONS];
	dt_u32 errno_known;
	/*
	 * 1: a system call does not store its return address in %rcx
	 * (processors with FRED).
	 */
	dt_u32 keeps_rcx;
	dt_s64 errno_offset;  /* from fs_base */
	/*
	 * 1: compiled code may use restartable sequences
	 * (ptrace-agent/inject/rseq.hpp).
	 */
	dt_u32 rseq, rseq_pad;
	dt_u32 uid, gid, ppid, n_ranges;
	char execname[64];
	dt_u32 ranges_seq;    /* odd while the agent rewrites the ranges */
	dt_u32 rules_seq;     /* odd while the agent removes rules */
	dt_u32 gather;	      /* 1: threads that leave the runtime wait at the gate */
	dt_u32 has_bells;     /* 0: the kernel does not support or permit doorbells */
	/*
	 * The tid of the thread whose signals the agent has blocked, in the
	 * thread's own pid namespace, or 0. While masked_tid is not 0, gather
	 * is set. If the agent dies, the thread restores mask_before when it
	 * leaves the runtime, but only if its mask is still mask_now.
	 */
	dt_u32 masked_tid;
	dt_u32 away; /* enum dt_rt_away */
	dt_u64 mask_now, mask_before;
	struct dt_rt_range ranges[DT_RT_MAX_RANGES];
	struct dt_rt_thread threads[DT_RT_MAX_THREADS];
	struct dt_rt_site sites[DT_RT_MAX_SITES];
	struct dt_rt_firing firings[DT_RT_MAX_FIRINGS];
	struct dt_rt_rule rules[DT_RT_MAX_RULES];
	struct dt_operand operands[DT_RT_MAX_OPERANDS];
};

/*
 * The registers of the program, on the shard's stack while a probe fires. When
 * dt_rt_fire() is called, %rsp points to the member r15.
 */
struct dt_rt_frame {
	dt_u64 r15, r14, r13, r12, r11, r10, r9, r8;
	dt_u64 rdi, rsi, rbp, rbx, rdx, rcx, rax;
	dt_u64 rflags, rsp; /* the program's values */
	dt_u64 back;	    /* site->back, the address to return to */
	dt_u64 lock;	    /* address of the shard's lock word */
	dt_u64 user_rsp;    /* the target's stack pointer after the last push */
	dt_u64 site;	    /* index */
	dt_u32 shard;	    /* number */
	dt_u32 cpu;
};

/*
 * Notes are data that the runtime keeps from one firing on a shard to the next.
 * They are initially zero.
 */
#define DT_RT_NOTES_BYTES 4096
/*
 * At this offset, the notes contain the pid of the process that uses the
 * shard's stack, or 0.
 */
#define DT_RT_NOTES_HOLDER 8
/* The address of the frame on the shard's stack that begins at `stack`. */
#define DT_RT_FRAME_AT(stack)                                                  \
	((stack) + DT_RT_STACK_BYTES - DT_RT_NOTES_BYTES -                     \
	 sizeof(struct dt_rt_frame))

/*
 * Operations that only the agent can do. The agent reads the frame and the
 * arguments a[], and stores the result in `value`.
 */
enum dt_rt_upcall_op {
	DT_RT_UP_VAR,	     /* a[0] id, a[1] index; value = the variable */
	/* a[0] index << 32 | id, a[1] destination, a[2] size; value = length */
	DT_RT_UP_VAR_STRING,
	DT_RT_UP_USTACK,     /* a[0] pcs, a[1] max; value = number of frames */
	DT_RT_UP_VTIMESTAMP, /* value = the variable vtimestamp, ns */
	DT_RT_UP_PROGENYOF,  /* a[0] pid; value = result of progenyof() */
	DT_RT_UP_RAISE,	     /* a[0] signal */
	DT_RT_UP_STOP,
	/* If a load or store faults, value = the address that faulted. */
	DT_RT_UP_LOAD,	     /* a[0] from, a[1] to, a[2] bytes */
	DT_RT_UP_STORE,	     /* a[0] to, a[1] from, a[2] bytes */
	DT_RT_UP_TID,	     /* a[0] unknown fs_base; value = pid << 32 | tid */
	DT_RT_UP_TIMESTAMP,  /* value = CLOCK_MONOTONIC, ns */
	DT_RT_UP_WALLTIME,   /* value = CLOCK_REALTIME, ns */
	/*
	 * a[0] 1: the thread has mapped a file; the agent resumes the thread once
	 * it knows the libraries
	 */
	DT_RT_UP_LIBRARIES,
	/*
	 * a[0] number of the system call, a[1] its second argument; the agent
	 * resumes the thread once another process can trace it, or at once if the
	 * agent stays attached
	 */
	DT_RT_UP_TRACER,
};

struct dt_rt_upcall {
	dt_u32 op;
	dt_s32 result; /* 0, or -1 */
	dt_u64 frame;  /* struct dt_rt_frame */
	dt_u64 a[3];
	dt_u64 value;
	dt_u32 answered; /* 0: the agent has not replied to this upcall yet */
	dt_u32 pad;
};
#define DT_RT_BELL_BYTES 4096ull
#define DT_RT_N_BELLS 2
#define DT_RT_GATE (DT_RT_BELLS + DT_RT_N_BELLS * DT_RT_BELL_BYTES)
/* The offset of the word of a stack in a bell. */
#define DT_RT_BELL_WORD(stack) ((stack) * (DT_RT_BELL_BYTES / DT_RT_MAX_STACKS))

#endif
