#!/usr/bin/env python3
"""Tests the providers of the kernel module on each of Debian's kernels."""
import re

from machines import *

@script("""
dtrace -ln 'fbt::vfs_read:entry' -ln 'fbt:vmlinux:vfs_write:return' -ln 'syscall::read:' -ln sdt:sched::sched_switch |
    awk '{ print $2, $3, $4, $5 }'
""")
def probes_of_the_kernel_are_listed_by_their_four_names(output):
    equal(output.lines(), ["PROVIDER MODULE FUNCTION NAME", "fbt vmlinux vfs_read entry", "fbt vmlinux vfs_write return",
                           "syscall read entry ", "syscall read return ", "sdt sched sched_switch "])

def examples():
    """Returns the commands for root that are in README.md, the manual page and docs/."""
    section = (ROOT / "README.md").read_text().partition("## The kernel, too\n")[2].partition("\n## ")[0]
    page = (ROOT / "cmd/dtrace/dtrace.1").read_text().partition(".SH KERNEL PROVIDERS\n")[2].partition("\n.SH ")[0]
    lines = [line.strip().removeprefix("# ") for line in (section + page.replace("\\-", "-")).splitlines()]
    for document in sorted((ROOT / "docs").glob("*.md")):
        lines += [line.removeprefix("    # ") for line in document.read_text().splitlines()
                  if line.startswith("    # ")]
    # The test replaces the pid 4711, which the documents use, with the pid of the script's shell.
    return [line.replace("dtrace", "dtrace -e", 1).replace("-p 4711", "-p $$")
            for line in lines if line.startswith("dtrace -n")]

@script("".join(f"{example}; echo status $?\n" for example in examples()), seconds=180)
def the_examples_of_the_documents_compile(output):
    equal(output.lines(), ["status 0"] * len(examples()))
    equal(len(examples()) >= 14, True, f"{len(examples())} examples")

@script("""
echo $(wc -l </sys/kernel/tracing/available_filter_functions) functions
echo $(grep -vc ^syscalls: /sys/kernel/tracing/available_events) events
dtrace -l | awk '{ print $2 }' | sort | uniq -c
""")
def a_listing_of_all_probes_has_every_provider(output):
    n = {name: int(count) for count, name in (line.split() for line in output.lines())}
    equal((n["functions"] > 10000, n["events"] > 300), (True, True))
    for provider, least in {"fbt": n["functions"] * 3 // 2, "sdt": n["events"] * 9 // 10, "syscall": 600, "proc": 10, "sched": 8, "io": 4}.items():
        if n.get(provider, 0) < least:
            raise AssertionError(f"{n.get(provider)} probes of {provider}, not {least}")

@script("""
cat >w.sh <<EOF
i=0
while [ \\$i -lt 50 ]; do cat /proc/version >/dev/null; i=\\$((i+1)); done
EOF
dtrace -qn 'fbt::version_proc_show:entry, fbt::version_proc_show:return { @[probename] = count(); }
    syscall::open*:entry /copyinstr(arg1) == "/proc/version"/ { @["opened"] = count(); }' -c 'sh w.sh'
""")
def every_call_of_a_kernel_function_is_counted(output):
    equal(sorted(line.split() for line in output.lines()), [["entry", "50"], ["opened", "50"], ["return", "50"]])

@script("""
dtrace -qn 'fbt::vfs_write:entry /execname == "dd" && arg2 == 3000/ { self->n = arg2; }
    fbt::vfs_write:return /self->n/ { @[self->n, arg1, arg0] = count(); self->n = 0; }' \
    -c 'dd if=/dev/zero of=/tmp/f bs=3000 count=20'
""")
def entry_probes_have_arguments_and_return_probes_the_value(output):
    contains(" ".join(output.text.split()), "3000 3000 0 20")

@script("""
dtrace -qn 'syscall::read:return /execname == "dd"/ { @ = quantize(arg0); }' -c 'dd if=/dev/zero of=/dev/null bs=512 count=1000'
""")
def sizes_of_reads_are_aggregated_to_a_distribution(output):
    contains(output.text, "             512 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1000     \n")

@script("""
cat >w.sh <<EOF
kill -9 999999
kill -0 1
EOF
dtrace -qn 'syscall::kill:return /execname == "sh"/ {
    printf("%d %d %d, %d %d\\n", arg0, arg1, errno, arg0 == -1, (uint32_t)arg0 == -1); }' -c 'sh w.sh'
""")
def a_system_call_that_fails_returns_minus_one_and_errno(output):
    equal(output.lines()[-2:], ["-1 -1 3, 1 1", "0 0 0, 0 0"])

@script("""
cat >w.sh <<EOF
sleep 100 & kill -9 \\$!
wait
/no/such
exit 3
EOF
dtrace -qn 'proc:::create { @["create"] = count(); } proc:::start { @["start"] = count(); }
    proc:::exec { @[strjoin("exec ", copyinstr(arg0))] = count(); }
    proc:::exec-success { @[strjoin("success ", curpsinfo->pr_psargs)] = count(); }
    proc:::exec-failure { printf("failure %d\\n", arg0); }
    proc:::signal-send /arg2 == 9/ { printf("signal by %s\\n", execname); }
    proc:::exit { printf("exit %d\\n", arg0); }' -c 'sh w.sh'
""")
def starts_and_ends_of_processes_fire_probes(output):
    for line in ["failure 2", "signal by sh", "exit 2", "exit 1"]:
        if line not in output.lines():
            raise AssertionError(line)

@script("""
cat >w.sh <<EOF
for i in 0 1 2 3 4 5 6 7 8 9; do sleep 0.01; done
dd if=/dev/zero of=/dev/null bs=64k count=2000
EOF
dtrace -qn 'sched:::on-cpu { @[probename] = count(); } sched:::off-cpu { @[probename] = count(); }
    sched:::wakeup, sched:::sleep, sched:::tick, sched:::enqueue, sched:::dequeue { @[probename] = count(); }' -c 'sh w.sh' 2>/dev/null
""")
def on_cpu_and_off_cpu_fire_equally_often(output):
    n = {name: int(count) for name, count in (line.split() for line in output.lines())}
    if not all(n.get(name, 0) > 5 for name in ("on-cpu", "off-cpu", "wakeup", "sleep", "tick", "enqueue", "dequeue")):
        raise AssertionError(str(n))
    if abs(n["on-cpu"] - n["off-cpu"]) > 4:
        raise AssertionError(str(n))

@script("""
dtrace -qn 'fbt::vfs_read:entry /execname == "dd"/ { @traces[stack()] = count(); }' -c 'dd if=/etc/passwd of=/dev/null bs=1'
""")
def stacks_begin_with_the_caller_of_the_function(output):
    frames = [line.strip() for line in output.lines() if "`" in line]
    if [frame.split("+")[0] for frame in frames[:3]] != ["vmlinux`ksys_read", "vmlinux`do_syscall_64",
                                                         "vmlinux`entry_SYSCALL_64_after_hwframe"]:
        raise AssertionError(str(frames))

@script("""
dd if=/dev/zero of=/dev/null bs=64 count=100000000 & load=$!
dtrace -n 'profile-997 { @[stack()] = count(); } tick-2s { exit(0); }'
kill $load
""")
def stacks_of_the_kernel_are_sampled(output):
    stacks = re.findall(r"((?:^ +\S+`\S+\n)+) +(\d+)$", output.text, flags=re.M)
    reads = sum(int(count) for stack, count in stacks if "`vfs_read+" in stack and "`entry_SYSCALL_64" in stack)
    if reads < 20 or sum(int(count) for _, count in stacks) > 20000:
        raise AssertionError(f"{reads} in vfs_read() of {stacks}")

@script("""
dd if=/dev/zero of=/dev/null bs=64k count=100000000 & load=$!
dtrace -qn 'profile-197 /arg0 && execname == "dd"/ { printf("\\n%a is", arg0); stack(1); } tick-2s { exit(0); }'
kill $load
""")
def the_stack_of_a_sample_begins_at_the_interrupted_function(output):
    pairs = re.findall(r"^(vmlinux`\S+) is\s+(\S+)", output.text, re.M)
    equal((len(pairs) > 20, [pair for pair in pairs if pair[0] != pair[1]]), (True, []))

# If text is written to a parameter, the kernel allocates one byte more than the text. The text here has 102 bytes.
@script("""
echo "echo Y$(printf %0100d 0) >/sys/module/printk/parameters/time" >w.sh
dtrace -n 'fbt::__kmalloc:entry /execname == "sh"/ { trace(arg0); }' -c 'sh w.sh'
""")
def allocations_in_the_kernel_have_the_right_size(output):
    names = [line.split()[2] for line in output.lines() if line.split()[-1] == "103"]
    equal((len(names), names[0].replace("_noprof", "")), (1, "__kmalloc:entry"))

@script("""
dtrace -qn 'fbt::vfs_read:entry /execname == "dd"/ { self->from = caller; printf("%a\\n", caller); }
    fbt::vfs_read:return /self->from/ { printf("%d %d\\n", caller == self->from, stackdepth > 2); exit(0); }' \
    -c 'dd if=/etc/passwd of=/dev/null'
""")
def entry_and_return_have_the_same_caller(output):
    lines = [line for line in output.lines() if "records" not in line]
    contains(lines[0], "vmlinux`ksys_read+")
    equal(lines[1], "1 1")

@script("""
dtrace -qn 'BEGIN { printf("%s %d\\n", stringof(curthread->comm), curthread->tgid == pid);
    printf("%s\\n", stringof(`linux_banner)); print(`init_task.pid); printf("\\n%d\\n", sizeof(struct task_struct) > 1000); exit(0); }'
cat /proc/version
""")
def programs_can_use_variables_and_types_of_the_kernel(output):
    lines = output.lines()
    equal(lines[0], "dtrace 1")
    equal(lines[1], lines[-1])
    contains(lines[2], "pid_t 0")
    equal(lines[3], "1")

@script("""
dtrace -qn 'BEGIN { s = `linux_banner; printf("%s", `linux_banner); printf("%s%d\\n%s", (string)`linux_banner, sizeof (`linux_banner) <= 256, s); exit(0); }'
cat /proc/version
""")
def an_array_of_characters_in_the_kernel_is_a_string(output):
    lines = output.lines()
    equal((lines[0], lines[1], lines[2], lines[3]), (lines[-1], lines[-1], "1", lines[-1]))

@script("""
mknod /tmp/device c 300 70000
dtrace -qn 'vfs:vop:vop_open:entry /execname == "dd" && stringof(args[1]->d_name.name) == "device"/ {
        printf("kernel %d %d\\n", getmajor(args[0]->i_rdev), getminor(args[0]->i_rdev)); }
    BEGIN { printf("process %d %d\\n", getmajor(0x11112c70), getminor(0x11112c70)); }' -c 'dd if=/tmp/device'
""")
def device_numbers_are_decoded_for_kernel_and_user_encoding(output):
    contains(output.text, "kernel 300 70000\n")
    contains(output.text, "process 300 70000\n")

@script("""
dtrace -qn 'fbt::vfs_read:entry /execname == "dd"/ { printf("%s %d\\n", stringof(args[0]->f_path.dentry->d_name.name), args[2]); exit(0); }' \
    -c 'dd if=/etc/passwd of=/dev/null bs=77'
dtrace -lvn fbt::vfs_read:entry | grep 'args\\['
dtrace -lvn sdt:sched::sched_switch | grep 'args\\['
""")
def arguments_have_the_types_of_the_kernel(output):
    for line in ["passwd 77", "\t\targs[0]: struct file *file", "\t\targs[2]: size_t count",
                 "\t\targs[2]: struct task_struct *next"]:
        if line not in output.lines():
            raise AssertionError(line)

@script("""
dtrace -lvn syscall::writev: -n syscall::fstat:entry -n syscall::mkdir:entry -n syscall::getpid:entry | grep -E 'args\[|None'
dtrace -lv $(for call in stat lstat sendfile umount2 uname; do printf ' -n syscall::%s:entry' $call; done) | grep -c 'args.0'
cat >w.sh <<EOF
/bin/cat /etc/passwd
sleep 0.003
mkdir made
EOF
dtrace -qn 'syscall::open:entry, syscall::execve:entry /execname == "cat" || execname == "sh"/ {
        printf("%s %s\\n", probefunc, stringof(args[0])); }
    syscall::execve:entry /stringof(args[0]) == "/bin/cat"/ { printf("with %s\\n", stringof(args[1][1])); }
    syscall::openat:entry /execname == "cat"/ { printf("open %s\\n", stringof(args[1])); }
    syscall::clock_nanosleep:entry /execname == "sleep"/ { printf("%d ns\\n", args[2]->tv_nsec); }
    syscall::nanosleep:entry /execname == "sleep"/ { printf("%d ns\\n", args[0]->tv_nsec); }
    syscall::mkdir:entry /args[1] == 0777/ { printf("mode %d bytes\\n", sizeof (args[1])); }
    syscall::epoll_wait*:entry { printf("%d\\n", args[0]); }
    syscall::write:return /execname == "cat"/ { printf("%d\\n", args[0] == args[1] && args[0] > 0); }' -c 'sh w.sh'
dtrace -qn 'syscall::*stat*:entry { trace(args[0]); }'
dtrace -qn 'syscall::getpid:entry { trace(args[0]); }'
dtrace -qn 'syscall::epoll_wait_old:entry { trace(args[0]); }'
mount -t tmpfs none /sys/kernel/tracing
mount -t tmpfs none /sys/kernel/debug
echo hidden
dtrace -lvn syscall::read:entry | grep 'args.0'
umount /sys/kernel/debug
umount /sys/kernel/tracing
""")
def arguments_of_system_calls_have_the_types_of_the_kernels_source(output):
    equal(output.text.splitlines()[:12],
          ["\t\targs[0]: unsigned long fd", "\t\targs[1]: userland const struct iovec *vec", "\t\targs[2]: unsigned long vlen",
           "\t\targs[0]: long", "\t\targs[1]: long",
           "\t\targs[0]: unsigned int fd", "\t\targs[1]: userland struct stat *statbuf",
           "\t\targs[0]: userland const char *pathname", "\t\targs[1]: umode_t mode", "\t\tNone",
           "5", "root:x:0:0:root:/root:/bin/sh"])
    for line in ["execve /bin/cat", "with /etc/passwd", "open /etc/passwd", "3000000 ns", "mode 2 bytes"]:
        equal(output.lines().count(line), 1, line)
    contains(output.text, "args[0] is ambiguous")
    contains(output.text, "args[0] has no type: the kernel does not describe the arguments of the system call epoll_wait_old; use arg0")
    contains(output.text, "index 0 is out of range for args[ ]: the probe has 0 arguments")
    contains(output.text, "hidden\n\t\targs[0]: unsigned int fd\n") # dtrace mounts tracefs for itself

@script("""
dtrace -qn 'BEGIN { trace(*(int *)0xfffffffffffff000); } BEGIN { trace(*(int *)8); } ERROR { printf("%d %x\\n", arg4, arg5); }
    BEGIN { printf("%s\\n", stringof((char *)`linux_banner + 0x7fffffff0000)); } fbt::vfs_read:entry { } BEGIN { exit(0); }'
""")
def a_load_of_unmapped_memory_is_a_fault(output):
    equal([line for line in output.lines() if re.match("[0-9] ", line)][:2], ["1 fffffffffffff000", "1 8"])

@script("""
echo 'ls /proc/self >ls; cat ls' >w.sh
dtrace -Zqn 'fbt::mutex_unlock:entry { @["unlock", mutex_owned((struct mutex *)arg0), mutex_owner((struct mutex *)arg0) == curthread, mutex_type_adaptive((struct mutex *)arg0), mutex_type_spin((struct mutex *)arg0)] = count(); }
    fbt::mutex_lock:entry, fbt::mutex_lock_nested:entry { @["lock", mutex_owned((struct mutex *)arg0), 0, 0, 0] = count(); }
    fbt::up_write:entry { @["write", rw_write_held((struct rw_semaphore *)arg0), rw_iswriter((struct rw_semaphore *)arg0), rw_read_held((struct rw_semaphore *)arg0), 0] = count(); }
    fbt::up_read:entry { @["read", rw_write_held((struct rw_semaphore *)arg0), rw_iswriter((struct rw_semaphore *)arg0), rw_read_held((struct rw_semaphore *)arg0), 0] = count(); }
    END { printa("%s %d %d %d %d %@d\\n", @); }' -c 'sh w.sh' >locks
grep -E '^(un)?lock |^write |^read ' locks
dtrace -qn 'BEGIN { trace(mutex_owned((void *)8)); } ERROR { printf("fault %d %x\\n", arg4, arg5); } BEGIN { exit(0); }'
""")
def subroutines_report_holders_of_locks(output):
    kinds = {}
    for line in output.lines():
        *fields, count = line.split() or [""]
        if fields and fields[0] in ("lock", "unlock", "write", "read"):
            kinds.setdefault(fields[0], []).append((list(map(int, fields[1:])), int(count)))
    equal({kind: [values for values, _ in rows] for kind, rows in kinds.items()},
          {"lock": [[0, 0, 0, 0]], "unlock": [[1, 1, 1, 0]], "write": [[1, 1, 0, 0]], "read": [[0, 0, 1, 0]]})
    if min(count for rows in kinds.values() for _, count in rows) < 10:
        raise AssertionError(str(kinds))
    contains(output.text, "fault 1 8")

@script("""
dtrace -qn 'syscall::read:entry /execname == "dd"/ { printf("%s %d\\n",
    stringof(((struct file *)getf(arg0))->f_path.dentry->d_name.name), getf(99) == NULL); }' -c 'dd if=/etc/passwd of=/dev/null count=1'
""")
def getf_returns_the_file_of_the_kernel(output):
    contains(output.text, "passwd 1")

@script("""
dtrace -qn 'BEGIN { begun = timestamp; } tick-100ms { @t = count(); } profile-100 { @[cpu] = count(); }
    tick-100ms /++n == 10/ { exit(0); }
    END { printf("took %d ms\\n", (timestamp - begun) / 1000000); }'
""")
def profile_fires_on_each_cpu_and_tick_on_one(output):
    lines = [line.split() for line in output.lines()]
    ticks = [int(line[0]) for line in lines if len(line) == 1]
    cpus = {int(line[0]): int(line[1]) for line in lines if len(line) == 2}
    ms = int(re.search(r"took (\d+) ms", output.text)[1]) # more than 1 s if a busy machine misses interrupts
    if ticks != [10] or ms < 900 or set(cpus) != {0, 1} or not 5 <= min(cpus.values()) <= max(cpus.values()) <= ms / 10 + 2:
        raise AssertionError(f"{ticks} {cpus} in {ms} ms")

@script("""
dtrace -qn 'BEGIN { begun = timestamp; printf("begun\\n"); } profile-200 { @[cpu] = count(); }
    END { printf("took %d ms\\n", (timestamp - begun) / 1000000); }' >counts & tracer=$!
until grep -q begun counts; do sleep 0.1; done
sleep 0.5
echo 0 >/sys/devices/system/cpu/cpu1/online
sleep 1
echo 1 >/sys/devices/system/cpu/cpu1/online
sleep 0.5
kill -TERM $tracer
wait $tracer
cat counts
dtrace -qn 'profile-100 { @[cpu] = count(); } tick-500ms { exit(0); }'
""")
def a_cpu_may_go_offline_while_it_is_profiled(output):
    counts = [[int(word) for word in line.split()] for line in output.lines() if re.fullmatch(r"\s*\d+\s+\d+", line)]
    equal(len(counts), 4)
    first = dict(counts[:2])
    ms = int(re.search(r"took (\d+) ms", output.text)[1])
    if not 0 < first[1] < first[0] <= ms / 5 + 20 or set(dict(counts[2:])) != {0, 1}:
        raise AssertionError(f"{counts} in {ms} ms")

@script("""
./frames_no_fp & runs=$!
# The module gets the unwind tables of this process only after the first ustack() in it. So the stacks before the first
# complete one are discarded.
dtrace -qn 'profile-199 /execname == "frames_no_fp" && arg1/ { @met[ustack(2)] = count(); }
    profile-199 /execname == "frames_no_fp" && arg1 && !complete && ustackdepth > 6/ { complete = timestamp; }
    profile-199 /execname == "frames_no_fp" && arg1 && complete/ { @[ustack(50)] = count(); }
    tick-1s /complete && timestamp - complete > 4000000000/ { exit(0); }
    tick-60s { exit(1); }
    END { trunc(@met); }'
kill $runs
""")
def stacks_of_any_process_are_walked_by_tables(output):
    stacks = re.findall(r"((?:^ +\S+`\S+\n)+) +\d+$", output.text, flags=re.M)
    short = [stack for stack in stacks if "`main+" not in stack]
    if len(stacks) < 20 or short:
        raise AssertionError(f"{len(stacks)} stacks, of which these do not reach main(): {short}")

@script("""
dtrace -qn 'fbt:brd::entry { @[probefunc] = count(); }' 2>&1 | head -1
insmod brd.ko rd_nr=1
dtrace -qn 'fbt:brd::entry { @ = count(); } END { printa("%@d\\n", @); }' -c 'dd if=/dev/ram0 of=/dev/null bs=4096 count=10 iflag=direct' & tracer=$!
wait $tracer
dtrace -qn 'fbt:brd::entry { @ = count(); } tick-2s { exit(0); }' & tracer=$!
sleep 1
rmmod brd && insmod brd.ko rd_nr=1 && dd if=/dev/ram0 of=/dev/null bs=4096 count=10
wait $tracer
rmmod brd
dtrace -Zqn 'BEGIN { printf("later\\n"); } fbt:brd::entry { @ = count(); n++; } fbt:brd::entry /n == 10/ { exit(0); }
    END { printa("%@d\\n", @); }' >late 2>&1 & tracer=$!
until grep -q later late; do sleep 0.1; done
insmod brd.ko rd_nr=1
while kill -0 $tracer; do dd if=/dev/ram0 of=/dev/null bs=4096 count=10 iflag=direct; sleep 0.1; done 2>/dev/null
cat late
rmmod brd
""")
def functions_of_modules_are_probed_and_modules_can_be_removed(output):
    contains(output.text, "does not match any probes")
    counts = [int(line) for line in output.lines() if re.fullmatch(r"\s*\d+", line)]
    later = [int(line) for line in output.text.partition("later")[2].splitlines() if re.fullmatch(r"\s*\d+", line)]
    if not counts or counts[0] < 10 or not later or later[-1] < 10:
        raise AssertionError(f"{counts} {later}")

# The process dd is not a child of the traced command. profile must sample dd nevertheless.
@script("""
dd if=/dev/zero of=/dev/null bs=64 count=100000000 2>/dev/null & load=$!
sample() {
    dtrace "$@" -qn 'profile-197 /execname == "dd"/ { @n["dd"] = count(); @f[func(arg0)] = count(); }
        tick-100ms { @n["tick"] = count(); } tick-1s { exit(0); }'
}
sample -c 'sleep 1'
sample
dtrace -qn 'tick-10ms /curthread != 0/ { printf("tick sees a thread\\n"); exit(0); }' -p $load
dtrace -qn 'inline uint64_t *ticks = &`jiffies_64; tick-10ms { printf("after %d\\n", *ticks > 0); exit(0); }' -c 'sleep 1'
kill $load
""")
def profile_and_tick_have_the_same_meaning_with_and_without_a_command(output):
    samples = [int(line.split()[1]) for line in output.lines() if re.match(" +dd ", line)]
    equal(len(samples), 2)
    if min(samples) < 5:
        raise AssertionError(str(samples))
    contains(output.text, "tick sees a thread")
    contains(output.text, "after 1")
    contains(output.text, "vmlinux`")

@script("""
./counted waits 1000000 & load=$!
for how in auto uprobe; do
    echo "with $how"
    dtrace -x mechanism=$how -n 'pid$target:a.out:main:entry { } profile-97 { @[execname, pid == $target] = count(); }
        tick-2s { exit(0); }' -p $load
done
kill $load
""", seconds=180)
def probes_of_a_process_restrict_profile_to_it_and_dtrace_reports_this(output):
    said = "profile-n samples only the traced processes, because this program does not run in the kernel module"
    there, _, in_the_kernel = output.text.partition("with uprobe")
    sampled = [set(re.findall(r"^ +(\S+) +([01]) +\d+$", part, re.M)) for part in (there, in_the_kernel)]
    equal((there.count(said), in_the_kernel.count(said), sampled[0]), (1, 0, {("counted", "1")}))
    if not sampled[1] & {("counted", "1"), ("swapper/0", "0"), ("swapper/1", "0")}:
        raise AssertionError("nothing was sampled in the kernel")

@script("""
./counted reads 100000000 & load=$!
for command in "-p $load" ""; do
    dtrace -qn 'profile-197 /execname == "counted"/ { @f[arg1 ? "user" : "kernel", func(arg0)] = count(); @u[arg0 ? "kernel" : "user", ufunc(arg1)] = count(); }
        tick-3s { printa("func %s %a %@d\\n", @f); printa("ufunc %s %A %@d\\n", @u); exit(0); }' $command
done
kill $load
""")
def a_sample_has_a_function_of_the_kernel_or_of_the_process(output):
    found = {(which, mode, re.sub(r"`.*", "`", name)) for which, mode, name in re.findall(r"^(u?func) (user|kernel) (\S+) \d+$", output.text, re.M)}
    # In each sample, exactly one of arg0 (the kernel) and arg1 (the process) is not 0. An address of 0 is printed as
    # 0x0.
    equal(found & {("func", "kernel", "vmlinux`"), ("func", "user", "0x0"), ("ufunc", "kernel", "0x0")},
          {("func", "kernel", "vmlinux`"), ("func", "user", "0x0"), ("ufunc", "kernel", "0x0")})
    if not {("ufunc", "user", "libc.so.6`"), ("ufunc", "user", "counted`")} & found:
        raise AssertionError("no function of the process is named: " + str(found))

@script("""
awk 'at && $1 != at { print at, $1; exit } $3 == "linux_banner" { at = $1 }' /proc/kallsyms >places
dtrace -qn 'BEGIN { printf("size %d\\n", sizeof(`linux_banner)); exit(0); }'
cat places
dtrace
""")
def a_symbol_without_a_type_ends_at_the_next_symbol(output):
    size = int(re.search(r"^size (\d+)$", output.text, re.M)[1])
    begin, end = (int(word, 16) for word in re.search(r"^([0-9a-f]{16}) ([0-9a-f]{16})$", output.text, re.M).groups())
    equal(size, min(end - begin, 256))

@script("""
insmod dummy.ko
dtrace -qn 'fbt::dev_set_mac_address:entry { this->type = ((struct net_device *)arg0)->type; this->a = ((struct sockaddr *)arg1)->sa_data;
    printf("%d %s\\n%s\\n", this->type == ARPHRD_ETHER, link_ntop(this->type, this->a), link_ntop(ARPHRD_INFINIBAND, this->a)); }
    ERROR { printf("fault %d\\n", arg4); }' -c 'ifconfig dummy0 hw ether 02:01:a2:03:04:ff'
rmmod dummy
""")
def a_hardware_address_is_converted_to_text(output):
    contains(output.text, "1 02:01:a2:03:04:ff\n")
    if not re.search(r"^02:01:a2:03:04:ff(:[0-9a-f]{2}){14}$", output.text, re.M):
        raise AssertionError("no address of twenty bytes")

@script("""
cat >w.sh <<'EOF'
sh -c 'kill -USR1 $$; exit 0'
sh -c 'kill -SEGV $$; exit 0'
sh -c 'kill -KILL $$; exit 0'
sh -c 'trap "echo trapped" TERM; kill -TERM $$; kill -CHLD $$; exit 0'
true
EOF
dtrace -qn 'proc:::create { printf("create\\n"); } proc:::lwp-start { printf("lwp-start %d\\n", tid); }
    proc:::start { printf("start %d\\n", tid); }
    proc:::signal-handle { printf("handle %d %d of %d\\n", args[0], args[2] == 0, args[1]->si_signo); }' -c 'sh w.sh'
""")
def the_start_of_a_process_fires_before_that_of_its_thread(output):
    lines = [line.split() for line in output.lines()]
    starts = [i for i, words in enumerate(lines) if words[0] == "start"]
    if not starts or any(lines[i + 1] != ["lwp-start", lines[i][1]] for i in starts):
        raise AssertionError(str(lines))
    n_created = n_started = 0
    for words in lines:
        n_created += words[0] == "create"
        n_started += words[0] == "start"
        if n_started > n_created:
            raise AssertionError(f"a process started before its creation: {lines}")
    # SIGALRM, SIGCHLD and SIGIO are omitted, because processes also receive them while they wait.
    handled = [" ".join(line[1:]) for line in lines if line[:1] == ["handle"] and line[1] not in ("14", "17", "29")]
    equal(handled, ["10 1 of 10", "11 1 of 11", "9 1 of 9", "15 0 of 15"])

@script("""
for when in exec main; do
    for i in 1 2 3; do
        dtrace -x evaltime=$when -qn 'proc:::exec-success /pid == $target/ { printf("'$when' %s %d\\n", execname, pid == $target); }' -c './counted reads 1'
    done
done
dtrace -x evaltime=exec -qn 'proc:::exec-success /pid == $target/ { printf("seen\\n"); } pid$target:a.out:main:entry { printf("main\\n"); }' -c './counted reads 1'
dtrace -x evaltime=exec -qn 'pid$target:a.out:main:entry { printf("main alone\\n"); }' -c './counted reads 1'
dtrace -qn 'proc:::exec-success /execname == "counted"/ { @["by a shell"] = count(); }' -c 'sh -c "for i in 1 2 3 4 5; do ./counted reads 1; done"'
""")
def a_command_that_is_held_at_its_exec_fires_exec_once(output):
    lines = output.lines()
    equal([line for line in lines if line.startswith(("exec", "main "))], 3 * ["exec counted 1"] + ["main alone"])
    equal(lines.count("main"), 1)
    equal([line.split() for line in lines if "by a shell" in line], [["by", "a", "shell", "5"]])

@script("""
rmmod dtrace
dtrace -qn 'fbt::vfs_read:entry { exit(0); }'
insmod dtrace.ko
""")
def without_the_module_the_message_names_it(output):
    contains(output.text, "the fbt provider needs the kernel: the dtrace kernel module is not loaded")

@script("""
dtrace -qn 'fbt::ktime_get_mono_fast_ns:entry { exit(0); }'
dtrace -qn 'fbt::no_such_function:entry { exit(0); }'
""")
def a_function_that_the_kernel_forbids_to_trace_is_named(output):
    contains(output.text, "the kernel does not allow the function ktime_get_mono_fast_ns to be traced")
    contains(output.text, "no_such_function")

@script("""
dmesg
""")
def the_kernel_reports_no_problems(output):
    kernel_is_clean(output.text)

if __name__ == "__main__":
    main(in_machines(globals(), files=["victims/frames_no_fp", "victims/counted"], modules=["drivers/block/brd.ko", "drivers/net/dummy.ko"]))
