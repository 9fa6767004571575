#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests libraries that are loaded and unloaded while they are probed (I in docs/faults.md)."""
import json, pathlib, subprocess, time

from faults import *
from harness import *

# Three threads repeatedly load a library, call it and unload it. Each thread does at least the given number of rounds,
# and continues until stdin is closed.
STORM = """
import ctypes, _ctypes, itertools, sys, threading
def use(name, function, said):
    library = ctypes.CDLL(name)
    for _ in range(20):
        said.append(function(library))
    _ctypes.dlclose(library._handle)
text = b"what goes up comes down" * 50
def packed(library):
    into, n = ctypes.create_string_buffer(3000), ctypes.c_uint(3000)
    library.BZ2_bzBuffToBuffCompress(into, ctypes.byref(n), text, len(text), 9, 0, 0)
    return into.raw[:n.value].hex()
uses = [("liblzma.so.5", lambda library: library.lzma_crc32(text, len(text), 0)),
        ("libbz2.so.1.0", packed),
        ("libzstd.so.1", lambda library: library.ZSTD_compressBound(len(text)))]
said = [[], [], []]
print("ready", flush=True)
sys.stdin.readline()
goes_on = True
def run(k):
    for i in itertools.count():
        if i >= int(sys.argv[1]) and not goes_on:
            break
        use(*uses[k], said[k])
threads = [threading.Thread(target=run, args=(k,)) for k in range(3)]
[thread.start() for thread in threads]
sys.stdin.read()
goes_on = False
[thread.join() for thread in threads]
print([sorted(set(one)) for one in said])
print([len(one) for one in said])
"""

class Storm(Holder):
    def __init__(self, n):
        self.process = subprocess.Popen(["python3", "-c", STORM, str(n)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        equal(self.process.stdout.readline(), "ready\n", "the target")
    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
    def end(self):
        """Ends the program. Returns the results of the calls, and the number of calls to each library."""
        out, errors = self.process.communicate(timeout=120)
        equal(self.process.returncode, 0, errors[-500:])
        said, calls = out.splitlines()
        return said, json.loads(calls)

class Loaders(Holder):
    """The victim `loaders`. Its threads load and unload libraries at the same addresses."""
    def __init__(self, t):
        self.process = subprocess.Popen([t.victim("loaders")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        equal(self.process.stdout.readline(), "ready\n", "the target")

def libraries_are_loaded_and_unloaded_while_probes_are_planted_and_removed(t):
    """I2, I3: several tracers, one after the other, plant probes at the entries and returns of all functions"""
    need("python3")
    n_rounds = 100 if t.long else 8
    with Storm(10) as storm:
        storm.go()
        right, _ = storm.end()
    with Storm(10) as storm:
        storm.go()
        for _ in range(n_rounds):
            with Tracer(t, "pid$target:::entry,pid$target:::return { @ = count(); }", storm.process.pid,
                        flags=("-Z",), wait=False) as tracer:
                tracer.wait()
                time.sleep(0.2)  # libraries are loaded and unloaded during this time
                tracer.finish()
            equal(storm.process.poll(), None, "its end")
        said, calls = storm.end()
    equal(said, right)
    equal(min(calls) >= (200 if t.long else 10 * n_rounds), True, f"calls {calls}")

def libraries_replace_each_other_while_probes_are_planted_and_removed(t):
    """I2, I3: dtrace plants a probe only if the library that it found is still mapped there"""
    everything = "pid$target:::entry,pid$target:::return { @ = count(); }"
    three = ",".join(f"pid$target:lib{name}*::entry" for name in ("bz2", "lzma", "zstd"))
    seconds = 60 if t.long else 4
    for probes, flags in ((everything, ()), (three + " { @ = count(); }", ("-x", "mechanism=int3"))):
        with Loaders(t) as loaders:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                with Tracer(t, probes, loaders.process.pid, flags=("-Z", *flags), wait=False) as tracer:
                    tracer.wait()
                    time.sleep(0.05)  # libraries are loaded and unloaded while probes are in place
                    tracer.finish()
                equal(loaders.process.poll(), None, "its end")
            out, errors = loaders.process.communicate(timeout=60)
        equal(loaders.process.returncode, 0, out + errors)
        contains(out, "wrong 0\n")

def a_library_that_is_loaded_again_is_probed_again(t):
    """I2: the library may be at a different address; each call is counted once"""
    need("python3")
    n = 100 if t.long else 20
    for flags in BOTH:
        with Storm(n) as storm, \
             Tracer(t, "pid$target:liblzma.so.5:lzma_crc32:entry { @[probefunc] = count(); } "
                    "pid$target:libbz2.so.1.0:BZ2_bzBuffToBuffCompress:return { @[probefunc] = count(); }",
                    storm.process.pid, flags=("-Z", *flags)) as tracer:
            storm.go()
            _, calls = storm.end()
            counts = rows(tracer.finish(None))
        equal(counts, {"lzma_crc32": calls[0], "BZ2_bzBuffToBuffCompress": calls[1]}, str(flags))

def modules_keep_their_probes_while_another_library_is_loaded_and_unloaded(t):
    """I1, I2: each call to dlsym() and to the library's plugin_work() is counted once"""
    n_rounds, n_calls = 20, 50
    for flags in BOTH:
        done = subprocess.run(
            [t.dtrace, "-qZ", *flags, "-n",
             "pid$target:::entry,pid$target:plugin.so::return "
             '/probefunc == "plugin_work" || probefunc == "dlsym"/ '
             "{ @[strjoin(probefunc, probename)] = count(); }",
             "-c", f"{t.victim('dlopener')} {t.victim('plugin.so')} {n_rounds} {n_calls}"],
            capture_output=True, text=True, timeout=60)
        equal(done.returncode, 0, done.stderr)
        n_plugin = n_rounds * (n_calls + 1) # the library's constructor makes one more call per load
        contains(done.stdout, f"sum {n_rounds * n_calls * (n_calls + 1) // 2}")
        equal(rows(done.stdout),
              {"plugin_workentry": n_plugin, "plugin_workreturn": n_plugin, "dlsymentry": n_rounds},
              str(flags))

def libraries_in_their_own_namespaces_are_probed(t):
    """I3: tests dlmopen() and LD_AUDIT. If a library is loaded twice, calls to both copies are counted."""
    n_rounds, n_calls = 20, 50
    for flags in BOTH:
        for user in ({"NAMESPACES": "1"}, {"LD_AUDIT": str(t.victim("plugin.so"))},
                     {"NAMESPACES": "1", "LD_AUDIT": str(t.victim("plugin.so"))}):
            done = subprocess.run(
                [t.dtrace, "-qZ", *flags, *(word for item in user.items() for word in ("-x", "setenv=" + "=".join(item))),
                 "-n", "pid$target:::entry,pid$target:plugin.so::return "
                 '/probefunc == "plugin_work"/ { @[strjoin(probefunc, probename)] = count(); }',
                 "-c", f"{t.victim('dlopener')} {t.victim('plugin.so')} {n_rounds} {n_calls}"],
                capture_output=True, text=True, timeout=60)
            equal(done.returncode, 0, done.stderr)
            n_loads = n_rounds * (2 if "NAMESPACES" in user else 1)
            contains(done.stdout, f"sum {n_loads * n_calls * (n_calls + 1) // 2}")
            n = n_loads * (n_calls + 1) # the library's constructor makes one more call per load
            equal(rows(done.stdout), {"plugin_workentry": n, "plugin_workreturn": n}, f"{flags} {user}")

def a_library_that_is_loaded_a_hundred_times_takes_no_more_memory(t):
    """I2: dtrace, its agent and the target reuse the memory that they allocated for the library"""
    need("python3")
    script = ("import ctypes, _ctypes, sys\n"
              "print('ready', flush=True)\n"
              "for n in sys.stdin:\n"
              "    for _ in range(int(n)):\n"
              "        library = ctypes.CDLL('liblzma.so.5')\n"
              "        library.lzma_crc32(b'x', 1, 0)\n"
              "        _ctypes.dlclose(library._handle)\n"
              "    print('done', flush=True)\n")
    process = subprocess.Popen(["python3", "-c", script], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    def load(n):
        process.stdin.write(f"{n}\n")
        process.stdin.flush()
        equal(process.stdout.readline(), "done\n", "the target")
    def resident(pid):
        text = open(f"/proc/{pid}/status").read()
        return int(text.split("VmRSS:")[1].split()[0]) / 1024
    try:
        equal(process.stdout.readline(), "ready\n", "the target")
        with Tracer(t, "pid$target:::entry,pid$target:::return { @ = count(); } "
                    "pid$target:liblzma*:lzma_crc32:entry { @crc[probefunc] = count(); } END { trunc(@); }",
                    process.pid, flags=("-Z",)) as tracer:
            children = open(f"/proc/{tracer.process.pid}/task/{tracer.process.pid}/children").read()
            pids = [tracer.process.pid, process.pid, *map(int, children.split())]
            load(50)
            before = [resident(pid) for pid in pids]
            n_more = 1000 if t.long else 150
            load(n_more)
            grown = [after - old for after, old in zip(map(resident, pids), before)]
            counts = rows(tracer.finish())
    finally:
        process.kill()
        process.communicate()
    equal(counts, {"lzma_crc32": 50 + n_more}, "calls")
    # Without reuse, the growth would be 100 MB.
    equal(max(grown) < 10, True, f"{grown} MB more")

# Loads and unloads libraries in a random order, and calls all loaded libraries after each step. Prints how many times
# it has called each function.
SHUFFLE = """
import collections, ctypes, _ctypes, json, random, sys
chance, calls, there = random.Random(int(sys.argv[1])), collections.Counter(), {}
paths = sys.argv[3:]
for _ in range(int(sys.argv[2])):
    for k in chance.sample(range(len(paths)), chance.randint(1, 3)):
        if k in there:
            _ctypes.dlclose(there.pop(k)._handle)
        else:
            there[k] = ctypes.CDLL(paths[k])
    for k, library in there.items():
        for i in range(k % 5 + 1):
            function = f"part{k}_{i}"
            if library[function](7) != 7 * (i + 3) ^ k:
                sys.exit("a wrong result")
            calls[function] += 1
print(json.dumps(calls))
"""

def libraries_that_reuse_the_addresses_of_others_do_not_affect_their_neighbours(t):
    """I2: libraries of all sizes are loaded and unloaded, and each call to one of them is counted"""
    need("python3", "cc")
    paths = []
    for k in range(16):
        source, path = t.scratch / f"part{k}.c", t.scratch / f"libpart{k}.so"
        source.write_text("".join(
            f"int part{k}_{i}(int n) {{ volatile int m = n; return m * {i + 3} ^ {k}; }}\n"
            for i in range(k % 5 + 1)))
        subprocess.run(["cc", "-shared", "-fPIC", f"-O{k % 3}", source, "-o", path], check=True)
        paths.append(str(path))
    (t.scratch / "shuffle.py").write_text(SHUFFLE)
    for seed in range(40 if t.long else 2):
        done = subprocess.run(
            [t.dtrace, "-qZ", "-n", "pid$target:libpart*.so:part*:entry,pid$target:libpart*.so:part*:return "
             "{ @[probefunc, probename] = count(); }",
             "-c", " ".join(["/usr/bin/python3", str(t.scratch / "shuffle.py"), str(seed), "60", *paths])],
            capture_output=True, text=True, timeout=120)
        equal(done.returncode, 0, done.stderr)
        contains(done.stdout, "{") # the program prints its last line only if it succeeds
        calls = json.loads(done.stdout.splitlines()[0])
        equal(rows(done.stdout), {f"{name} {probe}": n for name, n in calls.items() for probe in ("entry", "return")},
              f"seed {seed}: {done.stderr}")

def a_dtrace_that_waits_for_its_reader_does_not_stop_the_target(t):
    """dtrace's output is a full pipe. When the target loads a library, it waits for dtrace only for a limited time."""
    need("python3")
    script = """
import ctypes, _ctypes, sys
print("ready", flush=True)
sys.stdin.readline()
for _ in range(20):
    _ctypes.dlclose(ctypes.CDLL("liblzma.so.5")._handle)
print("done")
"""
    with held(subprocess.Popen(["python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)) as target:
        equal(target.stdout.readline(), "ready\n", "the target")
        flood = "tick-1ms { printf(\"%4000s\\n\", \"x\"); }"
        with held(t.start("-Zqn", "pid$target:liblzma*::entry { @ = count(); } " + flood,
                          "-p", str(target.pid))) as dtrace:
            wait_until(lambda: text_differs(target.pid), what="a change of its text")
            wait_until(lambda: "pipe" in pathlib.Path(f"/proc/{dtrace.pid}/wchan").read_text(),
                       what="dtrace waits for its reader")
            out, _ = target.communicate("go\n", timeout=60)
    equal(out, "done\n")

TESTS = [a_dtrace_that_waits_for_its_reader_does_not_stop_the_target,
         libraries_are_loaded_and_unloaded_while_probes_are_planted_and_removed,
         libraries_replace_each_other_while_probes_are_planted_and_removed,
         a_library_that_is_loaded_again_is_probed_again,
         modules_keep_their_probes_while_another_library_is_loaded_and_unloaded,
         libraries_in_their_own_namespaces_are_probed,
         a_library_that_is_loaded_a_hundred_times_takes_no_more_memory,
         libraries_that_reuse_the_addresses_of_others_do_not_affect_their_neighbours]

if __name__ == "__main__":
    main(TESTS)
