#!/usr/bin/env python3
"""Tests the plockstat provider and plockstat(1): programs lock mutexes and reader-writer locks a known number of times."""
import collections, re, subprocess

from harness import *
from traced import program_of

# Each lock is used in its own way. COUNTS and EVENTS contain what must be reported.
LOCKS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, tried = PTHREAD_MUTEX_INITIALIZER, timed = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER, waited = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive, checking, robust;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER, blocked = PTHREAD_RWLOCK_INITIALIZER;
static volatile int is_waiting;

static void expect(int got, int want)
{
    if (got != want) {
        printf("%d instead of %d\n", got, want);
        exit(1);
    }
}
static struct timespec soon(long ms)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += ms * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}
// Waits until the other thread is about to wait, and until it waits.
static void await(int step)
{
    while (is_waiting != step)
        usleep(1000);
    usleep(300000);
}
static void* in_thread(void* (*run)(void*))
{
    pthread_t thread;
    void* result;
    expect(pthread_create(&thread, 0, run, 0), 0);
    expect(pthread_join(thread, &result), 0);
    return result;
}
static void* try_lock(void* unused)
{
    (void)unused;
    for (int i = 0; i < 5; i++)
        expect(pthread_mutex_trylock(&tried), EBUSY);
    struct timespec end = soon(200);
    expect(pthread_mutex_timedlock(&timed, &end), ETIMEDOUT);
    expect(pthread_mutex_unlock(&checking), EPERM);
    end = soon(200);
    expect(pthread_rwlock_timedrdlock(&shared, &end), ETIMEDOUT);
    expect(pthread_rwlock_trywrlock(&shared), EBUSY);
    return 0;
}
// Sleeps until another thread waits for a lock.
static void* block(void* unused)
{
    (void)unused;
    is_waiting = 1;
    expect(pthread_mutex_lock(&contended), 0);
    expect(pthread_mutex_unlock(&contended), 0);
    is_waiting = 2;
    expect(pthread_rwlock_wrlock(&blocked), 0);
    expect(pthread_rwlock_unlock(&blocked), 0);
    return 0;
}
static void* wait_for_condition(void* unused)
{
    (void)unused;
    expect(pthread_mutex_lock(&waited), 0);
    is_waiting = 3;
    while (is_waiting == 3)
        expect(pthread_cond_wait(&condition, &waited), 0);
    expect(pthread_mutex_unlock(&waited), 0);
    return 0;
}
int main(void)
{
    pthread_mutexattr_t kind;
    pthread_t thread;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_NORMAL);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &kind);

    for (int i = 0; i < 1000; i++) {
        expect(pthread_mutex_lock(&plain), 0);
        expect(pthread_mutex_unlock(&plain), 0);
    }
    for (int i = 0; i < 20; i++) {
        expect(pthread_mutex_lock(&robust), 0);
        expect(pthread_mutex_unlock(&robust), 0);
    }
    for (int i = 0; i < 3; i++)
        expect(pthread_mutex_lock(&recursive), 0);
    for (int i = 0; i < 3; i++)
        expect(pthread_mutex_unlock(&recursive), 0);
    expect(pthread_mutex_trylock(&tried), 0);
    struct timespec end = soon(10000);
    expect(pthread_mutex_timedlock(&timed, &end), 0);
    expect(pthread_mutex_lock(&checking), 0);
    expect(pthread_mutex_lock(&checking), EDEADLK);
    for (int i = 0; i < 50; i++) {
        expect(pthread_rwlock_rdlock(&shared), 0);
        expect(pthread_rwlock_tryrdlock(&shared), 0);
        expect(pthread_rwlock_unlock(&shared), 0);
        expect(pthread_rwlock_unlock(&shared), 0);
    }
    for (int i = 0; i < 30; i++) {
        expect(pthread_rwlock_wrlock(&shared), 0);
        if (i == 29)
            in_thread(try_lock);
        expect(pthread_rwlock_unlock(&shared), 0);
    }
    expect(pthread_mutex_unlock(&checking), 0);
    expect(pthread_mutex_unlock(&timed), 0);
    expect(pthread_mutex_unlock(&tried), 0);

    expect(pthread_mutex_lock(&contended), 0);
    expect(pthread_rwlock_rdlock(&blocked), 0);
    expect(pthread_create(&thread, 0, block, 0), 0);
    await(1);
    expect(pthread_mutex_unlock(&contended), 0);
    await(2);
    expect(pthread_rwlock_unlock(&blocked), 0);
    expect(pthread_join(thread, 0), 0);

    expect(pthread_create(&thread, 0, wait_for_condition, 0), 0);
    await(3);
    expect(pthread_mutex_lock(&waited), 0);
    is_waiting = 4;
    expect(pthread_cond_signal(&condition), 0);
    expect(pthread_mutex_unlock(&waited), 0);
    expect(pthread_join(thread, 0), 0);
    return 0;
}
"""

# Prints for each probe and lock how often the probe fired with these arguments.
EVENTS = """
plockstat$target:::mutex-acquire, plockstat$target:::mutex-blocked, plockstat$target:::mutex-release,
plockstat$target:::mutex-error, plockstat$target:::rw-acquire, plockstat$target:::rw-block,
plockstat$target:::rw-release { @[probename, usym(arg0), args[1], 0] = count(); }
plockstat$target:::mutex-block { @[probename, usym(arg0), 0, 0] = count(); }
plockstat$target:::rw-blocked, plockstat$target:::rw-error { @[probename, usym(arg0), args[1], args[2]] = count(); }
END { printa("%s %A %d %d: %@d\\n", @); }
"""

COUNTS = {
    "plain": {"mutex-acquire 0 0": 1000, "mutex-release 0 0": 1000},
    "robust": {"mutex-acquire 0 0": 20, "mutex-release 0 0": 20},
    "recursive": {"mutex-acquire 0 0": 1, "mutex-acquire 1 0": 2, "mutex-release 0 0": 1, "mutex-release 1 0": 2},
    "tried": {"mutex-acquire 0 0": 1, "mutex-release 0 0": 1},
    "timed": {"mutex-acquire 0 0": 1, "mutex-release 0 0": 1, "mutex-block 0 0": 1, "mutex-blocked 0 0": 1,
              "mutex-error 110 0": 1},
    # The thread that does not own the mutex has tried to unlock it.
    "checking": {"mutex-acquire 0 0": 1, "mutex-release 0 0": 2, "mutex-error 35 0": 1, "mutex-error 1 0": 1},
    "contended": {"mutex-acquire 0 0": 2, "mutex-release 0 0": 2, "mutex-block 0 0": 1, "mutex-blocked 1 0": 1},
    # pthread_cond_wait() releases and acquires the mutex once more. The thread may have to wait for it.
    "waited": {"mutex-acquire 0 0": 3, "mutex-release 0 0": 3},
    "shared": {"rw-acquire 0 0": 100, "rw-release 0 0": 100, "rw-acquire 1 0": 30, "rw-release 1 0": 30,
               "rw-block 0 0": 1, "rw-blocked 0 0": 1, "rw-error 0 110": 1},
    "blocked": {"rw-acquire 0 0": 1, "rw-release 0 0": 1, "rw-acquire 1 0": 1, "rw-release 1 0": 1,
                "rw-block 1 0": 1, "rw-blocked 1 1": 1},
}

def counts_of(output):
    found = collections.defaultdict(dict)
    for name, lock, args, n in re.findall(r"^(\S+) \S+`(\w+) (\d+ \d+): (\d+)$", output, re.M):
        found[lock][f"{name} {args}"] = int(n)
    for event in ("mutex-block 0 0", "mutex-blocked 1 0"):
        found["waited"].pop(event, 0)
    return {lock: found[lock] for lock in COUNTS}

def check_counts(t, program, *flags, expects=""):
    """Checks the events of a program. `expects` is a pattern of the messages that may appear."""
    done = t.run("-q", *flags, "-n", EVENTS, "-c", str(program))
    unexpected = [line for line in done.stderr.splitlines() if not (expects and re.search(expects, line))]
    equal((done.returncode, unexpected), (0, []), "status and messages")
    equal(counts_of(done.stdout), COUNTS, "events of each lock")

def each_event_of_a_lock_fires_once(t):
    check_counts(t, program_of(t, "locks", LOCKS, "-pthread"))

def breakpoints_report_the_same_events(t):
    check_counts(t, program_of(t, "locks", LOCKS, "-pthread"), "-x", "mechanism=int3")

def the_locks_of_a_static_program_have_probes(t):
    check_counts(t, program_of(t, "static_locks", LOCKS, "-pthread", "-static"))

def the_locks_of_musl_have_probes(t):
    need("musl-gcc")
    program = t.scratch / "musl_locks"
    source = t.scratch / "musl_locks.c"
    source.write_text(LOCKS)
    subprocess.run(["musl-gcc", "-O1", "-o", program, source], check=True)
    # The code that waits has no room for a jump.
    check_counts(t, program, expects="fires? through a breakpoint")

def a_predicate_and_args_are_those_of_the_lock(t):
    # A predicate may use a variable that the clause creates. Inlines may use argN.
    done = t.run("-qn", """
inline uintptr_t lock = arg0;
plockstat$target:::mutex-acquire /lock == (uintptr_t)&`recursive && !self->held/ { self->held = 1; n++; }
plockstat$target:::mutex-release /args[0] == &`recursive && args[1] == 0/ { self->held = 0; m++; }
plockstat$target:::mutex-acquire /arg0 == (uintptr_t)&`recursive/ { if (args[1]) { deep++; } else { flat++; } }
END { printf("%d %d %d %d\\n", n, m, deep, flat); }""",
                 "-c", str(program_of(t, "locks", LOCKS, "-pthread")))
    equal((done.stdout.strip(), done.stderr), ("1 1 2 1", ""), "counts")

def descriptions_may_select_a_function(t):
    program = str(program_of(t, "locks", LOCKS, "-pthread"))
    def count(description):
        done = t.run("-qn", f"plockstat$target:{description} {{ n++; }} END {{ printf(\"%d\", n); }}", "-c", program)
        equal((done.returncode, done.stderr), (0, ""), description)
        return int(done.stdout)
    equal(count(":pthread_mutex_timedlock:mutex-blocked"), 1)
    equal(count(":pthread_rwlock_wrlock:rw-acquire"), 31)
    listed = t.run("-ln", "plockstat$target:::mutex-block", "-c", program).stdout
    waiting = set(re.findall(r"plockstat\d+\s+(\S+)\s+(\S+) mutex-block", listed))
    equal(count(", plockstat$target:".join(f"{module}:{function}:mutex-block" for module, function in waiting)) >= 2, True,
          listed)

def a_static_program_without_conditions_has_the_locks_of_glibc(t):
    program = program_of(t, "few_locks", """
#define _GNU_SOURCE
#include <pthread.h>
int main(void)
{
    pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    return pthread_mutex_trylock(&mutex) || pthread_mutex_trylock(&mutex);
}
""", "-static")
    done = t.run("-qn", "plockstat$target:::mutex-acquire { printf(\"%d \", args[1]); }", "-c", str(program))
    equal((done.stdout.split(), done.stderr), (["0", "1"], ""), "args[1]")

def a_process_without_locks_is_reported(t):
    program = program_of(t, "no_locks", "int main(void) { for (;;) ; }", "-static", "-s")
    with held(subprocess.Popen([program])) as target:
        text = t.run("-n", "plockstat$target:::mutex-acquire", "-p", str(target.pid)).stderr
        equal(f"process {target.pid} has no pthread_mutex_lock(): it has no symbols" in text, True, text)

def the_list_contains_the_probes_and_their_arguments(t):
    with held(subprocess.Popen(["sleep", "100"])) as target:
        wait_until(lambda: "libc.so.6" in open(f"/proc/{target.pid}/maps").read(), what="its libc")
        done = t.run("-lvn", "plockstat$target:::mutex-acquire", "-p", str(target.pid))
        equal(done.stderr, "", "messages")
        names = re.findall(rf"plockstat{target.pid}\s+libc.so.6\s+(\w+) mutex-acquire", done.stdout)
        equal(set(names) >= {"pthread_mutex_lock", "pthread_mutex_trylock", "pthread_cond_wait"}, True, done.stdout)
        equal("args[0]: void *\n\t\targs[1]: int\n\t\targs[2]: int\n" in done.stdout, True, done.stdout)
        everything = t.run("-ln", "plockstat$target:::", "-p", str(target.pid)).stdout
        names = {line.split()[-1] for line in everything.splitlines()[1:]}
        equal(names, {"mutex-acquire", "mutex-block", "mutex-blocked", "mutex-release", "mutex-error", "rw-acquire",
                      "rw-block", "rw-blocked", "rw-release", "rw-error"}, "names of the probes")
        text = t.run("-n", "plockstat$target:::mutex-relase", "-p", str(target.pid)).stderr
        equal("has no probe 'mutex-relase' (did you mean mutex-release?)" in text, True, text)
        text = t.run("-n", "plockstat$target:::mutex-block { trace(args[1]); }", "-p", str(target.pid)).stderr
        equal("index 1 is out of range for args[ ]: the probe has 1 argument" in text, True, text)
        for provider in ("plockstat", "plockstat*", "plockstat0"):
            text = t.run("-n", f"{provider}:::mutex-block").stderr
            equal(f"'{provider}' does not name a process: use plockstat$target" in text, True, text)

def descriptions_without_the_provider_do_not_match(t):
    done = t.run("-qn", "plockstat$target:::mutex-acquire { n++; } END { printf(\"%d\", n); }", "-n",
                 "mutex-acquire,mutex-begin,::pthread_mutex_lock: { m++; } END { printf(\" %d\", m); }", "-Z", "-c",
                 str(program_of(t, "locks", LOCKS, "-pthread")))
    n, m = done.stdout.split()
    equal((int(n) > 1000, m, done.stderr), (True, "0", ""), done.stdout)

def plockstat(t, *args):
    return subprocess.run([t.build / "cmd/tools/plockstat", *map(str, args)], capture_output=True, text=True,
                          timeout=60, cwd=t.scratch)

def table_of(output, title):
    """Returns the rows of a table, as (count, nsec, lock, caller)."""
    text = re.search(rf"^{re.escape(title)}\n\n +Count +nsec Lock +Caller\n((?: .*\n)*)", output, re.M)
    return [line.split() for line in text[1].splitlines()]

def the_tool_prints_waits_and_holds(t):
    program = program_of(t, "locks", LOCKS, "-pthread")
    done = plockstat(t, "-A", program)
    equal((done.returncode, done.stderr), (0, ""), "status and messages")
    [(count, nsec, lock, caller)] = [row for row in table_of(done.stdout, "Mutex block") if row[2] == "locks`contended"]
    equal((count, caller.startswith("locks`block+")), ("1", True), done.stdout)
    equal(int(nsec) > 50_000_000, True, f"the thread waited for {nsec} ns")
    equal({row[2]: row[0] for row in table_of(done.stdout, "R/W writer block")}, {"locks`blocked": "1"}, done.stdout)
    held_locks = {row[2]: row[0] for row in table_of(done.stdout, "Mutex hold")}
    equal({name: held_locks[f"locks`{name}"] for name in ("plain", "robust", "recursive", "tried")},
          {"plain": "1000", "robust": "20", "recursive": "1", "tried": "1"}, done.stdout)
    first = plockstat(t, "-H", "-n", 2, program)
    totals = [int(count) * int(nsec) for count, nsec, _, _ in table_of(first.stdout, "Mutex hold")]
    longest = max(int(row[0]) * int(row[1]) for row in table_of(plockstat(t, "-H", program).stdout, "Mutex hold"))
    equal((first.returncode, totals == sorted(totals, reverse=True), totals[0] > longest / 2, first.stderr),
          (0, True, True, ""), first.stdout)
    equal([len(table_of(first.stdout, title)) for title in ("Mutex hold", "R/W writer hold", "R/W reader hold")], [2, 2, 2],
          first.stdout)
    printed = plockstat(t, "-V", "-n", 1, program).stderr
    equal(t.run("-en", printed, "-c", str(program)).stderr, "", "the printed program")
    stacks = plockstat(t, "-n", 1, "-s", 3, program)
    equal(("Lock locks`contended, nanoseconds:" in stacks.stdout or "Lock locks`timed, nanoseconds:" in stacks.stdout,
           "pthread_mutex" in stacks.stdout), (True, True), stacks.stdout)

def the_tool_reports_wrong_options(t):
    for args, text in (((), "name a process with -p, or a command"), (("-n", "x", "true"), "-n takes a positive number"),
                       (("-x", "a;b", "true"), "-x takes an option of dtrace"), (("-q",), "Usage: plockstat")):
        done = plockstat(t, *args)
        equal((done.returncode != 0, text in done.stderr), (True, True), f"{args}: {done.stderr}")

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
