#!/usr/bin/env python3
"""Targets that keep the agent waiting: they are given up alone, within seconds."""
import contextlib, os, pathlib, signal, subprocess, time

from faults import *
from harness import *

PROGRAM = "pid$target:a.out:work:entry { @ = count(); }"
LIMIT_S = 25 # the agent's own limits are 2 s and 10 s; the machine may be busy
# At the end: 2 s for a wait that began before, 2 s for all targets together, and 1 s for
# signals that were kept. The targets themselves keep the machine busy.
TOGETHER_S = 10

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
        wait_until(lambda: tracer_of(innocent.pid) == 0, TOGETHER_S, "the other target's release")
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

# Several targets that misbehave at once (the victim says how)

# The agent's stub is in the last bytes of a mapping, after the text (ptrace-agent/call_stub.S).
STUB_BYTES = 512

class Attacker(Circler):
    """The victim `attacker`: its threads call work() all the time."""
    def __init__(self, t, attacks):
        self.process = subprocess.Popen([t.victim("attacker"), attacks], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0)
        self.lines = Line(self.process.stdout)
        equal(self.lines.next(), b"ready\n", "the target")
        self.pid = self.process.pid

def attacked_by_all(t, attacks, end, flags=()):
    """Targets that misbehave, and one before and one after them that do not."""
    with contextlib.ExitStack() as ends:
        first, *hostile, last = [ends.enter_context(Attacker(t, each)) for each in ("", *attacks, "")]
        innocent = [first, last]
        pids = [each.pid for each in (first, *hostile, last)]
        program = " ".join(f"pid{pid}:a.out:work:entry {{ @[ustackdepth] = count(); }}" for pid in pids)
        tracer = ends.enter_context(Tracer(t, program, *pids, flags=flags))
        agent = tracer_of(first.pid)
        for each in hostile:
            each.attack(b"x", b"attacks\n")
        time.sleep(0.3)
        began = time.monotonic()
        end(tracer.process)
        for each in innocent:
            wait_until(lambda: tracer_of(each.pid) == 0, TOGETHER_S, f"the release of another target than {attacks}")
        tracer.process.communicate(timeout=LIMIT_S)
        wait_until(lambda: not is_alive(agent), LIMIT_S, "the end of the agent")
        took = time.monotonic() - began
        if took > TOGETHER_S:
            raise AssertionError(f"dtrace took {took:.1f} s to end under {attacks}")
        for each in innocent:
            equal(program_differs(each.pid), [], "changed text of another target")
            equal(process_state(each.pid) in "RS", True, "another target runs")

def program_differs(pid):
    """Changed bytes of the program's text. If a thread had no processor for so long that a system call which the agent
    made in it was late, it still returns through the agent's stub. The stub is in the padding after the text."""
    return [place for place in text_differs(pid) if not is_in_padding(pid, place)]

def is_in_padding(pid, place):
    path, _, offset = place.rpartition("+")
    padding_begins = [int(fields[2], 16) + int(fields[0].split("-")[1], 16) - int(fields[0].split("-")[0], 16) - STUB_BYTES
                      for fields in (line.split(None, 5) for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines())
                      if len(fields) == 6 and fields[5] == path and "x" in fields[1]]
    return any(begin <= int(offset, 16) < begin + STUB_BYTES for begin in padding_begins)

def under_all(t, *attacks):
    for _ in range(6 if t.long else 1):
        for end in (interrupt, lambda process: process.kill()):
            attacked_by_all(t, attacks, end)

def targets_that_unmap_what_dtrace_mapped_into_them_do_not_keep_it_waiting(t):
    under_all(t, *"uuu")

def targets_whose_threads_circle_in_the_probes_code_are_waited_for_at_the_same_time(t):
    under_all(t, *"cccccc")

def targets_that_attack_in_all_ways_are_given_up_at_the_same_time(t):
    under_all(t, "cvtbs", "cutfx", "pvtb", "us")
    for _ in range(6 if t.long else 1):
        attacked_by_all(t, ("vtbs", "utfx", "pvtb"), interrupt, ("-x", "mechanism=int3"))

TESTS = [a_thread_that_circles_in_the_probes_code_does_not_keep_detach_waiting,
         the_other_target_is_released_when_dtrace_is_killed_meanwhile,
         a_thread_that_waits_for_its_vfork_child_does_not_keep_detach_waiting,
         a_target_that_is_given_up_is_named_and_the_other_one_is_traced_on,
         a_second_interrupt_ends_the_wait_for_the_release,
         targets_that_unmap_what_dtrace_mapped_into_them_do_not_keep_it_waiting,
         targets_whose_threads_circle_in_the_probes_code_are_waited_for_at_the_same_time,
         targets_that_attack_in_all_ways_are_given_up_at_the_same_time]

if __name__ == "__main__":
    main(TESTS)
