// SPDX-License-Identifier: MIT
// counted WHAT N: makes the kernel do something N times, so that a test can count it.
//
//   forks vforks threads  children, one after the other
//   reads                 reads of one byte from /dev/zero
//   readvs, writevs       reads from /dev/zero, writes to /dev/null, with three buffers
//   zeroes                pages of new memory that are written to
//   copies                pages that a child shares with its parent and writes to
//   fails                 reads of pages that may not be read
//   locks                 acquisitions of a pipe's mutex, by writing a byte to the pipe
//   waits                 writes to a pipe by each of two threads, which contend for
//                         the pipe's mutex
//   held                  milliseconds that a thread waits for a pipe's mutex
//   readers               acquisitions of the address space's semaphore, by mincore()
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static long n;
static int ends[2], faults;

static void* nothing(void* arg)
{
    return arg;
}

static void* pages(void)
{
    char* at = mmap(NULL, (size_t)n * 4096, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        exit(2);
    madvise(at, (size_t)n * 4096, MADV_NOHUGEPAGE);
    return at;
}

static void write_to(char* at)
{
    for (long i = 0; i < n; i++)
        *(volatile char*)(at + i * 4096) = 1;
}

static void allowed(int sig, siginfo_t* info, void* context)
{
    char* page = (char*)((unsigned long)info->si_addr & ~4095ul);

    (void)sig, (void)context;
    mprotect(page, 4096, PROT_READ);
}

static void forks(void)
{
    for (long i = 0; i < n; i++) {
        if (fork() == 0)
            _exit(0);
        wait(NULL);
    }
}

static void vforks(void)
{
    for (volatile long i = 0; i < n; i++) {
        if (vfork() == 0)
            _exit(0);
        wait(NULL);
    }
}

static void threads(void)
{
    pthread_t thread;

    for (long i = 0; i < n; i++) {
        pthread_create(&thread, NULL, nothing, NULL);
        pthread_join(thread, NULL);
    }
}

static void reads(void)
{
    FILE* zero = fopen("/dev/zero", "r");
    char byte;

    for (long i = 0; i < n; i++)
        if (read(fileno(zero), &byte, 1) != 1)
            exit(2);
}

static void readvs(void)
{
    FILE* zero = fopen("/dev/zero", "r");
    char bytes[3];
    struct iovec to[] = {{bytes, 1}, {bytes + 1, 1}, {bytes + 2, 1}};

    for (long i = 0; i < n; i++)
        if (readv(fileno(zero), to, 3) != 3)
            exit(2);
}

static void writevs(void)
{
    FILE* null = fopen("/dev/null", "w");
    struct iovec from[] = {{"x", 1}, {"y", 1}, {"z", 1}};

    for (long i = 0; i < n; i++)
        if (writev(fileno(null), from, 3) != 3)
            exit(2);
}

static void zeroes(void)
{
    write_to(pages());
}

static void copies(void)
{
    char* at = pages();

    write_to(at);
    if (fork() == 0) {
        prctl(PR_SET_NAME, "copies");
        write_to(at);
        _exit(0);
    }
    wait(NULL);
}

static void fails(void)
{
    struct sigaction action = {.sa_sigaction = allowed, .sa_flags = SA_SIGINFO};
    char* at = pages();
    volatile char sum = 0;

    write_to(at);
    mprotect(at, (size_t)n * 4096, PROT_NONE);
    sigaction(SIGSEGV, &action, NULL);
    for (long i = 0; i < n; i++)
        sum = (char)(sum + at[i * 4096]);
}

static void locks(void)
{
    if (pipe(ends))
        exit(2);
    for (long i = 0; i < n; i++)
        if (write(ends[1], "", 1) != 1)
            exit(2);
}

static void* writes(void* arg)
{
    static char block[3 * 4096];

    for (long i = 0; i < n; i++)
        if (write(*(int*)arg, block, sizeof(block)) < 0)
            exit(2);
    return NULL;
}

static void waits(void)
{
    static char block[3 * 4096];
    pthread_t writers[2];

    if (pipe(ends))
        exit(2);
    for (int i = 0; i < 2; i++)
        pthread_create(&writers[i], NULL, writes, &ends[1]);
    for (long left = 2 * n * (long)sizeof(block); left > 0;) {
        long done = read(ends[0], block, sizeof(block));

        if (done <= 0)
            exit(2);
        left -= done;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(writers[i], NULL);
}

static void* writes_one(void* byte)
{
    if (write(ends[1], byte, 1) != 1)
        exit(2);
    return NULL;
}

static void* late(void* page)
{
    struct uffdio_zeropage zero = {.range = {(unsigned long)page, 4096}};
    struct uffd_msg fault;
    pthread_t waiter;

    if (read(faults, &fault, sizeof(fault)) != sizeof(fault))
        exit(2);
    pthread_create(&waiter, NULL, writes_one, "");
    usleep((useconds_t)n * 1000);
    if (ioctl(faults, UFFDIO_ZEROPAGE, &zero))
        exit(2);
    pthread_join(waiter, NULL);
    return NULL;
}

static void held(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
    char* page = pages();
    pthread_t handler;

    faults = (int)syscall(SYS_userfaultfd, 0);
    range.range.start = (unsigned long)page;
    range.range.len = 4096;
    if (pipe(ends) || ioctl(faults, UFFDIO_API, &api) ||
        ioctl(faults, UFFDIO_REGISTER, &range))
        exit(2);
    pthread_create(&handler, NULL, late, page);
    writes_one(page);
    pthread_join(handler, NULL);
}

static void readers(void)
{
    unsigned char in_core;
    char* at = pages();

    for (long i = 0; i < n; i++)
        mincore(at, 4096, &in_core);
}

static const struct {
    const char* what;
    void (*does)(void);
} all[] = {
    {"forks", forks},   {"vforks", vforks}, {"threads", threads}, {"reads", reads},
    {"zeroes", zeroes}, {"copies", copies}, {"fails", fails},     {"locks", locks},
    {"waits", waits},   {"held", held},     {"readers", readers}, {"readvs", readvs},
    {"writevs", writevs},
};

int main(int argc, char* argv[])
{
    if (argc != 3)
        return 2;
    n = atol(argv[2]);
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(all[i].what, argv[1]) == 0) {
            all[i].does();
            return 0;
        }
    return 2;
}
