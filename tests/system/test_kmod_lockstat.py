#!/usr/bin/env python3
"""Tests lockstat(1) on a program that takes a certain kernel mutex N times."""
import re

from machines import *

def rows(output, event):
    """Returns the number of events in a table, and the words of each row."""
    text = re.split(rf"^{re.escape(event)}: ", output.text, flags=re.M)[1]
    lines = re.split(r"\n\n(?=[A-Z][^\n]*: \d)", text)[0].splitlines()
    return int(lines[0].split()[0]), [line.split() for line in lines if re.match(r" *\d+ +\d+% ", line)]

@script("lockstat -kH -f pipe_write ./counted locks 500")
def holds_of_a_mutex_are_counted(output):
    n, table = rows(output, "Adaptive mutex hold")
    mine = [row for row in table if row[0] == "500"]
    equal(len(mine), 1)
    equal((mine[0][1:4], mine[0][6]), (["100%", "100%", "0.00"], "pipe_write"))
    contains(output.text, "Count indv cuml rcnt     nsec Lock                   Caller                  \n" + 79 * "-" + "\n")

@script("lockstat -kW -e 1 -d 50000000 ./counted held 1000")
def a_wait_is_as_long_as_the_lock_was_held(output):
    table = [row for row in rows(output, "Adaptive mutex block")[1] if row[6] == "pipe_write"]
    equal([row[0] for row in table], ["1"])
    # On a busy machine, the thread may begin to wait late, or wake up late.
    seconds = float(re.search(r"^Adaptive mutex block: \d+ events in ([0-9.]+) seconds", output.text, re.M)[1])
    if not 100e6 <= int(table[0][4]) <= seconds * 1e9:
        raise AssertionError(f"{table[0][4]} ns in {seconds} s")

# The kernel may also create threads, which take the lock. So the number of new tasks is only an upper limit.
@script("""
grep processes /proc/stat
lockstat -H -k -l tasklist_lock ./counted forks 20
grep processes /proc/stat""")
def a_lock_can_be_selected_by_its_name(output):
    n, table = rows(output, "R/W writer hold")
    equal({row[5] for row in table}, {"tasklist_lock"})
    before, after = map(int, re.findall(r"^processes (\d+)$", output.text, flags=re.M))
    taken = [int(row[0]) for row in table if row[6] == "copy_process"]
    if len(taken) != 1 or not 20 <= taken[0] < after - before:
        raise AssertionError(f"{taken} of {after - before} processes")

@script("lockstat -kHh -P sleep 1")
def a_run_queue_lock_that_another_thread_releases_is_not_held_for_long(output):
    # The host may stop the virtual machine during a few holds, so an average would be too long.
    holds = re.split(r"^-{20,}$", output.text, flags=re.M)
    holds = [part for part in holds if re.search(r"^ *\d+ +\d+% .* finish_task_switch", part, re.M)]
    counts = {True: 0, False: 0} # numbers of long (True) and short (False) holds
    for ns, count in re.findall(r"^ *(\d+) \|@* +(\d+) ", "".join(holds), re.M):
        counts[int(ns) >= 4_194_304] += int(count)
    if counts[False] < 10 or counts[True] > counts[False] / 4:
        raise AssertionError(f"{counts[True]} long holds, {counts[False]} short holds")

# The caller is printed next to the first row, which may have no bar. In `counted held`, a thread always waits.
@script("""
echo './counted waits 2000; ./counted held 200' >w.sh
lockstat -s 4 -e 0-1 sh w.sh; lockstat -R -b -D 1 -e 0-1 -o out sh w.sh; cat out""")
def stacks_and_distributions_are_printed(output):
    contains(output.text, "      nsec ------ Time Distribution ------ count     Stack\n")
    if not re.search(r"^ +\d+ \|@* +\d+ +pipe_(read|write)\+0x", output.text, re.M):
        raise AssertionError("no caller next to a row of a distribution")
    if not re.search(r"^ +\d+ \|@+ +\d+ ", output.text, re.M):
        raise AssertionError("no row of a distribution has a bar")
    contains(output.text, "ops/s indv cuml rcnt Lock                   Caller")

@script("lockstat -kIW -i 200 sleep 1; lockstat -gIW -i 200 sleep 1")
def profiling_shows_the_functions_in_which_processors_are(output):
    n, table = rows(output, "Profiling interrupt")
    rate = int(re.search(r"^Profiling interrupt: .* \((\d+) events/sec\)", output.text, re.M)[1])
    # A busy machine misses interrupts. The rate of interrupts is never much higher than requested.
    if n < 20 or rate > 500:
        raise AssertionError(f"{n} interrupts, {rate} a second")
    contains(output.text, "Count genr cuml rcnt     nsec CPU+PIL")
    contains(output.text, "cpu_startup_entry")

@script("lockstat -bH ./counted locks 50; echo == as one; lockstat -cbH ./counted locks 50")
def locks_of_one_symbol_can_be_combined(output):
    inside = [re.findall(r" [a-z_]+\+0x[0-9a-f]+ +[a-z_]\S+$", part, flags=re.M) for part in output.text.split("== as one")]
    equal((len(inside[0]) > 0, inside[1]), (True, []))

@script("lockstat -x aggsize=4k -bH ./counted locks 500")
def drops_are_reported(output):
    dropped = sum(map(int, re.findall(r"lockstat: (\d+) aggregation drops on CPU", output.text)))
    equal(dropped > 100, True)

@script("""lockstat; echo $?
lockstat -E true; echo $?
lockstat -e 17 true; echo $?
lockstat -i fast true; echo $?
lockstat -n 0 true; echo $?
lockstat -bP true; echo $?
lockstat -x nosuch true; echo $?
lockstat -x aggsize=none true; echo $?
lockstat -l no_such_lock true; echo $?
lockstat /no/such; echo $?""")
def wrong_arguments_are_named(output):
    for text in ["Usage: lockstat [options] command [args]", "  56   -I  Profiling interrupt\n2\n",
                 "lockstat: -E: the Linux kernel does not report lock errors\n1\n",
                 "lockstat: -e 17: there is no such event; lockstat without arguments lists all events\n1\n",
                 "lockstat: -i takes a number from 1 to 5000, not 'fast'\n1\n",
                 "lockstat: -n takes a number from 1 to 2147483648, not '0'\n1\n",
                 "lockstat: -P sorts rows by time, which -b does not record: use -t instead of -b\n1\n",
                 "lockstat: failed to set -x nosuch: Invalid option name\n1\n",
                 "lockstat: failed to set -x aggsize: Invalid value for specified option\n1\n",
                 "lockstat: cannot find no_such_lock: the kernel has no symbol no_such_lock\n1\n",
                 "lockstat: cannot run /no/such: No such file or directory\n"]:
        contains(output.text, text)

@script("""lockstat -p -H -w -D 2 ./counted locks 500; lockstat -T -p -e 32 -f pipe_write ./counted locks 50 | grep -c pipe_write""")
def the_output_for_programs_has_fields(output):
    lines = [line.split("\t") for line in output.lines()]
    equal([line[0] for line in lines[:2]], ["32", "32"])
    if int(lines[-1][0]) < 50:
        raise AssertionError(str(lines[-1]))

@script("dmesg")
def the_kernel_reports_no_problems(output):
    kernel_is_clean(output.text)

if __name__ == "__main__":
    main(in_machines(globals(), files=["victims/counted", "../cmd/lockstat/lockstat"]))
