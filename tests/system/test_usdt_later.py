#!/usr/bin/env python3
"""Tests static probes that appear after dtrace has started. They are in loaded libraries, children, executed programs
and new processes."""
import os, pathlib, re, shutil, signal, subprocess, time

from harness import *
from traced import *

ROOT = HERE.parent.parent
PYTHON = "/usr/bin/python3"
LOADS = str(ROOT / "tests/victims/usdt/loads.py")
TICKS = 'plug*:::tick { @[pid == $target ? "target" : "other"] = count(); @sum = sum(arg0); }'
ALL = 'plug*:::tick { @["all"] = count(); }'
BOTH = ((), ("-x", "mechanism=int3"))

def plugin(t, name="plug"):
    """Builds plugin.c as the library NAME.so. Returns its path."""
    need("gcc", PYTHON)
    out = t.scratch / f"{name}.so"
    if not out.exists():
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", f"-I{ROOT}/usdt/include",
                        str(ROOT / "tests/victims/usdt/plugin.c"), "-o", str(out)], check=True)
    return str(out)

def loads(t, *steps, flags=(), program=TICKS):
    """Traces `loads.py STEPS`. Returns the rows of the D program, and how many times loads.py found its probe enabled.
    """
    done = good(t.run("-Zq", *flags, "-n", program, "-c", " ".join([PYTHON, LOADS, *steps])))
    told = sum(int(n) for n in re.findall(r"traced (\d+)", done.stdout))
    return table(done.stdout), told

def probes_of_loaded_and_unloaded_libraries_fire(t):
    lib = plugin(t)
    for flags in BOTH:
        rows, told = loads(t, *[f"{lib}*10"] * 3, flags=flags)
        equal((rows, told), ({"target": 30}, 30), flags)

def a_description_without_a_match_needs_Z(t):
    done = t.run("-qn", TICKS, "-c", f"{PYTHON} {LOADS} {plugin(t)}*1")
    contains(done.stderr, "plug*:::tick does not match any probes")

def libraries_that_forked_children_load_are_probed(t):
    lib = plugin(t)
    for flags in BOTH:
        rows, told = loads(t, f"{lib}*10", "(", f"{lib}*20", "(", f"{lib}*3", ")", ")", f"{lib}*4", flags=flags)
        equal((rows, told), ({"target": 14, "other": 23}, 37), flags)

def an_inherited_probe_fires_once_in_a_child(t):
    lib, second = plugin(t), plugin(t, "second")
    for flags in BOTH:
        rows, told = loads(t, f"+{lib}*10", "(", f"{second}*5", f"{lib}*7", ")", flags=flags)
        equal((rows, told), ({"target": 10, "other": 12}, 22), flags)

def an_exec_of_the_command_itself_is_followed_except_with_follow_none(t):
    for follow, n in (("none", 10), ("command", 20), ("fork", 20)):
        rows, told = loads(t, f"{plugin(t)}*10", "exec", f"{plugin(t)}*10", flags=("-x", f"follow={follow}"))
        equal((rows, told), ({"target": n}, n), follow)
    rows, told = loads(t, f"+{plugin(t)}*10", "(", "exec", f"{plugin(t)}*5")
    equal((rows, told), ({"target": 10}, 10), "a child's exec")

def executed_programs_keep_their_probes_with_follow_exec(t):
    lib = plugin(t)
    for flags in BOTH:
        flags = (*flags, "-x", "follow=exec")
        rows, told = loads(t, f"{lib}*10", "exec", f"{lib}*10", flags=flags)
        equal((rows, told), ({"target": 20}, 20), flags)
        rows, told = loads(t, f"+{lib}*10", "(", "exec", f"{lib}*5", flags=flags)
        equal((rows, told), ({"target": 10, "other": 5}, 15), flags)

def spawned_programs_have_probes_with_follow_exec(t):
    lib = plugin(t)
    rows, told = loads(t, f"{lib}*10", "spawn", f"{lib}*20", "spawn", f"{lib}*3", flags=("-x", "follow=exec"))
    equal((rows, told), ({"target": 10, "other": 23}, 33))

def functions_of_programs_that_a_script_runs_are_counted(t):
    script = t.scratch / "many.sh"
    script.write_text("#!/bin/sh\ni=0\nwhile [ $i -lt 50 ]; do /bin/true; i=$((i+1)); done\n"
                      "/bin/echo a | cat | cat > /dev/null\n")
    script.chmod(0o755)
    done = good(t.run("-qx", "follow=exec", "-n", "pid$target:libc.so.6:exit:entry { @[execname] = count(); }",
                      "-c", str(script)))
    rows = table(done.stdout)
    equal((rows["true"], rows["echo"], rows["cat"]), (50, 1, 2), done.stdout)

def a_followed_compiler_writes_the_same_object(t):
    need("gcc")
    source = str(ROOT / "tests/victims/usdt/plugin.c")
    command = f"gcc -O2 -c -fPIC -I{ROOT}/usdt/include {source} -o "
    subprocess.run((command + str(t.scratch / "alone.o")).split(), check=True)
    done = good(t.run("-qx", "follow=exec", "-n", "pid$target:libc.so.6:malloc:entry { @[execname] = count(); }",
                      "-c", command + str(t.scratch / "traced.o")))
    equal((t.scratch / "traced.o").read_bytes(), (t.scratch / "alone.o").read_bytes(), "the object")
    equal([name for name in ("cc1", "as", "gcc") if table(done.stdout).get(name, 0) == 0], [], done.stdout)

# New processes that dtrace finds without -p and -c

class Watching:
    """A dtrace process that traces all processes with the probes. `flags` may restrict it to one process (-p)."""
    def __init__(self, t, program, flags=(), before=()):
        self.came = t.scratch / f"came.{time.monotonic_ns()}"
        self.process = subprocess.Popen([*before, t.dtrace, "-Zq", *flags, "-o", str(self.came), "-n",
                                         program + ' BEGIN { printf("BEGAN\\n"); }'],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=t.scratch)
        wait_until(lambda: self.came.exists() and "BEGAN" in self.came.read_text(), what="the start of tracing")
    def finish(self):
        self.process.send_signal(signal.SIGINT)
        _, self.errors = self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, self.errors)
        return table(self.came.read_text())

def waiting(t, *steps):
    process = subprocess.Popen([PYTHON, LOADS, f"+{plugin(t)}*0", "wait", *steps], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    equal([process.stdout.readline() for _ in range(2)], ["traced 0\n", "ready\n"])
    return process

def is_traced(t, pid):
    """Returns whether the process is traced and its probe is planted."""
    return tracer_of(pid) != 0 and any("plug.so" in line for line in text_differs(pid))

def begin_and_fire(t, n):
    """Starts three processes. Each one waits until it is traced. It then fires its probe n times, and its child
    fires the probe 5 times."""
    for _ in range(3):
        with held(waiting(t, f"{plugin(t)}*{n}", "(", f"{plugin(t)}*5", ")")) as process:
            wait_until(lambda: is_traced(t, process.pid), what="the start of tracing of the process")
            out, errors = process.communicate("x\n", timeout=20)
            equal((out, errors), (f"traced {n}\ntraced 5\n", ""))

def new_processes_are_traced(t):
    watching = Watching(t, ALL)
    begin_and_fire(t, 10)
    equal(watching.finish(), {"all": 45})
    equal(watching.errors, "")

def a_process_that_system_starts_is_traced(t):
    lib = plugin(t)
    command = " ".join(["exec", PYTHON, LOADS, f"+{lib}*0", "wait", f"{lib}*10"])
    process = subprocess.Popen([t.dtrace, "-Zwqn", f'BEGIN {{ system("{command}"); }} ' + ALL +
                                " plug*:::tick /++n == 10/ { exit(0); }"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=t.scratch)
    with held(process):
        equal([process.stdout.readline() for _ in range(2)], ["traced 0\n", "ready\n"])
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        # dtrace's own processes have the command line of dtrace.
        run = [int(pid) for pid in children
               if LOADS in pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:2]]
        wait_until(lambda: is_traced(t, run[0]), what="the start of tracing of the process")
        out, errors = process.communicate("x\n", timeout=60)
    contains(out, "traced 10\n")
    equal(table(out.replace("traced 10\n", "")), {"all": 10}, errors)

def without_notifications_of_the_kernel_new_processes_are_polled(t):
    need("unshare")
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        raise Skip("no network namespace can be created here")
    watching = Watching(t, ALL, before=("unshare", "-n", "--"))
    begin_and_fire(t, 10)
    equal(watching.finish(), {"all": 45})
    contains(watching.errors, "dtrace looks for new processes ten times a second")

def existing_processes_are_traced_immediately(t):
    with held(waiting(t, f"{plugin(t)}*10")) as process:
        watching = Watching(t, ALL)
        out, errors = process.communicate("x\n", timeout=20)
        equal((out, errors), ("traced 10\n", ""))
        equal(watching.finish(), {"all": 10})

def a_program_that_a_traced_process_executes_is_traced(t):
    """Tests an exec of the traced process, and an exec of its child."""
    for steps in (("exec",), ("(", "exec")):
        watching = Watching(t, ALL)
        lib = plugin(t)
        end = () if steps == ("exec",) else (")",)
        with held(waiting(t, f"{lib}*10", *steps, f"+{lib}*0", "wait", f"{lib}*20", *end)) as process:
            wait_until(lambda: is_traced(t, process.pid), what="the start of tracing of the process")
            process.stdin.write("x\n")
            process.stdin.flush()
            equal([process.stdout.readline() for _ in range(3)], ["traced 10\n", "traced 0\n", "ready\n"])
            pid = process.pid if steps == ("exec",) else only_child(process.pid)
            wait_until(lambda: is_traced(t, pid), what="the start of tracing after the exec")
            out, errors = process.communicate("x\n", timeout=20)
            equal((out, errors), ("traced 20\n", ""))
        equal(watching.finish(), {"all": 30}, steps)
        equal(watching.errors, "")

def only_child(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())

def a_user_who_may_not_read_a_process_gets_an_error(t):
    if os.geteuid() != 0:
        raise Skip("only root can test processes of other users")
    with held(waiting(t)) as process:
        for provider, part in ((f"plug{process.pid}", f"process {process.pid} cannot be read: only its owner or root may read it"),
                               ("plug", "that only the owner or root may search"),
                               ("plug*", "that only the owner or root may search")):
            done = subprocess.run([*as_nobody(), t.dtrace, "-ln", f"{provider}:::tick"], capture_output=True, text=True)
            contains(done.stderr, part)
        process.communicate("x\n", timeout=20)

def with_a_target_no_other_process_is_traced(t):
    with held(waiting(t, f"{plugin(t)}*10")) as process, held(waiting(t, f"{plugin(t)}*10")) as other:
        watching = Watching(t, ALL, flags=("-p", str(process.pid)))
        equal((tracer_of(process.pid) != 0, tracer_of(other.pid)), (True, 0))
        with held(waiting(t, f"{plugin(t)}*10")) as third:
            time.sleep(0.5)  # enough time for dtrace to attach by mistake
            equal(tracer_of(third.pid), 0)
        process.communicate("x\n", timeout=20)
        watching.process.communicate(timeout=20)
        equal(table(watching.came.read_text()), {"all": 10})

def processes_that_end_immediately_cause_no_errors(t):
    watching = Watching(t, "python*:::gc-start { @[1] = count(); }")
    for _ in range(40 if t.long else 15):
        done = subprocess.run([PYTHON, "-S", "-c", "pass"], capture_output=True, text=True)
        equal((done.returncode, done.stderr), (0, ""))
    watching.finish()
    # A python of another test may have its own tracer. dtrace reports such a process, so these messages are ignored.
    equal([line for line in watching.errors.splitlines() if "is being traced by" not in line], [])

def rss_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])

def a_server_that_forks_many_children_costs_no_memory(t):
    """dtrace frees its data about children that have exited, but still prints the function names in their stacks."""
    need("gcc")
    n, server = (4000 if t.long else 600), t.scratch / "forks"
    subprocess.run(["gcc", "-O2", f"-I{ROOT}/usdt/include", str(ROOT / "tests/victims/usdt/forks.c"),
                    "-o", str(server)], check=True)
    process = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with held(process):
        def serve(count):
            process.stdin.write(f"{count}\n")
            process.stdin.flush()
            equal(process.stdout.readline(), "served\n")
        equal(process.stdout.readline(), "ready\n")
        watching = Watching(t, 'app$target:::child { @["all"] = count(); @stacks[ustack(1)] = count(); }',
                            flags=("-p", str(process.pid)))
        serve(100)
        before = rss_kb(watching.process.pid)
        serve(n)
        grown = rss_kb(watching.process.pid) - before
        rows = watching.finish()
        equal(rows["all"], n + 100)
        text = watching.came.read_text()
        equal(len(re.findall(r"forks`greet", text)), n + 100)
        if grown > 4 * n:
            raise AssertionError(f"{n} children cost {grown} KB")

if __name__ == "__main__":
    main(tests_in(globals(), plugin, waiting))
