"""Functions for tests that count events in targets: starting victims and dtrace, and reading the results."""
import re, subprocess, time

from harness import *

def numbers(text):
    """Returns the numbers in the text."""
    return [int(word) for word in re.findall(r"-?\b\d+\b", text)]

def table(text):
    """Returns the rows 'keys... value' of a printed aggregation as a dictionary from the joined keys to the value."""
    rows = {}
    for line in text.splitlines():
        words = line.split()
        # Lines that the target itself prints begin in the first column.
        if line.startswith(" ") and len(words) >= 2 and words[-1].lstrip("-").isdigit():
            rows[" ".join(words[:-1])] = int(words[-1])
    return rows

def good(done):
    """Checks that dtrace ended with status 0 and reported no drops and no errors."""
    equal(done.returncode, 0, done.stderr)
    for word in ("drop", "error on", "failed", "terminated"):
        if word in done.stderr:
            raise AssertionError(done.stderr)
    return done

def ready(process):
    """Waits for a victim that prints a line when it is ready."""
    line = process.stdout.readline()
    if not line:
        raise AssertionError("the victim ended before it was ready")
    return line

def victim(t, name, *args, **more):
    return subprocess.Popen([t.victim(name), *args], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, **more)

class Traced:
    """dtrace -p on running victims. Waits until it traces, which its BEGIN clause reports."""
    def __init__(self, t, program, *pids, flags=()):
        self.began = t.scratch / f"began.{time.monotonic_ns()}"
        targets = [word for pid in pids for word in ("-p", str(pid))]
        self.process = t.start("-q", *flags, "-o", str(self.began), "-n",
                               program + ' BEGIN { printf("BEGAN\\n"); }', *targets)
        def is_up():
            if self.process.poll() is not None:
                raise AssertionError(self.process.communicate()[1])
            return self.began.exists() and "BEGAN" in self.began.read_text()
        wait_until(is_up, what="tracing")

    def finish(self, signum=None):
        if signum is not None:
            self.process.send_signal(signum)
        _, errors = self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, errors)
        if "drop" in errors or "error on" in errors:
            raise AssertionError(errors)
        return self.began.read_text()

def recorded(t, *flags, command):
    """Traces a command without errors. Returns the output of dtrace without that of the command."""
    path = t.scratch / f"recorded.{time.monotonic_ns()}"
    good(t.run(*flags, "-o", str(path), "-c", command))
    return path.read_text().splitlines()

def released(pid):
    """Checks that no tracer and no changed text are left in a process."""
    equal(tracer_of(pid), 0, "TracerPid")
    equal(text_differs(pid), [], "changed text")
