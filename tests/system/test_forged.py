#!/usr/bin/env python3
"""Tests targets that overwrite the memory that they share with dtrace.

A target may falsify its own results. It must not make dtrace perform actions for it, harm another target, or exhaust
dtrace's memory. If the test runs as root, the target runs as a different user."""
import subprocess

from harness import *
from traced import Traced, numbers, of_another_user, ready

@contextlib.contextmanager
def forger(t, mode):
    """Yields a forger that is ready and runs in this mode."""
    with held(subprocess.Popen([*of_another_user(t, "forger"), mode], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)) as process:
        ready(process)
        yield process

def ended(process):
    """Lets the forger exit and returns the rest of its output."""
    said, _ = process.communicate("\n", timeout=60)
    equal(process.returncode, 0, "the target's exit status")
    return said.strip()

# After 100 ticks, dtrace calls exit(). A target must not be able to prevent this.
CLOCK = " tick-10ms { n++; } tick-10ms /n == 100/ { exit(0); } END { printf(\"ticks %d\\n\", n); }"

def a_target_cannot_forge_records_of_clauses_that_run_in_dtrace(t):
    marker = t.scratch / "executed"
    diverted = t.scratch / "forged"
    with forger(t, "records") as target:
        done = t.run("-wqn", "pid$target:a.out:work:entry { @calls = count(); } "
                     "tick-10ms /pid == 1/ { system(\"echo %s >> " + str(marker) + "\", execname); }"
                     "tick-10ms /pid == 1/ { exit(7); } tick-10ms /pid == 1/ { trunc(@calls); }"
                     "tick-10ms /pid == 1/ { clear(@calls); }"
                     "tick-10ms /pid == 1/ { normalize(@calls, 1000000000); }"
                     "tick-10ms /pid == 1/ { freopen(\"" + str(t.scratch) + "/%s\", execname); }"
                     + CLOCK, "-p", str(target.pid))
        equal(ended(target), "wrote", "what the target did")
    equal(done.returncode, 0, "dtrace's exit status")
    equal(marker.exists(), False, "a forged system() was executed")
    equal(diverted.exists(), False, "a forged freopen() was obeyed")
    contains(done.stdout, "ticks 100\n")
    if numbers(done.stdout)[-1] == 0:
        raise AssertionError("a forged clear(), trunc() or normalize() was obeyed:\n" + done.stdout)
    contains(done.stderr, "overwritten the buffer")

def a_target_that_clears_locks_harms_no_other_target(t):
    with forger(t, "locks") as hostile, forger(t, "innocent") as innocent:
        work = ",".join(f"pid{p.pid}:a.out:work:entry" for p in (hostile, innocent))
        done = t.run("-qn", work + " { @[copyinstr(arg1), ustack(4)] = count(); }" + CLOCK,
                     "-p", str(hostile.pid), "-p", str(innocent.pid))
        equal(done.returncode, 0, done.stderr)
        contains(done.stdout, "innocent")
        equal(innocent.poll(), None, "the innocent target's status")
        ended(innocent)
        equal(ended(hostile), "wrote", "what the hostile target did")

def a_target_that_fills_all_buffers_uses_up_neither_time_nor_memory(t):
    for mode in ("full", "keys"):
        with forger(t, mode) as target:
            dtrace = t.start("-qn", "pid$target:a.out:work:entry { @[arg0] = count(); } "
                             "pid$target:a.out:work:entry { trace(arg0); }" + CLOCK,
                             "-o", "/dev/null", "-p", str(target.pid))
            with held(dtrace):
                _, errors = dtrace.communicate(timeout=60)
                equal(dtrace.returncode, 0, errors)
            equal(ended(target), "wrote", "what the target did")
            contains(errors, "overwritten the buffer")

def none_of_100000_keys_is_dropped_at_a_million_updates_a_second(t):
    with forger(t, "innocent") as target:
        out = t.scratch / "counted"
        done = t.run("-qn", "pid$target:a.out:work:entry { @[arg0 % 100000] = count(); @n = sum(1); } "
                     "tick-1s { exit(0); }", "-o", str(out), "-p", str(target.pid))
        ended(target)
        equal((done.returncode, done.stderr), (0, ""), "exit status and complaints")
    rows = [[int(word) for word in line.split()] for line in out.read_text().splitlines() if line.strip()]
    keys = [row for row in rows if len(row) == 2]
    total = next(row[0] for row in rows if len(row) == 1)
    # Each thread may be between the two aggregations of a firing, so the sums may differ by one per thread.
    if abs(sum(row[1] for row in keys) - total) > 16:
        raise AssertionError(f"{total} updates, but {sum(row[1] for row in keys)} in {len(keys)} keys")

MANY_KEYS = r"""
#include <stdlib.h>
__attribute__((noinline)) void work(unsigned long key) { __asm__ volatile("" : : "r"(key)); }
int main(int argc, char **argv)
{
    unsigned long random = 1;
    for (long n = argc > 1 ? atol(argv[1]) : 1; n > 0; n--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        work(random >> 24);
    }
    return 0;
}
"""

def no_update_of_a_million_keys_is_lost(t):
    need("gcc")
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", str(t.scratch / "many")], input=MANY_KEYS, text=True, check=True)
    n_updates, out = 4000000 if t.long else 300000, t.scratch / "many.out"
    done = t.run("-qn", "pid$target:a.out:work:entry { @[arg0 & 1048575] = count(); }", "-o", str(out),
                 "-c", f"{t.scratch}/many {n_updates}")
    equal((done.returncode, done.stderr), (0, ""))
    counts = [int(line.split()[1]) for line in out.read_text().splitlines() if line.strip()]
    equal((sum(counts), len(counts) > n_updates // 5), (n_updates, True))

TWO_THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) void work(unsigned long key, unsigned long value)
{
    __asm__ volatile("" : : "r"(key), "r"(value));
}
static long n_updates, burst;
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}
static void *update(void *seed)
{
    unsigned long random = (unsigned long)seed, key = 0;
    const double began = seconds();
    for (long n = 1; n <= n_updates; n++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        if (n % burst == 0)
            key = (random >> 20) % 100000;
        work(key, (random >> 44) >> ((random >> 40) & 15));
        while (seconds() < began + n / 500000.)
            ;
    }
    return 0;
}
int main(int argc, char **argv)
{
    pthread_t threads[2];
    n_updates = atol(argv[1]);
    burst = atol(argv[2]);
    for (unsigned long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, update, (void *)(i + 1));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"""

def two_busy_threads_lose_no_value_of_a_distribution_with_100000_keys(t):
    need("gcc")
    subprocess.run(["gcc", "-O1", "-pthread", "-xc", "-", "-o", str(t.scratch / "two")], input=TWO_THREADS, text=True,
                   check=True)
    n_updates, out = 10000000 if t.long else 1000000, t.scratch / "two.out"
    for burst in (1, 2, 4) if t.long else (2,): # number of consecutive updates that have the same key
        done = t.run("-qn", "pid$target:a.out:work:entry { @[arg0] = quantize(arg1); }", "-x", "aggsortkey",
                     "-o", str(out), "-c", f"{t.scratch}/two {n_updates} {burst}", timeout=300)
        equal((done.returncode, done.stderr), (0, ""), f"bursts of {burst}")
        n_keys = n_counted = 0
        with open(out, encoding="ascii") as lines:
            for line in lines:
                n_keys += line.strip().isdigit()
                n_counted += int(line.split("|")[1].split()[-1]) if "|" in line else 0
        equal((n_counted, n_keys > 99900), (2 * n_updates, True), f"bursts of {burst}")
        out.unlink()

TESTS = tests_in(globals(), ended)

if __name__ == "__main__":
    main(TESTS)
