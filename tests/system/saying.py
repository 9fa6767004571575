"""Functions for tests of dtrace's messages."""
import os, pty, select, subprocess

from harness import *

def fails_with(done, *parts, status=1):
    equal(done.returncode, status, f"status, with {done.stderr!r}")
    for part in parts:
        contains(done.stderr, part)
    equal(done.stderr.startswith("dtrace: "), True, f"dtrace: before {done.stderr!r}")
    return done

def script(t, text, name="script.d"):
    path = t.scratch / name
    path.write_text(text)
    return str(path)

def on_terminal(t, *flags):
    """Runs dtrace on a terminal. Returns its status and the text on the terminal."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        raise Skip(f"no pseudo-terminal: {error.strerror}")
    process = subprocess.Popen([t.dtrace, *flags], stdin=theirs, stdout=theirs, stderr=theirs,
                               cwd=t.scratch)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 20)[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(timeout=20), shown.decode(errors="backslashreplace").replace("\r", "")

class Target:
    """The victim `waiter`, which calls work() until its stdin is closed."""
    def __init__(self, t, threads=2, prefix=(), place=None):
        program = str(place / "waiter") if place else t.victim("waiter")
        self.process = subprocess.Popen([*prefix, program, str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if failure[0] is None:
            out, _ = self.process.communicate(timeout=20)
            equal(self.process.returncode, 0, f"status of the target, which said {out!r}")
        else:
            self.process.kill()
            self.process.communicate()

    def is_unharmed(self):
        equal(is_alive(self.pid), True, "alive")
        equal(tracer_of(self.pid), 0, "TracerPid")
        equal(text_differs(self.pid), [], "changed text")

def tracing(dtrace, pid):
    """Waits until dtrace has changed the text of the victim's own executable, not only the text of its libraries."""
    def are_planted():
        equal(dtrace.poll(), None, "dtrace's status")
        return any("/waiter+" in place for place in text_differs(pid))
    wait_until(are_planted, what="tracing")
