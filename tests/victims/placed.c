// SPDX-License-Identifier: MIT
// placed K steps a child over K instructions of stepped(), detaches from it, and prints
// "ready PID OFFSET". When the child exits, prints its status. If stepped() executes
// fewer than K instructions, prints only "ended".
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

long stepped(long n);
extern const char stepped_end[];

// Short instructions of many kinds, so that a thread can stop at many places in a
// window.
__asm__(".text\n"
        ".p2align 4\n"
        ".globl stepped, stepped_end\n"
        ".type stepped, @function\n"
        "stepped:\n"
        "    push %rbx\n"
        "    push %rbp\n"
        "    mov %rdi, %rbx\n"
        "    xor %ebp, %ebp\n"
        "    lea 3(%rbx), %rax\n"
        "    inc %rax\n"
        "    cmp $7, %rax\n"
        "    jle 1f\n"
        "    add %rax, %rbp\n"
        "1:  imul $3, %rbp, %rbp\n"
        "    push $39\n" // getpid()
        "    pop %rax\n"
        "    syscall\n"
        "    xchg %rax, %rcx\n"
        "    call 3f\n"
        "    mov %rbp, %rax\n"
        "    add %rbx, %rax\n"
        "    pop %rbp\n"
        "    pop %rbx\n"
        "    ret\n"
        "3:  sub $1, %rbp\n"
        "    ret\n"
        "stepped_end:\n"
        ".size stepped, . - stepped\n"
        ".p2align 4\n");

static int child(void)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    for (long n = 0; n < 1000; ++n) {
        long rax = n + 4, rbp = rax > 7 ? rax : 0;
        if (stepped(n) != rbp * 3 - 1 + n)
            return 1;
    }
    return 42;
}

int main(int argc, char** argv)
{
    long k = argc > 1 ? atol(argv[1]) : 0;
    struct user_regs_struct regs;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(child());
    waitpid(pid, &status, 0);
    long word = ptrace(PTRACE_PEEKTEXT, pid, stepped, NULL);
    ptrace(PTRACE_POKETEXT, pid, stepped, (word & ~0xffl) | 0xcc);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    waitpid(pid, &status, 0);
    ptrace(PTRACE_POKETEXT, pid, stepped, word);
    ptrace(PTRACE_GETREGS, pid, NULL, &regs);
    regs.rip = (uintptr_t)stepped;
    ptrace(PTRACE_SETREGS, pid, NULL, &regs);
    for (long i = 0; i < k; ++i) {
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
        waitpid(pid, &status, 0);
    }
    ptrace(PTRACE_GETREGS, pid, NULL, &regs);
    if (regs.rip < (uintptr_t)stepped || regs.rip >= (uintptr_t)stepped_end) {
        kill(pid, SIGKILL);
        printf("ended\n");
        return 0;
    }
    ptrace(PTRACE_DETACH, pid, NULL, SIGSTOP);
    printf("ready %d %lx\n", pid, (unsigned long)regs.rip - (uintptr_t)stepped);
    fflush(stdout);
    do
        waitpid(pid, &status, 0);
    while (!WIFEXITED(status) && !WIFSIGNALED(status));
    printf("status %d signal %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 0;
}
