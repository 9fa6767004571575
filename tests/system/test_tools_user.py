#!/usr/bin/env python3
"""Tests the commands of cmd/tools that trace or sample the functions of programs."""
import os, re, signal, subprocess

from harness import *
from traced import as_nobody, program_of, ready

def tool_of(t, name):
    return t.build / "cmd/tools" / name

def tool(t, name, *args):
    """Runs a tool. Returns the finished process, with its output as text."""
    return subprocess.run([tool_of(t, name), *map(str, args)], capture_output=True, text=True, timeout=60,
                          cwd=t.scratch)

def lines_of(done):
    equal(done.returncode, 0, done.stderr)
    for word in ("drop", "error on", "failed"):
        if word in done.stderr:
            raise AssertionError(done.stderr)
    return done.stdout.splitlines()

SPINNER = """
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile long n;
__attribute__((noinline)) void rare(void) { for (int i = 0; i < 100000; i++) n++; }
__attribute__((noinline)) void frequent(void) { for (int i = 0; i < 1500000; i++) n++; }
int main(int argc, char** argv)
{
    (void)argv;
    puts("ready");
    fflush(stdout);
    // Without an argument, the program computes until it has used half a second of CPU time.
    while (argc > 1 || clock() < CLOCKS_PER_SEC / 2) {
        rare();
        frequent();
    }
    return 0;
}
"""

def samples(lines):
    """Checks that the rows are in ascending order and that the percentages fit the counts. Returns the counts."""
    rows = [re.fullmatch(r"(.*?) +(\d+) +(\d+\.\d)%", line).groups() for line in lines]
    counts = [int(count) for _, count, _ in rows]
    equal(counts, sorted(counts), "order")
    equal([share for _, _, share in rows], [f"{100 * count / sum(counts):.1f}" for count in counts], "PCNT")
    equal(len({name for name, _, _ in rows}), len(rows), "number of different names")
    return dict(zip([name for name, _, _ in rows], counts))

def hotuser_counts_the_samples_of_each_function(t):
    program = program_of(t, "spinner", SPINNER)
    lines = lines_of(tool(t, "hotuser", program))
    equal((lines[0], lines[1].split()), ("ready", ["FUNCTION", "COUNT", "PCNT"]), "heads")
    counts = samples(lines[2:])
    equal(counts["spinner`frequent"] > counts["spinner`rare"] > 0, True, counts)
    libraries = lines_of(tool(t, "hotuser", "-l", program))
    equal(libraries[1].split(), ["LIBRARY", "COUNT", "PCNT"], "heads")
    equal(samples(libraries[2:])["spinner"] > 50, True, libraries)
    equal(len(lines_of(tool(t, "hotuser", "-n", "other", program))), 2, "-n")

def is_sampled(sampler, pid):
    """Returns whether a dtrace process has perf events, or is the parent of the tracer of the target."""
    links = (os.readlink(link) for link in pathlib.Path(f"/proc/{sampler}/fd").iterdir() if link.is_symlink())
    with contextlib.suppress(OSError): # a descriptor was closed meanwhile
        return tracer_of(pid) != 0 or any("perf_event" in link for link in links)

def interrupted(t, spinner, *args):
    """Interrupts hotuser while it samples the running spinner. Returns the lines of its output."""
    with held(subprocess.Popen([tool_of(t, "hotuser"), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, cwd=t.scratch, preexec_fn=use_default_signals)) as hotuser:
        wait_until(lambda: is_sampled(hotuser.pid, spinner.pid), what="sampling")
        before = cpu_ticks(spinner.pid)
        wait_until(lambda: cpu_ticks(spinner.pid) > before + 30, what="CPU time of the spinner")
        hotuser.send_signal(signal.SIGINT)
        output, errors = hotuser.communicate(timeout=60)
        equal(hotuser.returncode, 0, errors)
        return output.splitlines()

def hotuser_prints_its_table_when_it_is_interrupted(t):
    program = program_of(t, "spinner", SPINNER)
    with held(subprocess.Popen([program, "on"], stdout=subprocess.PIPE, text=True)) as spinner:
        ready(spinner)
        equal("spinner`frequent" in samples(interrupted(t, spinner, "-p", str(spinner.pid))[1:]), True, "-p")
        if os.geteuid() == 0:
            found = samples(interrupted(t, spinner, "-n", "spinner")[1:])
            equal(set(found) <= {"spinner`frequent", "spinner`rare", "spinner`main"} and len(found) > 0, True, found)

def hotuser_explains_why_it_cannot_sample_all_processes(t):
    t.scratch.chmod(0o755)
    tools = t.scratch / "tools" # another user may have no access to the build directory
    tools.mkdir()
    for file in (tool_of(t, "hotuser"), tool_of(t, "common.sh"), t.dtrace):
        subprocess.run(["install", "-m", "755", file, tools], check=True)
    done = subprocess.run([*as_nobody(), tools / "hotuser"], capture_output=True, text=True, timeout=60)
    if done.returncode == 0:
        raise Skip("any user may sample all processes here")
    equal((done.returncode, done.stdout), (1, ""), done.stderr)
    contains(done.stderr, "hotuser: name a process with -p, or a command: profile-997: only dtrace itself is sampled")

CALLS = """
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>
#define FUNCTION __attribute__((noinline, noclone)) static
#define KEEP(value) asm volatile("" : "+r"(value))
static jmp_buf back;
FUNCTION long factorial(long n)
{
    long result = n < 2 ? 1 : factorial(n - 1);
    KEEP(result);
    return n * result;
}
FUNCTION long work(long n, long more)
{
    long result = factorial(n) + more;
    KEEP(result);
    return result;
}
FUNCTION int negative(void) { int result = -1; KEEP(result); return result; }
FUNCTION long large(long n) { KEEP(n); return n << 32; }
FUNCTION void jumper(int value) { longjmp(back, value); }
FUNCTION void catcher(void)
{
    int jumped = setjmp(back);
    if (jumped == 0)
        jumper(2);
    KEEP(jumped);
}
FUNCTION void once(void)
{
    work(3, 5);
    catcher();
    work(2, -10);
    negative();
    large(1);
    for (int i = 0; i < 5; i++)
        getppid();
}
int main(int argc, char** argv)
{
    (void)argv;
    puts("ready");
    fflush(stdout);
    do {
        once();
    } while (argc > 1 && usleep(1000) == 0); // with an argument, until the program is killed
    return 0;
}
"""

TRACE = """
-> once()
  -> work(0x3, 0x5)
    -> factorial(0x3)
      -> factorial(0x2)
        -> factorial(0x1)
        <- factorial = 1
      <- factorial = 2
    <- factorial = 6
  <- work = 11
  -> catcher()
    -> jumper(0x2)
  <- catcher
  -> work(0x2, 0xfffffffffffffff6)
    -> factorial(0x2)
      -> factorial(0x1)
      <- factorial = 1
    <- factorial = 2
  <- work = -8
  -> negative()
  <- negative = -1
  -> large(0x1)
  <- large = 0x100000000
<- once
"""
ARGUMENTS = {"once": 0, "work": 2, "factorial": 1, "catcher": 0, "jumper": 1, "negative": 0, "large": 1}
COUNTS = {"once": 1, "work": 2, "factorial": 5, "catcher": 1, "jumper": 1, "negative": 1, "large": 1}

def calls_program(t):
    # -z now: the function that binds symbols when they are first called does not return to its caller.
    return program_of(t, "calls", CALLS, "-fno-optimize-sibling-calls", "-Wl,-z,now")

def calls(lines, module=""):
    """Returns the lines that show calls and returns of functions in CALLS, without the arguments and results that have
    no meaning. The call of once() is not indented."""
    found = []
    for line in lines:
        parts = re.fullmatch(rf"(.*?)( *)(->|<-) {module}(\w+)(\((.*)\)| = (.*))", line)
        if parts is None or parts[4] not in ARGUMENTS:
            continue
        name = parts[4]
        if parts[3] == "->":
            rest = "(" + ", ".join(parts[6].split(", ")[:ARGUMENTS[name]]) + ")"
        else:
            rest = "" if name in ("once", "catcher") else parts[5]
        found.append((len(parts[2]), f"{parts[3]} {name}{rest}"))
    return [" " * (indent - found[0][0]) + text for indent, text in found]

def table_of(lines, title):
    """Returns a table of the tools as a dictionary from names to numbers."""
    begin = lines.index(title) + 3 # The title is followed by an empty line and the heads.
    end = lines.index("", begin)
    return {name: int(number) for name, number in (line.strip().rsplit(None, 1) for line in lines[begin:end])}

def counts_of(lines, title="Counts"):
    return {name: n for name, n in table_of(lines, title).items() if name in COUNTS}

def dapptrace_prints_calls_and_results(t):
    program = calls_program(t)
    expected = TRACE.strip().splitlines()
    lines = lines_of(tool(t, "dapptrace", "-F", program))
    equal("CALL(arguments) = result" in lines, True, lines)
    equal(calls(lines), expected, "-F")
    flat = lines_of(tool(t, "dapptrace", program))
    equal(calls(flat), [line.strip() for line in expected], "without options")
    wrapped = lines_of(tool(t, "dapptrace", "-F", "sh", "-c", f"exec {program}"))
    equal("  -> main(0x1" in "\n".join(wrapped), True, wrapped)
    equal(calls(wrapped), expected, "a program that a shell executes")

def dapptrace_prints_details_and_counts(t):
    program = calls_program(t)
    lines = lines_of(tool(t, "dapptrace", "-aF", program))
    equal(calls(lines), TRACE.strip().splitlines(), "-aF")
    equal(counts_of(lines), COUNTS, "counts")
    heads = next(line for line in lines if "CALL" in line)
    equal(heads.split(), ["PID/TID", "TIME(us)", "ELAPSED(us)", "CPU(us)", "CALL(arguments)", "=", "result"], "heads")
    times = []
    for line in lines:
        if row := re.fullmatch(r" *(\d+)/(\d+) +(\d+) +(\d+|\.) +(\d+|\.) +(->|<-) .*", line):
            equal(row[1], row[2], "the thread of a program with one thread")
            equal((row[4] == ".", row[5] == "."), (row[6] == "->",) * 2, line)
            times.append(int(row[3]))
    equal(times, sorted(times), "order of the times")
    equal(len(times) >= 23, True, lines)

def dapptrace_traces_libraries(t):
    program = calls_program(t)
    library = tool(t, "dapptrace", "-c", "-u", "libc", program)
    equal((library.returncode, table_of(library.stdout.splitlines(), "Counts")["getppid"]), (0, 5), library.stderr)
    equal(calls(library.stdout.splitlines()), [], "functions of the program")
    everything = tool(t, "dapptrace", "-FU", program)
    lines = everything.stdout.splitlines()
    equal(sum("<- libc.so.6`getppid = " in line for line in lines), 5, everything.stdout)
    expected = TRACE.strip().splitlines()
    equal(calls(lines, "calls`"), expected, "functions of the program")

def dapptrace_traces_a_running_process_until_it_is_interrupted(t):
    with held(subprocess.Popen([calls_program(t), "on"], stdout=subprocess.PIPE, text=True)) as target:
        ready(target)
        with held(subprocess.Popen([tool_of(t, "dapptrace"), "-c", "-p", str(target.pid)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=use_default_signals)) as dapptrace:
            while "<- factorial = 6" not in dapptrace.stdout.readline():
                equal(dapptrace.poll(), None, "status")
            dapptrace.send_signal(signal.SIGINT)
            output, errors = dapptrace.communicate(timeout=60)
            equal(dapptrace.returncode, 0, errors)
            equal(set(counts_of(output.splitlines())), set(COUNTS), output)

def dappprof_counts_calls_and_times_the_outermost(t):
    program = calls_program(t)
    lines = lines_of(tool(t, "dappprof", "-T", program))
    titles = ["Counts", "Elapsed times", "CPU times"]
    equal([line for line in lines if line in titles], titles, lines)
    equal(counts_of(lines), COUNTS, "counts")
    for title in titles:
        rows = table_of(lines, title)
        equal(rows.pop("TOTAL:"), sum(rows.values()), title)
    times = counts_of(lines, "Elapsed times")
    equal(set(times), set(COUNTS) - {"jumper"}, "functions that return")
    # The time of a recursive call is not counted twice. Therefore no function takes longer than its caller.
    equal(times["factorial"] < times["work"] < times["once"], True, times)
    wrapped = lines_of(tool(t, "dappprof", "-ce", "sh", "-c", f"exec {program}"))
    equal("CPU times" in wrapped, False, "tables of -ce")
    equal(counts_of(wrapped), COUNTS, "a program that a shell executes")
    equal(set(counts_of(wrapped, "Elapsed times")), set(COUNTS) - {"jumper"}, "a program that a shell executes")

def dappprof_profiles_libraries_and_running_processes(t):
    library = tool(t, "dappprof", "-c", "-u", "libc", calls_program(t))
    equal((library.returncode, table_of(library.stdout.splitlines(), "Counts")["getppid"]), (0, 5), library.stderr)
    everything = tool(t, "dappprof", "-c", "-U", calls_program(t))
    counts = table_of(everything.stdout.splitlines(), "Counts")
    equal((everything.returncode, counts["libc.so.6`getppid"], counts["calls`factorial"]), (0, 5, 5), everything.stderr)
    with held(subprocess.Popen([calls_program(t), "on"], stdout=subprocess.PIPE, text=True)) as target:
        ready(target)
        with held(subprocess.Popen([tool_of(t, "dappprof"), "-c", "-p", str(target.pid)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=use_default_signals)) as dappprof:
            wait_until(lambda: text_differs(target.pid), what="tracing")
            before = cpu_ticks(target.pid)
            wait_until(lambda: cpu_ticks(target.pid) > before + 5, what="CPU time of the target")
            dappprof.send_signal(signal.SIGINT)
            output, errors = dappprof.communicate(timeout=60)
            equal(dappprof.returncode, 0, errors)
            counts = counts_of(output.splitlines())
            equal(set(counts), set(COUNTS), output)
            # At most one round of the target has begun and was not traced completely.
            for name, n in COUNTS.items():
                equal(abs(counts[name] - n * counts["once"]) <= n, True, counts)

def missing_targets_and_wrong_libraries_are_explained(t):
    for name in ("dapptrace", "dappprof"):
        missing = tool(t, name)
        equal((missing.returncode, missing.stdout), (2, ""), name)
        contains(missing.stderr, f"{name}: name a process with -p, or a command\nUsage: {name} ")
        wrong = tool(t, name, "-u", "libc:malloc", "true")
        equal((wrong.returncode, wrong.stdout), (1, ""), name)
        contains(wrong.stderr, f"{name}: -u takes the name of a library, such as libc, not 'libc:malloc'")
        unknown = tool(t, name, "-u", "libnone", "-p", os.getpid())
        equal(unknown.returncode, 1, name)
        contains(unknown.stderr, "no library 'libnone'")

if __name__ == "__main__":
    main(tests_in(globals(), calls_program))
