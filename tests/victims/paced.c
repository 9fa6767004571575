// SPDX-License-Identifier: MIT
// paced HOW N [THREADS [NUMBER]] restricts itself, prints "ready PID", and waits for a
// byte. After the byte, each thread calls work() N times. At the end, the main thread
// makes the system call NUMBER if this argument is given. HOW is the restriction: free
// (none), strict, deny=NUMBER,NUMBER.., allow (only read, writev and exit_group), mdwe,
// as, memlock, nofile, stack, fsize, mlockall or undumpable.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#if __has_include(<linux/filter.h>) // musl's compiler does not find the kernel's headers
#include <linux/filter.h>
#include <linux/seccomp.h>
#endif

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

static long n_calls, n_done;
static int go_on[2];
static const char text[] = "read where it stands";

__attribute__((noinline)) long work(long n, const char* s)
{
    __atomic_add_fetch(&n_done, 1, __ATOMIC_RELAXED);
    return n * 3 + s[n % 7];
}

static long run_calls(void)
{
    long sum = 0;
    for (long i = 0; i < n_calls; ++i)
        sum += work(i, text);
    return sum;
}

static void* run(void* arg)
{
    char byte;
    if (read(go_on[0], &byte, 1) < 0)
        return NULL;
    *(long*)arg = run_calls();
    return NULL;
}

static void die(const char* what)
{
    perror(what);
    exit(9);
}

#ifdef SECCOMP_RET_ALLOW
static void filter(const int* numbers, int n, unsigned found, unsigned other)
{
    struct sock_filter code[64] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (int i = 0; i < n; ++i) {
        code[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                       (unsigned)numbers[i], 0, 1);
        code[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, found);
    }
    code[1 + 2 * n] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, other);
    struct sock_fprog program = {(unsigned short)(2 + 2 * n), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        die("seccomp");
}
#else
#define SECCOMP_RET_ALLOW 0
#define SECCOMP_RET_KILL_PROCESS 0
static void filter(const int* numbers, int n, unsigned found, unsigned other)
{
    (void)numbers, (void)n, (void)found, (void)other;
    die("no filters here");
}
#endif

static void limit(int what, rlim_t most)
{
    struct rlimit both = {most, most};
    if (setrlimit(what, &both) != 0)
        die("setrlimit");
}

// Limits the memory to slightly more than the process uses now.
static void limit_memory(void)
{
    unsigned long pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1)
        die("statm");
    fclose(file);
    limit(RLIMIT_AS, pages * 4096 + (1 << 20));
}

static void confine(const char* how)
{
    static const int allowed[] = {SYS_read, SYS_writev, SYS_exit_group};
    if (!strcmp(how, "strict") && prctl(PR_SET_SECCOMP, 1) != 0)
        die("seccomp");
    if (!strcmp(how, "allow"))
        filter(allowed, 3, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
    if (!strncmp(how, "deny=", 5)) {
        int numbers[24], n = 0;
        for (char* at = (char*)how + 4; *at != 0 && n < 24;)
            numbers[n++] = (int)strtol(at + 1, &at, 10);
        filter(numbers, n, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
    }
    if (!strcmp(how, "mdwe") &&
        prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0)
        die("PR_SET_MDWE");
    if (!strcmp(how, "as"))
        limit_memory();
    if (!strcmp(how, "memlock"))
        limit(RLIMIT_MEMLOCK, 0);
    if (!strcmp(how, "nofile"))
        limit(RLIMIT_NOFILE, 3);
    if (!strcmp(how, "stack"))
        limit(RLIMIT_STACK, 16384);
    if (!strcmp(how, "fsize"))
        limit(RLIMIT_FSIZE, 0);
    if (!strcmp(how, "mlockall") && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        die("mlockall");
    if (!strcmp(how, "undumpable") && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        die("PR_SET_DUMPABLE");
}

static void say(const char* what, long a, long b)
{
    char line[100];
    int n = b < 0 ? snprintf(line, sizeof line, "%s %ld\n", what, a)
                  : snprintf(line, sizeof line, "%s %ld sum %ld\n", what, a, b);
    struct iovec whole = {line, (size_t)n};
    // Seccomp's strict mode allows write(2) but not writev(2).
    if (getenv("STRICT") ? write(1, line, (size_t)n) < 0 : writev(1, &whole, 1) < 0)
        syscall(SYS_exit, 8);
}

int main(int argc, char** argv)
{
    static pthread_t threads[4096];
    static long sums[4096];
    const char* how = argc > 1 ? argv[1] : "free";
    long n_threads = argc > 3 ? atol(argv[3]) : 0, sum = 0;
    pthread_attr_t small;
    char byte;

    n_calls = argc > 2 ? atol(argv[2]) : 1000;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    if (pipe(go_on) != 0)
        die("pipe");
    for (long i = 0; i < n_threads; ++i) {
        if (pthread_create(&threads[i], &small, run, &sums[i]) != 0)
            die("pthread_create");
    }
    if (!strcmp(how, "strict"))
        setenv("STRICT", "1", 1);
    long pid = getpid();
    confine(how);
    say("ready", pid, -1);
    if (read(0, &byte, 1) != 1)
        syscall(SYS_exit, 7);
    for (long i = 0; i < n_threads; ++i) {
        if (write(go_on[1], "", 1) != 1)
            die("write");
    }
    for (long i = 0; i < n_threads; ++i) {
        pthread_join(threads[i], NULL);
        sum += sums[i];
    }
    if (n_threads == 0)
        sum = run_calls();
    say("calls", n_done, sum);
    if (argc > 4)
        syscall(atol(argv[4]));
    if (read(0, &byte, 1) != 1)
        syscall(SYS_exit, 7);
    if (!strcmp(how, "strict"))
        syscall(SYS_exit, 0);
    syscall(SYS_exit_group, 0);
}
