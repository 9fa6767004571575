#!/usr/bin/env python3
"""Tests anonymous tracing. The program that dtrace -A saved runs when the module is loaded. dtrace -a prints its
records."""
from machines import *

SAVE = """dtrace -qA -n 'BEGIN { printf("begun by %s\\n", execname); }
    fbt::version_proc_show:entry { printf("%s reads\\n", execname); @["shown"] = count(); }
    fbt::version_proc_show:return { @["returned"] = count(); } syscall::mkdir*:entry { @["made"] = count(); }
    proc:::exec-success { @[strjoin("exec ", execname)] = count(); } sdt:sched::sched_process_exit { @["exits"] = count(); }
    lockstat:::adaptive-acquire { @["mutex"] = count(); } tick-100ms { @["ticks"] = count(); } END { printf("end\\n"); }'
rmmod dtrace; insmod dtrace.ko
"""

@script(SAVE + """
for i in 1 2 3 4 5; do cat /proc/version >/dev/null; done
mkdir a b c
sleep 1
dtrace -ae
dtrace -ae
dtrace -A""")
def events_before_the_start_of_dtrace_are_printed(output):
    lines = [line.strip() for line in output.lines()]
    equal(lines[:8], ["dtrace: saved anonymous enabling in /etc/dtrace/anonymous", "begun by insmod", *["cat reads"] * 5, "end"])
    n = {name: int(n) for name, n in (line.rsplit(None, 1) for line in lines if line[-1].isdigit())}
    equal((n["shown"], n["returned"], n["made"]), (5, 5, 3))
    if not (sum(n[name] for name in n if name.startswith("exec ")) >= 5 and n["exits"] >= 5 and n["mutex"] > 10 and n["ticks"] >= 2):
        raise AssertionError(str(n))
    contains(output.text, "dtrace: could not enable tracing: No anonymous tracing state\n"
                          "dtrace: removed the anonymous enabling in /etc/dtrace/anonymous\n")

@script(SAVE + """
cat /proc/version >/dev/null
(until grep -q reads out; do sleep 0.1; done; cat /proc/version >/dev/null; sleep 1; kill -INT $(pidof dtrace)) 2>/dev/null &
dtrace -a >out
cat out
dtrace -A""")
def a_claimed_program_continues_to_trace(output):
    equal(output.text.count("cat reads\n"), 2)
    contains(output.text, "end\n")

@script("""dtrace -A -x bufsize=64k -n 'fbt::version_proc_show:entry { trace(pid > 0); stack(2); }'
rmmod dtrace; insmod dtrace.ko
cat /proc/version >/dev/null
dtrace -ae
dtrace -A""")
def records_have_the_names_of_their_probes(output):
    contains(output.text, "          version_proc_show:entry         1\n")
    contains(output.text, "vmlinux`seq_read")

@script("""mkdir -p /etc/dtrace
head -c 100000 /dev/urandom >/etc/dtrace/anonymous
rmmod dtrace; insmod dtrace.ko && echo loaded
dtrace -a
dtrace -A -qn 'fbt::version_proc_show:entry { printf("%s\\n", execname); }'
head -c 700 /etc/dtrace/anonymous >half; cp half /etc/dtrace/anonymous
rmmod dtrace; insmod dtrace.ko && echo loaded
dtrace -a
dmesg | grep anonymous | tail -2
dtrace -A
rmmod dtrace; insmod dtrace.ko && dtrace -a""")
def an_invalid_file_of_the_saved_program_is_refused(output):
    equal(output.text.count("loaded\n"), 2)
    equal(output.text.count("No anonymous tracing state"), 3)
    equal(output.text.count("anonymous tracing with /etc/dtrace/anonymous cannot be started"), 2)

@script(SAVE + """
cat /proc/version >/dev/null
rmmod dtrace && insmod dtrace.ko && rmmod dtrace
rm /etc/dtrace/anonymous
insmod dtrace.ko; cat /sys/kernel/tracing/enabled_functions; echo gone""")
def an_unclaimed_program_is_removed_with_the_module(output):
    equal(output.lines()[-1:], ["gone"])
    equal(len(output.lines()), 2)

@script("""dtrace -a -n 'BEGIN { }'
dtrace -A -c true -n 'BEGIN { }'
dtrace -l -A""")
def wrong_combinations_of_flags_are_refused(output):
    contains(output.text, "-a claims the program that -A saved, so no other program is allowed")
    contains(output.text, "-A does not trace processes")
    contains(output.text, "only one of -A, -G")

@script("dmesg")
def the_kernel_reports_no_problems(output):
    kernel_is_clean(output.text)

if __name__ == "__main__":
    main(in_machines(globals()))
