// SPDX-License-Identifier: MIT
// Prints "ready", waits for a line, and creates three processes without privileges: a
// child, a grandchild, and a child that tracers do not notice (CLONE_UNTRACED). Each
// process calls work() a thousand times. For each process, prints the number of its
// mappings of dtrace's memfds, its sum and its exit status.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { n_calls = 1000, nobody = 65534 };

static volatile long sink;
static struct {
    long n_mapped, sum;
} *told; // shared with the children

__attribute__((noinline)) long work(long n)
{
    sink += n;
    return n * 3;
}

static void call(void)
{
    sink = 0;
    for (long i = 0; i < n_calls; ++i)
        work(i);
}

static long count_mappings(void)
{
    char line[512];
    long n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        n += strstr(line, "memfd:dtrace-data") != NULL ||
             strstr(line, "memfd:dtrace-program") != NULL;
    return n;
}

static void live(int child)
{
    if (geteuid() == 0 && (setgid(nobody) != 0 || setuid(nobody) != 0))
        _exit(2);
    told[child].n_mapped = count_mappings();
    call();
    told[child].sum = sink;
}

static void report(const char *name, int child, int status)
{
    printf("%s mapped %ld sum %ld ", name, told[child].n_mapped, told[child].sum);
    if (WIFSIGNALED(status))
        printf("signal %d\n", WTERMSIG(status));
    else
        printf("status %d\n", WEXITSTATUS(status));
}

int main(void)
{
    char line[64];
    int status = 0, of_grandchild = 0;
    told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED)
        return 1;
    printf("ready\n");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL)
        return 1;
    call();
    pid_t child = fork();
    if (child == 0) {
        live(0);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            live(1);
            _exit(0);
        }
        waitpid(grandchild, &of_grandchild, 0);
        _exit(WIFEXITED(of_grandchild) ? WEXITSTATUS(of_grandchild) : 3);
    }
    waitpid(child, &status, 0);
    report("forked", 0, status);
    report("grandchild", 1, status);
    child = (pid_t)syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) {
        live(2);
        _exit(0);
    }
    waitpid(child, &status, 0);
    report("untraced", 2, status);
    call();
    return 0;
}
