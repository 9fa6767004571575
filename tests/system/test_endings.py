#!/usr/bin/env python3
"""Tests the ways in which a run ends: interrupts, kills and errors."""
import os, re, signal, subprocess, time

from harness import *
from saying import *

def ended_by(t, *signals):
    """Traces a target and sends signals to dtrace. Returns dtrace's status, stdout and stderr."""
    with Target(t) as target:
        dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                         'END { printf("END ran\\n"); printa(@); }' + so_far(), "-p", str(target.pid))
        fired(dtrace.stdout.readline)
        for signum in signals:
            dtrace.send_signal(signum)
        began = time.monotonic()
        out, errors = dtrace.communicate(timeout=20)
        if time.monotonic() - began > 5:
            raise AssertionError(f"dtrace ended only {time.monotonic() - began:.1f} s after {signals}")
        wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
        target.is_unharmed()
        return dtrace.returncode, out, errors

def one_interrupt_ends_with_END_and_results(t):
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        status, out, errors = ended_by(t, signum)
        equal(status, 0, errors)
        contains(out, "END ran\n")
        if not re.search(r"^ +\d+$", out, re.M):
            raise AssertionError(f"no result after {signum!r}:\n{out}")

def two_interrupts_end_dtrace_immediately(t):
    """While dtrace waits for the reader of its output, a second interrupt makes it discard the remaining output and
    exit."""
    with Target(t, 8) as target:
        reader, writer = os.pipe()
        dtrace = subprocess.Popen([t.dtrace, "-qn", "pid$target:a.out::entry { printf(\"%d\\n\", arg0); } "
                                   'END { printf("END ran\\n"); }', "-p", str(target.pid)],
                                  stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        tracing(dtrace, target.pid)
        wait_until(lambda: pipe_is_full(reader), what="a full pipe")
        dtrace.send_signal(signal.SIGINT)
        time.sleep(0.1)  # Signals within 50 ms count as one interrupt.
        dtrace.send_signal(signal.SIGINT)
        try:
            dtrace.wait(timeout=10)
        finally:
            dtrace.kill()
            os.close(reader)
            _, errors = dtrace.communicate()
        contains(errors, "interrupted again: the remaining records")
        equal(dtrace.returncode, 1)
        wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
        target.is_unharmed()

def an_interrupt_waits_for_a_slow_reader(t):
    reader, writer = os.pipe()
    dtrace = subprocess.Popen([t.dtrace, "-qn", "tick-1000hz { printf(\"%0200d\\n\", 7); } "
                               'END { printf("END ran\\n"); }'], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    time.sleep(1)  # dtrace prints 200,000 bytes in this time, and the pipe takes at most 65,536.
    dtrace.send_signal(signal.SIGINT)
    time.sleep(0.3)  # The reader is slow.
    with open(reader) as lines:
        out = lines.read()
    equal((dtrace.communicate(timeout=20)[1], dtrace.returncode), ("", 0))
    contains(out, "END ran")
    equal({len(line) for line in out.splitlines() if line not in ("", "END ran")}, {200})

def two_interrupts_at_the_same_time_count_as_one(t):
    """timeout(1) sends a signal to its child and then to its process group, so dtrace receives the signal twice."""
    for gap in (0, 0, 0, 0.001, 0.01):
        dtrace = t.start("-qn", 'BEGIN { @["counted"] = count(); printf("up\\n"); }')
        equal(dtrace.stdout.readline(), "up\n")
        dtrace.send_signal(signal.SIGINT)
        time.sleep(gap)
        dtrace.send_signal(signal.SIGINT)
        out, errors = dtrace.communicate(timeout=20)
        contains(out, "counted")
        equal((errors, dtrace.returncode), ("", 0))

def an_interrupt_without_a_target_runs_END(t):
    dtrace = t.start("-qn", 'BEGIN { printf("up\\n"); } END { printf("down\\n"); }')
    equal(dtrace.stdout.readline(), "up\n")
    dtrace.send_signal(signal.SIGINT)
    out, errors = dtrace.communicate(timeout=10)
    equal((dtrace.returncode, out), (0, "down\n\n"), errors)

def an_interrupt_from_the_terminal_ends_the_command_and_prints_the_results(t):
    """The terminal sends SIGINT to the process group, which includes the command. SIGINT kills the command."""
    dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                     'END { printf("END ran\\n"); }' + so_far(), "-c", t.victim("waiter") + " 2",
                     stdin=subprocess.PIPE, start_new_session=True)
    pid = int(dtrace.stdout.readline().split()[1])
    fired(dtrace.stdout.readline)
    os.killpg(dtrace.pid, signal.SIGINT)
    out, errors = dtrace.communicate(timeout=20)
    equal(dtrace.returncode, 0, errors)
    contains(out, "END ran\n")
    wait_until(lambda: not is_alive(pid), what="the command's end")

def an_ignored_signal_stays_ignored(t):
    dtrace = t.start("-qn", 'BEGIN { printf("up\\n"); } tick-1s { exit(6); }',
                     preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    equal(dtrace.stdout.readline(), "up\n")
    dtrace.send_signal(signal.SIGHUP)
    equal(dtrace.wait(timeout=10), 6, "status")

def a_killed_dtrace_releases_its_target(t):
    with Target(t) as target:
        dtrace = t.start("-qn", "pid$target:a.out::entry { @ = count(); }", "-p", str(target.pid))
        tracing(dtrace, target.pid)
        dtrace.kill()
        dtrace.communicate()
        wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
        target.is_unharmed()

def an_error_after_the_attach_does_not_harm_the_target(t):
    with Target(t) as target:
        for program in ("pid$target:a.out:work:entry { trace(nothing); }",
                        "pid$target:a.out:none:entry", "syntax ( error",
                        'pid$target:a.out:work:entry { system("true"); }'):
            fails_with(t.run("-n", program, "-p", str(target.pid)))
            wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
            target.is_unharmed()

def a_failed_compilation_ends_the_command_that_dtrace_started(t):
    marker = t.scratch / "ran"
    path = script(t, f"#!/bin/sh\ntouch {marker}\n", "toucher")
    os.chmod(path, 0o755)
    fails_with(t.run("-n", "BEGIN { trace(nothing); }", "-c", path))
    time.sleep(0.2)  # enough time for the command to run if it were still alive
    equal(marker.exists(), False, "the command ran although nothing was traced")

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
