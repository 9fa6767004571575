#!/usr/bin/env python3
"""Tests that the runtime identifies threads by their fs_base, or by a gs_base that the agent sets.

The tests stop the agent. An unknown thread then waits for an upcall, and a known thread continues."""
import contextlib, os, pathlib, re, select, signal, subprocess, time

from harness import *
from traced import *

CALLS = ("pid$target:a.out:work:entry { @work[tid] = count(); self->n = arg0; @stack[ustack(20)] = count(); } "
         "pid$target:a.out:other:entry { @other[tid] = count(); } "
         'END { printa("work %d %@d\\n", @work); printa("other %d %@d\\n", @other); trunc(@stack); }')

@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)

def line_of(process, word, seconds=20):
    """Returns the first line that begins with the word. Fails if no line arrives for `seconds`."""
    while select.select([process.stdout], [], [], seconds)[0]:
        line = ready(process)
        if line.startswith(word):
            return line
    raise AssertionError(f"no line {word!r} in {seconds} s; the thread may wait for the agent")

def counts_of(output):
    return {(word, int(tid)): int(n) for word, tid, n in re.findall(r"(work|other) (\d+) (\d+)", output)}

def known_threads_need_no_agent(t, how, *command, alone=True, flags=(), calls=CALLS):
    """Makes a thread perform three rounds of calls, all of which must be counted. If `alone` is set, the agent is
    stopped during the last round. Returns the program's lines."""
    lines = []
    out = t.scratch / f"bases.{time.monotonic_ns()}"
    with held(t.start("-Zqn", calls, *flags, "-o", str(out), "-c", " ".join(command), stdin=subprocess.PIPE)) as dtrace:
        def once(n, order="fork\n"):
            dtrace.stdin.write(order)
            dtrace.stdin.flush()
            lines.append(line_of(dtrace, f"done {n}"))
        tid = int(line_of(dtrace, "ready").split()[1])
        pid = int(next(line for line in pathlib.Path(f"/proc/{tid}/status").read_text().splitlines()
                       if line.startswith("Tgid")).split()[1])
        once(1)
        once(2)
        if alone:
            with stopped(tracer_of(pid)):
                once(3, "go\n")
        else:
            once(3)
        _, errors = dtrace.communicate(timeout=60)
        equal(dtrace.returncode, 0, errors)
    want = {("work", tid): 3000}
    if how != "main":
        want["other", pid] = 3000
    equal(counts_of(out.read_text()), want, f"calls by thread, {how}")
    return lines

def a_thread_created_without_settls_is_counted_under_its_own_id(t):
    known_threads_need_no_agent(t, "settled", t.victim("bases"), "settled")

def gs_bases(line):
    """Returns the numbers GS and CHILD in a line 'done N gs GS CHILD'."""
    return [int(word, 16) for word in line.split()[3:]]

def threads_that_share_an_fs_base_are_known(t):
    lines = known_threads_need_no_agent(t, "shared", t.victim("bases"), "shared")
    own, of_child = gs_bases(lines[-1])
    equal((2048 <= own < 4096, of_child), (True, 0), lines[-1])

def a_thread_that_changes_its_fs_base_is_counted_under_its_own_id(t):
    lines = known_threads_need_no_agent(t, "changing", t.victim("bases"), "changing", alone=False)
    equal([gs_bases(line) for line in lines], [[0, 0]] * 3)

def a_thread_that_uses_gs_keeps_its_gs_base(t):
    """The agent cannot identify a thread by a gs_base that the program itself uses. So each firing in this thread is
    an upcall."""
    lines = known_threads_need_no_agent(t, "gs", t.victim("bases"), "gs", alone=False)
    equal([gs_bases(line) for line in lines], [[0, 0]] * 3)

def a_followed_child_does_not_keep_an_inherited_gs_base(t):
    lines = known_threads_need_no_agent(t, "shared", t.victim("bases"), "shared", alone=False, flags=("-x", "follow=fork"))
    equal(gs_bases(lines[-1])[1], 0, lines[-1])

def a_gs_base_that_a_thread_sets_while_it_is_traced_is_kept(t):
    with held(victim(t, "bases", "late-gs")) as process:
        ready(process)
        def gs_after_round(n):
            process.stdin.write("fork\n")
            process.stdin.flush()
            line = ready(process)
            contains(line, f"done {n} ")
            return gs_bases(line)
        traced = Traced(t, CALLS, process.pid)
        gs_after_round(1)
        equal(0 < gs_after_round(2)[0] < 4096, True, "a gs_base was set")
        own = gs_after_round(3)
        equal((own[0] > 4096, own[1]), (True, own[0]), own)
        equal(sum(counts_of(traced.finish(signal.SIGINT)).values()), 6000)
        equal(gs_after_round(4), own)

def a_gs_base_that_a_killed_agent_has_left_is_removed_later(t):
    with held(victim(t, "bases", "shared")) as process:
        ready(process)
        def gs_after_round(n):
            process.stdin.write("go\n")
            process.stdin.flush()
            line = ready(process)
            contains(line, f"done {n} ")
            return gs_bases(line)[0]
        first = Traced(t, CALLS, process.pid)
        gs_after_round(1)
        gs_after_round(2)
        os.kill(tracer_of(process.pid), signal.SIGKILL)
        first.process.communicate(timeout=60)
        equal(2048 <= gs_after_round(3) < 4096, True, "the gs_base remains")
        second = Traced(t, CALLS, process.pid)
        gs_after_round(4)
        equal(sum(counts_of(second.finish(signal.SIGINT)).values()), 2000)
        equal(gs_after_round(5), 0)

def a_released_thread_has_its_own_gs_base_again(t):
    with held(victim(t, "bases", "shared")) as process:
        ready(process)
        def round_of(n):
            process.stdin.write("fork\n")
            process.stdin.flush()
            line = ready(process)
            contains(line, f"done {n} ")
            return gs_bases(line)
        traced = Traced(t, CALLS, process.pid)
        round_of(1)
        equal(round_of(2)[0] != 0, True, "a gs_base was set")
        equal(sum(counts_of(traced.finish(signal.SIGINT)).values()), 4000)
        equal(round_of(3), [0, 0])

def the_main_thread_is_known_after_an_exec(t):
    script = t.scratch / "wrapper"
    script.write_text(f"#!/bin/sh\nexec {t.victim('bases')} main\n")
    script.chmod(0o755)
    known_threads_need_no_agent(t, "main", str(script))

def the_main_thread_of_a_go_program_is_known(t):
    """The thread sets its own fs_base after the exec."""
    known_threads_need_no_agent(t, "main", go_program(t, "go_rounds"), calls=CALLS.replace(":work:", ":main.work:"))

if __name__ == "__main__":
    main(tests_in(globals()))
