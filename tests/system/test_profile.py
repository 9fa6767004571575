#!/usr/bin/env python3
"""profile-N in targets with many threads: what it costs them, and what is sampled."""
import re, signal, subprocess, time

from faults import Line, Tracer
from harness import *

class Sleepers(Holder):
    """The victim `sleepers`: one thread works, so many sleep."""
    def __init__(self, t, n):
        self.process = subprocess.Popen([t.victim("sleepers"), str(n)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.lines = Line(self.process.stdout)
        self.pid = self.process.pid
        equal(self.lines.next(), b"ready\n", "the target")

    def times(self):
        """Of the working thread, in seconds: CPU time, and what has passed."""
        self.process.stdin.write(b"?")
        return [int(word) / 1e9 for word in self.lines.next().split()]

def a_working_thread_runs_on_beside_many_that_sleep(t):
    """An untraced twin runs meanwhile: both share what the machine has left."""
    for n in (10, 500, 2000):
        with Sleepers(t, n) as traced, Sleepers(t, n) as twin, \
             Tracer(t, "profile-997 { @samples = count(); } END { printa(\"samples %@d\\n\", @samples); }",
                    traced.pid) as tracer:
            before = [each.times() for each in (traced, twin)]
            # Wait until both have used a fair part of the processors, whatever else runs.
            wait_until(lambda: traced.times()[0] - before[0][0] > 0.3 and twin.times()[0] - before[1][0] > 0.3,
                       60, f"a working thread next to {n}")
            used = [each.times()[0] - start[0] for each, start in zip((traced, twin), before)]
            samples = re.search(r"^samples (\d+)$", tracer.finish(), re.M)
            equal(samples is not None and int(samples.group(1)) >= 10, True, f"samples next to {n}: {samples}")
            equal(used[0] > used[1] / 4, True, f"CPU time next to {n}, and of the twin: {used}")

TESTS = [a_working_thread_runs_on_beside_many_that_sleep]

if __name__ == "__main__":
    main(TESTS)
