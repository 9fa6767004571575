#!/usr/bin/env python3
"""Tests threads, forks, execs and plugins: counts are exact, and targets produce the right results."""
import os, pathlib, re, signal, subprocess, time

from harness import *
from traced import *

# Counts

def calls_from_fifty_threads_are_counted_exactly(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { @entries = count(); } "
                      "pid$target:a.out:work:return { @returns = count(); } "
                      'END { printa("entries %@d\\n", @entries); '
                      'printa("returns %@d\\n", @returns); }',
                      "-c", t.victim("spin") + " 1000 50"))
    contains(done.stdout, "calls 50000 ")
    contains(done.stdout, "entries 50000\n")
    contains(done.stdout, "returns 50000\n")

def calls_from_fifty_threads_are_recorded_without_a_drop(t):
    lines = recorded(t, "-qn", 'pid$target:a.out:work:entry { printf("%d %d\\n", tid, arg0); }',
                     command=t.victim("spin") + " 400 50")
    rows = [tuple(map(int, line.split())) for line in lines if line]
    equal(len(rows), 400 * 50, "records")
    threads = {tid for tid, _ in rows}
    equal(len(threads), 50, "threads")
    # Each thread's records are in order. A record contains the number of calls that its thread made before.
    for thread in threads:
        equal([n for tid, n in rows if tid == thread], list(range(400)), f"thread {thread}")

def thread_local_variables_are_separate(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { self->n = arg0 + 1; } "
                      "pid$target:a.out:outer:return /self->n == arg1/ { @odd = count(); } "
                      "pid$target:a.out:outer:return /self->n/ { @ = sum(self->n); self->n = 0; } "
                      'END { printa("sum %@d\\n", @); }',
                      "-c", t.victim("spin") + " 200 50"))
    contains(done.stdout, f"sum {50 * sum(range(1, 201))}\n")

def a_running_target_with_threads_is_traced_and_released(t):
    target = victim(t, "waiter", "20")
    ready(target)
    traced = Traced(t, "pid$target:a.out:work:entry { @e = count(); } "
                    "pid$target:a.out:work:return { @r = count(); } "
                    'END { printa("entries %@d\\n", @e); printa("returns %@d\\n", @r); }' + so_far("@e"),
                    target.pid)
    fired(traced.began.read_text, 1000)
    out = traced.finish(signal.SIGINT)
    entries = int(re.search(r"entries (\d+)", out).group(1))
    returns = int(re.search(r"returns (\d+)", out).group(1))
    if entries < 1000 or abs(entries - returns) > 20:  # threads may be in the function during the attach and the detach
        raise AssertionError(out)
    released(target.pid)
    out, _ = target.communicate(timeout=20)
    equal(target.returncode, 0, out)

def several_targets_are_traced_at_once(t):
    targets = [victim(t, "waiter", "2") for _ in range(3)]
    for target in targets:
        ready(target)
    program = " ".join(f"pid{target.pid}:a.out:work:entry {{ @[pid] = count(); }}"
                       for target in targets)
    traced = Traced(t, program + ' tick-20ms { printa("%d fired %@d\\n", @); } END { printa(@); }', *(target.pid for target in targets))
    wait_until(lambda: all(f"{target.pid} fired" in traced.began.read_text() for target in targets), what="firings")
    counts = table(traced.finish(signal.SIGINT))
    equal(sorted(counts), sorted(str(target.pid) for target in targets), "pids")
    for target in targets:
        released(target.pid)
        target.communicate(timeout=20)
        equal(target.returncode, 0, "exit status")

def dtrace_ends_when_the_last_of_its_targets_ends(t):
    targets = [victim(t, "waiter", "1") for _ in range(2)]
    for target in targets:
        ready(target)
    traced = Traced(t, "pid$target:a.out:work:entry { @ = count(); }",
                    *(target.pid for target in targets))
    targets[0].communicate(timeout=20)
    time.sleep(0.3)  # enough time for dtrace to notice that its targets have exited
    equal(traced.process.poll(), None, "dtrace while one target lives")
    targets[1].communicate(timeout=20)
    traced.finish()

def a_command_and_a_process_are_traced_together(t):
    target = victim(t, "waiter", "1")
    ready(target)
    done = t.start("-qn", 'pid$target:a.out:work:entry { @[execname] = count(); } '
                   f"pid{target.pid}:a.out:work:entry {{ @[execname] = count(); @n = count(); }}" + so_far("@n"),
                   "-c", t.victim("spin") + " 500 1", "-p", str(target.pid))
    fired(done.stdout.readline)
    target.communicate(timeout=20)
    out, errors = done.communicate(timeout=20)
    equal(done.returncode, 0, errors)
    counts = table(out)
    equal(counts.get("spin"), 500, "calls by the command")
    if not counts.get("waiter"):
        raise AssertionError(out)

# Tasks that start and end

def a_forked_child_has_unchanged_text_and_works(t):
    dtrace = t.start("-qn", "pid$target:a.out:work:entry { @[pid == $target] = count(); }",
                     "-c", t.victim("forkwait"), stdin=subprocess.PIPE)
    child = int(ready(dtrace).split()[1])
    equal(tracer_of(child), 0, "the child's TracerPid")
    equal(text_differs(child), [], "the child's changed text")
    out, errors = dtrace.communicate("x", timeout=60)
    equal(dtrace.returncode, 0, errors)
    contains(out, "child sum 499545\n")
    contains(out, "parent sum 90 child 42\n")
    equal(table(out).get("1"), 20, "calls by the parent")
    equal(table(out).get("0"), None, "calls by the child")

def many_forked_children_work(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry,pid$target:a.out:work:return "
                      "{ @[probename, pid == $target] = count(); }",
                      "-c", t.victim("forker") + " 100"))
    contains(done.stdout, "children 100 good 100\n")
    equal(table(done.stdout), {"entry 1": 100, "return 1": 100}, "calls")

def vforked_and_spawned_children_run(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                      "pid$target:libc.so.6:*exec*:entry,pid$target:libc.so.6:*spawn*:entry,"
                      "pid$target:libc.so.6:*fork*:entry { @n[probefunc] = count(); } "
                      'END { printa("work %@d\\n", @); }',
                      "-c", t.victim("spawner") + " 10"))
    contains(done.stdout, "calls 30 spawned 10 vforked 10 opened 10\n")
    contains(done.stdout, "work 30\n")

def a_vforked_child_in_probed_functions_does_no_harm(t):
    plain = subprocess.run([t.victim("vforker"), "20"], capture_output=True, text=True)
    done = t.run("-qn", "pid$target:a.out::entry,pid$target:a.out::return { @ = count(); }",
                 "-o", str(t.scratch / "vforker.out"), "-c", t.victim("vforker") + " 20")
    good(done)
    equal(done.stdout, plain.stdout, "output")

def after_an_exec_the_new_program_has_no_probes(t):
    dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                     'BEGIN { printf("target %d\\n", $target); } END { printa("%@d calls\\n", @); }',
                     "-x", "follow=none", "-c", t.victim("execwait"), stdin=subprocess.PIPE)
    pid = int(ready(dtrace).split()[1])
    wait_until(lambda: pathlib.Path(f"/proc/{pid}/comm").read_text() == "cat\n", what="exec")
    wait_until(lambda: text_differs(pid) == [], what="the original text")
    out, errors = dtrace.communicate("to the new program\n", timeout=60)
    equal(dtrace.returncode, 0, errors)
    contains(out, "to the new program\n")
    contains(out, "10 calls\n")

def the_exit_after_an_exec_from_a_thread_is_reported(t):
    # The last program exits immediately. Its exit must be reported, even if the agent has not read its mappings yet.
    for _ in range(100 if t.long else 10):
        done = t.run("-n", "pid$target:a.out:work:entry { @ = count(); }",
                     "-c", t.victim("execer") + " 3", timeout=30)
        equal(done.returncode, 0, done.stderr)
        contains(done.stdout, "done\n")
        contains(done.stderr, "exited with status 7")

def exec_from_a_thread_while_the_main_thread_is_at_a_probe_works(t):
    # After an exec from another thread, that thread has the main thread's id. So the kernel reports the main thread's
    # stop and the exec with the same id.
    for _ in range(500 if t.long else 40):
        done = t.run("-n", "pid$target:a.out:work:entry,pid$target:a.out:work:return "
                     "{ @ = count(); }", "-c", t.victim("execleader") + " 1", timeout=30)
        equal(done.returncode, 0, done.stderr)
        contains(done.stdout, "done\n")
        contains(done.stderr, "exited with status 7")

def a_plugin_is_probed_when_it_is_loaded(t):
    done = good(t.run("-qZn", "pid$target:plugin:plugin_work:entry { @ = count(); } "
                      "pid$target:plugin:plugin_work:return { @r = count(); } "
                      'END { printa("entries %@d\\n", @); printa("returns %@d\\n", @r); }',
                      "-c", f"{t.victim('dlopener')} {t.victim('plugin.so')} 5 100"))
    contains(done.stdout, "sum ")
    # Each load runs the constructor, which calls the function once.
    contains(done.stdout, "entries 505\n")
    contains(done.stdout, "returns 505\n")

def a_plugin_of_a_running_program_is_probed_when_it_is_loaded(t):
    target = victim(t, "dlopener", t.victim("plugin.so"), "3", "50",
                    env=dict(os.environ, WAIT="1"))
    ready(target)
    traced = Traced(t, "pid$target:plugin.so:plugin_work:entry { @ = count(); } "
                    'END { printa("entries %@d\\n", @); }', target.pid, flags=["-Z"])
    out, _ = target.communicate("x", timeout=30)
    contains(out, "sum ")
    contains(traced.finish(), "entries 153\n")

# Tracing by an ordinary user

def an_ordinary_user_traces_its_own_processes(t):
    if os.geteuid() != 0:
        raise Skip("all tests of this run are by an ordinary user")
    user = as_nobody()
    place = t.scratch / "nobody"
    place.mkdir(exist_ok=True)
    for path in (t.dtrace, t.victim("spin"), t.victim("waiter")):
        subprocess.run(["install", "-m", "755", path, str(place)], check=True)
    t.scratch.chmod(0o755)
    place.chmod(0o777)
    def run(*flags):
        return subprocess.run([*user, str(place / "dtrace"), *flags], capture_output=True,
                              text=True, timeout=60, cwd=place)
    good(run("-qn", "BEGIN { exit(0); }"))
    done = good(run("-qn", "pid$target:a.out:work:entry,pid$target:a.out:work:return "
                    "{ @[probename, uid] = count(); }", "-c", f"{place}/spin 500 10"))
    equal(table(done.stdout), {"entry 65534": 5000, "return 65534": 5000}, "calls")
    done = good(run("-qn", "pid$target:libc.so.6:malloc:entry { @[ustack(3)] = count(); }",
                    "-c", "/bin/ls /"))
    contains(done.stdout, "libc.so.6`malloc\n")
    target = subprocess.Popen([*user, str(place / "waiter"), "4"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        ready(target)
        done = good(run("-qn", "pid$target:a.out:work:entry { @ = count(); } tick-1s { exit(0); }",
                        "-p", str(target.pid)))
        if numbers(done.stdout)[-1] < 100:
            raise AssertionError(done.stdout)
        released(target.pid)
    finally:
        target.communicate(timeout=20)
    equal(target.returncode, 0, "exit status")

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
