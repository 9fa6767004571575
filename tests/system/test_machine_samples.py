#!/usr/bin/env python3
"""Tests profile-N without the kernel module and without a target: samples of all processes (perf_event_open(2))."""
import contextlib, os, re, subprocess

from harness import *
from traced import good

# Uses the CPU until its stdin ends: main() -> outer() -> inner(), without frame pointers. With an argument, inner() runs
# in a signal handler that has interrupted outer().
BUSY = r"""
#include <poll.h>
#include <signal.h>
#include <unistd.h>
static volatile long sum;
static int ended(void)
{
    struct pollfd in = {0, POLLIN, 0};
    return poll(&in, 1, 0) > 0;
}
__attribute__((noinline)) static void inner(void)
{
    for (long i = 0; i < 100000000 && (i % 1000000 || !ended()); i++)
        sum += i;
}
static void on_signal(int number) { (void)number; inner(); }
__attribute__((noinline)) static void outer(int by_signal)
{
    volatile char place[5000];
    for (int i = 0; i < 5000; i++)
        place[i] = (char)sum;
    if (by_signal)
        raise(SIGUSR1);
    else
        inner();
    sum += place[17];
}
int main(int argc, char** argv)
{
    (void)argv;
    signal(SIGUSR1, on_signal);
    while (!ended())
        outer(argc > 1);
    return 0;
}
"""

def without_module(t=None):
    """Skips the test if the kernel module samples, or if `t` is given and this user may not sample all processes."""
    if os.path.exists("/dev/dtrace"):
        raise Skip("the kernel module is loaded")
    if t and "only dtrace itself" in t.run("-qn", "profile-97 { @ = count(); } tick-10ms { exit(0); }").stderr:
        raise Skip("perf_event_open() is not permitted here")

def build(t, name="busysample"):
    need("gcc")
    source, program = t.scratch / f"{name}.c", t.scratch / name
    source.write_text(BUSY)
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", program, source],
                   check=True)
    return program

def busy(t, *arguments):
    without_module(t)
    return held(subprocess.Popen([build(t), *arguments], stdin=subprocess.PIPE))

@contextlib.contextmanager
def busy_cpus(t):
    """Runs the busy program on each CPU, because some kernels take no samples of an idle CPU."""
    with contextlib.ExitStack() as all_of_them:
        for cpu in os.sched_getaffinity(0):
            process = all_of_them.enter_context(busy(t))
            os.sched_setaffinity(process.pid, {cpu})
        yield process

def all_processes_are_sampled_by_name_and_place(t):
    with busy_cpus(t) as process:
        done = good(t.run("-qn", 'profile-499 { @n[execname, pid] = count(); @places[(arg0 != 0) + (arg1 != 0)] = count(); '
                          '@cpus[cpu] = count(); } tick-2s { exit(0); } END { printa("%s %d %@d\\n", @n); '
                          'printa("places %d %@d\\n", @places); printa("cpu %d\\n", @cpus); }'))
        samples = dict(re.findall(r"^(busysample \d+) (\d+)$", done.stdout, re.M))
        n = int(samples.get(f"busysample {process.pid}", 0))
        equal(n > 100, True, f"{n} samples of the busy process: {done.stdout}")
        equal(re.findall(r"^places (\d+)", done.stdout, re.M), ["1"], "the number of program counters in each sample")
        cpus = {int(cpu) for cpu in re.findall(r"^cpu (\d+)", done.stdout, re.M)}
        equal(cpus, os.sched_getaffinity(0), "the sampled CPUs")

def user_stacks_need_no_frame_pointers(t):
    for arguments, frames in (((), ["inner", "outer", "main"]), (("signal",), ["inner", "on_signal", "outer", "main"])):
        with busy(t, *arguments) as process:
            done = good(t.run("-qn", f"profile-499 /pid == {process.pid} && arg1/ {{ @[ustack()] = count(); }} "
                              "tick-1s { trunc(@, 1); exit(0); }"))
            found = [name for name in re.findall(r"busysample`(\w+)", done.stdout) if name != "_start"]
            equal(found, frames, f"the most frequent stack: {done.stdout}")
            contains(done.stdout, "__libc_start_main")

def samples_of_a_function_have_one_row(t):
    with busy(t) as process:
        done = good(t.run("-qn", f"profile-499 /pid == {process.pid} && arg1/ {{ @f[ufunc(arg1)] = count(); "
                          "@m[umod(arg1)] = count(); @a[uaddr(arg1)] = count(); } "
                          f"profile-499 /pid == {process.pid} && arg0/ {{ @k[mod(arg0)] = count(); @s[func(arg0)] = count(); }} "
                          "tick-1500ms { exit(0); }"))
        names = [line.split()[0] for line in done.stdout.splitlines() if line]
        plain = [name for name in names if "+" not in name]
        equal(sorted(plain), sorted(set(plain)), f"the names of functions and modules: {done.stdout}")
        equal({"busysample`inner", "busysample"} <= set(plain), True, done.stdout)
        equal(len([name for name in names if name.startswith("busysample`inner+")]) > 1, True, "addresses keep their rows")

def kernel_stacks_are_recorded_without_the_module(t):
    without_module(t)
    reader = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"], stderr=subprocess.DEVNULL)
    with held(reader):
        done = good(t.run("-qn", f"profile-499 /pid == {reader.pid} && arg0 && stackdepth > 2/ {{ @[stack()] = count(); "
                          "@callers[caller != 0] = count(); } tick-2s { trunc(@, 1); exit(0); } "
                          'END { printa(@); printa("caller %d %@d\\n", @callers); }'))
        contains(done.stdout, "vfs_read")
        equal(re.findall(r"^caller (\d)", done.stdout, re.M), ["1"], done.stdout)
    done = t.run("-qn", "tick-10ms { stack(); exit(0); }")
    equal(done.returncode, 1, "stack() in a probe that takes no sample")
    contains(done.stderr, "stack( ) needs the dtrace kernel module")

def processes_that_have_exited_keep_their_names(t):
    without_module(t)
    program = build(t, "shortlived")
    script = f"for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05 | {program}; done"
    with t.start("-qn", 'profile-997 { @[execname] = count(); } BEGIN { printf("ready\\n"); } '
                 'END { printa("%s\\n", @); }') as dtrace:
        with held(dtrace):
            equal(dtrace.stdout.readline(), "ready\n")
            subprocess.run(["sh", "-c", script], check=True)
            dtrace.send_signal(2)
            out, errors = dtrace.communicate(timeout=30)
    equal((dtrace.returncode, errors), (0, ""))
    contains(out.splitlines(), "shortlived")

def a_clause_sees_the_time_and_the_registers_of_the_sample(t):
    with busy(t) as process:
        done = good(t.run("-qn", f"self uint64_t before; profile-199 /pid == {process.pid}/ {{ self->n++; @n = max(self->n); "
                          "@wrong = sum(timestamp <= self->before); self->before = timestamp; "
                          "@registers[arg1 != 0 && arg1 != uregs[R_RIP]] = count(); @uids[uid, ppid] = count(); "
                          "@depth = max(ustackdepth); @progeny[progenyof(pid), progenyof(ppid), progenyof(999999)] = count(); "
                          "} tick-1s { exit(0); } END { printa(\"%@d %@d %@d\\n\", @n, @wrong, @depth); "
                          'printa("registers %d\\n", @registers); printa("uid %d %d\\n", @uids); '
                          'printa("progeny %d %d %d\\n", @progeny); }'))
        n, wrong, depth = map(int, done.stdout.splitlines()[0].split())
        equal((n > 20, wrong, depth >= 4), (True, 0, True), done.stdout)
        equal(re.findall(r"^registers (\d)$", done.stdout, re.M), ["0"], done.stdout)
        contains(done.stdout, f"uid {os.geteuid()} {os.getpid()}")
        contains(done.stdout, "progeny 1 1 0")

def only_the_selected_cpu_is_sampled(t):
    last = max(os.sched_getaffinity(0))
    with busy_cpus(t):
        done = good(t.run("-x", f"cpu={last}", "-qn", 'profile-199 { @[cpu] = count(); } tick-1s { exit(0); } '
                          'END { printa("%d\\n", @); }'))
    equal(done.stdout.split(), [str(last)])

def several_rates_are_sampled_independently(t):
    without_module(t)
    done = good(t.run("-qn", 'profile-499 { @n["fast"] = count(); } profile-99 { @n["slow"] = count(); } '
                      'tick-2s { exit(0); } END { printa("%s %@d\\n", @n); }'))
    found = {name: int(n) for name, n in re.findall(r"^(\w+) (\d+)$", done.stdout, re.M)}
    equal(3 < found["fast"] / found["slow"] < 7, True, done.stdout)

def the_stack_is_the_only_user_memory(t):
    with busy(t) as process:
        done = t.run("-qn", f"profile-199 /pid == {process.pid} && arg1 && ustackdepth/ {{ @[*(long *)copyin(uregs[R_RSP], 8) != 0] = count(); "
                     "trace(copyinstr(uregs[R_RIP])); } tick-500ms { exit(0); } END { printa(\"stack %d\\n\", @); }")
        contains(done.stdout, "stack ")
        contains(done.stderr, "invalid address")

def actions_that_change_a_process_are_refused(t):
    without_module(t)
    for action in ("stop()", "raise(9)", "copyout(alloca(8), 0, 8)"):
        done = t.run("-wqn", f"profile-97 /pid == $pid/ {{ {action}; }}")
        equal(done.returncode, 1, action)
        contains(done.stderr, "profile-97: actions such as raise(), stop() and copyout() are not possible")
    done = t.run("-wqn", "profile-97 { @ = count(); } tick-50ms { system(\"echo works\"); exit(0); }")
    equal((done.returncode, done.stdout.split()[0]), (0, "works"), done.stderr)

def a_user_who_may_not_sample_is_told_what_is_missing(t):
    without_module()
    user = as_nobody()
    with open("/proc/sys/kernel/perf_event_paranoid") as file:
        if int(file.read()) <= 0:
            raise Skip("any user may sample all processes")
    done = subprocess.run([*user, t.dtrace, "-qn", "profile-97 { @[execname] = count(); } tick-50ms { exit(0); }"],
                          capture_output=True, text=True, timeout=60, cwd="/")
    equal(done.returncode, 0, done.stderr)
    equal(done.stderr, "dtrace: profile-97: only dtrace itself is sampled; sampling all processes requires root, "
          "CAP_PERFMON, kernel.perf_event_paranoid of 0 or less, or the kernel module, and sampling a process requires "
          "-p or -c\n")

if __name__ == "__main__":
    main(tests_in(globals()))
