#!/usr/bin/env python3
"""Tests syscall, proc, sched and io without the kernel module and without a target: the kernel's records of all processes
(perf_event_open(2))."""
import contextlib, os, re, signal, subprocess, time

from harness import *
from test_machine_samples import busy_cpus # some kernels record nothing on idle CPUs
from traced import good, program_of, ready

def need_records(t):
    """Skips the test if the probes would fire in the kernel module, or if this user may not record all processes."""
    if os.path.exists("/dev/dtrace"):
        raise Skip("the kernel module is loaded")
    if t.run("-en", "sched:::off-cpu").returncode != 0:
        raise Skip("the tracepoints of all processes are not permitted here")

class Recorder:
    """A dtrace process that traces all processes. The constructor returns after BEGIN has fired. The kernel
    then makes records."""
    def __init__(self, t, program, *flags):
        self.process = t.start("-q", *flags, "-n", program + ' BEGIN { printf("BEGAN\\n"); } END { printf("ENDED\\n"); }')
        if self.process.stdout.readline() != "BEGAN\n":
            raise AssertionError(self.process.communicate(timeout=60))
        time.sleep(0.1) # the probes become active after BEGIN

    def end(self):
        """Ends dtrace, and returns the lines that it has printed."""
        self.process.send_signal(signal.SIGINT)
        out, errors = self.process.communicate(timeout=60)
        equal((self.process.returncode, errors), (0, ""), out)
        return [line for line in out.splitlines() if line and line != "ENDED"]

@contextlib.contextmanager
def recorder(t, program, *flags):
    need_records(t)
    tracer = Recorder(t, program, *flags)
    with held(tracer.process):
        yield tracer

def copy_of(t, program, name):
    """Returns a copy of a program. Only this copy has the name, so a D program can recognize it."""
    copy = t.scratch / name
    subprocess.run(["install", "-m", "755", program, copy], check=True)
    return str(copy)

def calls_are_those_that_strace_reports(t):
    need("strace")
    for program, *arguments in (("/bin/true",), ("/bin/ls", "-l", "/usr"), ("/usr/bin/sort", "/etc/passwd")):
        command = [copy_of(t, program, "onlyhere"), *arguments]
        subprocess.run(["strace", "-qq", "-o", t.scratch / "strace", *command], check=True, stdout=subprocess.DEVNULL)
        want = {}
        for line in (t.scratch / "strace").read_text().splitlines():
            if found := re.match(r"(\w+)\(", line):
                want[found[1]] = want.get(found[1], 0) + 1
        want.pop("execve") # the process has another name
        with recorder(t, 'syscall:::entry /execname == "onlyhere"/ { @[probefunc] = count(); } '
                      'END { printa("%s %@d\\n", @); }') as tracer:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            got = {name: int(count) for name, count in (line.split() for line in tracer.end())}
        equal(got, want, program)

CALLS = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char** argv)
{
    if (argc > 1) {
        for (long i = 0; i < 300000; i++)
            syscall(SYS_getppid);
        return 0;
    }
    int file = open(argv[0], O_RDONLY);
    printf("%d\\n", file);
    lseek(file, 1234, SEEK_SET);
    lseek(file, -1, SEEK_SET);
    syscall(SYS_splice, 1, 2, 3, 4, 5, 6);
    return 0;
}
"""

def arguments_results_and_errors_are_those_of_the_calls(t):
    program = program_of(t, "argumentsonly", CALLS)
    mine = '/execname == "argumentsonly"/'
    with recorder(t, f'syscall::lseek:,syscall::splice: {mine} {{ printf("%s %s %d %d %d %d\\n", probefunc, probename, '
                  '(int)arg0, (int)arg1, (int)arg2, errno); } '
                  f'syscall::lseek:return {mine} {{ printf("args %d\\n", args[0]); }} '
                  f'syscall::splice:entry {mine} {{ self->last = arg3 * 100 + arg4 * 10 + arg5; }} '
                  'syscall::splice:return /self->last/ { printf("last %d\\n", self->last); }') as tracer:
        file = subprocess.run([program], check=True, capture_output=True, text=True).stdout.strip()
        equal(tracer.end(), [f"lseek entry {file} 1234 0 0", "lseek return 1234 1234 0 0", "args 1234",
                             f"lseek entry {file} -1 0 0", "lseek return -1 -1 0 22", "args -1",
                             "splice entry 1 2 3 0", "splice return -1 -1 0 29", "last 456"])

def every_call_is_counted_or_its_loss_is_reported(t):
    need_records(t)
    program = program_of(t, "countedonly", CALLS)
    tracer = Recorder(t, 'syscall::getppid:entry /execname == "countedonly"/ { @ = count(); } END { printa("%@d\\n", @); }')
    with held(tracer.process):
        subprocess.run([program, "many"], check=True)
        tracer.process.send_signal(signal.SIGINT)
        out, errors = tracer.process.communicate(timeout=60)
        lost = re.search(r"(\d+) of \d+ of the kernel's records were lost", errors)
        equal(int(out.split()[0]) + (int(lost[1]) if lost else 0) >= 300000, True, out + errors)
        equal(int(out.split()[0]) <= 300000, True, out)

def every_program_is_recorded_with_its_arguments(t):
    short, long = copy_of(t, "/bin/true", "shortonly"), copy_of(t, "/bin/sleep", "longonly")
    with recorder(t, 'proc:::exec-success /execname == "shortonly" || execname == "longonly"/ '
                  '{ printf("%d %d %s [%s]\\n", ppid, uid, execname, curpsinfo->pr_psargs); }') as tracer:
        shell = subprocess.Popen(["sh", "-c", f'i=0; while [ $i -lt 100 ]; do {short} "$i" "a  b"; {long} "0.01$i"; '
                                  'i=$((i+1)); done'])
        equal(shell.wait(timeout=60), 0)
        lines = tracer.end()
    of = {name: [line.split(" ", 3)[3] for line in lines if line.split()[2] == name] for name in ("shortonly", "longonly")}
    equal(of["longonly"], [f"[{long} 0.01{i}]" for i in range(100)], lines)
    # Only the path of a program may be known if its process has already exited.
    complete = [f"[{short} {i} a  b]" for i in range(100)]
    equal([got for got, want in zip(of["shortonly"], complete, strict=True) if got not in (want, f"[{short}]")], [], lines)
    n_complete = len(set(of["shortonly"]) & set(complete))
    equal(n_complete > 50, True, f"{n_complete} of 100 with arguments")
    equal({tuple(line.split()[:2]) for line in lines if line.split()[2] == "longonly"}, {(str(shell.pid), str(os.geteuid()))})

LIVES = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void caught(int number) { (void)number; }
static void* run(void* none) { return none; }
int main(int argc, char** argv)
{
    pthread_t thread;
    if (argc > 1)
        *(volatile int*)16 = 1;
    signal(SIGUSR1, caught);
    signal(SIGUSR2, SIG_IGN);
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
    pid_t child = fork();
    if (child == 0)
        execl(argv[0], argv[0], "fails", NULL);
    waitpid(child, 0, 0);
    printf("%d %d\\n", getpid(), child);
    return 3;
}
"""

def lives_of_processes_and_threads_are_recorded(t):
    program = program_of(t, "livesonly", LIVES)
    mine = '/execname == "livesonly"/'
    with recorder(t, f'proc:::create {mine} {{ printf("%d create %d\\n", pid, args[0]->pr_pid); }} '
                  f'proc:::start, proc:::lwp-start, proc:::exec-success, proc:::lwp-exit {mine} '
                  '{ printf("%d %s %d\\n", pid, probename, tid != pid); } '
                  f'proc:::lwp-create {mine} {{ printf("%d lwp-create %d\\n", pid, args[1]->pr_pid); }} '
                  f'proc:::exit {mine} {{ printf("%d exit %d\\n", pid, args[0]); }} '
                  f'proc:::signal-send {mine} {{ printf("%d send %d %d\\n", pid, args[2], args[1]->pr_pid); }} '
                  f'proc:::signal-discard {mine} {{ printf("%d discard %d\\n", pid, args[2]); }} '
                  f'proc:::signal-handle {mine} {{ printf("%d handle %d %d\\n", pid, args[0], args[2] != 0); }} '
                  f'proc:::fault {mine} {{ printf("%d fault %d %d\\n", pid, args[0], args[1]->si_code); }}') as tracer:
        parent, child = subprocess.run([program], capture_output=True, text=True).stdout.split()
        lines = tracer.end()
    of = {pid: [line[len(pid) + 1:] for line in lines if line.startswith(pid + " ")] for pid in (parent, child)}
    equal(of[parent], ["exec-success 0", f"lwp-create {parent}", "lwp-start 1", "lwp-exit 1", f"send 10 {parent}",
                       "handle 10 1", f"send 12 {parent}", "discard 12", f"create {child}", "exit 1", "lwp-exit 0",
                       f"send 17 {os.getpid()}", "discard 17"], lines)
    # The child executes the program again, and is ended by its fault.
    equal(of[child], ["start 0", "lwp-start 0", "exec-success 0", "fault 6 1", f"send 11 {child}", "handle 11 0", "exit 2",
                      "lwp-exit 0", f"send 17 {parent}", "discard 17"], lines)

THREADED_ENDS = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void* run(void* none) { pause(); return none; }
int main(int argc, char** argv)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, 0, run, 0);
    if (argc > 1 && !strcmp(argv[1], "execs"))
        execl(argv[0], argv[0], "again", NULL);
    if (argc > 1 && !strcmp(argv[1], "waits"))
        pause();
    exit(0);
}
"""

def the_end_of_a_process_with_threads_has_the_right_reason(t):
    """The kernel delivers SIGKILL to the other threads, whatever the reason is."""
    program = program_of(t, "threadedonly", THREADED_ENDS)
    with held(subprocess.Popen([program, "waits"])) as older, \
         recorder(t, 'proc:::exit, proc:::signal-handle /execname == "threadedonly"/ { printf("%d %s %d\\n", pid, probename, '
                  f'args[0]); }} proc:::signal-send /args[1]->pr_pid == {older.pid}/ {{ printf("%d sent %d\\n", args[1]->pr_pid, '
                  'args[2]); }') as tracer:
        pids = []
        for how in ("exits", "execs"):
            process = subprocess.Popen([program, how])
            equal(process.wait(timeout=20), 0, how)
            pids.append(process.pid)
        older.send_signal(signal.SIGTERM)
        older.wait(timeout=20)
        lines = tracer.end()
    of = {pid: [line.split(" ", 1)[1] for line in lines if line.startswith(f"{pid} ")] for pid in (*pids, older.pid)}
    for pid in pids:
        equal(of[pid], ["exit 1"], lines)
    equal(of[older.pid], ["sent 15", "signal-handle 15", "exit 2"], lines)

def threads_that_exit_leave_their_cpu_with_their_ids(t):
    program = program_of(t, "threadsonly", THREADED_ENDS.replace("pause(); return", "return").replace("i < 3", "i < 300")
                         .replace("pthread_create(&thread, 0, run, 0);", "if (!pthread_create(&thread, 0, run, 0)) "
                                  "pthread_join(thread, 0);"))
    with recorder(t, 'sched:::on-cpu /execname == "threadsonly"/ { self->on = 1; } sched:::off-cpu /self->on/ { self->on = 0; '
                  '@n = count(); } sched:::off-cpu /tid < 0 || pid < 0/ { @wrong = count(); } '
                  'END { printa("off %@d\\n", @n); printa("wrong %@d\\n", @wrong); }') as tracer:
        subprocess.run([program], check=True)
        lines = tracer.end()
    equal([line for line in lines if line.startswith("wrong")], [], lines)
    equal(int(lines[0].split()[1]) > 200, True, lines)

SLEEPER = r"""
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#define OWN __attribute__((noinline))
static volatile long sum;
static OWN void inner(void)
{
    struct timespec time = {0, 5000000};
    nanosleep(&time, 0);
    sum++;
}
static OWN void outer(void) { inner(); sum++; }
int main(void)
{
    char byte;
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 400; i++)
        outer();
    puts("done");
    fflush(stdout);
    return read(0, &byte, 1) < 0;
}
"""

@contextlib.contextmanager
def sleeper(t):
    need_records(t)
    program = program_of(t, "sleeperonly", SLEEPER, "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
    with held(subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as process:
        ready(process)
        yield process

def switches_have_the_stacks_of_the_thread(t):
    with sleeper(t) as process, \
         recorder(t, f"sched:::off-cpu /pid == {process.pid}/ {{ @[ustack(), stack()] = count(); }}") as tracer:
        time.sleep(0.5)
        text = "\n".join(tracer.end())
        for name in ("inner", "outer", "main"):
            contains(text, f"sleeperonly`{name}+")
        contains(text, "vmlinux`schedule")

def a_thread_that_sleeps_is_woken_and_runs_as_often(t):
    with busy_cpus(t), sleeper(t) as process, \
         recorder(t, f"sched:::wakeup /args[1]->pr_pid == {process.pid}/ {{ @n[\"wakeup\"] = count(); "
                  "@names[args[1]->pr_fname, args[0]->pr_name] = count(); } "
                  f"sched:::sleep /pid == {process.pid}/ {{ @n[\"sleep\"] = count(); }} "
                  f"sched:::on-cpu /pid == {process.pid}/ {{ @n[\"on\"] = count(); self->on = timestamp; }} "
                  f"sched:::off-cpu /pid == {process.pid}/ {{ @n[\"off\"] = count(); }} "
                  "sched:::off-cpu /self->on/ { @time = sum(timestamp - self->on); @wrong = sum(timestamp < self->on); "
                  "self->on = 0; } "
                  'END { printa("%s %@d\\n", @n); printa("names %s %s\\n", @names); printa("time %@d %@d\\n", @time, @wrong); }') as tracer:
        time.sleep(1)
        lines = tracer.end()
        n = {name: int(count) for name, count in re.findall(r"^(\w+) (\d+)$", "\n".join(lines), re.M)}
        equal(n["sleep"] > 20, True, lines)
        # The kernel may record nothing when the thread is woken on an idle CPU.
        equal(n["sleep"] * 0.9 - 1 <= n["wakeup"] <= n["sleep"] + 1, True, lines)
        equal(n["off"] * 0.9 - 1 <= n["on"] <= n["off"] + 1, True, lines)
        contains(lines, "names sleeperonly sleeperonly")
        spent, wrong = map(int, re.findall(r"^time (\d+) (\d+)$", "\n".join(lines), re.M)[0])
        equal((0 < spent < 10**9, wrong), (True, 0), lines)

def transfers_have_their_size_and_device(t):
    need_records(t)
    device = os.stat(t.scratch).st_dev
    if not os.path.exists(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"):
        raise Skip("the test's folder is not on a block device")
    writer = ["dd", "if=/dev/zero", f"of={t.scratch}/file", "bs=16k", "count=50", "oflag=direct"]
    with busy_cpus(t), \
         recorder(t, "io:::start /execname == \"dd\" && args[0]->b_flags & B_WRITE && args[0]->b_bcount == 16384/ "
                  "{ began[arg0] = timestamp; @[args[1]->dev_statname, args[1]->dev_major, args[1]->dev_minor] = count(); } "
                  "io:::done /began[arg0]/ { @n = count(); @wrong = sum(timestamp < began[arg0] || args[0]->b_error || "
                  "args[0]->b_bcount != 16384); began[arg0] = 0; } "
                  'END { printa("%s %d %d %@d\\n", @); printa("done %@d %@d\\n", @n, @wrong); }') as tracer:
        if subprocess.run(writer, capture_output=True).returncode != 0:
            raise Skip("direct I/O is not possible in the test's folder")
        lines = tracer.end()
    name, major, minor, n = lines[0].split()
    with open(f"/sys/dev/block/{major}:{minor}/uevent") as file:
        contains(file.read(), f"DEVNAME={name}\n")
    equal((int(n) >= 50, lines[1]), (True, f"done {n} 0"), lines)

def clauses_that_need_the_process_are_rejected(t):
    need_records(t)
    later = "cannot be used, because the clause runs after the kernel has recorded the event"
    targets = "; name processes with -p or -c, or load the kernel module"
    for program, message in (
            ("syscall::openat:entry { trace(copyinstr(arg1)); }",
             f"syscall::openat:entry: copyin(), copyinstr() or copyinto() {later}{targets}"),
            ("syscall::read:entry { trace(fds[arg0].fi_pathname); }", f"syscall::read:entry: fds[] {later}{targets}"),
            ("proc:::exit /vtimestamp > 5/ { exit(0); }", f"proc:::exit: vtimestamp {later}{targets}"),
            ("sched:::off-cpu { raise(9); }",
             f"sched:::off-cpu: an action such as raise(), stop() or copyout() {later}; load the kernel module"),
            ("sched:::on-cpu { @[ustack()] = count(); }",
             "sched:::on-cpu: stacks and registers cannot be used, because the kernel records those of another thread; load"),
            ("proc:::start { trace(uregs[R_RIP]); }",
             f"proc:::start: stacks and registers cannot be used, because the kernel records those of another thread{targets}")):
        done = t.run("-wqn", program, "-n", "tick-10ms { exit(0); }")
        equal((done.returncode, done.stdout), (1, ""), program)
        contains(done.stderr, message)

def requests_have_the_stack_of_the_process_that_starts_them(t):
    need_records(t)
    done = t.run("-qn", "io:::start { @[ustack(), stack(), uregs[R_RIP]] = count(); } tick-10ms { exit(0); }")
    equal((done.returncode, done.stderr), (0, ""))

def probes_that_are_not_recorded_are_named(t):
    need_records(t)
    done = t.run("-n", "sched:::enqueue")
    equal(done.returncode, 1)
    contains(done.stderr, "without the kernel module, the sched provider has fewer probes, which dtrace -l -P sched lists; ")
    for misspelled, hint in (("sched:::offcpu", "off-cpu"), ("io:::strt", "start"), ("syscall::opn:entry", "open"),
                             ("syscall::read:entri", "entry"), ("proc:::exec-succes", "exec-success")):
        done = t.run("-n", misspelled)
        equal(done.returncode, 1)
        contains(done.stderr, f"does not match any probes (did you mean {hint}?)")
    for provider, want in (("sched", {"off-cpu", "on-cpu", "preempt", "sleep", "wakeup"}), ("io", {"done", "start"})):
        listed = t.run("-lP", provider).stdout.splitlines()[1:]
        equal({line.split()[-1] for line in listed}, want, provider)
    listed = t.run("-lvn", "sched:::off-cpu").stdout
    contains(listed, "args[0]: lwpsinfo_t *")
    contains(listed, "args[1]: psinfo_t *")

def events_of_a_target_and_of_the_machine_are_counted_in_one_program(t):
    need_records(t)
    program = program_of(t, "bothonly", SLEEPER.replace("400", "50"))
    done = good(t.run("-qn", "pid$target:a.out:inner:entry { @n = count(); } sched:::off-cpu /pid == $target/ { @off = count(); } "
                      "syscall::clock_nanosleep:entry { @calls = count(); } "
                      'END { printa("calls %@d %@d %@d\\n", @n, @off, @calls); }', "-c", str(program)))
    n, off, calls = map(int, re.findall(r"^calls (\d+) (\d+) (\d+)$", done.stdout, re.M)[0])
    equal((n, calls, off >= 50), (50, 50, True), done.stdout)

def without_rights_the_message_says_what_is_missing(t):
    need_records(t)
    done = subprocess.run([*as_nobody(), t.dtrace, "-en", "sched:::off-cpu"], capture_output=True, text=True, cwd="/")
    if done.returncode == 0:
        raise Skip("any user may record all processes")
    contains(done.stderr, "the sched provider needs root, CAP_PERFMON with a readable tracefs, or the kernel module: ")

if __name__ == "__main__":
    main(tests_in(globals(), need_records, sleeper))
