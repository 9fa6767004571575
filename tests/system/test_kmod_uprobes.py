#!/usr/bin/env python3
"""Tests pid and USDT probes that use uprobes, which inject nothing into the process."""
import re, subprocess

from machines import *
from test_usdt import PROGRAM as KINDS # prints every argument of tests/victims/usdt/kinds.c

def table(text):
    return {fields[0]: int(fields[1]) for fields in map(str.split, text.splitlines())
            if len(fields) == 2 and fields[1].isdigit()}

def is_said(output, *lines):
    """Checks the lines of the output. Blanks may differ."""
    equal([line.split() for line in output.lines()], [line.split() for line in lines])

def tracing(text, seconds=60):
    """Like script(), but defines shell functions. `ours` runs dtrace with uprobes. begin_tracing and stop_tracing start
    and stop such a dtrace."""
    return script("""
ours() { dtrace -q -x mechanism=uprobe "$@"; }
begin_tracing() {
    rm -f begun
    dtrace -q -x mechanism=uprobe -n "BEGIN { printf(\\"begun\\n\\"); } $2 { @ = count(); }" -p $1 >begun 7>&- 8>&- 9>&- &
    dtrace=$!
    until grep -q begun begun; do sleep 0.1; done 2>/dev/null
}
stop_tracing() {
    kill -$1 $dtrace
    wait $dtrace 2>/dev/null
}
""" + text, seconds=seconds)

@tracing("""
rmmod dtrace
ours -n 'pid$target:a.out:work:entry' -c './uprobed 1'
echo "status $?"
insmod dtrace.ko
""")
def without_the_module_the_message_names_it(output):
    contains(output.text, "-x mechanism=uprobe needs the kernel: the dtrace kernel module is not loaded; modprobe dtrace")
    contains(output.text, "status 1")

@tracing("""ours -n 'BEGIN { printf("%s\\n", execname); exit(0); }'""")
def a_program_without_probes_of_processes_runs_in_the_kernel(output):
    is_said(output, "dtrace")

@tracing("""
ours -n 'pid$target:a.out:work:entry { @n["entries"] = count(); @s["arg0"] = sum(arg0); }
pid$target:a.out:work:return { @n["returns"] = count(); @s["arg1"] = sum(arg1); }
pid$target:a.out:either:entry { @n["either"] = count(); }
pid$target:a.out:either:return { @jumped[arg0 == 4] = count(); @values[arg0 == 4 ? 0 : arg1] = count(); }
pid$target:a.out:tail:entry { @n["tail"] = count(); }
pid$target:a.out:many:entry { @many[arg0, arg5, arg6] = count(); @s["arg7"] = sum(arg7); }
pid$target:a.out:many:0 { @n["offset"] = count(); }
pid$target:a.out:say:entry { @texts[copyinstr(arg0)] = count(); }' -c './uprobed 1000'
""")
def every_call_is_counted_with_its_arguments_and_its_value(output):
    n = 1000
    total = sum(range(n))
    text = sum(i + 1 + 28 + i + (7 if i % 2 == 0 else 2 * i) for i in range(n))
    rows = [line.split() for line in output.lines()]
    for row in (["sum", str(text)], ["entries", "1000"], ["returns", "1000"], ["arg0", str(total)],
                ["arg1", str(total + n)], ["either", "1000"], ["tail", "500"], ["1", "6", "7", "1000"],
                ["arg7", str(total)], ["offset", "1000"], ["unread", "1000"],
                ["0", "500"], ["1", "500"], ["7", "500"]):
        if row not in rows:
            raise AssertionError(f"no {row}")

@tracing("""
ours -n 'pid$target:a.out:work:entry { @a[ustack(3)] = count(); @b[ufunc(ucaller)] = count(); }
    pid$target:a.out:many:return { @c[ustack(3)] = count(); }
    pid$target:a.out:either:entry { @d[uregs[R_RDI]] = sum(1); }' -c './uprobed 2'
""")
def a_stack_has_the_caller_at_entry_and_at_return(output):
    stacks = re.sub(r"\+0x[0-9a-f]+", "+", output.text)
    for frames in (r"uprobed`work\s+uprobed`outer\+\s+uprobed`main\+\s+2\n",
                   r"uprobed`many\+\s+uprobed`outer\+\s+uprobed`main\+\s+2\n", r"uprobed`outer +2\n"):
        if not re.search(frames, stacks):
            raise AssertionError(f"no {frames}")

def both_ways(clause, command):
    """Runs the clause in the kernel, and then in the runtime inside the process."""
    return tracing(f"ours -n '{clause}' -c '{command}'; echo == injected; dtrace -qn '{clause}' -c '{command}'")

def has_the_stacks_of_the_runtime(output, at_least):
    ours, _, injected = (re.sub("`0x[0-9a-f]+", "`", output.text)).partition("== injected\n")
    equal(ours, injected)
    n_stacks = len(re.findall(r"^ +\d+$", ours, flags=re.M))
    if n_stacks < at_least:
        raise AssertionError(f"{n_stacks} stacks")

@both_ways("pid$target:a.out:leaf:entry { @[ustack(30)] = count(); }", "./frames_no_fp 20")
def stacks_without_frame_pointers_are_walked_by_tables(output):
    has_the_stacks_of_the_runtime(output, 100)

@both_ways("pid$target:a.out:handled:entry { @[ustack(4)] = count(); }", "./alarms 300000")
def a_stack_in_a_handler_continues_with_the_interrupted_function(output):
    # An alarm may interrupt the dynamic linker, which has no symbols.
    ours, _, _ = output.text.partition("== injected\n")
    stacks = re.findall(r"alarms`handled\s+alarms`on_alarm\+0x[0-9a-f]+\s+libc.so.6`\S+\s+"
                        r"(?:alarms`(?:work|main)|libc.so.6`(?:\w*nanosleep|setitimer)|ld-linux-x86-64.so.2`)\S*\s+(\d+)\n", ours)
    if sum(map(int, stacks)) < 5 or len(stacks) != ours.count("alarms`handled"):
        raise AssertionError(str(stacks))

@tracing("""
dtrace -qn 'BEGIN { printf("begun\\n"); } syscall::clock_nanosleep:entry /execname == "replacer"/ { printf("stack"); ustack(20); printf("end\\n"); }
    proc:::exit /execname == "replacer"/ { exit(0); } tick-60s { exit(1); }' >stacks &
until grep -q begun stacks; do sleep 0.1; done
./replacer ./room_256.so ./room_512.so 1 300
wait $!
cat stacks
""", seconds=120)
def code_that_replaces_other_code_has_its_own_frame_rules_within_a_second(output):
    contains(output.text, "same 1\n")
    stacks = re.findall(r"stack\n(.*?)\nend", output.text, flags=re.S)
    right = ["plugin_call" in stack and "replacer`main" in stack for stack in stacks]
    equal((len(stacks) > 400, right.count(True) > 200, all(right[-50:])), (True, True, True))

@tracing("""
ours -x debug -n 'pid$target:libc.so.6::entry { @[probefunc] = count(); }' -c './uprobed 1000' 2>err
echo == refused
grep -o 'no uprobe for [^ ]*' err
echo == injected
dtrace -qn 'pid$target:libc.so.6::entry { @[probefunc] = count(); }' -c './uprobed 1000' 2>/dev/null
""")
def counts_of_libc_equal_those_of_the_runtime_in_the_process(output):
    counted, _, rest = output.text.partition("== refused\n")
    refused, _, injected = rest.partition("== injected\n")
    refused = set(re.findall(r"no uprobe for pid\d+:libc.so.6:(\S+):entry", refused))
    if len(refused) > 100:
        raise AssertionError(f"{len(refused)} functions were refused")
    counted = table(counted)
    equal(counted, {name: n for name, n in table(injected).items() if name not in refused})
    if len(counted) < 30:
        raise AssertionError(f"only {len(counted)} functions were called")

@tracing("""
until grep -q begun out && sleep 0.5; do sleep 0.1; done 2>/dev/null | ours -n 'BEGIN { printf("begun\\n"); }
    pid$target:a.out:work:return { @["calls"] = count(); } pid$target:a.out:work:entry { @entries = count(); }' -c './waiter 4' >out
cat out
""")
def calls_of_many_threads_are_counted_and_refused_functions_are_named(output):
    calls = re.findall(r"calls +(\d+)$", output.text, flags=re.M)
    if len(calls) != 2 or calls[0] != calls[1] or int(calls[0]) < 100:
        raise AssertionError(str(calls))
    # The first instruction of work() has a lock prefix, which the kernel cannot step over.
    if not re.search(r"cannot probe pid\d+:waiter:work:entry at waiter`work: "
                     r"the kernel does not support a uprobe on this instruction", output.text):
        raise AssertionError("the refused function is not named")

@tracing("""
dtrace -qn 'pid$target:a.out:work:entry { @["work"] = count(); }
    syscall::write:entry /pid == $target/ { @["write"] = count(); }' -c './uprobed 1000'
""")
def one_program_can_have_probes_of_processes_and_of_the_kernel(output):
    equal({name: n for name, n in table(output.text).items() if name != "sum"}, {"work": 1000, "write": 1})

def arguments_of(program):
    """Like script(). Prints the output of the program, and then the output of dtrace."""
    return tracing(f"cat >kinds.d <<'EOF'\n{KINDS}\nEOF\n"
                   f"rm -f out; ours -o out -s kinds.d -c './{program} 40' 2>/dev/null\necho == traced\ncat out")

def equal_those_of_the_program(output):
    itself, _, traced = output.text.partition("== traced\n")
    equal(traced.strip(), itself.strip())
    equal(traced.count("twelve"), 40)

@arguments_of("kinds")
def arguments_of_static_probes_are_right(output):
    equal_those_of_the_program(output)

@arguments_of("kinds_semaphores")
def arguments_of_static_probes_with_semaphores_are_right(output):
    equal_those_of_the_program(output)

@tracing("""
mkfifo hold
./kinds_semaphores 3 fork wait <hold >/dev/null 2>semaphores & victim=$!
exec 9>hold
until grep -q kinds /proc/$victim/maps; do sleep 0.1; done
begin_tracing $victim 'kinds*:::none, kinds*:::small'
echo >&9
wait $victim
tail -1 semaphores
stop_tracing INT
./kinds_semaphores 3 fork wait </dev/null 2>&1 >/dev/null | tail -1
""")
def semaphores_are_raised_while_the_program_is_traced(output):
    is_said(output, "semaphores 1 1 0", "semaphores 0 0 0")

@tracing("""ours -n 'pid$target::work:entry { @[pid == $target] = count(); }' -c './forker 20'""")
def without_follow_a_child_is_not_traced(output):
    is_said(output, "children 20 good 20", "1 20")

@tracing("""ours -x follow=fork -n 'pid$target::work:entry { @[pid == $target] = count(); }' -c './forker 20'""")
def with_follow_a_child_is_traced(output):
    is_said(output, "children 20 good 20", "1 20", "0 2000")

@tracing("""ours -Zn 'pid$target:plugin.so:plugin_work:entry { @ = count(); }' -c './dlopener ./plugin.so 5 100'""")
def a_library_is_traced_each_time_it_is_loaded(output):
    is_said(output, "sum 25250", "505")

@tracing("""
mkfifo one two
./uprobed <one >/dev/null & first=$!
exec 7>one
./uprobed <two >/dev/null & second=$!
exec 8>two
ours -n 'pid$target:a.out:work:entry { @[pid == $target] = count(); } tick-1s { exit(0); }' -p $first |
    awk 'NF { print $1, ($2 > 0) }'
kill $first $second
""")
def another_process_of_the_same_program_is_not_counted(output):
    is_said(output, "1 1")

@tracing("""
mkfifo asked
./uprobed <asked >said & victim=$!
exec 7>asked
ask() {
    answers=$(wc -l <said)
    echo >&7
    until [ $(wc -l <said) -gt $answers ]; do sleep 0.1; done
    tail -1 said
}
begin_tracing $victim 'pid$target:a.out:work:entry'
ask
stop_tracing KILL
sleep 0.5
ask
ask
grep -c . /proc/$victim/maps >/dev/null && echo lives
exec 7>&-
wait $victim
""")
def the_text_is_restored_after_a_kill_of_dtrace(output):
    traced, first, second, lives = output.lines()
    equal((traced, lives), ("goes on cc", "lives"))
    equal(first, second)
    if first == traced or not first.startswith("goes on"):
        raise AssertionError("the first byte of the function was not restored")

@tracing("for seed in 1 2 3; do ./uprobe_requests $seed; done")
def invalid_requests_are_refused(output):
    is_said(output, *(3 * """right: 0
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
in the middle of an instruction: -84
too far inside: -22
nowhere: -14
some served: 1
sum 5050
without CAP_SYS_ADMIN: -1
""").splitlines())

@tracing("rmmod dtrace && insmod dtrace.ko && dmesg")
def the_module_can_be_removed_and_the_kernel_reports_no_problems(output):
    equal(output.status, 0)
    kernel_is_clean(output.text)

def compiled(name, *flags):
    def file(t, kernel):
        need("gcc")
        folder = t.scratch / f"compiled-{kernel}"
        folder.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-O1", "-g", *flags, f"-I{ROOT}/usdt/include", ROOT / "tests/victims/usdt/kinds.c",
                        "-o", folder / name], check=True)
        return folder / name
    return file

if __name__ == "__main__":
    victims = ("uprobed", "uprobe_requests", "forker", "dlopener", "waiter", "plugin.so", "frames_no_fp",
               "alarms", "replacer", "room_256.so", "room_512.so")
    main(in_machines(globals(), files=[*(f"victims/{name}" for name in victims), compiled("kinds"),
                                       compiled("kinds_semaphores", "-DSEMAPHORES")]))
