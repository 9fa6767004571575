#!/usr/bin/env python3
"""Targets that keep the agent waiting: they are given up alone, within seconds."""
import os, signal, subprocess, time

from faults import *
from harness import *

PROGRAM = "pid$target:a.out:work:entry { @ = count(); }"
LIMIT_S = 25 # the agent's own limits are 2 s and 10 s; the machine may be busy

class Circler(Holder):
    """The victim `circler`: work() is called all the time."""
    def __init__(self, t):
        self.process = subprocess.Popen([t.victim("circler")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0)
        self.lines = Line(self.process.stdout)
        self.pid = self.process.pid
        equal(self.lines.next(), b"ready\n", "the target")

    def attack(self, how, says):
        self.process.stdin.write(how)
        equal(self.lines.next(), says, "the target")

def attacked(t, how, says, end):
    """Two targets, of which one misbehaves; what dtrace said, and how long it took to end."""
    with Circler(t) as hostile, Circler(t) as innocent, \
         Tracer(t, PROGRAM, hostile.pid, innocent.pid) as tracer:
        hostile.attack(how, says)
        began = time.monotonic()
        end(tracer.process)
        _, errors = tracer.process.communicate(timeout=LIMIT_S)
        took = time.monotonic() - began
        wait_until(lambda: tracer_of(innocent.pid) == 0, LIMIT_S, "the other target's release")
        equal(text_differs(innocent.pid), [], "changed text of the other target")
        equal(process_state(innocent.pid) in "RS", True, "the other target runs")
        wait_until(lambda: tracer_of(hostile.pid) == 0, LIMIT_S, "the release of the one that misbehaves")
        return errors, took

def process_state(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]

def interrupt(process):
    process.send_signal(signal.SIGINT)

def a_thread_that_circles_in_the_probes_code_does_not_keep_detach_waiting(t):
    attacked(t, b"c", b"circles\n", interrupt)

def the_other_target_is_released_when_dtrace_is_killed_meanwhile(t):
    attacked(t, b"c", b"circles\n", lambda process: process.kill())

def a_thread_that_waits_for_its_vfork_child_does_not_keep_detach_waiting(t):
    attacked(t, b"v", b"vforked\n", interrupt)

def a_target_that_is_given_up_is_named_and_the_other_one_is_traced_on(t):
    with Circler(t) as hostile, Circler(t) as innocent, \
         Tracer(t, PROGRAM + " tick-10hz { @ticks = count(); }", hostile.pid, innocent.pid) as tracer:
        hostile.attack(b"c", b"circles\n")
        wait_until(lambda: tracer_of(hostile.pid) == 0, LIMIT_S, "the release of the one that misbehaves")
        equal(tracer_of(innocent.pid) != 0, True, "the other one is traced")
        interrupt(tracer.process)
        _, errors = tracer.process.communicate(timeout=LIMIT_S)
        contains(errors, f"process {hostile.pid} kept dtrace waiting: a thread of it does not leave the probes' code")
        equal(tracer.process.returncode, 1, errors) # data is missing

def a_second_interrupt_ends_the_wait_for_the_release(t):
    def twice(process):
        interrupt(process)
        time.sleep(0.3) # two presses of a key are further apart than one interrupt lasts
        if process.poll() is None:
            interrupt(process)
    _, took = attacked(t, b"c", b"circles\n", twice)
    equal(took < LIMIT_S, True, "took")

TESTS = [a_thread_that_circles_in_the_probes_code_does_not_keep_detach_waiting,
         the_other_target_is_released_when_dtrace_is_killed_meanwhile,
         a_thread_that_waits_for_its_vfork_child_does_not_keep_detach_waiting,
         a_target_that_is_given_up_is_named_and_the_other_one_is_traced_on,
         a_second_interrupt_ends_the_wait_for_the_release]

if __name__ == "__main__":
    main(TESTS)
