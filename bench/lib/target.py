# SPDX-License-Identifier: MIT
"""Runs a target and a dtrace that traces it, for bench/fast_path.

The benchmarks watch the target's text to find out when probes have been planted, because dtrace prints its message
about matched probes earlier.
"""
import functools, os, re, select, signal, statistics, subprocess, tempfile, time
from table import Skip

@functools.lru_cache(None)
def symbols(path, dynamic=False):
    """Returns the functions of an ELF file as a dictionary from the name to the symbol's value."""
    said = subprocess.run(["nm", *(["-D"] if dynamic else []), path], capture_output=True, text=True)
    found = {}
    for line in said.stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            found[words[2].split("@")[0]] = int(words[0], 16)
    return found

@functools.lru_cache(None)
def is_fixed(path):
    with open(path, "rb") as elf:
        return elf.read(17)[16] == 2  # ET_EXEC

def address(pid, path, name, dynamic=False):
    """Returns the address of a function in a process. `path` is the file that contains the function."""
    path = os.path.realpath(path)
    value = symbols(path, dynamic)[name]
    if is_fixed(path):
        return value
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            words = line.split()
            if len(words) > 5 and words[5] == path and int(words[2], 16) == 0:
                return int(words[0].split("-")[0], 16) + value
    raise Skip(f"{path} is not mapped")

def text(pid, at, n=64):
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        memory.seek(at)
        return memory.read(n)

class Victim:
    """Base class of victims, for use in a `with` statement. Kills self.process when the block ends."""
    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

class Timed(Victim):
    """A process that runs tests/victims/timed. Each line of its input starts one run. `under` is an optional command
    that starts the program."""
    def __init__(self, args, under=(), path="", env=None):
        self.path = path or f"{args.build}/tests/victims/timed"
        if not os.path.exists(self.path):
            raise Skip(f"no {self.path}")
        self.process = subprocess.Popen([*under, self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=env)
        ready = self.process.stdout.readline().split()
        if len(ready) != 2:
            self.process.kill()
            self.process.wait()
            raise Skip(f"{under[0] if under else self.path} does not start it")
        self.pid = int(ready[1])
        self.calls = 0

    def finish(self):
        """Closes the victim's input and waits for its exit. A tool such as valgrind has then written its results."""
        self.process.stdin.close()
        self.process.wait(timeout=100)

    def run(self, mode="work", rounds=11, calls=0, threads=1, pause_ms=0):
        """Runs several rounds of calls. Returns the median of the rounds' times per call, in ns. Adds the number of
        calls to self.calls."""
        self.process.stdin.write(f"{mode} {rounds} {calls} {threads} {pause_ms}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().split()
        if len(said) < 3:
            raise Skip(f"the target {'says ' + ' '.join(said) if said else 'has exited'}")
        self.calls += int(said[1].split("=")[1])
        return statistics.median(float(ns) for ns in said[2:])

    def address(self, function):
        return address(self.pid, self.path, function)

def wait_until(what, condition, seconds=60, pause=0.0002):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds} s for {what}")
        time.sleep(pause)

class Tracer:
    """A process that runs dtrace -p PID. armed_s is the number of seconds until the text at all `sites` has changed."""
    def __init__(self, args, pid, program, sites, *options, settle=0.1):
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        before = {at: text(pid, at) for at in sites}
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [args.dtrace, "-q", *options, "-n", program, "-p", str(pid)],
            stdout=self.out, stderr=self.err)
        left = list(sites)
        def planted():
            while left and text(pid, left[-1]) != before[left[-1]]:
                left.pop()
            if self.process.poll() is not None:
                raise RuntimeError(self.said(self.err).strip().splitlines()[-1])
            return not left
        wait_until("the patch", planted)
        self.armed_s = time.perf_counter() - began
        self.pid = pid
        time.sleep(settle)

    def said(self, file):
        file.seek(0)
        return file.read()

    def finish(self):
        """Sends SIGINT to dtrace and waits for its exit. Returns its output. Sets finish_s to the elapsed seconds."""
        began = time.perf_counter()
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.finish_s = time.perf_counter() - began
        self.errors = self.said(self.err)
        return self.said(self.out)

    def children(self):
        found = []
        for entry in os.listdir("/proc"):
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    if int(stat.read().rsplit(")", 1)[1].split()[1]) == self.process.pid:
                        found.append(int(entry))
            except (OSError, ValueError):
                pass
        return found

    def kill_all(self):
        """Sends SIGKILL to the agent and, immediately after it, to dtrace. Returns the number of agents."""
        agents = self.children()
        for pid in [*agents, self.process.pid]:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        return len(agents)

def numbers(output):
    """Returns the numbers at the ends of lines, which are the values of a printed aggregation."""
    return [int(n) for n in re.findall(r"(?:^|\s)(\d+)\s*$", output, re.M)]
