# SPDX-License-Identifier: MIT
"""Measures the cost of one firing, for the rows of bench/fast_path in ns per event."""
import os, re, subprocess, tempfile, time
from table import Skip, ours
from target import Timed, Tracer, numbers, text

WORK = "pid$target:timed:work:entry"

class Case:
    def __init__(self, name, program, must=None, aim=None, mode="work", function="work",
                 count="exact", threads=1, rounds=11, calls=0):
        self.name, self.program, self.must, self.aim = name, program, must, aim
        self.mode, self.function, self.count = mode, function, count
        self.threads, self.rounds, self.calls = threads, rounds, calls

def middle_of_work(args):
    """Returns the hexadecimal offset of an instruction in the middle of work()."""
    if hasattr(args, "middle"):
        return args.middle
    with Timed(args) as victim:
        said = subprocess.run([args.dtrace, "-ln", "pid$target:timed:work:", "-p", str(victim.pid)],
                              capture_output=True, text=True).stdout
    offsets = [word for word in re.findall(r"work (\S+)$", said, re.M) if re.fullmatch("[0-9a-f]+", word)]
    offsets.sort(key=lambda offset: int(offset, 16))
    if len(offsets) < 4:
        raise Skip("no offsets are listed")
    args.middle = offsets[len(offsets) // 2]
    return args.middle

CASES = [
    Case("entry, count()", f"{WORK} {{ @ = count(); }}", 25, 3),
    Case("entry, @[arg0 & 63] = count()", f"{WORK} {{ @[arg0 & 63] = count(); }}", 30, 9),
    Case("entry, @ = quantize(arg0)", f"{WORK} {{ @ = quantize(arg0); }}", 30, 9),
    Case("entry + return, latency into quantize",
         f"{WORK} {{ self->ts = timestamp; }} pid$target:timed:work:return /self->ts/ "
         "{ @ = quantize(timestamp - self->ts); self->ts = 0; }", 80, 33),
    Case("return, count()", "pid$target:timed:work:return { @ = count(); }", 30, 4),
    Case("any instruction, count()", "pid$target:timed:work:MIDDLE { @ = count(); }", 30, 6),
    Case("entry, false predicate /arg0 == -1/", f"{WORK} /arg0 == -1/ {{ @ = count(); }}", 10, 3,
         count="none"),
    Case("@[ustack(9)] = count(), frame pointers",
         "pid$target:timed:frame9:entry { @[ustack(9)] = count(); }", 80, 16,
         mode="stack", function="frame9"),
]

def one_run(args, case, row):
    """Returns how much longer a traced call takes than an untraced call, in ns. Adds two notes to the row: the first
    message of dtrace, and whether the printed counts are correct."""
    with Timed(args) as victim:
        def run():
            return victim.run(case.mode, case.rounds, case.calls, case.threads)
        bare = run()
        victim.calls = 0
        program = case.program
        if "MIDDLE" in program:
            program = program.replace("MIDDLE", middle_of_work(args))
        tracer = Tracer(args, victim.pid, program, [victim.address(case.function)])
        traced = run()
        output = tracer.finish()
        if tracer.errors.strip():
            row.note(tracer.errors.strip().splitlines()[0])
        if case.count != "none":
            seen = sum(numbers(output))
            row.note("count exact" if seen == victim.calls else f"COUNT {seen} of {victim.calls}")
        return traced - bare

def limit(args, mode):
    with Timed(args) as victim:
        bare = victim.run()
        return victim.run(mode) - bare

def recorded(args, row):
    """Measures trace(arg0). The calls come in bursts whose records fit into a buffer. dtrace drains the buffer between
    the bursts, and must print every record."""
    with Timed(args) as victim, tempfile.NamedTemporaryFile("w+") as out:
        bare = victim.run("work", 11, 50000, 1, 60)
        victim.calls = 0
        tracer = Tracer(args, victim.pid, WORK + ' { trace(arg0); printf("\\n"); }', [victim.address("work")],
                        "-o", out.name)
        traced = victim.run("work", 11, 50000, 1, 60)
        tracer.finish()
        with open(out.name) as file:
            n = sum(1 for line in file if line.strip())
        row.note("every record came" if n == victim.calls else
                 f"{n} of {victim.calls} records; " + "; ".join(tracer.errors.splitlines()))
        return traced - bare

def inert(args, row):
    """Kills dtrace and the agent, so that the jump stays in the text but is inert. Returns the ns that this jump adds
    to each call."""
    with Timed(args) as victim:
        bare = victim.run()
        at = victim.address("work")
        original = text(victim.pid, at)
        tracer = Tracer(args, victim.pid, WORK + " { @ = count(); }", [at])
        n = tracer.kill_all()
        time.sleep(1.5)
        left = victim.run()
        row.note(f"{n} agent, text " + ("restored" if text(victim.pid, at) == original else "patched"))
        return left - bare

def over_one_thread(args, row, case):
    """Returns the cost of a case divided by the cost of the same case with one thread."""
    alone = Case(case.name, case.program, rounds=case.rounds, calls=case.calls)
    many, one = one_run(args, case, row), one_run(args, alone, row)
    row.note(f"{many:.2f} ns, alone {one:.2f}")
    return many / max(one, 0.5)

def tasks(args, table):
    found = []
    for mode, what in (("limit_jump", "limit: a jump out and back"), ("limit_counted", "limit: count"),
                       ("limit_record", "limit: time-stamped record"),
                       ("limit_latency", "limit: two clock reads, a bucket")):
        found.append(ours(lambda row, mode=mode: limit(args, mode), what))
    for case in CASES:
        found.append(ours(lambda row, case=case: one_run(args, case, row), case.name, "ns", case.must, case.aim))
    found.append(ours(lambda row: recorded(args, row), "entry, trace(arg0) recorded", "ns", 40, 15))
    found.append(ours(lambda row: inert(args, row), "inert: dtrace and agent killed", "ns", 5, 1))
    n_cpus = os.cpu_count() or 1
    if n_cpus > 1:
        two = Case("two threads on two CPUs, over one", CASES[0].program, threads=2)
        found.append(ours(lambda row: over_one_thread(args, row, two), two.name, "x", 1.1, 1.0))
    # A round takes several ms, so some threads are preempted in the middle of a firing.
    many = Case("64 threads on each CPU, over one alone", CASES[0].program, threads=min(64 * n_cpus, 256),
                rounds=5, calls=500000)
    found.append(ours(lambda row: over_one_thread(args, row, many), many.name, "x", 1.1, 1.0))
    return found
