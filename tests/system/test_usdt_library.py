#!/usr/bin/env python3
"""Tests probes that programs create at run time, with libdtrace-usdt or Python's dtrace_usdt. A tracer must leave
nothing in the program."""
import itertools, os, pathlib, re, shutil, signal, subprocess, sys, time

from harness import *
from traced import *

ROOT = HERE.parent.parent
MADE = ROOT / "tests/victims/usdt/made.c"

# A D program that prints the arguments of made.c's probes. The lines must be the same as those that made.c prints.
PROGRAM = """
made*:::none { printf("none\\n"); }
made*:::small { printf("small %d %d %d %d %d\\n", args[0], args[1], args[2], args[3], args[4]); }
made*:::wide-ones { printf("wide %d %u %u %d\\n", args[0], args[1], args[2], *(int *)copyin(arg3, 4)); }
made*:::floating { printf("floating %016x %016x\\n", arg0, arg1); }
made*:::texts { printf("texts %s %s\\n", copyinstr(arg0), copyinstr(arg1)); }
made*:::twelve { printf("twelve %d %d %d %d %d %d %d %d %d %d\\n", args[0], args[1], args[2], args[3],
    args[4], args[5], args[6], args[7], args[8], args[9]); }
"""
COUNT = 'made*:::none { @ = count(); }'

def compiled(t, *compiler):
    """Compiles made.c and links it with libdtrace-usdt from the build. Keeps the program for later tests."""
    need(compiler[0])
    library = t.build / "usdt/library/libdtrace-usdt.a"
    if not library.exists():
        raise Skip("the build has no libdtrace-usdt")
    out = t.scratch / ("made-" + "-".join(compiler).replace("=", ""))
    if not out.exists():
        language = ["-x", "c++"] if "++" in compiler[0] else []
        subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/usdt/include", *language, str(MADE),
                        "-x", "none", str(library), "-pthread", "-o", str(out)], check=True)
        out.chmod(0o755)
        t.scratch.chmod(0o755)
    return str(out)

class Made(Holder):
    """A process that runs made.c, or a script with the same protocol. It executes the commands on its stdin."""
    def __init__(self, t, *arguments, command=None, before=(), **environment):
        command = command or [compiled(t, "gcc", "-O2")]
        self.process = subprocess.Popen([*before, *command, *arguments], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, env={**os.environ, **environment})
        self.pid = self.process.pid
        first = self.process.stdout.readline()
        if first.startswith("no seccomp"):
            raise Skip(first.strip())
        equal(first, "ready\n")
    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
    def until(self, last):
        lines = []
        for line in self.process.stdout:
            if line.strip() == last:
                return lines
            lines.append(line.strip())
        raise AssertionError(f"ended with {self.process.wait()} after {lines}")
    def does(self, line):
        self.say(line)
        return self.until("done")
    def is_released(self):
        wait_until(lambda: tracer_of(self.pid) == 0, what="the release of the target")
        equal(self.does("semaphores"), ["semaphores 0 0 0 0 0 0"])
        equal(changed_text(self.pid), [], "changed text")
    def ends(self):
        self.process.stdin.close()
        self.process.stdin = None
        equal(self.process.wait(20), 0, "status")

def changed_text(pid):
    """Returns the memfd mappings whose text differs from the memfd."""
    files = {}
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        if os.readlink(link).startswith("/memfd:"):
            files[os.stat(link).st_ino] = link
    changed = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(None, 5)
        if "x" not in fields[1] or int(fields[4]) not in files:
            continue
        begin, end = (int(part, 16) for part in fields[0].split("-"))
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory, open(files[int(fields[4])], "rb") as file:
            memory.seek(begin)
            file.seek(int(fields[2], 16))
            if memory.read(end - begin) != file.read(end - begin):
                changed.append(line)
    return changed

def agrees(t, made, *flags, n=5):
    """Checks that dtrace and the program print the same lines for the program's probes."""
    traced = Traced(t, PROGRAM, made.pid, flags=flags)
    said = made.does(f"fire {n}")
    came = [line for line in traced.finish(signal.SIGINT).splitlines() if line and line != "BEGAN"]
    equal(len(said), 6 * n, "lines of the program")
    for ours, its in itertools.zip_longest(came, said):
        equal(ours, its, "a line of the program")
    made.is_released()

# Programs in C and C++

def arguments_are_right_in_c_and_in_cxx(t):
    for compiler in (("gcc", "-O0"), ("gcc", "-O2"), ("g++", "-O2", "-std=c++11"), ("g++", "-O0", "-std=c++20"),
                     ("clang", "-O2"), ("clang++", "-O2"), ("gcc", "-O2", "-fcf-protection=full")):
        if shutil.which(compiler[0]):
            with Made(t, command=[compiled(t, *compiler)]) as made:
                agrees(t, made)
                made.ends()

def arguments_are_right_at_breakpoints(t):
    with Made(t) as made:
        agrees(t, made, "-x", "mechanism=int3")

def probes_are_listed_with_the_names_and_types_that_the_program_gave(t):
    with Made(t) as made:
        rows = [line.split()[1:] for line in
                good(t.run("-l", "-P", "made*", "-p", str(made.pid))).stdout.splitlines()[1:]]
        provider = f"made{made.pid}"
        equal(sorted(rows), sorted([provider, "made", function, name] for function, name in (
            ("none", "none"), ("fire", "small"), ("fire", "wide-ones"), ("fire", "floating"), ("tell", "texts"),
            ("tell", "twelve"))))
        listing = good(t.run("-lv", "-n", "made*:::small", "-p", str(made.pid))).stdout
        for n, name in enumerate(("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t")):
            contains(listing, f"args[{n}]: {name}")
        contains(good(t.run("-lv", "-n", "made*:::floating", "-p", str(made.pid))).stdout, "args[1]: double")

def a_probe_is_enabled_while_the_program_is_traced(t):
    with Made(t) as made:
        equal(made.does("count 100"), ["enabled 0 times"])
        for way in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            traced = Traced(t, COUNT, made.pid)
            equal(made.does("count 1000"), ["enabled 1000 times"])
            traced.process.send_signal(way)
            traced.process.communicate()
            if way != signal.SIGKILL:
                equal(numbers(traced.began.read_text())[-1], 1000)
            made.is_released()
            equal(made.does("count 100"), ["enabled 0 times"], way.name)

def a_command_that_creates_its_probes_early_is_traced_from_its_start(t):
    for evaltime in ("postinit", "main"):
        done = good(t.run("-x", "evaltime=" + evaltime, "-qn", COUNT, "-c", compiled(t, "gcc", "-O2") + " early",
                          stdin="count 777\n"))
        contains(done.stdout, "enabled 777 times")
        equal(numbers(done.stdout)[-1], 777)

def stacks_show_the_callers_of_a_probe(t):
    with Made(t, command=[compiled(t, "gcc", "-O0", "-g")]) as made:
        traced = Traced(t, "made*:::none { @[ustack(6)] = count(); }", made.pid)
        made.does("count 3")
        stack = traced.finish(signal.SIGINT)
        for frame in ("made`none+0x4", "`count+0x", "`main+0x"):
            contains(stack, frame)

def every_firing_of_many_threads_is_counted(t):
    for mechanism in ("auto", "int3"):
        with Made(t) as made:
            n = 50000 if mechanism == "auto" else 1000
            traced = Traced(t, COUNT, made.pid, flags=("-x", "mechanism=" + mechanism))
            made.does(f"threads {n}")
            equal(numbers(traced.finish(signal.SIGINT))[-1], 4 * n)
            made.is_released()

def threads_fire_while_tracers_attach_and_detach(t):
    with Made(t) as made:
        made.say("storm 4")
        made.until("storming")
        for n in range(30 if t.long else 6):
            traced = Traced(t, "made*:::small { @ = count(); } made*:::small /args[0] != 1 || args[3] != 4/ "
                            '{ printf("wrong"); }', made.pid)
            time.sleep(0.2)  # threads fire probes during this time
            if n % 3 == 2:
                traced.process.kill()
                traced.process.communicate()
            else:
                out = traced.finish(signal.SIGINT)
                equal("wrong" in out, False, out)
                if numbers(out)[-1] == 0:
                    raise AssertionError("no thread fired")
            wait_until(lambda: tracer_of(made.pid) == 0, what="the release of the target")
        equal(made.does(""), [])
        made.is_released()
        made.ends()

def providers_are_created_and_destroyed_while_tracers_attach_and_detach(t):
    with Made(t) as made:
        made.say("churn 3")
        made.until("storming")
        for n in range(30 if t.long else 6):
            traced = Traced(t, "churn*:::hit, made*:::none { @ = count(); }", made.pid,
                            flags=("-Z", "-x", "mechanism=" + ("int3" if n % 2 else "auto")))
            time.sleep(0.2)  # threads fire probes during this time
            if n % 3 == 2:
                traced.process.kill()
                traced.process.communicate()
            else:
                traced.finish(signal.SIGINT)
            wait_until(lambda: tracer_of(made.pid) == 0, what="the release of the target")
        equal(made.does(""), [])
        made.is_released()
        made.ends()

def a_destroyed_provider_has_no_probes(t):
    for mechanism in ("auto", "int3"):
        with Made(t) as made:
            traced = Traced(t, COUNT, made.pid, flags=("-x", "mechanism=" + mechanism))
            equal(made.does("count 10"), ["enabled 10 times"])
            made.does("destroy")
            equal(made.does("count 10"), ["enabled 0 times"])
            made.does("again")
            equal(made.does("count 10"), ["enabled 10 times"])
            equal(numbers(traced.finish(signal.SIGINT))[-1], 20)
            made.is_released()
            agrees(t, made)

def a_forked_child_has_the_probes_too(t):
    with Made(t) as made:
        traced = Traced(t, f"made*:::none {{ @[pid == {made.pid}] = count(); }}", made.pid)
        equal(made.does("fork 100"), ["enabled 100 times"])
        made.does("count 50")
        equal(table(traced.finish(signal.SIGINT)), {"0": 100, "1": 50})
        made.is_released()
        equal(made.does("fork 10"), ["enabled 0 times"])

def each_of_thousands_of_probes_fires_once(t):
    with Made(t) as made:
        made.say("many 2000")
        made.until("made 2000")
        listed = good(t.run("-l", "-n", "crowd*:crowd.so.1::each", "-p", str(made.pid))).stdout.splitlines()
        equal(len(listed), 2001, "lines")
        traced = Traced(t, 'crowd*:::each { @n["n"] = count(); @sum["sum"] = sum(args[0]); } '
                        'crowd*:crowd.so.1:f1999:each { @sum["last"] = sum(args[0]); }', made.pid)
        equal(made.does(""), [])
        equal(table(traced.finish(signal.SIGINT)), {"n": 2000, "sum": 1999000, "last": 1999})

def providers_of_one_name_differ_by_their_modules(t):
    with Made(t) as made:
        made.say("twins 40")
        made.until("made twins")
        traced = Traced(t, "twin*:::hit { @[probemod, args[0]] = count(); }", made.pid)
        equal(made.does(""), [])
        equal(table(traced.finish(signal.SIGINT)), {"left 0": 40, "left 1": 40, "right 2": 40})

def an_ordinary_user_can_trace_probes_created_at_run_time(t):
    """Tracing also works if the program has no open descriptors, or could not create a memfd."""
    user = as_nobody() if os.geteuid() == 0 else []
    program = compiled(t, "gcc", "-O2")
    for arguments, first in (([], "count 1"), ([], "close"), (["denied"], "count 1"), (["denied"], "close")):
        with Made(t, *arguments, command=[program], before=user, TMPDIR="/tmp") as made:
            made.does(first)
            out = t.scratch / "came"
            out.unlink(missing_ok=True)
            done = subprocess.Popen([*user, t.dtrace, "-qn", COUNT + ' BEGIN { printf("BEGAN\\n"); }', "-p", str(made.pid)],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            with held(done):
                line = done.stdout.readline()
                equal(line, "BEGAN\n", done.stderr.read() if not line else "")
                equal(made.does("count 60"), ["enabled 60 times"], f"{arguments} {first}")
                done.send_signal(signal.SIGINT)
                equal(numbers(done.communicate(timeout=60)[0])[-1], 60)
            equal(made.does("count 1"), ["enabled 0 times"])

# Programs that cannot load code from memory

def a_file_in_tmpdir_is_used_if_files_in_memory_are_forbidden(t):
    folder = t.scratch / "tmp"
    folder.mkdir(exist_ok=True)
    with Made(t, "denied", TMPDIR=str(folder)) as made:
        maps = pathlib.Path(f"/proc/{made.pid}/maps").read_text()
        contains(maps, f"{folder}/dtrace-usdt-")
        equal(list(folder.iterdir()), [], "files left in $TMPDIR")
        agrees(t, made)
        equal([line.split()[2] for line in good(t.run("-l", "-n", "made*:::none", "-p", str(made.pid)))
               .stdout.splitlines()[1:]], ["made"])

def kernels_without_executable_files_in_memory_work(t):
    """Since Linux 6.3, each pid namespace has its own vm.memfd_noexec setting."""
    need("unshare")
    program = compiled(t, "gcc", "-O2")
    for value in (1, 2):
        done = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
                               f"echo {value} >/proc/sys/vm/memfd_noexec && exec {program}"],
                              capture_output=True, text=True, input="count 2\n", env={**os.environ, "TMPDIR": "/proc"})
        if "memfd_noexec" in done.stderr or "unshare" in done.stderr:
            raise Skip(done.stderr.strip())
        equal((done.stdout.split(), done.stderr), ("ready enabled 0 times done".split(), ""), f"memfd_noexec {value}")

def a_program_gets_an_error_if_neither_kind_of_file_is_possible(t):
    done = subprocess.run([compiled(t, "gcc", "-O2"), "denied"], capture_output=True, text=True, input="",
                          env={**os.environ, "TMPDIR": "/proc"})
    if done.stdout.startswith("no seccomp"):
        raise Skip(done.stdout.strip())
    equal(done.returncode, 1)
    for part in ("load: ", "module made", "memfd_create: Operation not permitted", "/proc/dtrace-usdt-", "TMPDIR"):
        contains(done.stdout, part)

def values_that_do_not_fit_into_a_word_do_not_compile(t):
    for compiler, level in (("gcc", "-std=c11"), ("clang", "-std=c17"), ("g++", "-std=c++11"), ("clang++", "-std=c++20")):
        need(compiler)
        for value, is_good in (("1.0", True), ("1.0f", True), ('"text"', True), ("array", True), ("1.0L", False),
                               ("(__int128)1", False)):
            text = ("#include <dtrace/usdt.h>\nextern int array[9];\nvoid f(const struct dtrace_usdt_probe *);\n"
                    f"void f(const struct dtrace_usdt_probe *p) {{ DTRACE_USDT_FIRE(p, 1, {value}); }}\n")
            done = subprocess.run([compiler, level, "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/usdt/include", "-x",
                                   "c++" if "++" in compiler else "c", "-c", "-", "-o", os.devnull], input=text,
                                  capture_output=True, text=True)
            equal(done.returncode == 0, is_good, f"{compiler} {value}: {done.stderr}")
            if not is_good:
                contains(done.stderr, "at most 8 bytes: convert a long double to double")

# Other tracers

def gdb_finds_the_same_probes(t):
    need("gdb")
    with Made(t) as made:
        seen = subprocess.run(["gdb", "-nx", "-batch", "-p", str(made.pid), "-ex", "info probes stap made"],
                              capture_output=True, text=True, timeout=60).stdout
        if "No probes" in seen or "made" not in seen:
            raise Skip("gdb cannot attach to a process here: " + seen[-200:])
        rows = [line.split() for line in seen.splitlines() if line.startswith("stap")]
        equal(sorted(row[2] for row in rows), ["floating", "none", "small", "texts", "twelve", "wide__ones"])
        made.is_released()

def bpftrace_counts_the_same(t):
    need("bpftrace")
    with Made(t) as made:
        process = subprocess.Popen(["bpftrace", "-p", str(made.pid), "-e",
                                    'usdt:*:made:small { @n = count(); @sum = sum((int32)arg4); @left++; '
                                    'if (@left == 31) { exit(); } } '
                                    'BEGIN { printf("BEGAN\\n"); }'],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with held(process):
            said = ""
            for line in process.stdout:
                said += line
                if "BEGAN" in line:
                    break
            else:
                raise Skip("bpftrace cannot trace here: " + said[-200:])
            wait_until(lambda: made.does("semaphores") == ["semaphores 0 1 0 0 0 0"], what="the semaphore")
            time.sleep(1)  # bpftrace increments the semaphore some time before the probe can fire
            lines = made.does("fire 31")
            out = process.communicate(timeout=60)[0]
        own = sum(int(line.split()[5]) for line in lines if line.startswith("small"))
        equal((re.search(r"@n: (-?\d+)", out)[1], re.search(r"@sum: (-?\d+)", out)[1]), ("31", str(own)), out)
        made.is_released()

# Python

SCRIPT = """
import dtrace_usdt, os, sys, threading
provider = dtrace_usdt.Provider("pyapp", module="app.py")
start = provider.probe("query-start", "string", "int32_t", "double", function="parse")
end = provider.probe("query-end")
provider.load()
print("ready", flush=True)
def count(n):
    enabled = 0
    for i in range(n):
        if start:
            enabled += 1
        start.fire(f"query \\u00e4 {i}", -i, i + 0.5)
        end.fire()
    return enabled
for line in sys.stdin:
    what, n = (line.split() + ["0"])[:2]
    n = int(n)
    if what == "count":
        print("enabled", count(n), "times")
    elif what == "threads":
        threads = [threading.Thread(target=count, args=(n,)) for _ in range(4)]
        [each.start() for each in threads]
        [each.join() for each in threads]
    elif what == "fork":
        child = os.fork()
        if child == 0:
            print("enabled", count(n), "times", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
    elif what == "wrong":
        sys.unraisablehook = lambda told: print("told", type(told.exc_value).__name__)
        for values in ((), (1, 2, 3), ("x", "y", 1.0), ("x", 1, "z"), ("x", 1, 10**400), (bytearray(), 1, 1)):
            try:
                start.fire(*values)
                print("nothing")
            except TypeError:
                print("TypeError")
    elif what == "interrupted":
        class Interrupted:
            def __index__(self):
                raise KeyboardInterrupt
        try:
            start.fire("x", Interrupted(), 1.0)
            print("nothing")
        except KeyboardInterrupt:
            print("KeyboardInterrupt")
    elif what == "surrogates":
        for text in ("caf\\udce9", "cut\\ud83d", "\\udce9 and \\ud83d"):
            start.fire(text, 1, 1.0)
    elif what == "destroy":
        provider.destroy()
    elif what == "forget":
        del provider, start, end
        print("/memfd:app.py" in open("/proc/self/maps").read())
    print("done", flush=True)
"""

def python(t, **more):
    folder = t.build / "usdt/python"
    if not list(folder.glob("dtrace_usdt*.so")):
        raise Skip("the build has no dtrace_usdt: libpython3-dev was missing")
    need("/usr/bin/python3")
    script = t.scratch / "app.py"
    script.write_text(SCRIPT)
    return Made(t, command=["/usr/bin/python3", str(script)], PYTHONPATH=str(folder), **more)

def probes_of_python_have_the_right_arguments(t):
    with python(t) as app:
        equal(app.does("count 10"), ["enabled 0 times"])
        traced = Traced(t, 'pyapp*:app.py:parse:query-start { printf("%s %d %.1f\\n", copyinstr(arg0), args[1], args[2]); } '
                        'pyapp*:::query-end { @ = count(); }', app.pid)
        equal(app.does("count 20"), ["enabled 20 times"])
        lines = traced.finish(signal.SIGINT).split("BEGAN\n")[1].split("\n")
        equal(lines[:20], [f"query \u00e4 {i} {-i} {i + 0.5}" for i in range(20)])
        equal(numbers("\n".join(lines))[-1], 20)
        equal(app.does("count 10"), ["enabled 0 times"])
        equal(app.does("forget"), ["False"])
        app.ends()

def exceptions_in_probes_of_python_do_not_change_the_program(t):
    with python(t) as app:
        alone = ["TypeError"] + 5 * ["nothing"]
        equal(app.does("wrong"), alone)
        traced = Traced(t, 'pyapp*:::query-start { @["n"] = sum(1); @["no text"] = sum(arg0 == 0); '
                        '@["no number"] = sum(arg1 == 0); @["no double"] = sum(arg2 == 0); }', app.pid)
        equal(app.does("wrong"), ["TypeError", "told TypeError"] + 5 * ["nothing"])
        equal(app.does("wrong"), alone, "each exception is reported once")
        equal(app.does("interrupted"), ["KeyboardInterrupt"])
        equal(table(traced.finish(signal.SIGINT)), {"n": 10, "no text": 4, "no number": 2, "no double": 4})
        app.ends()

def surrogates_in_python_strings_become_the_original_bytes(t):
    with python(t) as app:
        equal(app.does("surrogates"), [])
        traced = Traced(t, 'pyapp*:::query-start { this->s = copyinstr(arg0); printf("%d %02x\\n", strlen(this->s), '
                        '*(uint8_t *)copyin(arg0 + 3, 1)); }', app.pid)
        equal(app.does("surrogates"), [])
        equal(traced.finish(signal.SIGINT).split("BEGAN\n")[1].split(), ["4", "e9", "6", "ed", "11", "20"])
        app.ends()

def threads_and_children_of_python_fire(t):
    with python(t) as app:
        traced = Traced(t, f"pyapp*:::query-end {{ @[pid == {app.pid}] = count(); }}", app.pid)
        app.does("threads 500")
        app.does("fork 30")
        equal(table(traced.finish(signal.SIGINT)), {"1": 2000, "0": 30})

def a_python_provider_can_be_destroyed_while_it_is_traced(t):
    with python(t) as app:
        traced = Traced(t, "pyapp*:::query-end { @ = count(); }", app.pid)
        app.does("count 5")
        app.does("destroy")
        equal(app.does("count 5"), ["enabled 0 times"])
        equal(numbers(traced.finish(signal.SIGINT))[-1], 5)
        app.ends()

if __name__ == "__main__":
    main(tests_in(globals()))
