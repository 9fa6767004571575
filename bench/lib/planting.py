# SPDX-License-Identifier: MIT
"""What putting probes in and taking them out costs: time, stopped time, memory."""
import os, re, statistics, subprocess, time
from concurrent.futures import ThreadPoolExecutor
from table import Skip
from target import Timed, Tracer, address, symbols

FUNCTIONS, PARTS = 50000, 10

MAIN = r"""
// Spins over the clock and sums the gaps in which it did not run; "ready PID", then each
// line on stdin is answered with the sum and the longest of the gaps since the last one.
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
int main(void)
{
    char line[16];
    struct pollfd in = {0, POLLIN, 0};
    double before = now(), sum = 0, longest = 0;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    for (unsigned long n = 1;; ++n) {
        double at = now(), gap = at - before;
        before = at;
        if (gap > 0.2) {
            sum += gap;
            longest = gap > longest ? gap : longest;
        }
        if (n % 1000 == 0 && poll(&in, 1, 0) == 1) {
            if (!fgets(line, sizeof(line), stdin))
                return 0;
            printf("%.3f %.3f\n", sum, longest);
            fflush(stdout);
            sum = longest = 0;
            before = now();
        }
    }
}
"""

def many_functions(args):
    """A program of 50,000 functions, made once for a build directory."""
    folder = f"{args.build}/bench/many"
    program = f"{folder}/many"
    if os.path.exists(program):
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
    def __init__(self, path):
        self.process = subprocess.Popen(["taskset", "-c", "0", path], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = int(self.process.stdout.readline().split()[1])
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
    def gaps(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [float(ms) for ms in self.process.stdout.readline().split()]

def ours_kib(pid):
    """Pss of each mapping of a process by name, KiB."""
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
    """MiB more, and by which mappings."""
    more = {name: kib - before.get(name, 0) for name, kib in after.items()}
    largest = sorted(more.items(), key=lambda item: -item[1])[:4]
    return sum(more.values()) / 1024, ", ".join(
        f"{os.path.basename(name.split(' ')[-1])} {kib / 1024:.1f}" for name, kib in largest)

def plant_many(args, table):
    names = ["50,000 entries: start of dtrace to armed", "50,000 entries: beyond those of one",
             "50,000 entries: target stopped, planting", "50,000 entries: longest stop, planting",
             "50,000 entries: removing, all of ending", "50,000 entries: target stopped, removing",
             "memory in the target, 50,000 probes"]
    if not any(table.wants(name) for name in names):
        return
    runs, where = [], []
    def measure():
        path = many_functions(args)
        for _ in range(args.runs):
            with Many(path) as victim:
                some = [address(victim.pid, path, f"many_{n}") for n in range(0, FUNCTIONS, 997)]
                time.sleep(0.2)
                one = Tracer(args, victim.pid, "pid$target:many:many_1:entry { @ = count(); }",
                             [address(victim.pid, path, "many_1")])
                one.finish()
                before = ours_kib(victim.pid)
                victim.gaps()
                tracer = Tracer(args, victim.pid, "pid$target:many:many_*:entry { @ = count(); }", some)
                planting = victim.gaps()
                mib, what = grown(before, ours_kib(victim.pid))
                where.append(what)
                tracer.finish()
                if tracer.errors.strip():
                    where.append(tracer.errors.strip().splitlines()[0])
                removing = victim.gaps()
                runs.append([tracer.armed_s, tracer.armed_s - one.armed_s, *planting,
                             tracer.finish_s, removing[0], mib])
        return [run[0] for run in runs]
    table.row(names[0], "s", 0.12, 0.05, measure)
    def column(n):
        if not runs:
            raise Skip("no run")
        return lambda: [run[n] for run in runs]
    if runs:
        table.row(names[1], "s", None, None, column(1))
        table.row(names[2], "ms", 20, 5, column(2))
        table.row(names[3], "ms", None, None, column(3))
        table.row(names[4], "s", 0.1, 0.01, column(4))
        table.row(names[5], "ms", None, None, column(5))
        table.row(names[6], "MiB", 16, 6, column(6), lambda _: where[-1])

def one_probe(args, table):
    spent, memory, where = [], [], []
    def measure():
        for _ in range(args.runs):
            with Timed(args) as victim:
                before = ours_kib(victim.pid)
                tracer = Tracer(args, victim.pid, "pid$target:timed:work:entry { @ = count(); }",
                                [victim.address("work")])
                spent.append(tracer.armed_s * 1000)
                mib, what = grown(before, ours_kib(victim.pid))
                memory.append(mib)
                where.append(what)
                tracer.finish()
        return spent
    table.row("one probe, a running process: start to armed", "ms", 60, 20, measure)
    if memory:
        table.row("memory in the target, 1 probe", "MiB", 2, 1, lambda: memory,
                  lambda _: f"buffers included; {where[-1]}")

def all_of_node(args, table):
    import shutil
    node = shutil.which("node")
    def measure():
        if not node:
            raise Skip("no node")
        path, spent = os.path.realpath(node), []
        if "uv_run" not in symbols(path):
            raise Skip(f"{path} has no symbols")
        for _ in range(args.runs):
            process = subprocess.Popen([path, "-e", "setTimeout(() => {}, 1e6)"])
            try:
                time.sleep(1)
                sites = [address(process.pid, path, "uv_run")]
                tracer = Tracer(args, process.pid, "pid$target:node::entry { @ = count(); }", sites)
                tracer.finish()
                spent.append(tracer.armed_s)
            finally:
                process.kill()
                process.wait()
        return spent
    table.row("pid$target:node::entry, start to armed", "s", 1.5, 0.3, measure)

def measure(args, table):
    one_probe(args, table)
    plant_many(args, table)
    all_of_node(args, table)
