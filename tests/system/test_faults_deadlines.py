#!/usr/bin/env python3
"""Tests targets that keep the agent waiting. The agent must give up on such a target after a few seconds, and continue
to trace the other targets."""
import contextlib, os, pathlib, signal, subprocess, time

from faults import *
from harness import *
from traced import of_another_user

PROGRAM = "pid$target:a.out:work:entry { @ = count(); }"
LIMIT_S = 25 # the agent's own limits are 2 s and 10 s; the machine may be busy
# The agent gives up after 2 s on a thread that runs in a loop, and after 10 s on a thread that is only slow.
CIRCLES_S = 8
# When dtrace exits, it may need up to 7 s to release all targets. The machine may be busy.
TOGETHER_S = 10

class Circler(Holder):
    """The victim `circler`, which calls work() continuously."""
    def __init__(self, t):
        self.process = subprocess.Popen(of_another_user(t, "circler"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0)
        self.lines = Line(self.process.stdout)
        self.pid = self.process.pid
        equal(self.lines.next(), b"ready\n", "the target")

    def attack(self, how, says):
        self.process.stdin.write(how)
        equal(self.lines.next(), says, "the target")

def attacked(t, how, says, end):
    """Traces two targets, one of which misbehaves. Returns dtrace's messages, and how long dtrace took to exit."""
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
        wait_until(lambda: tracer_of(hostile.pid) == 0, LIMIT_S, "the release of the hostile target")
        return errors, took

def process_state(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]

def interrupt(process):
    process.send_signal(signal.SIGINT)

def a_thread_that_loops_in_injected_code_does_not_delay_the_detach(t):
    attacked(t, b"c", b"circles\n", interrupt)

def the_other_target_is_released_when_dtrace_is_killed_during_such_a_wait(t):
    attacked(t, b"c", b"circles\n", lambda process: process.kill())

def a_thread_that_waits_for_its_vfork_child_does_not_delay_the_detach(t):
    attacked(t, b"v", b"vforked\n", interrupt)

def a_target_with_many_queued_signals_does_not_delay_the_detach(t):
    code = """import signal, threading
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
for _ in range(60000): signal.pthread_kill(threading.get_ident(), signal.SIGRTMIN)
print("ready", flush=True)
input()"""
    user = as_nobody() if os.geteuid() == 0 else []
    with held(subprocess.Popen([*user, "/usr/bin/python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as target:
        equal(Line(target.stdout).next(), b"ready\n", "the target")
        began = time.monotonic()
        done = t.run("-qn", "pid$target:libc.so.6:malloc:entry { @ = count(); } BEGIN { exit(0); }", "-p", str(target.pid),
                     timeout=LIMIT_S)
        took = time.monotonic() - began
        equal((done.returncode, done.stderr), (0, ""), "dtrace")
        if took > CIRCLES_S:
            raise AssertionError(f"dtrace took {took:.1f} s to attach to the target and to detach from it")

def a_target_that_is_given_up_is_named_and_the_other_stays_traced(t):
    with Circler(t) as hostile, Circler(t) as innocent, \
         Tracer(t, PROGRAM + " tick-10hz { @ticks = count(); }", hostile.pid, innocent.pid) as tracer:
        hostile.attack(b"c", b"circles\n")
        wait_until(lambda: tracer_of(hostile.pid) == 0, CIRCLES_S, "the release of the hostile target")
        equal(tracer_of(innocent.pid) != 0, True, "the other target is traced")
        interrupt(tracer.process)
        _, errors = tracer.process.communicate(timeout=LIMIT_S)
        contains(errors, f"dtrace released process {hostile.pid}: one of its threads did not leave the probe code in time")
        equal(tracer.process.returncode, 1, errors) # the status is 1 because data is missing

def a_second_interrupt_ends_the_wait_for_the_release(t):
    def twice(process):
        interrupt(process)
        time.sleep(0.3) # if the gap were shorter, dtrace would treat both signals as one interrupt
        if process.poll() is None:
            interrupt(process)
    _, took = attacked(t, b"c", b"circles\n", twice)
    equal(took < LIMIT_S, True, "took")

# A frozen control group can stop a thread in the middle of a system call that the agent injected.

@contextlib.contextmanager
def control_group(pid, parents):
    """Creates a control group in the first of the `parents` that permits it, and moves the process into this group.
    Yields the group's directory."""
    for parent in parents:
        group = pathlib.Path(parent) / f"dtrace-test-{pid}"
        try:
            group.mkdir()
            break
        except OSError:
            continue
    else:
        raise Skip("no control group can be created here")
    try:
        (group / "cgroup.procs").write_text(str(pid))
        yield group
    finally:
        try: # move the process back, so that the group can be removed
            (group.parent / "cgroup.procs").write_text(str(pid))
        except OSError:
            pass
        wait_until(lambda: not (group / "cgroup.procs").read_text(), what="an empty control group")
        group.rmdir()

@contextlib.contextmanager
def freezer(pid):
    """Moves the process into a new control group. Yields a function that freezes and thaws the group."""
    mounts = (line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines())
    with control_group(pid, [mount[1] for mount in mounts if mount[2] == "cgroup2"]) as group:
        if not (group / "cgroup.freeze").exists():
            raise Skip("control groups cannot be frozen here")
        def freeze(on):
            (group / "cgroup.freeze").write_text("1" if on else "0")
            wait_until(lambda: f"frozen {int(on)}" in (group / "cgroup.events").read_text(),
                       what="a change of the freezer")
        try:
            yield freeze
        finally:
            freeze(False)

def the_text_of_a_frozen_target_is_restored(t):
    for flags in BOTH:
        for end in (interrupt, lambda process: process.kill()):
            with Circler(t) as target, freezer(target.pid) as freeze, \
                 Tracer(t, PROGRAM, target.pid, flags=flags) as tracer:
                agent = tracer_of(target.pid)
                freeze(True)
                end(tracer.process)
                tracer.process.communicate(timeout=LIMIT_S)
                wait_until(lambda: not is_alive(agent), TOGETHER_S, "the end of the agent")
                equal(tracer_of(target.pid), 0, "TracerPid")
                equal(text_differs(target.pid), [], "changed text of the frozen target")
                freeze(False)
                computes(target.pid)
                equal(text_differs(target.pid), [], "changed text of the target")
                equal(process_state(target.pid) in "RS", True, "the target runs")

def frozen_targets_are_released_in_the_time_of_one(t):
    with contextlib.ExitStack() as ends:
        targets = [ends.enter_context(Circler(t)) for _ in range(6)]
        freezes = [ends.enter_context(freezer(each.pid)) for each in targets]
        program = " ".join(PROGRAM.replace("$target", str(each.pid)) for each in targets)
        tracer = ends.enter_context(Tracer(t, program, *(each.pid for each in targets)))
        agent = tracer_of(targets[0].pid)
        for freeze in freezes:
            freeze(True)
        began = time.monotonic()
        interrupt(tracer.process)
        tracer.process.communicate(timeout=LIMIT_S)
        wait_until(lambda: not is_alive(agent), LIMIT_S, "the end of the agent")
        took = time.monotonic() - began
        if took > TOGETHER_S:
            raise AssertionError(f"the release of {len(targets)} frozen targets took {took:.1f} s")
        for each in targets:
            equal(text_differs(each.pid), [], "changed text of a frozen target")

@contextlib.contextmanager
def old_freezer(pid):
    """Like freezer(), but uses a version 1 control group. ptrace does not report threads that such a group freezes."""
    with control_group(pid, ["/sys/fs/cgroup/freezer"]) as group:
        def freeze(on):
            (group / "freezer.state").write_text("FROZEN" if on else "THAWED")
        try:
            yield freeze
        finally:
            freeze(False)

def a_target_that_is_frozen_while_probes_are_planted_outlives_the_agent(t):
    # To plant breakpoints, the agent makes the target execute a system call that installs a handler.
    for flags in ("-x", "mechanism=int3"), ():
        for after_ms in (25, 45, 65):
            with Circler(t) as target, old_freezer(target.pid) as freeze:
                tracer = t.start("-qn", "pid$target:libc.so.6::entry, " + PROGRAM, "-p", str(target.pid), *flags)
                try:
                    wait_until(lambda: tracer_of(target.pid) != 0, what="the start of the agent")
                    agent = tracer_of(target.pid)
                    time.sleep(after_ms / 1000) # freeze at a different moment in each round
                    freeze(True)
                    time.sleep(2.3) # after this time, the agent has given up on the system call
                    os.kill(agent, signal.SIGKILL)
                    wait_until(lambda: not is_alive(agent), what="the agent's end")
                    freeze(False)
                    tracer.communicate(timeout=LIMIT_S)
                    computes(target.pid)
                    equal(process_state(target.pid) in "RS", True, f"the target runs, {flags}, {after_ms} ms")
                finally:
                    tracer.kill()

# Targets that are hard to attach to

class Stalled(Holder):
    """The victim `stalled`, which stays in execve(2)."""
    def __init__(self, t):
        self.process = subprocess.Popen([t.victim("stalled")], stdout=subprocess.PIPE, bufsize=0)
        if Line(self.process.stdout).next() != b"ready\n":
            raise Skip("no userfaultfd is available here")
        self.pid = self.process.pid
        wait_until(lambda: pathlib.Path(f"/proc/{self.pid}/syscall").read_text().startswith("59 "), what="an execve(2)")

def a_target_that_stays_in_execve_does_not_delay_another_target(t):
    with Stalled(t) as stalled, Circler(t) as innocent:
        began = time.monotonic()
        done = t.run("-q", "-n", f"pid{innocent.pid}:a.out:work:entry {{ exit(0); }}",
                     "-p", str(innocent.pid), "-p", str(stalled.pid), timeout=LIMIT_S)
        took = time.monotonic() - began
        if not any(part in done.stderr for part in (f"dtrace released process {stalled.pid}: ", "its exec did not finish within 2 s")):
            raise AssertionError(done.stderr)
        if took > CIRCLES_S:
            raise AssertionError(f"dtrace took {took:.1f} s to refuse the target")
        equal(tracer_of(innocent.pid), 0, "TracerPid of the other target")

def untraced_threads(pid):
    """Returns the threads of a traced process that are not traced themselves."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            status = pathlib.Path(f"/proc/{pid}/task/{tid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if "TracerPid:\t0\n" in status and not any(f"State:\t{end}" in status for end in "XZ"):
            found.append(tid)
    return found

def no_thread_stays_untraced_by_creating_its_successor(t):
    for _ in range(100 if t.long else 12):
        process = subprocess.Popen([*of_another_user(t, "chains"), "64"], stdout=subprocess.PIPE, bufsize=0)
        with held(process):
            equal(Line(process.stdout).next(), b"ready\n", "the target")
            with Tracer(t, PROGRAM, process.pid) as tracer:
                for _ in range(5):
                    equal(untraced_threads(process.pid), [], "untraced threads")
                equal(tracer.process.poll(), None, "dtrace runs")
                interrupt(tracer.process)
                tracer.process.communicate(timeout=LIMIT_S)

# Several targets that misbehave at once (tests/victims/attacker.c lists the attacks)

class Attacker(Circler):
    """The victim `attacker`, whose threads call work() continuously."""
    def __init__(self, t, attacks):
        self.process = subprocess.Popen([*of_another_user(t, "attacker"), attacks], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.lines = Line(self.process.stdout)
        equal(self.lines.next(), b"ready\n", "the target")
        self.pid = self.process.pid

def attacked_by_all(t, attacks, end, flags=()):
    """Traces two innocent targets, and one target for each attack. The innocent targets must be released in time."""
    with contextlib.ExitStack() as ends:
        first, *hostile, last = [ends.enter_context(Attacker(t, each)) for each in ("", *attacks, "")]
        innocent = [first, last]
        pids = [each.pid for each in (first, *hostile, last)]
        program = " ".join(f"pid{pid}:a.out:work:entry {{ @[ustackdepth] = count(); }}" for pid in pids)
        tracer = ends.enter_context(Tracer(t, program, *pids, flags=flags))
        agent = tracer_of(first.pid)
        for each in hostile:
            each.attack(b"x", b"attacks\n")
        time.sleep(0.3) # the attacks take place during this time
        began = time.monotonic()
        end(tracer.process)
        for each in innocent:
            wait_until(lambda: tracer_of(each.pid) == 0, TOGETHER_S, f"the release of the other targets, {attacks}")
        _, errors = tracer.process.communicate(timeout=LIMIT_S)
        wait_until(lambda: not is_alive(agent), LIMIT_S, "the end of the agent")
        took = time.monotonic() - began
        if end is interrupt: # the status is 1 because data of the hostile targets are missing
            equal((tracer.process.returncode in (0, 1), "agent has exited" in errors), (True, False), errors)
        if took > TOGETHER_S:
            raise AssertionError(f"dtrace took {took:.1f} s to end under {attacks}")
        for each in innocent:
            equal(text_differs(each.pid), [], "changed text of another target")
            equal(process_state(each.pid) in "RS", True, "another target runs")

def under_all(t, *attacks):
    for _ in range(6 if t.long else 1):
        for end in (interrupt, lambda process: process.kill()):
            attacked_by_all(t, attacks, end)

def targets_that_unmap_injected_memory_do_not_keep_dtrace_waiting(t):
    under_all(t, *"uuu")

def dtrace_waits_for_all_targets_that_loop_in_injected_code_at_the_same_time(t):
    under_all(t, *"cccccc")

def targets_that_attack_in_all_ways_are_given_up_at_the_same_time(t):
    under_all(t, "cvtbs", "cutfx", "pvtb", "us")
    for _ in range(6 if t.long else 1):
        attacked_by_all(t, ("vtbs", "utfx", "pvtb"), interrupt, ("-x", "mechanism=int3"))

TESTS = [a_thread_that_loops_in_injected_code_does_not_delay_the_detach,
         the_other_target_is_released_when_dtrace_is_killed_during_such_a_wait,
         a_thread_that_waits_for_its_vfork_child_does_not_delay_the_detach,
         a_target_with_many_queued_signals_does_not_delay_the_detach,
         a_target_that_is_given_up_is_named_and_the_other_stays_traced,
         a_second_interrupt_ends_the_wait_for_the_release,
         the_text_of_a_frozen_target_is_restored,
         frozen_targets_are_released_in_the_time_of_one,
         a_target_that_is_frozen_while_probes_are_planted_outlives_the_agent,
         a_target_that_stays_in_execve_does_not_delay_another_target,
         no_thread_stays_untraced_by_creating_its_successor,
         targets_that_unmap_injected_memory_do_not_keep_dtrace_waiting,
         dtrace_waits_for_all_targets_that_loop_in_injected_code_at_the_same_time,
         targets_that_attack_in_all_ways_are_given_up_at_the_same_time]

if __name__ == "__main__":
    main(TESTS)
