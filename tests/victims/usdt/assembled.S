/* SPDX-License-Identifier: MIT */
/* Probes in assembly: long fire(long n) fires each n times, without a frame and without C. */
#include <dtrace/sdt.h>
#ifdef SYSTEMTAP
#include <sys/sdt.h>
#endif
	.text
	.globl	fire
	.type	fire, @function
fire:
	xor	%eax, %eax
1:	inc	%rax
	DTRACE_PROBE_ASM(assembled, one, -8@%rax -4@$-5)
	DTRACE_PROBE2(assembled, two, 8@%rdi, 1@%al)
	DTRACE_PROBE(assembled, none)
#ifdef SYSTEMTAP
	STAP_PROBE2(assembled, two, 8@%rdi, 1@%al)
#endif
	cmp	%rdi, %rax
	jb	1b
	ret
	.size	fire, . - fire
	.section .note.GNU-stack, "", @progbits
