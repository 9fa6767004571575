#!/usr/bin/env python3
"""Tests the commands of cmd/tools that print each read, write and disk transfer, or the latencies of functions. Compares
their output with what a program did."""
import os, re, shutil, subprocess

from harness import *
from test_tools import rows, tool
from traced import program_of

TRANSFERS = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
static char bytes[1000];
int main(void)
{
    struct iovec parts[2] = {{bytes, 10}, {bytes, 20}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    int file = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600), pair[2], ends[2];
    write(file, bytes, 500);
    pwrite(file, bytes, 7, 3);
    writev(file, parts, 2);
    pwritev(file, parts, 1, 0);
    pwritev2(file, parts + 1, 1, 0, 0);
    pread(file, bytes, 60, 0);
    lseek(file, 0, SEEK_SET);
    read(file, bytes, 11);
    readv(file, parts, 2);
    preadv(file, parts, 1, 0);
    preadv2(file, parts + 1, 1, 0, 0);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    send(pair[0], bytes, 33, 0);
    recv(pair[1], bytes, 1000, 0);
    sendmsg(pair[1], &message, 0);
    recvmsg(pair[0], &message, 0);
    pipe(ends);
    write(ends[1], bytes, 1);
    read(ends[0], bytes, 9);
    close(ends[1]);
    read(ends[0], bytes, 9); /* the end of the file */
    read(99, bytes, 9); /* fails */
    return 0;
}
"""

def rwsnoop_prints_each_transfer_with_its_size_and_file(t):
    program = program_of(t, "mover", TRANSFERS, "-static")
    done = rows(tool(t, "rwsnoop", program))
    equal(done[0], ["UID", "PID", "CMD", "D", "BYTES", "FILE"], "heads")
    lines = [(row[3], int(row[4]), re.sub(r"\d+", "N", row[5])) for row in done[1:] if row[2] == "mover"]
    data, socket, pipe = str(t.scratch.resolve() / "data"), "socket:[N]", "pipe:[N]"
    data = re.sub(r"\d+", "N", data)
    equal(lines, [*[("W", n, data) for n in (500, 7, 30, 10, 20)], *[("R", n, data) for n in (60, 11, 30, 10, 20)],
                  ("W", 33, socket), ("R", 33, socket), ("W", 30, socket), ("R", 30, socket),
                  ("W", 1, pipe), ("R", 1, pipe)], "transfers")

def rwsnoop_prints_the_time_and_the_parent(t):
    program = program_of(t, "mover", TRANSFERS, "-static")
    done = rows(tool(t, "rwsnoop", "-Ptv", "-n", "mover", "sh", "-c", f"echo $$ >shell; {program}; cat data >copy"))
    equal(done[0], ["TIME(us)", "STRTIME", "UID", "PID", "PPID", "CMD", "D", "BYTES", "FILE"], "heads")
    times = [int(row[0]) for row in done[1:]]
    equal((len(times), times), (16, sorted(times)), "times")
    shell = (t.scratch / "shell").read_text().strip()
    equal({tuple(row[-5:-3]) for row in done[1:]}, {(shell, "mover")}, "parents")

def rwsnoop_prints_the_transfers_of_a_running_process(t):
    with held(subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as target:
        with held(subprocess.Popen([t.build / "cmd/tools/rwsnoop", "-p", str(target.pid)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=use_default_signals)) as snoop:
            contains(snoop.stdout.readline(), "BYTES")
            # The first read began before dtrace attached.
            for text, calls in (("a", "W"), ("bcd", "RW")):
                target.stdin.write(text)
                target.stdin.flush()
                for direction in calls:
                    line = snoop.stdout.readline().split()
                    equal((line[1:-1], line[-1][:5]), ([str(target.pid), "cat", direction, str(len(text))], "pipe:"))

CALLS = """
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>
#define FUNCTION __attribute__((noinline, noclone)) int
static jmp_buf place;
FUNCTION handle_slow(int n) { usleep(20000); return n + 1; }
FUNCTION handle_quick(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
FUNCTION nested(int n)
{
    int deeper = n > 0 ? nested(n - 1) : 0;
    usleep(20000);
    return deeper + 1;
}
FUNCTION leave(int n) { __asm__ volatile("" : "+r"(n)); longjmp(place, n); }
FUNCTION leaves(int n)
{
    if (setjmp(place) == 0)
        leave(n + 1);
    usleep(20000);
    return n;
}
FUNCTION one_caller(int n) { return handle_quick(n) + handle_quick(n + 1); }
FUNCTION another_caller(int n) { return handle_quick(n) + 1; }
static void* slow_thread(void* unused)
{
    for (int i = 0; i < 3; i++)
        handle_slow(i);
    return unused;
}
int main(int argc, char** argv)
{
    (void)argv;
    pthread_t thread;
    int n = handle_slow(argc) + handle_slow(argc) + nested(3) + leaves(argc);
    for (int i = 0; i < 1000; i++)
        n += one_caller(i) + another_caller(i);
    pthread_create(&thread, NULL, slow_thread, NULL);
    pthread_join(thread, NULL);
    puts("done");
    return n == 0;
}
"""
NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

def latencies(done, n_keys=1):
    """Returns the table of funclat as a dictionary. It maps the keys of a line to the number of calls and the six
    latencies in nanoseconds."""
    equal((done.returncode, done.stderr), (0, ""), "funclat")
    table = {}
    for line in done.stdout.split("\n\n")[0].splitlines():
        words = line.split()
        if len(words) == n_keys + 13:
            times = [float(n) * NS[unit] for n, unit in zip(words[n_keys + 1::2], words[n_keys + 2::2])]
            table[tuple(words[:n_keys])] = (int(words[n_keys]), *times)
    return table

def histograms(done):
    """Returns the histograms of funclat. Each is a list of (lower bound in nanoseconds, number of calls)."""
    found = {}
    for part in done.stdout.split("\n\n")[1:]:
        head, _, *lines = part.splitlines()
        found[head] = [(float(words[0]) * NS[words[1]], int(words[-1])) for words in map(str.split, lines)]
    return found

def funclat_counts_the_calls_of_each_function(t):
    program = program_of(t, "calls", CALLS)
    done = tool(t, "funclat", "handle_*", "a.out:nested", "leave*", "--", program)
    equal(done.stdout.splitlines()[0], "done", "the output of the command")
    table = latencies(done)
    equal({name[0]: row[0] for name, row in table.items()},
          {"calls:handle_slow": 5, "calls:handle_quick": 3000, "calls:nested": 4, "calls:leaves": 1}, "counts")
    for count, average, *percentiles in table.values():
        equal(percentiles, sorted(percentiles), "percentiles")
        equal(average <= percentiles[-1] * 1.01, True, "average")
    bars = histograms(done)
    equal({name: sum(n for _, n in rows) for name, rows in bars.items()}, {name[0]: row[0] for name, row in table.items()}, "bars")
    for name in ("handle_slow", "nested", "leaves"):
        equal(min(bars[f"calls:{name}"])[0] >= 20e6, True, f"{name}: {bars}")
        equal(table[f"calls:{name}",][2] >= 20e6, True, name)
    # Each call of nested() sleeps, so a call takes at least 20 ms longer than the call inside it.
    _, average, *_, longest = table["calls:nested",]
    equal((average >= 50e6, longest >= 80e6), (True, True), f"nested: {average}, {longest}")

def funclat_separates_callers_and_threads(t):
    program = program_of(t, "calls", CALLS)
    callers = latencies(tool(t, "funclat", "-c", "handle_quick", "--", program), 2)
    equal({key: row[0] for key, row in callers.items()},
          {("calls:handle_quick", "calls`one_caller"): 2000, ("calls:handle_quick", "calls`another_caller"): 1000}, "callers")
    threads = latencies(tool(t, "funclat", "-T", "handle_slow", "--", program), 2)
    equal([row[0] for row in threads.values()], [3, 2], "threads")
    equal(len(latencies(tool(t, "funclat", "-n", "1", "handle_*", "--", program))), 1, "-n")

def funclat_reports_each_interval_of_a_running_process(t):
    program = program_of(t, "looper", CALLS.replace('puts("done")', 'puts("ready"), fflush(stdout); for (;;) handle_slow(1)'))
    with held(subprocess.Popen([program], stdout=subprocess.PIPE, text=True)) as target:
        target.stdout.readline()
        with held(subprocess.Popen([t.build / "cmd/tools/funclat", "-i", "1", "-p", str(target.pid), "handle_slow"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=use_default_signals)) as funclat:
            n_reports = 0
            while n_reports < 2:
                line = funclat.stdout.readline()
                equal(line != "", True, "output")
                n_reports += line.startswith("looper:handle_slow  ")
            funclat.terminate()
            funclat.communicate(timeout=60)
            equal(funclat.returncode, 0, "status")
        equal(tracer_of(target.pid), 0, "the tracer after the end")

def funclat_explains_wrong_options(t):
    for args, status, message in (((), 2, "name a function"), (("f",), 2, "name a process with -p, or write --"),
                                  (("-p", "12x", "f"), 1, "-p takes the number of a process, not '12x'"),
                                  (("-p", "1", "f", "--", "true"), 1, "name a process with -p or a command, not both"),
                                  (("-i", "0", "f", "--", "true"), 2, "-i takes a positive number, not '0'"),
                                  (("f", "-c", "--", "true"), 2, "write the option -c before the functions"),
                                  (("f{}", "--", "true"), 2, "'f{}' is not of the form MODULE:FUNCTION")):
        done = tool(t, "funclat", *args)
        equal((done.returncode, done.stdout), (status, ""), args)
        contains(done.stderr, f"funclat: {message}")
        equal("Usage: funclat" in done.stderr, status == 2, args)
    done = tool(t, "funclat", "nosuch_function", "--", "true")
    equal((done.returncode, done.stdout), (1, ""), "a function that does not exist")
    contains(done.stderr, "no function 'nosuch_function'")

TRANSFERRED = """
#include <dtrace/sdt.h>
int main(void)
{
    /* The buffer, the flags, the size, the block, the device and the file. */
    DTRACE_PROBE6(disk, start, 1, 0x40, 4096L, 80L, "sda1", "/some/file");
    DTRACE_PROBE6(disk, start, 2, 0x500, 512L, 81L, "sdb", "<none>");
    usleep(20000);
    DTRACE_PROBE1(disk, done, 2);
    DTRACE_PROBE1(disk, done, 3); /* began before tracing */
    DTRACE_PROBE1(disk, done, 1);
    DTRACE_PROBE6(disk, start, 1, 0x40, 1024L, 90L, "sda1", "/other");
    DTRACE_PROBE1(disk, done, 1);
    return 0;
}
"""
# Executes dtrace with a program in which static probes replace those of the io provider.
STAND_IN = r"""#!/bin/sh
[ "$1" != -en ] || exit 0
n=$#
while [ $n -gt 0 ]; do
    word=$(printf %s "$1" | sed 's/io:::/disk:::/g; s/args\[0\]->b_flags/(int)arg1/g; s/args\[0\]->b_bcount/arg2/g
        s/args\[0\]->b_blkno/arg3/g; s/args\[1\]->dev_statname/copyinstr(arg4)/g; s/args\[2\]->fi_pathname/copyinstr(arg5)/g
        s/B_WRITE/0x100/g; s/^inline int wanted = .*/inline int wanted = 1;/')
    shift
    set -- "$@" "$word"
    n=$((n - 1))
done
exec DTRACE "$@" -x evaltime=postinit -c PROGRAM
"""

def iosnoop_prints_the_transfers_that_the_probes_describe(t):
    folder = t.scratch / "stand-in"
    folder.mkdir()
    for name in ("iosnoop", "common.sh"):
        shutil.copy(t.build / "cmd/tools" / name, folder)
    program = program_of(t, "disk", "#include <unistd.h>\n" + TRANSFERRED, f"-I{HERE.parents[1] / 'usdt/include'}")
    (folder / "dtrace").write_text(STAND_IN.replace("DTRACE", t.dtrace).replace("PROGRAM", str(program)))
    (folder / "dtrace").chmod(0o755)
    def run(*options):
        return rows(subprocess.run([folder / "iosnoop", *options], capture_output=True, text=True, timeout=60))
    done = run()
    equal(done[0], ["UID", "PID", "D", "BLOCK", "SIZE", "COMM", "PATHNAME"], "heads")
    equal([row[2:] for row in done[1:]],
          [["W", "81", "512", "disk", "<none>"], ["R", "80", "4096", "disk", "/some/file"], ["R", "90", "1024", "disk", "/other"]])
    done = run("-eDost")
    equal(done[0][:5], ["DELTA(us)", "DTIME(us)", "STIME(us)", "TIME(us)", "DEVICE"], "heads")
    equal([row[4] for row in done[1:]], ["sdb", "sda1", "sda1"], "devices")
    times = [[int(word) for word in row[:4]] for row in done[1:]]
    equal((times[0][0], [row[1] >= 20000 for row in times[:2]]), (0, [True, True]), times)
    for delta, took, began, ended in times:
        equal(abs(began + took - ended) <= 1, True, times)
    equal([row[5] for row in run("-d", "/dev/sda1")[1:]], ["disk", "disk"], "-d")
    equal(run("-n", "other")[1:], [], "-n")

def iosnoop_explains_wrong_options_and_what_is_missing(t):
    done = tool(t, "iosnoop", "true")
    equal((done.returncode, done.stdout), (2, ""), "a command")
    contains(done.stderr, "iosnoop: 'true' is not an option\nUsage: iosnoop ")
    t.scratch.chmod(0o755)
    for file in (t.build / "cmd/tools/iosnoop", t.build / "cmd/tools/common.sh", t.dtrace):
        subprocess.run(["install", "-m", "755", file, t.scratch], check=True)
    done = subprocess.run(["timeout", "-s", "INT", "5", *(as_nobody() if os.geteuid() == 0 else ()), t.scratch / "iosnoop"],
                          capture_output=True, text=True, timeout=60)
    if done.returncode in (0, 124):
        raise Skip("any user may trace transfers here")
    equal((done.returncode, done.stdout, done.stderr), (1, "", "iosnoop: transfers can be traced only by root; "
          "'dtrace -lP io' says what is missing\n"))

if __name__ == "__main__":
    main([rwsnoop_prints_each_transfer_with_its_size_and_file, rwsnoop_prints_the_time_and_the_parent,
          rwsnoop_prints_the_transfers_of_a_running_process,
          funclat_counts_the_calls_of_each_function, funclat_separates_callers_and_threads,
          funclat_reports_each_interval_of_a_running_process, funclat_explains_wrong_options,
          iosnoop_prints_the_transfers_that_the_probes_describe, iosnoop_explains_wrong_options_and_what_is_missing])
