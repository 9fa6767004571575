/* SPDX-License-Identifier: MIT */
/* Functions to probe, and callers that set and store every register. */
	.text
	.globl probed_work, probed_add
	.p2align 4
probed_work:
	ret
probed_add:
	lea	(%rdi, %rsi), %rax
	ret

	/*
	 * void with_registers(struct Registers *, void (*function)(void)): loads
	 * general registers and flags from the structure, and vector registers from
	 * vectors_before. Calls the function. Then stores the general registers and
	 * flags in the structure, and the vector registers in vectors_after.
	 */
	.globl with_registers
with_registers:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rdi, structure(%rip)
	mov	%rsi, function(%rip)
	mov	0(%rdi), %rax
	mov	8(%rdi), %rbx
	mov	16(%rdi), %rcx
	mov	24(%rdi), %rdx
	mov	40(%rdi), %rbp
	mov	48(%rdi), %r8
	mov	56(%rdi), %r9
	mov	64(%rdi), %r10
	mov	72(%rdi), %r11
	mov	80(%rdi), %r12
	mov	88(%rdi), %r13
	mov	96(%rdi), %r14
	mov	104(%rdi), %r15
	mov	120(%rdi), %rsi
	push	112(%rdi)
	mov	32(%rdi), %rdi
	mov	%rsp, stack(%rip)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movdqu	16 * \n + vectors_before(%rip), %xmm\n
	.endr
	popfq
	call	*function(%rip)
	pushfq
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movdqu	%xmm\n, 16 * \n + vectors_after(%rip)
	.endr
	cmp	%rsp, stack(%rip)
	je	1f
	ud2
1:	push	%rdi
	mov	structure(%rip), %rdi
	mov	%rax, 0(%rdi)
	mov	%rbx, 8(%rdi)
	mov	%rcx, 16(%rdi)
	mov	%rdx, 24(%rdi)
	mov	%rbp, 40(%rdi)
	mov	%r8, 48(%rdi)
	mov	%r9, 56(%rdi)
	mov	%r10, 64(%rdi)
	mov	%r11, 72(%rdi)
	mov	%r12, 80(%rdi)
	mov	%r13, 88(%rdi)
	mov	%r14, 96(%rdi)
	mov	%r15, 104(%rdi)
	mov	%rsi, 120(%rdi)
	pop	%rax
	mov	%rax, 32(%rdi)
	pop	%rax
	mov	%rax, 112(%rdi)
	push	$2
	popfq
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	/*
	 * long red_zone_after(void (*trampoline)(void)): runs a trampoline that continues at
	 * red_zone_back. Returns how many words in the red zone have changed.
	 */
	.globl red_zone_after, red_zone_back
red_zone_after:
	mov	$-16, %rcx
1:	mov	%rcx, (%rsp, %rcx, 8)
	inc	%rcx
	jnz	1b
	jmp	*%rdi
red_zone_back:
	xor	%eax, %eax
	mov	$-16, %rcx
2:	cmp	%rcx, (%rsp, %rcx, 8)
	je	3f
	inc	%eax
3:	inc	%rcx
	jnz	2b
	ret

	/*
	 * void with_stack_off_by(long bytes, void (*function)(void)): calls the function
	 * with %rsp lowered by this number of bytes.
	 */
	.globl with_stack_off_by
with_stack_off_by:
	push	%rbp
	mov	%rsp, %rbp
	sub	%rdi, %rsp
	call	*%rsi
	mov	%rbp, %rsp
	pop	%rbp
	ret

	/*
	 * void with_stack_at(void *top, void (*function)(void)): calls the function on the
	 * stack that ends at `top`.
	 */
	.globl with_stack_at
with_stack_at:
	push	%rbp
	mov	%rsp, %rbp
	mov	%rdi, %rsp
	call	*%rsi
	mov	%rbp, %rsp
	pop	%rbp
	ret

	.globl vectors_before, vectors_after
	.bss
	.p2align 4
vectors_before:	.skip 256
vectors_after:	.skip 256
	.data
	.p2align 3
structure:	.quad 0
function:	.quad 0
stack:		.quad 0
	.section .note.GNU-stack, "", @progbits
