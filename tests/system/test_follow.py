#!/usr/bin/env python3
"""Tests -x follow: forked children have the probes of their parents, and a command has probes after each exec."""
import contextlib, os, pathlib, re, shutil, signal, subprocess, time

from harness import *

CALLS = "pid$target:a.out:work:entry,pid$target:a.out:work:return"
MECHANISMS = ("jump", "int3")

def good(done):
    equal(done.returncode, 0, done.stderr)
    return done

def counts(output):
    return {" ".join(line.split()[:-1]): int(line.split()[-1])
            for line in output.splitlines() if re.search(r"\s\d+$", line)}

def followed(t, mechanism, command, program=None):
    return good(t.run("-qn", program or CALLS + " { @[probename, pid == $target] = count(); }",
                      "-x", "follow=fork", "-x", f"mechanism={mechanism}", "-c", command,
                      timeout=300))

def calls_of_children_are_counted_exactly(t):
    for mechanism in MECHANISMS:
        done = followed(t, mechanism, t.victim("forker") + " 50")
        contains(done.stdout, "children 50 good 50\n")
        equal(counts(done.stdout.split("\n", 1)[1]),
              {"entry 1": 50, "return 1": 50, "entry 0": 5000, "return 0": 5000}, mechanism)

def without_the_option_children_are_not_traced(t):
    done = good(t.run("-qn", CALLS + " { @[probename, pid == $target] = count(); }",
                      "-c", t.victim("forker") + " 50"))
    equal(counts(done.stdout.split("\n", 1)[1]), {"entry 1": 50, "return 1": 50}, "calls")
    done = good(t.run("-qn", CALLS + " { @[probename, pid == $target] = count(); }",
                      "-x", "follow=none", "-c", t.victim("forker") + " 50"))
    equal(counts(done.stdout.split("\n", 1)[1]), {"entry 1": 50, "return 1": 50}, "calls")

def a_thousand_forks_are_followed(t):
    for mechanism in MECHANISMS if t.long else MECHANISMS[:1]:
        done = followed(t, mechanism, t.victim("forker") + " 1000",
                        CALLS + " { @[probename] = count(); } "
                        "pid$target:a.out:work:entry /!seen[pid]/ { seen[pid] = 1; @n = count(); }")
        contains(done.stdout, "children 1000 good 1000\n")
        contains(done.stdout, "101000")
        equal(counts(done.stdout.split("\n", 1)[1]),
              {"entry": 101000, "return": 101000, "": 1001}, mechanism)

def forks_of_many_threads_are_followed(t):
    for mechanism in MECHANISMS:
        done = followed(t, mechanism, t.victim("family") + " threads 8 10")
        equal(counts(done.stdout), {"entry 1": 10, "return 1": 10, "entry 0": 800,
                                    "return 0": 800}, mechanism)

def grandchildren_are_followed(t):
    for mechanism in MECHANISMS:
        done = followed(t, mechanism, t.victim("family") + " tree 5")
        equal(counts(done.stdout), {"entry 1": 10, "return 1": 10, "entry 0": 620,
                                    "return 0": 620}, mechanism)

def a_child_that_executes_a_program_is_released(t):
    for mechanism in MECHANISMS:
        done = followed(t, mechanism, t.victim("family") + " exec 30")
        equal(counts(done.stdout), {"entry 1": 10, "return 1": 10, "entry 0": 300,
                                    "return 0": 300}, mechanism)

def sizes_of(pid):
    """Returns the resident bytes and the number of descriptors of a process and its children, indexed by process
    name."""
    found = {}
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for each in (pid, *map(int, children)):
        status = pathlib.Path(f"/proc/{each}/status").read_text()
        resident = re.search(r"VmRSS:\s+(\d+)", status)
        if resident:
            found[status.split()[1]] = (int(resident[1]) * 1024, len(os.listdir(f"/proc/{each}/fd")))
    return found

def watched(t, n, samples):
    """Traces libc in a shell that runs true(1) n times. While the shell runs, appends sizes_of(dtrace) to `samples`."""
    shell = f"i=0; while [ $i -lt {n} ]; do {shutil.which('true')}; i=$((i+1)); done"
    errors = open(t.scratch / "errors", "w+")
    with held(subprocess.Popen([t.dtrace, "-qZ", "-x", "follow=exec", "-n",
                                'pid$target:libc.so.6::entry { @n[execname] = count(); @last = max(id); }'
                                'END { printa("of %s %@d\\n", @n); printa("ids to %@d\\n", @last); }',
                                "-c", f"/bin/sh -c '{shell}'"], stdout=subprocess.PIPE, stderr=errors, text=True)) as dtrace:
        end = time.monotonic() + 120 + n / 2
        while dtrace.poll() is None:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                samples.append(sizes_of(dtrace.pid))
            if time.monotonic() > end:
                raise AssertionError(f"{n} execs took more than {120 + n / 2} s")
            time.sleep(0.2)  # the interval between samples
        out = dtrace.stdout.read()
        errors.seek(0)
        equal(dtrace.returncode, 0, errors.read())
    return {name: int(count) for name, count in re.findall(r"^(of \S+|ids to) (\d+)$", out, re.M)}

def a_session_survives_many_execs(t):
    """Counts stay exact, probe ids are reused, and neither memory nor descriptors grow. Each run of true(1) needs
    thousands of probes. A session has space for a million probes, so it must reuse them."""
    few = watched(t, 20, [])
    n, samples = 5000 if t.long else 60, []
    many = watched(t, n, samples)
    equal(few["of true"] % 20, 0, "calls in 20 runs")
    equal(many["of true"], few["of true"] // 20 * n, f"calls in {n} runs")
    if few["ids to"] < 2000:
        raise Skip("this libc has too few functions")
    if many["ids to"] > 8 * few["ids to"]:
        raise AssertionError(f"after {n} execs the largest probe id is {many['ids to']}, after 20 it is {few['ids to']}")
    if t.long:
        settled, last = samples[len(samples) // 3: len(samples) // 2], samples[-len(samples) // 6:]
        for name in ("dtrace", "ptrace-agent"):
            for part, room in ((0, 8 << 20), (1, 8)):
                before, after = (max(each[name][part] for each in some if name in each) for some in (settled, last))
                if after > before + room:
                    raise AssertionError(f"{name} grew from {before} to {after} {('bytes', 'descriptors')[part]}")

def records_have_the_ids_and_the_name_of_the_child(t):
    for mechanism in MECHANISMS:
        done = followed(t, mechanism, t.victim("forker") + " 1",
                        "pid$target:a.out:work:entry /pid != $target/ "
                        '{ printf("%d %d %d\\n", pid == tid, ppid == $target, arg0); }'
                        "pid$target:a.out:work:return /pid != $target/ { @[ustack(2)] = count(); }")
        lines = done.stdout.splitlines()
        equal([line for line in lines if re.match(r"[01] [01] \d+$", line)],
              [f"1 1 {n}" for n in range(100)], mechanism)
        contains(done.stdout, "forker`work+0x")
        contains(done.stdout, "forker`main+0x")

def the_exit_of_a_followed_child_is_reported(t):
    done = good(t.run("-n", "pid$target:a.out:work:entry /pid != $target/ { ok = 1; }",
                      "-x", "follow=fork", "-c", t.victim("forker") + " 3"))
    equal(len(re.findall(r"pid \d+ exited with status 42", done.stderr)), 3, done.stderr)

def breakpoints_of_children_without_the_handler_are_reported(t):
    dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); }", "-x", "follow=fork",
                     "-x", "mechanism=int3", "-c", t.victim("forker") + " 3",
                     preexec_fn=lambda: signal.signal(signal.SIGTRAP, signal.SIG_IGN))
    out, errors = dtrace.communicate(timeout=60)
    contains(out, "children 3 good 3\n")
    # one message for the command and one for each child
    equal(errors.count("breakpoints would kill the process if the ptrace-agent were killed: it ignores SIGTRAP"), 4, errors)

def a_daemon_is_followed_after_its_parents_have_ended(t):
    for mechanism in MECHANISMS:
        dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); }", "-x", "follow=fork",
                         "-x", f"mechanism={mechanism}", "-c", t.victim("family") + " daemon",
                         stdin=subprocess.PIPE)
        daemon = int(dtrace.stdout.readline().split()[1])
        time.sleep(0.3)  # enough time for dtrace to notice that its target has exited
        equal(dtrace.poll(), None, "dtrace still runs")
        out, errors = dtrace.communicate(timeout=60)
        equal(dtrace.returncode, 0, errors)
        equal(out.split(), ["40"], mechanism)
        equal(is_alive(daemon), False, "the daemon")

def a_followed_child_outlives_dtrace_unharmed(t):
    for mechanism in MECHANISMS:
        for end in (signal.SIGINT, signal.SIGKILL):
            dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); }", "-x",
                             "follow=fork", "-x", f"mechanism={mechanism}", "-c",
                             t.victim("family") + " daemon", stdin=subprocess.PIPE)
            daemon = int(dtrace.stdout.readline().split()[1])
            wait_until(lambda: text_differs(daemon) != [], what="probes in the child")
            dtrace.send_signal(end)
            wait_until(lambda: tracer_of(daemon) == 0, what="the release of the target")
            equal(text_differs(daemon), [], "changed text")
            equal(is_alive(daemon), True, "the daemon")
            dtrace.stdin.close()
            wait_until(lambda: not is_alive(daemon), what="the end of the process")
            dtrace.wait(timeout=20)

SPIN_CALLS = "pid$target:spin:work:entry { @ = count(); }"

def wrapper_of(t, command, body="exec {}"):
    """Writes a shell script that ends with an exec, like the wrappers of pyenv and nvm. Returns its path."""
    path = t.scratch / "wrapper"
    path.write_text("#!/bin/sh\n" + body.format(command) + "\n")
    path.chmod(0o755)
    return str(path)

def a_command_is_traced_through_its_wrapper(t):
    command = wrapper_of(t, t.victim("spin") + " 30 2")
    for mechanism in MECHANISMS:
        done = good(t.run("-Zqn", SPIN_CALLS, "-x", f"mechanism={mechanism}", "-c", command))
        equal(done.stdout.split()[-1], "60", mechanism + ": " + done.stderr)
        equal(done.stderr, "", mechanism)
    done = good(t.run("-qn", "pid$target:libc.so.6:exit:entry { @[execname] = count(); }", "-c",
                      wrapper_of(t, wrapper_of(t, "/bin/true"), 'set -- "$(/bin/true)"\nexec /bin/echo')))
    equal((counts(done.stdout), done.stderr), ({"echo": 1}, ""))

def with_follow_none_a_command_is_not_traced_through_its_wrapper(t):
    done = good(t.run("-Zqn", SPIN_CALLS, "-x", "follow=none", "-c", wrapper_of(t, t.victim("spin") + " 30 2")))
    equal((done.stdout, done.stderr), ("calls 60 sum 6195\n\n", ""))

def an_executed_program_where_no_probe_matches_is_named(t):
    program = "pid$target:spin:work:entry { @ = count(); }"
    done = good(t.run("-Zqn", program, "-c", wrapper_of(t, "/bin/echo out")))
    contains(done.stdout, "out\n")
    if not re.fullmatch(r"dtrace: process \d+ executed \S*/echo, where no probe matches\n", done.stderr):
        raise AssertionError(done.stderr)

def a_running_program_where_no_probe_matches_is_named(t):
    dtrace = t.start("-Zqn", SPIN_CALLS, "-c", wrapper_of(t, "/bin/cat"), stdin=subprocess.PIPE)
    told = dtrace.stderr.readline()
    contains(told, "/cat, where no probe matches\n")
    dtrace.stdin.close()
    equal(dtrace.wait(timeout=60), 0, dtrace.stderr.read())

def an_attached_process_that_executes_another_program_is_reported(t):
    target = subprocess.Popen(["/bin/sh", "-c", "echo up; read line; exec /bin/cat"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    # The shell has loaded its libraries once it has written a line.
    equal(target.stdout.readline(), b"up\n")
    dtrace = t.start("-qn", "BEGIN { trace(\"begun\\n\"); } pid$target:libc.so.6:write:entry { @ = count(); }",
                     "-p", str(target.pid))
    equal(dtrace.stdout.readline(), "begun\n")
    # While dtrace is stopped, it cannot look up cat's name in /proc.
    os.kill(dtrace.pid, signal.SIGSTOP)
    output, _ = target.communicate(b"line\nmore\n", timeout=60)
    os.kill(dtrace.pid, signal.SIGCONT)
    equal(output, b"more\n")
    told = dtrace.stderr.readline()
    contains(told, "/cat, which is not traced (use -x follow=exec to trace it)\n")
    equal((target.returncode, dtrace.wait(timeout=60)), (0, 0), dtrace.stderr.read())

main(tests_in(globals()))
