#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Signals that are taken otherwise than by a plain handler, and threads that end in one (C and
D of the catalogue of faults). The victim `taken` knows what signal(7) promises of each."""
import os, subprocess, time

from faults import *
from harness import *

WORK = 'pid$target:a.out:work:entry { @ = count(); } END { printa("entries %@d\\n", @); }'
ALL = 'pid$target:::entry,pid$target:::return { @ = count(); } END { printa("entries %@d\\n", @); }'
FOLLOWED = ("-x", "follow=fork")

def taken(t, how, n, flags=(), program=WORK, children=0):
    """Each of n times was right, and the calls of the program itself were counted."""
    said, out = traced_command(t, program, f"{t.victim('taken')} {how} {n}", flags)
    own = dict(line.split() for line in said.splitlines() if " " in line)
    equal(own["good"], str(n), f"{how} {flags}: right ones")
    if program == WORK:
        equal(found(out, "entries"), int(own["calls"]) + children, f"{how} {flags}: entries")

def any_way(t, how, n=100, children=0):
    """Calls of children that share no memory are counted where they are followed."""
    for flags in BOTH:
        taken(t, how, n, flags)
        taken(t, how, n // 4, flags, ALL)
    taken(t, how, n, FOLLOWED, children=children * n)

def handlers_that_are_nested_or_go_after_one_signal_work(t):
    """D10: SA_NODEFER, SA_RESETHAND"""
    any_way(t, "nodefer", children=10)

def queued_values_arrive_once_and_in_order(t):
    """D10: signalfd(), sigwaitinfo(), SA_SIGINFO; from another thread"""
    any_way(t, "queued", 400)

def waits_that_let_a_signal_in_end_by_it(t):
    """D10: pselect(), ppoll(), epoll_pwait(), sigsuspend()"""
    any_way(t, "atomic")

def a_parent_is_told_of_its_children_and_of_nothing_else(t):
    """D12: exit, stop, continue, kill; each by one SIGCHLD, and to waitid()"""
    any_way(t, "children", children=20)

def children_that_nobody_waits_for_go_away(t):
    """D12: SIGCHLD ignored, SA_NOCLDWAIT"""
    any_way(t, "ignored", children=10)

def a_program_gets_its_own_system_calls_dispatched_and_no_others(t):
    """D15: no system call is made between two of its own"""
    any_way(t, "dispatched", 1000)

def threads_that_end_in_a_handler_leave_the_others_running(t):
    """C9: SIGUSR1 finds them in a probe as often as not; the mutex that they hold is robust"""
    for flags, n in zip(BOTH, (100, 20)):
        taken(t, "robust", n, flags)

class Taken:
    """The victim in its own process, ready."""
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

def waits_are_not_ended_when_tracers_come_and_go(t):
    """D10, D16: epoll_wait() and sigtimedwait(), which the kernel does not restart"""
    with Taken(t, "waiting") as target:
        for flags in BOTH:
            for _ in range(20 if t.long else 3):
                tracer = Tracer(t, "pid$target:a.out:ten:entry,pid$target:libc.so.6::return { @ = count(); }",
                                target.pid, flags=flags)
                time.sleep(0.15)  # waits of ten milliseconds end while they are traced
                tracer.finish()
                untouched(target.pid)
        target.end("good 0")

def waits_that_let_a_signal_in_end_by_it_when_tracers_come_and_go(t):
    """D10: it comes while a call is made for us, and its thread's mask is not the wait's"""
    n = 100000 if t.long else 4000
    for flags in BOTH:
        with held(subprocess.Popen([t.victim("taken"), "alone", str(n)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)) as target:
            traced_again_and_again(t, ALL if flags == () else WORK, target, 0.05, flags)
            out, errors = target.communicate(timeout=100)
        equal((target.returncode, errors, out.splitlines()[0]), (0, "", f"good {n}"), "its end")

def tracers_come_and_go_while_system_calls_are_dispatched(t):
    """D15: a call that is made for us would be one of its own; breakpoints are used then"""
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
