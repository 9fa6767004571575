/* SPDX-License-Identifier: MIT */
/*
 * What the agent and the runtime agree on: the runtime is our code inside a
 * target, and this is everything that the two share.
 *
 *   image base                 + DT_RT_CODE        + DT_RT_CONFIG             + DT_RT_BELLS  + DT_RT_STACKS
 *   | header, text, constants  | compiled clauses  | config (read-only here)  | three pages  | a stack per shard
 *   | r-x, no writable data    | r-x, the agent's  | written by the agent     | rw-, watched | rw-
 *
 * Between image and compiled code, at DT_RT_RAISED, is what nobody here reads: a list of
 * what the agent changed in the program's data, for whoever comes when it is dead.
 *
 * Before that list, at DT_RT_LIVE, is a page of private memory with one word, which
 * the agent writes. Sites fire while it is not 0. In a forked child the kernel makes
 * it a page of zeros (MADV_WIPEONFORK) and removes the arena and the stacks
 * (MADV_DONTFORK): the child may give up its rights, and the agent may not know of it.
 * If the agent knew of the child, it removed the jumps there. A jump that is still in
 * the child fires nothing.
 *
 * They stand at fixed distances, so that the image needs no relocation and
 * finds the config by its own pc. The arena is mapped elsewhere; the config says
 * where. A site's trampoline stands near the module that it patches:
 *
 *   head   lea -128(%rsp),%rsp    over the red zone, flags untouched
 *          push %rbx
 *          mov $site,%ebx         index in the site table
 *          jmp *enter(%rip)       dt_rt_enter, in the image
 *   tail   pop %rbx               dt_rt_enter comes back by `jmp *%rbx`
 *          lea 128(%rsp),%rsp
 *          ...                    the moved instructions
 *
 * dt_rt_enter pushes three more words on the target's stack (so that 160 bytes
 * are used there, the red zone included), takes a shard by the lock that all targets
 * share and its stack by a word that this process alone can write, goes to that stack,
 * builds a struct dt_rt_frame there and calls dt_rt_fire(). It releases the
 * shard when it is back on the target's stack, then jumps to frame->back. When no shard is free
 * it counts NOSHARD and goes to the tail at once.
 *
 * A shard's stack, from its highest address down: struct dt_rt_notes, the frame (so
 * that both are at known addresses: DT_RT_FRAME_AT), then what C needs.
 *
 * The frame counts while the thread's rsp is on a shard's stack and its rip outside
 * [enter, frame_begin) and [leave_begin, leave_end). In these two ranges there is
 * nothing that waits.
 *
 * Compiled code. dt_rt_enter goes on at site->code: the generic way that is told above,
 * or what the agent made of the clauses that the site's one probe has
 * (ptrace-agent/native). %rax: the site, %ebx: its index; flags and all else are the
 * program's; on the stack as above %rbx, %rcx, %rax. It uses up to eight words more,
 * so that 216 bytes of the target's stack may be used. Whatever is out of the
 * ordinary makes it put back what it changed, with nothing done, and jump to
 * header->generic with these registers; else it goes to header->skip, with the site
 * in %rax. There is no frame, and nothing in it waits; it may hold a shard meanwhile.
 *
 * A thread that is to leave for good is let run, with config->gather set: whoever comes
 * to the way out then waits at the gate. From there on, which is header->leaves, its
 * registers say where the program is: %rbx is the way back, and on its stack are
 * flags, %rax, %rcx, %rbx, of which `depth` less one are left above %rbx.
 *
 * Asking the agent. Nothing that the runtime does may hurt when the agent died just
 * before: no trap that nobody would take, no signal, and, unless config->may_call, no
 * system call that a filter would punish. So there are three pages, two bells and the
 * gate, that the agent write-protects by userfaultfd(2): who writes to one waits in
 * the kernel until the agent lets it go on, or until the agent is gone, by whatever
 * way. The gate is protected while gather is set, of the bells one is at any time. A shard's call stands at the lowest
 * address of its stack; it writes to its own word of a bell, which is how the agent
 * finds the call, and the kernel says which thread it is. A write that did not wait
 * (a bell that was just let go for another thread, a forked child) leaves the call
 * unanswered, and the other bell is tried. Without has_bells asking is an int3, and
 * the gate holds nobody.
 *
 * No system call is made unless config->may_call, or config->masked_tid of a dead agent.
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
#define DT_RT_STACKS 0x4000000ull /* from the image base */
#define DT_RT_STACK_BYTES 0x8000ull
#define DT_RT_MAX_SHARDS 256
#define DT_RT_MAX_THREADS 65536 /* entries of the thread table: a power of two */
#define DT_RT_MAX_SITES 524288
#define DT_RT_MAX_FIRINGS 786432
#define DT_RT_LEAVES 7

/* At the image base. Offsets are from there. */
struct dt_rt_header {
	dt_u64 magic;
	dt_u64 image_bytes; /* page multiple */
	dt_u64 enter;	    /* where trampolines jump to */
	dt_u64 upcall_trap; /* an int3 with struct dt_rt_upcall * in %rdi */
	/*
	 * A fault (SIGSEGV, SIGBUS) of an instruction in [load_begin, load_end)
	 * is a fault of D: the agent sets rip to load_fixup. cr2's address goes to %rdx.
	 */
	dt_u64 load_begin, load_end, load_fixup;
	/* Where a frame is not yet there, and where it was read already. */
	dt_u64 frame_begin;
	dt_u64 leave_begin, leave_end;
	/*
	 * What site->code may be, beside compiled code: fire; fire nothing; fire if
	 * jcc's condition holds, DT_RT_CONDITION_BYTES from one to the next.
	 */
	dt_u64 generic, skip, conditions;
	struct dt_rt_leave {
		dt_u64 begin, end;
		dt_u64 depth; /* words of the program on its stack, above %rbx */
	} leaves[DT_RT_LEAVES];
};
#define DT_RT_CONDITION_BYTES 16

/*
 * A thread of the target. Hash table by fs_base, linear probing, 0: free. An ended
 * thread's entry stays until the next thread with its fs_base, tid first.
 */
struct dt_rt_thread {
	dt_u64 fs_base;
	dt_u32 tid;
	dt_u32 pid; /* differs for a vfork child that runs on this fs_base */
	/* dif/slots.c: the key of its variables without their id, 0: no slots. */
	dt_u64 slot_key;
	dt_u64 slot_hash; /* of slot_key; that of a key is this ^ its id */
};
/* Where the search for a thread begins. */
static inline dt_u32 dt_rt_thread_slot(dt_u64 fs_base)
{
	return (dt_u32)(fs_base * 0x9e3779b97f4a7c15ull >> 48) &
	       (DT_RT_MAX_THREADS - 1);
}

/* DT_RT_LIBRARIES is no probe: the dynamic linker is where it tells debuggers. */
enum dt_rt_kind {
	DT_RT_ENTRY,
	DT_RT_RETURN,
	DT_RT_OFFSET,
	DT_RT_STATIC, /* a probe that the program's author put there */
	DT_RT_LIBRARIES,
	DT_RT_JUMP_OUT, /* an indirect jump, which is a return if it leaves the function */
};

struct dt_rt_firing {
	dt_u32 probe;
	dt_u32 kind; /* enum dt_rt_kind */
	/*
	 * Of DT_RT_RETURN: the offset in the function. Of DT_RT_STATIC: the number of
	 * its first operand, and << 32 of how many. DT_RT_JUMP_OUT has operands too:
	 * the destination, then two constants for each part of the function, its first
	 * address and its end. The first part begins with the function's entry.
	 */
	dt_u64 arg0;
};

#define DT_RT_MAX_OPERANDS 262144

struct dt_rt_site {
	dt_u64 at;   /* the instruction's address, which D sees as the pc */
	dt_u64 back; /* the trampoline's tail */
	dt_u32 first_firing; /* read both at once, as one dt_u64: they are */
	dt_u32 n_firings;    /* replaced so while threads run */
	dt_u64 code;	     /* where dt_rt_enter goes on */
	/* Of the one firing, when the code was compiled; never changed then. */
	dt_u64 probe; /* address of its struct dt_probe */
	dt_u64 arg0;
	dt_u32 epid;
	/*
	 * A conditional jump is a return only when it is taken: the low four bits
	 * of jcc's opcode, plus DT_RT_CONDITIONAL. `condition` is asked before all
	 * else, of a site that has returns only; `taken` of each return.
	 */
	dt_u16 condition;
	dt_u16 taken;
	/*
	 * A site's probe may have more clauses than its code does. Another site
	 * stands for those after it: `next`, to which the code leads, and whose own
	 * `from` is the EPID where its probe goes on. It has no trampoline.
	 */
	dt_u32 next;
	dt_u32 from; /* 0: the probe begins here */
} __attribute__((aligned(64)));
#define DT_RT_CONDITIONAL 0x10

/*
 * A semaphore of static probes that is higher by one because of us, and the place in a file
 * that was mapped there: while it still is, the semaphore is the same one. The list is
 * private memory: a forked child's is about the child's own semaphores.
 */
struct dt_rt_raised {
	dt_u64 at;
	dt_u64 inode, offset; /* of the file's byte */
	dt_u32 major, minor;
};
#define DT_RT_MAX_RAISED 4095
struct dt_rt_raised_list {
	dt_u64 n, pad[3];
	struct dt_rt_raised all[DT_RT_MAX_RAISED];
};
DT_STATIC_ASSERT(DT_RT_RAISED + sizeof(struct dt_rt_raised_list) <= DT_RT_CODE,
		 "the list fits before compiled code");

/* A range of addresses that were readable when the agent looked. Ascending. */
struct dt_rt_range {
	dt_u64 start, end;
};
#define DT_RT_MAX_RANGES 4096

/*
 * struct dt_rt_rule (abi/frame_rule.h) in a hash table by `at`, with linear probing over
 * DT_RT_RULE_REACH entries. An entry whose `at` is 0 is free; `at` is written last. Entries are
 * removed only all at once, under rules_seq. The agent writes the rules that it encountered
 * when it walked a stack. If a place has no rule, the runtime asks the agent for the stack.
 */
#define DT_RT_MAX_RULES 65536 /* a power of two */
#define DT_RT_RULE_REACH 16
/* Where the search for a rule begins. */
static inline dt_u32 dt_rt_rule_slot(dt_u64 at)
{
	return (dt_u32)(at * 0x9e3779b97f4a7c15ull >> 48) &
	       (DT_RT_MAX_RULES - 1);
}

/* How to learn the number of the CPU. */
enum dt_rt_cpu { DT_RT_CPU_RDPID, DT_RT_CPU_LSL };
/* How to learn fs_base. */
enum dt_rt_fs { DT_RT_FS_RDFSBASE, DT_RT_FS_CALL };

struct dt_rt_config {
	/*
	 * The agent's robust futex word: FUTEX_OWNER_DIED after the agent has died. It
	 * has a page to itself, which the kernel writes while the agent dies.
	 */
	dt_u32 alive, alive_pad[1023];
	dt_u64 magic;
	dt_u64 arena;	      /* where the target has it mapped */
	dt_u64 shards;	      /* address of the first struct dt_shard */
	dt_u64 shard_bytes;   /* from one to the next */
	dt_u64 stacks;	      /* address of the first stack's lowest byte */
	dt_u32 n_shards;      /* <= DT_RT_MAX_SHARDS */
	dt_u32 pid;	      /* as the agent counts */
	dt_u32 cpu_method;    /* enum dt_rt_cpu */
	dt_u32 fs_method;     /* enum dt_rt_fs */
	dt_u32 may_call;      /* 1: no seccomp filter, system calls are allowed */
	dt_u32 call_pad;
	dt_u32 errno_known;
	dt_u32 errno_pad;
	dt_s64 errno_offset;  /* from fs_base */
	/*
	 * 1: every thread has its struct rseq where compiled code looks for it, and
	 * what that says about the CPU holds for the thread that reads it.
	 */
	dt_u32 rseq, rseq_pad;
	dt_u32 uid, gid, ppid, n_ranges;
	char execname[64];
	dt_u32 ranges_seq;    /* odd while the agent rewrites them */
	dt_u32 rules_seq;     /* odd while the agent forgets rules */
	dt_u32 gather;	      /* who leaves the runtime waits at the gate */
	dt_u32 has_bells;     /* 0: this kernel has no such pages */
	/*
	 * The thread whose signals the agent has blocked, as its own namespace numbers
	 * it, 0: none. gather is set meanwhile. Once the agent is dead, that thread itself
	 * puts its mask back on its way out, if it is still mask_now: a system call.
	 */
	dt_u32 masked_tid, masked_pad;
	dt_u64 mask_now, mask_before;
	struct dt_rt_range ranges[DT_RT_MAX_RANGES];
	struct dt_rt_thread threads[DT_RT_MAX_THREADS];
	struct dt_rt_site sites[DT_RT_MAX_SITES];
	struct dt_rt_firing firings[DT_RT_MAX_FIRINGS];
	struct dt_rt_rule rules[DT_RT_MAX_RULES];
	struct dt_operand operands[DT_RT_MAX_OPERANDS];
};

/*
 * On the shard's stack while a probe runs. In this order in memory: rsp points
 * at r15 when dt_rt_fire() is called.
 */
struct dt_rt_frame {
	dt_u64 r15, r14, r13, r12, r11, r10, r9, r8;
	dt_u64 rdi, rsi, rbp, rbx, rdx, rcx, rax;
	dt_u64 rflags, rsp; /* as the program has them */
	dt_u64 back;	    /* where to go when done; site->back */
	dt_u64 lock;	    /* address of the shard's lock word */
	dt_u64 user_rsp;    /* the target's stack as dt_rt_enter left it */
	dt_u64 site;	    /* index */
	dt_u32 shard;	    /* number */
	dt_u32 cpu;
};

/*
 * What the runtime keeps from one firing of a shard to the next. Zero at first;
 * only hints and addresses in the image that it computed itself.
 */
#define DT_RT_NOTES_BYTES 4096
/* In these notes: the pid of the process whose thread uses the stack, or 0. */
#define DT_RT_NOTES_HOLDER 8
/* The frame of a thread that runs on the stack whose lowest byte is at stack. */
#define DT_RT_FRAME_AT(stack)                                                  \
	((stack) + DT_RT_STACK_BYTES - DT_RT_NOTES_BYTES -                     \
	 sizeof(struct dt_rt_frame))

/* What only the agent can do: it reads the frame and the arguments here. */
enum dt_rt_upcall_op {
	DT_RT_UP_VAR,	     /* a[0] id, a[1] index: value */
	DT_RT_UP_VAR_STRING, /* a[0] index << 32 | id, a[1] to, a[2] max: value = bytes */
	DT_RT_UP_USTACK,     /* a[0] pcs, a[1] max: value = frames */
	DT_RT_UP_VTIMESTAMP, /* value */
	DT_RT_UP_PROGENYOF,  /* a[0] pid: value */
	DT_RT_UP_RAISE,	     /* a[0] signal */
	DT_RT_UP_STOP,
	DT_RT_UP_LOAD,	     /* a[0] from, a[1] to, a[2] bytes; value = bad address */
	DT_RT_UP_STORE,	     /* a[0] to, a[1] from, a[2] bytes; value = bad address */
	DT_RT_UP_TID,	     /* a thread that the table lacks: value = pid << 32 | tid */
	DT_RT_UP_TIMESTAMP,  /* CLOCK_MONOTONIC, ns: value */
	DT_RT_UP_WALLTIME,   /* CLOCK_REALTIME, ns: value */
	DT_RT_UP_LIBRARIES,  /* the agent goes on with the thread when it likes */
};

struct dt_rt_upcall {
	dt_u32 op;
	dt_s32 result; /* 0, or -1 */
	dt_u64 frame;  /* struct dt_rt_frame */
	dt_u64 a[3];
	dt_u64 value;
	dt_u32 answered; /* 0: the bell was not heard */
	dt_u32 pad;
};
#define DT_RT_BELL_BYTES 4096ull
#define DT_RT_N_BELLS 2
#define DT_RT_GATE (DT_RT_BELLS + DT_RT_N_BELLS * DT_RT_BELL_BYTES)
/* A shard's word of a bell, from its start. */
#define DT_RT_BELL_WORD(shard) ((shard) * (DT_RT_BELL_BYTES / DT_RT_MAX_SHARDS))

#endif
