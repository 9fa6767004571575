// SPDX-License-Identifier: MIT
// A target that harms its tracer. Each letter of its argument selects an attack:
//
//   c  fills foreign executable mappings of at most 1 MiB with endless loops
//   u  unmaps all foreign mappings, repeatedly
//   p  makes all foreign mappings inaccessible, repeatedly
//   v  calls vfork() in a thread; the child sleeps
//   b  blocks all signals that can be blocked, in the threads that call work()
//   t  creates threads without a pause
//   g  starts threads that each create their successor and exit
//   f  forks without a pause
//   s  starts a process that sends signals to the target's threads without a pause
//   x  starts a process that sends SIGSTOP and SIGCONT to the target without a pause
//
// Foreign mappings are those that the target did not create. Two threads call work().
// Prints "ready". After a byte on stdin, begins the attacks and prints "attacks".
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { max_ranges = 512, n_callers = 2, max_text = 1 << 18 };

struct range {
    uintptr_t begin, end;
};

static struct range own[max_ranges];
static int n_own;
static char text[max_text];
static volatile long n_calls;
static atomic_int* begun; // shared with the attacking processes
static int blocks_signals;
static pid_t self;

__attribute__((noinline)) long work(long n)
{
    __asm__ volatile("" ::: "memory");
    return n + 1;
}

static void stay(int number)
{
    (void)number;
}

static void* call(void* arg)
{
    sigset_t all;
    char stack[16384];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alternate, NULL);
    for (int blocked = 0;;) {
        if (!blocked && blocks_signals && atomic_load(begun)) {
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, NULL);
            blocked = 1;
        }
        n_calls = work(n_calls);
    }
    return arg;
}

// Calls `attack` for each mapping that did not exist at the start. Must not map memory.
static void each_foreign(void (*attack)(uintptr_t begin, uintptr_t end, int executable))
{
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    for (ssize_t got; (got = read(maps, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    close(maps);
    text[n] = '\0';
    for (char* line = text; line != NULL && *line != '\0';) {
        char* after;
        uintptr_t begin = strtoul(line, &after, 16);
        uintptr_t end = strtoul(after + 1, &after, 16);
        int executable = after[3] == 'x', is_own = 0;
        for (int i = 0; i < n_own; i++)
            is_own |= begin < own[i].end && own[i].begin < end;
        line = strchr(line, '\n');
        if (!is_own && line != NULL)
            attack(begin, end, executable);
        line = line != NULL ? line + 1 : NULL;
    }
}

static void remember(uintptr_t begin, uintptr_t end, int executable)
{
    (void)executable;
    if (n_own < max_ranges)
        own[n_own++] = (struct range){begin, end};
}

static void circle(uintptr_t begin, uintptr_t end, int executable)
{
    static unsigned char circles[4096];
    int mem;
    if (!executable || end - begin > 1 << 20)
        return;
    memset(circles, 0x90, sizeof circles); // nop
    circles[4094] = 0xeb;                  // jmp .
    circles[4095] = 0xfe;
    mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    for (; begin < end; begin += sizeof circles)
        (void)!pwrite(mem, circles, sizeof circles, (off_t)begin);
    close(mem);
}

static void unmap(uintptr_t begin, uintptr_t end, int executable)
{
    (void)executable;
    munmap((void*)begin, end - begin);
}

static void forbid(uintptr_t begin, uintptr_t end, int executable)
{
    (void)executable;
    mprotect((void*)begin, end - begin, PROT_NONE);
}

static void await_begin(void)
{
    while (!atomic_load(begun))
        usleep(1000);
}

static void* run_circle(void* arg)
{
    await_begin();
    each_foreign(circle);
    return arg;
}

static void* run_unmap(void* arg)
{
    await_begin();
    for (;;)
        each_foreign(unmap);
    return arg;
}

static void* run_forbid(void* arg)
{
    await_begin();
    for (;;)
        each_foreign(forbid);
    return arg;
}

static void* run_vfork(void* arg)
{
    await_begin();
    if (vfork() == 0) {
        // prctl() contains a jump of dtrace, and attack `c` makes the code there endless.
        syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        // If the parent was killed before prctl(), no signal reports its death.
        while (getppid() == self)
            pause();
        _exit(0);
    }
    return arg;
}

// Stacks of threads that do not use the C library.
static char stacks[256][8192];

static int end_at_once(void* arg)
{
    (void)arg;
    syscall(SYS_exit, 0);
    return 0;
}

static void* run_threads(void* arg)
{
    await_begin();
    for (unsigned i = 0;; i++)
        clone(end_at_once, stacks[i % 256] + sizeof stacks[0],
              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL);
    return arg;
}

// Creates the next thread of a chain, and exits. So a tracer that seizes threads one by
// one always finds new threads.
static int succeed(void* arg)
{
    enum { in_chain = 4 };
    uintptr_t number = (uintptr_t)arg;
    uintptr_t next = number / in_chain * in_chain + (number + 1) % in_chain;
    clone(succeed, stacks[next] + sizeof stacks[0],
          CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, (void*)next);
    syscall(SYS_exit, 0);
    return 0;
}

static void* run_chains(void* arg)
{
    await_begin();
    for (uintptr_t i = 0; i < 64; i += 4)
        clone(succeed, stacks[i] + sizeof stacks[0],
              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, (void*)i);
    return arg;
}

static void* run_forks(void* arg)
{
    await_begin();
    for (;;) {
        pid_t child = (pid_t)syscall(SYS_fork);
        if (child == 0)
            syscall(SYS_exit, 0);
        waitpid(child, NULL, 0);
    }
    return arg;
}

// Sends signals to all threads of the target, from another process, until the target
// has exited.
static void send_signals(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", self);
    for (;;) {
        DIR* folder = opendir(path);
        if (folder == NULL)
            _exit(0);
        for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
            int tid = atoi(entry->d_name);
            for (int i = 0; tid > 0 && i < 20; i++)
                syscall(SYS_tgkill, self, tid, SIGRTMIN + i % 4);
        }
        closedir(folder);
    }
}

static void stop_and_continue(void)
{
    for (;;) {
        if (kill(self, SIGSTOP) != 0)
            _exit(0);
        kill(self, SIGCONT);
    }
}

static void in_a_process(void (*attack)(void))
{
    if (fork() != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != self)
        _exit(0);
    await_begin();
    attack();
}

int main(int argc, char** argv)
{
    static const struct {
        char letter;
        void* (*run)(void*);
    } threads[] = {{'c', run_circle}, {'u', run_unmap},   {'p', run_forbid},
                   {'v', run_vfork},  {'t', run_threads}, {'g', run_chains},
                   {'f', run_forks}};
    const char* attacks = argc > 1 ? argv[1] : "";
    struct sigaction action = {.sa_handler = stay, .sa_flags = SA_ONSTACK};
    pthread_t thread;
    char byte;

    self = getpid();
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    for (int i = 0; i < 4; i++)
        sigaction(SIGRTMIN + i, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGTRAP, &action, NULL);
    blocks_signals = strchr(attacks, 'b') != NULL;
    begun = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (begun == MAP_FAILED)
        return 1;
    if (strchr(attacks, 's') != NULL)
        in_a_process(send_signals);
    if (strchr(attacks, 'x') != NULL)
        in_a_process(stop_and_continue);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
        if (strchr(attacks, threads[i].letter) != NULL)
            pthread_create(&thread, NULL, threads[i].run, NULL);
    for (int i = 0; i < n_callers; i++)
        pthread_create(&thread, NULL, call, NULL);
    usleep(50000); // afterwards, each thread has mapped all its memory
    each_foreign(remember);
    puts("ready");
    fflush(stdout);
    if (read(0, &byte, 1) != 1)
        return 1;
    atomic_store(begun, 1);
    puts("attacks");
    fflush(stdout);
    for (;;)
        pause();
}
