# SPDX-License-Identifier: MIT
"""What one firing costs: the rows of bench/fast_path that are ns per event."""
import os, re, statistics, subprocess, tempfile
from table import Skip
from target import Timed, Tracer, numbers, text

WORK = "pid$target:timed:work:entry"

class Case:
    def __init__(self, name, program, must=None, aim=None, mode="work", function="work",
                 count="exact", threads=1, options=()):
        self.name, self.program, self.must, self.aim = name, program, must, aim
        self.mode, self.function, self.count = mode, function, count
        self.threads, self.options = threads, options

def middle_of_work(args):
    """An offset of work() that is neither its first instruction nor its last."""
    with Timed(args) as victim:
        said = subprocess.run([args.dtrace, "-ln", "pid$target:timed:work:", "-p", str(victim.pid)],
                              capture_output=True, text=True).stdout
    offsets = [word for word in re.findall(r"work (\S+)$", said, re.M) if re.fullmatch("[0-9a-f]+", word)]
    offsets.sort(key=lambda offset: int(offset, 16))
    if len(offsets) < 4:
        raise Skip("no offsets are listed")
    return offsets[len(offsets) // 2]

def cases(args):
    keyed = "@[arg0 & 63] = count();"
    return [
        Case("entry, count()", f"{WORK} {{ @ = count(); }}", 25, 3),
        Case("entry, @[arg0 & 63] = count()", f"{WORK} {{ {keyed} }}", 30, 9),
        Case("entry, @ = quantize(arg0)", f"{WORK} {{ @ = quantize(arg0); }}", 30, 9),
        Case("entry + return, latency into quantize",
             f"{WORK} {{ self->ts = timestamp; }} pid$target:timed:work:return /self->ts/ "
             "{ @ = quantize(timestamp - self->ts); self->ts = 0; }", 80, 33),
        Case("return, count()", "pid$target:timed:work:return { @ = count(); }", 30, 4),
        Case("any instruction, count()", None, 30, 6),
        Case("entry, false predicate /arg0 == -1/", f"{WORK} /arg0 == -1/ {{ @ = count(); }}", 10, 3,
             count="none"),
        Case("@[ustack(9)] = count(), frame pointers",
             "pid$target:timed:frame9:entry { @[ustack(9)] = count(); }", 80, 16,
             mode="stack", function="frame9", count="last"),
    ]

def one_run(args, case, wrong):
    """Traced minus bare, ns. What is not as it should be is put into wrong."""
    with Timed(args) as victim:
        bare = victim.run(case.mode, threads=case.threads)
        victim.calls = 0
        tracer = Tracer(args, victim.pid, case.program, [victim.address(case.function)], *case.options)
        traced = victim.run(case.mode, threads=case.threads)
        output = tracer.finish()
        if tracer.errors.strip():
            wrong.add(tracer.errors.strip().splitlines()[0])
        if case.count != "none":
            seen = sum(numbers(output))
            if seen != victim.calls:
                wrong.add(f"COUNT {seen} of {victim.calls}")
        return traced - bare

def fire(args, table, case):
    wrong = set()
    return table.row(case.name, "ns", case.must, case.aim,
                     lambda: [one_run(args, case, wrong) for _ in range(args.runs)],
                     lambda _: "; ".join(sorted(wrong)) or ("" if case.count == "none" else "count exact"))

def limits(args, table):
    for mode, what in (("limit_jump", "limit: a jump out and back"), ("limit_counted", "limit: count"),
                       ("limit_record", "limit: time-stamped record"),
                       ("limit_latency", "limit: two clock reads, a bucket")):
        def measure():
            costs = []
            for _ in range(args.runs):
                with Timed(args) as victim:
                    bare = victim.run()
                    costs.append(victim.run(mode) - bare)
            return costs
        table.row(what, "ns", None, None, measure)

def recorded(args, table):
    """Bursts that fit a buffer, and pauses in which they are taken out; every line must come."""
    lines = set()
    def one():
        with Timed(args) as victim, tempfile.NamedTemporaryFile("w+") as out:
            bare = victim.run("work", 11, 50000, 1, 60)
            victim.calls = 0
            tracer = Tracer(args, victim.pid, WORK + ' { trace(arg0); printf("\\n"); }', [victim.address("work")],
                            "-o", out.name)
            traced = victim.run("work", 11, 50000, 1, 60)
            tracer.finish()
            with open(out.name) as file:
                n = sum(1 for line in file if line.strip())
            drops = "; ".join(line for line in tracer.errors.splitlines())
            lines.add("every record came" if n == victim.calls else f"{n} of {victim.calls} records; {drops}")
            return traced - bare
    table.row("entry, trace(arg0) recorded", "ns", 40, 15,
              lambda: [one() for _ in range(args.runs)], lambda _: "; ".join(sorted(lines)))

def inert(args, table):
    """dtrace and the agent are killed at once: what stays in the text must cost nothing."""
    state = set()
    def one():
        with Timed(args) as victim:
            bare = victim.run()
            at = victim.address("work")
            original = text(victim.pid, at)
            tracer = Tracer(args, victim.pid, WORK + " { @ = count(); }", [at])
            n = tracer.kill_all()
            import time
            time.sleep(1.5)
            left = victim.run()
            state.add(f"{n} agent, text " +
                      ("restored" if text(victim.pid, at) == original else "patched"))
            return left - bare
    table.row("inert: dtrace and agent killed", "ns", 5, 1,
              lambda: [one() for _ in range(args.runs)], lambda _: "; ".join(sorted(state)))

def two_threads(args, table, one_thread):
    name = "two threads on two CPUs, count(), over one"
    if os.cpu_count() < 2:
        return
    case = Case(name, f"{WORK} {{ @ = count(); }}", threads=2)
    alone = Case(name, case.program)
    wrong, costs = set(), []
    def measure():
        for _ in range(args.runs):
            costs.append((one_run(args, case, wrong), one_run(args, alone, wrong)))
        return [two / max(one, 0.5) for two, one in costs]
    table.row(name, "x", 1.1, 1.0, measure,
              lambda _: "; ".join([f"{statistics.median(c[0] for c in costs):.2f} ns, alone "
                                   f"{statistics.median(c[1] for c in costs):.2f}", *sorted(wrong)]))

def measure(args, table):
    limits(args, table)
    for case in cases(args):
        if not table.wants(case.name):
            continue
        if case.program is None:
            try:
                case.program = f"pid$target:timed:work:{middle_of_work(args)} {{ @ = count(); }}"
            except Skip as missing:
                print(f"{case.name:48} skipped: {missing}")
                continue
        fire(args, table, case)
    recorded(args, table)
    inert(args, table)
    two_threads(args, table, None)
