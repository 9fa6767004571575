// SPDX-License-Identifier: MIT
// masks: three threads block SIGTRAP in different ways. looper and handler call work()
// all the time, and main calls it in its checks. Prints "ready". For each byte on stdin,
// prints "wrong N": how often a signal mask or an action was not as the program has set
// it, since the start. At the end of stdin, prints "at end wrong N".
//   main      blocks SIGTRAP, and no other signal
//   looper    blocks and unblocks all signals
//   handler   runs in a handler that blocks all signals
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int stop, n_wrong, in_handler;

__attribute__((noinline)) long work(long n)
{
    __asm__ volatile("" ::: "memory");
    return n + 1;
}

static void expect(int right)
{
    n_wrong += !right;
}

static int blocks(int signal)
{
    sigset_t now;
    return pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, signal);
}

static void *loop(void *arg)
{
    sigset_t all, before, in_between;
    sigfillset(&all);
    for (long n = 0; !stop;) {
        expect(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
        n = work(n);
        expect(pthread_sigmask(SIG_SETMASK, &before, &in_between) == 0);
        n = work(n);
        expect(!sigismember(&before, SIGTRAP) && sigismember(&in_between, SIGTRAP));
    }
    return arg;
}

static void on_signal(int signal)
{
    long n = 0;
    in_handler = 1;
    while (!stop)
        n = work(n);
    expect(blocks(signal) && blocks(SIGTRAP) && blocks(SIGUSR2));
}

static void on_alarm(int signal)
{
    expect(work(signal) == signal + 1);
    expect(blocks(SIGALRM) && blocks(SIGTRAP) && blocks(SIGUSR2));
}

// A handler that interrupts sigsuspend() starts with the mask of sigsuspend().
static void on_usr2(int signal)
{
    expect(work(signal) == signal + 1);
    expect(blocks(SIGTRAP) && blocks(SIGTERM));
}

static void *wait_in_handler(void *arg)
{
    raise(SIGUSR1);
    expect(!blocks(SIGTRAP));
    return arg;
}

static void check_masks(void)
{
    sigset_t only_trap, before, now;
    sigemptyset(&only_trap);
    sigaddset(&only_trap, SIGTRAP);
    expect(blocks(SIGTRAP) && !blocks(SIGTERM));
    expect(sigprocmask(SIG_UNBLOCK, &only_trap, &before) == 0);
    expect(sigismember(&before, SIGTRAP) && !blocks(SIGTRAP));
    expect(sigprocmask(SIG_BLOCK, &only_trap, &before) == 0);
    expect(!sigismember(&before, SIGTRAP) && blocks(SIGTRAP));
    expect(sigprocmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGTRAP));
    expect(sigprocmask(99, &only_trap, NULL) == -1 && errno == EINVAL);
    expect(sigprocmask(SIG_BLOCK, NULL, (sigset_t *)8) == -1 && errno == EFAULT);
    expect(blocks(SIGTRAP));
}

static void check_actions(void)
{
    struct sigaction now;
    expect(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == on_signal);
    expect(sigismember(&now.sa_mask, SIGTRAP) && sigismember(&now.sa_mask, SIGUSR2));
    expect(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == on_usr2);
    expect(!sigismember(&now.sa_mask, SIGTRAP));
    expect(sigaction(SIGALRM, NULL, &now) == 0 && now.sa_handler == on_alarm);
    expect(sigismember(&now.sa_mask, SIGTRAP) && (now.sa_flags & SA_RESTART) != 0);
    struct sigaction again = now;
    expect(sigaction(SIGALRM, &again, &now) == 0);
    expect(sigismember(&now.sa_mask, SIGTRAP));
}

static void check_handlers(void)
{
    sigset_t usr2, wait_mask;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    sigprocmask(SIG_BLOCK, &usr2, NULL);
    raise(SIGUSR2);
    sigfillset(&wait_mask);
    sigdelset(&wait_mask, SIGUSR2);
    expect(sigsuspend(&wait_mask) == -1 && errno == EINTR);
    sigprocmask(SIG_UNBLOCK, &usr2, NULL);
    expect(blocks(SIGTRAP) && !blocks(SIGTERM));
    raise(SIGALRM);
    expect(blocks(SIGTRAP) && !blocks(SIGTERM));
}

// A blocked SIGTRAP stays pending. Its default action would end the process.
static void check_pending(void)
{
    sigset_t pending, only_trap;
    sigemptyset(&only_trap);
    sigaddset(&only_trap, SIGTRAP);
    raise(SIGTRAP);
    expect(work(1) == 2);
    expect(sigpending(&pending) == 0 && sigismember(&pending, SIGTRAP));
    expect(sigwaitinfo(&only_trap, NULL) == SIGTRAP);
    expect(sigpending(&pending) == 0 && !sigismember(&pending, SIGTRAP));
    expect(blocks(SIGTRAP));
}

// The function syscall() is not watched, so dtrace does not notice that it sets an action.
// This action must stay when sigaction() then reads it.
static void check_unnoticed(void)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } action;
    struct sigaction before, now;
    expect(sigaction(SIGALRM, NULL, &before) == 0);
    raise(SIGALRM);
    expect(syscall(SYS_rt_sigaction, SIGALRM, NULL, &action, 8) == 0);
    action.handler = (void *)on_usr2;
    expect(syscall(SYS_rt_sigaction, SIGALRM, &action, NULL, 8) == 0);
    expect(sigaction(SIGALRM, NULL, &now) == 0 && now.sa_handler == on_usr2);
    expect(sigaction(SIGALRM, &before, NULL) == 0);
}

// A child has the mask of its parent, also after an exec. The child prints the line SigBlk
// of its own mask, in which 0x10 is SIGTRAP.
static void check_children(void)
{
    char line[64] = "";
    pid_t child = fork();
    if (child == 0)
        _exit(blocks(SIGTRAP) && !blocks(SIGTERM) ? 0 : 1);
    int status = 1;
    expect(waitpid(child, &status, 0) == child && status == 0);
    FILE *out = popen("exec grep SigBlk /proc/self/status", "r");
    expect(out != NULL && fgets(line, sizeof line, out) != NULL);
    expect(strstr(line, "0000000000000010") != NULL);
    if (out != NULL)
        pclose(out);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = on_usr2;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
    pthread_t looper, handler;
    pthread_create(&handler, NULL, wait_in_handler, NULL);
    while (!in_handler)
        usleep(1000);
    pthread_create(&looper, NULL, loop, NULL);
    sigset_t only_trap;
    sigemptyset(&only_trap);
    sigaddset(&only_trap, SIGTRAP);
    sigprocmask(SIG_BLOCK, &only_trap, NULL);
    puts("ready");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) == 1) {
        check_masks();
        check_actions();
        check_handlers();
        check_pending();
        check_unnoticed();
        check_children();
        printf("wrong %d\n", (int)n_wrong);
        fflush(stdout);
    }
    stop = 1;
    pthread_join(looper, NULL);
    pthread_join(handler, NULL);
    printf("at end wrong %d\n", (int)n_wrong);
    return 0;
}
