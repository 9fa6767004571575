# SPDX-License-Identifier: MIT
"""Real programs under the fast path: python3's allocations, pgbench, a million records."""
import glob, os, pwd, re, shutil, statistics, subprocess, sys, tempfile, time
from table import Skip
from target import Tracer, address, numbers

PYTHON = "/usr/bin/python3"
OBJECTS = 268000  # 1.27 M mallocs a round.

# Waits for a line, allocates, and says the CPU time of each round.
SCRIPT = f"""
import sys, time
def allocate():
    keep = [None] * 1024
    for i in range({OBJECTS}):
        keep[i & 1023] = str(i), object()
allocate()
print("ready", flush=True)
for line in sys.stdin:
    began = time.thread_time()
    allocate()
    print(time.thread_time() - began, flush=True)
"""

class Allocating:
    def __init__(self):
        self.process = subprocess.Popen(
            ["taskset", "-c", "0", PYTHON, "-c", SCRIPT], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONMALLOC": "malloc"})
        self.process.stdout.readline()
        self.pid = self.process.pid
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
    def run(self):
        spent = []
        for _ in range(7):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            spent.append(float(self.process.stdout.readline()))
        return statistics.median(spent)
    def libc(self):
        with open(f"/proc/{self.pid}/maps") as maps:
            return re.search(r"(/\S*/libc[.-]\S*)", maps.read())[1]

def python(args, table):
    said = []
    def measure():
        if not os.path.exists(PYTHON):
            raise Skip(f"no {PYTHON}")
        ratios = []
        for _ in range(args.runs):
            with Allocating() as victim:
                bare = victim.run()
                tracer = Tracer(args, victim.pid, "pid$target:libc.so.6:malloc:entry { @ = quantize(arg0); }",
                                [address(victim.pid, victim.libc(), "malloc", dynamic=True)])
                traced = victim.run()
                seen = sum(numbers(tracer.finish())) / 7
                ratios.append(traced / bare)
                said.append(f"{bare:.3f} s untraced, {bare / max(seen, 1) * 1e9:.0f} ns a malloc; traced +{(traced - bare) / max(seen, 1) * 1e9:.1f} ns each of "
                            f"{seen / 1e6:.2f} M")
        return ratios
    table.row("CPython, quantize of 1.27 M mallocs", "x", 1.35, 1.08, measure, lambda _: said[-1])

class Postgres:
    """A cluster of its own in a folder that goes away; run as `postgres` where we are root."""
    def __init__(self):
        places = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not places or not shutil.which("pgbench"):
            raise Skip("no postgresql")
        self.bin, self.as_user = places[-1], []
        self.folder = tempfile.mkdtemp(prefix="bench-pg")
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.as_user = ["runuser", "-u", "postgres", "--"]
        self.call("initdb", "-D", f"{self.folder}/data", "-A", "trust", "-U", "postgres", "--no-sync")
        self.call("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o",
                  f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off", "start")
        self.call("pgbench", "-h", self.folder, "-U", "postgres", "-i", "-s", "5", "-q", "postgres")
    def __enter__(self):
        return self
    def __exit__(self, *_):
        subprocess.run([*self.as_user, f"{self.bin}/pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate",
                        "stop"], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)
    def call(self, command, *words):
        done = subprocess.run([*self.as_user, f"{self.bin}/{command}", *words], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{command}: {done.stdout.strip()[-200:]}")
        return done.stdout
    def master(self):
        with open(f"{self.folder}/data/postmaster.pid") as file:
            return int(file.readline())
    def bench(self, seconds=3):
        """A pgbench that runs, and its backends."""
        before = set(self.backends())
        running = subprocess.Popen(
            [*self.as_user, f"{self.bin}/pgbench", "-h", self.folder, "-U", "postgres", "-S", "-c", "2", "-j", "2",
             "-T", str(seconds), "-P", "1", "postgres"], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        return running, before
    def backends(self):
        said = subprocess.run(["pgrep", "-P", str(self.master()), "-f", "SELECT|postgres postgres|idle"],
                              capture_output=True, text=True).stdout
        return [int(pid) for pid in said.split()]

def per_second(said):
    return [float(tps) for tps in re.findall(r"progress: .*?, ([\d.]+) tps", said)]

def pgbench(args, table):
    """Both backends are traced in the middle of one run: its seconds before are the bare ones."""
    said = []
    def one(server):
        running, before = server.bench(9)
        time.sleep(3.5)
        backends = [pid for pid in server.backends() if pid not in before]
        if len(backends) < 2:
            running.kill()
            raise Skip(f"{len(backends)} backends are seen")
        postgres = f"{server.bin}/postgres"
        tracers = [Tracer(args, pid, "pid$target:postgres:palloc:entry, pid$target:postgres:pfree:entry"
                          " { @ = count(); }", [address(pid, postgres, "palloc", dynamic=True)], settle=0)
                   for pid in backends[:2]]
        out = running.communicate()[0]
        counts = sum(sum(numbers(tracer.finish())) for tracer in tracers)
        tps = per_second(out)
        bare, traced = statistics.median(tps[:3]), statistics.median(tps[5:])
        said.append(f"{bare:,.0f} tps bare, {counts / 1e6:.1f} M counted")
        return (1 - traced / bare) * 100
    def measure():
        with Postgres() as server:
            return [one(server) for _ in range(args.runs)]
    table.row("palloc, pfree counted, pgbench -S -c 2", "% less", 15, 5, measure, lambda _: said[-1])

def million(args, table):
    said = []
    def measure():
        pacer = f"{args.build}/tests/victims/pacer"
        if not os.path.exists(pacer):
            raise Skip(f"no {pacer}")
        done = subprocess.run([sys.executable, f"{args.here}/no_drops", args.build, "5", str(args.runs)],
                              capture_output=True, text=True)
        lost = [int(calls) - int(lines) for calls, lines in
                re.findall(r"(\d+) calls, (\d+) lines", done.stdout)]
        said.append(done.stdout.strip().splitlines()[-1] if done.stdout else done.stderr.strip()[-200:])
        if not lost:
            raise RuntimeError(said[-1])
        return lost
    table.row("1 M records/s, printf to a file: lost", "", 0, 0, measure, lambda _: said[-1])

def share(args, table):
    """bench/census says it of each file; its table is shown as it is."""
    census = f"{args.build}/bench/census"
    name = "share probed by a jump: must 99.9 %, 99 %"
    if not table.wants(name):
        return
    if not os.path.exists(census):
        print(f"{name:48} skipped: no {census}")
        return
    print(f"{name}: by bench/census", flush=True)
    files = [found for pattern in ("/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
             "/usr/lib/postgresql/*/bin/postgres", "/usr/bin/python3.11", "/usr/bin/node",
             "/usr/lib/gcc/x86_64-linux-gnu/*/cc1plus", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1")
             for found in glob.glob(pattern)]
    print(subprocess.run([census, *files], capture_output=True, text=True).stdout, flush=True)

def measure(args, table):
    python(args, table)
    million(args, table)
    pgbench(args, table)
    share(args, table)
