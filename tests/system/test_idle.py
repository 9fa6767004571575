#!/usr/bin/env python3
"""Tests -x release=idle: dtrace detaches from targets while nothing needs ptrace(2), and attaches again."""
import contextlib, os, pathlib, re, shutil, signal, subprocess, tempfile, threading, time

from harness import *
from faults import Line, Tracer, found, untouched
from traced import children_called

IDLE = ("-x", "release=idle")
COUNT = 'pid$target:a.out:work:entry { @calls = count(); } END { printa("calls %@d\\n", @calls); }'

# Maps memory that looks like that of a runtime whose agent is away.
FORGER = """
import ctypes, os
agent = int(input())
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
image = libc.mmap(None, 0x200000, 3, 0x22, -1, 0)
ctypes.c_uint32.from_address(image + 0x5f000).value = 1
file = os.memfd_create("dtrace-config")
os.ftruncate(file, 0x10000)
config = libc.mmap(image + 0x100000, 0x10000, 3, 0x11, file, 0)
ctypes.memset(config, 1, 0x10000)
ctypes.c_uint32.from_address(config).value = agent
print("ready", flush=True)
input()
"""

class Idler(Holder):
    """The victim `idler`, which executes a command for each byte that it reads."""
    def __init__(self, t, n=1000, command=None, program=()):
        self.n = n
        self.process = subprocess.Popen([*(command or [t.victim("idler")]), str(n), t.victim("plugin.so"), *program],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.pid = self.process.pid
        self.lines = Line(self.process.stdout)
        equal(self.lines.next(), b"ready\n")

    def send(self, command):
        os.write(self.process.stdin.fileno(), command.encode())

    def do(self, command):
        """Executes one command. Returns the number that the victim prints, or None."""
        self.send(command)
        line = self.lines.next(60)
        number = None
        if line.startswith(b"child"):
            number = int(line.split()[1])
            line = self.lines.next(60)
        equal(line, b"done\n")
        return number

    def end(self):
        self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, "the victim's status")

def away(target):
    """Waits until dtrace has detached from a process whose text contains its jumps."""
    wait_until(lambda: tracer_of(target.pid) == 0, what="the agent's detaching")
    if not text_differs(target.pid):
        raise AssertionError("the text contains no jumps")

def stays(target, seconds=3):
    """Fails if dtrace detaches from the process."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if tracer_of(target.pid) == 0:
            raise AssertionError("the agent has detached")
        time.sleep(0.05)

def released(target):
    wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
    untouched(target.pid)
    target.do("c")
    target.end()

def agent_of(tracer):
    children = pathlib.Path(f"/proc/{tracer.process.pid}/task/{tracer.process.pid}/children").read_text().split()
    return next(int(pid) for pid in children
                if pathlib.Path(f"/proc/{pid}/comm").read_text() == "ptrace-agent\n")

@contextlib.contextmanager
def straced(target, *flags, log="/dev/null"):
    """Yields an strace that traces the target, and kills it when the block ends."""
    with held(subprocess.Popen(["strace", *flags, "-o", str(log), "-p", str(target.pid)],
                               stderr=subprocess.PIPE)) as strace:
        wait_until(lambda: tracer_of(target.pid) == strace.pid, what="strace")
        yield strace

def calls_are_counted_exactly_while_the_agent_is_away(t):
    for program, n in ((COUNT, 1), (COUNT.replace("work:entry", "work:return"), 1),
                       (COUNT.replace("count()", "sum(arg0 >= 0)"), 1),
                       (COUNT.replace("work:entry", "look:entry"), 1)):
        with Idler(t) as target, Tracer(t, program, target.pid, flags=IDLE) as tracer:
            target.do("c")
            away(target)
            for _ in range(3):
                target.do("c")
                target.do("t")
            away(target)
            equal(found(tracer.finish(), "calls"), 7 * target.n * n, program)
            released(target)

def keys_that_the_agent_must_add_are_counted_exactly(t):
    """The engine handles the first firing with a key, so the thread summons the agent."""
    program = 'pid$target:a.out:work:entry { @[arg0 & 3] = count(); @calls = count(); } END { printa("calls %@d\\n", @calls); }'
    with Idler(t) as target, Tracer(t, program, target.pid, flags=IDLE) as tracer:
        away(target)
        target.do("c")
        if tracer_of(target.pid) == 0:
            raise AssertionError("the agent was not summoned")
        away(target)
        target.do("c")
        equal(found(tracer.finish(), "calls"), 2 * target.n, "calls")
        released(target)

def by_default_the_agent_stays(t):
    with Idler(t) as target, Tracer(t, COUNT, target.pid) as tracer:
        stays(target)
        target.do("c")
        equal(found(tracer.finish(), "calls"), target.n, "calls")
        released(target)

def a_debugger_may_attach_set_a_breakpoint_and_detach(t):
    need("gdb")
    with Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
        away(target)
        debugger = subprocess.Popen(
            ["gdb", "-q", "-nx", "-batch", "-p", str(target.pid), "-ex", "break *work", "-ex", "echo set\\n",
             "-ex", "continue", "-ex", "backtrace", "-ex", "continue 5", "-ex", "delete", "-ex", "detach"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with held(debugger):
            wait_until(lambda: tracer_of(target.pid) != 0, what="gdb")
            target.do("c")
            contains(debugger.communicate(timeout=60)[0], "work (")
        target.do("c")
        equal(found(tracer.finish(), "calls"), 2 * target.n, "calls")
        released(target)

def second_instruction_of(program, function):
    """Returns the offset of a function's second instruction."""
    lines = subprocess.run(["objdump", "-d", f"--disassemble={function}", program], capture_output=True, text=True).stdout
    addresses = [int(address, 16) for address in re.findall(r"^ +([0-9a-f]+):\t", lines, re.M)]
    return addresses[1] - addresses[0]

def a_breakpoint_on_an_instruction_inside_a_jump_does_no_harm(t):
    need("gdb", "objdump")
    offset = second_instruction_of(t.victim("idler"), "outer")
    if offset >= 5:
        raise Skip("the first instruction of outer() is as long as a jump")
    with Idler(t) as target, Tracer(t, COUNT.replace("work", "outer"), target.pid, flags=IDLE) as tracer:
        away(target)
        debugger = subprocess.Popen(
            ["gdb", "-q", "-nx", "-batch", "-p", str(target.pid), "-ex", f"break *((long)outer+{offset})",
             "-ex", "continue", "-ex", "delete", "-ex", "detach"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        with held(debugger):
            wait_until(lambda: tracer_of(target.pid) != 0, what="gdb")
            target.do("c")
            time.sleep(1)
            target.do("c")
            os.kill(target.pid, signal.SIGINT)
            contains(debugger.communicate(timeout=60)[0], "SIGINT")
        target.do("c")
        equal(found(tracer.finish(), "calls"), 3 * target.n, "calls")
        released(target)

def strace_may_attach(t):
    need("strace")
    with Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
        away(target)
        log = t.scratch / "strace.log"
        with straced(target, "-f", log=log) as strace:
            target.do("c")
            target.do("t")
            strace.send_signal(signal.SIGINT)
            strace.wait(timeout=20)
        contains(log.read_text(), "write(1")
        target.do("c")
        equal(found(tracer.finish(), "calls"), 3 * target.n, "calls")
        released(target)

def leaker(t):
    """Returns the path of the victim `idler` with LeakSanitizer."""
    need("gcc")
    program = t.scratch / "leaker"
    built = subprocess.run(["gcc", "-O1", "-g", "-fsanitize=leak", "-o", str(program),
                            str(HERE.parent / "victims/idler.c"), "-lpthread", "-ldl"], capture_output=True, text=True)
    if built.returncode != 0:
        raise Skip("gcc cannot link LeakSanitizer")
    return str(program)

def a_program_that_traces_itself_works(t):
    """LeakSanitizer attaches to all threads when the program exits."""
    with Idler(t, command=[leaker(t)]) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
        target.do("m")
        away(target)
        target.do("c")
        _, errors = target.process.communicate(timeout=60)
        contains(errors.decode(), "4321 byte(s) leaked")
        equal(found(tracer.finish(None), "calls"), target.n, "calls")

def a_forked_child_is_restored_and_the_agent_then_stays(t):
    with Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
        away(target)
        target.do("c")
        child = target.do("f")
        try:
            wait_until(lambda: tracer_of(target.pid) != 0, what="the agent's attaching")
            wait_until(lambda: text_differs(child) == [] and tracer_of(child) == 0, what="the child's text")
            stays(target)
            target.do("c")
            equal(found(tracer.finish(), "calls"), 2 * target.n, "calls of the parent")
            untouched(child)
            equal(is_alive(child), True, "the child lives")
        finally:
            os.kill(child, signal.SIGKILL)
        released(target)

def a_vfork_child_is_counted_as_its_parent(t):
    with Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
        away(target)
        target.do("v")
        target.do("c")
        equal(found(tracer.finish(), "calls"), 2 * target.n, "calls")
        released(target)

def an_exec_ends_the_probes(t):
    with Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
        away(target)
        target.do("c")
        target.send("x")
        equal(target.lines.next(), b"ready\n")
        target.do("c")
        time.sleep(1)
        equal(tracer_of(target.pid), 0, "TracerPid after the exec")
        target.end()
        equal(found(tracer.finish(None), "calls"), target.n, "calls before the exec")

def a_set_user_id_program_gains_its_rights_and_is_not_traced(t):
    user = as_nobody()
    gains = pathlib.Path(tempfile.mkdtemp(prefix="dtrace-test-", dir="/tmp"))
    try:
        gains.chmod(0o755)
        shutil.copy(t.victim("idler"), gains / "idler")
        shutil.copy(t.victim("idler"), gains / "gains")
        (gains / "gains").chmod(0o4755)
        with Idler(t, command=[*user, str(gains / "idler")], program=[str(gains / "gains")]) as target, \
             Tracer(t, COUNT, target.pid, flags=(*IDLE, "-x", "trust=user")) as tracer:
            away(target)
            target.do("c")
            target.send("x")
            equal(target.lines.next(), b"ready\n")
            status = pathlib.Path(f"/proc/{target.pid}/status").read_text()
            if re.search(r"^Uid:\t65534\t65534", status, re.M):
                raise Skip("the file system ignores the set-user-ID bit")
            for _ in range(20):
                equal(tracer_of(target.pid), 0, "TracerPid after the exec")
                time.sleep(0.05)
            target.end()
            equal(found(tracer.finish(None), "calls"), target.n, "calls before the exec")
    finally:
        shutil.rmtree(gains)

def the_session_ends_when_the_target_exits(t):
    for ends in (lambda target: target.end(), lambda target: (target.process.kill(), target.process.wait())):
        with Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
            away(target)
            target.do("c")
            ends(target)
            equal(found(tracer.finish(None), "calls"), target.n, "calls")

def a_library_that_is_loaded_meanwhile_is_probed(t):
    program = 'pid$target:plugin.so:plugin_work:entry { @calls = count(); } ' + COUNT.replace("calls", "works")
    with Idler(t) as target, Tracer(t, program + ' END { printa("calls %@d\\n", @calls); }', target.pid,
                                    flags=(*IDLE, "-Z")) as tracer:
        away(target)
        target.do("p")
        away(target)
        target.do("p")
        out = tracer.finish()
        equal(found(out, "calls"), 2 * target.n + 1, "calls of the library's function and its constructor")
        released(target)

def a_library_that_is_loaded_while_a_debugger_is_attached_is_probed_later(t):
    need("strace")
    program = 'pid$target:plugin.so:plugin_work:entry { @calls = count(); } ' + COUNT.replace("calls", "works")
    with Idler(t) as target, Tracer(t, program + ' END { printa("calls %@d\\n", @calls); }', target.pid,
                                    flags=(*IDLE, "-Z")) as tracer:
        away(target)
        with straced(target) as strace:
            target.do("p")
        wait_until(lambda: tracer_of(target.pid) not in (0, strace.pid), what="the agent's attaching")
        away(target)
        target.do("p")
        equal(found(tracer.finish(), "calls"), target.n, "calls of the library's function")
        released(target)

def a_target_is_restored_after_dtrace_was_killed(t):
    for signum in (signal.SIGKILL, signal.SIGTERM):
        with Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
            away(target)
            tracer.process.send_signal(signum)
            tracer.process.communicate(timeout=60)
            wait_until(lambda: text_differs(target.pid) == [], what="restored text")
            released(target)

def the_target_survives_the_death_of_the_agent(t):
    with Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
        away(target)
        target.do("c")
        os.kill(agent_of(tracer), signal.SIGKILL)
        target.do("c")
        tracer.process.communicate(timeout=60)
        target.do("c")
        with Tracer(t, COUNT, target.pid) as again:
            target.do("c")
            equal(found(again.finish(), "calls"), target.n, "calls in the next session")
        released(target)

def a_second_dtrace_joins_the_absent_agent(t):
    with Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as first:
        away(target)
        target.do("c")
        with Tracer(t, COUNT, target.pid, flags=IDLE) as second:
            equal(tracer_of(target.pid), agent_of(first), "the tracer")
            target.do("c")
            stays(target)
            equal(found(second.finish(), "calls"), target.n, "calls that the second session saw")
        away(target)
        target.do("c")
        equal(found(first.finish(), "calls"), 3 * target.n, "calls that the first session saw")
        released(target)

def a_dtrace_that_wants_to_plant_names_the_debugger(t):
    need("strace")
    with Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
        away(target)
        with straced(target) as strace:
            second = t.run("-qn", COUNT, "-p", str(target.pid))
            contains(second.stderr, f"traced by process {strace.pid} (strace); detach that process from it first")
        target.do("c")
        equal(found(tracer.finish(), "calls"), target.n, "calls")
        released(target)

def a_session_that_ends_while_a_debugger_is_attached_leaves_inert_jumps(t):
    need("strace")
    with Idler(t) as target:
        with Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
            away(target)
            target.do("c")
            with straced(target) as strace:
                equal(found(tracer.finish(), "calls"), target.n, "calls")
                contains(tracer.errors, f"traced by process {strace.pid} (strace)")
                contains(tracer.errors, "trace the process with dtrace again")
                target.do("c")
        with Tracer(t, COUNT, target.pid) as again:
            target.do("c")
            equal(found(again.finish(), "calls"), target.n, "calls in the next session")
        released(target)

def the_agent_stays_while_something_needs_it(t):
    """one program or target for each reason in Attendance::why_attached()"""
    count = COUNT.split(" END")[0]
    for program, flags, before in (
            (count + " pid$target:a.out:work:return { @[tid] = count(); }", (), ""),
            (count + " pid$target:a.out:work:return { self->n = 1; }", (), ""),
            (count + " pid$target:a.out:work:return { trace(arg0); }", (), ""),
            (count + " pid$target:a.out:work:return { @m = max(arg0); }", (), ""),
            (count + " profile-97 { @p = count(); }", (), ""),
            (count, ("-x", "follow=fork"), ""),
            (count, ("-x", "mechanism=int3"), ""),
            (count.replace("work", "look"), (), "h"),
    ):
        with Idler(t) as target:
            if before:
                target.do(before)
            with Tracer(t, program, target.pid, flags=(*IDLE, *flags)) as tracer:
                stays(target, seconds=2.5)
                target.do("t")
                target.do("c")
                tracer.finish()
            released(target)

def the_agent_stays_at_a_command_and_at_a_program_under_seccomp(t):
    with held(t.start("-q", *IDLE, "-n", COUNT, "-c", t.victim("idler") + " 1000", stdin=subprocess.PIPE)) as tracer:
        def command():
            return [pid for agent in children_called(tracer.pid, "ptrace-agent") for pid in children_called(agent, "idler")]
        wait_until(lambda: command() != [], what="the command")
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            equal(tracer_of(command()[0]) != 0, True, "whether the command is traced")
            time.sleep(0.05)
        out, errors = tracer.communicate("c", timeout=60)
        equal(found(out, "calls"), 1000, errors)
    sandboxed = "import ctypes, os, sys; p = ctypes.CDLL(None).prctl; p(38, 1, 0, 0, 0); " \
                "f = (ctypes.c_uint16 * 4)(6, 0, 0, 0x7fff); " \
                "g = (ctypes.c_uint64 * 2)(1, ctypes.addressof(f)); p(22, 2, g); os.execv(sys.argv[1], sys.argv[1:])"
    with Idler(t, command=["python3", "-c", sandboxed, t.victim("idler")]) as target, \
         Tracer(t, COUNT, target.pid, flags=(*IDLE, "-x", "trust=user")) as tracer:
        contains(pathlib.Path(f"/proc/{target.pid}/status").read_text(), "Seccomp:\t2")
        stays(target)
        target.do("c")
        equal(found(tracer.finish(), "calls"), target.n, "calls")
        released(target)

def threads_that_are_created_while_the_agent_must_stay_have_their_own_tid(t):
    program = COUNT.replace("@calls = ", "@t[tid] = count(); @calls = ")
    with Idler(t) as target, Tracer(t, program, target.pid, flags=IDLE) as tracer:
        stays(target, seconds=2)
        for _ in range(5):
            target.do("t")
        out = tracer.finish()
        equal([line.split()[1] for line in out.splitlines() if re.match(r"^ +\d+ +\d+$", line)], [str(target.n)] * 5,
              "calls of each thread")
        released(target)

def a_new_fault_handler_brings_the_agent_back(t):
    with Idler(t) as target, Tracer(t, COUNT.replace("work", "look"), target.pid, flags=IDLE) as tracer:
        away(target)
        target.do("h")
        wait_until(lambda: tracer_of(target.pid) != 0, what="the agent's attaching")
        target.do("c")
        equal(found(tracer.finish(), "calls"), target.n, "calls")
        released(target)

def a_forged_agent_causes_at_most_a_refusal(t):
    """The second target's memory names the agent of the first one."""
    forger = subprocess.Popen(["python3", "-c", FORGER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    with held(forger), Idler(t) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
        away(target)
        forger.stdin.write(b"%d\n" % agent_of(tracer))
        equal(Line(forger.stdout).next(), b"ready\n")
        done = t.run("-qn", "pid$target:libc.so.6:getpid:entry { @ = count(); } tick-1s { exit(0); }", "-p", str(forger.pid))
        contains(done.stderr, "restart the process")
        equal(is_alive(forger.pid), True, "the forger lives")
        target.do("c")
        equal(found(tracer.finish(), "calls"), target.n, "calls")
        released(target)

def counts_stay_exact_while_threads_fire_and_the_agent_comes_and_goes(t):
    """Meanwhile other sessions join and leave, a debugger attaches, and signals interrupt the threads."""
    need("strace")
    with Idler(t, n=200_000) as target, Tracer(t, COUNT, target.pid, flags=IDLE) as tracer:
        target.do("s")
        ends = threading.Event()
        n_commands = 0
        def call():
            nonlocal n_commands
            while not ends.is_set():
                target.do("a")
                n_commands += 1
        caller = threading.Thread(target=call)
        caller.start()
        try:
            for n in range(20 if t.long else 3):
                away(target)
                with straced(target, "-f") as strace:
                    time.sleep(0.2)
                    strace.send_signal(signal.SIGINT)
                    strace.wait(timeout=20)
                with Tracer(t, COUNT, target.pid, flags=IDLE if n % 2 else ()) as second:
                    time.sleep(0.1)
                    second.finish()
        finally:
            ends.set()
            caller.join()
        away(target)
        equal(found(tracer.finish(), "calls"), 4 * n_commands * target.n, "calls")
        released(target)

if __name__ == "__main__":
    main(tests_in(globals()))
