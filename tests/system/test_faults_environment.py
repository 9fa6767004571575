"""Tests targets into which it is hard to inject code (E in docs/faults.md). They are in sandboxes or namespaces,
have limits or other C libraries, or have not run the dynamic linker yet."""
import os, pathlib, re, shutil, signal, subprocess, tempfile

from faults import *
from harness import *

# The numbers of mmap, mprotect, write, futex, clock_gettime, membarrier, getpid, gettid and process_vm_readv.
NUMBERS = (9, 10, 1, 202, 228, 324, 39, 186, 310)

def told(errors, note):
    """Checks that dtrace printed the note, or nothing if the note is empty."""
    if not note:
        equal(errors, "", "messages of dtrace")
    contains(errors, note)

def both_ways(t, how, note="", danger="", **more):
    """Traces with jumps and with breakpoints. With jumps, dtrace must print `note`. With breakpoints, dtrace must
    report that killing the agent would kill the target, because of `danger`. If the expected text is empty, dtrace must
    print nothing."""
    for flags in BOTH:
        errors, _ = traced_calls(t, how, flags=flags, **more)
        told(errors, f"would kill the process if the ptrace-agent were killed: {danger}" if flags and danger else
             "" if flags else note)

class Users:
    """Runs dtrace as an ordinary user, from a directory that this user may enter."""
    def __init__(self, t):
        self.before = as_nobody() if os.geteuid() == 0 else []
        self.folder = t.scratch / "user"
        self.folder.mkdir(exist_ok=True)
        t.scratch.chmod(0o777)
        self.folder.chmod(0o777)
        for path in (t.dtrace, t.victim("paced")):
            subprocess.run(["install", "-m", "755", path, str(self.folder)], check=True)
        self.t = t.__class__.__new__(t.__class__)
        self.t.__dict__.update(t.__dict__, dtrace=str(self.folder / "dtrace"))

    def both_ways(self, how, note="", danger=""):
        both_ways(self.t, how, note, danger, user=self.before, path=str(self.folder / "paced"))

# Sandboxes

def a_target_in_strict_seccomp_is_traced_by_root(t):
    """E1: root suspends the filter"""
    if os.geteuid() != 0:
        raise Skip("only root may suspend a filter")
    # Strict mode disables rdtsc, which the runtime uses when a jump fires a probe.
    both_ways(t, "strict", danger="it runs under seccomp", n=20000)

def a_target_under_any_filter_is_traced_by_root(t):
    """E2: the filter forbids one system call of NUMBERS, all of NUMBERS, or all except three system calls."""
    if os.geteuid() != 0:
        raise Skip("only root may suspend a filter")
    for numbers in [*((number,) for number in NUMBERS), NUMBERS]:
        errors, _ = traced_calls(t, "deny=" + ",".join(map(str, numbers)))
        equal(errors, "", f"without {numbers}")
    both_ways(t, "allow", danger="it runs under seccomp")

def the_filter_of_a_traced_target_stays_in_force(t):
    """E2: a system call that the filter forbids still kills the target"""
    with Paced(t, "deny=39", more=("39",)) as target:
        tracer = Tracer(t, LOOKS + ENDS, target.pid)
        target.call()
        equal(target.process.wait(timeout=20), -signal.SIGSYS, "status after the forbidden call")
        tracer.finish(None)

def an_ordinary_user_traces_sandboxed_targets_with_breakpoints(t):
    """E1, E2, E11: an ordinary user may not suspend the filter, so nothing is injected"""
    note = "it runs under seccomp, and dtrace cannot suspend its filter, which requires CAP_SYS_ADMIN"
    for how in ("strict", "allow", "deny=9"):
        Users(t).both_ways(how, note, danger=note)

def a_target_that_may_not_map_executable_memory_is_traced(t):
    """E6: the target forbids memory that is both writable and executable (PR_SET_MDWE)"""
    both_ways(t, "mdwe")
    Users(t).both_ways("mdwe")

# Limits

def targets_with_tiny_limits_are_traced(t):
    """E18, E19: if a limit denies memory or a descriptor, dtrace reports the reason and uses breakpoints."""
    notes = {"as": "(RLIMIT_AS)", "nofile": "(RLIMIT_NOFILE)"}
    dangers = {"as": "the handler that restores the text could not be installed"}
    for how in ("as", "nofile", "memlock", "stack", "fsize", "mlockall"):
        both_ways(t, how, notes.get(how, ""), dangers.get(how, ""))
        if how != "mlockall":
            Users(t).both_ways(how, notes.get(how, ""), dangers.get(how, ""))

def a_target_with_a_thousand_threads_is_traced(t):
    """C2, E18: each thread makes a hundred calls, and each call is counted"""
    both_ways(t, "free", n=100, threads=1000)

def kib_of(pid, name):
    return int(re.search(rf"{name}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))

def a_target_that_locks_its_memory_does_not_grow_by_the_arena(t):
    """E19: mlockall() would load all pages of the arena and of the areas for trampolines into memory"""
    with Paced(t, "mlockall") as target:
        locked = kib_of(target.pid, "VmLck")
        tracer = Tracer(t, LOOKS + ENDS, target.pid)
        kib = kib_of(target.pid, "VmRSS")
        equal(kib < 16384, True, f"{kib} KiB in memory")
        grown = kib_of(target.pid, "VmLck") - locked
        equal(grown < 4096, True, f"{grown} KiB locked") # the runtime's code
        target.call()
        tracer.finish()
        untouched(target.pid)
        target.end()

def no_descriptor_is_left_open_in_a_target(t):
    """E14: the target has no new descriptor, and no memory that is both writable and executable. It cannot write to
    the agent's memory."""
    with Paced(t, "free") as target:
        files = sorted(os.listdir(f"/proc/{target.pid}/fd"))
        tracer = Tracer(t, LOOKS + ENDS, target.pid)
        equal(sorted(os.listdir(f"/proc/{target.pid}/fd")), files, "descriptors while traced")
        maps = pathlib.Path(f"/proc/{target.pid}/maps").read_text()
        equal(re.findall(r".* .wx. .*", maps), [], "memory writable and executable")
        ours = [line for line in maps.splitlines() if "dtrace-" in line]
        equal(len(ours) >= 3, True, "the arena and the config are mapped")
        for line in ours:
            contains(line, "/memfd:")
            if "dtrace-data" not in line:
                contains(line, " r--s ")
        target.call()
        tracer.finish()
        equal(sorted(os.listdir(f"/proc/{target.pid}/fd")), files, "descriptors afterwards")
        target.end()

# Namespaces

def inner_pid_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

def a_target_in_other_namespaces_is_traced_from_outside(t):
    """E8, E9, B18: the target is the first process in a pid namespace and has its own mounts."""
    need("unshare")
    unshare = ["unshare", "--pid", "--fork", "--mount", "--mount-proc"]
    if os.geteuid() != 0:
        unshare.insert(1, "--map-root-user")
    if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        raise Skip("no namespaces can be created here")
    for flags in BOTH:
        with Paced(t, "free", 1000, 5, before=unshare) as target:
            equal(target.inner_pid, 1, "its pid in its own namespace")
            target.pid = inner_pid_of(target.pid)
            tracer = Tracer(t, LOOKS + ENDS + " pid$target:a.out:work:entry { @p[pid] = count(); }",
                            target.pid, flags=flags)
            target.call()
            out = tracer.finish()
            equal((found(out, "entries"), found(out, "returns"), found(out, "odd")),
                  (5000, 5000, 0), "firings")
            equal(rows(out)[str(target.pid)], 5000, "firings by pid")
            untouched(target.pid)
            target.end()

def files_of_a_sandboxed_target_with_its_own_mounts_are_named(t):
    """E1, E8: the agent opens the files. The target makes no system call for this."""
    need("unshare")
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"]).returncode != 0:
        raise Skip("no mounts are possible here")
    mounted = ["unshare", "--mount", "sh", "-c",
               'mount -t tmpfs none /mnt && exec "$@" 9> "/mnt/a file"', "sh"]
    looks = ("pid$target:a.out:work:entry { @[fds[9].fi_pathname, fds[9].fi_fs, "
             'fds[9].fi_mount] = count(); } END { printa("%s %s %s %@d\\n", @); }')
    for flags in BOTH:
        for how in ("free", "strict"):
            with Paced(t, how, 100, before=mounted) as target:
                tracer = Tracer(t, looks, target.pid, flags=flags)
                target.call()
                contains(tracer.finish(), "/mnt/a file tmpfs /mnt 100\n")
                untouched(target.pid)
                target.end()

def dtrace_works_in_its_own_pid_namespace(t):
    """E9: $target and pid are process ids in that namespace"""
    need("unshare")
    unshare = ["unshare", "--pid", "--fork", "--mount", "--mount-proc"]
    if os.geteuid() != 0:
        unshare.insert(1, "--map-root-user")
    if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        raise Skip("no namespaces can be created here")
    done = subprocess.run([*unshare, t.dtrace, "-qn", "pid$target:a.out:work:entry "
                           '{ @[pid == $target] = count(); } END { printa("%d %@d\\n", @); }',
                           "-c", t.victim("spin") + " 100 4"],
                          capture_output=True, text=True, timeout=60)
    equal((done.returncode, done.stderr), (0, ""))
    contains(done.stdout, "1 400\n")

# Other kinds of programs

def compiled(t, name, *command):
    need(command[0])
    path = t.scratch / name
    source = pathlib.Path(__file__).resolve().parent.parent / "victims/paced.c"
    subprocess.run([*command, "-O1", "-g", "-fno-optimize-sibling-calls", "-o", str(path),
                    str(source), "-lpthread"], check=True, capture_output=True)
    return str(path)

def programs_linked_in_any_way_are_traced(t):
    """I10: the programs are linked statically, as static-pie, and to a fixed address"""
    for option in ("-static", "-static-pie", "-no-pie"):
        both_ways(t, "free", threads=4, path=compiled(t, "paced" + option, "gcc", option))

def programs_with_musl_are_traced(t):
    """I10: the programs are linked dynamically and statically"""
    both_ways(t, "free", threads=4, path=compiled(t, "musl", "musl-gcc"))
    both_ways(t, "free", threads=4, path=compiled(t, "musl-static", "musl-gcc", "-static"))

def probes_are_planted_before_the_dynamic_linker_runs(t):
    """I9: with evaltime=exec, no library is mapped yet"""
    for name in ("spin", "static_spin"):
        for flags in BOTH:
            done = t.run("-x", "evaltime=exec", *flags, "-qn", "pid$target:a.out:work:entry "
                         '{ @ = count(); } END { printa("entries %@d\\n", @); }',
                         "-c", t.victim(name) + " 1000 4")
            equal((done.returncode, done.stderr), (0, ""), name)
            equal(found(done.stdout, "entries"), 4000, name)

TESTS = tests_of(globals())

if __name__ == "__main__":
    main(TESTS)
