"""The tools with which tests/harm/run traces programs. Each row of TOOLS says how one tool does this.

dtrace      Traces every entry and return in all processes of a run, and is the only tool that does.
bpftrace    Counts entries and returns with uprobes and uretprobes. For an entire run, it traces WHOLE_FUNCTIONS
            functions of each executable that a run without tracing executed, and of libc, in at most WHOLE_PROBES
            probes. When it attaches to a process, it traces FEW_FUNCTIONS functions of its executable and of libc. It
            does not trace more, because it needs about 0.1 s to remove each probe. It cannot trace executables that the
            run itself creates. The probes for an entire run are in all processes of the machine that use these files.
            dtrace must not trace at the same time: programs died while both tools changed their libc.
gdb         Attaches to a process and sets breakpoints on the same functions as bpftrace. It counts the entries, as each
            breakpoint is ignored. It has no breakpoint for returns. It is not used for entire runs, because it follows
            only one of the processes of a fork.
uftrace     Starts the run, patches all functions that it can, and records entries, returns and calls of libraries.
            It does not attach to processes.

Functions that most programs call often come first (COMMON), then others in a random order. dtrace is ended at a random
moment after its start. The other tools are ended up to 0.3 s after they have printed that they trace.
"""
import contextlib, functools, os, pathlib, random, re, shutil, signal, subprocess, time
from dataclasses import dataclass
from typing import Any

from harness import Skip

ALL = "pid$target:::entry, pid$target:::return { @ = count(); }"
FEW = "pid$target:a.out::entry, pid$target:a.out::return, pid$target:libc.so.6::entry { @ = count(); }"
COMMON = ["malloc", "free", "read", "write", "main", "main.main", "runtime.mallocgc", "runtime.newobject"]
FEW_FUNCTIONS, WHOLE_FUNCTIONS = 12, 60
WHOLE_PROBES = 480          # bpftrace refuses more than 512 probes by default
READY_S, END_S = 30, 60     # the time that a tool has to begin, and to end
READY = "dtrace-harm: traced"

@functools.lru_cache(None)
def symbols(path, _mtime):
    for kind in ([], ["-D"]):
        printed = subprocess.run(["nm", *kind, "--defined-only", path], capture_output=True, text=True).stdout
        found = sorted(set(re.findall(r"^\w+ [Tt] ([A-Za-z_][\w.]*)(?:@@.*)?$", printed, re.M)))
        if found:
            return found
    return []

def functions(path, n):
    """Returns up to n names of functions of an ELF file. The same file always yields the same names."""
    try:
        names = list(symbols(path, os.stat(path).st_mtime_ns))
    except OSError:
        return []
    random.Random(n).shuffle(names)
    return sorted(names, key=lambda name: name not in COMMON)[:n]

def traced_files(pid):
    """Returns the paths of a process's executable and libc, or of those that exist."""
    try:
        maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
        return {os.readlink(f"/proc/{pid}/exe"), *re.findall(r" (/\S+/libc\.so\.6)$", maps, re.M)}
    except OSError:
        return set()        # it has exited

def bpftrace_program(files, n):
    probes = [f'{kind}:{path}:"{name}"' for path in sorted(files) for name in functions(path, n)
              for kind in ("uprobe", "uretprobe")]
    if not probes:
        raise Skip("no function with a name")
    # bpftrace prints this line only after it has planted all probes.
    return f'BEGIN {{ printf("{READY}\\n"); }} {", ".join(probes[:WHOLE_PROBES])} {{ @ = count(); }}'

def bpftrace_attach(_, pid, rng):
    return ["bpftrace", "-p", str(pid), "-e", bpftrace_program(traced_files(pid), FEW_FUNCTIONS)]

def gdb_attach(_, pid, rng):
    lines = ["set pagination off", "set confirm off", "set debuginfod enabled off"]
    for path in sorted(traced_files(pid)):
        for name in functions(path, FEW_FUNCTIONS):
            # gdb evaluates nothing and stays silent if it ignores a breakpoint.
            lines += [f"python gdb.Breakpoint('{name}').ignore_count = 2000000000"]
    lines += [f"echo {READY}\\n", "continue", "info breakpoints", "detach", "quit"]
    return ["gdb", "-nx", "-q", "-batch", "-p", str(pid), *(word for line in lines for word in ("-ex", line))]

def dtrace_attach(dtrace, pid, rng):
    return [dtrace, "-qZn", rng.choice((FEW, FEW, ALL)), "-p", str(pid)]

@contextlib.contextmanager
def dtrace_run(dtrace, command, trace, files):
    yield [dtrace, "-qZ", "-x", "follow=exec", "-o", str(trace), "-n", ALL, "-c", " ".join(command)]

@contextlib.contextmanager
def uftrace_run(_, command, trace, files):
    shutil.rmtree(trace, ignore_errors=True)
    yield ["uftrace", "record", "--force", "-P", ".", "--no-event", "-d", str(trace), *command]

@contextlib.contextmanager
def bpftrace_run(_, command, trace, files):
    with open(trace, "w") as output:
        tool = subprocess.Popen(["setpriv", "--pdeathsig", "INT", "bpftrace", "-e",
                                 bpftrace_program(files, WHOLE_FUNCTIONS)], stdout=output, stderr=subprocess.STDOUT)
    try:
        if not is_ready(tool, trace):
            raise Skip(f"bpftrace did not trace: {trace.read_text()[-200:]}")
        yield command
    finally:
        end(tool)

def count_in_text(trace):
    found = re.search(r"^ *(?:@: )?(\d+)$", trace.read_text(), re.M) if trace.exists() else None
    return int(found[1]) if found else 0

def count_uftrace(trace):
    return sum(file.stat().st_size for file in trace.glob("*.dat")) // 16    # the size of a record

def is_stopped(pid):
    try:
        return re.search(r"\) (.)", pathlib.Path(f"/proc/{pid}/stat").read_text())[1] == "t"
    except OSError:
        return False        # it has exited

def is_ready(tool, log, pid=0):
    """Waits until a tool has printed that it traces, and a process runs again. gdb plants its breakpoints shortly
    before the process runs. Returns False if the tool exits before or is not ready in time."""
    limit = time.monotonic() + READY_S
    while READY not in log.read_text(errors="replace") or pid and is_stopped(pid):
        if tool.poll() is not None or time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True

def end(tool, sig=signal.SIGINT):
    """Ends a tool. Returns an error message, or "" if it ended in time."""
    tool.send_signal(sig)
    try:
        tool.wait(END_S)
    except subprocess.TimeoutExpired:
        tool.kill()
        tool.wait()
        return f"{pathlib.Path(tool.args[0]).name} did not end within {END_S} s"
    return ""

@dataclass(frozen=True)
class Tool:
    run: Any                # a context manager that yields the command of a traced run, or why this is not possible
    attach: Any             # returns the command that attaches to a process, or why this is not possible
    count: Any              # returns the number of firings in the output of an entire run
    messages: bytes         # the lines that the tool adds to the stderr of an entire run
    limit_s: int            # the time limit for a traced run
    reports: bool = True    # whether the tool prints READY

# clang-format off
TOOLS = {
    "dtrace":   Tool(dtrace_run, dtrace_attach, count_in_text, rb"^(?:dtrace|libdtrace): .*$", 900, reports=False),
    "gdb":      Tool("it follows only one process of a fork", gdb_attach, None, rb"(?!)", 120),
    "bpftrace": Tool(bpftrace_run, bpftrace_attach, count_in_text, rb"(?!)", 120),
    "uftrace":  Tool(uftrace_run, "it traces only programs that it starts", count_uftrace,
                     rb"^(?:uftrace|mcount|WARN): .*$", 120)}
# clang-format on
