#!/usr/bin/env python3
"""Tests sessions with limits on memory, files or probes."""
import contextlib, os, pathlib, re, resource, signal, subprocess

from faults import Tracer
from harness import *
from traced import *

# RLIMIT_FSIZE limits the arena, because the arena consists of memfds.

def under_file_limit(t, limit, *flags, **more):
    return subprocess.run([t.dtrace, *flags], capture_output=True, text=True, timeout=60, cwd=t.scratch,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)), **more)

COUNTS = "pid$target:a.out:work:entry { @[probefunc] = count(); @q = quantize(arg0); }"

def a_file_size_limit_makes_buffers_smaller(t):
    for mib in (4000, 1000, 200):
        done = under_file_limit(t, mib << 20, "-n", COUNTS, "-c", t.victim("spin") + " 300 2")
        equal(done.returncode, 0, done.stderr)
        contains(done.stdout, "work")
        if not re.search(r"^\s+work\s+600$", done.stdout, re.M):
            raise AssertionError(done.stdout)
    contains(done.stderr, "buffer size lowered to ")

def a_file_size_limit_that_is_too_small_is_an_error(t):
    done = under_file_limit(t, 256 << 10, "-qn", "BEGIN { exit(0); }")
    equal(done.returncode, 1, done.stdout)
    contains(done.stderr, "could not enable tracing")
    contains(done.stderr, "(ulimit -f)")

def a_command_has_the_default_action_of_SIGXFSZ(t):
    done = under_file_limit(t, 1000 << 20, "-qn", "BEGIN { }", "-c", "grep SigIgn /proc/self/status")
    equal(done.returncode, 0, done.stderr)
    ignored = int(re.search(r"SigIgn:\s+([0-9a-f]+)", done.stdout).group(1), 16)
    equal(ignored & 1 << (signal.SIGXFSZ - 1), 0, "SIGXFSZ")

def a_session_reserves_only_memory_that_its_program_can_use(t):
    def reserved(program):
        dtrace = t.start("-n", program)
        with held(dtrace):
            wait_until(lambda: b"dtrace-data" in pathlib.Path(f"/proc/{dtrace.pid}/maps").read_bytes(), what="an arena")
            total = 0
            for line in pathlib.Path(f"/proc/{dtrace.pid}/maps").read_text().splitlines():
                if "/memfd:dtrace-" in line:
                    begin, end = (int(n, 16) for n in line.split()[0].split("-"))
                    total += end - begin
            return total >> 20
    plain, counts = reserved("tick-1s { trace(1); }"), reserved("tick-1s { @ = count(); }")
    if not plain < counts < 4000:
        raise AssertionError(f"{plain} MiB without aggregations, {counts} MiB with")

# A control group limits memory. A page is charged to the group of the process that touches it first.

SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int work(int x) { __asm__ volatile(""); return x + 1; }
static void* run(void* arg)
{
    long sum = 0;
    for (int i = 0; i < 60000; i++)
        sum += work((int)(long)arg + i);
    return (void*)sum;
}
int main(void)
{
    pthread_t threads[8];
    char c;
    puts("ready");
    fflush(stdout);
    if (read(0, &c, 1) != 1)
        return 1;
    for (long i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, run, (void*)(i << 20));
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
"""

@contextlib.contextmanager
def memory_group(limit, inside=False):
    """Yields a control group with this memory limit. If `inside` is set, the limit is on the group's parent instead."""
    mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    own = {line.split(":")[1]: line.split(":", 2)[2] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()}
    places = [(m[1] + path, "memory.limit_in_bytes") for m in mounts if m[2] == "cgroup" and "memory" in m[3].split(",")
              for path in (own.get("memory", "/"), "")]
    places += [(m[1] + path, "memory.max") for m in mounts if m[2] == "cgroup2" for path in (own.get("", "/"), "")]
    for place, name in places:
        group = pathlib.Path(place) / f"dtrace-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / name).write_text(str(limit))
            (group / "cgroup.procs").stat()
        except OSError:
            group.rmdir()
            continue
        inner = group / "inner" if inside else group
        try:
            if inside:
                if name == "memory.max":
                    (group / "cgroup.subtree_control").write_text("+memory")
                inner.mkdir()
            yield inner
        finally:
            if inner.exists():
                wait_until(lambda: not (inner / "cgroup.procs").read_text(), what="an empty group")
            for each in dict.fromkeys((inner, group)): # the inner group first
                each.rmdir()
        return
    raise Skip("no control group for memory can be created here")

def target_is_traced_in_a_small_group(t, inside):
    need("gcc")
    (t.scratch / "busy.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", "busy", "busy.c"], cwd=t.scratch, check=True)
    records = t.scratch / f"records.{inside}"
    with memory_group(24 << 20, inside) as group:
        target = subprocess.Popen(["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec ./busy"], cwd=t.scratch,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with held(target):
            equal(target.stdout.readline(), "ready\n")
            dtrace = t.start("-n", 'BEGIN { printf("begun\\n"); } pid$target:a.out:work:entry { '
                             "@[arg0, tid] = count(); @n = count(); trace(arg0); trace(timestamp); trace(execname); }",
                             "-o", str(records), "-p", str(target.pid))
            with held(dtrace):
                wait_until(lambda: records.exists() and
                           "begun" in records.read_text(errors="replace")[:1000], what="the start of tracing")
                target.stdin.write("x")
                target.stdin.flush()
                out, errors = dtrace.communicate(timeout=120)
            equal((target.wait(timeout=20), target.stdout.read()), (0, "done\n"), errors)
            contains(errors, "buffer size lowered to ")

def a_target_in_a_small_control_group_is_not_killed(t):
    target_is_traced_in_a_small_group(t, inside=False)

def a_target_in_a_group_inside_a_small_control_group_is_not_killed(t):
    target_is_traced_in_a_small_group(t, inside=True)

def a_program_that_a_target_executes_in_a_small_control_group_is_not_killed(t):
    need("gcc")
    subprocess.run(["gcc", "-O1", "-pthread", "-o", str(t.scratch / "later"), "-xc", "-"],
                   input=SOURCE.replace("60000", "20000"), text=True, check=True)
    with memory_group(24 << 20) as group:
        records, script = t.scratch / "records.later", t.scratch / "later.sh"
        script.write_text(f'#!/bin/sh\n(sh -c "echo \\$\\$ > {group}/cgroup.procs; exec {t.scratch}/later")\n'
                          "echo status $?\n")
        script.chmod(0o755)
        done = t.run("-Z", "-x", "follow=exec", "-qn", "pid$target:later:work:entry { @[arg0, tid] = count(); "
                     '@n = count(); trace(arg0); trace(timestamp); trace(execname); } END { printa("all %@d\\n", @n); }',
                     "-o", str(records), "-c", str(script), stdin="x")
        contains(done.stdout, "done\nstatus 0\n")
        contains(done.stderr, "its control group has too little memory for dtrace's buffers")
        contains(records.read_text(errors="replace"), "all 160000\n")

MANY_KEYS = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void work(unsigned long key) { __asm__ volatile("" : : "r"(key)); }
int main(void)
{
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF)
        return 1;
    for (unsigned long key = 0; key < 3000000; key++) {
        work(key);
        if (key % 20000 == 0)
            usleep(20000);
    }
    puts("done");
    return 0;
}
"""

def keys_that_do_not_fit_into_the_control_group_of_dtrace_are_dropped_and_reported(t):
    """A target that adds keys without end must not make the kernel kill a process for lack of memory."""
    need("gcc")
    subprocess.run(["gcc", "-O1", "-o", str(t.scratch / "keys"), "-xc", "-"], input=MANY_KEYS, text=True, check=True)
    with memory_group(256 << 20) as group:
        target = subprocess.Popen([str(t.scratch / "keys")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with held(target):
            equal(target.stdout.readline(), "ready\n")
            counts = t.scratch / "counts"
            dtrace = subprocess.Popen(
                ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", t.dtrace, "-qn",
                 'BEGIN { printf("begun\\n"); } pid$target:a.out:work:entry { @[arg0] = count(); @n["all"] = count(); } '
                 'END { printa("%s %@d\\n", @n); printa("%@d\\n", @); }', "-o", str(counts), "-p", str(target.pid)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            with held(dtrace):
                wait_until(lambda: counts.exists() and "begun" in counts.read_text(), what="the start of tracing")
                target.stdin.write("x")
                target.stdin.flush()
                _, errors = dtrace.communicate(timeout=120)
            equal((dtrace.returncode, target.wait(timeout=20)), (0, 0), errors)
    contains(errors, "further keys are dropped")
    rows = counts.read_text().split()
    equal(rows[rows.index("all") + 1], "3000000")
    kept = rows.count("1")
    dropped = sum(int(n) for n in re.findall(r"(\d+) aggregation drops? on CPU", errors))
    equal(kept + dropped, 3000000)
    if not 10000 < kept < 2000000:
        raise AssertionError(f"{kept} keys were aggregated")

# Probes of processes that have exited are reused

# This program waits for a byte, and then calls work() 1000 times. With an argument, it first makes as many mappings as
# the kernel permits.
MAPPINGS = r"""
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) int work(int x) { __asm__ volatile(""); return x + 1; }
int main(int argc, char** argv)
{
    int n = 0, sum = 0;
    char byte;
    while (argc > 1 && mmap(0, 4096, n & 1 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        n++;
    printf("ready %d\n", n);
    fflush(stdout);
    if (read(0, &byte, 1) == 1)
        for (int i = 0; i < 1000; i++)
            sum = work(sum);
    printf("done %d\n", sum);
    return 0;
}
"""

def a_target_that_can_map_no_more_memory_is_traced(t):
    need("gcc", "prlimit")
    program = t.scratch / "mappings"
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", program], input=MAPPINGS, text=True, check=True)
    for command, jumps in ((["prlimit", "--data=1000000", str(program)], True),
                           ([str(program), "all"], False)):
        target = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with held(target):
            equal(target.stdout.readline().split()[0], "ready")
            with Tracer(t, "pid$target:a.out:work:entry { @[ustack()] = quantize(arg0); @n = count(); } "
                        'pid$target:a.out:work:return { @r = count(); } END { printa("fired %@d %@d\\n", @n, @r); }',
                        target.pid) as tracer:
                out, _ = target.communicate("x", timeout=20)
                equal((target.returncode, out), (0, "done 1000\n"))
                contains(tracer.finish(None), "fired 1000 1000\n")
            equal("the target cannot map more memory (ulimit -v, vm.max_map_count)" in tracer.errors, not jumps,
                  tracer.errors)

def probes_of_exited_processes_are_reused(t):
    n = 200 if t.long else 25
    script = t.scratch / "many.sh"
    script.write_text(f"#!/bin/sh\ni=0\nwhile [ $i -lt {n} ]; do /bin/true; i=$((i+1)); done\n")
    script.chmod(0o755)
    done = good(t.run("-qx", "follow=exec", "-n",
                      'pid$target:libc.so.6:exit:entry /execname == "true"/ '
                      '{ printf("%d %d %s\\n", id, pid, probeprov); @ = count(); }', "-c", str(script)))
    rows = [line.split() for line in done.stdout.splitlines() if len(line.split()) == 3]
    equal(len(rows), n, done.stdout)
    for number, pid, provider in rows:
        equal(provider, f"pid{pid}")
    equal(len({pid for _, pid, _ in rows}), n, "processes")
    if len({number for number, _, _ in rows}) > n // 2:
        raise AssertionError(f"nearly each process had new probes:\n{done.stdout}")

TESTS = tests_in(globals(), memory_group)

if __name__ == "__main__":
    main(TESTS)
