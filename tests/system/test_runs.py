#!/usr/bin/env python3
"""Tests the start of commands, tracing that ends without an interrupt, drops, and the order of records."""
import re

from harness import *
from traced import *

# The start of a command, and tick probes

def evaltime_selects_the_point_at_which_a_command_is_held(t):
    # The library's constructor runs before main().
    for when in ("exec", "preinit", "postinit", "main"):
        done = good(t.run("-x", f"evaltime={when}", "-qn",
                          "pid$target:a.out:construct:entry { @[probefunc] = count(); } "
                          "pid$target:a.out:main:entry { @[probefunc] = count(); }",
                          "-c", t.victim("stages"), *(["-Z"] if when == "exec" else [])))
        counts = table(done.stdout)
        contains(done.stdout, "main saw stage 1\n")
        equal(counts.get("main"), 1, f"{when}: calls to main")
        equal(counts.get("construct", 0), 0 if when in ("postinit", "main") else 1,
              f"{when}: calls to the constructor")

def evaltime_exec_finds_libraries_with_Z(t):
    done = good(t.run("-x", "evaltime=exec", "-qZn",
                      "pid$target:libc.so.6:pthread_create*:entry { @ = count(); }",
                      "-c", t.victim("spin") + " 10 4"))
    equal(numbers(done.stdout)[-1], 4, "threads")

def an_unknown_evaltime_is_refused(t):
    done = t.run("-x", "evaltime=never", "-n", "BEGIN { exit(0); }")
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "failed to set -x evaltime: ")

def a_tick_can_end_the_run_while_the_target_continues(t):
    target = victim(t, "waiter", "2")
    ready(target)
    done = t.run("-qn", "pid$target:a.out:work:entry { @w = count(); } "
                 "profile-97 { @p = count(); } tick-100ms { @t = count(); } "
                 'tick-1s { printa("work %@d\\n", @w); printa("profile %@d\\n", @p); '
                 'printa("tick %@d\\n", @t); exit(3); }', "-p", str(target.pid))
    equal(done.returncode, 3, done.stderr)
    found = dict(re.findall(r"^(work|profile|tick) (\d+)$", done.stdout, re.M))
    if not (int(found["work"]) > 500 and int(found["profile"]) > 0 and
            5 <= int(found["tick"]) <= 10):
        raise AssertionError(done.stdout)
    released(target.pid)
    target.communicate(timeout=20)
    equal(target.returncode, 0, "exit status")

def the_command_continues_after_exit(t):
    """The -c command runs to its end after exit(). dtrace restores the command's text."""
    done = t.run("-qn", "pid$target:a.out:work:entry { exit(4); }",
                 "-c", t.victim("spin") + " 100000 2")
    equal(done.returncode, 4, done.stderr)
    contains(done.stdout, "calls 200000 ")

# Drops, faults, order

def records_that_do_not_fit_into_a_small_buffer_are_counted(t):
    path = t.scratch / "small-buffer"
    done = t.run("-b", "4k", "-x", "switchrate=1hz", "-o", str(path), "-qn",
                 'pid$target:a.out:work:entry { printf("row %d\\n", arg0); }',
                 "-c", t.victim("spin") + " 20000 1")
    equal(done.returncode, 0, done.stderr)
    rows = path.read_text().count("row ")
    lost = sum(map(int, re.findall(r"^dtrace: (\d+) drops? on CPU \d+$", done.stderr, re.M)))
    if lost == 0:
        raise AssertionError(f"{rows} rows did fit into a small buffer:\n{done.stderr}")
    equal(rows + lost, 20000, "records and drops")

def a_fault_in_a_probe_does_not_harm_the_target(t):
    done = t.run("-qn", "pid$target:a.out:work:entry { trace(copyinstr(arg0)); } "
                 "pid$target:a.out:work:entry { @ = count(); } "
                 "ERROR { @faults[arg4] = count(); }", "-c", t.victim("spin") + " 100 2")
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "calls 200 ")
    errors = re.findall(r"^dtrace: error on enabled probe ID \d+ \(ID \d+: pid\d+:spin:work:entry\): "
                        r"invalid address \(0x[0-9a-f]+\) in action #1", done.stderr, re.M)
    equal(len(errors), 200, "reported errors")
    equal(numbers(done.stdout).count(200), 3, "calls, firings, faults")

def records_of_many_threads_are_in_order_of_time(t):
    lines = recorded(t, "-qn", 'pid$target:a.out:work:entry,pid$target:a.out:work:return '
                     '{ printf("%d\\n", timestamp); }', command=t.victim("spin") + " 200 20")
    times = [int(line) for line in lines if line]
    equal(len(times), 8000, "records")
    equal(times, sorted(times), "times")

def a_predicate_chooses_among_threads(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry /arg0 % 10 == 3/ { @[tid] = count(); }",
                      "-c", t.victim("spin") + " 100 8"))
    equal(sorted(table(done.stdout).values()), [10] * 8, "calls by each thread")

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
