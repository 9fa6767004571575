"""Functions that all system tests share. They run dtrace on real programs, compare values and report results.

A test is a function whose name is a sentence. If a test needs a program that is not installed, it raises Skip with the
name of the program."""
import argparse, contextlib, fcntl, inspect, os, pathlib, re, shutil, signal, subprocess, sys, tempfile, termios, time
import traceback

HERE = pathlib.Path(__file__).resolve().parent

class Skip(Exception):
    pass

class Context:
    """The parameter of a test: the build directory, a scratch directory, and whether --long was given."""
    def __init__(self, build, long):
        self.build = build.resolve()
        self.dtrace = str(self.build / "cmd/dtrace/dtrace")
        self.victims = self.build / "tests/victims"
        self.long = long
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="dtrace-test-"))

    def victim(self, name):
        return str(self.victims / name)

    def run(self, *flags, timeout=120, cwd=None, stdin=None, env=None):
        """Runs dtrace with these flags. Returns the finished process, with its output as text."""
        return subprocess.run([self.dtrace, *flags], capture_output=True, timeout=timeout,
                              cwd=cwd or self.scratch, input=stdin, env=env,
                              text=True, errors="backslashreplace")

    def start(self, *flags, **more):
        return subprocess.Popen([self.dtrace, *flags], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True,
                                errors="backslashreplace", cwd=self.scratch, **more)

def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Skip(f"{program} is not installed")

def as_nobody(uid=65534):
    """Returns the command prefix that runs a command as an ordinary user. Skips the test if this is not possible."""
    need("setpriv")
    user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    if subprocess.run([*user, "true"], capture_output=True).returncode != 0:
        raise Skip("no other user is available here")
    return user

def end_of(process):
    """Kills a process and reads the rest of its output. Fails if a child of the process keeps the output open."""
    process.kill()
    try:
        process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"a child of {process.args} still runs and keeps its output open") from None

@contextlib.contextmanager
def held(process):
    """Yields a process, and kills it when the block ends."""
    try:
        yield process
    finally:
        end_of(process)

class Holder:
    """Kills the member `process` of a derived class when the with block ends."""
    def __enter__(self):
        return self
    def __exit__(self, *_):
        end_of(self.process)

def equal(got, want, what="value"):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")

def contains(text, part):
    if part not in text:
        raise AssertionError(f"no {part!r} in:\n{text}")

def wait_until(true, seconds=20, what="condition"):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"timeout after {seconds} s: {what}")
        time.sleep(0.02)

def cpu_ticks(pid):
    """Returns the CPU time of a process in clock ticks of 10 ms, or None if it has exited."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(fields[11]) + int(fields[12])

def computes(pid, seconds=20):
    """Waits until the CPU time of a process has increased."""
    before = cpu_ticks(pid)
    wait_until(lambda: before is not None and (cpu_ticks(pid) or 0) > before, seconds, f"CPU time of process {pid}")

def pipe_is_full(reader):
    """Returns whether a pipe of 65,536 bytes has no room for another page, so that its writer blocks."""
    return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder) > 61_440

def so_far(aggregation="@"):
    """Returns a clause that prints an aggregation without keys every 20 ms, for use with fired()."""
    return f' tick-20ms {{ printa("so far %@d\\n", {aggregation}); }}'

def fired(read, n=1):
    """Waits until a program that contains so_far() has counted n firings. read() returns the program's output so
    far."""
    wait_until(lambda: any(int(count) >= n for count in re.findall(r"\bso far (\d+)$", read(), re.M)),
               seconds=60, what=f"{n} firings")

def is_alive(pid):
    """Returns whether a process exists and is not a zombie."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"

def tracer_of(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("TracerPid:"):
            return int(line.split()[1])
    return 0

def text_differs(pid):
    """Compares each executable mapping of a process with the mapped file. Returns "PATH+OFFSET" for each difference,
    where OFFSET is the offset in the file of the first byte that differs."""
    differing = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            fields = line.split(None, 5)
            if len(fields) < 6 or "x" not in fields[1] or not fields[5].startswith("/"):
                continue
            begin, end = (int(part, 16) for part in fields[0].split("-"))
            at = first_difference(memory, begin, end, fields[5], int(fields[2], 16))
            if at is not None:
                differing.append(f"{fields[5]}+{at:#x}")
    return differing

def first_difference(memory, begin, end, path, offset):
    """Returns the offset in the file of the first byte that differs from the memory from `begin` to `end`, or None. The
    memory after the end of the file must be zero."""
    piece_bytes = 64 << 10
    with open(path, "rb", buffering=0) as file:
        for at in range(0, end - begin, piece_bytes):
            n = min(piece_bytes, end - begin - at)
            live = os.pread(memory.fileno(), n, begin + at)
            disk = os.pread(file.fileno(), n, offset + at).ljust(n, b"\0")
            if not live:
                raise ProcessLookupError("the process has exited")
            if live != disk:
                return offset + at + next(i for i in range(n) if live[i:i + 1] != disk[i:i + 1])
    return None

def tests_in(names, *helpers):
    """Returns each function in the calling file, except `helpers`, that has the context t as its
    only parameter."""
    return [value for value in list(names.values())
            if getattr(value, "__module__", "") == "__main__" and value not in helpers and
            str(getattr(value, "__code__", None) and inspect.signature(value)) == "(t)"]

def use_default_signals():
    """Restores the default actions of signals. A shell starts background commands with SIGINT ignored, and dtrace would
    inherit this."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)

def descendants(pid):
    parents = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}

def kill_left_dtraces(dtrace):
    """Kills the dtrace processes that a failed test has left. They could also trace the processes of later tests, which
    would then fail, too."""
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            if os.path.samefile(f"/proc/{pid}/exe", dtrace):
                os.kill(pid, signal.SIGKILL)

def main(tests):
    args = argparse.ArgumentParser()
    args.add_argument("--build", type=pathlib.Path, default=HERE.parent.parent / "build/release")
    args.add_argument("--results", type=pathlib.Path)
    args.add_argument("--long", action="store_true")
    args.add_argument("names", nargs="*")
    args = args.parse_args()
    use_default_signals()
    context = Context(args.build, args.long)
    lines = []
    for test in tests:
        name = test.__name__.replace("_", " ")
        if args.names and not any(part in test.__name__ for part in args.names):
            continue
        began = time.monotonic()
        try:
            test(context)
            word, why = "PASS", ""
        except Skip as skip:
            word, why = "SKIP", f" ({skip})"
        except Exception:
            word, why = "FAIL", ""
            traceback.print_exc()
            kill_left_dtraces(context.dtrace)
        print(f"{word} {name}{why}  [{time.monotonic() - began:.1f} s]", flush=True)
        lines.append(f"{word} {name}{why}\n")
    shutil.rmtree(context.scratch, ignore_errors=True)
    if args.results:
        with args.results.open("a") as file:
            file.writelines(lines)
    sys.exit(any(line.startswith("FAIL") for line in lines))
