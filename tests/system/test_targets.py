#!/usr/bin/env python3
"""Tests pid probes on real programs: counts and stacks are right, and targets are unharmed."""
import pathlib, random, re, signal, subprocess, sys, time

from harness import *

def functions_of_libc_that_ls_calls_are_counted(t):
    done = t.run("-qn", "pid$target:libc.so.6::entry { @[probefunc] = count(); }", "-c", "/bin/ls /")
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "malloc")
    contains(done.stdout, "bin\n")

def malloc_sizes(t, command, program):
    need(program)
    done = t.run("-n", 'pid$target:libc.so.6:malloc:entry { @["size"] = quantize(arg0); }',
                 "-c", command)
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "value  ------------- Distribution ------------- count")
    counts = [int(line.rsplit(None, 1)[1]) for line in done.stdout.splitlines()
              if re.match(r"\s+-?\d+ \|", line)]
    if sum(counts) < 100:
        raise AssertionError(f"only {sum(counts)} calls to malloc:\n{done.stdout}")
    contains(done.stderr, "matched 1 probe")
    contains(done.stderr, "has exited")

def sizes_of_malloc_in_python3_are_counted(t):
    malloc_sizes(t, "/usr/bin/python3 -c pass", "/usr/bin/python3")

def sizes_of_malloc_in_gcc_are_counted(t):
    source = t.scratch / "one.c"
    source.write_text("int main(void) { return 0; }\n")
    malloc_sizes(t, f"gcc -c {source} -o {t.scratch}/one.o", "gcc")

def sizes_of_malloc_in_node_are_counted(t):
    script = t.scratch / "one.js"
    script.write_text("console.log(6 * 7)\n")
    malloc_sizes(t, f"node {script}", "node")

def a_redis_server_under_load_still_serves_after_ten_seconds_of_tracing(t):
    need("redis-server", "redis-benchmark", "redis-cli")
    socket = t.scratch / "redis.sock"
    with held(subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", str(socket),
                                "--save", "", "--dir", str(t.scratch), "--io-threads", "2"],
                               stdout=subprocess.DEVNULL)) as server:
        wait_until(socket.exists, what="the server's socket")
        with held(subprocess.Popen(["redis-benchmark", "-s", str(socket), "-t", "set,get",
                                    "-n", "1000000000", "-c", "4", "-q"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)):
            computes(server.pid)
            done = t.run("-qn", "pid$target:a.out:processCommand:entry { @ = count(); } "
                         "tick-10s { exit(0); }", "-p", str(server.pid), timeout=60)
        equal(done.returncode, 0, done.stderr)
        if int(done.stdout.split()[0]) < 1000:
            raise AssertionError(done.stdout)
        equal(tracer_of(server.pid), 0, "TracerPid")
        equal(text_differs(server.pid), [], "changed text")
        pong = subprocess.run(["redis-cli", "-s", str(socket), "ping"], capture_output=True,
                              text=True, timeout=10)
        equal(pong.stdout.strip(), "PONG")

def the_time_between_entry_and_return_is_aggregated(t):
    done = t.run("-qn", """
        pid$target:libc.so.6:malloc:entry { self->ts = timestamp; }
        pid$target:libc.so.6:malloc:return /self->ts/
            { @ns = quantize(timestamp - self->ts); @n = count(); self->ts = 0; }
        END { printa("%@d pairs", @n); }""", "-c", "/bin/ls /")
    equal(done.returncode, 0, done.stderr)
    pairs = int(re.search(r"(\d+) pairs", done.stdout).group(1))
    if pairs < 10:
        raise AssertionError(done.stdout)
    equal("error" in done.stderr, False, done.stderr)

def stacks_are_counted_and_named(t):
    done = t.run("-qn", "pid$target:libc.so.6:malloc:entry { @[ustack(10)] = count(); }",
                 "-c", "/bin/ls /")
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "              libc.so.6`malloc\n")
    if not re.search(r"^ {14}libc\.so\.6`__libc_start_main", done.stdout, re.M):
        raise AssertionError(done.stdout)

def a_profile_samples_the_functions_of_the_target(t):
    need("perl")
    with held(subprocess.Popen(["perl", "-e", "while (1) { $i++ }"])) as target:
        done = t.run("-qn", """profile-97 { @n[pid == $target, arg0 == 0, arg1 != 0] = count(); @s[umod(arg1)] = count(); }
                     tick-2s { exit(0); }""", "-p", str(target.pid))
    equal(done.returncode, 0, done.stderr)
    row = re.search(r"^ +1 +1 +1 +(\d+)$", done.stdout, re.M)
    if row is None or not 20 <= int(row.group(1)) <= 2 * 97 + 1:
        raise AssertionError(done.stdout)
    contains(done.stdout, "perl")

TESTS = [a_profile_samples_the_functions_of_the_target, functions_of_libc_that_ls_calls_are_counted,
         sizes_of_malloc_in_python3_are_counted, sizes_of_malloc_in_gcc_are_counted,
         sizes_of_malloc_in_node_are_counted, the_time_between_entry_and_return_is_aggregated, stacks_are_counted_and_named,
         a_redis_server_under_load_still_serves_after_ten_seconds_of_tracing]

if __name__ == "__main__":
    main(TESTS)
