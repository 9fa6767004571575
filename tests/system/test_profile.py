#!/usr/bin/env python3
"""Tests profile-N in targets with many threads: its cost and its samples."""
import itertools, re, signal, subprocess, time

from faults import Line, Tracer
from harness import *
from traced import good

class Sleepers(Holder):
    """The victim `sleepers`: one thread works, and n threads sleep."""
    def __init__(self, t, n, rounds=0):
        self.process = subprocess.Popen([t.victim("sleepers"), str(n), str(rounds)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.lines = Line(self.process.stdout)
        self.pid = self.process.pid
        equal(self.lines.next(), b"ready\n", "the target")

    def times(self):
        """Returns the CPU time of the working thread and the elapsed time, in seconds."""
        self.process.stdin.write(b"?")
        return [int(word) / 1e9 for word in self.lines.next().split()]

# Actions at a profile probe. The agent can only compute vtimestamp while it stops the thread. Without it, the kernel takes
# the samples if the user is permitted to sample all processes.
BY_AGENT = "@samples = count(); @time = max(vtimestamp);"
BY_KERNEL = "@samples = count();"

def sampling_many_sleeping_threads_does_not_slow_down_a_working_one(t):
    """Compares the victim's CPU time with that of an untraced copy. Both run at the same time."""
    for n, actions in itertools.product((10, 500, 2000), (BY_AGENT, BY_KERNEL)):
        with Sleepers(t, n) as traced, Sleepers(t, n) as twin, \
             Tracer(t, f'profile-997 {{ {actions} }} END {{ printa("samples %@d\\n", @samples); }}',
                    traced.pid) as tracer:
            before = [each.times() for each in (traced, twin)]
            # The test waits for a fixed CPU time. With a fixed elapsed time, the load of the machine would affect the
            # result.
            wait_until(lambda: traced.times()[0] - before[0][0] > 0.3 and twin.times()[0] - before[1][0] > 0.3,
                       60, f"a working thread next to {n}")
            used = [each.times()[0] - start[0] for each, start in zip((traced, twin), before)]
            samples = re.search(r"^samples (\d+)$", tracer.finish(), re.M)
            equal(samples is not None and int(samples.group(1)) >= 10, True, f"samples next to {n}: {samples}")
            equal(used[0] > used[1] / 4, True, f"CPU time next to {n}, and of the twin: {used}")

def sampling_does_not_read_a_file_of_each_thread_at_each_tick(t):
    need("strace")
    log = t.scratch / "opened"
    with Sleepers(t, 500) as traced, \
         Tracer(t, f'profile-997 {{ {BY_AGENT} }} tick-20ms {{ printa("so far %@d\\n", @samples); }}',
                traced.pid) as tracer:
        agent = tracer_of(traced.pid)
        strace = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=openat,readlinkat,newfstatat", "-o", str(log),
                                   "-p", str(agent)])
        with held(strace):
            wait_until(lambda: tracer_of(agent) == strace.pid, what="strace")
            before = traced.times()[0]
            wait_until(lambda: traced.times()[0] - before > 0.3, 60, "the working thread")
            strace.send_signal(signal.SIGINT)
            strace.wait(20)
        tracer.finish()
    # There are about 300 ticks. If each tick read a file of each thread, there would be 150,000 calls.
    calls = log.read_text().splitlines()
    equal(0 < len(calls) < 5000, True, f"{len(calls)} calls: {calls[-5:]}")

def no_thread_is_sampled_while_stopped_threads_wait(t):
    """Before each group of at most eight samples, the agent asks the kernel whether threads have stopped."""
    need("strace")
    log = t.scratch / "waits"
    # strace makes the agent slow. If the thread hit breakpoints all the time, it would always wait for the agent, and on
    # an idle machine no sample would be taken. So it works about a millisecond between two breakpoints.
    with Sleepers(t, 50, rounds=1_000_000) as traced, \
         Tracer(t, "profile-997 { @samples = count(); } pid$target:a.out:step:entry { @hits = count(); } "
                'END { printa("samples %@d\\n", @samples); printa("hits %@d\\n", @hits); }',
                traced.pid, flags=("-x", "mechanism=int3")) as tracer:
        agent = tracer_of(traced.pid)
        with held(subprocess.Popen(["strace", "-qq", "-e", "trace=ptrace,wait4,waitid", "-o", str(log), "-p", str(agent)])) as strace:
            wait_until(lambda: tracer_of(agent) == strace.pid, what="strace")
            wait_until(lambda: log.read_text().count("PTRACE_INTERRUPT") > 20, 60, "samples")
            wait_until(lambda: log.read_text().count("PTRACE_CONT") > 4000, 60, "hits")
            strace.send_signal(signal.SIGINT)
            strace.wait(20)
        counted = dict(re.findall(r"^(samples|hits) (\d+)$", tracer.finish(), re.M))
    n_since, none_waits, n_samples, one = 0, False, 0, None
    for line in log.read_text().splitlines()[1:]:
        # The agent interrupts a thread again if it had to wait for a signal of this thread. This is not a sample.
        if line.startswith("waitid("):
            one = re.match(r"waitid\(P_PID, (\d+)", line)
        if one and line.startswith(f"ptrace(PTRACE_INTERRUPT, {one[1]})"):
            continue
        if line.startswith("wait"):
            # A waitid() that finds no thread leaves si_pid at 0, which strace prints as {}.
            none_waits = bool(re.match(r"wait4\(.* = 0$|waitid\(P_ALL, 0, \{\}.* = 0$", line))
            n_since = 0
        elif "PTRACE_INTERRUPT" in line:
            n_since, n_samples = n_since + 1, n_samples + 1
            equal((none_waits, n_since <= 8), (True, True), f"{line}: the last wait found no stopped thread, samples since")
    equal((n_samples > 20, int(counted["hits"]) > 1000), (True, True), counted)

SPINNERS = """
#include <pthread.h>
#include <unistd.h>
static void* spin(void* unused)
{
    for (;;)
        ;
    return unused;
}
int main(void)
{
    pthread_t threads[40];
    for (int i = 0; i < 40; i++)
        pthread_create(&threads[i], 0, spin, 0);
    sleep(4);
    return 0;
}
"""

def samples_that_are_left_out_are_reported(t):
    """With forty running threads, the time allowed for sampling is too short for all samples."""
    need("gcc")
    source, program = t.scratch / "spinners.c", t.scratch / "spinners"
    source.write_text(SPINNERS)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", program, source], check=True)
    done = good(t.run("-qn", f'profile-4999 {{ {BY_AGENT} }} tick-1s {{ exit(0); }} '
                      'END { printa("%@d\\n", @samples); }',
                      "-c", str(program)))
    reported = re.search(r"profile: (\d+) of (\d+) samples", done.stderr)
    if not reported:
        raise AssertionError(f"nothing is reported: {done.stderr}")
    left_out, due = map(int, reported.groups())
    taken = int(re.search(r"^(\d+)$", done.stdout, re.M)[1])
    equal(0 < taken <= due - left_out < due // 2, True, f"{taken} samples taken, {left_out} of {due} left out")

def stacks_of_a_program_that_a_script_executes_have_names(t):
    # The libraries are mapped after the exec and have no probes. dtrace reads their symbols when it prints the stacks.
    need("xz")
    script = t.scratch / "wrapper"
    script.write_text("#!/bin/sh\nexec xz -9 -c /usr/bin/python3\n")
    script.chmod(0o755)
    done = t.run("-qn", "profile-97 { @[ustack(1)] = count(); }", "-o", str(t.scratch / "stacks"), "-c", str(script))
    equal(done.returncode, 0, done.stderr)
    frames = re.findall(r"^ +(?:0x[0-9a-f]+|\S+`\S+)$", (t.scratch / "stacks").read_text(), re.M)
    unnamed = [frame for frame in frames if "`" not in frame]
    equal((len(unnamed), any("liblzma" in frame for frame in frames)), (0, True), frames)

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
