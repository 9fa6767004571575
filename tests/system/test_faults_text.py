#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests text that has several names, belongs to no function, or changes while it is probed (F and I in
docs/faults.md)."""
import os, pathlib, re, shutil, signal, subprocess, sys, time

from faults import *
from harness import *

WORK = "pid$target:a.out:work:entry,pid$target:a.out:work:return { @[probename] = count(); } "
ENDS = 'END { printa("%s %@d\\n", @); }'
ENTRIES = "pid$target:::entry,pid$target:::return "

# Names and places

def each_name_of_a_function_finds_its_probe(t):
    """F23: aliases, weak and hidden names share a probe; parts of a split function have their own probes"""
    n = 100
    said = subprocess.run([t.victim("names"), str(n)], capture_output=True, text=True).stdout
    for flags in BOTH:
        for name, function, count in (("first", "first", 4 * n), ("also_first", "first", 4 * n),
                                      ("maybe_first", "first", 4 * n), ("_hidden_first", "first", 4 * n),
                                      ("chosen_here", "chosen_here", n), ("split", "split", n),
                                      ("split.cold", "split.cold", n // 10), ("rare", "rare", n // 5)):
            got, out = traced_command(t, f"pid$target:a.out:{name}:entry {{ @[probefunc] = count(); }}",
                                      f"{t.victim('names')} {n}", flags)
            equal((got, rows(out)), (said, {function: count}), f"{name} {flags}")
        # Three descriptions match the same probe. A clause runs once per firing, even if it has all three descriptions.
        names = ("first", "also_first", "maybe_first")
        probes = [f"pid$target:a.out:{name}:entry " for name in names]
        _, out = traced_command(t, ",".join(probes) + "{ @[probefunc] = count(); }",
                                f"{t.victim('names')} {n}", flags)
        equal(rows(out), {"first": 4 * n}, "one clause")
        _, out = traced_command(t, "".join(f'{probe} {{ @["{name}"] = count(); }}' for probe, name in
                                           zip(probes, names)), f"{t.victim('names')} {n}", flags)
        equal(rows(out), {name: 4 * n for name in names}, "three clauses")

def the_resolver_of_an_ifunc_fires_when_the_program_is_linked(t):
    """F23, I9: the resolver fires before main(), under either of its names"""
    for flags in BOTH:
        for name in ("choose", "chosen"):
            _, out = traced_command(t, f"pid$target:a.out:{name}:entry {{ @ = count(); }} "
                                    'END { printa("entries %@d\\n", @); }', f"{t.victim('names')} 10",
                                    ("-x", "evaltime=exec", *flags))
            equal(found(out, "entries"), 1, f"{name} {flags}")

def a_change_of_the_text_at_a_jump_is_reported(t):
    """I8: the bytes do not look like those of a uprobe. One of the jumps is at r_brk, which the dynamic linker calls when
    it loads libraries. Two are in clone() and prctl(), with which a program prepares to trace itself."""
    with held(subprocess.Popen(["sleep", "100"])) as target:
        wait_until(lambda: "libc.so.6" in pathlib.Path(f"/proc/{target.pid}/maps").read_text(), what="its libc")
        with held(t.start("-qn", 'pid$target:libc.so.6:qsort:entry { @ = count(); } BEGIN { printf("begun\\n"); }',
                          "-p", str(target.pid))) as dtrace:
            equal(dtrace.stdout.readline(), "begun\n", "dtrace")
            patches = t.run("--patches", "-p", str(target.pid)).stdout
            jumps = re.findall(r"^\s*\d+\s+0x(\w+) .*jump.*$", patches, re.M)
            equal((len(jumps), "when libraries are loaded or unloaded" in patches), (4, True), patches)
            equal(patches.count("when the program is about to trace itself"), 2, patches)
            with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
                for jump in jumps: # no thread executes the jumps
                    memory.seek(int(jump, 16) + 4)
                    memory.write(b"\x77")
            time.sleep(2) # dtrace compares the text at least once a second
            dtrace.send_signal(signal.SIGINT)
            _, errors = dtrace.communicate(timeout=20)
        contains(errors, "the program or another process has changed the code at 4 places where dtrace has a jump")
        contains(errors, "it does not notice libraries that are loaded or unloaded")
        equal("another tracer" in errors, False, errors)

def restartable_sequences_are_not_probed_inside(t):
    """F27: each stop restarts the sequence, so a sequence with a breakpoint in it would never end"""
    if not os.path.exists(t.victim("restarts")):
        raise Skip("its machine code is x86-64's")
    if "no rseq" in subprocess.run([t.victim("restarts"), "1", "1"], capture_output=True, text=True).stdout:
        raise Skip("libc registers no rseq area here")
    for probes in ("pid$target:a.out:count_here:,pid$target:a.out:count_once: ",
                   "pid$target:a.out:count_here:entry,pid$target:a.out:count_here:return ", ENTRIES):
        for flags, n in zip(BOTH, (200000, 1000)):
            said, out = traced_command(t, probes + "{ @[probefunc, probename] = count(); }",
                                       f"{t.victim('restarts')} {n} 3", flags)
            calls = 3 * n + int(re.search(r"again (\d+)", said)[1])
            contains(said, f"sum {3 * n}\n")
            counts = rows(out)
            equal((counts["count_here entry"], counts["count_here return"]), (calls, calls), f"{probes}{flags}")
            # Neither the store to rseq_cs at 0x7 nor the restartable sequence, 0xb to 0x1e, has a probe.
            equal([name for name in counts if name in ("count_here " + hex(at)[2:] for at in range(7, 0x1e))], [])

def the_vdso_and_the_dynamic_linker_can_be_probed(t):
    """F28: probes the vDSO and the dynamic linker. A backtrace through the return stub of a signal handler is
    complete."""
    command = f"{t.victim('edges')} 100 {t.victim('local.so')}"
    want = subprocess.run(command.split(), capture_output=True, text=True).stdout
    contains(want, "back 0 odd 0 whole 100 sum ")
    for probes, function in (("pid$target:linux-vdso.so.1::entry,pid$target:linux-vdso.so.1::return ", "clock_gettime"),
                             ("pid$target:linux-vdso.so.1:: ", "clock_gettime"),
                             ("pid$target:ld-linux-x86-64.so.2:_dl_fixup:,pid$target:ld-linux-x86-64.so.2:_dl_tls*:,"
                              "pid$target:ld-linux-x86-64.so.2:_dl_runtime_resolve*: ", "_dl_fixup"),
                             (ENTRIES, "_dl_fixup")):
        for flags in BOTH:
            said, out = traced_command(t, "BEGIN { n = 0; } " + probes + "{ @[probefunc] = count(); }", command, flags)
            equal(said, want, f"{probes}{flags}")
            equal(rows(out).get(function, 0) > 0, True, f"{function} fired, {probes}{flags}")

def a_loop_that_reads_the_clock_gets_no_breakpoints(t):
    """F28: such a loop in the vDSO starts again if the kernel updates the clock meanwhile. With breakpoints, it would
    hardly ever end."""
    program = "import time; [time.clock_gettime(0) for _ in range(1000)]"
    probes = [f"pid$target:linux-vdso.so.1:{name}" for name in ("clock_gettime:1", "clock_gettime:entry",
                                                                "clock_gettime:return")]
    done = t.run("-x", "mechanism=int3", "-qn", ",".join(probes) + "{ @[probename] = count(); }", "-c",
                 f"{sys.executable} -c '{program}'")
    fired = rows(done.stdout)
    equal((set(fired), fired["entry"] >= 1000, fired["entry"] == fired["return"]), ({"entry", "return"}, True, True),
          done.stdout)
    contains(done.stderr, "clock_gettime+0x1: no jump is possible there, and with breakpoints, loops in the vDSO that read "
             "the clock would hardly ever end")

def the_return_stub_of_signal_handlers_has_no_probe(t):
    """F28: unwinders recognize this stub by its bytes, so these bytes must not change"""
    for name in ("__restore_rt", "__restore_rt_sigreturn"):
        done = t.run("-n", f"pid$target:libc.so.6:{name}:", "-c", "true")
        equal(done.returncode, 1, done.stderr)
        contains(done.stderr, "no function")

# Text that changes

class Remade(Holder):
    """The victim `remade`, which changes its own text when it reads a command."""
    def __init__(self, t, path=None):
        self.process = subprocess.Popen([path or t.victim("remade")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)
        self.pid = self.process.pid
        self.lines = Line(self.process.stdout)
        equal(self.lines.next(), "ready\n")
    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.lines.next().strip()
    def do(self, *lines):
        for line in lines:
            equal(self.say(line), "done", line)
    def end(self):
        self.process.communicate(timeout=20)
        equal(self.process.returncode, 0, "its status")

def untraced(t, *lines):
    """Sends the lines to an untraced victim. Returns the victim's reply to the last line."""
    with Remade(t) as target:
        target.do(*lines[:-1])
        return target.say(lines[-1])

def counts_of(tracer):
    out = tracer.finish()
    return found(out, "entry"), found(out, "return")

def a_program_that_checks_its_text_finds_no_change_after_the_detach(t):
    """F30: while the program is traced, --patches accounts for each byte that differs"""
    for flags in BOTH:
        with Remade(t) as target:
            before = target.say("sum")
            tracer = Tracer(t, WORK + ENDS, target.pid, flags=flags)
            equal(target.say("sum") != before, True, "the program finds a change")
            told = t.run("--patches", "-p", str(target.pid)).stdout
            contains(told, " work ")
            contains(told, " 0 unknown\n")
            tracer.finish()
            equal(target.say("sum"), before, "checksum afterwards")
            contains(t.run("--patches", "-p", str(target.pid)).stdout, "no patches")
            untouched(target.pid)
            target.end()

def text_in_anonymous_memory_is_probed(t):
    """F24: the program copies its text to anonymous memory before or after the attach"""
    right, page = untraced(t, "calls 10"), untraced(t, "page")
    for flags in BOTH:
        for moves_first in (True, False):
            with Remade(t) as target:
                if moves_first:
                    target.do("anonymous")
                tracer = Tracer(t, WORK + ENDS, target.pid, flags=flags)
                if not moves_first:
                    target.do("anonymous")
                equal(target.say("calls 10"), right, "its sum")
                equal(counts_of(tracer), (10, 10), f"firings, moved first: {moves_first}, {flags}")
                equal(target.say("page"), page, "text afterwards")
                equal(target.say("calls 10"), right, "its sum afterwards")
                target.end()

def text_that_the_program_overwrites_is_not_restored(t):
    """I5, I8: the program writes a hot patch over probes, removes it, or maps data in place of its text"""
    for lines in (("rewrite",), ("rewrite", "back"), ("protect",), ("rewrite", "protect"), ("data",), ("data", "back")):
        page = untraced(t, *lines, "page")
        right = untraced(t, *lines, "calls 10") if lines[-1] != "data" else None
        for flags in BOTH:
            with Remade(t) as target:
                tracer = Tracer(t, WORK + ENDS, target.pid, flags=flags)
                target.do(*lines)
                if right is not None:
                    equal(target.say("calls 10"), right, f"its sum, {lines} {flags}")
                counts = counts_of(tracer)
                equal(counts, (10, 10) if lines == ("protect",) else (0, 0), f"firings, {lines} {flags}")
                equal(target.say("page"), page, f"text afterwards, {lines} {flags}")
                equal(tracer_of(target.pid), 0, "TracerPid")
                if right is not None:
                    tracer = Tracer(t, WORK + ENDS, target.pid, flags=flags)
                    equal(target.say("calls 10"), right, f"its sum, traced again, {lines} {flags}")
                    equal(counts_of(tracer)[0], 10, f"entries, traced again, {lines} {flags}")
                    equal(target.say("page"), page, f"text at the end, {lines} {flags}")
                target.end()

def packed_victim(t):
    """Returns a copy of the victim that stores the text of work() only in encoded form, in the array `packed`. The
    victim's command `unpack` decodes the text."""
    need("nm", "readelf")
    path = t.scratch / "packed"
    data = bytearray(pathlib.Path(t.victim("remade")).read_bytes())
    symbols = subprocess.run(["nm", t.victim("remade")], capture_output=True, text=True).stdout
    loads = [[int(word, 16) for word in words] for words in re.findall(
        r"^ +LOAD +(\w+) (\w+) \w+ (\w+)", subprocess.run(
            ["readelf", "-lW", t.victim("remade")], capture_output=True, text=True).stdout, re.M)]
    def offset_of(name):
        at = int(re.search(rf"^(\w+) \w {name}$", symbols, re.M)[1], 16)
        return next(at - begin + offset for offset, begin, n in loads if begin <= at < begin + n)
    text, into = offset_of("work"), offset_of("packed")
    packed = bytes(byte ^ 0x55 for byte in data[text:text + 4096])
    data[into:into + 4096] = packed
    data[text:text + 4096] = packed
    path.write_bytes(data)
    path.chmod(0o755)
    return str(path)

def a_program_that_unpacks_itself_is_probed_afterwards(t):
    """I7: probes fire if dtrace attaches after the program has unpacked itself. An earlier attach does no harm."""
    path, right, page = packed_victim(t), untraced(t, "calls 10"), untraced(t, "page")
    for flags in BOTH:
        with Remade(t, path) as target:
            target.do("unpack")
            tracer = Tracer(t, WORK + ENDS, target.pid, flags=("-Z", *flags))
            equal(target.say("calls 10"), right, "its sum")
            equal(counts_of(tracer)[0], 10, f"entries, {flags}")
            equal((target.say("page"), target.say("calls 10")), (page, right), "afterwards")
            target.end()
        with Remade(t, path) as target:
            tracer = Tracer(t, WORK + ENDS, target.pid, flags=("-Z", *flags))
            target.do("unpack")
            equal(target.say("calls 10"), right, "its sum, traced before")
            tracer.finish()
            equal((target.say("page"), target.say("calls 10")), (page, right), "traced before")
            target.end()

LIBRARY_USER = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    print(sum(library.plugin_work(i) for i in range(int(line))), flush=True)
"""

def a_library_whose_file_was_replaced_is_probed_as_it_is_mapped(t):
    """I4: the library's path now names another library, or no file"""
    need("python3", "gcc")
    other = t.scratch / "other.c"
    other.write_text("int before[999]; long pad(long n) { return before[n] * n; }\n" * 1 +
                     "long more(long n) { return n ^ pad(n); }\nlong plugin_work(long n) { return more(n) + 7; }\n")
    for what in ("replaced", "removed"):
        for flags in BOTH:
            path = t.scratch / "plugin.so"
            shutil.copy(t.victim("plugin.so"), path)
            process = subprocess.Popen(["python3", "-c", LIBRARY_USER, str(path)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
            try:
                equal(process.stdout.readline(), "ready\n")
                path.unlink()
                if what == "replaced":
                    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(path), str(other)], check=True)
                tracer = Tracer(t, "pid$target:plugin.so*:plugin_work:entry,pid$target:plugin.so*:plugin_work:return "
                                "{ @[probename] = count(); } " + ENDS, process.pid, flags=flags)
                process.stdin.write("100\n")
                process.stdin.flush()
                equal(process.stdout.readline(), f"{sum(i + 1 for i in range(100))}\n", "its sum")
                equal(counts_of(tracer), (100, 100), f"{what} {flags}")
                equal(tracer_of(process.pid), 0, "TracerPid")
                equal(process.communicate("10\n", timeout=20)[0], "55\n", "its sum afterwards")
                equal(process.returncode, 0, "its status")
            finally:
                process.kill()
                process.wait()

TESTS = tests_in(globals(), packed_victim)

if __name__ == "__main__":
    main(TESTS)
