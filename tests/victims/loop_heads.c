// loop_heads CALLS TURNS: calls functions that begin with a loop of TURNS iterations.
// Calls each function CALLS times, and prints the number of all iterations.
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION(name, ...)                                                              \
    asm("	.text\n	.p2align 4\n	.globl " #name "\n	.type " #name ", @function\n"  \
        #name ":\n" __VA_ARGS__ "	.size " #name ", . - " #name "\n	.p2align 4\n"); \
    void name(int* left, long* turns)

/* The loop is five bytes long, which is the length of a jump. */
FUNCTION(turns_few_bytes, "	subl	$1, (%rdi)\n"
                          "	jne	turns_few_bytes\n"
                          "	ret\n");
/* The loop is longer than a jump, so the jump replaces only the start of the loop. */
FUNCTION(turns_longer, "	movq	(%rsi), %rax\n"
                       "	leaq	1(%rax), %rax\n"
                       "	movq	%rax, (%rsi)\n"
                       "	movl	(%rdi), %ecx\n"
                       "	leal	-1(%rcx), %ecx\n"
                       "	movl	%ecx, (%rdi)\n"
                       "	testl	%ecx, %ecx\n"
                       "	jne	turns_longer\n"
                       "	ret\n");
/* The loop exits in the middle, and its last instruction is a jump to its head. */
FUNCTION(turns_by_jump, "	addq	$1, (%rsi)\n"
                        "	subl	$1, (%rdi)\n"
                        "	je	1f\n"
                        "	jmp	turns_by_jump\n"
                        "1:	ret\n");
/* The loop contains a call, at which every window ends. */
FUNCTION(turns_with_a_call, "	subq	$8, %rsp\n"
                            "	call	turn\n"
                            "	addq	$8, %rsp\n"
                            "	testl	%eax, %eax\n"
                            "	jne	turns_with_a_call\n"
                            "	ret\n");
/* The function calls itself, and each call fires the entry probe. */
FUNCTION(turns_by_calls, "	subl	$1, (%rdi)\n"
                         "	je	1f\n"
                         "	subq	$8, %rsp\n"
                         "	call	turns_by_calls\n"
                         "	addq	$8, %rsp\n"
                         "1:	ret\n");

asm("	.text\n"
    "	.globl	turn\n"
    "	.type	turn, @function\n"
    "turn:	subl	$1, (%rdi)\n"
    "	movl	(%rdi), %eax\n"
    "	nop\n	nop\n	nop\n"
    "	ret\n"
    "	.size	turn, . - turn\n");

int main(int argc, char** argv)
{
    void (*all[])(int*, long*) = {turns_few_bytes, turns_longer, turns_by_jump,
                                  turns_with_a_call, turns_by_calls};
    int calls = argc > 1 ? atoi(argv[1]) : 10, turns = argc > 2 ? atoi(argv[2]) : 10;
    long seen = 0;

    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        for (int n = 0; n < calls; n++) {
            int left = turns;
            all[i](&left, &seen);
            if (left != 0)
                printf("%d turns are left\n", left);
        }
    printf("turns %ld\n", seen);
    return 0;
}
