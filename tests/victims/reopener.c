// SPDX-License-Identifier: MIT
// reopener PID... prints "ready". Until SIGTERM, it opens dtrace's memfds through
// /proc/PID/fd and overwrites them. Then it prints how many memfds it found and opened.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { highest = 16, pattern_bytes = 1 << 20 };

static volatile sig_atomic_t stop;

static void end(int number)
{
    (void)number;
    stop = 1;
}

static void scribble(int fd)
{
    struct stat info;
    size_t bytes = pattern_bytes;
    if (fstat(fd, &info) != 0)
        return;
    if ((size_t)info.st_size < bytes)
        bytes = (size_t)info.st_size;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return;
    memset(at, 0x7f, bytes);
    munmap(at, bytes);
}

int main(int argc, char **argv)
{
    long n_seen = 0, n_opened = 0;
    signal(SIGTERM, end);
    printf("ready\n");
    fflush(stdout);
    while (!stop) {
        for (int i = 1; i < argc; ++i) {
            for (int number = 3; number < highest; ++number) {
                char path[64], to[128] = "";
                snprintf(path, sizeof path, "/proc/%s/fd/%d", argv[i], number);
                if (readlink(path, to, sizeof to - 1) <= 0 ||
                    strncmp(to, "/memfd:dtrace-", 14) != 0)
                    continue;
                ++n_seen;
                int fd = open(path, O_RDWR);
                if (fd < 0)
                    continue;
                ++n_opened;
                scribble(fd);
                close(fd);
            }
        }
    }
    printf("seen %ld opened %ld\n", n_seen, n_opened);
    return 0;
}
