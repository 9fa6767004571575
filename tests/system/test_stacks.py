#!/usr/bin/env python3
"""Tests that ustack() finds the same frames in the runtime and in the agent."""
import contextlib, os, re, shutil, subprocess

from harness import *

def stacks(output):
    """Returns the printed stacks with their counts. Addresses without a name become the word "somewhere"."""
    found, frames = {}, []
    for line in output.splitlines():
        if re.fullmatch(r"\s+\d+", line):
            key = tuple(frames)
            found[key] = found.get(key, 0) + int(line)
            frames = []
        elif line.startswith(" " * 14):
            frames.append(re.sub(r"0x[0-9a-f]{6,}", "somewhere", line.strip()))
    return found

def traced(t, mechanism, probe, command, frames=""):
    done = t.run("-qn", f"{probe} {{ @[ustack({frames})] = count(); }}", "-c", command,
                 "-x", f"mechanism={mechanism}",
                 env={**os.environ, "PYTHONHASHSEED": "0"}, timeout=300)
    equal(done.returncode, 0, done.stderr)
    if "drops" in done.stderr:
        raise AssertionError(done.stderr)
    return stacks(done.stdout)

def same(t, probe, command, at_least, frames=""):
    """Checks that stacks and counts are the same with jumps and with breakpoints. Returns the counts by stack."""
    jump = traced(t, "jump", probe, command, frames)
    trap = traced(t, "int3", probe, command, frames)
    for stack in {**jump, **trap}:
        if jump.get(stack) != trap.get(stack):
            raise AssertionError(f"{jump.get(stack)} with jumps, {trap.get(stack)} with breakpoints:\n" +
                                 "\n".join(stack))
    n = sum(jump.values())
    if n < at_least:
        raise AssertionError(f"only {n} stacks")
    return jump

def stacks_of_python3_are_the_same_by_jumps_and_by_breakpoints(t):
    need("/usr/bin/python3")
    command = "/usr/bin/python3 -S -c pass"
    same(t, "pid$target:libc.so.6:malloc:entry,pid$target:libc.so.6:malloc:return,"
         "pid$target:libc.so.6:free:entry", command, 1500)
    same(t, "pid$target:libc.so.6:malloc:entry", command, 500, frames="100")
    same(t, "pid$target:libc.so.6:malloc:entry", command, 500, frames="3")

def stacks_of_a_cpp_program_are_the_same_by_jumps_and_by_breakpoints(t):
    compiler = subprocess.run(["gcc", "-print-prog-name=cc1plus"], capture_output=True,
                              text=True).stdout.strip() if shutil.which("gcc") else ""
    if not os.path.isabs(compiler):
        raise Skip("gcc has no cc1plus")
    source = t.scratch / "one.cpp"
    source.write_text("template <class T> T twice(T t) { return t + t; }\n"
                      "int main() { return twice(0); }\n")
    same(t, "pid$target:libc.so.6:malloc:entry", f"{compiler} -quiet {source} -o {t.scratch}/one.s",
         3000)

def stacks_are_the_same_at_every_instruction_of_many_forms_of_frames(t):
    for victim in ("frames_fp", "frames_no_fp"):
        functions = ("leaf", "sized", "growing", "aligned", "saving", "compare", "recursing")
        probes = ",".join(f"pid$target:a.out:{f}:" for f in functions)
        seen = same(t, probes, t.victim(victim) + " 8", 20000)
        for stack in seen:
            if not any("main" in frame for frame in stack) and len(stack) < 20:
                raise AssertionError("no main in\n" + "\n".join(stack))

def stacks_through_a_signal_handler_lead_to_main(t):
    for mechanism in ("jump", "int3"):
        found = traced(t, mechanism, "pid$target:a.out:handled:entry", t.victim("alarms"))
        for stack in found:
            names = [frame.split("`")[1].split("+")[0] for frame in stack if "`" in frame]
            equal(names[:2], ["handled", "on_alarm"], mechanism)
            contains(" ".join(names[2:]), "main")

def a_library_at_the_place_of_another_has_its_own_frames(t):
    rooms = [str(t.victims / f"room_{room}.so") for room in (256, 512)]
    for mechanism in ("jump", "int3"):
        done = t.run("-qn", "pid$target:a.out:callback:entry { @[ustack()] = count(); }", "-c",
                     f"{t.victim('replacer')} {rooms[0]} {rooms[1]} 20",
                     "-x", f"mechanism={mechanism}")
        equal(done.returncode, 0, done.stderr)
        contains(done.stdout, "same 20\n")
        found = stacks(done.stdout)
        equal(sum(found.values()), 400, mechanism)
        for stack in found:
            if len(stack) < 4 or not any("main" in frame for frame in stack):
                raise AssertionError(mechanism + "\n" + "\n".join(stack))

def stacks_of_new_threads_are_the_same(t):
    same(t, "pid$target:a.out:work:entry", t.victim("spin") + " 200 8", 1000)

# Each call to work() has one of 16,384 stacks. A stack and its distribution take almost 2 KB.
MANY_STACKS = """
#include <stdio.h>
static long right(unsigned path, int depth);
__attribute__((noinline)) long work(long n) { __asm__ volatile(""); return n; }
#define NEXT (depth == 0 ? work(path) : path & 1 ? left(path >> 1, depth - 1) : right(path >> 1, depth - 1))
__attribute__((noinline)) static long left(unsigned path, int depth) { return NEXT + 1; }
__attribute__((noinline)) static long right(unsigned path, int depth) { return NEXT + 2; }
int main(void)
{
    long sum = 0;
    for (unsigned i = 0; i < 500000; i++)
        sum += left((i * 2654435761u) >> 18, 14);
    printf("sum %ld\\n", sum);
    return 0;
}
"""

def no_stack_is_dropped_on_a_busy_machine(t):
    need("gcc")
    program = t.scratch / "many"
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", str(program)], input=MANY_STACKS, text=True, check=True)
    with contextlib.ExitStack() as ends:
        for _ in range(6 * os.cpu_count()):
            ends.enter_context(held(subprocess.Popen(["sh", "-c", "while :; do :; done"])))
        for _ in range(10 if t.long else 1):
            done = t.run("-qn", "pid$target:a.out:work:entry { @[ustack()] = quantize(arg0); @n = count(); } "
                         'END { printa("called %@d\\n", @n); clear(@n); }', "-c", str(program), timeout=300)
            equal((done.returncode, done.stderr), (0, ""), "exit status and messages")
            contains(done.stdout, "called 500000\n")
            counts = re.findall(r"\|@* +(\d+) *$", done.stdout, re.M)
            equal(sum(map(int, counts)), 500000, "calls in all distributions")

main([
    stacks_of_python3_are_the_same_by_jumps_and_by_breakpoints,
    stacks_of_a_cpp_program_are_the_same_by_jumps_and_by_breakpoints,
    stacks_are_the_same_at_every_instruction_of_many_forms_of_frames,
    stacks_through_a_signal_handler_lead_to_main,
    a_library_at_the_place_of_another_has_its_own_frames,
    stacks_of_new_threads_are_the_same,
    no_stack_is_dropped_on_a_busy_machine,
])
