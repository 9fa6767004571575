#!/usr/bin/env python3
"""Tests the values that a probe can read when it fires: arguments, stacks, symbols, ids and times."""
import os, pathlib, re, subprocess, time

from harness import *
from traced import *

def ten_arguments_are_right_including_those_on_the_stack(t):
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

def return_probes_have_offset_and_value(t):
    done = good(t.run("-qn", 'pid$target:a.out:tell:return { printf("value %d offset %x\\n", arg1, arg0); '
                      "} pid$target:a.out:tell: { @[probename] = count(); }",
                      "-c", t.victim("facts")))
    offset = re.search(r"value -12345 offset ([0-9a-f]+)\n", done.stdout).group(1)
    # An offset probe must have fired at the same instruction.
    contains(done.stdout, f"  {offset} ")

def offset_probes_fire_at_their_instruction(t):
    done = good(t.run("-qn", 'pid$target:a.out:work:0 { @["zero"] = count(); } '
                      'pid$target:a.out:work:entry { self->at = uregs[R_PC]; @["entry"] = count(); } '
                      "pid$target:a.out:work:* /self->at && uregs[R_PC] != self->at + "
                      'strtoll(probename, 16) && probename != "entry" && probename != "return"/ '
                      '{ @["elsewhere"] = count(); }',
                      "-c", t.victim("spin") + " 100 1"))
    equal(table(done.stdout), {"zero": 100, "entry": 100}, "firings")

def clauses_of_one_probe_run_in_their_order(t):
    for engine in ("", "this->y = 1; "):
        done = good(t.run("-qn", "pid$target:a.out:work:entry { self->n++; @a = count(); } "
                          "pid$target:a.out:work:entry /self->n % 2/ { @b[probefunc] = count(); } "
                          f"pid$target:a.out:work:entry {{ {engine}@c[self->n & 3] = sum(self->n); }} "
                          "pid$target:a.out:work:entry /self->n == 77/ { trace(self->n); } "
                          'END { printa("a %@d\\n", @a); printa("b %s %@d\\n", @b); '
                          'printa("c %d %@d\\n", @c); }',
                          "-c", t.victim("spin") + " 100 1"))
        for line in ("77", "a 100", "b work 50", "c 0 1300", "c 1 1225", "c 2 1250", "c 3 1275"):
            contains(done.stdout, line)

def an_offset_outside_the_function_is_refused(t):
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
              counts, f"calls to {pattern}")

def stacks_of_cxx_programs_are_demangled(t):
    done = good(t.run("-qn", "pid$target:a.out:_ZNK6shapes6Circle4areaEi:entry { @[ustack()] = count(); }",
                      "-c", t.victim("shapes")))
    contains(done.stdout, "              shapes`shapes::Circle::area(int) const\n")
    contains(done.stdout, "              shapes`main+0x")

def the_stack_is_complete_at_entry_and_at_return(t):
    for name, first in (("entry", r"innermost"), ("return", r"innermost\+0x[0-9a-f]+")):
        done = good(t.run("-qn", f"pid$target:a.out:innermost:{name} {{ ustack(); }}",
                          "-c", t.victim("facts")))
        if not re.search(rf"^ {{14}}facts`{first}\n {{14}}facts`inner\+0x[0-9a-f]+\n"
                         r" {14}facts`outer\+0x[0-9a-f]+\n {14}facts`main\+0x[0-9a-f]+\n"
                         r" {14}libc\.so\.6`__libc_start", done.stdout, re.M):
            raise AssertionError(done.stdout)

def a_stack_has_the_requested_depth(t):
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

def the_ids_of_dtrace_itself_are_the_effective_ones(t):
    """BEGIN, END and tick probes fire in dtrace itself. In this test, its real and effective ids differ."""
    need("setpriv")
    if os.geteuid() != 0:
        raise Skip("only root may change its real ids")
    done = good(subprocess.run(["setpriv", "--ruid", "65534", "--rgid", "65534", "--clear-groups", t.dtrace, "-qn",
                                'BEGIN, tick-10ms, END { printf("%d %d\\n", uid, gid); } tick-10ms { exit(0); }'],
                               capture_output=True, text=True, timeout=60))
    equal(set(done.stdout.split("\n")) - {""}, {"0 0"})

def begin_end_and_ticks_fire_on_the_cpu_of_the_option_with_any_affinity_of_dtrace(t):
    need("taskset")
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise Skip("there is only one CPU")
    for allowed in usable[:2]:
        for wanted in usable[:2]:
            done = good(subprocess.run(["taskset", "-c", str(allowed), t.dtrace, "-x", f"cpu={wanted}", "-qn",
                                        'BEGIN, tick-10ms, END { printf("%d ", cpu); } tick-10ms { exit(0); }'],
                                       capture_output=True, text=True, timeout=60))
            equal((set(done.stdout.split()), len(done.stdout.split()) >= 3, done.stderr), ({str(wanted)}, True, ""),
                  f"started on CPU {allowed}")

def errno_is_that_of_the_target(t):
    done = good(t.run("-qn", 'pid$target:a.out:after_failure:entry { printf("errno %d %d\\n", errno, arg0); }',
                      "-c", t.victim("facts")))
    contains(done.stdout, "errno 9 9\n")

# In each run, tracing begins at the program's exec, before its C library is loaded.
def errno_is_right_in_a_program_that_is_traced_from_its_exec(t):
    program = t.scratch / "errors"
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", program], check=True, text=True, input="""#include <errno.h>
__attribute__((noinline)) void hit(void) { __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 500; i++) { errno = i % 5; hit(); } return 0; }
""")
    wrapper = t.scratch / "wrapper"
    wrapper.write_text('#!/bin/sh\nexec "$@"\n')
    wrapper.chmod(0o755)
    for flags, command in (([], f"{wrapper} {program}"), (["-x", "evaltime=exec"], str(program)),
                           (["-x", "mechanism=int3"], f"{wrapper} {program}")):
        done = good(t.run(*flags, "-Zqn", "pid$target:errors:hit:entry { @[errno] = count(); }", "-c", command))
        equal(done.stdout.split(), [word for number in range(5) for word in (str(number), "100")], str(flags))

def curpsinfo_describes_the_process(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry { "
                      'printf("%d %d %d %d %d|%s|%s\\n", curpsinfo->pr_pid == pid, '
                      "curpsinfo->pr_ppid == ppid, curpsinfo->pr_uid == uid, "
                      "curpsinfo->pr_gid == gid, curlwpsinfo->pr_lwpid == tid, "
                      "curpsinfo->pr_fname, curpsinfo->pr_psargs); }",
                      "-c", t.victim("spin") + " 1 1"))
    contains(done.stdout, f"1 1 1 1 1|spin|{t.victim('spin')} 1 1\n")

def times_never_decrease(t):
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

WAITS = r"""
#include <stdio.h>
#include <sys/resource.h>
__attribute__((noinline)) int work(int x) { __asm__ volatile(""); return x + 1; }
int main(void)
{
    struct rusage before, after;
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += work(i);
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 20000; i++)
        sum += work(i);
    getrusage(RUSAGE_SELF, &after);
    printf("waited %ld\n", after.ru_nvcsw - before.ru_nvcsw);
    return sum == 0;
}
"""
SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

def the_time_needs_no_upcall_on_a_virtual_machine(t):
    need("gcc", "unshare")
    (t.scratch / "waits.c").write_text(WAITS)
    subprocess.run(["gcc", "-O1", "-o", "waits", "waits.c"], cwd=t.scratch, check=True)
    name = pathlib.Path(SOURCE).read_text().strip()
    if name not in ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen"):
        raise Skip(f"the clock source is {name}")
    for pretended in ("kvm-clock", "one of later kernels"):
        fake = t.scratch / "current_clocksource"
        fake.write_text(pretended + "\n")
        done = subprocess.run(["unshare", "-m", "sh", "-c", f"mount --bind {fake} {SOURCE} && exec \"$@\"", "sh",
                               t.dtrace, "-qn", "pid$target:a.out:work:entry { @ = max(timestamp); @n = count(); }",
                               "-x", "debug", "-c", str(t.scratch / "waits")],
                              capture_output=True, text=True, timeout=60)
        if "unshare failed" in done.stderr or "permission denied" in done.stderr:
            raise Skip("no mount namespace can be created here")
        equal(done.returncode, 0, done.stderr)
        # Each upcall makes the thread wait once. So a large number of waits means that firings read the clock through
        # upcalls.
        waited = int(re.search(r"waited (\d+)", done.stdout).group(1))
        if waited > 2000:
            raise AssertionError(f"the thread waited {waited} times at 20,000 firings, the clock source is {pretended}")
        contains(done.stderr, f"the clock source is {pretended.split()[0]}")

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
