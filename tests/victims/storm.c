// SPDX-License-Identifier: MIT
// storm N THREADS [FLIGHT]: another process sends N numbered signals to threads that
// call work(), with at most FLIGHT pending. The handler has a very small stack. Prints
// what was wrong:
//   twice    numbers that arrived more than once
//   odd      siginfo data that differs from the data that was sent
//   strange  interruptions at addresses outside the program's code
//   wrong    wrong results of work()
//   masked   threads that have signals blocked at the end
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
enum { max_signals = 1 << 20, page = 4096, for_the_handler = 640 };

static struct {
    unsigned long start, end;
} code[256];
static int n_code;
static unsigned char seen[max_signals];
static long* n_taken; // shared memory, which the sender reads
static long n_signals, n_flight, n_twice, n_odd, n_strange, n_wrong, n_masked, n_calls,
    n_handled;
static pid_t sender;
static volatile int stop;

static void add(long* to)
{
    __atomic_add_fetch(to, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) long handled(long n)
{
    add(&n_handled);
    return n;
}

__attribute__((noinline)) long work(long n)
{
    add(&n_calls);
    return n * 5 + 1;
}

static void on_signal(int number, siginfo_t* info, void* context)
{
    unsigned long pc =
        (unsigned long)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
    int value = info->si_value.sival_int, found = 0;
    if (info->si_code != SI_QUEUE || info->si_pid != sender || number != SIGRTMIN ||
        value < 0 || value >= n_signals) {
        add(&n_odd);
        return;
    }
    if (__atomic_exchange_n(&seen[value], 1, __ATOMIC_RELAXED))
        add(&n_twice);
    for (int i = 0; i < n_code && !found; ++i)
        found = pc >= code[i].start && pc < code[i].end;
    if (!found)
        add(&n_strange);
    handled(value);
    add(n_taken);
}

static void learn_code(void)
{
    char line[512], flags[8];
    FILE* maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL && n_code < 256) {
        if (sscanf(line, "%lx-%lx %7s", &code[n_code].start, &code[n_code].end,
                   flags) == 3 &&
            flags[2] == 'x')
            ++n_code;
    }
    fclose(maps);
}

static void small_stack(void)
{
    size_t needed = getauxval(AT_MINSIGSTKSZ) + for_the_handler;
    size_t bytes = (needed + page - 1) & ~(size_t)(page - 1);
    char* all =
        mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, bytes, PROT_READ | PROT_WRITE) != 0)
        exit(9);
    // The stack begins at the lower guard page, so an overflow causes a fault.
    stack_t stack = {.ss_sp = all + page, .ss_size = needed & ~15ul};
    if (sigaltstack(&stack, NULL) != 0)
        exit(9);
}

static void* run(void* arg)
{
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGRTMIN);
    small_stack();
    pthread_sigmask(SIG_UNBLOCK, &taken, NULL);
    for (long n = 0; !stop; ++n) {
        if (work(n) != n * 5 + 1)
            add(&n_wrong);
    }
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    if (!sigisemptyset(&mask))
        add(&n_masked);
    return arg;
}

static void send_all(pid_t to)
{
    for (int i = 0; i < n_signals;) {
        union sigval value = {.sival_int = i};
        while (i - __atomic_load_n(n_taken, __ATOMIC_RELAXED) >= n_flight)
            sched_yield();
        if (sigqueue(to, SIGRTMIN, value) == 0)
            ++i;
        else if (errno == EAGAIN)
            sched_yield();
        else
            _exit(1);
    }
    _exit(0);
}

int main(int argc, char** argv)
{
    long n_threads = argc > 2 ? atol(argv[2]) : 3;
    pthread_t threads[64];
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    int status = 0;

    n_signals = argc > 1 ? atol(argv[1]) : 10000;
    n_flight = argc > 3 ? atol(argv[3]) : n_signals;
    n_taken =
        mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    learn_code();
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &taken, NULL); // only the other threads unblock SIGRTMIN
    sigaction(SIGRTMIN, &action, NULL);
    printf("ready %d\n", getpid());
    fflush(stdout);
    pid_t parent = getpid();
    int go[2];
    if (pipe(go) != 0)
        return 9;
    sender = fork();
    if (sender == 0) {
        char byte;
        if (read(go[0], &byte, 1) == 1)
            send_all(parent);
    }
    for (long i = 0; i < n_threads; ++i)
        pthread_create(&threads[i], NULL, run, NULL);
    if (write(go[1], "", 1) != 1)
        return 9;
    while (waitpid(sender, &status, 0) < 0 && errno == EINTR) {
    }
    // A signal that has not arrived after one second is lost.
    for (int i = 0; i < 100 && __atomic_load_n(n_taken, __ATOMIC_RELAXED) < n_signals;
         ++i)
        usleep(10000);
    stop = 1;
    for (long i = 0; i < n_threads; ++i)
        pthread_join(threads[i], NULL);
    printf("signals %ld twice %ld odd %ld strange %ld wrong %ld\n", *n_taken, n_twice,
           n_odd, n_strange, n_wrong);
    printf("work %ld handled %ld masked %ld\n", n_calls, n_handled, n_masked);
    return status != 0;
}
