// SPDX-License-Identifier: MIT
// Forks processes. Each process, including the first one, calls work() ten times:
//   family threads N K   N threads, each of which forks K children, one after the other
//   family tree D        two children, four grandchildren, and so on for D generations
//   family exec N        N children that then execute /bin/true
//   family daemon        a grandchild whose parents exit; it prints "daemon PID", waits
//                        until its stdin ends, and calls work() ten more times
// Exits with 0 if all children succeeded.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;
static long n_children;

__attribute__((noinline)) long work(long n)
{
    sink += n;
    return n + 1;
}

static void ten(void)
{
    for (long i = 0; i < 10; ++i)
        work(i);
}

static int reap(pid_t child)
{
    int status = 0;

    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void *forking(void *arg)
{
    long good = 0;

    (void)arg;
    for (long i = 0; i < n_children; ++i) {
        pid_t child = fork();

        if (child == 0) {
            ten();
            _exit(0);
        }
        good += reap(child);
    }
    return good == n_children ? (void *)&sink : NULL;
}

static int threads(long n)
{
    pthread_t all[64];
    int good = 1;

    if (n > 64)
        return 0;
    for (long i = 0; i < n; ++i)
        pthread_create(&all[i], NULL, forking, NULL);
    for (long i = 0; i < n; ++i) {
        void *was_good = NULL;

        pthread_join(all[i], &was_good);
        good &= was_good != NULL;
    }
    ten();
    return good;
}

static int tree(long depth)
{
    pid_t children[2];
    int good = 1;

    ten();
    for (int i = 0; depth > 0 && i < 2; ++i) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(tree(depth - 1) ? 0 : 1);
    }
    for (int i = 0; depth > 0 && i < 2; ++i)
        good &= reap(children[i]);
    return good;
}

static int exec(long n)
{
    int good = 1;

    ten();
    for (long i = 0; i < n; ++i) {
        pid_t child = fork();

        if (child == 0) {
            ten();
            execl("/bin/true", "true", (char *)NULL);
            _exit(9);
        }
        good &= reap(child);
    }
    return good;
}

static int become_daemon(void)
{
    char byte;

    ten();
    if (fork() != 0)
        return 1;
    setsid();
    ten();
    if (fork() != 0)
        _exit(0);
    ten();
    printf("daemon %d\n", (int)getpid());
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    ten();
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 1;
    int good = 0;

    n_children = argc > 3 ? atol(argv[3]) : 1;
    if (strcmp(mode, "threads") == 0)
        good = threads(n);
    else if (strcmp(mode, "tree") == 0)
        good = tree(n);
    else if (strcmp(mode, "exec") == 0)
        good = exec(n);
    else if (strcmp(mode, "daemon") == 0)
        good = become_daemon();
    return good ? 0 : 1;
}
