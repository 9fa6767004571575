# SPDX-License-Identifier: MIT
"""Measures other tools for bench/fast_path. They do the same work on the same victim as dtrace. The cost is the CPU
time of traced calls minus the CPU time of untraced calls. For gdb, ltrace and strace, the cost is elapsed time, because
these tools work while the target is stopped.

The cost of a uprobe depends on the instruction. The kernel emulates the first instruction of frame8(), `push %rbp`, but
single-steps the first instruction of work().
"""
import contextlib, functools, os, re, shutil, signal, subprocess, tempfile, time
from table import Skip, peer
from target import Timed, symbols

def need(*programs, root=True):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    if root and os.geteuid() != 0:
        raise Skip(f"{programs[0] if programs else 'this'} needs root")

@contextlib.contextmanager
def running(command, sig=signal.SIGINT):
    tool = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield tool
    finally:
        if tool.poll() is None:
            tool.send_signal(sig)
        try:
            tool.wait(timeout=60)
        except subprocess.TimeoutExpired:
            tool.kill()
            tool.wait()

def while_on(victim, mode, bare, tool=None):
    """Waits until a call takes 50 ns longer than `bare`, which shows that the tool traces the victim. Returns the time
    of a traced call in ns. Raises Skip after 15 s."""
    end = time.monotonic() + 15
    while victim.run(mode, 1, 20000) < bare + 50:
        if (tool and tool.poll() is not None) or time.monotonic() > end:
            raise Skip("it does not attach here")
        time.sleep(0.1)
    return victim.run(mode, 3)

def under(args, mode, *command):
    """Measures a tool that attaches to the victim. Replaces PATH and PID in the tool's command with the victim's path
    and pid."""
    with Timed(args) as victim:
        bare = victim.run(mode)
        words = [word.replace("PATH", victim.path).replace("PID", str(victim.pid)) for word in command]
        with running(words) as tool:
            return while_on(victim, mode, bare, tool) - bare

def bpftrace(args, mode, program):
    need("bpftrace")
    return under(args, mode, "bpftrace", "-p", "PID", "-e", program)

TRACEFS = "/sys/kernel/tracing"

@contextlib.contextmanager
def uprobe(path, function, kinds="p"):
    """Creates uprobe events for a function, as perf probe does. Yields their names."""
    if not os.access(f"{TRACEFS}/uprobe_events", os.W_OK):
        raise Skip(f"{TRACEFS} cannot be written (bench/install-peers mounts it)")
    names = []
    def say(line):
        # Python's open() cannot append to this file, because it would seek to the end.
        events = os.open(f"{TRACEFS}/uprobe_events", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(events, line.encode() + b"\n")
        finally:
            os.close(events)
    try:
        for kind in kinds:
            name = f"dtbench{os.getpid()}/{kind}_{function}"
            fetch = " n=%di:u64" if kind == "p" else ""
            say(f"{kind}:{name} {path}:{file_offset(path, function):#x}{fetch}")
            names.append(name)
        yield [name.replace("/", ":") for name in names]
    finally:
        for name in names:
            for _ in range(50):  # This fails until the kernel has released the event.
                try:
                    say(f"-:{name}")
                    break
                except OSError:
                    time.sleep(0.1)

@functools.lru_cache(None)
def file_offset(path, function):
    at = symbols(path)[function]
    said = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
    for offset, addr, size in re.findall(r"LOAD\s+(0x\w+)\s+(0x\w+)\s+0x\w+\s+(0x\w+)", said):
        if int(addr, 16) <= at < int(addr, 16) + int(size, 16):
            return at - int(addr, 16) + int(offset, 16)
    raise Skip(f"{function} is not in {path}")

def perf(args, mode, function, *command, kinds="p"):
    need("perf")
    path = f"{args.build}/tests/victims/timed"
    with tempfile.TemporaryDirectory() as folder, uprobe(path, function, kinds) as events:
        return under(args, mode, "perf", *(word.replace("EVENTS", ",".join(events)).replace("DIR", folder)
                                           for word in command), "-p", "PID")

def ftrace(args, mode, function):
    """Measures a uprobe event that is recorded in the kernel's ring buffer. No process reads the buffer."""
    need()
    path = f"{args.build}/tests/victims/timed"
    with uprobe(path, function) as events, Timed(args) as victim:
        bare = victim.run(mode)
        switch = f"{TRACEFS}/events/{events[0].replace(':', '/')}/enable"
        try:
            with open(switch, "w") as file:
                file.write("1")
            return while_on(victim, mode, bare) - bare
        finally:
            with open(switch, "w") as file:
                file.write("0")

def bare_of(args, mode):
    with Timed(args) as victim:
        return victim.run(mode)

def uftrace(args, mode, function):
    """Measures uftrace, which records the function's entries and returns. Returns the cost, and a note with the
    fraction of calls that were recorded."""
    need("uftrace", root=False)
    with tempfile.TemporaryDirectory() as folder:
        with Timed(args, ["uftrace", "record", "--no-libcall", "-P", f"^{function}$", "-b", "4M", "-d",
                          f"{folder}/data"]) as victim:
            traced = victim.run(mode, 5, 100000)
            calls = victim.calls
            victim.finish()
        said = subprocess.run(["uftrace", "report", "-d", f"{folder}/data", "-f", "call", "--no-pager"],
                              capture_output=True, text=True).stdout
        seen = re.search(rf"(\d+)\s+{function}\s*$", said, re.M)
        if not seen or int(seen[1]) == 0:
            raise Skip("it records no call")
        return traced - bare_of(args, mode), f"{int(seen[1]) / calls:.4f} of the calls seen"

def callgrind(args, mode):
    """Measures callgrind, which slows down the entire program and not only the probed function."""
    need("valgrind", root=False)
    with Timed(args, ["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=/dev/null"]) as victim:
        traced = victim.run(mode, 5, 500000)
    return traced - bare_of(args, mode)

def by_the_wall(victim, calls):
    """Returns the elapsed ns per call, including the time for which the victim is stopped."""
    before, began = victim.calls, time.perf_counter()
    victim.run("work", 1, calls)
    return (time.perf_counter() - began) * 1e9 / (victim.calls - before)

def gdb(args):
    """Measures a gdb breakpoint whose only command is `continue`."""
    need("gdb", root=False)
    with Timed(args) as victim, tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
        script.write("set pagination off\nbreak work\ncommands\nsilent\ncontinue\nend\ncontinue\n")
        script.flush()
        bare = victim.run("work")
        # SIGINT would stop the target instead of gdb.
        with running(["gdb", "-q", "-nx", "-batch", "-p", str(victim.pid), "-x", script.name],
                     signal.SIGKILL) as tool:
            while_on(victim, "work", bare, tool)
            return by_the_wall(victim, 10000) - bare

def ltrace(args):
    """Measures ltrace, which writes each call to one function to /dev/null."""
    need("ltrace", root=False)
    with Timed(args, ["ltrace", "-o", "/dev/null", "-x", "work", "-L"]) as victim:
        return by_the_wall(victim, 10000) - bare_of(args, "work")

def strace():
    """Runs dd with and without strace. Returns the ns by which strace slows down a system call."""
    need("strace", root=False)
    def seconds(n, *under):
        began = time.perf_counter()
        subprocess.run([*under, "dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={n}", "status=none"], check=True)
        return time.perf_counter() - began
    n = 20000
    def for_bytes(*under):
        return seconds(2 * n, *under) - seconds(n, *under)
    return (for_bytes("strace", "-o", "/dev/null") - for_bytes()) / (2 * n) * 1e9

@contextlib.contextmanager
def lttng_session(event):
    """Starts an LTTng session. Its ring buffers are never read, and old records are overwritten. Yields the environment
    for programs that the session traces."""
    need("lttng", "lttng-sessiond", root=False)
    with tempfile.TemporaryDirectory(prefix="bench-lttng") as home:
        env = {**os.environ, "LTTNG_HOME": home}
        def say(*words):
            done = subprocess.run(["lttng", "--no-sessiond", *words], env=env, capture_output=True, text=True)
            if done.returncode != 0:
                raise Skip(f"lttng {words[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
        daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel", "--quiet"], env=env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1)
            say("create", "bench", "--snapshot", f"--output={home}/out")
            say("enable-channel", "-u", "rings", "--overwrite", "--subbuf-size=1M", "--num-subbuf=4")
            say("enable-event", "-u", "-c", "rings", event)
            say("start")
            yield env
            say("destroy", "bench")
        finally:
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

def lttng(args):
    """Measures an LTTng-UST tracepoint that is compiled into the victim (lttng/work.c)."""
    source, program = f"{args.here}/lib/lttng", f"{args.build}/bench/lttng_work"
    timed = os.path.join(os.path.dirname(args.here), "tests/victims/timed.c")
    os.makedirs(os.path.dirname(program), exist_ok=True)
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(timed):
        built = subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", f"-I{source}", f'-DTIMED="{timed}"', f"{source}/work.c", "-o",
                                program, "-llttng-ust", "-ldl", "-lpthread"], capture_output=True, text=True)
        if built.returncode != 0:
            raise Skip(f"no liblttng-ust-dev? {built.stderr.strip().splitlines()[0]}")
    with lttng_session("bench_work:entry") as env, Timed(args, path=program, env=env) as victim:
        bare = victim.run("work")
        recording = victim.run("tracepoint") - bare
        if recording < 5:
            raise Skip("its tracepoint is not on")
        return recording

def peers(args):
    count, keyed, recorded = "entry, count()", "entry, @[arg0 & 63] = count()", "entry, trace(arg0) recorded"
    latency, stack = "entry + return, latency into quantize", "@[ustack(9)] = count(), frame pointers"
    found = []
    def add(of, tool, once):
        def measured(row):
            value = once()
            if isinstance(value, tuple):
                row.note(value[1])
                return value[0]
            return value
        found.append(peer(of, tool, measured))
    for mode, function, how in (("stack", "frame8", "push %rbp"), ("work", "work", "single-stepped")):
        at = f"uprobe:PATH:{function}"
        add(count, f"bpftrace, {how}",
            lambda mode=mode, at=at: bpftrace(args, mode, at + " { @ = count(); }"))
        add(keyed, f"bpftrace, {how}",
            lambda mode=mode, at=at: bpftrace(args, mode, at + " { @[arg0 & 63] = count(); }"))
        add("entry, @ = quantize(arg0)", f"bpftrace hist, {how}",
            lambda mode=mode, at=at: bpftrace(args, mode, at + " { @ = hist(arg0); }"))
        add("return, count()", f"bpftrace, {how}",
            lambda mode=mode, f=function: bpftrace(args, mode, f"uretprobe:PATH:{f} {{ @ = count(); }}"))
        add("entry, false predicate /arg0 == -1/", f"bpftrace, {how}",
            lambda mode=mode, at=at: bpftrace(args, mode, at + " /arg0 == 12345678901234/ { @ = count(); }"))
        add(latency, f"bpftrace hist, {how}",
            lambda mode=mode, f=function: bpftrace(
                args, mode, f"uprobe:PATH:{f} {{ @t[tid] = nsecs; }} uretprobe:PATH:{f} /@t[tid]/ "
                "{ @ = hist(nsecs - @t[tid]); delete(@t[tid]); }"))
    add(stack, "bpftrace, push %rbp",
        lambda: bpftrace(args, "stack", "uprobe:PATH:frame8 { @[ustack(8)] = count(); }"))
    add(count, "perf stat, push %rbp", lambda: perf(args, "stack", "frame8", "stat", "-e", "EVENTS"))
    record = ["record", "-q", "-o", "DIR/data", "-e", "EVENTS"]
    add(recorded, "perf record, push %rbp", lambda: perf(args, "stack", "frame8", *record))
    add(latency, "perf record, push %rbp (records only)",
        lambda: perf(args, "stack", "frame8", *record, kinds="pr"))
    add(stack, "perf record -g, push %rbp", lambda: perf(args, "stack", "frame8", *record, "-g"))
    add(recorded, "ftrace into its ring, push %rbp", lambda: ftrace(args, "stack", "frame8"))
    add(count, "callgrind (the whole program)", lambda: callgrind(args, "work"))
    add(count, "gdb breakpoint, wall time", lambda: gdb(args))
    add(count, "ltrace -x (entry + return printed), wall time", lambda: ltrace(args))
    add("a system call", "strace -o /dev/null, wall time", strace)
    add(latency, "uftrace -P (started under it; records only)", lambda: uftrace(args, "work", "work"))
    add(recorded, "LTTng-UST into its ring (compiled in)", lambda: lttng(args))
    return found
