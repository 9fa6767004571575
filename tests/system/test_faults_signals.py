#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests unusual ways to receive signals, and threads that exit in a handler (sections C and D of docs/faults.md). In
each case, the victim `taken` checks the guarantees of signal(7)."""
import os, subprocess, time

from faults import *
from harness import *

WORK = 'pid$target:a.out:work:entry { @ = count(); } END { printa("entries %@d\\n", @); }'
ALL = 'pid$target:::entry,pid$target:::return { @ = count(); } END { printa("entries %@d\\n", @); }'
FOLLOWED = ("-x", "follow=fork")

def taken(t, how, n, flags=(), program=WORK, children=0):
    """Traces the victim. Each of the n repetitions must have the right result, and all calls must be counted."""
    said, out = traced_command(t, program, f"{t.victim('taken')} {how} {n}", flags)
    own = dict(line.split() for line in said.splitlines() if " " in line)
    equal(own["good"], str(n), f"{how} {flags}: right repetitions")
    if program == WORK:
        equal(found(out, "entries"), int(own["calls"]) + children, f"{how} {flags}: entries")

def any_way(t, how, n=100, children=0):
    """Runs the victim with different flags. Calls by children that have their own memory are counted only with
    FOLLOWED."""
    for flags in BOTH:
        taken(t, how, n, flags)
        taken(t, how, n // 4, flags, ALL)
    taken(t, how, n, FOLLOWED, children=children * n)

def handlers_that_are_nested_or_reset_after_one_signal_work(t):
    """D10: SA_NODEFER, SA_RESETHAND"""
    any_way(t, "nodefer", children=10)

def queued_values_arrive_once_and_in_order(t):
    """D10: signalfd(), sigwaitinfo(), SA_SIGINFO; another thread sends the signals"""
    any_way(t, "queued", 400)

def waits_that_unblock_a_signal_end_when_it_arrives(t):
    """D10: pselect(), ppoll(), epoll_pwait(), sigsuspend()"""
    any_way(t, "atomic")

def a_parent_receives_exactly_the_notifications_of_its_children(t):
    """D12: each exit, stop, continue and kill is reported by one SIGCHLD and by waitid()"""
    any_way(t, "children", children=20)

def children_that_are_not_waited_for_leave_no_zombie(t):
    """D12: SIGCHLD ignored, SA_NOCLDWAIT"""
    any_way(t, "ignored", children=10)

def only_the_programs_own_system_calls_are_dispatched(t):
    """D15: no injected system call is dispatched (PR_SET_SYSCALL_USER_DISPATCH)"""
    any_way(t, "dispatched", 1000)

def threads_that_end_in_a_handler_do_not_stop_other_threads(t):
    """C9: threads that hold a robust mutex end in a handler, often in the middle of a probe"""
    for flags, n in zip(BOTH, (100, 20)):
        taken(t, "robust", n, flags)

class Taken:
    """The victim `taken`, started without dtrace."""
    def __init__(self, t, *words):
        self.process = subprocess.Popen([t.victim("taken"), *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        equal(self.process.stdout.readline(), "ready\n", "the target")
        self.pid = self.process.pid
    def end(self, want):
        out, errors = self.process.communicate("x\n", timeout=100)
        equal((self.process.returncode, errors, out.splitlines()[0]), (0, "", want), "its end")
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

def attach_and_detach_do_not_end_waits(t):
    """D10, D16: the kernel does not restart epoll_wait() and sigtimedwait(), so a stop could end these waits early"""
    with Taken(t, "waiting") as target:
        for flags in BOTH:
            for _ in range(20 if t.long else 3):
                tracer = Tracer(t, "pid$target:a.out:ten:entry,pid$target:libc.so.6::return { @ = count(); }",
                                target.pid, flags=flags)
                time.sleep(0.15)  # several waits of ten milliseconds end during this time
                tracer.finish()
                untouched(target.pid)
        target.end("good 0")

def waits_that_unblock_a_signal_end_by_it_during_attach_and_detach(t):
    """D10: the signal may arrive during an injected system call, when the wait's signal mask is not in force"""
    n = 100000 if t.long else 4000
    for flags in BOTH:
        with held(subprocess.Popen([t.victim("taken"), "alone", str(n)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)) as target:
            traced_again_and_again(t, ALL if flags == () else WORK, target, 0.05, flags)
            out, errors = target.communicate(timeout=100)
        equal((target.returncode, errors, out.splitlines()[0]), (0, "", f"good {n}"), "its end")

def attach_and_detach_work_while_system_calls_are_dispatched(t):
    """D15: an injected system call would be dispatched to the program, so dtrace uses breakpoints"""
    n = 400000
    with Taken(t, "dispatched", str(n)) as target:
        for flags in BOTH:
            tracer = Tracer(t, WORK + so_far(), target.pid, flags=flags)
            fired(tracer.out.read_text)
            tracer.finish()
            untouched(target.pid)
        target.end(f"good {n}")

TESTS = tests_in(globals(), taken, any_way)

if __name__ == "__main__":
    main(TESTS)
