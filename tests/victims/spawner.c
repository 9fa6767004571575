// SPDX-License-Identifier: MIT
// spawner ROUNDS [FILE] waits until FILE exists. Then it uses posix_spawn(), vfork()
// with exec, and popen(), ROUNDS times each. Checks the output and status of each
// child.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
static volatile long n_calls;

__attribute__((noinline)) long work(long n)
{
    n_calls += 1;
    return n;
}

static int status_of(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(int argc, char** argv)
{
    volatile long rounds = argc > 1 ? atol(argv[1]) : 10;
    char* args[] = {"sh", "-c", "exit 7", NULL};
    char line[16];
    volatile long spawned = 0, vforked = 0, opened = 0;
    while (argc > 2 && access(argv[2], F_OK) != 0)
        usleep(1000);
    // Volatile, because vfork() returns twice.
    for (volatile long i = 0; i < rounds; ++i) {
        pid_t child = 0;
        work(i);
        if (posix_spawn(&child, "/bin/sh", NULL, NULL, args, environ) == 0)
            spawned += status_of(child) == 7;
        work(i);
        child = vfork();
        if (child == 0) {
            execv("/bin/sh", args);
            _exit(9);
        }
        vforked += status_of(child) == 7;
        work(i);
        FILE* pipe = popen("echo said", "r");
        if (pipe != NULL) {
            opened += fgets(line, sizeof line, pipe) != NULL && !strcmp(line, "said\n");
            pclose(pipe);
        }
    }
    printf("calls %ld spawned %ld vforked %ld opened %ld\n", n_calls, spawned, vforked,
           opened);
    return 0;
}
