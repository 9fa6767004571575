#!/usr/bin/env python3
"""Tests static probes from <dtrace/sdt.h> and in Debian's programs."""
import collections, itertools, os, pathlib, re, shutil, signal, subprocess, time

from harness import *
from servers import Postgres
from traced import *

ROOT = HERE.parent.parent
INCLUDE = ROOT / "usdt/include"
KINDS = ROOT / "tests/victims/usdt/kinds.c"

# A D program that prints the arguments of kinds.c's probes. The lines must be the same as those that kinds.c prints.
PROGRAM = """
kinds*:::none { printf("none\\n"); }
kinds*:::small { printf("small %d %d %d %d %d %d\\n", args[0], args[1], args[2], args[3], args[4], args[5]); }
kinds*:::wide-ones { printf("wide %d %u %d %d %d\\n", args[0], args[1], args[2], args[3], *(int *)copyin(arg4, 4)); }
kinds*:::floating { printf("floating %016x %016x\\n", arg0, arg1); }
kinds*:::texts { printf("texts %s %s %s %s\\n", copyinstr(arg0), copyinstr(arg1), copyinstr(arg2), copyinstr(arg3)); }
kinds*:::twelve { printf("twelve %d %d %d %d %d %d %d %d %d %d\\n", args[0], args[1], args[2], args[3], args[4],
    args[5], args[6], args[7], args[8], args[9]); }
"""

def compiled(t, compiler, *flags, source=KINDS):
    """Compiles the victim's source. Keeps the program for later tests."""
    need(compiler)
    name = "-".join([compiler, *flags, source.stem]).replace("/", "_").replace("=", "_")
    out = t.scratch / name
    if not out.exists():
        language = ["-x", "c++"] if "++" in compiler else []
        subprocess.run([compiler, *flags, "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", *language,
                        str(source), "-o", str(out)], check=True)
    return str(out)

def agrees(t, program, *flags):
    """Checks that dtrace and the program print the same lines for the program's probes."""
    came = t.scratch / f"came.{time.monotonic_ns()}"
    done = good(t.run("-q", *flags, "-o", str(came), "-n", PROGRAM, "-c", program + " 5"))
    for ours, its in itertools.zip_longest(came.read_text().strip().splitlines(), done.stdout.splitlines()):
        equal(ours, its, f"a line of {program}")

def arguments_are_right_however_they_are_compiled(t):
    ways = itertools.product(("gcc", "g++", "clang", "clang++"), ("-O0", "-O1", "-O2", "-O3"))
    for compiler, level in ways:
        if shutil.which(compiler):
            agrees(t, compiled(t, compiler, level))

def arguments_are_right_in_every_kind_of_program(t):
    for flags in (["-fPIE", "-pie"], ["-no-pie"], ["-static"], ["-static-pie"],
                  ["-fPIC", "-mcmodel=large"], ["-flto"], ["-march=x86-64-v3"],
                  ["-fomit-frame-pointer", "-ffunction-sections", "-Wl,--gc-sections"]):
        agrees(t, compiled(t, "gcc", "-O2", *flags))
    agrees(t, compiled(t, "gcc", "-O2", "-DSEMAPHORES"))
    agrees(t, compiled(t, "gcc", "-O2", "-s")) # without symbols

def arguments_are_right_at_breakpoints(t):
    for level in ("-O0", "-O2"):
        agrees(t, compiled(t, "gcc", level), "-x", "mechanism=int3")
        agrees(t, compiled(t, "gcc", level, "-DSEMAPHORES"), "-x", "mechanism=int3")

def listings_show_the_types_of_arguments(t):
    listing = good(t.run("-lv", "-n", "kinds$target:::small", "-c", compiled(t, "gcc", "-O1") + " 1")).stdout
    for n, name in enumerate(("int8_t", "uint8_t", "int16_t", "uint16_t", "uint8_t", "int32_t")):
        contains(listing, f"args[{n}]: {name}")

def a_float_is_a_double_in_d(t):
    done = good(t.run("-qn", 'kinds*:::floating { printf("%.2f %.2f %.2f\\n", args[0], args[1], args[0] * 2); '
                      '@ = sum(args[1]); }', "-c", compiled(t, "gcc", "-O2") + " 2"))
    contains(done.stdout, "1.50 1.25 3.00\n")
    contains(done.stdout, "2.50 2.25 5.00\n")

def args_without_an_argument_are_refused_and_argN_is_0(t):
    program = compiled(t, "gcc", "-O2")
    done = t.run("-xerrtags", "-qn", "kinds*:::none { trace(args[0]); }", "-c", program)
    contains(done.stderr, "[D_ARGS_IDX]")
    done = good(t.run("-qn", "kinds*:::none { @[arg0, arg9] = count(); }", "-c", program + " 4"))
    equal(numbers(done.stdout)[-3:], [0, 0, 4])

def a_semaphore_is_raised_while_the_program_is_traced(t):
    program = compiled(t, "gcc", "-O2", "-DSEMAPHORES")
    alone = subprocess.run([program, "5"], capture_output=True, text=True)
    equal((alone.stdout, alone.stderr), ("", "enabled 0 times\n"))
    done = t.run("-qn", "kinds*:::none { @ = count(); }", "-c", program + " 1000")
    contains(done.stderr, "enabled 1000 times\n")
    equal(numbers(done.stdout)[-1], 1000)
    for way in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen([program, "0", "1", "wait"], stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        with held(process):
            contains(process.stderr.readline(), "enabled 0 times")
            traced = Traced(t, "kinds*:::none, kinds*:::small { @ = count(); }", process.pid)
            traced.process.send_signal(way)
            traced.process.communicate()
            wait_until(lambda: tracer_of(process.pid) == 0, what="the release of the target")
            equal(process.communicate("x")[1], "semaphores 0 0 0\n", way.name)

def a_forked_child_has_the_probes_too(t):
    for flags in ((), ("-DSEMAPHORES",)):
        program = compiled(t, "gcc", "-O2", *flags)
        done = t.run("-qn", "kinds*:::none { @[pid == $target] = count(); }", "-c", program + " 100 fork")
        equal(sorted(table(done.stdout).items()), [("0", 100), ("1", 100)], done.stderr)

def a_pid_probe_does_not_fire_in_a_forked_child(t):
    done = t.run("-qn", 'kinds*:::none { @["static"] = count(); } pid$target:a.out:fire:entry '
                 '{ @["entry"] = count(); }', "-c", compiled(t, "gcc", "-O1") + " 100 fork")
    equal(table(done.stdout), {"static": 200, "entry": 100}, done.stderr)

def gdb_and_bpftrace_find_the_same_probes(t):
    program = compiled(t, "gcc", "-O2")
    need("gdb")
    seen = subprocess.run(["gdb", "-batch", "-ex", "info probes stap kinds", program],
                          capture_output=True, text=True).stdout
    for name in ("none", "small", "wide__ones", "floating", "texts", "twelve"):
        contains(seen, name)
    done = good(t.run("-qn", "kinds*:::twelve { @ = count(); }", "-c", program + " 37"))
    ours = numbers(done.stdout)[-1]
    need("bpftrace")
    theirs = subprocess.run(["bpftrace", "-e", f'usdt:{program}:kinds:twelve {{ @ = count(); }}',
                             "-c", program + " 37"], capture_output=True, text=True, timeout=60)
    if "@: " not in theirs.stdout:
        raise Skip("bpftrace cannot trace here: " + theirs.stderr.strip()[-200:])
    equal((ours, int(re.search(r"@: (\d+)", theirs.stdout).group(1))), (37, 37))

# Programs of Debian

def exceptions_of_any_cxx_program_are_counted(t):
    done = good(t.run("-qn", "libstdcxx:::throw, libstdcxx:::catch { @[probename] = count(); } "
                      "libstdcxx:::throw { @s[ustack()] = count(); }",
                      "-c", t.victim("thrower") + " 50"))
    rows = table(done.stdout)
    caught = int(re.search(r"caught (\d+)", done.stdout).group(1))
    equal((rows.get("throw"), rows.get("catch")), (caught, caught))
    contains(done.stdout, "__cxa_throw")
    contains(done.stdout, "main")

def garbage_collections_and_imports_of_python_are_counted(t):
    need("/usr/bin/python3")
    script = t.scratch / "collects.py"
    script.write_text("import gc\ngc.disable()\nfor n in range(7): gc.collect(1)\nimport colorsys\n")
    done = good(t.run("-qn", 'python*:::gc-start { @["gc", arg0] = count(); } python*:::import-find-load-start '
                      '/copyinstr(arg0) == "colorsys"/ { @["import", 0] = count(); } python*:::line { @["line", 0] = count(); }',
                      "-c", f"/usr/bin/python3 -S {script}"))
    rows = table(done.stdout)
    # The interpreter itself causes some of the other events.
    equal((rows["gc 1"], rows["import 0"]), (7, 1))

class Queries(Postgres):
    """A PostgreSQL server with the pgbench tables."""
    def load(self):
        self.pgbench("-i", "-q", "-s", "1")
    def select(self, n):
        equal(self.pgbench("-S", "-n", "-c", "2", "-j", "2", "-t", str(n)), [f"{2 * n}/{2 * n}", "0"])

def raised(pid):
    """Returns the program's semaphores that are not 0, as a dictionary from address to value."""
    exe = os.path.realpath(f"/proc/{pid}/exe")
    notes = subprocess.run(["readelf", "-nW", exe], capture_output=True, text=True).stdout
    base = min(int(line.split("-")[0], 16) for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
               if line.endswith(exe))
    places = {base + int(at, 16) for at in re.findall(r"Semaphore: (0x[0-9a-f]+)", notes)} - {base}
    equal(len(places) > 40, True, "semaphores")
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        values = {at: int.from_bytes(os.pread(memory.fileno(), 2, at), "little") for at in places}
    return {at: value for at, value in values.items() if value != 0}

SELECTS = ('postgresql*:::query-start /strstr(copyinstr(arg0), "SELECT abalance") != NULL/ { @["n"] = count(); } '
           'postgresql*:::transaction-commit { @["commit"] = count(); }')

def every_query_of_later_backends_of_postgresql_is_counted(t):
    with Queries().start() as server:
        server.load()
        equal(raised(server.process.pid), {})
        traced = Traced(t, SELECTS, server.process.pid)
        equal(sorted(raised(server.process.pid).values()), [1, 1])
        server.select(2000)
        rows = table(traced.finish(signal.SIGINT))
        equal(rows["n"], 4000)
        equal(raised(server.process.pid), {})
        equal(server.sql("select 6*7"), "42")
        released(server.process.pid)
        server.end()

def postgresql_continues_when_dtrace_is_killed(t):
    with Queries().start() as server:
        server.load()
        traced = Traced(t, SELECTS, server.process.pid)
        load = subprocess.Popen([*server.user, server.bin("pgbench"), "-h", server.folder, "-U", "tester", "-S", "-n",
                                 "-c", "2", "-T", "3", "postgres"], cwd=server.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        time.sleep(1)  # kill dtrace in the middle of the load, which takes three seconds
        traced.process.kill()
        traced.process.communicate()
        out, errors = load.communicate(timeout=60)
        equal(load.returncode, 0, errors)
        contains(out, "number of failed transactions: 0")
        server.select(100)
        wait_until(lambda: tracer_of(server.process.pid) == 0, what="the release of the target")
        released(server.process.pid)
        equal(raised(server.process.pid), {})
        server.end()

# Providers without a definition in the program

def well_known_providers_have_types(t):
    need("/usr/bin/python3")
    listing = good(t.run("-lv", "-n", "python$target:::function-entry", "-c", "/usr/bin/python3 -c 1")).stdout
    for line in ("args[0]: const char *file", "args[1]: const char *function", "args[2]: int line"):
        contains(listing, line)
    with Queries() as server:
        listing = good(t.run("-lv", "-n", "postgresql$target:::", "-c", server.bin("postgres") + " --version")).stdout
    # Without the table of PostgreSQL's probes, only the sizes of the arguments would be known.
    for name in ("query-start", "smgr-md-read-done", "lock-wait-start", "sort-start"):
        contains(listing, name)
    contains(listing, "args[0]: const char *query")
    equal(re.findall(r"args\[\d\]: u?int\d+_t", listing), [], "types that only give sizes")

JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
WORK = ('hotspot$target:::method-entry /copyinstr(arg3, arg4) == "work" && copyinstr(arg1, arg2) == "Main"/ '
        '{ @["n"] = count(); }')

def the_message_for_a_probe_that_needs_an_option_of_the_target_names_it(t):
    need(JAVA)
    contains(t.run("-Zqn", WORK, "-c", f"{JAVA} -version").stderr,
             "hotspot:::method-entry does not fire in this process; to trace it, start the process as java -XX:+ExtendedDTraceProbes")

def methods_of_java_are_counted(t):
    need(JAVA, "javac")
    (t.scratch / "Main.java").write_text(
        "public class Main { static int work(int i) { return i * 3; } "
        "public static void main(String[] a) { for (int i = 0; i < 1234; i++) work(i); } }")
    subprocess.run(["javac", "--release", "17", "-d", str(t.scratch), str(t.scratch / "Main.java")], check=True)
    done = t.run("-Zqn", WORK, "-c", f"{JAVA} -XX:+DTraceMethodProbes -cp {t.scratch} Main")
    equal((table(done.stdout), done.stderr), ({"n": 1234}, ""))

if __name__ == "__main__":
    main(tests_in(globals()))
