#!/usr/bin/env python3
"""Tests simultaneous, killed and hostile consumers of the kernel module. No consumer may leave anything in the
kernel."""
import re

from machines import *

@script("""
insmod traced.ko
export traced=/sys/module/traced/parameters
cat $traced/text
echo 'cat $traced/text; echo 1000 >$traced/calls' >w.sh
dtrace -qn 'fbt::traced_function:entry { @["entry"] = count(); }' -c 'sh w.sh'
cat $traced/text
dtrace -qn 'fbt::traced_function:return { @["return"] = count(); }' -c 'sh w.sh'
cat $traced/text
""")
def the_bytes_of_a_function_are_restored(output):
    before, entry, _, after, exit, _, last = [line for line in output.lines() if line.strip()]
    equal((before, before), (after, last))
    if before in (entry, exit):
        raise AssertionError("the text did not change while it was traced; the module traced.ko may print wrong text")
    for count in ("entry 1000", "return 1000"):
        contains(" ".join(output.text.split()), count)

@script("""
export traced=/sys/module/traced/parameters
echo 'echo 500 >$traced/calls' >inner.sh
cat >outer.sh <<'EOF'
dtrace -qn 'BEGIN { printf("begun\\n"); } fbt::traced_function:entry { @ = count(); n = 1000000; }' >killed & killed=$!
until grep -q begun killed; do sleep 0.1; done
echo 1000 >$traced/calls
kill -9 $killed
wait $killed
echo 1000 >$traced/calls
dtrace -qn 'fbt::traced_function: { @[probename] = count(); n++; } END { printf("inner %d", n); }' -c 'sh inner.sh'
EOF
dtrace -qn 'fbt::traced_function:entry { n++; } END { printf("outer %d", n); }' -c 'sh outer.sh'
""")
def consumers_do_not_affect_each_other(output):
    words = " ".join(output.text.split())
    for part in ("inner 1000", "entry 500", "return 500", "outer 2500"):
        contains(words, part)

@script("""
exec 3<>/dev/dtrace
rmmod dtrace
echo "rmmod $?"
exec 3<&-
rmmod dtrace && insmod dtrace.ko && echo back
""")
def the_module_cannot_be_removed_while_it_is_used(output):
    equal(output.lines()[-2:], ["rmmod 1", "back"])

# Kills dtrace at a different moment in each round: while dtrace starts, enables probes or traces.
KILLS = """
i=0
while [ $i -lt TIMES ]; do
    dtrace -qn 'fbt:vmlinux:vfs_*:entry, fbt:vmlinux:vfs_*:return, fbt:vmlinux:[m-p]*:entry { @[probefunc] = count(); }
        profile-1000 { @n = count(); }' >/dev/null &
    sleep $(awk -v seed=$i 'BEGIN { srand(seed); print 2.5 * rand() }')
    kill -9 $!
    wait
    i=$((i+1))
done 2>/dev/null
grep dtrace /proc/modules | cut -d' ' -f3
cat /sys/kernel/tracing/enabled_functions
"""

@script(KILLS.replace("TIMES", "4"), long=KILLS.replace("TIMES", "100"), seconds=600)
def a_consumer_that_is_killed_at_any_moment_leaves_nothing(output):
    equal(output.lines(), ["0"])

LEAVES = """
dd if=/dev/zero of=/dev/null bs=64 count=100000000 2>/dev/null & load=$!
i=0
while [ $i -lt TIMES ]; do
    rm -f out
    dtrace -qn 'BEGIN { printf("begun\\n"); } fbt:vmlinux:[q-z]*:entry, fbt:vmlinux:vfs_*: { @[probefunc] = count(); }
        syscall:::, profile-997 { @n = count(); }' >out & tracer=$!
    until grep -q begun out; do sleep 0.1; done
    rmmod dtrace && echo "it could be removed"
    kill -9 $tracer
    until rmmod dtrace; do [ -e /dev/dtrace ] || break; done
    insmod dtrace.ko
    i=$((i+1))
done 2>/dev/null
kill $load
echo done
"""

@script(LEAVES.replace("TIMES", "1"), long=LEAVES.replace("TIMES", "20"), seconds=900)
def an_unused_module_can_be_removed_under_load(output):
    equal(output.lines(), ["done"])

# Probes all kernel functions under load. An emulated machine needs minutes to change the text of all functions. So a
# run without --long probes only a third of them.
EVERYTHING = """
probes=PROBES
echo 1 >/sys/module/dtrace/parameters/deadman
dd if=/dev/zero of=/dev/null bs=64 count=100000000 2>/dev/null & load=$!
(while :; do cat /proc/self/maps /proc/vmstat | sort | dd of=/tmp/sorted; sleep 0.01; done) >/dev/null 2>&1 & forks=$!
dtrace -qn "$probes"' { @[probename] = count(); } profile-97 { @["profile"] = count(); } tick-SECONDSs { exit(0); }'
echo "status $?"
kill $load $forks
echo 10 >/sys/module/dtrace/parameters/deadman
"""

@script(EVERYTHING.replace("SECONDS", "3").replace("PROBES", "fbt:vmlinux:[s-z]*:"),
        long=EVERYTHING.replace("SECONDS", "60").replace("PROBES", "fbt:::"), seconds=900)
def probing_every_entry_and_every_return_at_once_works(output):
    contains(output.text, "status 0")
    n = {name: int(count) for name, count in re.findall(r"^ +(entry|return) +(\d+)$", output.text, flags=re.M)}
    if min(n.get("entry", 0), n.get("return", 0)) < 10000:
        raise AssertionError(output.text)

@script("""
dtrace -qn 'fbt::kretprobe_rethook_handler:return, fbt::vfs_read:return { @ = count(); }'
umount /sys/kernel/debug
dtrace -qn 'fbt::kretprobe_rethook_handler:return, fbt::nmi_handle*:return, fbt::vfs_read:return { @ = count(); }
    tick-1s { exit(0); }'
echo "status $?"
mount -t debugfs debug /sys/kernel/debug
""")
def functions_called_by_the_return_hook_have_no_return_probes(output):
    contains(output.text, "the kernel does not allow the function kretprobe_rethook_handler to be traced")
    for name in ("kretprobe_rethook_handler:return", "nmi_handle:return", "nmi_handle.part.0:return"):
        contains(output.text, f"fbt:vmlinux:{name} cannot be probed: the kernel's own tracing code uses this function")
    contains(output.text, "status 0")

@script("""
chmod 711 /root
for mode in 600 666; do
    chmod $mode /dev/dtrace
    /root/setpriv --reuid=65534 --regid=65534 --clear-groups dtrace -qn 'fbt::vfs_read:entry { exit(0); }'
done
chmod 600 /dev/dtrace
""")
def an_ordinary_user_cannot_trace_the_kernel(output):
    equal(output.text.count("/dev/dtrace cannot be opened"), 2, output.text)

@script("""
chmod 666 /dev/dtrace
/root/setpriv --reuid=65534 --regid=65534 --clear-groups hostile_device 100
chmod 600 /dev/dtrace
""")
def an_ordinary_user_cannot_do_anything_with_the_device(output):
    contains(output.text, "/dev/dtrace: Permission denied")

@script("""
dtrace -wqn 'BEGIN { chill(10); exit(0); } fbt::vfs_read:entry { }'
echo 1 >/sys/module/dtrace/parameters/destructive
dtrace -qn 'syscall::getppid:entry { raise(9); }' -c true
cat >w.sh <<EOF
kill -0 1
sleep 1
echo lives
EOF
dtrace -wqn 'syscall::kill:entry /execname == "sh" && arg1 == 0/ { raise(15); }' -c 'sh w.sh'
echo 0 >/sys/module/dtrace/parameters/destructive
""")
def destructive_actions_need_a_flag_and_a_parameter_of_the_module(output):
    contains(output.text, "/sys/module/dtrace/parameters/destructive")
    contains(output.text, "Destructive actions not allowed")
    if "lives" in output.text:
        raise AssertionError("the process was not terminated")

# Runs dtrace as root with no capability except CAP_PERFMON.
OBSERVER = "/root/setpriv --bounding-set=-all,+perfmon timeout 20 dtrace"

@script(f"""
echo 1 >/sys/module/dtrace/parameters/destructive
{OBSERVER} -qn 'BEGIN {{ printf("observes\\n"); exit(0); }} fbt::vfs_read:entry {{ }}'
{OBSERVER} -wqn 'BEGIN {{ printf("changes\\n"); exit(0); }} syscall::kill:entry {{ raise(9); }}'
dtrace -wqA -n 'syscall::kill:entry {{ raise(9); }}'
rmmod dtrace; insmod dtrace.ko destructive=1
{OBSERVER} -wqa
rmmod dtrace; dtrace -A; insmod dtrace.ko
""")
def the_right_to_observe_does_not_include_destructive_actions(output):
    contains(output.text, "observes")
    contains(output.text, "destructive actions in the kernel require CAP_SYS_ADMIN")
    contains(output.text, "claim the anonymous state: Operation not permitted")
    if "changes" in output.text:
        raise AssertionError("a consumer without CAP_SYS_ADMIN changed a process")

@script("unfair_device tracepoints")
def one_consumer_cannot_make_an_event_take_long(output):
    contains(output.text, "64 callbacks")

@script("unfair_device functions")
def a_consumer_can_be_killed_while_it_attaches(output):
    equal(output.text, "it ended at once\n")

@script("unfair_device returns 32", long="unfair_device returns 1100", seconds=600)
def consumers_of_returns_can_follow_each_other(output):
    if output.text not in ("2 attached, 30 refused\n", "69 attached, 1031 refused\n"):
        raise AssertionError(output.text)

@script("unfair_device arenas 25", long="unfair_device arenas 1000", seconds=300)
def an_arena_can_be_mapped_while_it_is_created(output):
    equal(output.text, "done\n")

@script("""
dtrace -qA -n 'fbt::version_proc_show:entry { @ = count(); }'
rmmod dtrace; insmod dtrace.ko
unfair_device claims
dtrace -A
""")
def a_claim_does_not_wait_for_memory_of_another_process(output):
    for line in ("a claim waits", "the second claim: done", "the second claim did not wait"):
        contains(output.text, line)

# All claimers start at the same time, so that they find the module in different states.
CLAIMERS = """
for round in ROUNDS; do
    dtrace -qA -n 'fbt::version_proc_show:entry { printf("seen %d\\n", ++n); } tick-1s { exit(0); }'
    rmmod dtrace; insmod dtrace.ko
    cat /proc/version >/dev/null
    claimers=
    for i in 1 2 3 4; do dtrace -qa >claim.$i 2>&1 & claimers="$claimers $!"; done
    wait $claimers
    cat claim.*
    cat /sys/kernel/tracing/enabled_functions
done
rmmod dtrace; dtrace -A; insmod dtrace.ko
"""

@script(CLAIMERS.replace("ROUNDS", "1 2 3"), long=CLAIMERS.replace("ROUNDS", "$(seq 50)"), seconds=600)
def exactly_one_of_several_claimers_gets_the_saved_program(output):
    rounds = output.text.count("saved anonymous enabling")
    equal((output.text.count("seen 1\n"), output.text.count("No anonymous tracing state"), rounds >= 3), (rounds, 3 * rounds, True))
    if "version_proc_show" in output.text:
        raise AssertionError("a function is still probed")

@script("hostile_device 1000 1", long="hostile_device 10000 7", seconds=300)
def hostile_programs_and_requests_do_no_harm(output):
    equal(output.status, 0)
    n_cases, n_changed, n_taken = map(int, re.findall(r"\d+", output.text))
    if n_cases < 1000 or n_changed < n_cases / 4 or not 0 < n_taken < n_changed / 2:
        raise AssertionError(output.text)

@script("dmesg")
def the_kernel_reports_no_problems(output):
    kernel_is_clean(output.text)

if __name__ == "__main__":
    main(in_machines(globals(), files=["/usr/bin/setpriv", "kmod/hostile_device", "kmod/unfair_device", module_of_ours("traced")]))
