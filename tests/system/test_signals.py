#!/usr/bin/env python3
"""Tests signals, exceptions and longjmp in probed programs, and how targets and agents end."""
import os, pathlib, re, signal, time

from harness import *
from traced import *

def alarms_at_a_kilohertz_are_all_handled_while_probed(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                      "pid$target:a.out:work:return { @r = count(); } "
                      "pid$target:a.out:handled:entry { @h = count(); } "
                      'END { printa("work %@d ", @); printa("%@d ", @r); printa("handled %@d\\n", @h); }',
                      "-c", t.victim("alarms") + " 20000"))
    calls, _, handled, odd = numbers(re.search(r"calls .*", done.stdout).group())
    equal(calls, 20000, "calls")
    equal(odd, 0, "odd signals")
    contains(done.stdout, f"work 20000 20000 handled {handled}\n")

def alarms_at_a_kilohertz_do_no_harm_if_every_instruction_is_probed(t):
    done = good(t.run("-qn", "pid$target:a.out:work:,pid$target:a.out:handled:,"
                      "pid$target:a.out:on_alarm: { @[probefunc, probename] = count(); }",
                      "-c", t.victim("alarms") + " 3000"))
    calls, _, handled, odd = numbers(re.search(r"calls .*", done.stdout).group())
    counts = table(done.stdout)
    equal((calls, odd), (3000, 0), "calls, odd signals")
    equal(counts["work entry"], 3000, "entries")
    equal(counts["work 0"], 3000, "first instruction")
    equal(counts["handled return"], handled, "returns of the handler's function")
    equal(counts["on_alarm return"], handled, "returns of the handler")

def exceptions_pass_through_probed_frames(t):
    done = good(t.run("-qn", "pid$target:a.out::return,pid$target:a.out::entry "
                      "{ @[probefunc, probename] = count(); }",
                      "-c", t.victim("thrower") + " 3000"))
    contains(done.stdout, "calls 3000 caught 1000 sum 3002000\n")
    counts = table(done.stdout)
    for name, called in (("_Z4workl", 3000), ("_Z6middlel", 3000)):
        equal(counts[f"{name} entry"], called, f"entries of {name}")
        equal(counts[f"{name} return"], 2000, f"returns of {name}")

def exceptions_pass_if_libstdcxx_is_probed_too(t):
    done = good(t.run("-qn", "pid$target:a.out::entry,pid$target:a.out::return,"
                      "pid$target:libstdc++:__cxa_throw:entry,"
                      "pid$target:libgcc_s:_Unwind_*:entry,pid$target:libgcc_s:_Unwind_*:return "
                      "{ @[probefunc, probename] = count(); }",
                      "-c", t.victim("thrower") + " 300"))
    contains(done.stdout, "calls 300 caught 100 sum 30200\n")
    equal(table(done.stdout)["__cxa_throw entry"], 100, "throws")
    equal(table(done.stdout)["_Unwind_RaiseException entry"], 100, "raised")

def longjmp_leaves_probed_frames(t):
    done = good(t.run("-qn", "pid$target:a.out:work:,pid$target:a.out:middle:,"
                      "pid$target:a.out:interrupted: { @[probefunc, probename] = count(); }",
                      "-c", t.victim("jumper") + " 500"))
    contains(done.stdout, "calls 500 landed 250 handler 500 ")
    counts = table(done.stdout)
    equal(counts["work entry"], 500, "entries")
    equal(counts["middle return"], 250, "returns")
    equal(counts["interrupted entry"], 500, "entries of the interrupted function")
    equal("interrupted return" in counts, False, "returns of the interrupted function")

def a_target_that_uses_sigtrap_itself_receives_each_signal(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                      "pid$target:a.out:on_trap:entry { @t = count(); } "
                      'END { printa("work %@d ", @); printa("traps %@d\\n", @t); }',
                      "-c", t.victim("sigtrap") + " 200"))
    calls = numbers(re.search(r"kernel .*", done.stdout).group())
    equal(calls, [200, 200, 800], "traps of the kernel, of kill(), calls")
    contains(done.stdout, "work 800 traps 400\n")

def a_handler_that_resets_its_action_returns_after_dtrace_has_detached(t):
    # libc's sigaction() was called under a breakpoint, so the handler returns through code of dtrace.
    target = victim(t, "untrapped")
    with held(target):
        ready(target)
        traced = Traced(t, "pid$target:a.out:work:entry { @ = count(); }", target.pid, flags=("-x", "mechanism=int3"))
        target.stdin.write("x")
        target.stdin.flush()
        equal(target.stdout.readline(), "handler\n", "the program's output")
        traced.finish(signal.SIGINT)
        released(target.pid)
        output, _ = target.communicate("x", timeout=20)
        equal((output, target.returncode), ("returned, calls 2\n", 0), "the program's output, its status")

def signal_masks_and_handlers_of_the_target_are_not_changed(t):
    for how in ("blocked", "ignored", "handled"):
        done = good(t.run("-qn", "pid$target:a.out:work:entry,pid$target:a.out:work:return "
                          "{ @[probename] = count(); }",
                          "-c", t.victim("blocked") + " 200 " + how))
        contains(done.stdout, "calls 200 mask kept action kept\n")
        equal(table(done.stdout), {"entry": 200, "return": 200}, f"calls, {how}")

def stop_and_continue_signals_work_while_probed(t):
    target = victim(t, "waiter", "4")
    ready(target)
    traced = Traced(t, "pid$target:a.out:work:entry { @ = count(); }", target.pid)
    def state():
        return pathlib.Path(f"/proc/{target.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    for _ in range(3):
        target.send_signal(signal.SIGSTOP)
        wait_until(lambda: state() in "Tt", what="the stop of the target")
        target.send_signal(signal.SIGCONT)
        wait_until(lambda: state() in "SR", what="the continuation of the target")
    traced.finish(signal.SIGINT)
    released(target.pid)
    target.communicate(timeout=20)
    equal(target.returncode, 0, "exit status")

def run_ns(pid):
    """Returns the CPU time of all threads of a process, in ns."""
    return sum(int(path.read_text().split()[0])
               for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))

def stands(pid):
    """Returns whether all threads of a process are idle for the next 20 ms."""
    before = run_ns(pid)
    time.sleep(0.02)
    return run_ns(pid) == before

def no_stop_and_no_continuation_is_lost_in_a_probe(t):
    # SIGCONT discards a pending stop signal, and a stop signal discards a pending SIGCONT. So dtrace must delay neither
    # of them.
    target = victim(t, "stopping")
    with held(target):
        ready(target)
        traced = Traced(t, "pid$target:a.out:work:entry { @ = quantize(vtimestamp); }", target.pid)
        for i in range(200 if t.long else 40):
            pause = (i % 8) * 0.0001
            target.send_signal(signal.SIGSTOP)
            wait_until(lambda: stands(target.pid), what="the stop of the target")
            target.send_signal(signal.SIGCONT)
            computes(target.pid)
            target.send_signal(signal.SIGSTOP)
            time.sleep(pause)
            target.send_signal(signal.SIGCONT)
            computes(target.pid)
            target.send_signal(signal.SIGSTOP)
            wait_until(lambda: stands(target.pid), what="the stop of the target")
            target.send_signal(signal.SIGCONT)
            time.sleep(pause)
            target.send_signal(signal.SIGSTOP)
            wait_until(lambda: stands(target.pid), what="the stop directly after a continuation")
            target.send_signal(signal.SIGCONT)
            computes(target.pid)
        traced.finish(signal.SIGINT)
        released(target.pid)
        target.communicate(timeout=20)
    equal(target.returncode, 0, "exit status")

def a_stop_before_the_release_stops_the_target_after_it(t):
    for _ in range(50 if t.long else 10):
        target = victim(t, "stopping")
        with held(target):
            ready(target)
            traced = Traced(t, "pid$target:a.out:work:entry,pid$target:a.out:work:return { @ = count(); }", target.pid)
            target.send_signal(signal.SIGSTOP)
            target.send_signal(signal.SIGCONT)
            target.send_signal(signal.SIGSTOP)
            traced.finish(signal.SIGINT)
            released(target.pid)
            wait_until(lambda: stands(target.pid), what="the stop of the target")
            target.send_signal(signal.SIGCONT)
            computes(target.pid)
            target.communicate(timeout=20)
        equal(target.returncode, 0, "exit status")

def a_handler_of_sigcont_runs_for_each_continuation(t):
    n = 100 if t.long else 20
    target = victim(t, "stopping", "handler")
    with held(target):
        ready(target)
        traced = Traced(t, "pid$target:a.out:work:entry,pid$target:a.out:work:return { @ = count(); }", target.pid)
        for _ in range(n):
            target.send_signal(signal.SIGSTOP)
            wait_until(lambda: stands(target.pid), what="the stop of the target")
            target.send_signal(signal.SIGCONT)
            computes(target.pid)
        traced.finish(signal.SIGINT)
        released(target.pid)
        out, _ = target.communicate(timeout=20)
    equal((target.returncode, out), (0, f"continued {n}\n"), "status and handled signals")

def a_killed_target_is_reported_with_its_signal(t):
    target = victim(t, "waiter", "4")
    ready(target)
    dtrace = t.start("-n", "pid$target:a.out:work:entry { @ = count(); }" + so_far(), "-p", str(target.pid))
    fired(dtrace.stdout.readline)
    target.kill()
    target.wait()
    _, errors = dtrace.communicate(timeout=20)
    contains(errors, f"pid {target.pid} terminated by SIGKILL")
    equal(dtrace.returncode, 0, errors)

def a_zombie_counts_as_an_exited_target(t):
    target = victim(t, "waiter", "2")
    ready(target)
    dtrace = t.start("-n", "pid$target:a.out:work:entry { @ = count(); }", "-p", str(target.pid))
    wait_until(lambda: "/waiter+" in str(text_differs(target.pid)), what="the start of tracing")
    target.stdin.close()  # The target exits now, but is reaped only after dtrace has exited.
    try:
        _, errors = dtrace.communicate(timeout=20)
    finally:
        dtrace.kill()
        target.wait()
    equal(dtrace.returncode, 0, errors)
    contains(errors, f"pid {target.pid} has exited")

def dtrace_ends_when_its_agent_is_killed(t):
    target = victim(t, "waiter", "2")
    ready(target)
    dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                     'END { printa("%@d calls\\n", @); }' + so_far(), "-p", str(target.pid))
    fired(dtrace.stdout.readline)
    os.kill(tracer_of(target.pid), signal.SIGKILL)
    # Without an agent, a breakpoint may kill the target. So the target's status is not tested.
    with held(target), held(dtrace):
        out, errors = dtrace.communicate(timeout=20)
    equal(dtrace.returncode, 1, errors)
    contains(errors, "dtrace no longer traces any process: the ptrace-agent has exited")
    if not re.search(r"^\d+ calls$", out, re.M):
        raise AssertionError(out)

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
