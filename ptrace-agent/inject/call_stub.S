/* SPDX-License-Identifier: MIT */
/*
 * A stub for injected system calls, which can restore the thread without the
 * agent.
 *
 * Before a call, the agent saves the thread's signal mask and registers in the
 * block at the end of the stub. Usually the agent stops the thread after the
 * first instruction, the system call, and restores the thread itself. If the
 * agent dies during the call, the rest of the stub restores the mask and the
 * registers. The only push writes below the red zone.
 */
#if defined(__x86_64__)
	.section .rodata.call_stub, "a", @progbits
	.globl dt_call_stub_begin, dt_call_stub_end, dt_call_stub_block
	.hidden dt_call_stub_begin, dt_call_stub_end, dt_call_stub_block
	.p2align 4
dt_call_stub_begin:
	syscall
	mov	$14, %eax		/* rt_sigprocmask */
	mov	$2, %edi		/* SIG_SETMASK */
	lea	mask(%rip), %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	syscall
	mov	rsp_(%rip), %rsp
	lea	-136(%rsp), %rsp
	push	flags(%rip)
	popfq
	mov	rsp_(%rip), %rsp
	mov	r15_(%rip), %r15
	mov	r14_(%rip), %r14
	mov	r13_(%rip), %r13
	mov	r12_(%rip), %r12
	mov	rbp_(%rip), %rbp
	mov	rbx_(%rip), %rbx
	mov	r11_(%rip), %r11
	mov	r10_(%rip), %r10
	mov	r9_(%rip), %r9
	mov	r8_(%rip), %r8
	mov	rax_(%rip), %rax
	mov	rcx_(%rip), %rcx
	mov	rdx_(%rip), %rdx
	mov	rsi_(%rip), %rsi
	mov	rdi_(%rip), %rdi
	jmp	*rip_(%rip)
	.p2align 3
	/* The layout is that of struct CallBlock in call_stub.hpp. */
dt_call_stub_block:
mask:	.quad 0
r15_:	.quad 0
r14_:	.quad 0
r13_:	.quad 0
r12_:	.quad 0
rbp_:	.quad 0
rbx_:	.quad 0
r11_:	.quad 0
r10_:	.quad 0
r9_:	.quad 0
r8_:	.quad 0
rax_:	.quad 0
rcx_:	.quad 0
rdx_:	.quad 0
rsi_:	.quad 0
rdi_:	.quad 0
rip_:	.quad 0
flags:	.quad 0
rsp_:	.quad 0
dt_call_stub_end:
#endif
	.section .note.GNU-stack, "", @progbits
