// SPDX-License-Identifier: MIT
// memory ROUNDS: calls look(P, KIND) for addresses of 22 kinds. Meanwhile, a thread
// unmaps kind 20 and truncates the file of kind 21. At the end, prints "kind K address
// P" for each kind, the number of calls, and the number of signals that arrived.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { page = 4096, n_kinds = 22, comes_and_goes = 20, is_cut = 21 };

static volatile long n_calls, n_signals;
static volatile int stop;
static int file;
static uintptr_t kinds[n_kinds];

__attribute__((noinline)) long look(uintptr_t p, long kind)
{
    n_calls += 1;
    return (long)(p >> 12) + kind;
}

static void on_signal(int number)
{
    (void)number;
    n_signals += 1;
}

static char* map(size_t bytes, int protection, int fd)
{
    char* at = mmap(NULL, bytes, protection,
                    fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        exit(9);
    return at;
}

static void* change(void* arg)
{
    char* at = arg;
    while (!stop) {
        munmap(at, page);
        if (ftruncate(file, 0) != 0)
            exit(9);
        mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
             -1, 0);
        if (ftruncate(file, page) != 0)
            exit(9);
    }
    return NULL;
}

int main(int argc, char** argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100;
    pthread_t changer;
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);

    char* two = map(2 * page, PROT_READ | PROT_WRITE, -1);
    memset(two, 'a', page);
    mprotect(two + page, page, PROT_NONE);
    char* gone = map(page, PROT_READ, -1);
    munmap(gone, page);
    int cut_file = memfd_create("cut", 0);
    file = memfd_create("changing", 0);
    if (ftruncate(cut_file, 2 * page) != 0 || ftruncate(file, page) != 0)
        return 9;
    char* cut = map(2 * page, PROT_READ | PROT_WRITE, cut_file);
    memset(cut, 'b', 2 * page);
    if (ftruncate(cut_file, page) != 0)
        return 9;
    char* write_only = map(page, PROT_WRITE, -1);
    strcpy(write_only, "write only");
    char* execute_only = map(page, PROT_READ | PROT_WRITE, -1);
    strcpy(execute_only, "x");
    mprotect(execute_only, page, PROT_EXEC);

    kinds[0] = (uintptr_t) "a string that ends";
    kinds[1] = 0;
    kinds[2] = 1;
    kinds[3] = (uintptr_t)gone;
    kinds[4] = (uintptr_t)(two + page);     // PROT_NONE
    kinds[5] = (uintptr_t)(two + page - 4); // 4 bytes before the PROT_NONE page
    kinds[6] = (uintptr_t)(cut + page);     // at the end of the file
    kinds[7] = (uintptr_t)(cut + page - 4); // 4 bytes before the end of the file
    kinds[8] = 0x8000000000000000ul;        // not canonical
    kinds[9] = 0xdeadbeefcafebabeul;
    kinds[10] = 0xffff888000000000ul; // in the kernel
    kinds[11] = 0xffffffff81000000ul;
    kinds[12] = 0xffffffffff600000ul; // vsyscall
    kinds[13] = 0xfffffffffffffffful; // wraps around
    kinds[14] = 0xfffffffffffffff8ul;
    kinds[15] = 0x00007fffffffefff; // the last byte of user space
    kinds[16] = 0x00007fffffffffff;
    kinds[17] = 0x0000800000000000ul;
    kinds[18] = (uintptr_t)write_only;
    kinds[19] = (uintptr_t)execute_only;
    kinds[comes_and_goes] = (uintptr_t)map(page, PROT_READ | PROT_WRITE, -1);
    kinds[is_cut] = (uintptr_t)map(page, PROT_READ | PROT_WRITE, file);
    pthread_create(&changer, NULL, change, (void*)kinds[comes_and_goes]);
    for (long i = 0; i < rounds; ++i) {
        for (int kind = 0; kind < n_kinds; ++kind)
            look(kinds[kind], kind);
    }
    stop = 1;
    pthread_join(changer, NULL);
    for (int kind = 0; kind < n_kinds; ++kind)
        printf("kind %d address %lx\n", kind, (unsigned long)kinds[kind]);
    printf("calls %ld signals %ld\n", n_calls, n_signals);
    return 0;
}
