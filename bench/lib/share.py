# SPDX-License-Identifier: MIT
"""Measures the percentage of functions in real programs and libraries whose probes can use jumps. dtrace -lv lists the
probes and plans them, but plants none."""
import collections, glob, os, re, subprocess, sys
from table import Row, Skip, Task

LIBRARIES = ["/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
             "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"]
PROGRAMS = ["/usr/lib/postgresql/*/bin/postgres", "/usr/bin/python3.11", "/usr/bin/node",
            "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus"]
LOADER = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('up', flush=True); sys.stdin.read()"

PROBE = re.compile(r"^ *\d+ +pid\d+ +\S+ +(.+) (entry|return)$")
PLACE = re.compile(r"^\t\t[+-]0x[0-9a-f]+: (.*)$")

def listed(args, path, library):
    """Returns a tuple for each probe: the function, the word "entry" or "return", and a list with one text for each
    site. The text is dtrace -lv's description of the site's mechanism."""
    what = os.path.basename(os.path.realpath(path))
    command = [args.dtrace, "-lvn", f"pid$target:{what if library else 'a.out'}::[er]*"]
    if library:
        loader = subprocess.Popen([sys.executable, "-c", LOADER, path], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        loader.stdout.readline()
        command += ["-p", str(loader.pid)]
    else:
        command += ["-c", path]
    probes = []
    try:
        lister = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  stdin=subprocess.DEVNULL, text=True, errors="replace")
        for line in lister.stdout:
            if match := PROBE.match(line):
                probes.append((match[1], match[2], []))
            elif match := PLACE.match(line):
                probes[-1][2].append(match[1])
        lister.wait()
    finally:
        if library:
            loader.kill()
            loader.wait()
    if not probes:
        raise RuntimeError(f"nothing is listed of {path}")
    return probes

def percent(part, whole):
    return 100 * part / whole if whole else 100.0

def judge(args, table, path, library):
    """Returns two percentages: the file's entry probes that use a jump, and its return probes that use jumps at all
    their sites. Lists below the table why the other sites have no jump."""
    reasons = collections.Counter()
    n = collections.Counter()
    for function, kind, places in listed(args, path, library):
        taken = [place.startswith("a jump") for place in places]
        n[kind] += 1
        n[kind + " all"] += all(taken)
        n["places"] += len(places)
        n["jumps"] += sum(taken)
        for place, jump in zip(places, taken):
            if not jump:
                reasons[kind + ": " + place.split(": ", 1)[-1].split(";")[0]] += 1
    entries = percent(n["entry all"], n["entry"])
    returns = percent(n["return all"], n["return"])
    table.details.append(f"{path}: {n['entry']} functions, entries by a jump {entries:.3f} %; of "
                         f"{n['return']} functions that return, all returns by a jump {returns:.3f} %; "
                         f"{n['places'] - n['jumps']} of {n['places']} places have none")
    for reason, count in reasons.most_common():
        table.details.append(f"    {count} {reason}")
    return entries, returns

def tasks(args, table):
    rows = [Row("share of entries by a jump, the least file", "%", 99.9, 100, most=False),
            Row("share of functions with all returns, the least file", "%", 99, 100, most=False)]
    def once():
        files = [(path, True) for path in LIBRARIES if os.path.exists(path)]
        files += [(found, False) for pattern in PROGRAMS for found in glob.glob(pattern)]
        if not files:
            raise Skip("none of the files is there")
        shares = [judge(args, table, *file) for file in files]
        for row in rows:
            row.note(f"{len(files)} of 7 files, below; uftrace 42-91 % of these (published)")
        return [min(entries for entries, _ in shares), min(returns for _, returns in shares)]
    return [Task(rows, once, at_most=1)]
