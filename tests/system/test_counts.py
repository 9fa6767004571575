#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the calls of each function of a program with dtrace. The counts must equal those of the victim `stepper`,
which single-steps the same command without probes."""
import collections, os, re, subprocess

from harness import *

BY_ADDRESS = ("pid$target:::entry { @[probemod, probefunc, uregs[R_PC]] = count(); } "
              'END { printa("%s %s %x %@d\\n", @); }')
BY_NAME = ("pid$target:::entry { @[probemod, probefunc] = count(); } "
           'END { printa("%s %s 0 %@d\\n", @); }')

def readelf(*words):
    return subprocess.run(["readelf", "-W", *words], capture_output=True, text=True, check=True,
                          env=dict(os.environ, LC_ALL="C")).stdout

def debug_file_of(path):
    found = re.search(r"Build ID: (..)(\w+)", readelf("-n", path))
    debug = found and f"/usr/lib/debug/.build-id/{found[1]}/{found[2]}.debug"
    return debug if debug and os.path.exists(debug) else None

class Module:
    """One file that is mapped in a process: its address, and the addresses and names of its functions."""
    def __init__(self, path, at):
        is_fixed = re.search(r"Type: +EXEC ", readelf("-h", path))
        self.path, self.base = path, 0 if is_fixed else at
        self.names = collections.defaultdict(set)
        self.plt = [(int(place, 16), int(place, 16) + int(size, 16)) for place, size in
                    re.findall(r"\] \.plt\S* +PROGBITS +(\w+) \w+ (\w+)", readelf("-S", path))]
        debug = debug_file_of(path)
        for file in [path] + ([debug] if debug else []):
            for line in readelf("-s", file).splitlines():
                words = line.split()
                if len(words) == 8 and words[3] in ("FUNC", "IFUNC") and words[6].isdigit() and words[2] != "0":
                    self.names[int(words[1], 16)].add(words[7].split("@")[0])
        # An unwind table also lists functions without names, but has a separate entry for each part of a split
        # function. So unwind tables are used only for programs without symbols.
        self.is_stripped = " .symtab " not in readelf("-S", path) and not debug
        if self.is_stripped:
            for begin in re.findall(r"FDE .*pc=(\w+)\.\.", readelf("--debug-dump=frames", path)):
                self.names[int(begin, 16)].add(f"fde.{int(begin, 16):x}")

    def functions(self):
        """Returns the addresses and names of all functions that are not in a PLT."""
        return {at + self.base: names for at, names in self.names.items()
                if not any(begin <= at < end for begin, end in self.plt)}

def stepped(t, command, start):
    """Single-steps a command. Returns the command's output, the count for each address, and the modules by path."""
    out = t.scratch / "stepped"
    done = subprocess.run([t.victim("stepper"), str(out), start, *command], capture_output=True,
                          cwd=t.scratch, timeout=100)
    equal(done.returncode, 0, done.stderr)
    counts, modules = {}, {}
    for line in out.read_text().splitlines():
        words = line.split()
        if len(words) == 2:
            counts[int(words[0], 16)] = int(words[1], 16)
        elif len(words) == 6 and words[5].startswith("/") and words[5] not in modules:
            begin = int(words[0].split("-")[0], 16) - int(words[2], 16)
            modules[words[5]] = Module(words[5], begin)
    return done.stdout, counts, modules

def traced(t, program, command, flags):
    """Traces a command. Returns the command's output, and the rows (module, function, address, count)."""
    out = t.scratch / "traced"
    out.unlink(missing_ok=True)
    done = subprocess.run(["setarch", "-R", t.dtrace, *flags, "-qn", program, "-o", str(out), "-c",
                           " ".join(command)], capture_output=True, cwd=t.scratch, timeout=100)
    errors = done.stderr.decode(errors="backslashreplace")
    equal(done.returncode, 0, errors)
    if "drop" in errors:
        raise AssertionError(errors)
    found = [line.split() for line in out.read_text().splitlines() if line]
    return done.stdout, [(module, function, int(at, 16), int(n)) for module, function, at, n in found]

def is_refused(t, module, names, command, flags):
    """Returns whether a listing reports that a function with one of these names cannot be probed."""
    return any("+0x0: none: " in t.run(*flags, "-lvn", f"pid$target:{module}:{name}:entry", "-c",
                                       " ".join(command)).stdout for name in names)

def counts_are_those_of_single_steps(t, command, evaltime, n_functions):
    need("readelf", "setarch", command[0])
    start = "-"
    if evaltime == "main":
        libc = next(line.split()[2] for line in subprocess.run(
            ["ldd", shutil.which(command[0])], capture_output=True, text=True).stdout.splitlines()
            if "libc.so.6" in line)
        start = "libc.so.6+" + re.search(r"(\w+) +\d+ FUNC .* __libc_start_main@", readelf("--dyn-syms", libc))[1]
    said, counts, modules = stepped(t, command, start)
    functions = {at: (os.path.basename(path), names) for path, module in modules.items()
                 for at, names in module.functions().items()}
    for flags in (["-x", f"evaltime={evaltime}"], ["-x", f"evaltime={evaltime}", "-x", "mechanism=int3"]):
        out, rows = traced(t, BY_ADDRESS, command, flags)
        equal(out, said, f"its output, {flags}")
        wrong = [f"{module}`{function} {at:#x}: {n}, by steps {counts.get(at)}"
                 for module, function, at, n in rows if counts.get(at) != n]
        equal(wrong, [], f"counts, {flags}")
        equal(len(rows) >= n_functions, True, f"only {len(rows)} functions")
        fired = {at: f"{module}:{function}" for module, function, at, _ in rows}
        for at in counts.keys() & functions.keys():
            module, names = functions[at]
            if at in fired:
                # All names of a function share one probe.
                equal(fired[at] in {f"{module}:{name}" for name in names}, True,
                      f"{fired[at]} at {at:#x}, which is {names}")
            else:
                equal(is_refused(t, module, names, command, flags), True,
                      f"{module}`{names} at {at:#x} ran, and neither fired nor was refused, {flags}")
        by_name = collections.Counter()
        for module, function, _, n in rows:
            by_name[module, function] += n
        _, named = traced(t, BY_NAME, command, flags)
        equal({(module, function): n for module, function, _, n in named}, dict(by_name), f"by name, {flags}")

def counts_of_gzip_are_those_of_single_steps(t):
    (t.scratch / "tiny").write_text("a tiny file, a tiny file\n")
    counts_are_those_of_single_steps(t, ["gzip", "-n", "-c", "tiny"], "main", 60)

def counts_of_true_are_those_of_single_steps(t):
    counts_are_those_of_single_steps(t, ["/bin/true"], "main", 15)

def counts_of_busybox_are_those_of_single_steps(t):
    """busybox is static. It is traced from its first instruction, so the resolvers of ifuncs are counted, too."""
    counts_are_those_of_single_steps(t, ["busybox", "echo", "counted"], "exec", 100)

def counts_of_a_cxx_program_are_those_of_single_steps(t):
    counts_are_those_of_single_steps(t, [t.victim("shapes")], "main", 20)

TESTS = tests_in(globals(), counts_are_those_of_single_steps)

if __name__ == "__main__":
    main(TESTS)
