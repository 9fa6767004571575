"""Tests how dtrace and its targets start and end (A and B in docs/faults.md)."""
import ctypes, os, pathlib, pty, re, resource, shutil, signal, subprocess, time

from faults import *
from harness import *
from traced import ready, victim

WORK = "pid$target:a.out:work:entry,pid$target:a.out:work:return { @[probename] = count(); }"

def lives(t, way, flags=(), want=0, complaints=False):
    """Traces the victim `lives`. Returns the victim's output, and the numbers of entries and returns."""
    out = t.scratch / f"recorded.{time.monotonic_ns()}"
    done = t.run("-q", *flags, "-o", str(out), "-n", WORK, "-c", f"{t.victim('lives')} {way}", timeout=100)
    equal(done.returncode, want, done.stderr)
    if "terminated" in done.stderr and not complaints:
        raise AssertionError(done.stderr)
    counts = rows(out.read_text())
    equal(sorted(counts), ["entry", "return"], "probes that fired")
    return done.stdout, counts["entry"], counts["return"]

def calls(said):
    return int(re.search(r"calls (\d+)", said).group(1))

# The target

def a_program_that_runs_itself_again_is_traced_once_without_follow(t):
    """B5: the first exec removes the probes, and the last program exits normally"""
    for flags in BOTH:
        for n in (1000,) if t.long else (100,):
            none = [*flags, "-x", "follow=none"]
            equal(lives(t, f"exec {n}", none), ("the last of them\n", 100, 100))

def a_command_that_runs_itself_again_is_traced_each_time(t):
    """B5: each exec removes the probes of the previous program, and dtrace plants them in the new one"""
    for flags in BOTH:
        for n in (300,) if t.long else (30,):
            calls_of_all = 100 * (n + 1) + 1  # including a call in a destructor of the last program
            equal(lives(t, f"exec {n}", flags), ("the last of them\n", calls_of_all, calls_of_all))

def tasks_that_keep_the_memory_from_before_an_exec_stay_traced(t):
    """B5, B11: a child that was created with CLONE_VM keeps the memory when its parent calls execve(2)."""
    for flags in BOTH:
        out = t.scratch / "outlived"
        done = t.run("-q", *flags, "-o", str(out), "-n",
                     "pid$target:outlived:work:entry,pid$target:outlived:work:return "
                     "{ @[probename] = count(); @stacks[ustack(1)] = count(); } END { trunc(@stacks); }",
                     "-c", f"{t.victim('outlived')} 50")
        equal((done.returncode, done.stdout), (0, "status 3\n"), done.stderr)
        equal(rows(out.read_text()), {"entry": 100, "return": 100}, str(flags))

def an_exec_that_fails_keeps_the_probes(t):
    """B7: the program continues after execve(2) has returned an error"""
    for flags in BOTH:
        said, entries, returns = lives(t, "badexec 5", flags)
        contains(said, "failed 10 calls 1000\n")
        equal((entries, returns), (1001, 1001), "firings")  # a destructor makes one more call

def a_daemon_continues_without_probes(t):
    """B8, B13: the program becomes a daemon with two forks and setsid(), and its result is right"""
    for flags in BOTH:
        path = t.scratch / "sum"
        path.unlink(missing_ok=True)
        _, entries, _ = lives(t, f"daemon {path}", flags)
        equal(entries, 101, "entries")
        wait_until(lambda: path.exists() and path.read_text() != "", what="the daemon's file")
        equal(path.read_text(), "sum 14850\n")

def a_target_may_close_every_descriptor(t):
    """B15, B16: tracing continues, and dtrace writes nothing to files that the target opens afterwards"""
    for flags in BOTH:
        _, entries, returns = lives(t, f"closes {t.scratch}/own", flags)
        equal((entries, returns), (300, 300), "firings")
        for i in range(10):
            equal((t.scratch / f"own.{i}").read_text(), "mine\n", f"its file {i}")

def forks_while_threads_are_in_probes_do_no_harm(t):
    """B8, B10: the children run the functions that the parent's threads were executing"""
    for flags, n in zip(BOTH, (300, 50)):
        said, entries, _ = lives(t, f"forks {n}", flags)
        contains(said, f"good {n} ")
        equal(entries, calls(said) + 1, "entries")

def tasks_created_by_clone_are_traced_if_they_share_the_memory(t):
    """B11, B12: some tasks share the parent's memory, and some have their own. Some have no thread-local storage.
    Some make the parent wait."""
    for flags in BOTH:
        said, entries, returns = lives(t, "clones 30", flags)
        contains(said, "good 150 ")
        equal((entries, returns), (calls(said) + 1, calls(said) + 1), "firings")

def processes_that_share_the_memory_of_a_target_are_traced_from_the_attach_on(t):
    """B11: such a process executes the same text, so it reaches the same breakpoints"""
    for how in ("clone", "vfork"):
        for flags in BOTH:
            with held(victim(t, "sharer", how)) as target:
                ready(target)
                with Tracer(t, "pid$target:a.out:work:entry { @entries = count(); } "
                            'END { printa("entries %@d\\n", @entries); }', target.pid, flags=flags) as tracer:
                    target.stdin.write("x" * 100)
                    target.stdin.flush()
                    time.sleep(0.5) # the processes run with probes during this time
                    n_fired = found(tracer.finish(), "entries")
                    equal(n_fired >= 100 and (how == "vfork" or n_fired > 200), True, f"{how} {flags}: {n_fired} entries")
                untouched(target.pid)
                time.sleep(0.2) # without probes
                said, _ = target.communicate(timeout=30)
                equal((said, target.returncode), ("exited with 3\n", 0), f"{how} {flags}: the child, the parent")

def a_process_that_shares_the_memory_but_has_another_tracer_is_named(t):
    """B11: dtrace cannot trace it, and a breakpoint would kill it, so dtrace refuses the target"""
    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    with held(victim(t, "sharer", "clone")) as target:
        ready(target)
        child = int(pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text())
        equal(ptrace(SEIZE, child, None, None), 0, "PTRACE_SEIZE")
        done = t.run("-qn", WORK, "-p", str(target.pid))
        ptrace(INTERRUPT, child, None, None)
        os.waitpid(child, 0x40000000) # __WALL
        equal(ptrace(DETACH, child, None, None), 0, "PTRACE_DETACH")
        equal(done.returncode, 1, done.stderr)
        contains(done.stderr, f"process {child} shares its memory, and would be killed by dtrace's breakpoints because "
                              f"dtrace cannot trace it: it is being traced by process {os.getpid()} (")
        untouched(target.pid)
        said, _ = target.communicate(timeout=30)
        equal((said, target.returncode), ("exited with 3\n", 0), "the child, the parent")

# Prints the pid of a vfork child. The child executes cat after it has read a byte from stdin.
VFORKS = r"""
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("" : "+r"(n)); return n; }
int main(void)
{
    char byte;
    setvbuf(stdout, 0, _IONBF, 0);
    if (vfork() == 0) {
        dprintf(1, "%d\n", getpid());
        while (read(0, &byte, 1) == 1 && byte != 'x')
            work(byte);
        execlp("cat", "cat", (char*)0);
        _exit(1);
    }
    for (;;) {
        work(1);
        usleep(1000);
    }
}
"""

def the_parent_of_a_vfork_child_is_released_when_the_child_executes_a_program(t):
    """B11: the parent is traced only because it shares the child's memory"""
    need("gcc")
    source, program = t.scratch / "vforks.c", t.scratch / "vforks"
    source.write_text(VFORKS)
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    for flags in BOTH:
        with held(subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as parent:
            child = int(ready(parent))
            try:
                with Tracer(t, WORK, child, flags=flags) as tracer:
                    equal(tracer_of(parent.pid) != 0, True, "the parent is traced before the exec")
                    parent.stdin.write("x")
                    parent.stdin.flush()
                    wait_until(lambda: tracer_of(parent.pid) == 0, 5, f"the release of the parent {flags}")
                    equal(tracer_of(child) != 0, True, "the child is traced after the exec")
                    untouched(parent.pid)
                    tracer.finish()
            finally:
                os.kill(child, signal.SIGKILL)

def tasks_that_the_kernel_does_not_report_continue_through_jumps(t):
    """B12: the tasks are created with CLONE_UNTRACED. A breakpoint would kill them, which is a known limitation."""
    said, entries, _ = lives(t, "untraced 30")
    contains(said, "good 150 ")
    # Some tasks have their own memory. The agent does not know of these tasks, so jumps stay in their text, and their
    # 3000 calls may be counted.
    equal(entries in (calls(said) + 1, calls(said) + 3001), True, f"{entries} entries, {said}")

def an_exit_while_threads_are_in_probes_loses_nothing(t):
    """B1, B4: when the process exits, a thread may be between a probe and the update of the program's own count"""
    for flags in BOTH:
        path = t.scratch / "count"
        path.unlink(missing_ok=True)
        _, entries, returns = lives(t, f"exits {path}", flags, complaints=True)
        own = int.from_bytes(path.read_bytes()[:8], "little")
        equal(0 <= entries - own <= 4 and 0 <= entries - returns <= 4, True,
              f"{entries} entries, {returns} returns, {own} calls")

def exit_handlers_are_traced(t):
    """B24: probes fire in functions that atexit() handlers call"""
    for flags in BOTH:
        said, entries, _ = lives(t, "atexit", flags)
        contains(said, "exit handler, calls 200\n")
        equal(entries, 201, "entries")

def a_crash_of_a_traced_program_dumps_its_normal_core(t):
    """B22: the program's own handler runs first, the core is small, and gdb finds the crash"""
    need("gdb")
    if pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip() not in ("core", "core.%p"):
        raise Skip("cores are not written to the current folder here")
    folder = t.scratch / "core"
    folder.mkdir(exist_ok=True)
    for flags in BOTH:
        done = subprocess.run(
            [t.dtrace, *flags, "-n", WORK.replace("work:return", "crash:return"), "-c", t.victim("lives") + " crash"],
            cwd=folder, capture_output=True, text=True, timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
        contains(done.stdout, "handler 11 calls 100\n")
        contains(done.stderr, "terminated by SIGSEGV")
        cores = list(folder.glob("core*"))
        equal(len(cores), 1, "cores")
        equal(cores[0].stat().st_blocks * 512 < 8 << 20, True, f"{cores[0].stat().st_blocks} blocks")
        gdb = subprocess.run(["gdb", "-q", "-batch", "-ex", "bt", t.victim("lives"), str(cores[0])],
                             capture_output=True, text=True)
        contains(gdb.stdout, "#0  crash (")
        contains(gdb.stdout, "in main (")
        cores[0].unlink()

# This program runs in its own pid namespace. argv[1] is the path of dtrace.
REUSED = """
import os, subprocess, sys, time
first = subprocess.Popen(["sleep", "60"])
traced = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=ptrace", "-e",
                           "inject=ptrace:delay_enter=2000000:when=1", sys.argv[1], "-qn",
                           "BEGIN { exit(0); }", "-p", str(first.pid)], stderr=subprocess.PIPE, text=True)
time.sleep(1)  # strace delays the attach by two seconds
first.kill()
first.wait()
open("/proc/sys/kernel/ns_last_pid", "w").write(str(first.pid - 1))
second = subprocess.Popen(["sleep", "60"])
print("same" if second.pid == first.pid else "other", flush=True)
print(traced.communicate(timeout=30)[1].strip().replace(str(first.pid), "PID"), traced.returncode, flush=True)
time.sleep(0.1)  # An attach to the second process would be visible in this time.
status = open(f"/proc/{second.pid}/status").read()
print("alive" if second.poll() is None else "dead", "TracerPid:\\t0" in status)
second.kill()
second.wait()
"""

def a_target_that_creates_children_all_the_time_gets_jumps(t):
    """dtrace often attaches in the middle of fork(2) or vfork(2), when no system call can be injected. dtrace must then
    wait and try again. It must not use breakpoints instead, which would kill a child."""
    rounds = 60 if t.long else 8
    for shell, child in (("bash", "( : )"), ("dash", "/bin/true")):
        need(shell)
        end = t.scratch / f"end of {shell}"
        script = f"echo ready; i=0; while [ ! -e '{end}' ]; do {child}; i=$((i+1)); done; echo $i"
        with held(subprocess.Popen([shell, "-c", script], stdout=subprocess.PIPE, text=True)) as target:
            equal(target.stdout.readline(), "ready\n", "the target")
            for n_traced in range(rounds):
                # Probes in all of libc need several memory areas. dtrace injects a system call to map each area.
                probes = ("pid$target:libc.so.6::entry,pid$target:libc.so.6::return" if n_traced % 3 == 2
                          else "pid$target:libc.so.6:malloc:entry")
                done = t.run("-qn", probes + " { @ = count(); } BEGIN { exit(0); }", "-p", str(target.pid))
                equal((done.returncode, is_alive(target.pid)), (0, True), f"{shell}, round {n_traced}: {done.stderr}")
                # Some returns in libc cannot be probed. dtrace names ten and counts the rest. It also names entry
                # probes that a loop fires.
                notes = "cannot probe pid|more places that cannot be probed|entry probes also fire"
                lines = done.stderr.splitlines()
                if len(lines) > 12 or any(not re.search(notes, line) for line in lines):
                    raise AssertionError(f"{shell}, round {n_traced}: {done.stderr}")
            end.touch()
            said = target.communicate(timeout=100)[0]
        equal((target.returncode, int(said) > 0), (0, True), shell)

def a_pid_that_was_reused_is_not_traced(t):
    """B17: the process exits after dtrace has examined it, and another process gets its pid"""
    need("strace", "unshare", "python3")
    unshare = ["unshare", "--pid", "--fork", "--mount", "--mount-proc"]
    if os.geteuid() != 0:
        unshare.insert(1, "--map-root-user")
    if subprocess.run([*unshare, "sh", "-c", "echo 99 >/proc/sys/kernel/ns_last_pid"],
                      capture_output=True).returncode != 0:
        raise Skip("no pids can be chosen here")
    done = subprocess.run([*unshare, "python3", "-c", REUSED, t.dtrace], capture_output=True, text=True, timeout=60)
    equal(done.returncode, 0, done.stderr)
    lines = done.stdout.splitlines()
    equal((lines[0], lines[-1]), ("same", "alive True"), done.stdout)
    contains(done.stdout, "it exited, and another process now has its pid 1\n")

def a_set_uid_program_keeps_its_rights_if_root_traces_it(t):
    """B6, E3: if an ordinary user traces the program instead, the set-uid bit has no effect"""
    user = as_nobody() if os.geteuid() == 0 else None
    if user is None:
        raise Skip("only root may install a set-uid program")
    t.scratch.chmod(0o755)
    folder = t.scratch / "setuid"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    for name, mode in (("dtrace", 0o755), ("id", 0o4755)):
        shutil.copy(t.dtrace if name == "dtrace" else shutil.which(name), folder / name)
        (folder / name).chmod(mode)
    (folder / "run").write_text(f"#!/bin/sh\nexec {folder}/id -u\n")
    (folder / "run").chmod(0o755)
    equal(subprocess.run([*user, folder / "run"], capture_output=True, text=True).stdout, "0\n", "untraced")
    for flags in BOTH:
        program = "pid$target:libc.so.6::entry { @ = count(); }"
        out = folder / f"out.{time.monotonic_ns()}"
        done = t.run("-q", *flags, "-o", str(out), "-n", program, "-c", " ".join([*user, str(folder / "run")]))
        equal((done.returncode, done.stdout), (0, "0\n"), f"root's: {done.stderr}")
        done = subprocess.run([*user, str(folder / "dtrace"), "-q", *flags, "-o", str(out) + "u", "-n", program,
                               "-c", str(folder / "run")], capture_output=True, text=True, cwd=folder, timeout=60)
        equal((done.returncode, done.stdout), (0, "65534\n"), f"a user's: {done.stderr}")

# The tracer

def a_terminal_that_is_closed_ends_dtrace_by_a_hangup(t):
    """A11: dtrace ends as it does after SIGHUP, and the target continues without probes"""
    with Paced(t, "free") as target:
        master, slave = pty.openpty()
        out = t.scratch / "hangup"
        dtrace = subprocess.Popen(
            [t.dtrace, "-qn", LOOKS + ENDS + ' BEGIN { printf("BEGAN\\n"); }', "-o", str(out),
             "-p", str(target.pid)], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            # Opening the terminal makes it the controlling terminal of the new session.
            preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)))
        os.close(slave)
        try:
            wait_until(lambda: out.exists() and "BEGAN" in out.read_text(), what="the start of tracing")
            target.call()
            os.close(master)
            dtrace.wait(timeout=20)
        finally:
            dtrace.kill()
            dtrace.wait()
        contains(out.read_text(), "entries 1000\n")
        untouched(target.pid)
        target.end()

def an_interrupt_while_ten_thousand_probes_are_planted_removes_all_of_them(t):
    """A6: dtrace receives one interrupt, or two in quick succession"""
    with Paced(t, "free", threads=3) as target:
        for again in (False, True):
            for delay in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3):
                with held(t.start("-qn", "pid$target:::entry,pid$target:::return { @ = count(); }",
                                  "-p", str(target.pid))) as dtrace:
                    time.sleep(delay)  # interrupt at a different moment in each round
                    dtrace.send_signal(signal.SIGINT)
                    if again:
                        dtrace.send_signal(signal.SIGINT)
                    dtrace.communicate(timeout=20)
                wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
                untouched(target.pid)
        target.call()
        target.end()

def a_tracer_killed_at_any_of_its_system_calls_harms_no_target(t):
    """A2, A3: strace kills dtrace or its agent at the Nth call of certain system calls"""
    need("strace")
    steps = [(call, n) for call in ("ptrace", "pwrite64", "process_vm_readv,pread64", "mmap", "sendmsg,sendto")
             for n in ((1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233) if t.long else (2, 5, 13, 34, 89))]
    n_killed = 0
    for call, n in steps:
        with Paced(t, "free", threads=2) as target:
            done = subprocess.Popen(
                ["strace", "-f", "-qq", "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={n}",
                 "-o", "/dev/null", t.dtrace, "-qn", LOOKS + "tick-200ms { exit(0); }", "-p", str(target.pid)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
            try:
                done.communicate(timeout=30)
            finally:
                done.kill()
                done.wait()
            n_killed += done.returncode != 0
            wait_until(lambda: tracer_of(target.pid) == 0, what=f"release after {call} {n}")
            target.call()
            target.end()
    equal(n_killed >= len(steps) // 2, True, f"only {n_killed} of {len(steps)} were killed")

def two_tracers_take_turns(t):
    """A9, A10, A12: the second tracer joins the first one's agent. If the first tracer is killed, its agent or the next
    tracer removes its patches."""
    for victim in ("dtrace", "agent", "both"):
        with Paced(t, "free", threads=2) as target:
            first = Tracer(t, LOOKS + ENDS, target.pid)
            second = t.run("-qn", "BEGIN { exit(0); }", "-p", str(target.pid))
            equal((second.returncode, second.stderr), (0, ""))
            agent = tracer_of(target.pid)
            if victim in ("agent", "both"):
                os.kill(agent, signal.SIGKILL)
            if victim in ("dtrace", "both"):
                first.process.kill()
            first.process.communicate(timeout=20)
            wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
            third = Tracer(t, LOOKS + ENDS, target.pid)
            target.call()
            out = third.finish()
            equal((found(out, "entries"), found(out, "returns")), (target.n, target.n), f"after {victim}")
            untouched(target.pid)
            target.end()

def a_command_is_not_left_stopped(t):
    """A13: dtrace or its agent is killed before or after the command starts"""
    marker = t.scratch / "ran"
    for delay in (0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2):
        for who in ("dtrace", "agent"):
            dtrace = t.start("-qn", WORK, "-c", t.victim("spin") + " 3000000 2")
            time.sleep(delay)  # kill at a different moment in each round
            children = pathlib.Path(f"/proc/{dtrace.pid}/task/{dtrace.pid}/children").read_text().split()
            commands = [int(pid) for child in children for pid in
                        pathlib.Path(f"/proc/{child}/task/{child}/children").read_text().split()]
            os.kill(dtrace.pid if who == "dtrace" or not children else int(children[0]), signal.SIGKILL)
            dtrace.communicate(timeout=30)
            def ended():
                return all(not is_alive(pid) for pid in commands)
            wait_until(ended, what=f"the end of the command, {who} killed after {delay} s")

def a_helper_of_system_does_not_keep_the_output_open(t):
    """A14: a process that system() started outlives dtrace. It must not keep any of dtrace's pipes open."""
    path = t.scratch / "helper"
    dtrace = t.start("-w", "-qn", f'BEGIN {{ system("echo $$ >{path}; exec sleep 30 >/dev/null 2>&1 </dev/null"); }}')
    try:
        wait_until(lambda: path.exists() and path.read_text().strip(), what="the start of the helper")
        dtrace.kill()
        began = time.monotonic()
        dtrace.communicate(timeout=20)
        equal(time.monotonic() - began < 10, True, "the output ends when dtrace is killed")
    finally:
        os.kill(int(path.read_text()), signal.SIGKILL)

TESTS = tests_of(globals())

if __name__ == "__main__":
    main(TESTS)
