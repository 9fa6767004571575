"""Tests threads that may be at any instruction while probes are planted, fire and are removed (C in docs/faults.md)."""
import os, pathlib, signal, subprocess, time

from faults import *
from harness import *

def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]

def traced_from(t, k, program, flags):
    """Attaches to a process that is stopped at its Kth instruction. Returns the counts and the instruction's offset, or
    None if the process ends before its Kth instruction."""
    parent = subprocess.Popen([t.victim("placed"), str(k)], stdout=subprocess.PIPE, text=True)
    words = parent.stdout.readline().split()
    if words[0] == "ended":
        parent.wait()
        parent.stdout.close()
        return None
    pid = int(words[1])
    try:
        wait_until(lambda: state_of(pid) == "T", what="the stop of the target")
        tracer = Tracer(t, program, pid, flags=flags)
        equal(state_of(pid) in "Tt", True, "it stays stopped while it is traced")
        os.kill(pid, signal.SIGCONT)
        said, _ = parent.communicate(timeout=60)
        equal(said, "status 42 signal 0\n", f"at instruction {k}, +0x{words[2]}")
        return rows(tracer.finish(None)), int(words[2], 16)
    finally:
        parent.kill()
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)

def a_thread_may_be_at_any_instruction_of_a_window(t):
    """C3, B20: before the probes are planted, the thread is single-stepped to the Kth instruction"""
    entry_and_return = "pid$target:a.out:stepped:entry,pid$target:a.out:stepped:return "
    last = 60
    every_instruction = "pid$target:a.out:stepped: "
    for probes, flags in ((entry_and_return, BOTH[0]), (every_instruction, BOTH[0]),
                          (every_instruction, BOTH[1])):
        for k in range(last):
            got = traced_from(t, k, probes + "{ @[probename] = count(); }", flags)
            if got is None:
                break
            counts, offset = got
            # The thread is in the first of 1000 calls to stepped(). Each call passes two return sites.
            equal(counts["entry"], 1000 if offset == 0 else 999, f"entries, from +{offset:#x}")
            equal(counts["return"] in (1999, 2000), True, f"returns, from +{offset:#x}")
        equal(k > 15, True, f"only {k} instructions")

def threads_start_and_end_while_probes_are_planted_and_removed(t):
    """C1: a program runs ten thousand threads, or twenty thousand with --long, and prints their results"""
    need("python3")
    n = 2000 if t.long else 1000
    script = ("import threading\n"
              "print('ready', flush=True)\n"
              "done = []\n"
              "def run(n): done.append(n * 3)\n"
              f"for i in range({n}):\n"
              "    all = [threading.Thread(target=run, args=(i + k,)) for k in range(10)]\n"
              "    [x.start() for x in all]; [x.join() for x in all]\n"
              "print(len(done), sum(done))\n")
    with held(subprocess.Popen(["python3", "-c", script], stdout=subprocess.PIPE, text=True)) as target:
        equal(target.stdout.readline(), "ready\n", "the target")
        n_rounds = traced_again_and_again(
            t, "pid$target:libc.so.6:pthread*:entry,pid$target:libc.so.6::return { @ = count(); }", target, 0.05)
        said = target.communicate(timeout=60)[0]
    equal((target.returncode, said), (0, f"{n * 10} {sum(3 * (i + k) for i in range(n) for k in range(10))}\n"))
    equal(n_rounds >= 1, True, "the target was never traced")

def one_probe_is_toggled_while_threads_run_through_it(t):
    """C7: the probe is planted and removed 15 times, or 300 times with --long"""
    n_toggles = 300 if t.long else 15
    with Paced(t, "free", 2000000000, 3) as target:
        os.write(target.process.stdin.fileno(), b"x")
        total = 0
        for _ in range(n_toggles):
            tracer = Tracer(t, "pid$target:a.out:work:entry,pid$target:a.out:work:return { @ = count(); } "
                            'END { printa("entries %@d\\n", @); }', target.pid)
            total += found(tracer.finish(), "entries")
            untouched(target.pid)
        equal(is_alive(target.pid), True, "alive")
        equal(total > n_toggles, True, f"only {total} firings")

def a_target_with_a_spinning_real_time_thread_is_traced(t):
    """C8: the thread has the policy SCHED_FIFO and never sleeps"""
    need("chrt")
    if subprocess.run(["chrt", "-f", "1", "true"], capture_output=True).returncode != 0:
        raise Skip("no real-time priority is available here")
    never = 10**18  # the number of calls; even on a fast machine, the thread runs until it is killed
    with Paced(t, "free", never, 1, before=["chrt", "-f", "1"]) as target:
        os.write(target.process.stdin.fileno(), b"x")
        computes(target.pid)
        tracer = Tracer(t, "pid$target:a.out:work:entry { @ = count(); } "
                        + so_far(), target.pid)
        fired(tracer.out.read_text, 1000)
        tracer.finish()
        untouched(target.pid)

def probes_on_functions_of_libc_and_the_loader_do_not_recurse(t):
    """C10: probes libc's functions for memory, time, files and locks, and every function in the loader"""
    program = ",".join(f"pid$target:libc.so.6:{name}:entry,pid$target:libc.so.6:{name}:return" for name in
                       ("mem*", "str*", "clock_*", "*alloc", "free", "write", "read", "pthread_*"))
    for flags in BOTH:
        said, out = traced_command(t, program + ",pid$target:ld-linux-x86-64.so.2::entry "
                                   "{ @[timestamp > 0, execname] = count(); @s = max(ustackdepth); }",
                                   t.victim("spin") + " 100 4", flags)
        contains(said, "calls 400 ")
        equal(rows(out)["1 spin"] > 20, True, "firings")

TESTS = tests_of(globals())

if __name__ == "__main__":
    main(TESTS)
