// SPDX-License-Identifier: MIT
// uprobe_sites: for each byte on stdin, calls six functions a hundred times each, and
// prints "done", or "wrong" if a result was wrong. Their first instructions are 1, 2, 2,
// 4, 5 and 4 bytes long.
#include <stdio.h>
#include <unistd.h>

#define FUNCTION(name, ...)                                                            \
    __asm__(".text\n.globl " name "\n.type " name ",@function\n.p2align 4\n" name      \
            ":\n" __VA_ARGS__ "\tret\n.size " name ",.-" name "\n")

FUNCTION("first_1", "push %rbx\n mov %rdi,%rbx\n lea 1(%rbx),%rax\n pop %rbx\n");
FUNCTION("first_2", "push %r12\n mov %rdi,%r12\n lea 2(%r12),%rax\n pop %r12\n");
FUNCTION("first_xor", "xor %eax,%eax\n lea 3(%rdi,%rax),%rax\n nop\n");
FUNCTION("first_4", "sub $8,%rsp\n lea 4(%rdi),%rax\n add $8,%rsp\n");
FUNCTION("first_5", "mov $5,%eax\n add %rdi,%rax\n nop\n");
FUNCTION("first_endbr", "endbr64\n lea 6(%rdi),%rax\n nop\n");

long first_1(long), first_2(long), first_xor(long), first_4(long), first_5(long), first_endbr(long);

int main(void)
{
    static long (*const functions[])(long) = {first_1, first_2, first_xor, first_4,
                                              first_5, first_endbr};
    char byte;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    while (read(0, &byte, 1) == 1) {
        int right = 1;
        for (long i = 0; i < 100; ++i)
            for (long k = 0; k < 6; ++k)
                right = right && functions[k](i) == i + k + 1;
        puts(right ? "done" : "wrong");
        fflush(stdout);
    }
    return 0;
}
