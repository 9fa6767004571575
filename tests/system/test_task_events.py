#!/usr/bin/env python3
"""Tests the proc provider in targets, without the kernel module."""
import os, signal, subprocess

from harness import *
from traced import of_another_user, program_of, ready, tagged_lines

ALL = {"create", "exec", "exec-failure", "exec-success", "exit", "fault", "lwp-create", "lwp-exit", "lwp-start",
       "signal-clear", "signal-discard", "signal-handle", "signal-send", "start"}
CLD_EXITED, CLD_KILLED, CLD_DUMPED = 1, 2, 3

def names(t, *options):
    done = t.run("-lP", "proc", *options)
    return {line.split()[-1] for line in done.stdout.splitlines()[1:]}

def all_probes_are_listed_for_a_target(t):
    equal(names(t, "-c", "true"), ALL, "probes")
    done = t.run("-lvn", "proc:::signal-handle", "-c", "true")
    for line in ("args[0]: int sig", "args[1]: siginfo_t *info", "args[2]: void (*handler)(void)"):
        contains(done.stdout, line)

def without_a_target_the_message_says_what_to_do(t):
    done = subprocess.run([*(as_nobody() if os.geteuid() == 0 else ()), t.dtrace, "-en", "proc:::exit"], capture_output=True, text=True, cwd="/")
    if done.returncode == 0:
        raise Skip("any user may trace all processes")
    contains(done.stderr, "name a process with -p or -c to trace its threads, signals and programs; those of all "
             "processes need root")

THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static void* run(void* number)
{
    printf("D thread %ld\\n", syscall(SYS_gettid));
    fflush(stdout);
    if (number != 0)
        pthread_exit(number);
    return 0;
}
int main(void)
{
    pthread_t threads[6];
    for (long i = 0; i < 6; i++)
        pthread_create(&threads[i], 0, run, (void*)i);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], 0);
    return 7;
}
"""

def threads_begin_and_end(t):
    program = program_of(t, "threads", THREADS)
    for mechanism in ("auto", "int3"):
        lines = tagged_lines(t, 'proc:::lwp-create { printf("D create %d %d\\n", args[0]->pr_lwpid, '
                             'args[1]->pr_pid == pid); } '
                             'proc:::lwp-start { printf("D start %d\\n", tid); } '
                             'proc:::lwp-exit { printf("D end %d %d\\n", tid, tid == pid); } '
                             'proc:::exit { printf("D exit %d\\n", args[0]); }', "-x", f"mechanism={mechanism}",
                             command=program)
        tids = sorted(line.split()[1] for line in lines if line.startswith("thread"))
        equal(len(tids), 6, lines)
        for line in ("create {} 1", "start {}", "end {} 0"):
            word = line.split()[0]
            equal(sorted(each for each in lines if each.startswith(word) and not each.endswith(" 1 1")
                         and not (word == "end" and each.endswith(" 1"))),
                  sorted(line.format(tid) for tid in tids), word)
        equal([line for line in lines if line.startswith("exit")], [f"exit {CLD_EXITED}"], "exits")
        equal(sum(line.startswith("end") for line in lines), 7, "ends")

CHILDREN = """
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
int main(void)
{
    char* true_args[] = {"true", "one", "two", 0};
    pid_t child = fork();
    if (child == 0)
        _exit(3);
    printf("D forked %d\\n", child);
    waitpid(child, 0, 0);
    if (posix_spawn(&child, "/bin/true", 0, 0, true_args, environ) != 0)
        return 1;
    printf("D spawned %d\\n", child);
    waitpid(child, 0, 0);
    if (posix_spawn(&child, "/nonexistent", 0, 0, true_args, environ) == 0)
        return 2;
    fflush(stdout);
    child = fork();
    if (child == 0)
        abort();
    printf("D aborted %d\\n", child);
    fflush(stdout);
    waitpid(child, 0, 0);
    execv("/nonexistent", true_args);
    execv("/bin/true", true_args);
    return 4;
}
"""
CHILD_CLAUSES = """
proc:::create { printf("D create %d %d %s\\n", args[0]->pr_pid, args[0]->pr_ppid == pid, args[0]->pr_fname); }
proc:::start { printf("D start %d\\n", pid); }
proc:::exec { printf("D exec %s %s\\n", copyinstr(arg0), execname); }
proc:::exec-failure { printf("D failure %d\\n", args[0]); }
proc:::exec-success { printf("D success %s %s\\n", execname, curpsinfo->pr_psargs); }
proc:::exit { printf("D exit %d %d\\n", pid, args[0]); }
"""

def children_begin_execute_programs_and_end(t):
    program = program_of(t, "children", CHILDREN)
    for mechanism in ("auto", "int3"):
        lines = tagged_lines(t, CHILD_CLAUSES, "-x", "follow=exec", "-x", f"mechanism={mechanism}", command=program)
        said = dict(line.split() for line in lines if line.split()[0] in ("forked", "spawned", "aborted"))
        creates = [line.split() for line in lines if line.startswith("create")]
        equal([each[2:] for each in creates], [["1", "children"]] * 4, lines)
        pids = [each[1] for each in creates]
        equal([pids[0], pids[1], pids[3]], [said["forked"], said["spawned"], said["aborted"]], lines)
        equal({pid for pid in pids} - {line.split()[1] for line in lines if line.startswith("start")}, set(), lines)
        equal([line for line in lines if line.startswith("exec")],
              ["exec /bin/true children", "exec /nonexistent children", "exec /nonexistent children",
               "exec /bin/true children"], lines)
        equal([line for line in lines if line.startswith("failure")], ["failure 2"] * 2, lines)
        equal([line for line in lines if line.startswith("success")], ["success true true one two"] * 2, lines)
        exits = dict(line.split()[1:] for line in lines if line.startswith("exit"))
        equal(len(exits), 5, lines)
        equal({pid: int(why) for pid, why in exits.items() if int(why) != CLD_EXITED}.keys(), {said["aborted"]}, lines)

def children_that_are_not_followed_are_created_only(t):
    lines = tagged_lines(t, CHILD_CLAUSES, command=program_of(t, "children", CHILDREN))
    equal(sum(line.startswith("create") for line in lines), 4, lines)
    said = dict(line.split() for line in lines if line.split()[0] in ("forked", "aborted"))
    about = [line for line in lines if line.split()[0] in ("start", "exit") and line.split()[1] in said.values()]
    equal(about, [], lines)

SIGNALS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static sigjmp_buf before;
__attribute__((noinline)) static void plain(int signal) { __asm__ volatile("" : : "r"(signal)); }
static void detailed(int signal, siginfo_t* info, void* context)
{
    (void)info;
    (void)context;
    if (signal == SIGSEGV)
        siglongjmp(before, 1);
}
int main(void)
{
    struct sigaction action = {.sa_handler = plain};
    sigset_t set;
    siginfo_t info;
    sigaction(SIGUSR1, &action, 0);
    action.sa_sigaction = detailed;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR2, &action, 0);
    sigaction(SIGSEGV, &action, 0);
    signal(SIGHUP, SIG_IGN);
    printf("D pid %d\\n", getpid());
    fflush(stdout);
    kill(getpid(), 0);
    kill(getpid(), SIGUSR1);
    raise(SIGUSR1);
    syscall(SYS_tkill, syscall(SYS_gettid), SIGUSR1);
    sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 4711});
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGWINCH);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    kill(getpid(), SIGRTMIN);
    sigwaitinfo(&set, &info);
    if (sigsetjmp(before, 1) == 0)
        *(volatile int*)0x123000 = 1;
    kill(getpid(), SIGTERM);
    return 1;
}
"""

def signals_are_sent_received_and_ignored(t):
    program = program_of(t, "signals", SIGNALS, "-g")
    for mechanism in ("auto", "int3"):
        done = t.run("-qn", 'proc:::signal-send { printf("D send %d %d %d\\n", args[0]->pr_lwpid == tid, '
                     'args[1]->pr_pid == pid, args[2]); } '
                     'proc:::signal-handle { printf("D handle %d %d %d %d %x %A\\n", args[0], args[1]->si_signo, '
                     'args[1]->si_code, args[1]->si_pid == pid, args[1]->si_value, (uintptr_t)args[2]); } '
                     'proc:::signal-discard { printf("D discard %d %d %d\\n", args[2], args[0]->pr_lwpid == tid, '
                     'args[1]->pr_pid == pid); } '
                     'proc:::signal-clear { printf("D clear %d\\n", args[0]); } '
                     'proc:::fault { printf("D fault %d %d %x\\n", args[0], args[1]->si_signo, args[1]->si_addr); } '
                     'proc:::exit { printf("D exit %d\\n", args[0]); }',
                     "-x", f"mechanism={mechanism}", "-c", str(program))
        lines = [line[2:] for line in done.stdout.splitlines() if line.startswith("D ")]
        lines = [line for line in lines if not line.startswith("pid")]
        rt = signal.SIGRTMIN
        equal(lines, [
            "send 0 1 10", "handle 10 10 0 1 0 signals`plain",
            "send 1 1 10", "handle 10 10 -6 1 0 signals`plain",
            "send 1 1 10", "handle 10 10 -6 1 0 signals`plain",
            "send 0 1 12", "handle 12 12 -1 1 1267 signals`detailed",
            "send 0 1 1", "discard 1 1 1",
            "send 0 1 28", "discard 28 1 1",
            f"send 0 1 {rt}", f"clear {rt}",
            "fault 6 11 123000", "handle 11 11 1 0 0 signals`detailed",
            "send 0 1 15", "handle 15 15 0 1 0 0x0",
            f"exit {CLD_KILLED}"], mechanism)

def a_kill_from_outside_is_handled_and_ends_the_process(t):
    user = {"a process of this user": [t.victim("circler")], "a process of another user": of_another_user(t, "circler")}
    for what, command in user.items():
        with held(subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)) as target:
            ready(target)
            with held(t.start("-qn", 'BEGIN { printf("begin\\n"); } '
                              'proc:::signal-handle { printf("handle %d\\n", args[0]); } '
                              'proc:::exit { printf("exit %d\\n", args[0]); }', "-p", str(target.pid))) as tracer:
                equal(tracer.stdout.readline(), "begin\n", what)
                target.kill()
                output, errors = tracer.communicate(timeout=30)
                equal(output.split("\n"), ["handle 9", f"exit {CLD_KILLED}", "", ""], what + errors)

GO = """
package main
import ("os/exec"; "os"; "syscall")
func main() {
    if exec.Command("/bin/true", "x").Run() != nil { os.Exit(1) }
    if exec.Command("/nonexistent").Run() == nil { os.Exit(2) }
    if syscall.Exec("/bin/true", []string{"true", "y"}, nil) != nil { os.Exit(3) }
}
"""

def programs_of_go_are_executed(t):
    need("go")
    source, program = t.scratch / "execs.go", t.scratch / "execs"
    source.write_text(GO)
    subprocess.run(["go", "build", "-o", program, source], check=True,
                   env={**os.environ, "GOCACHE": str(t.scratch / "cache"), "GO111MODULE": "off"})
    lines = tagged_lines(t, CHILD_CLAUSES, "-x", "follow=exec", command=program)
    equal([line for line in lines if line.startswith("exec")],
          ["exec /bin/true execs", "exec /nonexistent execs", "exec /bin/true execs"], lines)
    equal([line for line in lines if line.startswith("failure")], ["failure 2"], lines)
    equal([line for line in lines if line.startswith("success")], ["success true /bin/true x", "success true true y"],
          lines)

if __name__ == "__main__":
    main([all_probes_are_listed_for_a_target, without_a_target_the_message_says_what_to_do, threads_begin_and_end,
          children_begin_execute_programs_and_end, children_that_are_not_followed_are_created_only,
          signals_are_sent_received_and_ignored, a_kill_from_outside_is_handled_and_ends_the_process,
          programs_of_go_are_executed])
