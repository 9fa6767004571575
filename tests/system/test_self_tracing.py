#!/usr/bin/env python3
"""Tests programs that trace themselves, such as programs with LeakSanitizer: dtrace detaches from them meanwhile."""
import re, signal, subprocess, time

from harness import *
from faults import Holder, Line, Tracer, found
from test_idle import COUNT, Idler, leaker

MESSAGE = "the program is about to trace itself"
STACKS = 'pid$target:a.out:work:entry { @calls[ustack(1)] = count(); }'
TRACES = 'pid$target:a.out:work:entry { printf("call\\n"); }'

LEAKY = """
#include <stdlib.h>
__attribute__((noinline)) long work(long n)
{
    __asm__ volatile("" ::: "memory");
    return n * 3 + 1;
}
static void* volatile kept;
int main(void)
{
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += work(i);
    kept = malloc(4321);
    kept = NULL;
    return sum == 0;
}
"""

def leaky(t, compiler, sanitizer):
    """Returns the path of a program that leaks memory, and is checked by a sanitizer."""
    need(compiler)
    source, program = t.scratch / "leaky.c", t.scratch / f"leaky.{compiler}.{sanitizer}"
    source.write_text(LEAKY)
    built = subprocess.run([compiler, "-O1", "-g", f"-fsanitize={sanitizer}", "-o", str(program), str(source)],
                           capture_output=True, text=True)
    if built.returncode != 0:
        raise Skip(f"{compiler} cannot link this sanitizer")
    return program

def report_in(errors):
    """Returns the leak report, without process ids and addresses."""
    lines = [line for line in errors.splitlines() if line and not line.startswith("dtrace: ")]
    return [re.sub(r"==\d+==|0x[0-9a-f]+", "", line) for line in lines]

def is_reported(t, program):
    """Compares the program's report and status with and without dtrace."""
    alone = subprocess.run([str(program)], capture_output=True, text=True)
    contains(alone.stderr, "4321 byte(s) leaked")
    for clauses in (COUNT, STACKS, TRACES):
        done = t.run("-n", clauses, "-c", str(program))
        equal(report_in(done.stderr), report_in(alone.stderr), f"the report {clauses}")
        contains(done.stderr, f"exited with status {alone.returncode}")
        equal(MESSAGE in done.stderr, clauses != COUNT, f"the message {clauses}")
        equal(clauses != COUNT or "calls 1000" in done.stdout, True, done.stdout)

def leak_sanitizer_reports_leaks_of_a_command(t):
    is_reported(t, leaky(t, "gcc", "leak"))

def address_sanitizer_reports_leaks_of_a_command(t):
    is_reported(t, leaky(t, "gcc", "address"))

def a_sanitizer_in_the_program_itself_reports_leaks_of_a_command(t):
    """clang links the sanitizer statically"""
    is_reported(t, leaky(t, "clang", "address"))

def leak_sanitizer_reports_leaks_of_a_running_process(t):
    with Idler(t, command=[leaker(t)]) as target, Tracer(t, COUNT, target.pid) as tracer:
        target.do("m")
        target.do("c")
        _, errors = target.process.communicate(timeout=60)
        contains(errors.decode(), "4321 byte(s) leaked")
        equal(target.process.returncode, 23, "the status that LeakSanitizer sets")
        equal(found(tracer.finish(None), "calls"), target.n, "calls")

def two_dtrace_processes_report_that_leaks_cannot_be_found(t):
    with Idler(t, command=[leaker(t)]) as target, Tracer(t, COUNT, target.pid) as first, \
         Tracer(t, COUNT, target.pid) as second:
        target.do("m")
        target.process.communicate(timeout=60)
        first.finish(None)
        second.finish(None)
        contains(first.errors + second.errors, MESSAGE)
        contains(first.errors + second.errors, "several dtrace processes trace the program")

def drops_in(errors):
    return sum(int(n) for n in re.findall(r"(\d+) drop", errors))

def calls_are_counted_while_the_program_traces_itself(t):
    for how, n_calls in (("task", 3), ("child", 3), ("gone", 3), ("other", 2)):
        for n_threads in (0, 2):
            done = t.run("-qn", COUNT, "-c", f"{t.victim('self_tracer')} {how} 1000 {n_threads}")
            equal(done.stdout.split()[:2], ["traced", "ours"], done.stderr)
            equal(found(done.stdout, "calls"), n_calls * 1000 + n_threads * 1000000, done.stderr)
            equal(done.stderr, "", "messages")

def firings_that_need_the_engine_are_counted_as_drops_meanwhile(t):
    program = 'pid$target:a.out:work:entry { @m = max(arg0); @ = count(); } END { printa("calls %@d\\n", @); }'
    for how, n_missed in (("task", 1000), ("child", 1000), ("gone", 1000), ("other", 0)):
        done = t.run("-qn", program, "-c", f"{t.victim('self_tracer')} {how} 1000")
        equal(done.stdout.split()[:2], ["traced", "ours"], done.stderr)
        equal(MESSAGE in done.stderr, n_missed != 0, done.stderr)
        equal((drops_in(done.stderr), found(done.stdout, "calls")), (n_missed, 2000), f"{how} {done.stderr}")

# No jump fits at one of the returns of leave_early().
BREAKPOINT = "pid{pid}:a.out:leave_early:return {{ @early = count(); }} END {{ printa(\"early %@d\\n\", @early); }}"

def dtrace_stays_if_there_are_breakpoints(t):
    """dtrace must handle each hit of a breakpoint."""
    done = t.run("-qn", COUNT + BREAKPOINT.format(pid="$target"), "-c", f"{t.victim('self_tracer')} child 1000")
    equal(done.stdout.split("\n")[0], "Operation not permitted", done.stdout)
    contains(done.stderr, MESSAGE)
    contains(done.stderr, "the program has breakpoints (-x mechanism=jump prevents them)")
    equal(found(done.stdout, "calls"), 3000, "calls")

class Server(Holder):
    """The victim "self_tracer serve", which hits a breakpoint 100 times for each byte that it reads."""
    def __init__(self, t):
        self.process = subprocess.Popen([t.victim("self_tracer"), "serve", "100"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        self.lines = Line(self.process.stdout)
        equal(self.lines.next(), b"ready\n")

    def serve(self):
        """Returns the seconds that one byte has taken."""
        began = time.monotonic()
        self.process.stdin.write(b"x")
        equal(self.lines.next(60), b"done\n")
        return time.monotonic() - began

def served_beside(t, how):
    """Traces "self_tracer HOW" and a server. Returns how many bytes the server has served, the seconds that the slowest
    one took, and the messages."""
    with Server(t) as server:
        program = COUNT + BREAKPOINT.format(pid=server.pid)
        out = t.scratch / f"out.{how}"
        with open(out, "wb") as stdout, \
             held(subprocess.Popen([t.dtrace, "-qn", program, "-c", f"{t.victim('self_tracer')} {how} 1000", "-p",
                                    str(server.pid)], stdout=stdout, stderr=subprocess.PIPE, text=True)) as tracer:
            times = []
            wait_until(lambda: times.append(server.serve()) or "ours" in out.read_text(), 60, "the command's end")
            tracer.send_signal(signal.SIGINT)
            _, errors = tracer.communicate(timeout=60)
        out = out.read_text()
        equal(found(out, "calls"), 2000, errors)
        n_counted = found(out, "early")
        equal(n_counted <= 100 * len(times), True, out)
        return n_counted // 100, max(times), errors

def a_target_that_names_tracers_all_the_time_is_left_only_four_times_in_a_minute(t):
    n_served, slowest, errors = served_beside(t, "again")
    contains(errors, "dtrace has detached, or has tried to, 4 times in one minute")
    equal((n_served > 20, slowest < 10), (True, True), f"{n_served} bytes, the slowest took {slowest} s")

def a_program_that_is_executed_while_a_task_keeps_the_old_memory_is_not_changed(t):
    done = t.run("-qn", COUNT, "-c", f"{t.victim('self_tracer')} exec 1000")
    equal(done.stdout.split()[:2], ["traced", "none"], done.stderr)
    equal(found(done.stdout, "calls"), 1000, done.stderr)
    equal("exited with status" in done.stderr or "signal" in done.stderr, False, done.stderr)

def a_command_that_stops_while_dtrace_is_away_does_not_delay_another_target(t):
    """While the command is stopped and not traced, dtrace must still receive the reports of other threads."""
    n_served, slowest, errors = served_beside(t, "stop")
    equal((n_served > 5, slowest < 3), (True, True), f"{n_served} bytes, the slowest took {slowest} s; {errors}")

if __name__ == "__main__":
    main(tests_in(globals()))
