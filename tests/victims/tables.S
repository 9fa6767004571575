/* SPDX-License-Identifier: MIT */
/*
 * Functions that keep their data in the text. sum_NAME(n) returns the sum of n words of
 * this data.
 */
	.section .note.GNU-stack, "", @progbits
	.text

	.macro begin name
	.p2align 4, 0x90
	.globl sum_\name
	.type sum_\name, @function
sum_\name:
	.cfi_startproc
	.endm

	.macro finish name
	.cfi_endproc
	.size sum_\name, . - sum_\name
	.endm

	/* %rdx points to the table after this code. A branch leads to the last ret. */
	.macro add_words
	xor %eax, %eax
	test %rdi, %rdi
	je 2f
1:	add -8(%rdx,%rdi,8), %rax
	dec %rdi
	jne 1b
2:	ret
	.endm

	/* The table is part of the function, after one byte of padding. */
	begin padded
	lea 3f(%rip), %rdx
	add_words
	.byte 0xcc
3:	.quad 0x0123456789abcdef, 0x1122334455667788, 0x99aabbccddeeff00, 0x13579bdf02468ace
	finish padded

	/* There is no padding. The table begins like a two-byte jump and a long nop. */
	begin bare
	lea 3f(%rip), %rdx
	add_words
3:	.quad 0x0000441f0f6605eb, 0x9090909090909090, 0xcccccccccccccccc, 0x0f1f840000000000
	finish bare

	/*
	 * The lea refers to an address after the table. The table begins with a byte
	 * that looks like padding.
	 */
	begin biased
	lea 3f + 128(%rip), %rdx
	sub $128, %rdx
	add_words
3:	.quad 0xf87090c3c3c39090, 0xc3c3c3c3c3c3c3c3, 0x90909090909090c3, 0xccccccccccccccc3
	finish biased

	/* The table is after the end of the function. It contains returns and jumps. */
	begin outside
	lea 3f(%rip), %rdx
	add_words
	finish outside
	.p2align 3, 0xcc
3:	.quad 0xc3c3c3c3c3c3c3c3, 0xfdebfdebfdebfdeb, 0x00000000000000e9, 0x90c3c990909090c3

	/* A compiler would put this constant in a different section. */
	begin loaded
	mov 3f(%rip), %rax
	imul %rdi, %rax
	jmp 4f
3:	.quad 0xc35dc35dc35dc35d
4:	ret
	finish loaded

	/* The data after the ret begins with the bytes of a function's prologue. */
	begin prologue
	lea 3f(%rip), %rdx
	add_words
3:	.byte 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc9, 0xc3, 0x90, 0x90, 0x55, 0x5d, 0xc3, 0x90
	.quad 0xc35dec8b48ff8955, 0x9090c3c95b5d5e5f
	finish prologue

	/* The constant is part of another instruction, as in V8. */
	begin shared
	xor %eax, %eax
	test %rdi, %rdi
	je 4f
	movabs $0x0123456789abcdef, %rax
3:	mov 3b - 8(%rip), %rdx
	imul %rdx, %rax
4:	ret
	finish shared

	/*
	 * The code is not aligned, as with -Os. empty_hook is only a ret. The first
	 * block of count_down is shorter than a jump.
	 */
	.globl empty_hook, count_down, leave_early, left
	.type empty_hook, @function
	.type count_down, @function
	.type leave_early, @function
	.type left, @function
empty_hook:
	.cfi_startproc
	ret
	.cfi_endproc
	.size empty_hook, . - empty_hook
count_down:
	.cfi_startproc
	push %rcx
1:	test %edi, %edi
	je 2f
	dec %edi
	jmp 1b
2:	pop %rcx
	ret
	.cfi_endproc
	.size count_down, . - count_down

	/* The jrcxz is a return site. A jump cannot replace it. */
leave_early:
	.cfi_startproc
	mov %rdi, %rcx
	xor %eax, %eax
	jrcxz left
	mov $1, %eax
	ret
	.cfi_endproc
	.size leave_early, . - leave_early
left:
	.cfi_startproc
	mov $2, %eax
	ret
	.cfi_endproc
	.size left, . - left
