#!/usr/bin/env python3
"""Tests that dtrace and the uprobes of another tracer do not harm a target that both trace."""
import os, pathlib, re, subprocess

from harness import *
from faults import BOTH, Line, Tracer
from uprobes import Uprobe

NAMES = ("first_1", "first_2", "first_xor", "first_4", "first_5")
COUNTS = "pid$target:a.out:first_*:entry { @[probefunc] = count(); } "
NOTE = "another tracer has set"

class Sites(Holder):
    """The victim `uprobe_sites`, which calls each function a hundred times when the test requests it."""
    def __init__(self, t):
        need("nm")
        self.path = t.victim("uprobe_sites")
        symbols = subprocess.run(["nm", self.path], capture_output=True, text=True, check=True).stdout
        self.at = {name: int(re.search(rf"^([0-9a-f]+) T {name}$", symbols, re.M)[1], 16) for name in NAMES}
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.lines = Line(self.process.stdout)
        equal(self.lines.next().split()[0], b"ready", "the victim")
        self.pid = self.process.pid

    def call(self, where):
        os.write(self.process.stdin.fileno(), b"x")
        try:
            equal(self.lines.next(60), b"done\n", where)
        except AssertionError:
            raise AssertionError(f"{where}: the victim ended with status {self.process.wait(timeout=10)}")

    def has_no_jumps(self):
        """Returns whether each function has its original bytes, perhaps except the first one."""
        maps = pathlib.Path(f"/proc/{self.pid}/maps").read_text()
        base = int(re.search(rf"^([0-9a-f]+)-\S+ \S+ 00000000 .*{re.escape(self.path)}$", maps, re.M)[1], 16)
        def text_at(path, start):
            with open(path, "rb", buffering=0) as file:
                file.seek(start)
                return file.read(5)[1:]
        return all(text_at(f"/proc/{self.pid}/mem", base + at) == text_at(self.path, at) for at in self.at.values())

    def uprobes(self, **more):
        """Sets a uprobe at each function."""
        return [Uprobe(self.path, self.at[name], self.pid, **more) for name in NAMES]

    def end(self):
        self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, "the victim's status")

def uprobe_counts(uprobes):
    return [uprobe.count() for uprobe in uprobes]

def both(t):
    """Yields the flags of each mechanism with a new victim."""
    for flags in BOTH:
        with Sites(t) as victim:
            yield victim, flags
            victim.end()

def uprobes_may_be_set_and_removed_where_dtrace_has_jumps(t):
    """O2: the first call after a uprobe was set traps inside the jump, and dtrace then removes the jump"""
    for victim, flags in both(t):
        for at_return in (False, True):
            tracer = Tracer(t, COUNTS, victim.pid, flags=flags)
            victim.call("with probes")
            uprobes = victim.uprobes(at_return=at_return)
            for _ in range(3):
                victim.call("with probes and uprobes")
            equal(uprobe_counts(uprobes), [300] * 5, "hits of the uprobes")
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
        if not flags:
            victim.call("with probes and uprobes")
        tracer.finish()
        for _ in range(2):
            victim.call("with uprobes")
        if not flags:
            equal(uprobe_counts(uprobes), [300] * 5, "hits of the uprobes")
        for uprobe in uprobes:
            uprobe.close()
        victim.call("after the uprobes")
        equal(text_differs(victim.pid), [], "changed text")

def dtrace_finds_uprobes_that_no_thread_reaches(t):
    """O2: when such a uprobe is removed, the kernel writes the first byte of the file, so the jump must have been
    removed before"""
    with Sites(t) as victim:
        tracer = Tracer(t, COUNTS, victim.pid)
        victim.call("with probes")
        uprobes = victim.uprobes()
        wait_until(victim.has_no_jumps, seconds=10, what="the removal of the jumps")
        for uprobe in uprobes:
            uprobe.close()
        victim.call("after the uprobes")
        out = tracer.finish()
        equal(NOTE in tracer.errors, True, tracer.errors)
        equal([found_count(out, name) for name in NAMES], [100] * 5, "firings before the uprobes")
        equal(text_differs(victim.pid), [], "changed text")
        victim.end()

def found_count(out, name):
    return sum(map(int, re.findall(rf"^ *{name} +(\d+)$", out, re.M)))

def uprobes_that_were_there_first_stay(t):
    """F32: dtrace neither moves nor removes the kernel's breakpoints"""
    for victim, flags in both(t):
        for at_return in (False, True):
            uprobes = victim.uprobes(at_return=at_return)
            before = text_differs(victim.pid)
            tracer = Tracer(t, COUNTS + "pid$target:a.out:first_*:return { @r[probefunc] = count(); }", victim.pid,
                            flags=flags)
            victim.call("with uprobes and probes")
            tracer.finish()
            victim.call("after dtrace")
            equal(uprobe_counts(uprobes), [200] * 5, "hits of the uprobes")
            equal(text_differs(victim.pid), before, "changed text")
            for uprobe in uprobes:
                uprobe.close()
            victim.call("after the uprobes")
            equal(text_differs(victim.pid), [], "changed text")

TESTS = tests_in(globals(), both)

if __name__ == "__main__":
    main(TESTS)
