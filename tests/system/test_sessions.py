#!/usr/bin/env python3
"""Tests that several dtrace processes can trace one process at the same time."""
import itertools, os, pathlib, random, re, shutil, signal, subprocess, threading, time

from harness import *
from faults import BOTH, ENDS, LOOKS, Line, Tracer, found, untouched
from traced import children_called, of_another_user

PYTHON = "/usr/bin/python3"
COUNT = 'pid$target:a.out:work:entry { @entries = count(); } END { printa("entries %@d\\n", @entries); }'
# Clauses that the runtime fires in different ways: compiled counts and records, and the engine.
PROGRAMS = (
    COUNT,
    LOOKS + ENDS,
    'pid$target:a.out:work:return { @entries = sum(arg1 != 0 || arg1 == 0); } END { printa("entries %@d\\n", @entries); }',
    'pid$target:a.out:work:entry { @entries = count(); @[ustack(4)] = count(); } END { printa("entries %@d\\n", @entries); }',
    'pid$target:a.out:work:entry { self->x = 1; } pid$target:a.out:work:return /self->x/ { @entries = count(); self->x = 0; } '
    'END { printa("entries %@d\\n", @entries); }',
)

# Executes a command in a sandbox. The filter permits everything.
SANDBOX = ("import ctypes, os, sys; libc = ctypes.CDLL(None); libc.prctl(38, 1, 0, 0, 0); "
           "filter = ctypes.create_string_buffer(b'\\x06\\0\\0\\0\\0\\0\\xff\\x7f'); "
           "class_ = type('P', (ctypes.Structure,), {'_fields_': [('n', ctypes.c_ushort), ('f', ctypes.c_void_p)]}); "
           "program = class_(1, ctypes.addressof(filter)); "
           "assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0; os.execv(sys.argv[1], sys.argv[1:])")

class Rounds(Holder):
    """The victim `rounds`, whose threads call work() when the test requests it."""
    def __init__(self, t, threads=2, n=1000, command=None):
        self.n = n * threads # calls in one round
        self.process = subprocess.Popen([*(command or [t.victim("rounds")]), str(n), str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        self.lines = Line(self.process.stdout)
        equal(self.lines.next(), b"ready\n")

    def call(self):
        os.write(self.process.stdin.fileno(), b"x")
        try:
            equal(self.lines.next(60), b"done\n")
        except AssertionError as error:
            raise AssertionError(f"the victim's status is {self.process.poll()}: {error}")

    def end(self):
        self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, "the victim's status")

def arenas(pid):
    return pathlib.Path(f"/proc/{pid}/maps").read_text().count("/memfd:dtrace-data")

def released(target):
    wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
    untouched(target.pid)
    target.call()
    target.end()

def each_session_counts_exactly_its_own_calls(t):
    """All combinations of mechanisms; the sessions overlap in different ways."""
    for flags in itertools.product(BOTH, repeat=2):
        for first, second in ((0, 1), (1, 0), (3, 2), (4, 1), (0, 0)):
            with Rounds(t, threads=3) as target:
                a = Tracer(t, PROGRAMS[first], target.pid, flags=flags[0])
                target.call()
                b = Tracer(t, PROGRAMS[second], target.pid, flags=flags[1])
                target.call()
                equal(found(a.finish(), "entries"), 2 * target.n, f"calls that the first session saw, {flags}")
                target.call()
                equal(found(b.finish(), "entries"), 2 * target.n, f"calls that the second session saw, {flags}")
                released(target)

def a_session_may_end_before_the_one_that_began_first(t):
    for flags in BOTH:
        with Rounds(t) as target:
            a = Tracer(t, COUNT, target.pid, flags=flags)
            for n in range(3):
                b = Tracer(t, LOOKS + ENDS, target.pid, flags=flags)
                target.call()
                out = b.finish()
                equal((found(out, "entries"), found(out, "returns"), found(out, "odd")), (target.n, target.n, 0), "firings")
                target.call()
            equal(found(a.finish(), "entries"), 6 * target.n, "calls that the first session saw")
            released(target)

def the_memory_of_an_ended_session_is_unmapped(t):
    with Rounds(t) as target:
        a = Tracer(t, COUNT, target.pid)
        b = Tracer(t, LOOKS + ENDS, target.pid)
        equal(arenas(target.pid), 2, "mapped arenas")
        a.finish()
        wait_until(lambda: arenas(target.pid) == 1, what="unmapping the first session's arena")
        target.call()
        equal(found(b.finish(), "entries"), target.n, "calls")
        equal(arenas(target.pid), 0, "mapped arenas")
        released(target)

def a_killed_session_does_not_disturb_the_others(t):
    for flags in BOTH:
        for victim in (0, 1):
            with Rounds(t) as target:
                tracers = [Tracer(t, COUNT, target.pid, flags=flags) for _ in range(3)]
                target.call()
                killed = tracers.pop(victim)
                killed.process.kill()
                killed.process.communicate(timeout=20)
                target.call()
                for tracer in tracers:
                    equal(found(tracer.finish(), "entries"), 2 * target.n, "calls")
                released(target)

def a_stopped_session_does_not_delay_the_others(t):
    """its client does not read events or answer"""
    with Rounds(t) as target:
        stopped, other = (Tracer(t, COUNT, target.pid) for _ in range(2))
        stopped.process.send_signal(signal.SIGSTOP)
        try:
            third = Tracer(t, LOOKS + ENDS, target.pid)
            target.call()
            equal(found(third.finish(), "entries"), target.n, "calls")
            equal(found(other.finish(), "entries"), target.n, "calls")
        finally:
            stopped.process.send_signal(signal.SIGCONT)
        target.call()
        equal(found(stopped.finish(), "entries"), 2 * target.n, "calls")
        released(target)

def all_sessions_report_the_end_of_their_agent(t):
    """A service manager sends SIGTERM to all processes of a service, and later SIGKILL."""
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with Rounds(t) as target:
            tracers = [Tracer(t, COUNT, target.pid) for _ in range(3)]
            target.call()
            os.kill(tracer_of(target.pid), signum)
            for tracer in tracers:
                equal(found(tracer.finish(signum=None, want=1), "entries"), target.n, "calls")
                contains(tracer.errors, "dtrace no longer traces any process: the ptrace-agent has exited")
            wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
            target.call()
            if signum == signal.SIGTERM:
                untouched(target.pid)
            with Tracer(t, COUNT, target.pid) as again:
                target.call()
                equal(found(again.finish(), "entries"), target.n, "calls")
            released(target)

def each_session_reports_the_exit_of_the_target(t):
    with Rounds(t) as target:
        tracers = [Tracer(t, COUNT, target.pid) for _ in range(3)]
        target.call()
        target.end()
        for tracer in tracers:
            equal(found(tracer.finish(signum=None), "entries"), target.n, "calls")

def a_command_may_have_further_sessions(t):
    """The first session started the command with -c. It ends before the other."""
    first = subprocess.Popen([t.dtrace, "-qn", COUNT, "-c", f"{t.victim('rounds')} 1000 2"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with held(first):
        lines = Line(first.stdout)
        equal(lines.next(), b"ready\n")
        pid = int(subprocess.run(["pgrep", "-P", str(children_called(first.pid, "ptrace-agent")[0]), "rounds"],
                                 capture_output=True, text=True, check=True).stdout)
        other = Tracer(t, COUNT, pid)
        first.stdin.write(b"x")
        first.stdin.flush()
        equal(lines.next(60), b"done\n")
        out, errors = first.communicate(timeout=60)
        equal((found(out.decode(), "entries"), errors), (2000, b""))
        equal(found(other.finish(signum=None), "entries"), 2000, "calls")

def exits_seen(t, script, input, *all_flags):
    """Traces a shell with one session for each element of all_flags. Returns how many calls of _exit() each saw."""
    exits = 'pid$target:libc.so.6:_exit:entry { @entries = count(); } END { printa("entries %@d\\n", @entries); }'
    shell = subprocess.Popen(["bash", "-c", script], stdin=subprocess.PIPE)
    with held(shell):
        tracers = [Tracer(t, exits, shell.pid, flags=flags) for flags in all_flags]
        shell.communicate(input, timeout=30)
        return [found(tracer.finish(signum=None), "entries") for tracer in tracers]

def sessions_follow_children_independently(t):
    """Only the second session follows the children of a shell."""
    equal(exits_seen(t, "read x; for i in 1 2 3 4 5; do (exit 3); done; read y", b"\n\n", (), ("-x", "follow=fork")), [1, 6],
          "exits of the shell itself, and of the shell and its children")

def sessions_follow_an_exec_independently(t):
    """Only the second session traces the program that the process executes."""
    equal(exits_seen(t, "read x; exec bash -c 'exit 0'", b"\n", (), ("-x", "follow=exec")), [0, 1],
          "exits that the sessions saw")

def each_session_samples_the_threads(t):
    with Rounds(t, threads=2, n=30_000_000) as target:
        program = 'profile-%d { @entries = count(); } END { printa("entries %%@d\\n", @entries); }'
        a = Tracer(t, program % 97, target.pid)
        b = Tracer(t, program % 199, target.pid)
        target.call()
        equal(found(a.finish(), "entries") > 0, True, "samples of the first session")
        target.call()
        equal(found(b.finish(), "entries") > 0, True, "samples of the second session")
        released(target)

def a_session_with_a_high_rate_takes_no_samples_from_another(t):
    """Each session may use 5 % of the threads' time. The second session exceeds this."""
    program = 'profile-%d { @entries = count(); } END { printa("entries %%@d\\n", @entries); }'
    samples = []
    for n_others in (0, 3):
        with Rounds(t, threads=1, n=1_000_000_000) as target:
            first = Tracer(t, program % 199, target.pid)
            others = [Tracer(t, program % 4999, target.pid) for _ in range(n_others)]
            os.write(target.process.stdin.fileno(), b"x")
            time.sleep(2)
            samples.append(found(first.finish(), "entries"))
            for other in others:
                other.finish()
            end_of(target.process)
    equal(samples[1] > samples[0] // 2, True, f"samples without and with other sessions: {samples}")

def a_process_that_another_tracer_traces_is_refused(t):
    with Rounds(t) as target:
        tracer = subprocess.Popen([PYTHON, "-c", "import ctypes, sys\n"
                                   f"print(ctypes.CDLL(None).ptrace(0x4206, {target.pid}, 0, 0), flush=True)\n" # PTRACE_SEIZE
                                   "sys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with held(tracer):
            equal(Line(tracer.stdout).next(), b"0\n", "PTRACE_SEIZE")
            done = t.run("-qn", "BEGIN { exit(0); }", "-p", str(target.pid))
            equal(done.returncode, 1)
            contains(done.stderr, f"it is being traced by process {tracer.pid} (")
            contains(done.stderr, "detach that process from it first")
        target.end()

def sessions_of_root_may_share_a_process_of_another_user(t):
    """By default, the agent has no rights, and its broker is the tracer. With trust=user, the agent is the tracer."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    for flags in (*BOTH, *((*flags, "-x", "trust=user") for flags in BOTH)):
        with Rounds(t, command=of_another_user(t, "rounds")) as target:
            a = Tracer(t, COUNT, target.pid, flags=flags)
            target.call()
            b = Tracer(t, LOOKS + ENDS, target.pid, flags=flags)
            target.call()
            equal(found(a.finish(), "entries"), 2 * target.n, "calls that the first session saw")
            target.call()
            equal(found(b.finish(), "entries"), 2 * target.n, "calls that the second session saw")
            released(target)

def of_both_users(t):
    """Returns the commands of dtrace for an ordinary user and for root, and the command of the victim for that user."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    command = of_another_user(t, "rounds")
    t.scratch.chmod(0o777) # the sessions write their output there
    return [*as_nobody(), t.dtrace], [t.dtrace], command

CONFINED = ("-x", "trust=confined") # the agent of root then accepts sessions of the targets' user

def counts_are_exact(t, command, first, second, first_flags):
    """Each session counts its own calls, in all combinations of mechanisms. Either session may end first."""
    for flags in itertools.product(BOTH, repeat=2):
        for first_to_end in (0, 1):
            for program in (PROGRAMS[0], PROGRAMS[1]):
                with Rounds(t, command=command) as target:
                    a = Tracer(t, PROGRAMS[3], target.pid, flags=(*first_flags, *flags[0]), command=first)
                    target.call()
                    b = Tracer(t, program, target.pid, flags=flags[1], command=second)
                    target.call()
                    tracers = [(a, 2), (b, 1)]
                    tracer, n = tracers.pop(first_to_end)
                    equal(found(tracer.finish(), "entries"), n * target.n, "calls that the session saw which ended first")
                    target.call()
                    tracer, n = tracers.pop()
                    equal(found(tracer.finish(), "entries"), (n + 1) * target.n, "calls that the other session saw")
                    released(target)

def either_may_be_killed_or_stopped(t, command, first, second, first_flags):
    for victim, how in itertools.product((0, 1), (signal.SIGKILL, signal.SIGSTOP)):
        with Rounds(t, command=command) as target:
            tracers = [Tracer(t, COUNT, target.pid, flags=flags, command=each)
                       for each, flags in ((first, first_flags), (second, ()))]
            target.call()
            tracers[victim].process.send_signal(how)
            try:
                target.call()
                equal(found(tracers[1 - victim].finish(), "entries"), 2 * target.n, "calls")
            finally:
                tracers[victim].process.kill()
                tracers[victim].process.communicate(timeout=20)
            released(target)

def others_come_and_go(t, command, first, second, first_flags):
    with Rounds(t, command=command) as target:
        permanent = Tracer(t, COUNT, target.pid, flags=first_flags, command=first)
        for n in range(5):
            tracers = [Tracer(t, PROGRAMS[k], target.pid, flags=BOTH[n % 2], command=second) for k in (0, 1)]
            target.call()
            for tracer in tracers:
                equal(found(tracer.finish(), "entries"), target.n, "calls")
            target.call()
        equal(found(permanent.finish(), "entries"), 10 * target.n, "calls")
        released(target)

def root_may_join_the_agent_of_a_user(t):
    user, root, command = of_both_users(t)
    counts_are_exact(t, command, user, root, ())

def root_and_the_user_whose_agent_it_joined_may_be_killed_or_stopped(t):
    user, root, command = of_both_users(t)
    either_may_be_killed_or_stopped(t, command, user, root, ())

def root_comes_and_goes_at_the_agent_of_a_user(t):
    user, root, command = of_both_users(t)
    others_come_and_go(t, command, user, root, ())

def a_user_may_join_the_confined_agent_of_root(t):
    user, root, command = of_both_users(t)
    counts_are_exact(t, command, root, user, CONFINED)

def root_and_a_user_at_its_confined_agent_may_be_killed_or_stopped(t):
    user, root, command = of_both_users(t)
    either_may_be_killed_or_stopped(t, command, root, user, CONFINED)

def a_user_comes_and_goes_at_the_confined_agent_of_root(t):
    user, root, command = of_both_users(t)
    others_come_and_go(t, command, root, user, CONFINED)

def a_user_may_join_only_for_processes_that_it_may_trace_itself(t):
    """Root traces a process that is not dumpable, and a user may not read the memory of such a process."""
    user, root, _ = of_both_users(t)
    code = ("import ctypes, sys; assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0; print('ready', flush=True); " # PR_SET_DUMPABLE
            "sys.stdin.readline()")
    python = subprocess.Popen([*as_nobody(), PYTHON, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    exits = 'pid$target:libc.so.6:_exit:entry { @entries = count(); } END { printa("entries %@d\\n", @entries); }'
    with held(python):
        equal(Line(python.stdout).next(), b"ready\n")
        tracer = Tracer(t, exits, python.pid, flags=CONFINED, command=root)
        done = subprocess.run([*user, "-qn", "BEGIN { exit(0); }", "-p", str(python.pid)], capture_output=True, text=True,
                              timeout=60)
        equal(done.returncode, 1, done.stderr)
        contains(done.stderr, "not permitted: it is not dumpable")
        python.communicate(b"\n", timeout=30)
        equal(found(tracer.finish(signum=None), "entries"), 1, "exits")

def is_not_accepted(command, target, first):
    """Checks that the agent of the session `first` refuses a second dtrace, and that `first` still counts exactly."""
    done = subprocess.run([*command, "-qn", "BEGIN { exit(0); }", "-p", str(target.pid)], capture_output=True, text=True,
                          timeout=60)
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "its ptrace-agent does not accept this dtrace")
    target.call()
    equal(found(first.finish(), "entries"), target.n, "calls")
    released(target)

def the_confined_agent_of_root_refuses_other_users_and_sandboxes(t):
    user, root, command = of_both_users(t)
    # In its sandbox, the process has no right to search the folder of the build if only root may search it.
    copy = shutil.copy(t.dtrace, t.scratch)
    sandboxed = [*as_nobody(), PYTHON, "-c", SANDBOX, copy]
    for second in ([*as_nobody(65533), t.dtrace], sandboxed):
        with Rounds(t, command=command) as target:
            is_not_accepted(second, target, Tracer(t, COUNT, target.pid, flags=CONFINED, command=root))

def the_clauses_of_roots_dtrace_use_memory_that_the_agent_of_a_user_does_not_map(t):
    """A program that needs shared memory for these clauses is refused."""
    user, root, command = of_both_users(t)
    with Rounds(t, command=command) as target:
        first = Tracer(t, COUNT, target.pid, command=user)
        ticks = Tracer(t, COUNT + " BEGIN { n = 3; } tick-100 { @ticks = count(); } " "pid$target:a.out:work:entry /n == 3/ "
                       '{ @equal = count(); } END { printa("equal %@d\\n", @equal); printa("ticks %@d\\n", @ticks); }',
                       target.pid, command=root)
        agent = tracer_of(target.pid)
        maps = pathlib.Path(f"/proc/{agent}/maps").read_text()
        equal(maps.count("/memfd:dtrace-private"), 2, "private parts that the agent maps, one of each session")
        own = pathlib.Path(f"/proc/{ticks.process.pid}/maps").read_text()
        inodes = lambda text: {line.split()[4] for line in text.splitlines() if "/memfd:dtrace-private" in line}
        equal(len(inodes(own)), 2, "private parts of root's session")
        equal(len(inodes(own) - inodes(maps)), 1, "private parts that only root's session maps")
        target.call()
        out = ticks.finish()
        equal((found(out, "entries"), found(out, "equal")), (target.n, target.n), "calls")
        equal(found(out, "ticks") > 0, True, "ticks")
        done = t.run("-qn", "BEGIN { n = 0; } pid$target:a.out:work:entry { n++; } tick-100 { printf(\"%d\", n); }",
                     "-p", str(target.pid))
        equal(done.returncode, 1)
        contains(done.stderr, "a dtrace of another user traces one of the targets, and the program shares the variable n")
        done = t.run("-qn", COUNT, "-x", "trust=all", "-p", str(target.pid))
        equal(done.returncode, 1)
        contains(done.stderr, "trace the process without -x trust=all")
        first.finish()
        released(target)

def a_user_may_not_join_the_agent_of_root_or_of_another_user(t):
    user, root, command = of_both_users(t)
    other = [*as_nobody(65533), t.dtrace]
    for first, second, why in (([*root, "-x", "trust=user"], user, "start that dtrace with -x trust=confined, or run this dtrace as root"),
                               (user, other, "run this dtrace as that user or as root")):
        with Rounds(t, command=command) as target:
            tracer = Tracer(t, COUNT, target.pid, command=first)
            done = subprocess.run([*second, "-qn", "BEGIN { exit(0); }", "-p", str(target.pid)],
                                  capture_output=True, text=True, timeout=60)
            equal(done.returncode, 1, done.stderr)
            contains(done.stderr, f"failed to grab pid {target.pid}: process {tracer_of(target.pid)} (ptrace-agent) belongs to "
                                  "a dtrace of another user")
            contains(done.stderr, why)
            target.call()
            equal(found(tracer.finish(), "entries"), target.n, "calls")
            released(target)

def a_sandboxed_process_of_the_same_user_gets_no_session(t):
    """It must not trace processes outside its sandbox through the agent of another dtrace."""
    with Rounds(t) as target:
        is_not_accepted([PYTHON, "-c", SANDBOX, t.dtrace], target, Tracer(t, COUNT, target.pid))

def all_sessions_trace_libraries_that_are_loaded_later(t):
    code = "import sys; sys.stdin.readline(); import ctypes; f = ctypes.CDLL('libz.so.1').zlibVersion; [f() for _ in range(50)]; " \
           "sys.stdin.readline()"
    program = 'pid$target:libz*:zlibVersion:entry { @entries = count(); } END { printa("entries %@d\\n", @entries); }'
    for flags in BOTH:
        python = subprocess.Popen([PYTHON, "-c", code], stdin=subprocess.PIPE)
        with held(python):
            tracers = [Tracer(t, program, python.pid, flags=("-Z", *flags)) for _ in range(2)]
            python.communicate(b"\n\n", timeout=60)
            for tracer in tracers:
                equal(found(tracer.finish(signum=None), "entries"), 50, "calls in the new library")

def sessions_begin_and_end_at_random_while_threads_run(t):
    """A session is a count of all calls, a record, or a stack. The calls that a permanent session counts are exact."""
    seconds = 600 if t.long else 12
    n_others = 50 if t.long else 4
    rng = random.Random(1)
    with Rounds(t, threads=4, n=20000) as target:
        permanent = Tracer(t, COUNT, target.pid)
        end = time.monotonic() + seconds
        failures = []
        def come_and_go(seed):
            own = random.Random(seed)
            while time.monotonic() < end and not failures:
                try:
                    with Tracer(t, own.choice(PROGRAMS), target.pid, flags=own.choice(BOTH)) as tracer:
                        time.sleep(own.random())
                        if own.random() < 0.3:
                            tracer.process.kill()
                            tracer.process.communicate(timeout=20)
                        else:
                            tracer.process.send_signal(signal.SIGINT)
                            _, errors = tracer.process.communicate(timeout=60)
                            equal(tracer.process.returncode, 0, errors)
                except Exception as error:
                    failures.append(error)
        others = [threading.Thread(target=come_and_go, args=(rng.random(),)) for _ in range(n_others)]
        for other in others:
            other.start()
        n_calls = 0
        while time.monotonic() < end:
            target.call()
            n_calls += target.n
        for other in others:
            other.join()
        if failures:
            raise failures[0]
        equal(found(permanent.finish(), "entries"), n_calls, "calls")
        released(target)

def an_ordinary_user_may_have_several_sessions(t):
    user = as_nobody() if os.geteuid() == 0 else []
    command = of_another_user(t, "rounds")
    t.scratch.chmod(0o777) # the sessions write their output there
    with Rounds(t, command=command) as target:
        tracers = [Tracer(t, COUNT, target.pid, command=[*user, t.dtrace]) for _ in range(2)]
        target.call()
        for tracer in tracers:
            equal(found(tracer.finish(), "entries"), target.n, "calls")
        released(target)

TESTS = tests_in(globals(), arenas, released, exits_seen, of_both_users)

if __name__ == "__main__":
    main(TESTS)
