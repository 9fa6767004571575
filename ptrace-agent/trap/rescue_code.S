/* SPDX-License-Identifier: MIT */
/*
 * The SIGTRAP handler of a target with breakpoints. It restores the text if the
 * agent was killed (rescue.hpp).
 *
 *   %rdi signal   %rsi siginfo_t   %rdx struct ucontext, with the program's registers
 *
 * sigreturn(2) restores all registers, so this code does not save them. Before
 * it jumps to the program's own handler, it restores the stack pointer and the
 * three registers above. It uses no libc. The numeric offsets are those in
 * siginfo_t, in the kernel's ucontext (x86-64) and in the structures of
 * rescue.hpp.
 */
#if defined(__x86_64__)
#define SI_ERRNO 4(%rsi)
#define SI_CODE 8(%rsi)
#define SI_ADDR 16(%rsi)
#define UC_R11 64(%rdx)
#define UC_RCX 152(%rdx)
#define UC_RIP 168(%rdx)
#define UC_FLAGS 176(%rdx)
#define UC_MASK 296(%rdx)
#define TRAP_FLAG 0x100

	.section .rodata.rescue, "a", @progbits
	.globl dt_rescue_begin, dt_rescue_restorer, dt_rescue_end
	.hidden dt_rescue_begin, dt_rescue_restorer, dt_rescue_end
	.p2align 4
dt_rescue_begin:
	lea	dt_rescue_begin+0x1000(%rip), %rbx	/* RescueHeader */
	mov	SI_CODE, %eax
	cmp	$0x80, %eax		/* SI_KERNEL: int3 */
	je	breakpoint
	cmp	$2, %eax		/* TRAP_TRACE, TRAP_BRKPT */
	jbe	in_slot
	jmp	chain

breakpoint:
	mov	UC_RIP, %rax
	dec	%rax
	cmpl	$0x44547270, SI_ERRNO	/* hit_magic: the address is in si_addr */
	jne	1f
	mov	SI_ADDR, %rax
	mov	%rax, UC_RIP
1:	mov	(%rbx), %r8		/* binary search in the table */
	xor	%r9d, %r9d
	mov	8(%rbx), %r10
2:	cmp	%r10, %r9
	jae	in_slot
	lea	(%r9,%r10), %r11
	shr	$1, %r11
	mov	%r11, %r12
	shl	$4, %r12
	add	%r8, %r12
	cmp	(%r12), %rax
	je	restore
	jb	3f
	lea	1(%r11), %r9
	jmp	2b
3:	mov	%r11, %r10
	jmp	2b

/*
 * Restores the byte at %rax from its entry at %r12. The instruction then runs.
 */
restore:
	mov	%rax, UC_RIP
	cmpb	$0xcc, (%rax)		/* another thread may have restored the byte */
	jne	done
	mov	%rax, %r15
	mov	$257, %eax		/* openat("/proc/self/mem", O_RDWR | O_CLOEXEC) */
	mov	$-100, %rdi
	lea	memory(%rip), %rsi
	mov	$0x80002, %edx
	xor	%r10d, %r10d
	syscall
	test	%eax, %eax
	js	by_protection
	mov	%eax, %r13d
	mov	%eax, %edi
	mov	$18, %eax		/* pwrite64 */
	lea	8(%r12), %rsi
	mov	$1, %edx
	mov	%r15, %r10
	syscall
	mov	%rax, %rbp
	cmp	$1, %rax
	jne	12f
	/*
	 * Restore all other breakpoints as well. The next hit might be in a
	 * thread that blocks SIGTRAP, and the kernel would then kill the
	 * process.
	 */
	mov	(%rbx), %r12
	mov	8(%rbx), %r14
	sub	$16, %rsp
10:	sub	$1, %r14
	jb	11f
	mov	$17, %eax		/* pread64: the text may be unmapped */
	mov	%r13d, %edi
	mov	%rsp, %rsi
	mov	$1, %edx
	mov	(%r12), %r10
	syscall
	cmp	$1, %rax
	jne	13f
	cmpb	$0xcc, (%rsp)
	jne	13f
	mov	$18, %eax
	mov	%r13d, %edi
	lea	8(%r12), %rsi
	mov	$1, %edx
	mov	(%r12), %r10
	syscall
13:	add	$16, %r12
	jmp	10b
11:	add	$16, %rsp
12:	mov	%r13d, %edi
	mov	$3, %eax		/* close */
	syscall
	cmp	$1, %rbp
	je	done
by_protection:				/* cannot open or write /proc/self/mem */
	mov	$10, %eax		/* mprotect */
	mov	%r15, %rdi
	and	$-4096, %rdi
	mov	$4096, %esi
	mov	$7, %edx
	syscall
	test	%eax, %eax
	jnz	die
	mov	8(%r12), %al
	mov	%al, (%r15)
	mov	$10, %eax
	mov	%r15, %rdi
	and	$-4096, %rdi
	mov	$4096, %esi
	mov	$5, %edx
	syscall
/*
 * Returns to the program. The program's own restorer is not used. It may contain
 * a breakpoint that another thread has not removed yet, and SIGTRAP is blocked
 * here.
 */
done:	add	$8, %rsp
	jmp	dt_rescue_restorer

/*
 * Moves a pc in a slot to the program's text. If the copy has run, the new pc
 * is the address after the original instruction. If the copy has not run, or
 * does only a part of the instruction (access_only), the new pc is the address
 * of the original instruction.
 */
in_slot:
	mov	UC_RIP, %rax
	xor	%ecx, %ecx
4:	mov	24(%rbx,%rcx,8), %r8	/* a page of slots */
	mov	%rax, %r9
	sub	%r8, %r9
	cmp	$16384, %r9
	jb	5f
	inc	%ecx
	cmp	$8, %ecx
	jb	4b
	jmp	chain
5:	mov	%r9, %r10
	shr	$5, %r10
	and	$31, %r9d		/* offset in the slot */
	shl	$9, %ecx
	add	%r10, %rcx
	shl	$6, %rcx
	lea	dt_rescue_begin+0x2000(%rip), %r8
	add	%rcx, %r8		/* RescueSlot */
	mov	(%r8), %rax
	test	%rax, %rax
	jz	chain
	mov	24(%r8), %ecx
	test	%ecx, %ecx
	jz	6f
	mov	32(%r8), %r10
	mov	%r10, (%rdx,%rcx)
6:	mov	28(%r8), %ecx
	test	%ecx, %ecx
	jz	7f
	mov	40(%r8), %r10
	mov	%r10, (%rdx,%rcx)
7:	movzbl	49(%r8), %r11d		/* flags */
	movzbl	48(%r8), %ecx
	cmp	%ecx, %r9d
	jb	8f			/* the copy has not run */
	test	$2, %r11b
	jnz	8f
	mov	8(%r8), %rax
	test	$1, %r11b
	jz	8f
	mov	%rax, UC_RCX		/* syscall sets rcx to the next address */
	andq	$~TRAP_FLAG, UC_R11
8:	mov	%rax, UC_RIP
	andq	$~TRAP_FLAG, UC_FLAGS
	test	$4, %r11b
	jz	done
	mov	16(%r8), %r10
	mov	%r10, UC_MASK
	jmp	done

/*
 * Handles a SIGTRAP that is the program's own. TRAP_BRKPT means that a tracer
 * has stepped over a system call. The dead agent began that step, so the signal
 * is ignored.
 */
chain:
	cmpl	$1, SI_CODE
	je	done
	mov	16(%rbx), %rax		/* SIG_DFL, SIG_IGN or a handler */
	cmp	$1, %rax
	je	done
	jb	9f
	/*
	 * More signals are blocked here than the program's handler requests
	 * (TrapSignals). Set the mask that the kernel would have set.
	 */
	mov	%rax, %r12
	mov	%rdi, %r13
	mov	%rsi, %r14
	mov	%rdx, %r15
	mov	UC_MASK, %rax
	or	88(%rbx), %rax
	sub	$16, %rsp
	mov	%rax, (%rsp)
	mov	$14, %eax		/* rt_sigprocmask */
	mov	$2, %edi		/* SIG_SETMASK */
	mov	%rsp, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	syscall
	add	$16, %rsp
	mov	%r13, %rdi
	mov	%r14, %rsi
	mov	%r15, %rdx
	jmp	*%r12
9:	cmpl	$2, SI_CODE		/* a single-step that the dead agent began */
	jne	die
	andq	$~TRAP_FLAG, UC_FLAGS
	jmp	done
die:	xor	%eax, %eax		/* end the program with SIGTRAP */
	sub	$40, %rsp
	mov	%rax, (%rsp)
	mov	%rax, 8(%rsp)
	mov	%rax, 16(%rsp)
	mov	%rax, 24(%rsp)
	mov	$13, %eax		/* rt_sigaction(SIGTRAP, SIG_DFL) */
	mov	$5, %edi
	mov	%rsp, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	syscall
	add	$40, %rsp
	mov	$186, %eax		/* gettid */
	syscall
	mov	%eax, %r12d
	mov	$39, %eax		/* getpid */
	syscall
	mov	%eax, %edi
	mov	%r12d, %esi
	mov	$5, %edx
	mov	$234, %eax		/* tgkill; delivered after sigreturn */
	syscall
	jmp	done

/* Unwinders recognize a signal frame by these bytes. */
	.p2align 4
dt_rescue_restorer:
	mov	$15, %rax
	syscall
memory:	.asciz	"/proc/self/mem"
dt_rescue_end:
#endif
	.section .note.GNU-stack, "", @progbits
