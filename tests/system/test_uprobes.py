#!/usr/bin/env python3
"""Tests that a target survives dtrace, and uprobes of another tracer at the same functions."""
import os, pathlib, re, subprocess

from harness import *
from faults import BOTH, Line, Tracer
from uprobes import Uprobe

NAMES = ("first_1", "first_2", "first_xor", "first_4", "first_5", "first_endbr")
COUNTS = "pid$target:a.out:first_*:entry { @[probefunc] = count(); } "
# The window of first_endbr begins after the endbr64, so a uprobe at the endbr64 does not change it.
NOTE = "where dtrace has a jump"

class Sites(Holder):
    """The victim `uprobe_sites`, which calls each function a hundred times when the test requests it."""
    def __init__(self, t):
        need("nm")
        self.path = t.victim("uprobe_sites")
        symbols = subprocess.run(["nm", self.path], capture_output=True, text=True, check=True).stdout
        self.at = {name: int(re.search(rf"^([0-9a-f]+) T {name}$", symbols, re.M)[1], 16) for name in NAMES}
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.lines = Line(self.process.stdout)
        self.pid = self.process.pid
        equal(self.lines.next().split()[0], b"ready", "the victim")
        Uprobe(self.path, self.at[NAMES[0]], self.pid).close() # skips the test if uprobes are impossible

    def call(self, where):
        os.write(self.process.stdin.fileno(), b"x")
        try:
            line = self.lines.next(60)
        except AssertionError as error:
            raise AssertionError(f"{where}: the victim's status is {self.process.poll()}: {error}")
        equal(line, b"done\n", where)

    def has_restored(self, name, uprobes=(0,)):
        """Returns a condition: the function has its original bytes, except those at the offsets of uprobes."""
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text()
        base = int(re.search(rf"^([0-9a-f]+)-\S+ \S+ 00000000 .*{re.escape(self.path)}$", maps, re.M)[1], 16)
        def text_at(path, start):
            with open(path, "rb", buffering=0) as file:
                file.seek(start)
                return [byte for k, byte in enumerate(file.read(8)) if k not in uprobes]
        return lambda: text_at(f"/proc/{self.pid}/mem", base + self.at[name]) == text_at(self.path, self.at[name])

    def uprobes(self, **more):
        """Sets a uprobe at each function."""
        return [Uprobe(self.path, self.at[name], self.pid, **more) for name in NAMES]

    def end(self):
        self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, "the victim's status")

def uprobe_counts(uprobes):
    return [uprobe.count() for uprobe in uprobes]

def both(t):
    """Yields a new victim and dtrace's flags, for each mechanism."""
    for flags in BOTH:
        with Sites(t) as victim:
            yield victim, flags
            victim.end()

def uprobes_may_be_set_and_removed_where_dtrace_has_jumps(t):
    """O2: a call after a uprobe was set usually traps inside the jump, and dtrace then removes all changed jumps"""
    for victim, flags in both(t):
        for at_return in (False, True):
            tracer = Tracer(t, COUNTS, victim.pid, flags=flags)
            victim.call("with probes")
            uprobes = victim.uprobes(at_return=at_return)
            for _ in range(3):
                victim.call("with probes and uprobes")
            equal(uprobe_counts(uprobes), [300] * len(NAMES), "hits of the uprobes")
            for uprobe in uprobes:
                uprobe.close()
            victim.call("after the uprobes")
            tracer.finish()
            equal(NOTE in tracer.errors, not flags, tracer.errors)
            victim.call("after dtrace")
            equal(text_differs(victim.pid), [], "changed text")

def uprobes_stay_when_dtrace_detaches(t):
    """O2: the uprobes were set while dtrace had jumps there"""
    for victim, flags in both(t):
        tracer = Tracer(t, COUNTS, victim.pid, flags=flags)
        uprobes = victim.uprobes()
        tracer.finish() # before or after dtrace has detected the uprobes
        for _ in range(2):
            victim.call("with uprobes")
        if not flags: # dtrace removes its breakpoints, and with them the uprobes at the same instructions
            equal(uprobe_counts(uprobes), [200] * len(NAMES), "hits of the uprobes")
        for uprobe in uprobes:
            uprobe.close()
        victim.call("after the uprobes")
        equal(text_differs(victim.pid), [], "changed text")

def dtrace_finds_uprobes_that_no_thread_reaches(t):
    """O2: when such a uprobe is removed, the kernel writes the function's first byte from the file, so the jump must
    have been removed before"""
    with Sites(t) as victim:
        tracer = Tracer(t, COUNTS, victim.pid)
        victim.call("with probes")
        uprobes = victim.uprobes()
        for name in NAMES[:5]:
            wait_until(victim.has_restored(name), seconds=10, what="the removal of the jumps")
        for uprobe in uprobes:
            uprobe.close()
        victim.call("after the uprobes")
        out = tracer.finish()
        equal(NOTE in tracer.errors, True, tracer.errors)
        equal([found_count(out, name) for name in NAMES], [100] * 5 + [200], "firings")
        equal(text_differs(victim.pid), [], "changed text")
        victim.end()

def dtrace_finds_a_uprobe_on_an_instruction_as_long_as_the_jump(t):
    """O2: no thread traps, because the instruction after the uprobe is not inside the jump"""
    with Sites(t) as victim:
        tracer = Tracer(t, COUNTS, victim.pid)
        with Uprobe(victim.path, victim.at["first_5"], victim.pid) as uprobe:
            victim.call("with a uprobe")
            wait_until(victim.has_restored("first_5"), seconds=10, what="the removal of the jump")
            equal(uprobe.count(), 100, "hits of the uprobe")
        victim.call("after the uprobe")
        out = tracer.finish()
        equal(found_count(out, "first_4"), 200, "firings of another function")
        equal(text_differs(victim.pid), [], "changed text")
        victim.end()

def a_uprobe_inside_a_function_may_be_removed_while_dtrace_traces_the_entry(t):
    """F32: the jump relies on no byte of the uprobe's instruction"""
    for victim, flags in both(t):
        with Uprobe(victim.path, victim.at["first_4"] + 4, victim.pid) as uprobe:
            tracer = Tracer(t, COUNTS, victim.pid, flags=flags)
            victim.call("with a uprobe")
            equal(uprobe.count(), 100, "hits of the uprobe")
        victim.call("after the uprobe")
        tracer.finish()
        victim.call("after dtrace")
        equal(text_differs(victim.pid), [], "changed text")

def many_uprobes_in_one_jump_do_no_harm(t):
    """O2: all of them are set before the next comparison"""
    with Sites(t) as victim:
        tracer = Tracer(t, COUNTS, victim.pid)
        uprobes = [Uprobe(victim.path, victim.at["first_1"] + offset, victim.pid) for offset in (0, 1, 4)]
        wait_until(victim.has_restored("first_1", (0, 1, 4)), seconds=10, what="the removal of the jump")
        for uprobe in uprobes:
            uprobe.close()
        victim.call("after the uprobes")
        tracer.finish()
        equal(text_differs(victim.pid), [], "changed text")
        victim.end()

def found_count(out, name):
    return sum(map(int, re.findall(rf"^ *{name} +(\d+)$", out, re.M)))

def uprobes_set_before_the_attach_stay(t):
    """F32: dtrace neither moves nor removes the kernel's breakpoints"""
    for victim, flags in both(t):
        for at_return in (False, True):
            uprobes = victim.uprobes(at_return=at_return)
            before = text_differs(victim.pid)
            tracer = Tracer(t, COUNTS + "pid$target:a.out:first_*:return { @r[probefunc] = count(); }", victim.pid,
                            flags=flags)
            victim.call("with uprobes and probes")
            out = tracer.finish()
            # A jump at the return of these functions would need the first byte of the next function.
            no_jump = () if flags else ("first_2", "first_4")
            equal([found_count(out, name) for name in NAMES], [0 if name in no_jump else 100 for name in NAMES],
                  "firings of the return probes")
            victim.call("after dtrace")
            equal(uprobe_counts(uprobes), [200] * len(NAMES), "hits of the uprobes")
            equal(text_differs(victim.pid), before, "changed text")
            for uprobe in uprobes:
                uprobe.close()
            victim.call("after the uprobes")
            equal(text_differs(victim.pid), [], "changed text")

TESTS = tests_in(globals(), both)

if __name__ == "__main__":
    main(TESTS)
