# SPDX-License-Identifier: MIT
"""Measures probes in real programs: python3 that calls malloc(), and PostgreSQL with pgbench. Also measures how many
of a million records per second are lost, and how fast dtrace prints records."""
import atexit, functools, glob, os, pwd, re, shutil, signal, statistics, subprocess, sys, tempfile, time
import peers as tools
from postgres import Postgres, per_second
from table import Skip, ours, peer
from target import Timed, Tracer, Victim, address, numbers, text, wait_until

PYTHON = "/usr/bin/python3"

# Waits for a line, then creates 300,000 strings, which makes about 1.27 million calls to malloc(). Prints the CPU time
# in seconds.
SCRIPT = """
import gc, sys, time
gc.disable()
print("ready", flush=True)
sys.stdin.readline()
keep, began = [], time.thread_time()
for i in range(300000):
    keep.append(str(i) * (1 + i % 40))
print(time.thread_time() - began, flush=True)
sys.stdin.read()
"""
TIMES = 5  # The result is the median of 5 runs.

class Allocating(Victim):
    def __init__(self, env=None):
        if not os.path.exists(PYTHON):
            raise Skip(f"no {PYTHON}")
        self.process = subprocess.Popen(
            ["taskset", "-c", "0", PYTHON, "-c", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env={**(env or os.environ), "PYTHONMALLOC": "malloc"})
        self.process.stdout.readline()
        self.pid = self.process.pid
    def run(self):
        """Makes the script allocate. Returns the CPU time of the allocations in seconds."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())
    def libc(self):
        with open(f"/proc/{self.pid}/maps") as maps:
            return re.search(r"(/\S*/libc[.-]\S*)", maps.read())[1]

MALLOC = "CPython, quantize of 1.27 M mallocs"

def allocated(env=None, attach=None):
    """Runs the script several times. Returns the median CPU time of its allocations in seconds. attach(victim) starts
    tracing and returns a function that ends the tracing."""
    spent = []
    for _ in range(TIMES):
        with Allocating(env) as victim:
            detach = attach(victim) if attach else lambda: None
            try:
                spent.append(victim.run())
            finally:
                detach()
    return statistics.median(spent)

def python(args, row):
    counts = []
    def attach(victim):
        tracer = Tracer(args, victim.pid, "pid$target:libc.so.6:malloc:entry { @ = quantize(arg0); }",
                        [address(victim.pid, victim.libc(), "malloc", dynamic=True)])
        return lambda: counts.append(sum(numbers(tracer.finish())))
    bare, traced = allocated(), allocated(attach=attach)
    row.note(f"{counts[0] / 1e6:.2f} M mallocs in {bare:.3f} s, +{(traced - bare) / counts[0] * 1e9:.1f} ns each")
    return traced / bare

def python_bpftrace(args):
    tools.need("bpftrace")
    def attach(victim):
        at = address(victim.pid, victim.libc(), "malloc", dynamic=True)
        original = text(victim.pid, at)
        tool = subprocess.Popen(["bpftrace", "-p", str(victim.pid), "-e",
                                 f"uprobe:{victim.libc()}:malloc {{ @ = hist(arg0); }}"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        def detach():
            tool.send_signal(signal.SIGINT)
            tool.wait(timeout=60)
        try:
            wait_until("bpftrace's breakpoint", lambda: text(victim.pid, at) != original, 15)
        except RuntimeError:
            detach()
            raise
        time.sleep(0.2)
        return detach
    return allocated(attach=attach) / allocated()

def python_lttng(args):
    """Measures LTTng's wrapper for malloc, which must be preloaded."""
    wrapper = glob.glob("/usr/lib/*/liblttng-ust-libc-wrapper.so*")
    if not wrapper:
        raise Skip("no liblttng-ust-libc-wrapper.so")
    with tools.lttng_session("lttng_ust_libc:malloc") as env:
        return allocated({**env, "LD_PRELOAD": wrapper[0]}) / allocated()

@functools.lru_cache(None)
def server():
    """Returns the PostgreSQL cluster, which all runs share. The first call starts it."""
    made = Postgres()
    atexit.register(made.__exit__)
    return made

PALLOC = "palloc, pfree counted, pgbench -S -c 2"

def less(row, start_tools, seconds):
    """Returns by how many percent the transactions per second decrease while tools trace the backends. Calls
    start_tools() 3.5 s after the start of pgbench. start_tools() returns a function that ends the tools."""
    database = server()
    running, before = database.bench(seconds)
    try:
        time.sleep(3.5)
        backends = [pid for pid in database.backends() if pid not in before]
        if len(backends) < 2:
            raise Skip(f"{len(backends)} backends are seen")
        finish = start_tools(database, backends[:2])
        out = running.communicate(timeout=200)[0]
    finally:
        if running.poll() is None:
            running.kill()
    tps = per_second(out)
    bare, traced = statistics.median(tps[:3]), statistics.median(tps[-3:])
    row.note(f"{bare:,.0f} transactions/s bare" + finish())
    return (1 - traced / bare) * 100

def pgbench(args, row):
    def start(database, backends):
        program = f"{database.bin}/postgres"
        tracers = [Tracer(args, pid, "pid$target:postgres:palloc:entry, pid$target:postgres:pfree:entry"
                          " { @ = count(); }", [address(pid, program, "palloc", dynamic=True)], settle=0)
                   for pid in backends]
        return lambda: f", {sum(sum(numbers(tracer.finish())) for tracer in tracers) / 1e6:.1f} M counted"
    return less(row, start, 9)

def pgbench_bpftrace(args, row):
    tools.need("bpftrace")
    def start(database, backends):
        program = f"{database.bin}/postgres"
        tool = subprocess.Popen(["bpftrace", "-e", f"uprobe:{program}:palloc, uprobe:{program}:pfree "
                                 "{ @ = count(); }"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        def finish():
            tool.send_signal(signal.SIGINT)
            tool.wait(timeout=60)
            return ""
        return finish
    return less(row, start, 11)

def million(args, row):
    pacer = f"{args.build}/tests/victims/pacer"
    if not os.path.exists(pacer):
        raise Skip(f"no {pacer}")
    done = subprocess.run([sys.executable, f"{args.here}/no_drops", args.build, "5", "1"],
                          capture_output=True, text=True)
    lost = re.search(r"(\d+) calls, (\d+) lines", done.stdout)
    if not lost:
        raise RuntimeError(done.stderr.strip()[-200:])
    row.note(done.stdout.strip().splitlines()[-1])
    return int(lost[1]) - int(lost[2])

LINES = "lines/s while draining, printf of four values"

def draining(args, row):
    """Returns the result of bench/consumer_format: millions of printed lines per second on one core."""
    program = f"{args.build}/bench/consumer_format"
    if not os.path.exists(program):
        raise Skip(f"no {program}")
    said = subprocess.run([program], capture_output=True, text=True).stdout
    return float(re.search(r"drain, merge, format, write\s+([\d.]+) M", said)[1])

def bpftrace_lines(args):
    """Returns the millions of printf() lines that bpftrace prints per second."""
    tools.need("bpftrace")
    with tempfile.NamedTemporaryFile("r") as out, Timed(args) as victim:
        bare = victim.run("stack")
        with tools.running(["bpftrace", "-o", out.name, "-p", str(victim.pid), "-e",
                            f'uprobe:{victim.path}:frame8 {{ printf("%d %s: %d bytes\\n", pid, comm, arg0); }}'
                            ]) as tool:
            tools.while_on(victim, "stack", bare, tool)
            time.sleep(1)
            before, began = sum(1 for _ in open(out.name)), time.monotonic()
            victim.run("stack", 1, 100000)
            spent = time.monotonic() - began
            time.sleep(1)
        return (sum(1 for _ in open(out.name)) - before) / spent / 1e6

def uftrace_lines(args):
    tools.need("uftrace", root=False)
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/data"
        with Timed(args, ["uftrace", "record", "--no-libcall", "-P", "^work$", "-b", "4M", "-d", data]) as victim:
            victim.run("work", 5, 200000)
            victim.finish()
        began = time.monotonic()
        replay = subprocess.run(["uftrace", "replay", "--no-pager", "-d", data], capture_output=True)
        spent = time.monotonic() - began
        lines = replay.stdout.count(b"\n")
        if lines < 100000:
            raise Skip("it records no call")
        return lines / spent / 1e6

def tasks(args, table):
    return [ours(lambda row: python(args, row), MALLOC, "x", 1.35, 1.08),
            ours(lambda row: million(args, row), "1 M records/s, printf to a file: lost", "", 0, 0),
            ours(lambda row: draining(args, row), LINES, "M", 3, 20, most=False),
            ours(lambda row: pgbench(args, row), PALLOC, "% less", 15, 5)]

def peers(args):
    return [peer(MALLOC, "bpftrace hist", lambda row: python_bpftrace(args), "x"),
            peer(MALLOC, "LTTng-UST's malloc wrapper (preloaded)", lambda row: python_lttng(args), "x"),
            peer(LINES, "bpftrace printf of three", lambda row: bpftrace_lines(args), "M"),
            peer(LINES, "uftrace replay", lambda row: uftrace_lines(args), "M"),
            peer(PALLOC, "bpftrace", lambda row: pgbench_bpftrace(args, row), "% less", at_most=1)]
