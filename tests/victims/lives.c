// SPDX-License-Identifier: MIT
// A program that exits, executes itself again or creates processes:
//   exec N       executes itself again N times with execve()
//   badexec N    calls execve() twice in each of N rounds; both calls fail
//   daemon FILE  calls fork(), setsid() and fork(); the grandchild writes "sum" to FILE
//   closes FILE  closes every descriptor; then writes to FILE.0 to FILE.9
//   forks N      creates N children while three threads call work()
//   clones N     creates tasks with clone(), with own or shared memory
//   untraced N   creates tasks that are not reported to a tracer
//   exits FILE   calls _exit() while four other threads call work(); FILE contains the
//                number of calls
//   atexit       has exit handlers and destructors that call work()
//   crash        handles SIGSEGV once in its own handler, then dies from the default action
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { stack_bytes = 65536 };
static long own_count;
static long* n_calls = &own_count;
static volatile int stop;

__attribute__((noinline)) long work(long n)
{
    __atomic_add_fetch(n_calls, 1, __ATOMIC_RELAXED);
    return n * 3;
}

static long hundred(void)
{
    long sum = 0;
    for (long i = 0; i < 100; ++i)
        sum += work(i);
    return sum;
}

static void* busy(void* arg)
{
    while (!stop)
        hundred();
    return arg;
}

static int status_of(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int again(char** argv, long n)
{
    char number[24];
    hundred();
    snprintf(number, sizeof number, "%ld", n - 1);
    char* args[] = {argv[0], "exec", number, NULL};
    if (n > 0)
        execv(argv[0], args);
    puts("the last of them");
    return 0;
}

static int bad_exec(long n)
{
    static char* many[70000];
    char* few[] = {"x", NULL};
    static char word[4096];
    memset(word, 'a', sizeof word - 1);
    for (int i = 0; i + 1 < 70000; ++i)
        many[i] = word;
    long n_failed = 0;
    for (long i = 0; i < n; ++i) {
        hundred();
        n_failed += execv("/no/such/file", few) == -1 && errno == ENOENT;
        n_failed += execv("/bin/true", many) == -1 && errno == E2BIG;
        hundred();
    }
    printf("failed %ld calls %ld\n", n_failed, *n_calls);
    return 0;
}

static void write_sum(const char* file)
{
    FILE* out = fopen(file, "w");
    fprintf(out, "sum %ld\n", hundred());
    fclose(out);
}

static int become_daemon(const char* file)
{
    hundred();
    if (fork() != 0)
        return 0;
    setsid();
    if (fork() != 0)
        _exit(0);
    usleep(200000);
    write_sum(file);
    _exit(0);
}

static int close_all(const char* file)
{
    char name[4096];
    hundred();
    syscall(SYS_close_range, 0u, ~0u, 0u);
    for (int i = 0; i < 10; ++i) {
        snprintf(name, sizeof name, "%s.%d", file, i);
        if (open(name, O_CREAT | O_RDWR | O_TRUNC, 0600) != i)
            return 1;
    }
    hundred();
    for (int i = 0; i < 10; ++i) {
        if (write(i, "mine\n", 5) != 5)
            return 2;
    }
    hundred();
    return 0;
}

static int fork_many(long n)
{
    pthread_t threads[3];
    long good = 0;
    for (int i = 0; i < 3; ++i)
        pthread_create(&threads[i], NULL, busy, NULL);
    for (long i = 0; i < n; ++i) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(hundred() == 3 * 4950 ? 42 : 1);
        good += status_of(pid) == 42;
    }
    stop = 1;
    for (int i = 0; i < 3; ++i)
        pthread_join(threads[i], NULL);
    printf("good %ld calls %ld\n", good, *n_calls);
    return 0;
}

static int task(void* arg)
{
    syscall(SYS_exit, hundred() == 3 * 4950 ? (long)arg : 1);
    return 0;
}

static int clone_many(long n, int more)
{
    static const int flags[] = {0, CLONE_VM, CLONE_VM | CLONE_FILES | CLONE_FS,
                                CLONE_VM | CLONE_VFORK, CLONE_VM | CLONE_SETTLS};
    static char tls[4096] __attribute__((aligned(64)));
    char* stack = mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long good = 0;
    for (long i = 0; i < n; ++i) {
        hundred();
        for (unsigned k = 0; k < sizeof flags / sizeof *flags; ++k) {
            pid_t pid = clone(task, stack + stack_bytes, flags[k] | more | SIGCHLD,
                              (void*)42L, NULL, tls + 2048, NULL);
            good += status_of(pid) == 42;
        }
    }
    printf("good %ld calls %ld\n", good, *n_calls);
    return 0;
}

static int exit_with_threads(const char* file)
{
    pthread_t threads[4];
    int fd = open(file, O_CREAT | O_RDWR, 0600);
    if (ftruncate(fd, 8) != 0)
        return 9;
    n_calls = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int i = 0; i < 4; ++i)
        pthread_create(&threads[i], NULL, busy, NULL);
    while (*(volatile long*)n_calls < 100000)
        usleep(100);
    _exit(7);
}

static void at_exit(void)
{
    hundred();
    printf("exit handler, calls %ld\n", *n_calls);
}

__attribute__((destructor)) static void at_end(void)
{
    work(1);
}

static void on_crash(int number)
{
    char text[64];
    hundred();
    int n = snprintf(text, sizeof text, "handler %d calls %ld\n", number, *n_calls);
    if (write(1, text, (size_t)n) < 0)
        _exit(9);
    signal(number, SIG_DFL);
}

__attribute__((noinline)) static long crash(volatile long* p)
{
    return *p + work(*p);
}

int main(int argc, char** argv)
{
    const char* how = argc > 1 ? argv[1] : "atexit";
    const char* what = argc > 2 ? argv[2] : "1";
    if (!strcmp(how, "exec"))
        return again(argv, atol(what));
    if (!strcmp(how, "badexec"))
        return bad_exec(atol(what));
    if (!strcmp(how, "daemon"))
        return become_daemon(what);
    if (!strcmp(how, "closes"))
        _exit(close_all(what));
    if (!strcmp(how, "forks"))
        return fork_many(atol(what));
    if (!strcmp(how, "clones"))
        return clone_many(atol(what), 0);
    if (!strcmp(how, "untraced"))
        return clone_many(atol(what), CLONE_UNTRACED);
    if (!strcmp(how, "exits"))
        return exit_with_threads(what);
    if (!strcmp(how, "crash")) {
        signal(SIGSEGV, on_crash);
        return (int)crash(NULL);
    }
    atexit(at_exit);
    hundred();
    return 0;
}
