/* SPDX-License-Identifier: MIT */
/*
 * Each function, long f(long n, long *memory), contains one form of instruction that is
 * hard to relocate. FAULT precedes an instruction that causes a signal. The signal
 * handler continues at the address that FAULT names.
 */
	.macro FUNC name
	.section .rodata.names, "a"
.Lname_\name:
	.asciz "\name"
	.section .data.rel.functions, "aw"
	.quad \name, .Lname_\name
	.text
	.p2align 4
	.globl \name
	.type \name, @function
\name:
	.endm
	.macro END name
	.size \name, . - \name
	.endm
	.macro FAULT on
	.section .data.rel.faults, "aw"
	.quad 771f, \on
	.text
771:
	.endm

	.section .note.GNU-stack, "", @progbits
	.section .data.rel.functions, "aw"
	.globl functions
functions:
	.section .data.rel.faults, "aw"
	.globl faults
faults:

/* Short functions */
FUNC one_ret
	ret
END one_ret
FUNC two_bytes
	nop
	ret
END two_bytes
FUNC only_endbr
	endbr64
	ret
END only_endbr
FUNC thunk
	jmp two_words
END thunk
FUNC short_thunk
	jmp short_target
END short_thunk
short_target:
	lea 5(%rdi), %rax
	ret
FUNC falls_through
	lea 3(%rdi), %rax
END falls_through
FUNC two_words
	add %rdi, %rax
	lea 9(%rdi), %rax
	ret
END two_words

/* Branches into the first bytes */
FUNC loops_to_itself
	lea -1(%rdi), %rdi
	test %rdi, %rdi
	jg loops_to_itself
	mov %rdi, %rax
	ret
END loops_to_itself
FUNC loops_to_second
	xor %eax, %eax
1:	inc %rax
	dec %rdi
	jns 1b
	ret
END loops_to_second
FUNC entered_in_the_middle
	xor %eax, %eax
	.globl the_middle
the_middle:
	inc %eax
	nop
	add %edi, %eax
	ret
END entered_in_the_middle
FUNC enters_another
	mov $100, %eax
	jmp the_middle
END enters_another
FUNC uses_loop
	mov %rdi, %rcx
	inc %rcx
	xor %eax, %eax
1:	add %rcx, %rax
	loop 1b
	ret
END uses_loop
FUNC uses_loope
	lea 2(%rdi), %rcx
	xor %eax, %eax
1:	inc %rax
	cmp $3, %rax
	loopne 1b
	ret
END uses_loope
FUNC uses_jrcxz
	mov %rdi, %rcx
	jrcxz 1f
	mov $1, %eax
	ret
1:	mov $2, %eax
	ret
END uses_jrcxz
FUNC uses_jecxz
	mov %edi, %ecx
	jecxz 1f
	mov $1, %eax
	ret
1:	mov $2, %eax
	ret
END uses_jecxz
FUNC switches
	and $3, %edi
	lea 1f(%rip), %rax
	movslq (%rax, %rdi, 4), %rdx
	add %rdx, %rax
	jmp *%rax
	.section .rodata
	.p2align 2
1:	.long 10f - 1b, 11f - 1b, 12f - 1b, 13f - 1b
	.text
10:	mov $10, %eax
	ret
11:	mov $11, %eax
	ret
12:	mov $12, %eax
	ret
13:	mov $13, %eax
	ret
END switches

/* Addresses */
FUNC call_next
	call 1f
1:	pop %rax
	lea 1b(%rip), %rdx
	sub %rdx, %rax
	ret
END call_next
FUNC call_first
	call helper
	ret
END call_first
FUNC call_memory
	sub $8, %rsp
	call *helpers(%rip)
	add $8, %rsp
	ret
END call_memory
FUNC jump_memory
	jmp *helpers(%rip)
END jump_memory
FUNC call_register
	lea helper(%rip), %rax
	push %rbx
	call *%rax
	pop %rbx
	ret
END call_register
FUNC compares_memory
	cmpq $0, counter(%rip)
	sete %al
	movzbl %al, %eax
	incq counter(%rip)
	ret
END compares_memory
FUNC stores_memory
	movl $0x12345678, counter+8(%rip)
	mov counter+8(%rip), %eax
	ret
END stores_memory
FUNC thread_local
	mov %fs:0, %rax
	cmp %fs:0, %rax
	sete %al
	movzbl %al, %eax
	ret
END thread_local
helper:
	/* The return address must be in the caller, not in a copy. */
	mov (%rsp), %rax
	lea one_ret(%rip), %rdx
	sub %rdx, %rax
	ret

/* The stack */
FUNC push_rsp
	push %rsp
	pop %rax
	sub %rsp, %rax
	ret
END push_rsp
FUNC pop_rsp
	push %rsp
	pop %rsp
	mov %rdi, %rax
	ret
END pop_rsp
FUNC push_memory
	push 0(%rsp)
	pop %rax
	sub (%rsp), %rax
	ret
END push_memory
FUNC frame
	enter $32, $0
	mov %rdi, -8(%rbp)
	mov -8(%rbp), %rax
	leave
	ret
END frame
FUNC exchange_rsp
	mov %rsp, %rax
	xchg %rax, %rsp
	mov %rdi, %rax
	ret
END exchange_rsp
FUNC ret_n
	push $1
	push $2
	call takes_two
	ret
END ret_n
	.type takes_two, @function
takes_two:
	mov %rdi, %rax
	ret $16
	.size takes_two, . - takes_two
FUNC rep_ret
	mov %rdi, %rax
	rep ret
END rep_ret
FUNC bnd_ret
	mov %rdi, %rax
	bnd ret
END bnd_ret
FUNC red_zone
	mov %rdi, -8(%rsp)
	mov %rdi, -128(%rsp)
	nop
	mov -128(%rsp), %rax
	add -8(%rsp), %rax
	ret
END red_zone

/* Flags */
FUNC flags
	cmp $5, %rdi
	pushfq
	pop %rax
	and $0xcd5, %eax
	ret
END flags
FUNC pop_flags
	mov %rdi, %rax
	and $0xd5, %eax
	or $0x602, %eax	/* sets DF; IF keeps its value */
	push %rax
	popfq
	pushfq
	pop %rax
	cld
	and $0xcd5, %eax
	ret
END pop_flags
FUNC ah_flags
	mov %edi, %eax
	mov %al, %ah
	sahf
	lahf
	movzbl %ah, %eax
	ret
END ah_flags
FUNC direction
	std
	lea 15(%rsi), %rdi
	lea 7(%rsi), %rsi
	mov $4, %ecx
	rep movsb
	cld
	mov -4(%rdi), %rax
	movzbl %al, %eax
	ret
END direction
FUNC carry
	stc
	nop
	nop
	nop
	nop
	cmc
	setc %al
	movzbl %al, %eax
	ret
END carry

/* Other kinds of instructions */
FUNC atomics
	mov %rdi, %rax
	lock xadd %rax, (%rsi)
	lock cmpxchg %rdi, (%rsi)
	mov (%rsi), %rax
	ret
END atomics
FUNC wide_exchange
	push %rbx
	mov %rsi, %r8
	and $-16, %r8
	xor %eax, %eax
	xor %edx, %edx
	mov %rdi, %rbx
	xor %ecx, %ecx
	lock cmpxchg16b 16(%r8)
	setz %al
	movzbl %al, %eax
	pop %rbx
	ret
END wide_exchange
FUNC counts_time
	rdtsc
	mov %eax, %r8d
	mov %edx, %r9d
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	shl $32, %r9
	or %r9, %r8
	cmp %r8, %rax
	setae %al
	movzbl %al, %eax
	ret
END counts_time
FUNC identifies
	push %rbx
	xor %eax, %eax
	cpuid
	mov %ebx, %eax
	pop %rbx
	ret
END identifies
FUNC vectors
	movq %rdi, %xmm0
	pshufd $0, %xmm0, %xmm1
	vpaddd %xmm0, %xmm1, %xmm2
	vpextrq $1, %xmm2, %rax
	vmovq %xmm2, %rdx
	add %rdx, %rax
	ret
END vectors
FUNC floats
	cvtsi2sd %rdi, %xmm0
	sqrtsd %xmm0, %xmm0
	cvttsd2si %xmm0, %rax
	fldpi
	fadd %st(0), %st(0)
	fistpll -8(%rsp)
	add -8(%rsp), %rax
	ret
END floats
FUNC system_call
	mov $39, %eax
	syscall
	mov %eax, %r8d
	mov $39, %eax
	syscall
	xor %r8d, %eax
	ret
END system_call
FUNC fails_in_system_call
	mov $-1, %rax
	syscall
	ret
END fails_in_system_call

/* Only four bytes before a branch target */
FUNC jumps_over_four
	mov %edi, %eax
	jmp 2f
1:	lea 7(%rax, %rax), %eax
	sub $1, %edi
2:	test %edi, %edi
	jg 1b
	ret
END jumps_over_four
FUNC loops_behind_four
	push %rbx
	mov %rdi, %rbx
1:	lea 5(%rbx, %rbx), %eax
	lea 1(%rax, %rdi), %rax
	sub $1, %rbx
	jns 1b
	pop %rbx
	ret
END loops_behind_four

/* Faults */
FUNC breaks
	mov %rdi, %rax
FAULT 1f
	int3
1:	add $1, %rax
	ret
END breaks
FUNC undefined
	mov %rdi, %rax
FAULT 1f
	ud2
1:	add $2, %rax
	ret
END undefined
FUNC unreachable
FAULT reached
	ud2
END unreachable
	.p2align 4
reached:
	lea 6(%rdi), %rax
	ret
FUNC stops                              /* like musl's __stack_chk_fail */
FAULT 1f
	hlt
END stops
	.p2align 4
1:	lea 7(%rdi), %rax
	ret
FUNC halts
	mov %rdi, %rax
FAULT 1f
	hlt
1:	add $3, %rax
	ret
END halts
FUNC loads_badly
	xor %edx, %edx
	lea (%rdi, %rdi), %rax
FAULT 1f
	mov (%rdx), %rax
1:	add $4, %rax
	ret
END loads_badly
FUNC stores_badly
	mov $16, %edx
	lea (%rdi, %rdi), %rax
FAULT 1f
	mov %rax, (%rdx)
1:	add $5, %rax
	ret
END stores_badly
FUNC divides_badly
	mov %rdi, %rax
	cqo
	xor %ecx, %ecx
FAULT 1f
	idiv %rcx
1:	lea 6(%rdi), %rax
	ret
END divides_badly
FUNC calls_badly
	mov $64, %eax
FAULT 1f
	call *(%rax)
1:	lea 7(%rdi), %rax
	ret
END calls_badly
FUNC not_canonical
	movabs $0x8000000000000000, %rdx
FAULT 1f
	mov (%rdx), %rax
1:	lea 8(%rdi), %rax
	ret
END not_canonical
FUNC faults_at_entry
FAULT 1f
	mov 0, %eax
1:	lea 9(%rdi), %rax
	ret
END faults_at_entry
FUNC breaks_at_entry
FAULT 1f
	int3
1:	lea 10(%rdi), %rax
	ret
END breaks_at_entry

	.section .data.rel.functions, "aw"
	.quad 0, 0
	.section .data.rel.faults, "aw"
	.quad 0, 0
	.data
	.p2align 4
helpers:	.quad helper
counter:	.quad 0, 0
