# SPDX-License-Identifier: MIT
"""Measures the elapsed time to plant and remove probes, the time for which the target is stopped, and the memory that
probes need. Also measures the cost of a firing when 50,000 probes are planted."""
import os, re, shutil, signal, subprocess, tempfile, time
from concurrent.futures import ThreadPoolExecutor
from table import Row, Skip, Task, ours, peer
from target import Timed, Tracer, address, numbers, symbols, text, wait_until

FUNCTIONS, PARTS = 50000, 10
ROUNDS, CALLS = 7, 4000000

MAIN = r"""
// Prints "ready PID", then reads the clock in a loop and sums the gaps in which it did not
// run. Answers each line on stdin. If the line is a number, the program calls many_1() that
// many times and prints the CPU time per call in ns. Otherwise it prints the sum of the gaps
// since the last answer, and the longest gap. With the argument "waits", it waits for the
// next line instead of spinning. With "signals", it gets a signal every 5 ms.
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
unsigned many_1(unsigned, unsigned *);
static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
static double call_ns(long calls)
{
    unsigned words[8] = {0};
    double began = clock_ms(CLOCK_THREAD_CPUTIME_ID);
    for (long i = 0; i < calls; ++i)
        many_1((unsigned)i, words);
    return (clock_ms(CLOCK_THREAD_CPUTIME_ID) - began) * 1e6 / (double)calls;
}
static void take(int signal) { (void)signal; }
int main(int argc, char **argv)
{
    char line[32];
    struct pollfd in = {0, POLLIN, 0};
    int waits = argc > 1 && strcmp(argv[1], "waits") == 0;
    if (argc > 1 && strcmp(argv[1], "signals") == 0) {
        struct itimerval often = {{0, 5000}, {0, 5000}};
        signal(SIGALRM, take);
        setitimer(ITIMER_REAL, &often, NULL);
    }
    double before = clock_ms(CLOCK_MONOTONIC), sum = 0, longest = 0;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    for (unsigned long n = 1;; ++n) {
        double at = clock_ms(CLOCK_MONOTONIC), gap = at - before;
        before = at;
        if (gap > 0.2) {
            sum += gap;
            longest = gap > longest ? gap : longest;
        }
        if ((waits || n % 1000 == 0) && poll(&in, 1, waits ? -1 : 0) == 1) {
            if (!fgets(line, sizeof(line), stdin))
                return 0;
            if (atol(line) > 0)
                printf("%.3f\n", call_ns(atol(line)));
            else
                printf("%.3f %.3f\n", sum, longest);
            fflush(stdout);
            sum = longest = 0;
            before = clock_ms(CLOCK_MONOTONIC);
        }
    }
}
"""

def many_functions(args):
    """Returns the path of a program with 50,000 functions. Builds the program if it is missing or outdated."""
    folder = f"{args.build}/bench/many"
    program = f"{folder}/many"
    if os.path.exists(program) and os.path.getmtime(program) > os.path.getmtime(__file__):
        return program
    os.makedirs(folder, exist_ok=True)
    def compile_part(part):
        source = f"{folder}/part{part}.c"
        with open(source, "w") as out:
            if part == PARTS:
                out.write(MAIN)
            else:
                for n in range(part, FUNCTIONS, PARTS):
                    out.write(f"unsigned many_{n}(unsigned a, unsigned *p)"
                              f"{{ unsigned b = a * {n + 3}u; p[{n % 7}] += b; return b ^ p[{n % 5}]; }}\n")
        subprocess.run(["cc", "-O1", "-c", source, "-o", f"{source}.o"], check=True)
        return f"{source}.o"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_part, range(PARTS + 1)))
    subprocess.run(["cc", *objects, "-o", f"{program}.new"], check=True)
    os.rename(f"{program}.new", program)
    return program

class Many:
    def __init__(self, path, *arguments):
        self.process = subprocess.Popen(["taskset", "-c", "0", path, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = int(self.process.stdout.readline().split()[1])
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
    def ask(self, line=""):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return [float(number) for number in self.process.stdout.readline().split()]
    def gaps(self):
        return self.ask()
    def calls(self):
        """Returns the median time of a call to many_1() over several rounds, in ns."""
        return sorted(self.ask(str(CALLS))[0] for _ in range(ROUNDS))[ROUNDS // 2]

def ours_kib(pid):
    """Returns a dictionary with the proportional set size (Pss) in KiB of each mapping of a process."""
    found, name = {}, ""
    with open(f"/proc/{pid}/smaps") as smaps:
        for line in smaps:
            words = line.split()
            if re.fullmatch(r"[0-9a-f]+-[0-9a-f]+", words[0]):
                name = words[5] if len(words) > 5 else words[0] + " anonymous"
            elif words[0] == "Pss:":
                found[name] = found.get(name, 0) + int(words[1])
    return found

def grown(before, after):
    """Returns the growth of the memory in MiB, and a text that names the mappings that grew most."""
    more = {name: kib - before.get(name, 0) for name, kib in after.items()}
    largest = sorted(more.items(), key=lambda item: -item[1])[:4]
    return sum(more.values()) / 1024, ", ".join(
        f"{os.path.basename(name.split(' ')[-1])} {kib / 1024:.1f}" for name, kib in largest)

def plant_many(args, rows):
    """Plants probes on all functions of the program from many_functions(), and removes them. Returns one
    value for each row of many_rows()."""
    path = many_functions(args)
    everything = "pid$target:many:many_*:entry { @ = count(); }"
    def places(victim):
        return [address(victim.pid, path, f"many_{n}") for n in range(0, FUNCTIONS, 997)]
    with Many(path, "waits") as victim:
        waiting = Tracer(args, victim.pid, everything, places(victim))
        waiting.finish()
    with Many(path, "signals") as victim:
        victim.gaps()
        signalled = Tracer(args, victim.pid, everything, places(victim))
        with_signals = victim.gaps()[1]
        signalled.finish()
    with Many(path) as victim:
        some = places(victim)
        time.sleep(0.2)
        untraced = victim.calls()
        one = Tracer(args, victim.pid, "pid$target:many:many_1:entry { @ = count(); }",
                     [address(victim.pid, path, "many_1")])
        alone = victim.calls() - untraced
        one.finish()
        before = ours_kib(victim.pid)
        victim.gaps()
        tracer = Tracer(args, victim.pid, everything, some)
        planting = victim.gaps()
        mib, what = grown(before, ours_kib(victim.pid))
        among = victim.calls() - untraced
        victim.gaps()
        seen = sum(numbers(tracer.finish()))
        removing = victim.gaps()
    made = ROUNDS * CALLS
    rows[-1].note(what)
    rows[6].note("count exact" if seen == made else f"COUNT {seen} of {made}")
    rows[6].note(f"{among:.2f} ns, alone {alone:.2f}")
    if tracer.errors.strip():
        rows[0].note(tracer.errors.strip().splitlines()[0])
    return [waiting.armed_s, tracer.armed_s, planting[0], planting[1], with_signals, tracer.armed_s - one.armed_s,
            among / max(alone, 0.5), tracer.finish_s, removing[0], mib]

def many_rows():
    return [Row("50,000 entries: start of dtrace to armed", "s", 0.12, 0.05),
            Row("50,000 entries: to armed, the target spins", "s"),
            Row("50,000 entries: target stopped, planting", "ms", 20, 5),
            Row("50,000 entries: longest stop, planting", "ms"),
            Row("50,000 entries: longest stop, a signal each 5 ms", "ms", 20, 5),
            Row("50,000 entries: to armed, beyond one entry", "s"),
            Row("one of 50,000 enabled, over one alone", "x", 1.1, 1.0),
            Row("50,000 entries: removing, all of ending", "s", 0.1, 0.01),
            Row("50,000 entries: target stopped, removing", "ms"),
            Row("memory in the target, 50,000 probes", "MiB", 16, 6)]

def one_probe(args, rows):
    with Timed(args) as victim:
        before = ours_kib(victim.pid)
        tracer = Tracer(args, victim.pid, "pid$target:timed:work:entry { @ = count(); }",
                        [victim.address("work")])
        mib, what = grown(before, ours_kib(victim.pid))
        tracer.finish()
    rows[1].note(f"buffers included; {what}")
    return [tracer.armed_s * 1000, mib]

def all_of_node(args, row):
    node = shutil.which("node")
    if not node:
        raise Skip("no node")
    path = os.path.realpath(node)
    if "uv_run" not in symbols(path):
        raise Skip(f"{path} has no symbols")
    process = subprocess.Popen([path, "-e", "setTimeout(() => {}, 1e6)"])
    try:
        time.sleep(1)
        tracer = Tracer(args, process.pid, "pid$target:node::entry { @ = count(); }",
                        [address(process.pid, path, "uv_run")])
        tracer.finish()
        if tracer.errors.strip():
            row.note(tracer.errors.strip().splitlines()[0])
        return tracer.armed_s
    finally:
        process.kill()
        process.wait()

LOADS = """
import ctypes, _ctypes, sys, time
def load(n):
    began = time.perf_counter()
    for _ in range(n):
        _ctypes.dlclose(ctypes.CDLL(sys.argv[1])._handle)
    return (time.perf_counter() - began) * 1000 / n
load(5)
print("ms", load(100))
"""

def library_that_comes_and_goes(args, row):
    """Returns the ms that python3 takes to load and unload a library with one function while all modules
    are probed."""
    if not os.path.exists("/usr/bin/python3"):
        raise Skip("no /usr/bin/python3")
    with tempfile.TemporaryDirectory() as folder:
        library, script = f"{folder}/small.so", f"{folder}/loads.py"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", library], check=True,
                       input="int small(int n) { return n * 3; }\n", text=True)
        with open(script, "w") as out:
            out.write(LOADS)
        def run(*before):
            command = ["/usr/bin/python3", script, library]
            done = subprocess.run([*before, " ".join(command)] if before else command, check=True,
                                  capture_output=True, text=True, timeout=300)
            return float(re.search(r"ms ([\d.]+)", done.stdout).group(1))
        row.note(f"untraced {run():.3f} ms")
        return run(args.dtrace, "-qZ", "-n",
                   "pid$target:::entry,pid$target:::return { @ = count(); }", "-c")

def tasks(args, table):
    single = [Row("one probe, a running process: start to armed", "ms", 60, 20),
              Row("memory in the target, 1 probe", "MiB", 2, 1)]
    many = many_rows()
    return [Task(single, lambda: one_probe(args, single)),
            Task(many, lambda: plant_many(args, many)),
            ours(lambda row: all_of_node(args, row), "pid$target:node::entry, start to armed", "s", 1.5, 0.3),
            ours(lambda row: library_that_comes_and_goes(args, row),
                 "dlopen and dlclose, all of python3 probed", "ms", 5, 1)]

def bpftrace_armed(args):
    """Returns the ms from the start of bpftrace until the kernel's breakpoint is in the text."""
    if not shutil.which("bpftrace") or os.geteuid() != 0:
        raise Skip("bpftrace needs to be installed, and root")
    with Timed(args) as victim:
        at = victim.address("work")
        original = text(victim.pid, at)
        began = time.perf_counter()
        tool = subprocess.Popen(["bpftrace", "-p", str(victim.pid), "-e",
                                 f"uprobe:{victim.path}:work {{ @ = count(); }}"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until("bpftrace's breakpoint", lambda: text(victim.pid, at) != original, 20)
            return (time.perf_counter() - began) * 1000
        finally:
            tool.send_signal(signal.SIGINT)
            tool.wait()

def bpftrace_ending(args, n=10):
    """Returns the seconds that bpftrace takes to remove n probes. A large n would take minutes."""
    if not shutil.which("bpftrace") or os.geteuid() != 0:
        raise Skip("bpftrace needs to be installed, and root")
    path = many_functions(args)
    with Many(path) as victim:
        at = address(victim.pid, path, f"many_{n}")
        original = text(victim.pid, at)
        probes = ",".join(f"uprobe:{path}:many_{i}" for i in range(1, n + 1))
        tool = subprocess.Popen(["bpftrace", "-p", str(victim.pid), "-e", probes + " { @ = count(); }"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until("bpftrace's breakpoints", lambda: text(victim.pid, at) != original, 20)
            time.sleep(0.5)
            began = time.perf_counter()
        finally:
            tool.send_signal(signal.SIGINT)
            tool.wait()
        return time.perf_counter() - began

def uftrace_whole(args):
    """Returns the seconds that uftrace takes to patch all functions of a program. Subtracts the time that the program
    takes without uftrace."""
    if not shutil.which("uftrace"):
        raise Skip("uftrace is not installed")
    path = many_functions(args)
    def run(*before):
        began = time.perf_counter()
        subprocess.run([*before, path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True, timeout=100)
        return time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        return run("uftrace", "record", "-P", ".", "-d", f"{folder}/data") - run()

def peers(args):
    return [peer("one probe, a running process: start to armed", "bpftrace",
                 lambda row: bpftrace_armed(args), "ms"),
            peer("50,000 entries: start of dtrace to armed", "uftrace -P ., whole run beyond the bare",
                 lambda row: uftrace_whole(args), "s"),
            peer("50,000 entries: removing, all of ending", "bpftrace, 10 entries",
                 lambda row: bpftrace_ending(args), "s", at_most=1)]
