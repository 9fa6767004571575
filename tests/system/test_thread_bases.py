#!/usr/bin/env python3
"""Tests that the runtime identifies threads by their fs_base: threads created in all ways, and threads after an exec.

The runtime needs no upcall for a thread that it already knows. So the tests stop the agent with a signal. A thread that
makes an upcall would then wait, but a known thread continues."""
import contextlib, os, pathlib, re, select, signal, subprocess, time

from harness import *
from traced import *

CALLS = ("pid$target:a.out:work:entry { @work[tid] = count(); self->n = arg0; } "
         "pid$target:a.out:other:entry { @other[tid] = count(); } "
         'END { printa("work %d %@d\\n", @work); printa("other %d %@d\\n", @other); }')

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

def known_threads_need_no_agent(t, how, *command, alone=True):
    """Makes a thread perform three rounds of calls. If `alone` is set, the agent is stopped during the last round. Each
    call must be counted."""
    out = t.scratch / f"bases.{time.monotonic_ns()}"
    with held(t.start("-Zqn", CALLS, "-o", str(out), "-c", " ".join(command), stdin=subprocess.PIPE)) as dtrace:
        def once(n):
            dtrace.stdin.write("go\n")
            dtrace.stdin.flush()
            line_of(dtrace, f"done {n}")
        tid = int(line_of(dtrace, "ready").split()[1])
        pid = int(next(line for line in pathlib.Path(f"/proc/{tid}/status").read_text().splitlines()
                       if line.startswith("Tgid")).split()[1])
        once(1)
        once(2)
        if alone:
            with stopped(tracer_of(pid)):
                once(3)
        else:
            once(3)
        _, errors = dtrace.communicate(timeout=60)
        equal(dtrace.returncode, 0, errors)
    want = {("work", tid): 3000}
    if how != "main":
        want["other", pid] = 3000
    equal(counts_of(out.read_text()), want, f"calls by thread, {how}")

def a_thread_created_without_settls_is_counted_under_its_own_id(t):
    known_threads_need_no_agent(t, "settled", t.victim("bases"), "settled")

def threads_that_share_an_fs_base_are_counted_under_their_own_ids(t):
    known_threads_need_no_agent(t, "shared", t.victim("bases"), "shared", alone=False)

def the_main_thread_is_known_after_an_exec(t):
    script = t.scratch / "wrapper"
    script.write_text(f"#!/bin/sh\nexec {t.victim('bases')} main\n")
    script.chmod(0o755)
    known_threads_need_no_agent(t, "main", str(script))

if __name__ == "__main__":
    main(tests_in(globals()))
