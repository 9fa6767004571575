#!/usr/bin/env python3
"""Threads, forks, execs, signals, exceptions: counts stay exact and targets stay right."""
import inspect, os, pathlib, re, signal, struct, subprocess, time

from harness import *

def numbers(text):
    """What remains when only the numbers of each line are looked at."""
    return [int(word) for word in re.findall(r"-?\b\d+\b", text)]

def table(text):
    """The rows 'keys... value' of a printed aggregation, keyed by the joined keys."""
    rows = {}
    for line in text.splitlines():
        words = line.split()
        # What the target itself prints begins in the first column.
        if line.startswith(" ") and len(words) >= 2 and words[-1].lstrip("-").isdigit():
            rows[" ".join(words[:-1])] = int(words[-1])
    return rows

def good(done):
    """Ended with 0 and complained of nothing: no drops, no errors."""
    equal(done.returncode, 0, done.stderr)
    for word in ("drop", "error on", "failed", "terminated"):
        if word in done.stderr:
            raise AssertionError(done.stderr)
    return done

def ready(process):
    """Waits for a victim that says a line when it is up."""
    line = process.stdout.readline()
    if not line:
        raise AssertionError("the victim ended before it was ready")
    return line

def victim(t, name, *args, **more):
    return subprocess.Popen([t.victim(name), *args], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, **more)

class Traced:
    """dtrace -p on running victims; waits until it traces, which its BEGIN... tells."""
    def __init__(self, t, program, *pids, flags=()):
        self.began = t.scratch / f"began.{time.monotonic_ns()}"
        targets = [word for pid in pids for word in ("-p", str(pid))]
        self.process = t.start("-q", *flags, "-o", str(self.began), "-n",
                               program + ' BEGIN { printf("BEGAN\\n"); }', *targets)
        def is_up():
            if self.process.poll() is not None:
                raise AssertionError(self.process.communicate()[1])
            return self.began.exists() and "BEGAN" in self.began.read_text()
        wait_until(is_up, what="tracing")

    def finish(self, signum=None):
        if signum is not None:
            self.process.send_signal(signum)
        _, errors = self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, errors)
        if "drop" in errors or "error on" in errors:
            raise AssertionError(errors)
        return self.began.read_text()

def recorded(t, *flags, command):
    """A good run of a command; what dtrace wrote, apart from what the command did."""
    path = t.scratch / f"recorded.{time.monotonic_ns()}"
    good(t.run(*flags, "-o", str(path), "-c", command))
    return path.read_text().splitlines()

def released(pid):
    """Nothing of ours is left in a process."""
    equal(tracer_of(pid), 0, "TracerPid")
    equal(text_differs(pid), [], "changed text")

# Counts

def calls_from_fifty_threads_are_counted_exactly(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { @entries = count(); } "
                      "pid$target:a.out:work:return { @returns = count(); } "
                      'END { printa("entries %@d\\n", @entries); '
                      'printa("returns %@d\\n", @returns); }',
                      "-c", t.victim("spin") + " 1000 50"))
    contains(done.stdout, "calls 50000 ")
    contains(done.stdout, "entries 50000\n")
    contains(done.stdout, "returns 50000\n")

def calls_from_fifty_threads_are_recorded_without_a_drop(t):
    lines = recorded(t, "-qn", 'pid$target:a.out:work:entry { printf("%d %d\\n", tid, arg0); }',
                     command=t.victim("spin") + " 400 50")
    rows = [tuple(map(int, line.split())) for line in lines if line]
    equal(len(rows), 400 * 50, "records")
    threads = {tid for tid, _ in rows}
    equal(len(threads), 50, "threads")
    # In the order in which they happened, each thread's as it counted them.
    for thread in threads:
        equal([n for tid, n in rows if tid == thread], list(range(400)), f"thread {thread}")

def threads_have_their_own_variables(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { self->n = arg0 + 1; } "
                      "pid$target:a.out:outer:return /self->n == arg1/ { @odd = count(); } "
                      "pid$target:a.out:outer:return /self->n/ { @ = sum(self->n); self->n = 0; } "
                      'END { printa("sum %@d\\n", @); }',
                      "-c", t.victim("spin") + " 200 50"))
    contains(done.stdout, f"sum {50 * sum(range(1, 201))}\n")

def a_running_target_with_threads_is_traced_and_let_go(t):
    target = victim(t, "waiter", "20")
    ready(target)
    traced = Traced(t, "pid$target:a.out:work:entry { @e = count(); } "
                    "pid$target:a.out:work:return { @r = count(); } "
                    'END { printa("entries %@d\\n", @e); printa("returns %@d\\n", @r); }',
                    target.pid)
    time.sleep(1)
    out = traced.finish(signal.SIGINT)
    entries = int(re.search(r"entries (\d+)", out).group(1))
    returns = int(re.search(r"returns (\d+)", out).group(1))
    if entries < 1000 or abs(entries - returns) > 20:  # a thread may be inside at either end
        raise AssertionError(out)
    released(target.pid)
    out, _ = target.communicate(timeout=20)
    equal(target.returncode, 0, out)

def several_targets_are_traced_at_once(t):
    targets = [victim(t, "waiter", "2") for _ in range(3)]
    for target in targets:
        ready(target)
    program = " ".join(f"pid{target.pid}:a.out:work:entry {{ @[pid] = count(); }}"
                       for target in targets)
    traced = Traced(t, program, *(target.pid for target in targets))
    time.sleep(0.5)
    counts = table(traced.finish(signal.SIGINT))
    equal(sorted(counts), sorted(str(target.pid) for target in targets), "pids")
    for target in targets:
        released(target.pid)
        target.communicate(timeout=20)
        equal(target.returncode, 0, "exit status")

def dtrace_ends_when_the_last_of_its_targets_ends(t):
    targets = [victim(t, "waiter", "1") for _ in range(2)]
    for target in targets:
        ready(target)
    traced = Traced(t, "pid$target:a.out:work:entry { @ = count(); }",
                    *(target.pid for target in targets))
    targets[0].communicate(timeout=20)
    time.sleep(0.3)
    equal(traced.process.poll(), None, "dtrace while one target lives")
    targets[1].communicate(timeout=20)
    traced.finish()

def a_command_and_a_process_are_traced_together(t):
    target = victim(t, "waiter", "1")
    ready(target)
    done = t.start("-qn", 'pid$target:a.out:work:entry { @[execname] = count(); } '
                   f"pid{target.pid}:a.out:work:entry {{ @[execname] = count(); }}",
                   "-c", t.victim("spin") + " 500 1", "-p", str(target.pid))
    time.sleep(1)
    target.communicate(timeout=20)
    out, errors = done.communicate(timeout=20)
    equal(done.returncode, 0, errors)
    counts = table(out)
    equal(counts.get("spin"), 500, "calls of the command")
    if not counts.get("waiter"):
        raise AssertionError(out)

# Tasks that come and go

def a_forked_child_has_clean_text_and_works(t):
    dtrace = t.start("-qn", "pid$target:a.out:work:entry { @[pid == $target] = count(); }",
                     "-c", t.victim("forkwait"), stdin=subprocess.PIPE)
    child = int(ready(dtrace).split()[1])
    equal(tracer_of(child), 0, "the child's TracerPid")
    equal(text_differs(child), [], "the child's changed text")
    out, errors = dtrace.communicate("x", timeout=60)
    equal(dtrace.returncode, 0, errors)
    contains(out, "child sum 499545\n")
    contains(out, "parent sum 90 child 42\n")
    equal(table(out).get("1"), 20, "calls of the parent")
    equal(table(out).get("0"), None, "calls of the child")

def many_forked_children_work(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry,pid$target:a.out:work:return "
                      "{ @[probename, pid == $target] = count(); }",
                      "-c", t.victim("forker") + " 100"))
    contains(done.stdout, "children 100 good 100\n")
    equal(table(done.stdout), {"entry 1": 100, "return 1": 100}, "calls")

def vforked_and_spawned_children_run(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                      "pid$target:libc.so.6:*exec*:entry,pid$target:libc.so.6:*spawn*:entry,"
                      "pid$target:libc.so.6:*fork*:entry { @n[probefunc] = count(); } "
                      'END { printa("work %@d\\n", @); }',
                      "-c", t.victim("spawner") + " 10"))
    contains(done.stdout, "calls 30 spawned 10 vforked 10 opened 10\n")
    contains(done.stdout, "work 30\n")

def a_vforked_child_in_probed_functions_does_no_harm(t):
    plain = subprocess.run([t.victim("vforker"), "20"], capture_output=True, text=True)
    done = t.run("-qn", "pid$target:a.out::entry,pid$target:a.out::return { @ = count(); }",
                 "-o", str(t.scratch / "vforker.out"), "-c", t.victim("vforker") + " 20")
    good(done)
    equal(done.stdout, plain.stdout, "output")

def after_exec_the_probes_are_gone_and_the_program_runs(t):
    dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                     'BEGIN { printf("target %d\\n", $target); } END { printa("%@d calls\\n", @); }',
                     "-c", t.victim("execwait"), stdin=subprocess.PIPE)
    pid = int(ready(dtrace).split()[1])
    wait_until(lambda: pathlib.Path(f"/proc/{pid}/comm").read_text() == "cat\n", what="exec")
    wait_until(lambda: text_differs(pid) == [], what="clean text")
    out, errors = dtrace.communicate("to the new program\n", timeout=60)
    equal(dtrace.returncode, 0, errors)
    contains(out, "to the new program\n")
    contains(out, "10 calls\n")

def exec_from_a_thread_ends_the_others(t):
    # The last program ends right after its exec: its end is told although it came
    # before its mappings could be read.
    for _ in range(100 if t.long else 10):
        done = t.run("-n", "pid$target:a.out:work:entry { @ = count(); }",
                     "-c", t.victim("execer") + " 3", timeout=30)
        equal(done.returncode, 0, done.stderr)
        contains(done.stdout, "done\n")
        contains(done.stderr, "exited with status 7")

def exec_while_the_leader_runs_into_probes_loses_neither(t):
    # What the leader had stopped for and the exec's own stop have the same thread id.
    for _ in range(500 if t.long else 40):
        done = t.run("-n", "pid$target:a.out:work:entry,pid$target:a.out:work:return "
                     "{ @ = count(); }", "-c", t.victim("execleader") + " 1", timeout=30)
        equal(done.returncode, 0, done.stderr)
        contains(done.stdout, "done\n")
        contains(done.stderr, "exited with status 7")

def a_plugin_is_probed_when_it_is_loaded(t):
    done = good(t.run("-qZn", "pid$target:plugin:plugin_work:entry { @ = count(); } "
                      "pid$target:plugin:plugin_work:return { @r = count(); } "
                      'END { printa("entries %@d\\n", @); printa("returns %@d\\n", @r); }',
                      "-c", f"{t.victim('dlopener')} {t.victim('plugin.so')} 5 100"))
    contains(done.stdout, "sum ")
    # Each loading runs the constructor, which calls it once.
    contains(done.stdout, "entries 505\n")
    contains(done.stdout, "returns 505\n")

def a_plugin_of_a_running_program_is_probed_when_it_is_loaded(t):
    target = victim(t, "dlopener", t.victim("plugin.so"), "3", "50",
                    env=dict(os.environ, WAIT="1"))
    ready(target)
    traced = Traced(t, "pid$target:plugin.so:plugin_work:entry { @ = count(); } "
                    'END { printa("entries %@d\\n", @); }', target.pid, flags=["-Z"])
    out, _ = target.communicate("x", timeout=30)
    contains(out, "sum ")
    contains(traced.finish(), "entries 153\n")

# Signals, and frames that are left otherwise than by ret

def alarms_at_a_kilohertz_are_all_handled_while_probed(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                      "pid$target:a.out:work:return { @r = count(); } "
                      "pid$target:a.out:handled:entry { @h = count(); } "
                      'END { printa("work %@d ", @); printa("%@d ", @r); printa("handled %@d\\n", @h); }',
                      "-c", t.victim("alarms") + " 20000"))
    calls, _, handled, odd = numbers(re.search(r"calls .*", done.stdout).group())
    equal(calls, 20000, "calls")
    equal(odd, 0, "odd signals")
    contains(done.stdout, f"work 20000 20000 handled {handled}\n")

def alarms_at_a_kilohertz_do_no_harm_where_every_instruction_is_probed(t):
    done = good(t.run("-qn", "pid$target:a.out:work:,pid$target:a.out:handled:,"
                      "pid$target:a.out:on_alarm: { @[probefunc, probename] = count(); }",
                      "-c", t.victim("alarms") + " 3000"))
    calls, _, handled, odd = numbers(re.search(r"calls .*", done.stdout).group())
    counts = table(done.stdout)
    equal((calls, odd), (3000, 0), "calls, odd signals")
    equal(counts["work entry"], 3000, "entries")
    equal(counts["work 0"], 3000, "first instruction")
    equal(counts["handled return"], handled, "returns of the handler's function")
    equal(counts["on_alarm return"], handled, "returns of the handler")

def exceptions_pass_through_probed_frames(t):
    done = good(t.run("-qn", "pid$target:a.out::return,pid$target:a.out::entry "
                      "{ @[probefunc, probename] = count(); }",
                      "-c", t.victim("thrower") + " 3000"))
    contains(done.stdout, "calls 3000 caught 1000 sum 3002000\n")
    counts = table(done.stdout)
    for name, called in (("_Z4workl", 3000), ("_Z6middlel", 3000)):
        equal(counts[f"{name} entry"], called, f"entries of {name}")
        equal(counts[f"{name} return"], 2000, f"returns of {name}")

def exceptions_pass_where_libstdcxx_is_probed_too(t):
    done = good(t.run("-qn", "pid$target:a.out::entry,pid$target:a.out::return,"
                      "pid$target:libstdc++:__cxa_throw:entry,"
                      "pid$target:libgcc_s:_Unwind_*:entry,pid$target:libgcc_s:_Unwind_*:return "
                      "{ @[probefunc, probename] = count(); }",
                      "-c", t.victim("thrower") + " 300"))
    contains(done.stdout, "calls 300 caught 100 sum 30200\n")
    equal(table(done.stdout)["__cxa_throw entry"], 100, "throws")
    equal(table(done.stdout)["_Unwind_RaiseException entry"], 100, "raised")

def longjmp_leaves_probed_frames(t):
    done = good(t.run("-qn", "pid$target:a.out:work:,pid$target:a.out:middle:,"
                      "pid$target:a.out:interrupted: { @[probefunc, probename] = count(); }",
                      "-c", t.victim("jumper") + " 500"))
    contains(done.stdout, "calls 500 landed 250 handler 500 ")
    counts = table(done.stdout)
    equal(counts["work entry"], 500, "entries")
    equal(counts["middle return"], 250, "returns")
    equal(counts["interrupted entry"], 500, "entries of the interrupted function")
    equal("interrupted return" in counts, False, "returns of the interrupted function")

def a_target_that_uses_sigtrap_itself_gets_each(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                      "pid$target:a.out:on_trap:entry { @t = count(); } "
                      'END { printa("work %@d ", @); printa("traps %@d\\n", @t); }',
                      "-c", t.victim("sigtrap") + " 200"))
    calls = numbers(re.search(r"kernel .*", done.stdout).group())
    equal(calls, [200, 200, 800], "traps of the kernel, of kill(), calls")
    contains(done.stdout, "work 800 traps 400\n")

def signal_masks_and_handlers_stay_the_targets(t):
    for how in ("blocked", "ignored", "handled"):
        done = good(t.run("-qn", "pid$target:a.out:work:entry,pid$target:a.out:work:return "
                          "{ @[probename] = count(); }",
                          "-c", t.victim("blocked") + " 200 " + how))
        contains(done.stdout, "calls 200 mask kept action kept\n")
        equal(table(done.stdout), {"entry": 200, "return": 200}, f"calls, {how}")

def stop_and_continue_signals_work_while_probed(t):
    target = victim(t, "waiter", "4")
    ready(target)
    traced = Traced(t, "pid$target:a.out:work:entry { @ = count(); }", target.pid)
    def state():
        return pathlib.Path(f"/proc/{target.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    for _ in range(3):
        target.send_signal(signal.SIGSTOP)
        wait_until(lambda: state() in "Tt", what="stopped")
        target.send_signal(signal.SIGCONT)
        wait_until(lambda: state() in "SR", what="running")
    traced.finish(signal.SIGINT)
    released(target.pid)
    target.communicate(timeout=20)
    equal(target.returncode, 0, "exit status")

def a_killed_target_is_reported_with_its_signal(t):
    target = victim(t, "waiter", "4")
    ready(target)
    dtrace = t.start("-n", "pid$target:a.out:work:entry { @ = count(); }", "-p", str(target.pid))
    wait_until(lambda: tracer_of(target.pid) != 0, what="tracing")
    time.sleep(0.5)
    target.kill()
    target.wait()
    _, errors = dtrace.communicate(timeout=20)
    contains(errors, f"pid {target.pid} terminated by SIGKILL")
    equal(dtrace.returncode, 0, errors)

def a_target_that_its_parent_has_not_reaped_has_exited(t):
    target = victim(t, "waiter", "2")
    ready(target)
    dtrace = t.start("-n", "pid$target:a.out:work:entry { @ = count(); }", "-p", str(target.pid))
    wait_until(lambda: "/waiter+" in str(text_differs(target.pid)), what="tracing")
    target.stdin.close()  # ends it; nobody waits for it until dtrace has ended
    try:
        _, errors = dtrace.communicate(timeout=20)
    finally:
        dtrace.kill()
        target.wait()
    equal(dtrace.returncode, 0, errors)
    contains(errors, f"pid {target.pid} has exited")

def dtrace_ends_when_its_agent_is_killed(t):
    target = victim(t, "waiter", "2")
    ready(target)
    dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                     'END { printa("%@d calls\\n", @); }', "-p", str(target.pid))
    wait_until(lambda: "/waiter+" in str(text_differs(target.pid)), what="tracing")
    time.sleep(0.3)
    os.kill(tracer_of(target.pid), signal.SIGKILL)
    try:
        out, errors = dtrace.communicate(timeout=20)
    finally:
        dtrace.kill()
        # Its breakpoints stay without their keeper, so it may not have lived on.
        target.kill()
        target.communicate()
    equal(dtrace.returncode, 1, errors)
    contains(errors, "the process that holds the targets died")
    if not re.search(r"^\d+ calls$", out, re.M):
        raise AssertionError(out)

# Images

def static_programs_are_probed_by_name(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry,pid$target:a.out:work:return "
                      "{ @[probename] = count(); }", "-c", t.victim("static_spin") + " 300 4"))
    equal(table(done.stdout), {"entry": 1200, "return": 1200}, "calls")

def static_cxx_programs_are_probed_by_name(t):
    done = good(t.run("-qn", "pid$target:a.out:shapes??Circle??area*:entry { @ = count(); }",
                      "-c", t.victim("static_shapes")))
    equal(numbers(done.stdout)[-1], 12, "calls")

def stripped_programs_are_probed_by_their_unwind_tables(t):
    for name in ("stripped_spin", "static_stripped_spin"):
        done = good(t.run("-qn", "pid$target:a.out::entry { @ = count(); @n[probefunc] = count(); } "
                          'END { printa("all %@d\\n", @); }', "-c", t.victim(name) + " 100 2"))
        contains(done.stdout, "calls 200 ")
        # work() and outer(), 200 times each, whatever they are called now.
        if list(table(done.stdout).values()).count(200) < 2:
            raise AssertionError(done.stdout)

def a_stripped_program_says_that_it_has_no_such_name(t):
    done = t.run("-qn", "pid$target:a.out:work:entry { @ = count(); }",
                 "-c", t.victim("stripped_spin") + " 100 2")
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "no function 'work' in stripped_spin")
    contains(done.stderr, "stripped_spin is stripped: ")
    # What it says works, works.
    listed = t.run("-ln", "pid$target:a.out:fde.*:entry", "-c", t.victim("stripped_spin") + " 1 1")
    names = re.findall(r" (fde\.[0-9a-f]+) entry$", listed.stdout, re.M)
    program = ",".join(f"pid$target:a.out:{name}:entry" for name in names)
    done = good(t.run("-qn", program + " { @[probefunc] = count(); }",
                      "-c", t.victim("stripped_spin") + " 100 2"))
    # work() and outer(), 200 times each.
    equal(sorted(table(done.stdout).values())[-2:], [200, 200], "calls")

def libraries_of_a_stripped_program_are_probed(t):
    done = good(t.run("-qn", "pid$target:libc.so.6:pthread_create*:entry { @ = count(); }",
                      "-c", t.victim("stripped_spin") + " 10 7"))
    equal(numbers(done.stdout)[-1], 7, "threads")

def tiny_elf32():
    """A 32-bit program that waits: mov eax, 29; int 0x80 (pause); jmp back."""
    code = bytes.fromhex("b81d000000" "cd80" "ebf7")
    base, header = 0x08048000, 52 + 32
    size = header + len(code)
    return (b"\x7fELF\x01\x01\x01" + bytes(9) +
            struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + header, 52, 0, 0, 52, 32, 1, 0, 0, 0) +
            struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 0x1000) + code)

def a_32_bit_target_is_refused_by_name(t):
    program = t.scratch / "tiny32"
    program.write_bytes(tiny_elf32())
    program.chmod(0o755)
    try:
        target = subprocess.Popen([str(program)])
    except OSError as error:
        raise Skip(f"this kernel runs no 32-bit programs: {error.strerror}")
    try:
        time.sleep(0.2)
        if target.poll() is not None:
            raise Skip("this kernel runs no 32-bit programs")
        done = t.run("-n", "pid$target:a.out::entry", "-p", str(target.pid))
        equal(done.returncode, 1, done.stderr)
        contains(done.stderr, f"failed to grab pid {target.pid}: ")
        contains(done.stderr, "tiny32 is a 32-bit program")
        equal(tracer_of(target.pid), 0, "TracerPid")
        equal(is_alive(target.pid), True, "alive")
    finally:
        target.kill()
        target.wait()
    done = t.run("-n", "pid$target:a.out::entry", "-c", str(program), timeout=20)
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "32-bit")

# What a probe knows

def ten_arguments_are_right_those_on_the_stack_too(t):
    done = good(t.run("-qn", 'pid$target:a.out:ten:entry { printf("%d %d %d %d %d %d %d %d %d %d\\n",'
                      "arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9); }",
                      "-c", t.victim("spin") + " 1 1"))
    contains(done.stdout, "\n1 2 3 4 5 6 7 8 9 10\n")

def strings_and_memory_are_copied_in(t):
    done = good(t.run("-qn", 'pid$target:a.out:tell:entry { this->p = (int *)copyin(arg1, 8); '
                      'printf("%s|%s|%d %d|%x|%s|%d %d|%s\\n", copyinstr(arg0), copyinstr(arg0, 5), '
                      "this->p[0], this->p[1], arg6, copyinstr(arg7), (int)arg8, arg9, "
                      "copyinstr(*(uintptr_t *)copyin(arg1 + 8, 8))); }",
                      "-c", t.victim("facts")))
    contains(done.stdout, "hello from a string|hello|-3 77|1122334455667788|eighth|-9 -10|here\n")

def return_probes_tell_offset_and_value(t):
    done = good(t.run("-qn", 'pid$target:a.out:tell:return { printf("value %d offset %x\\n", arg1, arg0); '
                      "} pid$target:a.out:tell: { @[probename] = count(); }",
                      "-c", t.victim("facts")))
    offset = re.search(r"value -12345 offset ([0-9a-f]+)\n", done.stdout).group(1)
    # The instruction at that offset ran once, and it is one that has a probe.
    contains(done.stdout, f"  {offset} ")

def offset_probes_fire_at_their_instruction(t):
    done = good(t.run("-qn", 'pid$target:a.out:work:0 { @["zero"] = count(); } '
                      'pid$target:a.out:work:entry { self->at = uregs[R_PC]; @["entry"] = count(); } '
                      "pid$target:a.out:work:* /self->at && uregs[R_PC] != self->at + "
                      'strtoll(probename, 16) && probename != "entry" && probename != "return"/ '
                      '{ @["elsewhere"] = count(); }',
                      "-c", t.victim("spin") + " 100 1"))
    equal(table(done.stdout), {"zero": 100, "entry": 100}, "firings")

def an_offset_inside_an_instruction_is_refused(t):
    # endbr64 or push, movs: no function's second byte of a four-byte sub starts one.
    done = t.run("-qn", "pid$target:a.out:main:ffffff { }", "-c", t.victim("spin") + " 1 1")
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "main")
    done = t.run("-xerrtags", "-qn", "pid$target:a.out:main:ffffff { }", "-c", t.victim("spin") + " 1 1")
    contains(done.stderr, "[D_PROC_OFF]")

def libraries_match_by_prefix_and_the_executable_as_a_out(t):
    for module in ("libc.so.6", "libc.so", "libc", "libc*"):
        done = good(t.run("-qn", f"pid$target:{module}:pthread_create*:entry "
                          "{ @[probemod] = count(); }", "-c", t.victim("spin") + " 10 3"))
        equal(table(done.stdout).get("libc.so.6"), 3, f"pthread_create in {module}")
    for module in ("a.out", "spin"):
        done = good(t.run("-qn", f"pid$target:{module}:work:entry {{ @[probemod] = count(); }}",
                          "-c", t.victim("spin") + " 10 3"))
        equal(table(done.stdout), {"spin": 30}, f"work in {module}")

def cxx_names_match_mangled_and_demangled(t):
    for pattern, counts in (
            ("_ZNK6shapes6Circle4areaEi", {"7"}), ("*area*", {"7", "5"}),
            ("shapes??Circle??area*", {"7", "5"}), ("*operator+*", {"3"}),
            ("*twice*", {"2", "1"})):
        done = good(t.run("-qn", f"pid$target:a.out:{pattern}:entry {{ @[probefunc] = count(); }}",
                          "-c", t.victim("shapes")))
        equal({str(n) for n in table(done.stdout).values()},
              counts, f"calls of {pattern}")

def stacks_of_cxx_programs_are_demangled(t):
    done = good(t.run("-qn", "pid$target:a.out:_ZNK6shapes6Circle4areaEi:entry { @[ustack()] = count(); }",
                      "-c", t.victim("shapes")))
    contains(done.stdout, "              shapes`shapes::Circle::area(int) const\n")
    contains(done.stdout, "              shapes`main+0x")

def the_stack_is_whole_at_entry_and_at_return(t):
    for name, first in (("entry", r"innermost"), ("return", r"innermost\+0x[0-9a-f]+")):
        done = good(t.run("-qn", f"pid$target:a.out:innermost:{name} {{ ustack(); }}",
                          "-c", t.victim("facts")))
        if not re.search(rf"^ {{14}}facts`{first}\n {{14}}facts`inner\+0x[0-9a-f]+\n"
                         r" {14}facts`outer\+0x[0-9a-f]+\n {14}facts`main\+0x[0-9a-f]+\n"
                         r" {14}libc\.so\.6`__libc_start", done.stdout, re.M):
            raise AssertionError(done.stdout)

def a_stack_is_as_deep_as_asked(t):
    done = good(t.run("-qn", "pid$target:a.out:innermost:entry { ustack(2); "
                      'printf("depth %d\\n", ustackdepth); }', "-c", t.victim("facts")))
    equal(len(re.findall(r"^ {14}\S+`", done.stdout, re.M)), 2, "frames")
    depth = int(re.search(r"depth (\d+)", done.stdout).group(1))
    full = good(t.run("-qn", "pid$target:a.out:innermost:entry { ustack(); }",
                      "-c", t.victim("facts")))
    equal(depth, len(re.findall(r"^ {14}\S+", full.stdout, re.M)), "ustackdepth")

def addresses_become_symbols(t):
    done = good(t.run("-qn", "pid$target:a.out:innermost:entry { "
                      'printf("|"); usym(uregs[R_PC]); printf("|"); ufunc(ucaller); printf("|"); '
                      'umod(ucaller); printf("|"); uaddr(ucaller); '
                      'printf("|%A|%x %x|\\n", uregs[R_PC], uregs[R_PC], ucaller); }',
                      "-c", t.victim("facts")))
    fields = [field.strip() for field in
              re.search(r"^\|.*\|$", done.stdout, re.M).group().split("|")[1:-1]]
    innermost = int(re.search(r"innermost 0x([0-9a-f]+)", done.stdout).group(1), 16)
    equal(fields[0], "facts`innermost", "usym()")
    equal(fields[1], "facts`inner", "ufunc()")
    equal(fields[2], "facts", "umod()")
    if not re.fullmatch(r"facts`inner\+0x[0-9a-f]+", fields[3]):
        raise AssertionError(f"uaddr(): {fields[3]!r}")
    equal(fields[4], "facts`innermost", "%A")
    equal(int(fields[5].split()[0], 16), innermost, "uregs[R_PC]")

def registers_hold_the_arguments(t):
    done = good(t.run("-qn", "pid$target:a.out:ten:entry { "
                      'printf("%d %d %d %d %d %d %d\\n", uregs[R_RDI], uregs[R_RSI], uregs[R_RDX], '
                      "uregs[R_RCX], uregs[R_R8], uregs[R_R9], "
                      "*(uint64_t *)copyin(uregs[R_SP] + 8, 8)); } "
                      "pid$target:a.out:ten:return { printf(\"%d %d\\n\", uregs[R_RAX], arg1); }",
                      "-c", t.victim("spin") + " 1 1"))
    contains(done.stdout, "\n1 2 3 4 5 6 7\n385 385\n")

def ids_and_names_are_the_targets_own(t):
    done = good(t.run("-qn", "pid$target:a.out:tell:entry { "
                      'printf("pid %d ppid %d tid %d uid %d gid %d\\n", pid, ppid, tid, uid, gid); '
                      'printf("%s %s %s %s %s\\n", execname, probeprov, probemod, probefunc, probename); '
                      'printf("%d %d\\n", pid == $target, cpu >= 0); }',
                      "-c", t.victim("facts")))
    own = done.stdout.splitlines()[0]
    equal(done.stdout.count(own + "\n"), 2, "lines that tell ids")
    pid = own.split()[1]
    contains(done.stdout, f"\nfacts pid{pid} facts tell entry\n1 1\n")

def errno_is_the_targets(t):
    done = good(t.run("-qn", 'pid$target:a.out:after_failure:entry { printf("errno %d %d\\n", errno, arg0); }',
                      "-c", t.victim("facts")))
    contains(done.stdout, "errno 9 9\n")

def curpsinfo_tells_of_the_process(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { "
                      'printf("%d %d %d %d %d|%s|%s\\n", curpsinfo->pr_pid == pid, '
                      "curpsinfo->pr_ppid == ppid, curpsinfo->pr_uid == uid, "
                      "curpsinfo->pr_gid == gid, curlwpsinfo->pr_lwpid == tid, "
                      "curpsinfo->pr_fname, curpsinfo->pr_psargs); }",
                      "-c", t.victim("spin") + " 1 1"))
    contains(done.stdout, f"1 1 1 1 1|spin|{t.victim('spin')} 1 1\n")

def times_go_forward(t):
    before = time.time_ns()
    lines = recorded(t, "-qn", "pid$target:a.out:work:entry { "
                     'printf("%d %d %d\\n", timestamp, vtimestamp, walltimestamp); }',
                     command=t.victim("spin") + " 300 1")
    rows = [list(map(int, line.split())) for line in lines if line]
    equal(len(rows), 300, "records")
    for column in range(3):
        times = [row[column] for row in rows]
        equal(times, sorted(times), f"column {column}")
    if not before <= rows[0][2] <= time.time_ns():
        raise AssertionError(f"walltimestamp {rows[0][2]}, now {time.time_ns()}")
    if rows[-1][1] - rows[0][1] > rows[-1][0] - rows[0][0]:
        raise AssertionError("vtimestamp advanced faster than timestamp")

# Beginning of a command; ticks beside it

def evaltime_says_how_far_a_command_has_run(t):
    # The library's constructor and main() read what the program has done by then.
    for when in ("exec", "preinit", "postinit", "main"):
        done = good(t.run("-x", f"evaltime={when}", "-qn",
                          "pid$target:a.out:construct:entry { @[probefunc] = count(); } "
                          "pid$target:a.out:main:entry { @[probefunc] = count(); }",
                          "-c", t.victim("stages"), *(["-Z"] if when == "exec" else [])))
        counts = table(done.stdout)
        contains(done.stdout, "main saw stage 1\n")
        equal(counts.get("main"), 1, f"{when}: calls of main")
        equal(counts.get("construct", 0), 0 if when in ("postinit", "main") else 1,
              f"{when}: calls of the constructor")

def evaltime_exec_sees_libraries_with_Z(t):
    done = good(t.run("-x", "evaltime=exec", "-qZn",
                      "pid$target:libc.so.6:pthread_create*:entry { @ = count(); }",
                      "-c", t.victim("spin") + " 10 4"))
    equal(numbers(done.stdout)[-1], 4, "threads")

def an_unknown_evaltime_is_refused(t):
    done = t.run("-x", "evaltime=never", "-n", "BEGIN { exit(0); }")
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "failed to set -x evaltime: ")

def ticks_beside_a_target_end_the_run(t):
    target = victim(t, "waiter", "2")
    ready(target)
    done = t.run("-qn", "pid$target:a.out:work:entry { @w = count(); } "
                 "profile-97 { @p = count(); } tick-100ms { @t = count(); } "
                 'tick-1s { printa("work %@d\\n", @w); printa("profile %@d\\n", @p); '
                 'printa("tick %@d\\n", @t); exit(3); }', "-p", str(target.pid))
    equal(done.returncode, 3, done.stderr)
    found = dict(re.findall(r"^(work|profile|tick) (\d+)$", done.stdout, re.M))
    if not (int(found["work"]) > 500 and int(found["profile"]) > 0 and
            5 <= int(found["tick"]) <= 10):
        raise AssertionError(done.stdout)
    released(target.pid)
    target.communicate(timeout=20)
    equal(target.returncode, 0, "exit status")

def exit_lets_a_command_run_on(t):
    """exit() while the -c command runs: the text is restored and it ends by itself."""
    done = t.run("-qn", "pid$target:a.out:work:entry { exit(4); }",
                 "-c", t.victim("spin") + " 100000 2")
    equal(done.returncode, 4, done.stderr)
    contains(done.stdout, "calls 200000 ")

# Loss, faults, order

def what_a_small_buffer_loses_is_counted(t):
    path = t.scratch / "small-buffer"
    done = t.run("-b", "4k", "-x", "switchrate=1hz", "-o", str(path), "-qn",
                 'pid$target:a.out:work:entry { printf("row %d\\n", arg0); }',
                 "-c", t.victim("spin") + " 20000 1")
    equal(done.returncode, 0, done.stderr)
    rows = path.read_text().count("row ")
    lost = sum(map(int, re.findall(r"^dtrace: (\d+) drops? on CPU \d+$", done.stderr, re.M)))
    if lost == 0:
        raise AssertionError(f"{rows} rows in so small a buffer:\n{done.stderr}")
    equal(rows + lost, 20000, "records and drops")

def a_fault_in_a_probe_harms_nobody(t):
    done = t.run("-qn", "pid$target:a.out:work:entry { trace(copyinstr(arg0)); } "
                 "pid$target:a.out:work:entry { @ = count(); } "
                 "ERROR { @faults[arg4] = count(); }", "-c", t.victim("spin") + " 100 2")
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "calls 200 ")
    errors = re.findall(r"^dtrace: error on enabled probe ID \d+ \(ID \d+: pid\d+:spin:work:entry\): "
                        r"invalid address \(0x[0-9a-f]+\) in action #1", done.stderr, re.M)
    equal(len(errors), 200, "errors told")
    equal(numbers(done.stdout).count(200), 3, "calls, firings, faults")

def records_of_many_threads_come_in_the_order_of_time(t):
    lines = recorded(t, "-qn", 'pid$target:a.out:work:entry,pid$target:a.out:work:return '
                     '{ printf("%d\\n", timestamp); }', command=t.victim("spin") + " 200 20")
    times = [int(line) for line in lines if line]
    equal(len(times), 8000, "records")
    equal(times, sorted(times), "times")

def a_predicate_chooses_among_threads(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry /arg0 % 10 == 3/ { @[tid] = count(); }",
                      "-c", t.victim("spin") + " 100 8"))
    equal(sorted(table(done.stdout).values()), [10] * 8, "calls of each thread")

# As an ordinary user

def an_ordinary_user_traces_own_processes(t):
    if os.geteuid() != 0:
        raise Skip("every other test of this run already is by an ordinary user")
    user = as_nobody()
    place = t.scratch / "nobody"
    place.mkdir(exist_ok=True)
    for path in (t.dtrace, t.victim("spin"), t.victim("waiter")):
        subprocess.run(["install", "-m", "755", path, str(place)], check=True)
    t.scratch.chmod(0o755)
    place.chmod(0o777)
    def run(*flags):
        return subprocess.run([*user, str(place / "dtrace"), *flags], capture_output=True,
                              text=True, timeout=60, cwd=place)
    good(run("-qn", "BEGIN { exit(0); }"))
    done = good(run("-qn", "pid$target:a.out:work:entry,pid$target:a.out:work:return "
                    "{ @[probename, uid] = count(); }", "-c", f"{place}/spin 500 10"))
    equal(table(done.stdout), {"entry 65534": 5000, "return 65534": 5000}, "calls")
    done = good(run("-qn", "pid$target:libc.so.6:malloc:entry { @[ustack(3)] = count(); }",
                    "-c", "/bin/ls /"))
    contains(done.stdout, "libc.so.6`malloc\n")
    target = subprocess.Popen([*user, str(place / "waiter"), "4"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        ready(target)
        done = good(run("-qn", "pid$target:a.out:work:entry { @ = count(); } tick-1s { exit(0); }",
                        "-p", str(target.pid)))
        if numbers(done.stdout)[-1] < 100:
            raise AssertionError(done.stdout)
        released(target.pid)
    finally:
        target.communicate(timeout=20)
    equal(target.returncode, 0, "exit status")

# Every function whose only parameter is the context.
TESTS = [value for value in list(globals().values())
         if getattr(value, "__module__", "") == "__main__" and
         str(getattr(value, "__code__", None) and inspect.signature(value)) == "(t)"]

if __name__ == "__main__":
    main(TESTS)
