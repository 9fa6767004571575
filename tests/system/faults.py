"""Functions that the tests of the fault catalogue (docs/faults.md) share."""
import os, pathlib, re, signal, subprocess, threading, time

from harness import Holder, equal, is_alive, text_differs, tracer_of, wait_until

# Clauses for the victims. They count entries and returns of work(), and entries with an unexpected string.
LOOKS = ("pid$target:a.out:work:entry { @entries = count(); this->s = copyinstr(arg1); } "
         "pid$target:a.out:work:entry /this->s != \"read where it stands\"/ { @odd = count(); } "
         "pid$target:a.out:work:return { @returns = count(); @t[tid] = max(timestamp); } ")
ENDS = 'END { printa("entries %@d\\n", @entries); printa("returns %@d\\n", @returns); printa("odd %@d\\n", @odd); }'

BOTH = ((), ("-x", "mechanism=int3"))  # flags of two runs: probes fire through jumps, then through breakpoints

def tests_of(module):
    """Returns each function of a test file that has the context as its only parameter."""
    return [value for value in list(module.values())
            if getattr(value, "__module__", "") == "__main__" and
            getattr(value, "__code__", None) is not None and
            value.__code__.co_varnames[:value.__code__.co_argcount] == ("t",)]

def rows(text):
    """Returns the rows of printed aggregations as a dictionary. It maps the keys of a row, joined by spaces, to the
    value."""
    table = {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith(" ") and len(words) >= 2 and words[-1].isdigit():
            table[" ".join(words[:-1])] = int(words[-1])
    return table

def traced_command(t, program, command, flags=(), complaints=False, timeout=120):
    """Traces a command with a D program (dtrace -c). Returns the output of the command and the output of dtrace."""
    out = t.scratch / f"recorded.{time.monotonic_ns()}"
    done = t.run("-q", *flags, "-o", str(out), "-n", program, "-c", command, timeout=timeout)
    equal(done.returncode, 0, done.stderr)
    if not complaints:
        for word in ("drop", "error on", "terminated", "could not be put"):
            if word in done.stderr:
                raise AssertionError(done.stderr)
    return done.stdout, out.read_text()

class Line:
    """Reads lines from a process, with a time limit."""
    def __init__(self, stream):
        self.stream = stream
    def next(self, seconds=30):
        found = []
        reader = threading.Thread(target=lambda: found.append(self.stream.readline()), daemon=True)
        reader.start()
        reader.join(seconds)
        if not found or not found[0]:
            raise AssertionError("no line was read: " + ("the process closed its output" if found else "timeout"))
        return found[0]

class Tracer(Holder):
    """A dtrace process that traces running processes. wait() returns after BEGIN has fired."""
    def __init__(self, t, program, *pids, flags=(), command=None, wait=True):
        self.out = t.scratch / f"out.{time.monotonic_ns()}"
        targets = [word for pid in pids for word in ("-p", str(pid))]
        self.process = subprocess.Popen(
            [*(command or [t.dtrace]), "-q", *flags, "-o", str(self.out), "-n",
             program + ' BEGIN { printf("BEGAN\\n"); }', *targets],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=t.scratch)
        if wait:
            self.wait()

    def wait(self):
        def is_up():
            if self.process.poll() is not None:
                raise AssertionError("dtrace ended: " + self.process.communicate()[1])
            return self.out.exists() and "BEGAN" in self.out.read_text()
        wait_until(is_up, seconds=60, what="tracing")

    def finish(self, signum=signal.SIGINT, want=0):
        """Stops dtrace and returns its output. Fails if dtrace reported drops or errors."""
        if signum is not None and self.process.poll() is None:
            self.process.send_signal(signum)
        try:
            _, self.errors = self.process.communicate(timeout=60)
        finally:
            self.process.kill()
        equal(self.process.returncode, want, self.errors)
        for word in ("drop", "error on"):
            if word in self.errors:
                raise AssertionError(self.errors)
        return self.out.read_text()

def traced_again_and_again(t, program, target, seconds, flags=()):
    """Traces a process repeatedly, for `seconds` each time, until the process exits. Returns how often dtrace exited
    normally."""
    n_rounds = 0
    while target.poll() is None:
        with Tracer(t, program, target.pid, flags=flags, wait=False) as tracer:
            try:
                tracer.wait()
                time.sleep(seconds)  # The target runs with probes during this time.
                tracer.finish()
                n_rounds += 1
            except AssertionError:
                if is_alive(target.pid):
                    raise
    return n_rounds

def found(text, name):
    """Returns the number that is printed after a name, or 0 if the name is not printed."""
    match = re.search(rf"^{name} (-?\d+)$", text, re.M)
    return int(match.group(1)) if match else 0

def untouched(pid):
    equal(tracer_of(pid), 0, "TracerPid")
    equal(text_differs(pid), [], "changed text")

class Paced:
    """The victim `paced`, which calls its functions when the test writes a byte to its stdin."""
    def __init__(self, t, how, n=1000, threads=0, before=(), path=None, more=()):
        self.process = subprocess.Popen(
            [*before, path or t.victim("paced"), how, str(n), str(threads), *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.lines = Line(self.process.stdout)
        self.n = n * max(threads, 1)
        words = self.lines.next().split()
        equal(words[0], b"ready")
        self.inner_pid = int(words[1])   # its pid inside its pid namespace
        self.pid = self.process.pid

    def call(self):
        """Makes the victim perform all of its calls, and checks their number. Returns the sum of their results."""
        os.write(self.process.stdin.fileno(), b"x")
        words = self.lines.next(60).split()
        equal(int(words[1]), self.n, "calls that the target made")
        return int(words[3])

    def end(self):
        os.write(self.process.stdin.fileno(), b"x")
        equal(self.process.wait(timeout=60), 0, "the target's status")

    def close(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.close()

def traced_calls(t, how, n=1000, threads=0, flags=(), user=(), **more):
    """Attaches, makes the victim perform its calls, detaches and lets the victim exit. Returns dtrace's stderr and the
    sum of the results."""
    with Paced(t, how, n, threads, before=user, **more) as target:
        dtrace = [*user, t.dtrace] if user else None
        tracer = Tracer(t, LOOKS + ENDS, target.pid, flags=flags, command=dtrace)
        total = target.call()
        out = tracer.finish()
        equal((found(out, "entries"), found(out, "returns"), found(out, "odd")),
              (target.n, target.n, 0), "firings")
        untouched(target.pid)
        target.end()
    return tracer.errors, total
