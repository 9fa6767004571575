#!/usr/bin/env python3
"""pid and USDT probes by uprobes, in machines of their own on Debian's kernels: each kernel is
booted once, does all that STORY says, and each test looks at its part of what came."""
import concurrent.futures, functools, re, subprocess

from harness import *
from test_vm import KERNELS, fetched, in_vm, kernels

ROOT = HERE.parent.parent

# "== NAME" begins a part of the output.
STORY = r"""
part() { echo "== $1"; }
ours() { ./dtrace -q -x mechanism=uprobe "$@"; }
begin_tracing() {
    rm -f begun
    ./dtrace -q -x mechanism=uprobe -n "BEGIN { printf(\"begun\n\"); } $2 { @ = count(); }" -p $1 >begun 7>&- 8>&- 9>&- &
    dtrace=$!
    until grep -q begun begun; do sleep 0.1; done 2>/dev/null
}
stop_tracing() {
    kill -$1 $dtrace
    wait $dtrace 2>/dev/null
}
part unloaded
ours -n 'pid$target:a.out:work:entry' -c './uprobed 1' 2>&1
echo "status $?"
insmod dtrace.ko

part begin
ours -n 'BEGIN { printf("%s\n", execname); exit(0); }'
part counts
ours -s counts.d -c './uprobed 1000'
part stacks
ours -n 'pid$target:a.out:work:entry { @a[ustack(3)] = count(); @b[ufunc(ucaller)] = count(); }
    pid$target:a.out:many:return { @c[ustack(3)] = count(); }
    pid$target:a.out:either:entry { @d[uregs[R_RDI]] = sum(1); }' -c './uprobed 2'
part libc
ours -x debug -n 'pid$target:libc.so.6::entry { @[probefunc] = count(); }' -c './uprobed 1000' 2>libc.err
grep -o 'no uprobe for [^ ]*' libc.err
part libc.injected
./dtrace -qn 'pid$target:libc.so.6::entry { @[probefunc] = count(); }' -c './uprobed 1000' 2>/dev/null
part threads
sleep 2 | ours -n 'pid$target:a.out:work:return { @["calls"] = count(); }
    pid$target:a.out:work:entry { @entries = count(); }' -c './waiter 4' 2>&1
part mixed
./dtrace -qn 'pid$target:a.out:work:entry { @["work"] = count(); }
    syscall::write:entry /pid == $target/ { @["write"] = count(); }' -c './uprobed 1000'

for program in kinds kinds_semaphores; do
    part $program.itself
    ours -o $program.out -s kinds.d -c "./$program 40" >$program.itself 2>/dev/null
    cat $program.itself
    part $program
    cat $program.out
done
part semaphores
mkfifo hold
./kinds_semaphores 3 fork wait <hold >/dev/null 2>semaphores & victim=$!
exec 9>hold
sleep 0.5
begin_tracing $victim 'kinds*:::none, kinds*:::small'
echo >&9
wait $victim
tail -1 semaphores
stop_tracing INT
./kinds_semaphores 3 fork wait </dev/null 2>&1 >/dev/null | tail -1

part forked
ours -n 'pid$target::work:entry { @[pid == $target] = count(); }' -c './forker 20'
part followed
ours -x follow=fork -n 'pid$target::work:entry { @[pid == $target] = count(); }' -c './forker 20'
part libraries
ours -Zn 'pid$target:plugin.so:plugin_work:entry { @ = count(); }' -c './dlopener ./plugin.so 5 100'

part neighbours
mkfifo one two
./uprobed <one >said & first=$!
exec 7>one
./uprobed <two >/dev/null & second=$!
exec 8>two
ours -n 'pid$target:a.out:work:entry { @[pid == $target] = count(); } tick-300ms { exit(0); }' -p $first |
    awk 'NF { print $1, ($2 > 0) }'
part killed
ask() { echo >&7; sleep 0.4; tail -1 said; }
begin_tracing $first 'pid$target:a.out:work:entry'
ask
stop_tracing KILL
sleep 0.5
ask
ask
grep -c . /proc/$first/maps >/dev/null && echo lives
exec 7>&- 8>&-
wait $first $second
part requests
for seed in 1 2 3; do ./uprobe_requests $seed; done
part unloading
rmmod dtrace && echo gone
part kernel
dmesg | grep -E 'WARNING|BUG|Oops|Call Trace'
part end
"""

COUNTS = r"""
pid$target:a.out:work:entry { @n["entries"] = count(); @s["arg0"] = sum(arg0); }
pid$target:a.out:work:return { @n["returns"] = count(); @s["arg1"] = sum(arg1); }
pid$target:a.out:either:entry { @n["either"] = count(); }
pid$target:a.out:either:return { @jumped[arg0 == 4] = count(); @values[arg0 == 4 ? 0 : arg1] = count(); }
pid$target:a.out:tail:entry { @n["tail"] = count(); }
pid$target:a.out:many:entry { @many[arg0, arg5, arg6] = count(); @s["arg7"] = sum(arg7); }
pid$target:a.out:many:0 { @n["offset"] = count(); }
pid$target:a.out:say:entry { @texts[copyinstr(arg0)] = count(); }
"""

def compiled(t, out, *flags):
    need("gcc")
    subprocess.run(["gcc", "-O1", "-g", *flags, f"-I{ROOT}/usdt/include", ROOT / "tests/victims/usdt/kinds.c",
                    "-o", out], check=True)
    return str(out)

@functools.cache
def static_probes(t):
    return compiled(t, t.scratch / "kinds"), compiled(t, t.scratch / "kinds_semaphores", "-DSEMAPHORES")

def story(t, kernel):
    """What came in each part."""
    came = told(t, kernel)
    if "end" not in came:
        raise AssertionError(f"{kernel}: the story ends with {list(came)[-1:]}")
    return came

@functools.cache
def told(t, kernel):
    from test_usdt import PROGRAM
    fetched(t, kernel)
    module = t.scratch / f"kmod-{kernel}"
    made = subprocess.run([ROOT / "kmod/build", kernels(t) / kernel / "headers", module],
                          capture_output=True, text=True)
    equal(made.returncode, 0, made.stdout + made.stderr)
    (t.scratch / "counts.d").write_text(COUNTS)
    (t.scratch / "kinds.d").write_text(PROGRAM)
    (t.scratch / "story").write_text(STORY)
    files = [module / "dtrace.ko", t.dtrace, t.scratch / "counts.d", t.scratch / "kinds.d", t.scratch / "story",
             *static_probes(t), *map(t.victim, ("uprobed", "uprobe_requests", "forker", "dlopener", "waiter", "plugin.so"))]
    done = in_vm(t, "--kernel", kernel, "--timeout", "280", *(word for file in files for word in ("--file", str(file))), "sh", "story")
    parts = re.split(r"^== (\S+)\n", done.stdout, flags=re.M)
    if "end" not in parts:
        print(done.stdout[-4000:] + done.stderr[-4000:])
    return dict(zip(parts[1::2], parts[2::2]))

def of_each(t, part):
    static_probes(t)
    with concurrent.futures.ThreadPoolExecutor() as pool: # the machines run side by side
        list(pool.map(lambda kernel: story(t, kernel), KERNELS))
    return [(kernel, story(t, kernel)[part]) for kernel in KERNELS]

def each_is(t, part, want):
    """Blanks aside."""
    for kernel, got in of_each(t, part):
        equal([line.split() for line in got.splitlines() if line.strip()],
              [line.split() for line in want.splitlines() if line.strip()], f"{part} on {kernel}")

def table(text):
    return {fields[0]: int(fields[1]) for fields in map(str.split, text.splitlines())
            if len(fields) == 2 and fields[1].isdigit()}

def without_the_module_it_is_said_what_is_missing(t):
    for kernel, got in of_each(t, "unloaded"):
        contains(got, "-x mechanism=uprobe needs the kernel: the dtrace kernel module is not loaded (insmod dtrace.ko)")
        contains(got, "status 1")

def a_program_without_probes_of_processes_runs_in_the_kernel(t):
    each_is(t, "begin", "dtrace")

def every_call_is_counted_with_its_arguments_and_its_value(t):
    n = 1000
    total = sum(range(n))
    text = sum(i + 1 + 28 + i + (7 if i % 2 == 0 else 2 * i) for i in range(n))
    for kernel, got in of_each(t, "counts"):
        rows = [line.split() for line in got.splitlines() if line.strip()]
        for row in (["sum", str(text)], ["entries", "1000"], ["returns", "1000"], ["arg0", str(total)],
                    ["arg1", str(total + n)], ["either", "1000"], ["tail", "500"], ["1", "6", "7", "1000"],
                    ["arg7", str(total)], ["offset", "1000"], ["unread", "1000"],
                    ["0", "500"], ["1", "500"], ["7", "500"]):
            if row not in rows:
                raise AssertionError(f"{kernel}: no {row} in {got}")

def a_stack_has_the_caller_at_entry_and_at_return(t):
    for kernel, got in of_each(t, "stacks"):
        stacks = re.sub(r"\+0x[0-9a-f]+", "+", got)
        if not re.search(r"uprobed`work\s+uprobed`outer\+\s+uprobed`main\+\s+2\n", stacks):
            raise AssertionError(got)
        if not re.search(r"uprobed`many\+\s+uprobed`outer\+\s+uprobed`main\+\s+2\n", stacks):
            raise AssertionError(got)
        contains(re.sub(" +", " ", got), "uprobed`outer 2\n")

def every_function_of_libc_is_counted_as_by_the_runtime_in_the_process(t):
    for kernel, got in of_each(t, "libc"):
        refused = set(re.findall(r"no uprobe for pid\d+:libc.so.6:(\S+):entry", got))
        if len(refused) > 100:
            raise AssertionError(f"{kernel}: {len(refused)} functions were refused")
        injected = table(story(t, kernel)["libc.injected"])
        counted = table(re.sub("^no uprobe.*\n", "", got, flags=re.M))
        equal(counted, {name: n for name, n in injected.items() if name not in refused}, kernel)
        if len(counted) < 30:
            raise AssertionError(got)

def calls_of_many_threads_are_counted_and_what_cannot_be_probed_is_named(t):
    for kernel, got in of_each(t, "threads"):
        calls = re.findall(r"calls +(\d+)$", got, flags=re.M)
        if len(calls) != 2 or calls[0] != calls[1] or int(calls[0]) < 100:
            raise AssertionError(f"{kernel}: {got}")
        # Its first instruction has a lock prefix.
        if not re.search(r"cannot probe pid\d+:waiter:work:entry at waiter`work: "
                         r"the kernel cannot step over its instruction", got):
            raise AssertionError(f"{kernel}: {got}")

def probes_of_processes_and_of_the_kernel_are_one_program(t):
    for kernel, got in of_each(t, "mixed"):
        equal({name: n for name, n in table(got).items() if name != "sum"}, {"work": 1000, "write": 1}, kernel)

def arguments_of_static_probes_are_what_the_program_says(t):
    for program in ("kinds", "kinds_semaphores"):
        for kernel, got in of_each(t, program):
            equal(got.strip(), story(t, kernel)[program + ".itself"].strip(), f"{program} on {kernel}")
            equal(got.count("twelve"), 40, kernel)

def semaphores_are_raised_meanwhile_and_lowered_afterwards(t):
    each_is(t, "semaphores", "semaphores 1 1 0\nsemaphores 0 0 0")

def a_child_is_traced_when_that_is_asked_for(t):
    each_is(t, "forked", "children 20 good 20\n1 20")
    each_is(t, "followed", "children 20 good 20\n1 20\n0 2000")

def a_library_that_comes_and_goes_is_traced_each_time(t):
    each_is(t, "libraries", "sum 25250\n505")

def another_process_of_the_same_program_is_not_counted(t):
    each_is(t, "neighbours", "1 1")

def a_dtrace_that_is_killed_leaves_the_text_as_it_was(t):
    for kernel, got in of_each(t, "killed"):
        traced, first, second, lives = got.splitlines()
        equal((traced, lives), ("goes on cc", "lives"), kernel)
        equal(first, second, kernel)
        if first == traced or not first.startswith("goes on"):
            raise AssertionError(got)

REQUESTS = """right: 0
no file: -9
a device: -22
a folder: -22
a pipe: -22
itself: -22
behind the end: -22
no offset: -22
no process: -3
a negative process: -22
an unknown flag: -22
an unknown condition: -22
an odd semaphore: -22
a semaphore behind the end: -22
too many operands: -22
operands of the kernel: -14
an unknown register: -22
operands of a function: -22
nowhere: -14
some served: 1
sum 5050
"""

def requests_that_make_no_sense_are_refused(t):
    each_is(t, "requests", 3 * REQUESTS)

def the_module_can_go_afterwards_and_the_kernel_has_not_complained(t):
    each_is(t, "unloading", "gone")
    each_is(t, "kernel", "")

if __name__ == "__main__":
    main(tests_in(globals(), static_probes, in_vm, fetched, kernels, compiled, story, told, of_each, each_is, table))
