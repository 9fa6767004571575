/* SPDX-License-Identifier: MIT */
/*
 * Probes that our header cannot produce: at a function's first instruction, and with
 * operands relative to %fs and %gs. The notes give addresses that are MOVED bytes too
 * high, as if the text had moved after the link. With a second argument, a child does
 * the same.
 */
#include <asm/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MOVED
#define MOVED 0
#endif
#define TEXT(...) TEXT1(__VA_ARGS__)
#define TEXT1(...) #__VA_ARGS__
#define PROBE(name, arguments)                                                          \
	"990:	nop\n"                                                                  \
	"	.pushsection .note.stapsdt, \"?\", \"note\"\n"                          \
	"	.balign	4\n"                                                            \
	"	.4byte	992f - 991f, 994f - 993f, 3\n"                                  \
	"991:	.asciz	\"stapsdt\"\n"                                                  \
	"992:	.balign	4\n"                                                            \
	"993:	.8byte	990b + " TEXT(MOVED) ", _.stapsdt.base + " TEXT(MOVED) ", 0\n"  \
	"	.asciz	\"odd\", \"" name "\", \"" arguments "\"\n"                     \
	"994:	.balign	4\n"                                                            \
	"	.popsection\n"

/* int first(int n) returns n + 1. */
asm("	.section .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
    "	.weak	_.stapsdt.base\n"
    "	.hidden	_.stapsdt.base\n"
    "_.stapsdt.base: .space 1\n"
    "	.size	_.stapsdt.base, 1\n"
    "	.text\n"
    "	.globl	first\n"
    "	.type	first, @function\n"
    "first:\n" PROBE("first", "-4@%edi")
    "	lea	1(%rdi), %eax\n"
    "	ret\n"
    "	.size	first, . - first\n"
    "	.globl	segments\n"
    "	.type	segments, @function\n"
    "segments:\n"
    "	mov	$2, %ecx\n" PROBE("segments", "8@%fs:0 -4@%gs:8 -4@%gs:4(,%rcx,4) 8@%gs:64(%rcx)")
    "	ret\n"
    "	.size	segments, . - segments\n");
int first(int n);
void segments(void);

static void run(int n)
{
	static int words[64];

	syscall(SYS_arch_prctl, ARCH_SET_GS, words);
	for (int i = 1; i <= n; i++) {
		words[2] = -i;
		words[3] = 2 * i;
		segments();
		printf("segments %p %d %d\n", __builtin_thread_pointer(), -i, 2 * i);
		if (first(i) != i + 1)
			abort();
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;

	run(n);
	if (argc > 2 && fork() == 0) {
		run(n);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
