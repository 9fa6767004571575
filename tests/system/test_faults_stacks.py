"""Tests stacks that are unwound, switched, walked or nearly full. Also tests signal storms (D and H of
docs/faults.md)."""
import random, re, subprocess, time

from faults import *
from harness import *

OWN = "pid$target:a.out::entry,pid$target:a.out::return "
ALL = "pid$target:::entry,pid$target:::return "

def coroutines_longjmp_and_backtrace_work_repeatedly(t):
    """H3, H4, H7: each coroutine has a stack of 16 KiB between guard pages"""
    n = 1000 if t.long else 200
    for probes in (OWN, "pid$target:a.out:: ", ALL):
        # Only --long sets breakpoints in all functions of libc and libstdc++, because they make the program slow.
        for flags in BOTH if t.long or probes != ALL else BOTH[:1]:
            said, out = traced_command(t, probes + "{ @ = count(); }",
                                       t.victim("coroutines") + f" {n}", flags)
            contains(said, f"switched {8 * n} jumped {n} deep {n} wrong 0 ")
            equal(int(out) > 40 * n, True, f"{out} firings")

def exceptions_and_cancelled_threads_unwind_repeatedly(t):
    """H1, H2: some exceptions are rethrown, or are thrown while another exception is handled. Some unwind through a
    call that was moved to a trampoline. pthread_cancel() unwinds threads."""
    n = 1000 if t.long else 200
    for probes in (OWN, "pid$target:a.out:: ", ALL):
        for flags in BOTH if t.long or probes != ALL else BOTH[:1]:
            said, out = traced_command(t, probes + "{ @ = count(); }",
                                       t.victim("unwinder") + f" {n}", flags)
            contains(said, f"good {n} unwound {n // 10}\n")
            equal(int(out) > 10 * n, True, f"{out} firings")

def counts_of_frames_that_exceptions_leave_are_exact(t):
    """H1, F22: each entry fires, and a return probe fires only if the function returns"""
    for flags in BOTH:
        _, out = traced_command(t, OWN + "{ @[probefunc, probename] = count(); }",
                                t.victim("unwinder") + " 1000", flags)
        counts = rows(out)
        for name, entries in (("thrower", 2000), ("through", 2000), ("again", 1000),
                              ("nested", 1000), ("cancelled", 100)):
            equal(counts.get(f"{name} entry"), entries, f"entries of {name}")
        equal(counts.get("nested return"), 1000, "returns of nested")
        for name in ("thrower", "through", "again", "cancelled"):
            equal(counts.get(f"{name} return"), None, f"returns of {name}")

def room(text):
    values = {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", text)}
    equal(values["odd"], 0, text)
    return values["frames"] * values["bytes"]

def a_probe_needs_at_most_200_bytes_of_stack(t):
    """H8, H9: with probes, recursion ends at most 200 bytes earlier than without them. This is also true on a stack
    of 2 KiB above a guard page."""
    want = room(subprocess.run([t.victim("depth"), "10"], capture_output=True, text=True).stdout)
    for probes in ("pid$target:a.out:deep:entry,pid$target:a.out:work:entry,pid$target:a.out:work:return ",
                   "pid$target:a.out:deep:,pid$target:a.out:work: ", ALL):
        for flags, what in ((BOTH[0], "count()"), (BOTH[0], "max(ustackdepth)"), (BOTH[1], "count()")):
            if flags and probes == ALL and not t.long:
                continue
            said, _ = traced_command(t, probes + f"{{ @[probefunc] = {what}; }}",
                                     t.victim("depth") + (" 3" if what == "count()" and not flags else " 1"), flags)
            lost = want - room(said)
            equal(0 <= lost <= 200, True, f"{lost} bytes less, {probes}{flags} {what}")

# Signals

def storm(text):
    values = dict(re.findall(r"(\w+) (\d+)", text))
    return {name: int(value) for name, value in values.items()}

def right_storm(text, n):
    got = storm(text)
    equal([got[name] for name in
           ("signals", "twice", "odd", "strange", "wrong", "masked", "handled")],
          [n, 0, 0, 0, 0, 0, n], "signals of the storm")
    return got

def a_signal_storm_on_the_smallest_stack_is_counted_exactly(t):
    """D1, D6, D8: the handler is probed as well. The second round probes every instruction."""
    for probes, n in (("pid$target:a.out:work:entry,pid$target:a.out:work:return,"
                       "pid$target:a.out:handled:entry,pid$target:a.out:on_signal:return ", 50000),
                      ("pid$target:a.out:work:,pid$target:a.out:handled:,"
                       "pid$target:a.out:on_signal: ", 3000)):
        for flags in BOTH:
            said, out = traced_command(t, probes + "{ @[probefunc, probename] = count(); }",
                                       f"{t.victim('storm')} {n} 3", flags)
            got, counts = right_storm(said, n), rows(out)
            for name, called in (("work entry", got["work"]), ("work return", got["work"]),
                                 ("handled entry", n), ("on_signal return", n)):
                equal(counts.get(name, 0), called, name)

def storming(t, n, room=None, threads=3):
    """Starts the victim `storm`. `room` is the number of signals that the kernel can queue for it."""
    limit = [] if room is None else ["prlimit", f"--sigpending={room}"]
    return held(subprocess.Popen(limit + [t.victim("storm"), str(n), str(threads)],
                                 stdout=subprocess.PIPE, text=True))

def probes_are_planted_and_removed_in_a_signal_storm(t):
    """C1, C6, D1: signals arrive and threads execute the probed functions during the planting and removal"""
    n = 1000000 if t.long else 250000
    for probes in (OWN, "pid$target:a.out:work:,pid$target:a.out:handled: ", ALL):
        with storming(t, n) as target:
            n_rounds = traced_again_and_again(t, probes + "{ @ = count(); }", target, 0.02)
            said = target.communicate(timeout=60)[0]
        equal(target.returncode, 0, said)
        right_storm(said, n)
        equal(n_rounds >= 2, True, f"only {n_rounds} rounds")

def signals_are_not_lost_when_the_queue_is_full(t):
    """D1: the sender refills the queue immediately, even during the detach"""
    n = 30000
    for probes, threads in ((OWN, 3), ("pid$target:a.out:work:,pid$target:a.out:handled: ", 3), (OWN, 1)):
        for flags in BOTH:
            with storming(t, n, 200, threads) as target:
                target.stdout.readline() # by now, prlimit has exec'd the victim
                traced_again_and_again(t, probes + "{ @ = count(); }", target, 0.02, flags)
                said = target.communicate(timeout=60)[0]
            equal(target.returncode, 0, said)
            right_storm(said, n)

def a_killed_dtrace_does_no_harm_in_a_signal_storm(t):
    """A1, D1: dtrace is killed at a random moment, and every signal is still handled exactly once"""
    n = 100000
    for _ in range(100 if t.long else 5):
        with storming(t, n) as target, Tracer(t, OWN + "{ @ = count(); }", target.pid) as tracer:
            time.sleep(random.random() * 0.05)
            tracer.process.kill()
            said = target.communicate(timeout=60)[0]
        equal(target.returncode, 0, said)
        right_storm(said, n)

TESTS = tests_of(globals())

if __name__ == "__main__":
    main(TESTS)
