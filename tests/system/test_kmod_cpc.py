#!/usr/bin/env python3
"""Tests the cpc provider. Software events of perf must be counted exactly. Hardware events must be refused, because
the virtual machines have no hardware counters."""
import re

from machines import *

def rows(output):
    """Returns the words of each line."""
    return [tuple(line.split()) for line in output.lines()]

@script("""
dtrace -qn 'cpc:::page-faults-user-1, cpc:::minor_faults-all-10 /pid == $target/ { @[probename, execname, usym(arg1)] = count(); }' -c './counted zeroes 5000'
""")
def a_probe_fires_once_for_each_n_page_faults(output):
    n = {row[0]: int(row[3]) for row in rows(output) if row[1:3] == ("counted", "counted`write_to")}
    equal(n.get("page-faults-user-1"), 5000)
    # This counter also counts page faults of other processes on the CPU.
    if abs(n["minor_faults-all-10"] - 500) > 5:
        raise AssertionError(str(n))

@script("""
dtrace -qn 'cpc:::context-switches-all-1 /pid == $target/ { @["counter", execname] = count(); }
    cpc:::cs-user-1 /pid == $target/ { @["user", execname] = count(); }
    sdt:sched::sched_switch /pid == $target/ { @["tracepoint", execname] = count(); }' -c './counted forks 100'
""")
def a_context_switch_is_an_event_of_the_kernel(output):
    n = {row[0]: int(row[2]) for row in rows(output) if row[1:2] == ("counted",)}
    equal((n.get("counter"), n.get("user"), n["tracepoint"] >= 100), (n["tracepoint"], None, True))

@script("""
dd if=/dev/zero of=/dev/null bs=1 2>/dev/null & load=$!
dtrace -qn 'cpc:::cpu-clock-user-10000000, cpc:::cpu-clock-kernel-10000000, cpc:::cpu-clock-all-10000000
        { @[probename, arg0 != 0, arg1 != 0] = count(); @cpus[cpu] = count(); }
    tick-2s { printa("%s %d %d %@d\\n", @); printa("cpu %d %@d\\n", @cpus); exit(0); }'
kill $load
""")
def arg0_is_a_pc_in_the_kernel_and_arg1_in_the_process(output):
    n = {(row[0].split("-")[2], row[1], row[2]): int(row[3]) for row in rows(output) if len(row) == 4}
    equal(sorted(n), [("all", "0", "1"), ("all", "1", "0"), ("kernel", "1", "0"), ("user", "0", "1")])
    equal(sorted(row[1] for row in rows(output) if row[0] == "cpu"), ["0", "1"])
    if sum(count for key, count in n.items() if key[0] == "all") > 2 * 200 + 60:
        raise AssertionError(str(n))

@script("""
dtrace -qn 'cpc:::page-faults-user-1 /pid == $target/ { @[ustack(2)] = count(); }' -c './counted zeroes 300'
dtrace -qn 'cpc:::cs-all-1 /pid == $target/ { printf("%a is", arg0); stack(1); ustack(1); exit(0); }' -c './counted forks 3'
dtrace -qn 'cpc:::page-faults-kernel-1 /pid == $target/ { printf("%a is", arg0); stack(1); exit(0); }' -c 'dd if=/dev/zero of=/dev/null bs=1M count=1'
""")
def stacks_begin_at_the_overflow(output):
    if not re.search(r"^ +counted`write_to\+\S+\n +counted`\S+\n +300$", output.text, re.M):
        raise AssertionError("no 300 faults in write_to")
    pairs = re.findall(r"(vmlinux`\S+) is\s+(\S+)", output.text)
    equal((len(pairs), [a for a, _ in pairs]), (2, [b for _, b in pairs]))
    if not re.search("schedule|resched", pairs[0][0]):
        raise AssertionError(pairs[0][0])

REFUSED = {
    "nothing-all-5000": "there is no event nothing; dtrace -l -P cpc lists the events of this machine",
    "PAPI_tot_cyc-all-1000000": "this machine cannot count the event: the processor has no counter for it",
    "L1-dcache-load-misses-user-5000": "this machine cannot count the event",
    "cycles-all-4999": "the minimum count for cycles is 5000",
    "cpu-clock-all-199999": "the minimum count for cpu-clock is 200000",
    "page-faults-some-1": "the mode some is not user, kernel or all",
    "page-faults-all": "the probe name must be EVENT-MODE[-0xMASK]-COUNT",
    "page-faults-all-0x1-5000": "only raw events"}

@script("".join(f"dtrace -qn 'cpc:::{name} {{ }}'; echo status $?\n" for name in REFUSED))
def an_event_that_cannot_be_counted_is_refused_with_the_reason(output):
    for name, why in REFUSED.items():
        contains(output.text, f"probe description cpc:::{name} does not match any probes: {why}")
    equal(output.lines().count("status 1"), len(REFUSED))

@script("""
dtrace -l >all
echo "all $(grep -c ' cpc ' all)"
for description in '*:::page-faults*' ':::page-faults-all-*'; do
    dtrace -ln "$description" 2>&1
done
dtrace -lP cpc | awk '{ print $2, $3 }'
dtrace -n 'cpc:::*-100 { @[probename] = count(); } tick-500ms { exit(0); }' | grep matched
rmmod dtrace
dtrace -n 'cpc:::page-faults-all-100 { }'
insmod dtrace.ko
""")
def events_are_listed_only_if_the_description_names_the_provider(output):
    has = output.lines()
    equal(has[0], "all 0")
    equal(output.text.count(": No probe matches description"), 2)
    listed = [line for line in has if line.startswith("cpc ")]
    for name in ("page-faults-all-100", "context-switches-all-100", "cpu-clock-all-1000000000"):
        equal(listed.count(f"cpc {name}"), 1, name)
    equal([line for line in listed if "cycles" in line or "cache" in line or "PAPI" in line], [])
    contains(output.text, "the cpc provider needs the kernel")

@script("""
cat >outer.sh <<'END'
./counted zeroes 1000
dtrace -qn 'cpc:::page-faults-user-1 /execname == "counted"/ { @ = count(); } END { printa("inner %@d\\n", @); }' -c './counted zeroes 2000'
./counted zeroes 3000
END
dtrace -qn 'cpc:::page-faults-user-1 /execname == "counted"/ { @ = count(); } END { printa("outer %@d\\n", @); }' -c 'sh outer.sh'
""")
def two_consumers_count_independently(output):
    n = {row[0]: int(row[1]) for row in rows(output) if row[0] in ("inner", "outer")}
    # Starting `counted` causes fewer than 100 additional faults.
    equal((n["inner"] // 100, n["outer"] // 300), (20, 20))

# Kills dtrace 4 times while it uses 25 counters. Then unloads the module, and causes the events again without it.
@script("""
probes=""
for i in $(seq 1 25); do probes="$probes cpc:::page-faults-all-$i { n++; }"; done
for how in TERM KILL TERM KILL; do
    rm -f begun
    dtrace -qn "BEGIN { printf(\\"begun\\\\n\\"); } $probes" >begun 2>&1 & tracer=$!
    until grep -q begun begun; do sleep 0.1; done
    kill -$how $tracer
    wait $tracer
done 2>/dev/null
until rmmod dtrace; do [ -e /dev/dtrace ] || break; sleep 0.1; done
./counted zeroes 1000
insmod dtrace.ko && echo back
dtrace -qn "$probes BEGIN { exit(0); }" && echo opened
probes=""
for i in $(seq 1 65); do probes="$probes cpc:::page-faults-all-$i { n++; }"; done
dtrace -qn "$probes BEGIN { exit(0); }"
""")
def counters_end_with_their_consumer(output):
    equal([line for line in output.lines() if line in ("back", "opened")], ["back", "opened"])
    contains(output.text, "cannot be probed: Too many users")

@script("""
echo 0 >/sys/devices/system/cpu/cpu1/online
dtrace -qn 'BEGIN { printf("begun\\n"); } cpc:::page-faults-user-1 /execname == "counted"/ { @[cpu] = count(); }
    END { printa("cpu %d %@d\\n", @); }' >counts & tracer=$!
until grep -q begun counts; do sleep 0.1; done
for i in 1 2; do
    echo 1 >/sys/devices/system/cpu/cpu1/online
    sleep 0.5
    taskset 2 ./counted zeroes 3000
    echo 0 >/sys/devices/system/cpu/cpu1/online
    ./counted zeroes 1000
done
echo 1 >/sys/devices/system/cpu/cpu1/online
kill -TERM $tracer
wait $tracer
cat counts
dtrace -qn 'cpc:::page-faults-all-1 { @[cpu] = count(); } tick-500ms { exit(0); }' >/dev/null && echo again
""")
def events_of_a_cpu_that_comes_online_are_counted(output):
    n = {row[1]: int(row[2]) for row in rows(output) if row[0] == "cpu"}
    if not 6000 <= n["1"] < 6600 or not 2000 <= n["0"] < 2600 or "again" not in output.text:
        raise AssertionError(str(n))

@script("""
before=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
dtrace -qn 'cpc:::cpu-clock-all-10000000 { n++; } tick-1s { exit(0); }'
echo "without a limit"
echo 1000 >/proc/sys/kernel/perf_event_max_sample_rate
dtrace -qn 'cpc:::cpu-clock-all-200000 { n++; } cpc:::page-faults-user-1 /pid == $target/ { @[usym(arg1)] = count(); }
    END { printf("fired %d\\n", n); }' -c './counted zeroes 20000'
echo $before >/proc/sys/kernel/perf_event_max_sample_rate
""")
def a_counter_that_the_kernel_stops_is_reported_as_drops(output):
    free, _, limited = output.text.partition("without a limit")
    equal(free.strip(), "")
    if not re.search(r"\d+ drops? \(the kernel stopped a cpc counter until its next tick\)", limited):
        raise AssertionError("no drop is reported")
    equal([row[1] for row in rows(output) if row[0] == "counted`write_to"], ["20000"])

@script("dmesg")
def the_kernel_reports_no_problems(output):
    kernel_is_clean(output.text)

if __name__ == "__main__":
    main(in_machines(globals(), files=["victims/counted"]))
