"""Functions for tests that count events in targets. They start victims and dtrace, and read the results."""
import contextlib, os, pathlib, re, shutil, subprocess, time

from harness import *

def numbers(text):
    """Returns the numbers in the text."""
    return [int(word) for word in re.findall(r"-?\b\d+\b", text)]

def table(text):
    """Returns the rows of a printed aggregation as a dictionary. It maps the keys of a row, joined by spaces, to the
    value."""
    rows = {}
    for line in text.splitlines():
        words = line.split()
        # A row begins with a space. The target's lines do not.
        if line.startswith(" ") and len(words) >= 2 and words[-1].lstrip("-").isdigit():
            rows[" ".join(words[:-1])] = int(words[-1])
    return rows

def good(done):
    """Checks that dtrace exited with status 0 and that its stderr reports no drop, error or death of a target."""
    equal(done.returncode, 0, done.stderr)
    for word in ("drop", "error on", "failed", "terminated"):
        if word in done.stderr:
            raise AssertionError(done.stderr)
    return done

def ready(process):
    """Waits until a victim prints a line, which means that it is ready. Returns the line."""
    line = process.stdout.readline()
    if not line:
        raise AssertionError("the victim ended before it was ready")
    return line

def victim(t, name, *args, **more):
    return subprocess.Popen([t.victim(name), *args], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, **more)

def of_another_user(t, name, uid=65534):
    """Installs a victim where any user can run it. Returns the command that runs it, as the user `uid` if the test runs
    as root."""
    t.scratch.chmod(0o755)
    program = t.scratch / name # another user may have no access to the build directory
    if not program.exists():
        subprocess.run(["install", "-m", "755", t.victim(name), str(program)], check=True)
    return [*(as_nobody(uid) if os.geteuid() == 0 else ()), str(program)]

def program_of(t, name, text, *flags):
    """Compiles the text of a C program. Returns the path of the program."""
    need("gcc")
    source, program = t.scratch / f"{name}.c", t.scratch / name
    source.write_text(text)
    subprocess.run(["gcc", "-O2", "-pthread", *flags, "-o", program, source], check=True)
    return program

def tagged_lines(t, clauses, *options, command):
    """Traces a command from its first instruction, with -q. Returns the lines of output that begin with "D "."""
    done = t.run("-qn", clauses, "-x", "evaltime=exec", *options, "-c", str(command))
    equal(done.returncode, 0, done.stderr)
    return [line[2:] for line in done.stdout.splitlines() if line.startswith("D ")]

def children_called(pid, name):
    """Returns the children of a process that have this name: "ptrace-agent" or "dtrace-reader"."""
    children = []
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError): # it may have exited
            if pathlib.Path(f"/proc/{child}/comm").read_text() == name + "\n":
                children.append(int(child))
    return children

class Traced:
    """A dtrace process that traces running victims (-p). The constructor returns after the BEGIN probe has fired."""
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
    """Traces a command, and checks that dtrace reports no problem (good()). Returns the lines of dtrace's output,
    without the output of the command."""
    path = t.scratch / f"recorded.{time.monotonic_ns()}"
    good(t.run(*flags, "-o", str(path), "-c", command))
    return path.read_text().splitlines()

def released(pid):
    """Checks that a process has no tracer and no changed text."""
    equal(tracer_of(pid), 0, "TracerPid")
    equal(text_differs(pid), [], "changed text")

def go_program(t, name):
    """Builds the Go program in tests/victims/NAME. Returns its path."""
    need("go")
    out = t.scratch / f"built_{name}"
    if not out.exists():
        source = t.scratch / name
        shutil.copytree(HERE.parent / "victims" / name, source)
        done = subprocess.run(["go", "build", "-o", str(out), "."], cwd=source, capture_output=True, text=True,
                              env={**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "HOME": str(t.scratch),
                                   "GOCACHE": str(t.scratch / "go-cache")})
        equal(done.returncode, 0, done.stderr)
    return str(out)
