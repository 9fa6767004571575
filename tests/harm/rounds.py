"""The targets that tests/harm/deaths traces, and dtrace sessions on them.

A target computes rounds with a known result (targets/). It prints one line for each round, exits with status 1 after a
wrong result, and exits with status 0 when its stdin is closed.
"""
import collections, os, pathlib, re, signal, subprocess, threading, time

from harness import need, tracer_of

SOURCES = pathlib.Path(__file__).resolve().parent / "targets"
ROUND_S = 5         # the time that a target has for a round
SESSION_S = 60      # the time that dtrace has to begin, and to end
JOURNAL_PERIOD, JOURNAL_OFFSET = 256 << 20, 0xd7ac000

class Kind:
    """A kind of target: how to run it, the result of each of its rounds, and its probes."""
    def __init__(self, source, needs, sum, *sites):
        self.source, self.needs, self.sum = SOURCES / source, needs, sum
        self.programs = []
        for site in sites:
            self.programs += [f"pid$target:{site}:entry, pid$target:{site}:return {{ @ = count(); }}",
                              f"pid$target:{site}:entry, pid$target:{site}:return {{ @[probefunc] = count(); }}"]

    def build(self, folder):
        """Returns the command that runs the target."""
        need(self.needs)
        command = {"g++": ["g++", "-O2", "-pthread", "-o", folder / "rounds", self.source],
                   "go": ["go", "build", "-o", folder / "gorounds", self.source]}.get(self.needs)
        if not command:
            return [self.needs, self.source, self.sum]
        subprocess.run(command, check=True, cwd=folder,
                       env={**os.environ, "GO111MODULE": "off", "GOCACHE": str(folder / "cache")})
        return [command[-2], self.sum]

LIBC = "libc.so.6:"
STACKS = "pid$target:libc.so.6:malloc:entry, pid$target:libc.so.6:free:entry { @[ustack(9)] = count(); }"
TARGETS = {
    "c++": Kind("rounds.cpp", "g++", "bae9feb522bddf0c", "a.out:", LIBC),
    "go": Kind("rounds.go", "go", "87c4986cb026a359", "a.out:main*", "a.out:"),
    "java": Kind("Rounds.java", "java", "38bae07bfe720ded", "libjvm.so:JVM_*", "libjvm.so:*Thread*", LIBC),
    "node": Kind("rounds.js", "node", "0df58426d955c80354916d9b814627a56181692471ecd6304b9123d0cc9f611e",
                 "a.out:uv_*", "a.out:*Heap*", LIBC)}
for name in ("c++", "java", "node"):
    TARGETS[name].programs.append(STACKS)
TARGETS["go"].programs.append("pid$target:a.out:main.work:entry { @[ustack(9)] = count(); }")

def tail(path, n=1500):
    """Returns the end of a file, without dtrace's reports of single probes."""
    lines = path.read_text(errors="backslashreplace").splitlines()
    return "\n".join(line for line in lines if not re.match(
        r"dtrace: (cannot probe|pid\d+:.* fires through a breakpoint)", line))[-n:].strip()

def wait(true, seconds):
    """Waits until a condition is true. Returns whether it was true in time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True

def children(pid):
    """Returns the children of a process as a dictionary from the name to a list of pids."""
    found = collections.defaultdict(list)
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in file.read_text().split():
                found[pathlib.Path(f"/proc/{child}/comm").read_text().strip()].append(int(child))
        except OSError:
            pass # one of them has exited
    return found

def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass # it has exited

def ended_as(status):
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"

class Target:
    """A running target. A thread reads the rounds that it prints."""
    def __init__(self, command, sum, folder, niceness=0):
        self.sum, self.folder = sum, folder
        self.n_rounds, self.wrong = 0, ""
        self.errors = folder / "target.stderr"
        with open(self.errors, "wb") as errors:     # in a session of its own, so that ^C reaches only this script
            self.process = subprocess.Popen(["nice", "-n", str(niceness), *command], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder,
                                            start_new_session=True)
        self.pid = self.process.pid
        autogroup = pathlib.Path(f"/proc/{self.pid}/autogroup")
        if autogroup.exists():  # if each session has its own share of CPU time, nice(1) has an effect only within the session
            autogroup.write_text(str(niceness))
        threading.Thread(target=self.read, daemon=True).start()
        if not self.rounds(2, SESSION_S):
            raise AssertionError(f"the target does not work: {self.wrong}{tail(self.errors)}")
        self.began, self.memory = self.size(), (0, 0, 0)

    def read(self):
        for line in self.process.stdout:
            if line.split() != ["round", str(self.n_rounds), self.sum]:
                self.wrong = self.wrong or f"it printed {line!r} instead of round {self.n_rounds}. "
            self.n_rounds += 1

    def rounds(self, n, seconds):
        """Waits until the target has printed n more rounds. Returns whether it printed them in time."""
        want = self.n_rounds + n
        wait(lambda: self.n_rounds >= want or self.wrong or self.process.poll() is not None, seconds)
        return self.n_rounds >= want and not self.wrong

    def harm(self):
        """Waits for a round that begins and ends after this call. Returns what is wrong with the target, or ""."""
        began = time.monotonic()
        if self.rounds(2, ROUND_S):
            return ""
        if self.process.poll() is None and not self.wrong:
            threads = self.threads()
            if self.rounds(2, SESSION_S):
                return f"it printed a round only after {time.monotonic() - began:.1f} s; before:\n{threads}"
        wait(lambda: self.process.poll() is not None, 1)
        if self.process.poll() is None:
            return f"{self.wrong}It still runs:\n{self.threads()}"
        logs = "".join(log.read_text()[:3000] for log in self.folder.glob("hs_err*.log"))
        return f"{self.wrong}It ended with {ended_as(self.process.returncode)}. {tail(self.errors)}\n{logs}"

    def threads(self):
        """Returns one line for each thread: what it does in the kernel, and its signals."""
        lines = []
        for task in pathlib.Path(f"/proc/{self.pid}/task").glob("*"):
            try:
                status = re.findall(r"^(?:State|TracerPid|SigBlk|SigPnd):.*", (task / "status").read_text(), re.M)
                lines.append(" ".join([task.name, *status, (task / "wchan").read_text(),
                                       (task / "syscall").read_text().strip()]).replace("\t", " "))
            except OSError:
                pass # the thread has exited
        return "\n".join(lines)

    def tracer(self):
        for task in os.listdir(f"/proc/{self.pid}/task"):
            try:
                if tracer := tracer_of(f"{self.pid}/task/{task}"):
                    return tracer
            except OSError:
                pass # the thread has exited
        return 0

    def ours(self):
        """Returns the mappings that dtrace has created in the target, as a list of (begin, end, name). The targets
        create no anonymous mappings with the permissions r-xp. So mappings of this kind contain trampolines, the
        runtime, or the handler for breakpoints. The list of these mappings has a special address
        (inject/mapping_journal.hpp)."""
        found = []
        for line in pathlib.Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            fields = line.split(None, 5)
            name = fields[5] if len(fields) > 5 else ""
            begin, end = (int(part, 16) for part in fields[0].split("-"))
            is_journal = fields[1] == "r--p" and begin % JOURNAL_PERIOD == JOURNAL_OFFSET
            if name.startswith("/memfd:dtrace-") or (not name and (fields[1] == "r-xp" or is_journal)):
                found.append((begin, end, name or fields[1]))
        return found

    def size(self):
        """Returns the bytes of address space, those of them that are in memory and shared, and the number of
        mappings."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        kib = [int(re.search(rf"{field}:\s+(\d+)", status)[1]) for field in ("VmSize", "RssShmem")]
        return kib[0] << 10, kib[1] << 10, pathlib.Path(f"/proc/{self.pid}/maps").read_text().count("\n")

    def measure(self):
        self.memory = [now - before for now, before in zip(self.size(), self.began)]

    def end(self):
        """Closes the target's stdin. Returns what went wrong when it ended, or ""."""
        if self.process.poll() is None:
            self.process.stdin.close()
            if not wait(lambda: self.process.poll() is not None, 2 * ROUND_S):
                threads = self.threads()
                self.process.kill()
                self.process.wait()
                return f"it did not end when its stdin was closed:\n{threads}"
        status = self.process.wait()
        return f"it ended with {ended_as(status)} when its stdin was closed" if status else ""

class Session:
    """A dtrace process that traces a target."""
    def __init__(self, dtrace, target, probes, mechanism, folder):
        self.text = f"-x mechanism={mechanism} -n '{probes}'"
        self.out, self.errors = folder / "out", folder / "errors"
        self.started = time.monotonic()
        with open(self.out, "wb") as out, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([dtrace, "-qZ", "-x", f"mechanism={mechanism}", "-p", str(target.pid), "-n",
                                             probes + ' BEGIN { printf("BEGAN\\n"); }'], stdout=out, stderr=errors,
                                            start_new_session=True)

    def seconds(self):
        return time.monotonic() - self.started

    def agents(self):
        return children(self.process.pid)["ptrace-agent"]

    def begun(self):
        return "BEGAN" in self.out.read_text()

    def ends(self, seconds=SESSION_S):
        return wait(lambda: self.process.poll() is not None, seconds)

    def wait_for(self, true):
        return wait(lambda: true() or self.process.poll() is not None, SESSION_S) and self.process.poll() is None

    def stop(self):
        """Ends the session with SIGINT. Returns what is wrong, or ""."""
        self.process.send_signal(signal.SIGINT)
        if not self.ends():
            return f"dtrace did not end within {SESSION_S} s"
        status = self.process.returncode
        return f"dtrace ended with {ended_as(status)}" if status else ""
