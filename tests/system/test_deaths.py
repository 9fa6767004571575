"""Kills dtrace, its agent or both at random moments. The target must finish with the right results (A1 and A2 in
docs/faults.md)."""
import ctypes, os, pathlib, random, re, signal, subprocess, sys, time

from harness import equal, fired, held, main, need, so_far, text_differs, tracer_of, wait_until
from traced import ready, victim

PROBES = "pid$target:libc.so.6::entry,pid$target:libc.so.6::return { @[probefunc] = count(); }"

# Four threads compute hashes, which are the same in every run.
WORK = """
import hashlib, threading
results = []
def run(n):
    h = hashlib.md5()
    for i in range(30000):
        h.update(str([j * n for j in range(10)]).encode())
    results.append(h.hexdigest())
threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(results))
"""

# Like WORK, but receives a thousand signals a second, and prints the signal mask of each thread. The program waits
# until all threads have left /proc, because even a joined thread may still receive a signal. Then it stops the timer,
# because Python restores the default action of SIGALRM when it exits.
STORM = """
import os, signal, time
n_signals, masks = 0, []
def count(*_):
    global n_signals
    n_signals += 1
signal.signal(signal.SIGALRM, count)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
""" + WORK.replace("results.append", "masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, [])); results.append") + """
while len(os.listdir("/proc/self/task")) > 1:
    time.sleep(0.001)
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(masks), [mask for mask in masks if mask], signal.pthread_sigmask(signal.SIG_BLOCK, []))
print(n_signals > 5)
"""
# Each of these clauses makes an upcall to the agent.
QUESTIONS = ("pid$target:libc.so.6:malloc:entry { @[ustack(5)] = count(); } "
             "pid$target:libc.so.6:free:entry { @v = sum(vtimestamp > 0); }")

def agent_of(dtrace):
    """Returns the pid of dtrace's agent, or 0 if the agent has not started or has exited."""
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            name, rest = (folder / "stat").read_text().rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if name.endswith("(ptrace-agent") and int(rest.split()[1]) == dtrace.pid:
            return int(folder.name)
    return 0

PR_SET_CHILD_SUBREAPER = 36

def status_of_orphan(pid):
    """Waits until an orphaned process exits, and returns its wait status. The test is a subreaper and so the parent of
    orphans. Returns 0 if the original parent has already waited for the orphan."""
    found = []
    try:
        wait_until(lambda: found.append(os.waitpid(pid, os.WNOHANG)) or found[-1][0] == pid, what="the end of the agent")
    except ChildProcessError:
        return 0
    return found[-1][1]

def kill_at_random_moments(t, victims, work=WORK, probes=PROBES, flags=()):
    need("python3")
    command = ["python3", "-c", work]
    right = subprocess.run(command, capture_output=True, text=True).stdout
    rounds = 1000 if t.long else 6 if flags else 10
    n_agents = 0
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    for round in range(rounds):
        with held(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)) as target, \
             held(t.start("-Zqn", probes, *flags, "-p", str(target.pid))) as dtrace:
            if flags: # breakpoints make the target slow
                wait_until(lambda: agent_of(dtrace) or target.poll() is not None, what="the start of the agent")
            # Kill at a random moment, while dtrace is planting probes or tracing.
            time.sleep(0.02 + random.random() * 0.2)
            agent = agent_of(dtrace)
            if "dtrace" in victims:
                dtrace.kill()
                dtrace.wait()
            if agent and "agent" not in victims:
                equal(os.WIFSIGNALED(status_of_orphan(agent)), False, f"round {round}: did a signal end the agent")
            elif agent:
                n_agents += 1
                try:
                    os.kill(agent, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            out, errors = target.communicate(timeout=60)
        equal((target.returncode, out), (0, right), f"round {round}: {errors[-300:]}")
    if "agent" in victims and n_agents < rounds // 3:
        raise AssertionError(f"only {n_agents} agents existed when they were to be killed")

def killing_dtrace_harms_no_target(t):
    kill_at_random_moments(t, ("dtrace",))

def killing_the_agent_harms_no_target(t):
    kill_at_random_moments(t, ("agent",))

def killing_both_harms_no_target(t):
    kill_at_random_moments(t, ("agent", "dtrace"))

# The threads of WORK call these functions continuously. Threads that block SIGTRAP do not call them.
BREAKPOINTS = ("pid$target:libc.so.6:malloc:entry,pid$target:libc.so.6:malloc:return,pid$target:libc.so.6:free:,"
               "pid$target:a.out:PyLong_From*:entry,pid$target:a.out:PyLong_From*:return,"
               "pid$target:a.out:PyUnicode_*:entry { @[probefunc] = count(); }")

def killing_the_agent_while_breakpoints_are_planted_harms_no_target(t):
    """The target restores its own text, and continues even if it was handling a breakpoint."""
    kill_at_random_moments(t, ("agent",), probes=BREAKPOINTS, flags=("-x", "mechanism=int3"))

def killing_the_agent_while_breakpoints_are_planted_keeps_the_programs_own_traps(t):
    kill_at_random_moments(t, ("agent",), STORM, BREAKPOINTS, ("-x", "mechanism=int3"))

def killing_the_agent_in_a_storm_of_signals_harms_no_target(t):
    kill_at_random_moments(t, ("agent",), STORM, QUESTIONS)

# The agent is killed before the program loads the library that the D program names. A breakpoint left in the dynamic
# linker would kill the program.
LATER = """
import sys
print("ready", flush=True)
sys.stdin.readline()
import signal, zlib, ssl
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
print(zlib.crc32(b"x"))
"""

def killing_the_agent_before_a_library_is_loaded_harms_no_target(t):
    need("python3")
    with held(subprocess.Popen(["python3", "-c", LATER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)) as target:
        equal(target.stdout.readline(), "ready\n", "the target")
        with held(t.start("-Zqn", 'BEGIN { printf("up\\n"); } pid$target:libssl*::entry { @ = count(); }',
                          "-p", str(target.pid))) as dtrace:
            equal(dtrace.stdout.readline(), "up\n", "dtrace")
            wait_until(lambda: text_differs(target.pid), what="a change of its text")
            os.kill(agent_of(dtrace), signal.SIGKILL)
            out, errors = target.communicate("go\n", timeout=20)
    equal((target.returncode, out), (0, "2363233923\n"), errors[-300:])

# Handlers step over a ud2 and over a hlt, as programs do to test for features of the processor.
STEPS_OVER = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
__asm__(".text\n.macro trap name, insn\n.p2align 4\n.globl \\name\n.type \\name,@function\n"
        "\\name: \\insn\n.byte 0x66,0x90,0x66,0x90\n.size \\name,.-\\name\n"
        ".type \\name\\()_next,@function\n\\name\\()_next: mov $7,%eax\n ret\n"
        ".size \\name\\()_next,.-\\name\\()_next\n.endm\n"
        "trap undefined, ud2\ntrap privileged, hlt\n");
int undefined(void), privileged(void);
static void step_over(int signal, siginfo_t* info, void* context)
{
    (void)info;
    ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += signal == SIGILL ? 2 : 1;
}
int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = step_over;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, 0);
    sigaction(SIGSEGV, &action, 0);
    do
        printf("%d %d\n", undefined(), privileged()), fflush(stdout);
    while (getchar() != EOF);
    return 0;
}
"""

def a_program_that_steps_over_its_own_traps_outlives_the_agent(t):
    source, program = t.scratch / "steps_over.c", t.scratch / "steps_over"
    source.write_text(STEPS_OVER)
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    with held(subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as target:
        equal(target.stdout.readline(), "7 7\n", "bare")
        probes = "pid$target:a.out:undefined:entry,pid$target:a.out:privileged:entry { printf(\"%s\\n\", probefunc); }"
        with held(t.start("-qn", f'BEGIN {{ printf("begun\\n"); }} {probes}', "-p", str(target.pid))) as dtrace:
            equal(dtrace.stdout.readline(), "begun\n")
            target.stdin.write("\n")
            target.stdin.flush()
            equal(target.stdout.readline(), "7 7\n", "while traced")
            equal(sorted(dtrace.stdout.readline() for _ in range(2)), ["privileged\n", "undefined\n"])
            os.kill(agent_of(dtrace), signal.SIGKILL)
            wait_until(lambda: agent_of(dtrace) == 0, what="the end of the agent")
            out, _ = target.communicate("\n" * 10, timeout=20)
    equal((target.returncode, out), (0, "7 7\n" * 10), "after the agent's death")

# Threads call a function. A SIGALRM handler interrupts them 3,000 times a second and calls the same function. The
# program's SIGTRAP handler blocks only SIGTRAP. n_wrong counts the runs of this handler in which the signal mask is
# different.
OWN_HANDLER = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) int inner(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) int outer(int x) { __asm__ volatile(""); return inner(x) * 3; }
static volatile int n_traps, n_wrong;
static void on_trap(int signal)
{
    sigset_t now;
    (void)signal;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    n_traps++;
    n_wrong += sigismember(&now, SIGALRM) || sigismember(&now, SIGUSR1) || !sigismember(&now, SIGTRAP);
}
static void on_alarm(int signal) { outer(signal); }
static void* work(void* unused)
{
    for (;;)
        if (outer(4) != 15)
            _exit(2);
    return unused;
}
int main(void)
{
    struct sigaction action;
    pthread_t threads[4];
    memset(&action, 0, sizeof action);
    action.sa_handler = on_trap;
    sigaction(SIGTRAP, &action, 0);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, 0);
    ualarm(300, 300);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, work, 0);
    while (getchar() != EOF) {
        int before = n_traps;
        raise(SIGTRAP);
        printf("%d %d\n", n_traps - before, n_wrong), fflush(stdout);
    }
    _exit(0);
}
"""

def no_handler_interrupts_the_one_that_restores_the_text(t):
    need("gcc")
    source, program = t.scratch / "own_handler.c", t.scratch / "own_handler"
    source.write_text(OWN_HANDLER)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", program, source], check=True)
    probes = "pid$target:a.out:outer:,pid$target:a.out:inner: { @ = count(); }"
    for round in range(200 if t.long else 10):
        with held(subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as target, \
             held(t.start("-qn", f'BEGIN {{ printf("begun\\n"); }} {probes}', "-x", "mechanism=int3",
                          "-p", str(target.pid))) as dtrace:
            def trap(when):
                equal(target.poll(), None, f"status of the target {when}, round {round}")
                target.stdin.write("\n")
                target.stdin.flush()
                equal(target.stdout.readline(), "1 0\n", f"traps, traps with a wrong mask, {when}, round {round}")
            trap("before")
            equal(dtrace.stdout.readline(), "begun\n", "dtrace")
            trap("while traced")
            time.sleep(random.random() * 0.05)  # a random moment in the threads' work
            os.kill(agent_of(dtrace), signal.SIGKILL)
            wait_until(lambda: agent_of(dtrace) == 0, what="the end of the agent")
            trap("after the death of the agent")
            target.communicate(timeout=20)
            equal(target.returncode, 0, f"status of the target, round {round}")

# Like a Go program, this program returns from its SIGTRAP handler through a function of its own. After the first line of
# input, it cannot open files.
OWN_RESTORER = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
void leave_handler(void);
__asm__(".text\n.type leave_handler, @function\nleave_handler: mov $15, %eax\nsyscall\n"
        ".size leave_handler, . - leave_handler");
__attribute__((noinline)) int work(int x) { __asm__ volatile(""); return x + 1; }
static void on_trap(int signal) { (void)signal; }
int main(void)
{
    struct { void (*handler)(int); unsigned long flags; void (*restorer)(void); unsigned long mask; }
        action = {on_trap, 0x04000000, leave_handler, 0}; // SA_RESTORER
    struct rlimit none = {0, 0};
    syscall(SYS_rt_sigaction, SIGTRAP, &action, 0, 8);
    for (int n = 0; getchar() != EOF; n++) {
        if (n > 0)
            setrlimit(RLIMIT_NOFILE, &none);
        printf("%d\n", work(n)), fflush(stdout);
    }
    return 0;
}
"""

def a_probe_in_the_programs_restorer_does_not_kill_it(t):
    """The handler that restores the text cannot open /proc/self/mem here, so it restores only the breakpoint in work().
    The breakpoint in leave_handler() remains, as it does for a moment if several threads restore the text."""
    need("gcc")
    source, program = t.scratch / "own_restorer.c", t.scratch / "own_restorer"
    source.write_text(OWN_RESTORER)
    subprocess.run(["gcc", "-O1", "-o", program, source], check=True)
    with held(subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as target, \
         held(t.start("-qn", 'BEGIN { printf("begun\\n"); } '
                      "pid$target:a.out:work:entry,pid$target:a.out:leave_handler:entry { @ = count(); }",
                      "-x", "mechanism=int3", "-p", str(target.pid))) as dtrace:
        def go_on(right, when):
            target.stdin.write("\n")
            target.stdin.flush()
            equal(target.stdout.readline(), f"{right}\n", when)
        equal(dtrace.stdout.readline(), "begun\n", "dtrace")
        go_on(1, "while traced")
        os.kill(agent_of(dtrace), signal.SIGKILL)
        wait_until(lambda: agent_of(dtrace) == 0, what="the end of the agent")
        go_on(2, "after the death of the agent")
        go_on(3, "after the first breakpoint was restored")

def breakpoints_beyond_the_handlers_table_are_reported(t):
    with held(subprocess.Popen(["sleep", "100"])) as target:
        wait_until(lambda: "libc.so.6" in pathlib.Path(f"/proc/{target.pid}/maps").read_text(), what="its libc")
        done = t.run("-qn", "pid$target:libc.so.6:[a-z]*: { @ = count(); } BEGIN { exit(0); }",
                     "-x", "mechanism=int3", "-p", str(target.pid))
        n = re.search(r"dtrace: (\d+) breakpoints would kill the process if the ptrace-agent were killed", done.stderr)
        equal((done.returncode, n is not None), (0, True), done.stderr)
        listed = t.run("-ln", "pid$target:libc.so.6:[a-z]*:", "-p", str(target.pid)).stdout.count("\n") - 1
        # The table of the handler that restores the text has space for 65,536 breakpoints. A return probe may need
        # several breakpoints.
        equal(0 < int(n[1]) < listed - 60000, True, f"{n[1]} of {listed}")

def a_target_without_the_handler_is_reported(t):
    ignores = 'import signal, time; signal.signal(signal.SIGTRAP, signal.SIG_IGN); print("ready", flush=True); time.sleep(100)'
    for code, why in ((ignores, "it ignores SIGTRAP"), (ignores.replace("SIG_IGN", "SIG_DFL"), None)):
        with held(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)) as target:
            target.stdout.readline()
            for mechanism in ("int3", "jump"):
                done = t.run("-qn", "pid$target:libc.so.6:malloc:entry,pid$target:libc.so.6:free:entry { @ = count(); } "
                             "BEGIN { exit(0); }", "-x", f"mechanism={mechanism}", "-p", str(target.pid))
                n = re.search(r"(\d+) breakpoints would kill the process if the ptrace-agent were killed: (.*)", done.stderr)
                reported = why if mechanism == "int3" else None
                equal((done.returncode, n and n[2]), (0, reported), f"{mechanism}, {why}: {done.stderr}")

def a_target_that_ends_with_the_agent_is_reported(t):
    # The thread blocks SIGTRAP in a way that dtrace does not notice, so the kernel kills the target at the first breakpoint
    # after the agent's death.
    target = victim(t, "stopping", "blocked")
    with held(target):
        ready(target)
        dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); }" + so_far(),
                         "-x", "mechanism=int3", "-p", str(target.pid))
        with held(dtrace):
            fired(dtrace.stdout.readline)
            os.kill(tracer_of(target.pid), signal.SIGKILL)
            _, errors = dtrace.communicate(timeout=20)
            target.wait(timeout=20)
    equal((dtrace.returncode, target.returncode), (1, -signal.SIGTRAP), errors)
    if not re.search(rf"process {target.pid} has ended in the meantime|threads? of process {target.pid} blocks? SIGTRAP", errors):
        raise AssertionError(errors)

# Every instruction of work() has a probe, and the target receives 1,000 signals a second. So the agent is often killed
# while it moves a thread out of a trampoline to deliver a signal.
def killing_the_agent_while_it_delivers_signals_harms_no_target(t):
    program = 'BEGIN { printf("begun\\n"); } pid$target:a.out:work:,pid$target:libc.so.6::entry { @ = count(); }'
    for round in range(400 if t.long else 16):
        with held(victim(t, "interrupted")) as target:
            ready(target)
            with held(t.start("-qn", program, "-p", str(target.pid))) as dtrace:
                equal(dtrace.stdout.readline(), "begun\n", "dtrace")
                os.kill(agent_of(dtrace), signal.SIGKILL)
                dtrace.communicate(timeout=20)
            time.sleep(0.02)
            target.communicate(timeout=20)
            equal(target.returncode, 0, f"status of the target, round {round}")

TESTS = [a_probe_in_the_programs_restorer_does_not_kill_it,
         killing_the_agent_while_it_delivers_signals_harms_no_target,
         a_target_without_the_handler_is_reported, a_target_that_ends_with_the_agent_is_reported,
         breakpoints_beyond_the_handlers_table_are_reported, a_program_that_steps_over_its_own_traps_outlives_the_agent,
         no_handler_interrupts_the_one_that_restores_the_text,
         killing_dtrace_harms_no_target, killing_the_agent_harms_no_target, killing_both_harms_no_target,
         killing_the_agent_before_a_library_is_loaded_harms_no_target,
         killing_the_agent_in_a_storm_of_signals_harms_no_target,
         killing_the_agent_while_breakpoints_are_planted_harms_no_target,
         killing_the_agent_while_breakpoints_are_planted_keeps_the_programs_own_traps]

if __name__ == "__main__":
    main(TESTS)
