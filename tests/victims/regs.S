/* SPDX-License-Identifier: MIT */
/*
 * void pass(struct state *s): loads all registers from s, calls probed(), which changes
 * only r12, and stores all registers in s + STATE.
 */
#define XSAVE 0		/* 4096 bytes, aligned to 64 bytes */
#define GPR 4096	/* 15 registers, without rsp */
#define FLAGS 4216
#define RSP 4224
#define FSBASE 4232	/* 1 means that pass() does not set it */
#define GSBASE 4240
#define STATE 8192	/* size of struct state, in bytes */

	.section .note.GNU-stack, "", @progbits
	.data
	.p2align 3
saved_rsp:	.quad 0
saved_fs:	.quad 0
area:		.quad 0

	.text
	.globl pass, probed
	.type pass, @function
	.type probed, @function
pass:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, saved_rsp(%rip)
	mov %rdi, area(%rip)
	rdfsbase %rax
	mov %rax, saved_fs(%rip)
	mov GSBASE(%rdi), %rax
	wrgsbase %rax
	mov $0xe7, %eax
	xor %edx, %edx
	xrstor64 XSAVE(%rdi)
	mov FSBASE(%rdi), %rax
	cmp $1, %rax
	je 1f
	wrfsbase %rax
1:	mov RSP(%rdi), %rsp
	push FLAGS(%rdi)
	mov GPR+0(%rdi), %rax
	mov GPR+8(%rdi), %rbx
	mov GPR+16(%rdi), %rcx
	mov GPR+24(%rdi), %rdx
	mov GPR+32(%rdi), %rsi
	mov GPR+48(%rdi), %rbp
	mov GPR+56(%rdi), %r8
	mov GPR+64(%rdi), %r9
	mov GPR+72(%rdi), %r10
	mov GPR+80(%rdi), %r11
	mov GPR+88(%rdi), %r12
	mov GPR+96(%rdi), %r13
	mov GPR+104(%rdi), %r14
	mov GPR+112(%rdi), %r15
	mov GPR+40(%rdi), %rdi
	popfq
	call probed
	/* From here on, do not change a register that has not been saved yet. */
	mov %rsp, saved_rsp_after(%rip)
	mov saved_rsp(%rip), %rsp
	pushfq
	push %rdi
	mov area(%rip), %rdi
	lea STATE(%rdi), %rdi
	mov %rax, GPR+0(%rdi)
	mov %rbx, GPR+8(%rdi)
	mov %rcx, GPR+16(%rdi)
	mov %rdx, GPR+24(%rdi)
	mov %rsi, GPR+32(%rdi)
	mov %rbp, GPR+48(%rdi)
	mov %r8, GPR+56(%rdi)
	mov %r9, GPR+64(%rdi)
	mov %r10, GPR+72(%rdi)
	mov %r11, GPR+80(%rdi)
	mov %r12, GPR+88(%rdi)
	mov %r13, GPR+96(%rdi)
	mov %r14, GPR+104(%rdi)
	mov %r15, GPR+112(%rdi)
	pop %rax
	mov %rax, GPR+40(%rdi)
	pop %rax
	mov %rax, FLAGS(%rdi)
	push $0x202
	popfq
	mov saved_rsp_after(%rip), %rax
	mov %rax, RSP(%rdi)
	rdfsbase %rax
	mov %rax, FSBASE(%rdi)
	rdgsbase %rax
	mov %rax, GSBASE(%rdi)
	mov saved_fs(%rip), %rax
	wrfsbase %rax
	mov $0xe7, %eax
	xor %edx, %edx
	xsave64 XSAVE(%rdi)
	fninit
	pushq $0x1f80
	ldmxcsr (%rsp)
	vzeroupper
	mov saved_rsp(%rip), %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.size pass, . - pass

	/* One instruction of each kind. Afterwards, only r12 may have changed. */
	.p2align 4
probed:
	nop
	mov %rax, %rax
	lea (%rdi), %rdi
	push %rcx
	pop %rcx
	xchg %rbx, %rbx
	mov saved_rsp(%rip), %r12	/* relative to rip; r12 is overwritten below */
	mov -80(%rsp), %r12		/* a value in the red zone */
	movaps %xmm1, %xmm1
	jmp 2f
2:	call 3f
	nopl 0(%rax, %rax, 1)
	jmp 4f
3:	ret
4:	lea 0x1000(%rsi), %rsi
	lea -0x1000(%rsi), %rsi
	ret
	.size probed, . - probed
	.p2align 4

	.bss
	.p2align 3
saved_rsp_after: .quad 0
