// SPDX-License-Identifier: MIT
// A target that overwrites dtrace's code with endless loops. Prints "ready" and reads
// bytes from stdin:
//
//   v          A new thread waits for its vfork child, which sleeps. The thread gets a
//              signal, and the target prints "vforked".
//   any other  Fills with loops each executable mapping that has no file, or whose file
//              belongs to dtrace. The thread that calls work() loops there and gets a
//              signal. The target prints "circles".
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile long n_calls;
static atomic_int paused, quiet;

__attribute__((noinline)) long work(long n)
{
    __asm__ volatile("" ::: "memory");
    return n + 1;
}

static void* call(void* arg)
{
    for (;;) {
        atomic_store(&quiet, 1);
        while (atomic_load(&paused))
            usleep(1000);
        atomic_store(&quiet, 0);
        n_calls = work(n_calls);
    }
    return arg;
}

static void ignore(int signum)
{
    (void)signum;
}

static void poison(void)
{
    static unsigned char circle[1 << 16];
    for (size_t i = 0; i < sizeof circle; ++i)
        circle[i] = 0x90; // nop
    for (size_t i = 4094; i < sizeof circle; i += 4096) {
        circle[i] = 0xeb; // jmp .
        circle[i + 1] = 0xfe;
    }
    int mem = open("/proc/self/mem", O_RDWR);
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[4352], mode[5], name[4096];
    unsigned long begin, end;
    while (fgets(line, sizeof line, maps) != NULL) {
        name[0] = '\0';
        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %4095[^\n]", &begin, &end, mode, name) < 3)
            continue;
        if (mode[2] != 'x' || name[0] == '[' || (name[0] == '/' && strstr(name, "memfd:dtrace") == NULL))
            continue;
        for (unsigned long at = begin; at < end; at += sizeof circle) {
            size_t n = end - at < sizeof circle ? end - at : sizeof circle;
            if (pwrite(mem, circle, n, (off_t)at) < 0)
                break;
        }
    }
    fclose(maps);
}

static void* wait_for_child(void* arg)
{
    if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (;;)
            pause();
    }
    return arg;
}

int main(void)
{
    pthread_t caller, waiter;
    char byte;
    signal(SIGUSR1, ignore);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pthread_create(&caller, NULL, call, NULL);
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) == 1) {
        if (byte == 'v') {
            pthread_create(&waiter, NULL, wait_for_child, NULL);
            usleep(10000);
            pthread_kill(waiter, SIGUSR1);
            puts("vforked");
            fflush(stdout);
            continue;
        }
        atomic_store(&paused, 1);
        do
            usleep(10000);
        while (!atomic_load(&quiet));
        poison();
        atomic_store(&paused, 0);
        usleep(10000);
        // Wait until the thread loops in the overwritten code. From then on, it does
        // not change n_calls.
        for (long before = -1; before != n_calls; usleep(100000))
            before = n_calls;
        pthread_kill(caller, SIGUSR1);
        puts("circles");
        fflush(stdout);
    }
    for (;;)
        pause();
}
