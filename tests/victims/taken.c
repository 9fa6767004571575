// SPDX-License-Identifier: MIT
// Accepts signals N times, in unusual ways, while it calls work(). Prints "good N" and
// "calls COUNT", and on stderr the deviations from signal(7).
//   nodefer      a handler that interrupts itself; a handler that is reset
//   queued       signalfd(), sigwaitinfo() and a handler get each value once, in order
//   atomic       a signal is unblocked only while the thread waits in pselect(),
//                ppoll(), epoll_pwait() or sigsuspend(), and ends this wait
//   alone        like `atomic`, but with a single thread and another process as sender
//   children     SIGCHLD and waitid() report each exit, stop and death of a child
//   ignored      children exit while SIGCHLD is ignored or has SA_NOCLDWAIT
//   dispatched   system calls are dispatched to a SIGSYS handler
//                (PR_SET_SYSCALL_USER_DISPATCH)
//   waiting      prints "ready"; its threads wait in system calls until a line arrives
//   robust       threads exit in a handler while they hold a robust mutex
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static long n_calls;
static volatile sig_atomic_t depth, deepest, n_handled, last_call, n_odd;

__attribute__((noinline)) long work(long n)
{
    __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED);
    return n * 3;
}

static long ten(void)
{
    long sum = 0;
    for (long i = 0; i < 10; ++i)
        sum += work(i);
    return sum;
}

static int is(int right, const char* what)
{
    if (!right)
        fprintf(stderr, "not so: %s (errno %d)\n", what, errno);
    return right;
}

static void set(int number, void (*handler)(int, siginfo_t*, void*), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaction(number, &action, NULL);
}

static sigset_t set_of(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return set;
}

static void nested(int number, siginfo_t* info, void* context)
{
    (void)info, (void)context;
    depth += 1;
    ten();
    if (depth > deepest)
        deepest = depth;
    if (depth < 5)
        raise(number);
    depth -= 1;
}

static void counted(int number, siginfo_t* info, void* context)
{
    (void)number, (void)context;
    if (info->si_code == SI_QUEUE && info->si_value.sival_int != n_handled)
        n_odd += 1;
    n_handled += 1;
    work(n_handled);
}

static long take_nodefer(long n)
{
    long good = 0;
    for (long i = 0; i < n; ++i) {
        struct sigaction now;
        deepest = n_handled = 0;
        set(SIGUSR1, nested, SA_NODEFER);
        raise(SIGUSR1);
        int right = is(deepest == 5 && depth == 0, "a handler inside itself");
        set(SIGUSR2, counted, (int)SA_RESETHAND);
        raise(SIGUSR2);
        sigaction(SIGUSR2, NULL, &now);
        right &=
            is(n_handled == 1 && now.sa_handler == SIG_DFL, "gone after the first");
        pid_t pid = fork();
        if (pid == 0) {
            ten();
            raise(SIGUSR2);
            _exit(1);
        }
        int status;
        waitpid(pid, &status, 0);
        good += right & is(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2,
                           "the second kills");
    }
    return good;
}

static void* send_values(void* arg)
{
    for (int i = 0; i < (long)arg; ++i) {
        union sigval value = {.sival_int = i};
        work(i);
        for (int k = 0; k < 3; ++k) {
            while (sigqueue(getpid(), SIGRTMIN + k, value) != 0)
                usleep(100);
        }
    }
    return NULL;
}

static long take_queued(long n)
{
    pthread_t sender;
    sigset_t by_fd = set_of(SIGRTMIN), by_wait = set_of(SIGRTMIN + 1), both, handled;
    sigorset(&both, &by_fd, &by_wait);
    handled = set_of(SIGRTMIN + 2);
    set(SIGRTMIN + 2, counted, 0);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    pthread_sigmask(SIG_BLOCK, &handled, NULL);
    int fd = signalfd(-1, &by_fd, 0);
    pthread_create(&sender, NULL, send_values, (void*)n);
    long good = 0;
    for (int i = 0; i < n; ++i) {
        struct signalfd_siginfo told;
        siginfo_t info;
        ssize_t got;
        ten();
        while ((got = read(fd, &told, sizeof told)) < 0 && errno == EINTR) {
        }
        int right =
            is(got == sizeof told && told.ssi_int == i &&
                   told.ssi_pid == (uint32_t)getpid() && told.ssi_code == SI_QUEUE,
               "signalfd");
        int number;
        while ((number = sigwaitinfo(&by_wait, &info)) < 0 && errno == EINTR) {
        }
        right &= is(number == SIGRTMIN + 1 && info.si_value.sival_int == i &&
                        info.si_pid == getpid() && info.si_code == SI_QUEUE,
                    "sigwaitinfo");
        // While the signal is unblocked, the handler gets all pending and new signals.
        // Block the signal again when the handler has received signal i.
        pthread_sigmask(SIG_UNBLOCK, &handled, NULL);
        while (n_handled <= i)
            sched_yield();
        pthread_sigmask(SIG_BLOCK, &handled, NULL);
        good += right;
    }
    pthread_join(sender, NULL);
    return is(n_handled == n && n_odd == 0, "the handler's") ? good : 0;
}

static pthread_t the_main;

static void* send_one(void* arg)
{
    ten();
    usleep(200);
    pthread_kill(the_main, SIGUSR1);
    return arg;
}

// Waits for the next SIGUSR1. Returns 1 if the signal ended the wait. Otherwise prints
// a message and returns 0.
static int wait_for_one(long i, int polled)
{
    struct timespec long_time = {.tv_sec = 20};
    struct epoll_event event;
    sigset_t none;
    sigemptyset(&none);
    int got = i % 4 == 0   ? pselect(0, NULL, NULL, NULL, &long_time, &none)
              : i % 4 == 1 ? ppoll(NULL, 0, &long_time, &none)
              : i % 4 == 2 ? epoll_pwait(polled, &event, 1, 20000, &none)
                           : sigsuspend(&none);
    return is(got == -1 && errno == EINTR && n_handled == i + 1, "ended by its signal");
}

static int block_usr1(void)
{
    sigset_t blocked = set_of(SIGUSR1);
    set(SIGUSR1, counted, 0);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    return epoll_create1(0);
}

static long take_atomic(long n)
{
    int polled = block_usr1();
    long good = 0;
    the_main = pthread_self();
    for (long i = 0; i < n; ++i) {
        pthread_t sender;
        pthread_create(&sender, NULL, send_one, NULL);
        ten();
        good += wait_for_one(i, polled);
        pthread_join(sender, NULL);
    }
    return good;
}

static long take_alone(long n)
{
    int polled = block_usr1(), asked[2];
    long good = 0;
    pid_t me = getpid();
    if (pipe(asked) != 0)
        return 0;
    pid_t sender = fork();
    if (sender == 0) {
        char byte;
        close(asked[1]);
        for (unsigned i = 0; read(asked[0], &byte, 1) == 1; ++i) {
            usleep(i * 37 % 400);
            kill(me, SIGUSR1);
        }
        _exit(0);
    }
    while (good < n && write(asked[1], "", 1) == 1) {
        ten();
        if (!wait_for_one(good, polled))
            break;
        good += 1;
    }
    close(asked[1]);
    waitpid(sender, NULL, 0);
    return good;
}

// Checks that SIGCHLD and waitid() report this code and status for pid.
static int told(pid_t pid, int code, int status)
{
    sigset_t child = set_of(SIGCHLD);
    struct timespec soon = {.tv_sec = 10};
    siginfo_t info, waited = {0};
    int number;
    while ((number = sigtimedwait(&child, &info, &soon)) < 0 && errno == EINTR) {
    }
    int right = is(number == SIGCHLD && info.si_pid == pid && info.si_code == code &&
                       info.si_status == status,
                   "what SIGCHLD tells");
    if (!right)
        fprintf(stderr, "number %d pid %d code %d status %d, want code %d status %d\n",
                number, info.si_pid, info.si_code, info.si_status, code, status);
    int got =
        waitid(P_PID, (id_t)pid, &waited, WEXITED | WSTOPPED | WCONTINUED | WNOHANG);
    return right & is(got == 0 && waited.si_pid == pid && waited.si_code == code &&
                          waited.si_status == status,
                      "what waitid() tells");
}

static int nothing_more(pid_t pid)
{
    siginfo_t waited = {0};
    sigset_t pending;
    int got =
        waitid(P_PID, (id_t)pid, &waited, WEXITED | WSTOPPED | WCONTINUED | WNOHANG);
    sigpending(&pending);
    return is(got == 0 && waited.si_pid == 0 && !sigismember(&pending, SIGCHLD),
              "nothing more");
}

static long take_children(long n)
{
    sigset_t child = set_of(SIGCHLD);
    long good = 0;
    pthread_sigmask(SIG_BLOCK, &child, NULL);
    for (long i = 0; i < n; ++i) {
        pid_t pid = fork();
        if (pid == 0) {
            ten();
            _exit((int)(i % 100));
        }
        int right = told(pid, CLD_EXITED, (int)(i % 100));
        pid = fork();
        if (pid == 0) {
            ten();
            raise(SIGSTOP);
            for (;;)
                pause();
        }
        right &= told(pid, CLD_STOPPED, SIGSTOP) & nothing_more(pid);
        kill(pid, SIGCONT);
        right &= told(pid, CLD_CONTINUED, SIGCONT) & nothing_more(pid);
        kill(pid, SIGKILL);
        right &= told(pid, CLD_KILLED, SIGKILL);
        good +=
            right & is(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "no child");
    }
    return good;
}

static long take_ignored(long n)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    long good = 0;
    for (long i = 0; i < n; ++i) {
        action.sa_flags = i % 2 ? SA_NOCLDWAIT : 0;
        action.sa_handler = i % 2 ? SIG_DFL : SIG_IGN;
        sigaction(SIGCHLD, &action, NULL);
        pid_t pid = fork();
        if (pid == 0) {
            ten();
            _exit(3);
        }
        good += is(waitpid(pid, NULL, 0) == -1 && errno == ECHILD,
                   "nobody is left to wait for");
    }
    return good;
}

static volatile char selector;

static void on_sys(int number, siginfo_t* info, void* context)
{
    (void)number;
    selector = 0;
    n_handled += info->si_syscall == SYS_getpid;
    last_call = info->si_syscall;
    ((ucontext_t*)context)->uc_mcontext.gregs[REG_RAX] = 4711;
}

static long take_dispatched(long n)
{
    long good = 0;
    set(SIGSYS, on_sys, 0);
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector) != 0)
        return -1;
    puts("ready");
    fflush(stdout);
    for (long i = 0; i < n; ++i) {
        n_handled = last_call = 0;
        selector = 1;
        ten();
        long got = syscall(SYS_getpid);
        good += is(got == 4711 && n_handled == 1, "the one call that was made");
        if (n_handled != 1)
            fprintf(stderr, "got %ld handled %d, call %d\n", got, n_handled, last_call);
    }
    return good;
}

static volatile int is_over;

static void* wait_for_ever(void* arg)
{
    long kind = (long)arg, n_ended = 0;
    sigset_t none, usr2 = set_of(SIGUSR2);
    struct epoll_event event;
    int polled = epoll_create1(0);
    sigemptyset(&none);
    while (!is_over) {
        struct timespec time = {.tv_nsec = 100000000};
        siginfo_t info;
        errno = 0;
        int got = kind == 0   ? epoll_wait(polled, &event, 1, 100)
                  : kind == 1 ? sigtimedwait(&usr2, &info, &time) * 0
                  : kind == 2 ? poll(NULL, 0, 100)
                              : nanosleep(&time, NULL);
        n_ended += errno == EINTR;
        ten();
        if (got != 0 && errno != EINTR)
            n_ended += 1000;
    }
    return (void*)n_ended;
}

static long take_waiting(void)
{
    pthread_t threads[4];
    sigset_t usr2 = set_of(SIGUSR2);
    char byte;
    long n_ended = 0;
    pthread_sigmask(SIG_BLOCK, &usr2, NULL);
    for (long i = 0; i < 4; ++i)
        pthread_create(&threads[i], NULL, wait_for_ever, (void*)i);
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) < 0) {
    }
    is_over = 1;
    for (int i = 0; i < 4; ++i) {
        void* ended;
        pthread_join(threads[i], &ended);
        if (ended != NULL)
            fprintf(stderr, "wait %d was ended %ld times\n", i, (long)ended);
        n_ended += (long)ended;
    }
    return n_ended;
}

static pthread_mutex_t robust;
static volatile int is_held;

static void end_thread(int number, siginfo_t* info, void* context)
{
    (void)number, (void)info, (void)context;
    syscall(SYS_exit, 0);
}

static void* hold(void* arg)
{
    if (pthread_mutex_lock(&robust) == EOWNERDEAD)
        pthread_mutex_consistent(&robust);
    is_held = 1;
    for (;;)
        ten();
    return arg;
}

static void* go_on(void* arg)
{
    while (!is_over)
        *(long*)arg += ten() == 135;
    return NULL;
}

static long take_robust(long n)
{
    pthread_mutexattr_t how;
    pthread_t other;
    long good = 0, n_others = 0;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &how);
    set(SIGUSR1, end_thread, 0);
    pthread_create(&other, NULL, go_on, &n_others);
    for (long i = 0; i < n; ++i) {
        pthread_t holder;
        is_held = 0;
        pthread_create(&holder, NULL, hold, NULL);
        while (!is_held)
            sched_yield();
        usleep((useconds_t)(i * 7 % 100));
        pthread_kill(holder, SIGUSR1);
        pthread_join(holder, NULL);
        long before = *(volatile long*)&n_others;
        int right = is(pthread_mutex_lock(&robust) == EOWNERDEAD, "its owner is dead");
        pthread_mutex_consistent(&robust);
        pthread_mutex_unlock(&robust);
        while (*(volatile long*)&n_others == before)
            sched_yield();
        good += right;
    }
    is_over = 1;
    pthread_join(other, NULL);
    return good;
}

int main(int argc, char** argv)
{
    const char* how = argc > 1 ? argv[1] : "nodefer";
    long n = argc > 2 ? atol(argv[2]) : 10;
    long good = !strcmp(how, "nodefer")      ? take_nodefer(n)
                : !strcmp(how, "queued")     ? take_queued(n)
                : !strcmp(how, "atomic")     ? take_atomic(n)
                : !strcmp(how, "alone")      ? take_alone(n)
                : !strcmp(how, "children")   ? take_children(n)
                : !strcmp(how, "ignored")    ? take_ignored(n)
                : !strcmp(how, "dispatched") ? take_dispatched(n)
                : !strcmp(how, "waiting")    ? take_waiting()
                : !strcmp(how, "robust")     ? take_robust(n)
                                             : -1;
    selector = 0;
    printf("good %ld\ncalls %ld\n", good, n_calls);
    return 0;
}
