#!/usr/bin/env python3
"""pid probes on real programs: right counts, right stacks, targets unharmed."""
import pathlib, random, re, signal, subprocess, sys, time

from harness import *

def functions_of_libc_that_ls_calls(t):
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
        raise AssertionError(f"only {sum(counts)} mallocs:\n{done.stdout}")
    contains(done.stderr, "matched 1 probe")
    contains(done.stderr, "has exited")

def malloc_sizes_of_python3(t):
    malloc_sizes(t, "/usr/bin/python3 -c pass", "/usr/bin/python3")

def malloc_sizes_of_gcc(t):
    source = t.scratch / "one.c"
    source.write_text("int main(void) { return 0; }\n")
    malloc_sizes(t, f"gcc -c {source} -o {t.scratch}/one.o", "gcc")

def malloc_sizes_of_node(t):
    script = t.scratch / "one.js"
    script.write_text("console.log(6 * 7)\n")
    malloc_sizes(t, f"node {script}", "node")

def a_redis_server_under_load_is_traced_for_ten_seconds_and_serves_on(t):
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

def latency_between_entry_and_return(t):
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

def a_profile_samples_what_the_target_runs(t):
    need("perl")
    with held(subprocess.Popen(["perl", "-e", "while (1) { $i++ }"])) as target:
        done = t.run("-qn", """profile-97 { @n[pid == $target, arg0 == 0, arg1 != 0] = count(); @s[umod(arg1)] = count(); }
                     tick-2s { exit(0); }""", "-p", str(target.pid))
    equal(done.returncode, 0, done.stderr)
    row = re.search(r"^ +1 +1 +1 +(\d+)$", done.stdout, re.M)
    if row is None or not 20 <= int(row.group(1)) <= 2 * 97 + 1:
        raise AssertionError(done.stdout)
    contains(done.stdout, "perl")

TESTS = [a_profile_samples_what_the_target_runs, functions_of_libc_that_ls_calls, malloc_sizes_of_python3, malloc_sizes_of_gcc,
         malloc_sizes_of_node, latency_between_entry_and_return, stacks_are_counted_and_named,
         a_redis_server_under_load_is_traced_for_ten_seconds_and_serves_on]

if __name__ == "__main__":
    main(TESTS)
