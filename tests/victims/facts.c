// SPDX-License-Identifier: MIT
// Prints facts about itself, and calls tell() with arguments that a test knows. Some of
// the arguments are on the stack.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct point {
    int x, y;
    const char* name;
};

static volatile long sink;

__attribute__((noinline)) long tell(const char* text, struct point* where, long c,
                                    long d, long e, long f, long g, const char* h,
                                    int i, long j)
{
    sink += c + d + e + f + g + i + j + where->x + (long)strlen(text) + h[0];
    return -12345;
}

// The innermost of three nested calls, where the test prints the stack.
__attribute__((noinline)) long innermost(long n)
{
    sink += n;
    return n;
}

__attribute__((noinline)) long inner(long n)
{
    return innermost(n) + 1;
}

__attribute__((noinline)) long outer(long n)
{
    return inner(n) + 1;
}

// Called after a system call has failed with EBADF, so errno is 9.
__attribute__((noinline)) long after_failure(long n)
{
    sink += n;
    return n;
}

int main(void)
{
    struct point where = {-3, 77, "here"};
    char text[] = "hello from a string";
    printf("pid %d ppid %d tid %ld uid %d gid %d\n", getpid(), getppid(),
           syscall(SYS_gettid), getuid(), getgid());
    printf("innermost %p outer %p\n", (void*)innermost, (void*)outer);
    fflush(stdout);
    tell(text, &where, 3, -4, 5, 6, 0x1122334455667788, "eighth", -9, -10);
    outer(1);
    if (close(-1) != 0)
        after_failure(errno);
    return 0;
}
