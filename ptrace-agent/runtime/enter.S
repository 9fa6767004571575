/* SPDX-License-Identifier: MIT */
/*
 * Entry to and exit from the runtime, its int3, and its memory accesses that
 * may fault.
 *
 * The runtime uses these words of the target's stack, at offsets from the
 * program's stack pointer:
 *
 *   -128  the red zone
 *   -136  %rbx           pushed by the trampoline's head; %ebx is the site's index
 *   -144  %rcx
 *   -152  %rax
 *   -160  flags (22 bits) | site << 32 | cpu << 51
 *
 * No instruction before pushfq may change the flags. `add` and `sahf` restore
 * the flags except DF, AC and TF. popfq is several times slower, so it is used
 * only if the program has set DF or AC, which are cleared while the engine
 * runs. TF is always cleared before popfq, because a debugger may have set it
 * by stepping over pushfq.
 *
 * After the agent's death, the exit may use up to eight more words, to restore
 * the thread's signal mask (masked_tid).
 *
 * Each word on the stack is read with the width with which it was written.
 * Otherwise the processor would wait for the store.
 */
#include "asm_offsets.h"

#define CONFIG(member) dt_rt_image + ASM_DT_RT_CONFIG + (member)(%rip)
#define SESSION(member) CONFIG(CONFIG_SESSIONS + session * RT_SESSION_BYTES + (member))
#define SITE_MASK 0x7ffff
#define CPU_SHIFT 19
#define CPU_MASK 0xfff
#define FLAGS_MASK 0x3fffff
#define DF_OR_AC 0x40400
#define OF_BIT 11
#define TF 0x100
#define OWNER_DIED 0x40000000 /* no other bit of the highest byte is ever set */
#define SYS_rt_sigprocmask 14
#define SYS_gettid 186
#define CPU_SEGMENT 0x7b /* __CPUNODE_SEG of Linux, whose limit contains the CPU's number */

	.globl dt_rt_image, dt_rt_config
	.globl dt_rt_enter, dt_rt_upcall, dt_rt_upcall_trap
	.globl dt_rt_generic, dt_rt_skip, dt_rt_build
	.globl dt_rt_frame_begin, dt_rt_leave_begin, dt_rt_leave_end
	.globl dt_rt_peek, dt_rt_changed, dt_rt_copy, dt_rt_copy_string
	.globl dt_rt_load_begin, dt_rt_load_end, dt_rt_load_fixup
	.hidden dt_rt_image, dt_rt_config
	.hidden dt_rt_enter, dt_rt_upcall, dt_rt_upcall_trap
	.hidden dt_rt_generic, dt_rt_skip, dt_rt_build
	.hidden dt_rt_frame_begin, dt_rt_leave_begin, dt_rt_leave_end
	.hidden dt_rt_peek, dt_rt_changed, dt_rt_copy, dt_rt_copy_string
	.hidden dt_rt_load_begin, dt_rt_load_end, dt_rt_load_fixup
	.hidden dt_rt_fire
	.globl dt_rt_leave3, dt_rt_leave2, dt_rt_leave1, dt_rt_leave0
	.globl dt_rt_aside3, dt_rt_popped, dt_rt_aside_end, dt_rt_skip2, dt_rt_skip_end
	.hidden dt_rt_leave3, dt_rt_leave2, dt_rt_leave1, dt_rt_leave0
	.hidden dt_rt_aside3, dt_rt_popped, dt_rt_aside_end, dt_rt_skip2, dt_rt_skip_end

	/* runtime.ld writes the words of struct dt_rt_header after this label. */
	.section .header, "a", @progbits
dt_rt_image:
	.set	dt_rt_config, dt_rt_image + ASM_DT_RT_CONFIG

	.section .text.enter, "ax", @progbits
	.p2align 6
dt_rt_enter:
	push	%rcx
	push	%rax
	lea	(, %rbx, 8), %rax
	lea	CONFIG(CONFIG_SITES), %rcx
	lea	(%rcx, %rax, 8), %rax		/* the site */
	mov	dt_rt_image + ASM_DT_RT_LIVE(%rip), %ecx
	jrcxz	dt_rt_skip
	jmp	*SITE_CODE(%rax)

	/*
	 * Returns to the program without firing. %rax is the address of the
	 * site. So far only %rbx, %rcx and %rax have been changed.
	 */
dt_rt_skip:
	mov	SITE_BACK(%rax), %rbx
	mov	CONFIG(CONFIG_GATHER), %ecx
dt_rt_skip2:
	jmp	.Laside2
dt_rt_skip_end:

	/*
	 * Builds the frame on the shard's stack. %rax is the address to which
	 * the stack pointer is set, %ecx is the number of the shard, and %rbx is
	 * the address of its lock.
	 */
dt_rt_build:
	xchg	%rax, %rsp
	sub	$8, %rsp
	mov	%ecx, (%rsp)			/* shard */
	mov	4(%rax), %ecx
	shr	$CPU_SHIFT, %ecx
	mov	%ecx, 4(%rsp)			/* cpu */
	mov	4(%rax), %ecx
	and	$SITE_MASK, %ecx
	push	%rcx				/* site */
	push	%rax				/* user_rsp */
	push	%rbx				/* lock */
	shl	$6, %rcx
	lea	CONFIG(CONFIG_SITES), %rbx
	push	SITE_BACK(%rcx, %rbx)		/* back */
	lea	160(%rax), %rcx
	push	%rcx				/* rsp */
	mov	(%rax), %ecx
	push	%rcx				/* rflags */
	push	8(%rax)				/* rax */
	push	16(%rax)			/* rcx */
	push	%rdx
	push	24(%rax)			/* rbx */
	push	%rbp
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%r12
	push	%r13
	push	%r14
	push	%r15
dt_rt_frame_begin:
	test	$DF_OR_AC, %ecx
	jnz	.Lclear
.Lcall:
	mov	%rsp, %rdi
	call	dt_rt_fire			/* returns the new value of the lock */
	mov	FRAME_USER_RSP(%rsp), %rcx
	mov	%eax, 4(%rcx)			/* saves it above the flags */
	mov	FRAME_R11(%rsp), %r11
	mov	FRAME_R10(%rsp), %r10
	mov	FRAME_R9(%rsp), %r9
	mov	FRAME_R8(%rsp), %r8
	mov	FRAME_RDI(%rsp), %rdi
	mov	FRAME_RSI(%rsp), %rsi
	mov	FRAME_RDX(%rsp), %rdx
	mov	FRAME_LOCK(%rsp), %rcx
	mov	FRAME_BACK(%rsp), %rbx
dt_rt_leave_begin:
	lea	FRAME_BYTES + ASM_DT_RT_NOTES_HOLDER(%rsp), %rax
	mov	FRAME_USER_RSP(%rsp), %rsp
	movl	$0, (%rax)
	mov	4(%rsp), %eax
	mov	%eax, (%rcx)
	/* %rbx is the address to return to. The stack has the flags, %rax and %rcx. */
.Lleave:
	cmpl	$0, CONFIG(CONFIG_GATHER)
dt_rt_leave3:
	jne	dt_rt_aside3
.Lflags:
	mov	(%rsp), %ecx
	test	$DF_OR_AC, %ecx
	jnz	.Lpopfq
	bt	$OF_BIT, %ecx
	setc	%al
	mov	%cl, %ah
	add	$0x7f, %al			/* sets OF if %al is 1 */
	sahf
	lea	8(%rsp), %rsp
dt_rt_leave2:
	pop	%rax
dt_rt_leave1:
	pop	%rcx
dt_rt_leave0:
	jmp	*%rbx
dt_rt_leave_end:

	/*
	 * The rare cases of the exit. At dt_rt_aside3, the stack has three
	 * words of the program: flags, %rax and %rcx. At .Laside2, it has only
	 * %rax and %rcx.
	 */
dt_rt_aside3:
	movl	$1, dt_rt_image + ASM_DT_RT_GATE(%rip)
	testl	$OWNER_DIED, CONFIG(CONFIG_ALIVE)
	jz	.Lflags
	call	.Lunmask
	jmp	.Lflags
.Lpopfq:
	movl	$0, 4(%rsp)
	andl	$~TF, (%rsp)
	popfq
dt_rt_popped:
	mov	$0, %ecx
.Laside2:
	jrcxz	dt_rt_leave2
	movl	$1, dt_rt_image + ASM_DT_RT_GATE(%rip)
	movzbl	CONFIG(CONFIG_ALIVE + 3), %ecx	/* does not change the flags */
	jrcxz	dt_rt_leave2
dt_rt_aside_end:
	pushfq
	call	.Lunmask
	andl	$~TF, (%rsp)
	popfq
	jmp	dt_rt_leave2

	/* --- rare cases --- */

	/*
	 * Restores the signal mask of this thread after the agent has died. The
	 * agent blocks the signals of a thread while the thread runs to the
	 * gate. Changes %rax, %rcx and the flags.
	 */
.Lunmask:
	cmpl	$0, CONFIG(CONFIG_MASKED_TID)
	je	.Lunmasked
	push	%rdi
	push	%rsi
	push	%rdx
	push	%r10
	push	%r11
	mov	$SYS_gettid, %eax
	syscall
	cmp	CONFIG(CONFIG_MASKED_TID), %eax
	jne	.Lnot_masked
	push	%rax
	xor	%edi, %edi
	xor	%esi, %esi
	mov	%rsp, %rdx
	mov	$8, %r10d
	mov	$SYS_rt_sigprocmask, %eax
	syscall					/* reads the current mask */
	pop	%rcx
	cmp	CONFIG(CONFIG_MASK_NOW), %rcx
	jne	.Lnot_masked
	mov	$2, %edi			/* SIG_SETMASK */
	lea	CONFIG(CONFIG_MASK_BEFORE), %rsi
	xor	%edx, %edx
	mov	$SYS_rt_sigprocmask, %eax
	syscall
.Lnot_masked:
	pop	%r11
	pop	%r10
	pop	%rdx
	pop	%rsi
	pop	%rdi
.Lunmasked:
	ret

.Lclear:
	pushfq
	andl	$~(DF_OR_AC | TF), (%rsp)
	popfq
	jmp	.Lcall

.Ldead:
	mov	SITE_BACK(%rax), %rbx
	jmp	.Lleave

	/*
	 * The first part of firing a site's probes: locks a shard of the site's
	 * session. Each session has its own copy of this code, so the addresses
	 * of its data are constants. dt_rt_generic_at() is the address of a
	 * copy.
	 */
	.macro	lock_shard
	pushfq
.Lagain\@:
	testl	$OWNER_DIED, CONFIG(CONFIG_ALIVE)
	jnz	.Ldead
	cmpl	$0, CONFIG(CONFIG_AWAY)
	jne	.Laway\@
	cmpl	$0, CONFIG(CONFIG_CPU_METHOD)
	jne	.Llsl\@
	rdpid	%rax
.Lcpu\@:
	and	$CPU_MASK, %eax
	mov	%eax, %ecx
	shl	$CPU_SHIFT, %ecx
	or	%ecx, %ebx
	mov	%ebx, 4(%rsp)
.Lmodulo\@:
	cmp	SESSION(RT_SESSION_N_SHARDS), %eax
	jae	.Lsubtract\@
	mov	%rax, %rbx
	imul	SESSION(RT_SESSION_SHARD_BYTES), %rbx
	add	SESSION(RT_SESSION_SHARDS), %rbx
	xor	%eax, %eax
	mov	CONFIG(CONFIG_PID), %ecx
	lock cmpxchg %ecx, (%rbx)
	jne	.Lsearch\@
	mov	4(%rsp), %ecx
	shr	$CPU_SHIFT, %ecx
.Lmodulo_again\@:
	cmp	SESSION(RT_SESSION_N_SHARDS), %ecx
	jae	.Lsubtract_again\@

	/*
	 * %ecx is the number of the shard, which is locked. Another target can
	 * clear the lock, and two threads of this process could then use the
	 * same stack. So each stack also has a word that contains the pid of
	 * its user. Only this process maps the stack. A forked child may find
	 * its parent's pid in the word. It then regards the stack as free.
	 */
.Lheld\@:
	mov	%ecx, %eax
	shl	$15, %rax
	add	SESSION(RT_SESSION_STACKS), %rax
	add	$ASM_DT_RT_STACK_BYTES - ASM_DT_RT_NOTES_BYTES, %rax
	mov	CONFIG(CONFIG_PID), %ebx
	xchg	%ebx, ASM_DT_RT_NOTES_HOLDER(%rax)
	cmp	CONFIG(CONFIG_PID), %ebx
	je	.Lstack_in_use\@
	mov	%rcx, %rbx
	imul	SESSION(RT_SESSION_SHARD_BYTES), %rbx
	add	SESSION(RT_SESSION_SHARDS), %rbx	/* the lock */
	jmp	dt_rt_build

	/*
	 * The agent does not trace this thread. The engine may need the agent,
	 * so the thread waits at the gate until the agent is back. The thread is
	 * on the program's stack, so a signal handler may run meanwhile.
	 */
.Laway\@:
	mov	%ebx, 4(%rsp)
	cmpl	$ASM_DT_RT_AWAY, CONFIG(CONFIG_AWAY)
	jne	.Lmissed\@
	movl	$1, dt_rt_image + ASM_DT_RT_GATE(%rip)
	jmp	.Lagain\@
	/* The agent may have just come back. Otherwise, counts a drop. */
.Lmissed\@:
	cmpl	$0, CONFIG(CONFIG_AWAY)
	je	.Lagain\@
	jmp	.Lnone\@

.Llsl\@:
	mov	$CPU_SEGMENT, %eax
	lsl	%eax, %eax
	jmp	.Lcpu\@

.Lsubtract\@:
	sub	SESSION(RT_SESSION_N_SHARDS), %eax
	jmp	.Lmodulo\@
.Lsubtract_again\@:
	sub	SESSION(RT_SESSION_N_SHARDS), %ecx
	jmp	.Lmodulo_again\@

	/*
	 * Another target has cleared the lock while a thread of this process
	 * held it. This thread leaves the lock to the user of the stack, and
	 * tries the next shard.
	 */
.Lstack_in_use\@:
	mov	%cl, 3(%rsp)
	jmp	.Lbusy\@

	/*
	 * The shard of this CPU is locked. Try the other shards in order. The
	 * byte above the flags on the stack contains the number of the current
	 * shard.
	 */
.Lsearch\@:
	mov	4(%rsp), %eax
	shr	$CPU_SHIFT, %eax
.Lstart\@:
	cmp	SESSION(RT_SESSION_N_SHARDS), %eax
	jb	.Lnext\@
	sub	SESSION(RT_SESSION_N_SHARDS), %eax
	jmp	.Lstart\@
.Lbusy\@:
	movzbl	3(%rsp), %eax
.Lnext\@:
	inc	%eax
	cmp	SESSION(RT_SESSION_N_SHARDS), %eax
	jb	1f
	xor	%eax, %eax
1:	mov	%al, 3(%rsp)
	mov	4(%rsp), %ecx
	shr	$CPU_SHIFT, %ecx
2:	cmp	SESSION(RT_SESSION_N_SHARDS), %ecx
	jb	3f
	sub	SESSION(RT_SESSION_N_SHARDS), %ecx
	jmp	2b
3:	cmp	%ecx, %eax
	je	.Lnone\@				/* all shards were tried */
	mov	%rax, %rbx
	imul	SESSION(RT_SESSION_SHARD_BYTES), %rbx
	add	SESSION(RT_SESSION_SHARDS), %rbx
	cmpl	$0, (%rbx)
	jne	.Lbusy\@
	xor	%eax, %eax
	mov	CONFIG(CONFIG_PID), %ecx
	lock cmpxchg %ecx, (%rbx)
	jne	.Lbusy\@
	movzbl	3(%rsp), %ecx
	movb	$0, 3(%rsp)
	jmp	.Lheld\@

	/* Counts a drop for each firing of the site, if the session is active. */
.Lnone\@:
	movb	$0, 3(%rsp)
	mov	4(%rsp), %ebx
	and	$SITE_MASK, %ebx
	shl	$6, %ebx
	lea	CONFIG(CONFIG_SITES), %rax
	add	%rax, %rbx
	mov	SESSION(RT_SESSION_ARENA), %rax
	add	ARENA_SESSION(%rax), %rax
	cmpl	$ASM_DT_ACTIVITY_ACTIVE, SESSION_ACTIVITY(%rax)
	jne	4f
	mov	SITE_N_FIRINGS(%rbx), %ecx
	lock add %rcx, SESSION_NOSHARD(%rax)
4:	mov	SITE_BACK(%rbx), %rbx
	jmp	.Lleave

	.endm

	/*
	 * Fires the site's probes if the condition of a jcc is true. There are
	 * 16 pieces, one for each condition. The flags are those of the program.
	 */
	.macro	test_conditions
	.irp	cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	.p2align 4
	j\cc	dt_rt_generic + session * ASM_DT_RT_GENERIC_BYTES
	jmp	dt_rt_skip
	.endr
	.endm

	.section .text.sessions, "ax", @progbits
	.balign	ASM_DT_RT_GENERIC_BYTES
dt_rt_generic:
	.set	session, 0
	.rept	ASM_DT_RT_MAX_SESSIONS
	.org	dt_rt_generic + session * ASM_DT_RT_GENERIC_BYTES
	lock_shard
	.org	dt_rt_generic + session * ASM_DT_RT_GENERIC_BYTES + ASM_DT_RT_CONDITIONS
	test_conditions
	.set	session, session + 1
	.endr
	.previous

	/*
	 * --- upcalls on kernels without doorbells (write protection by
	 * userfaultfd) ---
	 */

	/* void dt_rt_upcall(struct dt_rt_upcall *) */
	.p2align 4
dt_rt_upcall:
dt_rt_upcall_trap:
	int3
	ret

	/*
	 * The code up to dt_rt_load_end must not push anything, because
	 * dt_rt_load_fixup executes `ret` after a fault.
	 */
	.p2align 4
dt_rt_load_begin:
	/*
	 * Loads the word at %rdi into %rax, and sets %rdx to 0. If the word is
	 * not readable, %rdx is the address that faulted. The caller must not
	 * pass 0 or an address that is not canonical.
	 */
dt_rt_peek:
	mov	(%rdi), %rax
	xor	%edx, %edx
	ret

	/*
	 * dt_u64 dt_rt_changed(const struct dt_rt_noted *frames, dt_u64 n,
	 *                      dt_u64 *pcs)
	 * Returns 0 and copies the return addresses to pcs if each word still
	 * has the noted value. Otherwise returns 1. n must not be 0.
	 */
	.p2align 4
dt_rt_changed:
0:	mov	(%rdi), %rax
	mov	16(%rdi), %rcx
	mov	(%rax), %rax
	mov	(%rcx), %rcx
	cmp	8(%rdi), %rax
	jne	9f
	cmp	24(%rdi), %rcx
	jne	9f
	mov	%rax, (%rdx)
	add	$32, %rdi
	add	$8, %rdx
	dec	%rsi
	jnz	0b
	xor	%eax, %eax
	ret
9:	mov	$1, %eax
	ret

	/* struct dt_rt_copied dt_rt_copy(void *to, const void *from, dt_u64 n) */
	.p2align 4
dt_rt_copy:
	mov	%rdx, %rcx
	jmp	2f
1:	mov	(%rsi), %rax
	mov	%rax, (%rdi)
	add	$8, %rsi
	add	$8, %rdi
2:	sub	$8, %rcx
	jae	1b
	add	$8, %rcx
	jz	4f
3:	movzbl	(%rsi), %eax
	mov	%al, (%rdi)
	inc	%rsi
	inc	%rdi
	dec	%rcx
	jnz	3b
4:	xor	%eax, %eax
	ret

	/*
	 * struct dt_rt_copied dt_rt_copy_string(char *to, const char *from, dt_u64 max)
	 * Copies the string with its NUL, but at most max bytes. Member `at` of
	 * the result is the length without the NUL.
	 */
	.p2align 4
dt_rt_copy_string:
	xor	%ecx, %ecx
	test	%rdx, %rdx
	jz	6f
5:	movzbl	(%rsi, %rcx), %eax
	mov	%al, (%rdi, %rcx)
	test	%al, %al
	jz	6f
	inc	%rcx
	cmp	%rdx, %rcx
	jb	5b
6:	mov	%rcx, %rdx
	xor	%eax, %eax
	ret
dt_rt_load_end:

	/* Returns 1 in `failed`. The agent has set %rdx to the address that faulted. */
	.p2align 4
dt_rt_load_fixup:
	mov	$1, %eax
	ret

	.section .note.GNU-stack, "", @progbits
