#!/usr/bin/env python3
"""Tests that dtrace resists another user's programs. They attack the memory that dtrace maps into a target."""
import contextlib, itertools, mmap, os, pathlib, re, shutil, signal, subprocess, time

from harness import *
from traced import *

COUNTED = "{ @ = count(); }"

def nobodys(t, name, *args, uid=65534, **more):
    """Starts a victim as an unprivileged user."""
    if os.geteuid() != 0:
        raise Skip("only root can trace a process of another user")
    return subprocess.Popen([*of_another_user(t, name, uid), *args], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, **more)

def attach_while_a_neighbour_reopens(t, n_targets):
    """Attaches to targets while another process of the same user looks for descriptors of dtrace's memory. Returns
    how many descriptors this process found, and how many it could open."""
    with contextlib.ExitStack() as ends:
        targets = [ends.enter_context(held(nobodys(t, "waiter", "1"))) for _ in range(n_targets)]
        for target in targets:
            ready(target)
        pids = [str(target.pid) for target in targets]
        thief = ends.enter_context(held(nobodys(t, "reopener", *pids)))
        ready(thief)
        traced = Traced(t, " ".join(f"pid{pid}:a.out:work:entry {COUNTED}" for pid in pids), *pids)
        traced.finish(signal.SIGINT)
        thief.send_signal(signal.SIGTERM)
        seen, opened = numbers(thief.communicate(timeout=20)[0])
        for target in targets:
            released(target.pid)
            target.communicate(timeout=20)
            equal(target.returncode, 0, "the target's exit status")
    return seen, opened

def a_process_of_the_targets_user_cannot_reopen_the_runtimes_memory(t):
    seen = opened = 0
    for _ in range(10 if t.long else 1):
        now = attach_while_a_neighbour_reopens(t, 10)
        seen, opened = seen + now[0], opened + now[1]
    equal(opened, 0, f"descriptors opened for writing, of {seen} found")

def not_even_root_can_write_to_the_configuration_of_a_runtime(t):
    """The configuration is a sealed file. Only the agent can write to it, through a mapping that is older than the
    seals."""
    if os.geteuid() != 0:
        raise Skip("only root can open the files of another process's mappings")
    with held(nobodys(t, "waiter", "1")) as target:
        ready(target)
        traced = Traced(t, f"pid{target.pid}:a.out:work:entry {COUNTED}", str(target.pid))
        maps = pathlib.Path(f"/proc/{target.pid}/maps").read_text()
        areas = re.findall(r"^(\w+-\w+) (\S+) .*memfd:dtrace-config", maps, re.M)
        equal([access for _, access in areas], ["r--s"], maps)
        attempts = []
        begin = int(areas[0][0].split("-")[0], 16)
        with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(begin)
            attempts.append(lambda: memory.write(b"\xff" * 8))
            file = os.open(f"/proc/{target.pid}/map_files/{areas[0][0]}", os.O_RDWR)
            attempts.append(lambda: os.pwrite(file, b"\xff" * 8, 0))
            attempts.append(lambda: mmap.mmap(file, 4096, mmap.MAP_SHARED, mmap.PROT_WRITE))
            attempts.append(lambda: os.ftruncate(file, 0))
            for number, attempt in enumerate(attempts):
                try:
                    attempt()
                except OSError:
                    continue
                raise AssertionError(f"attempt {number} succeeded")
            os.close(file)
        traced.finish(signal.SIGINT)
        target.communicate(timeout=20)
        equal(target.returncode, 0, "the target's exit status")

def descriptors(pid):
    """Returns the open descriptors of a process and the files that they refer to."""
    folder = f"/proc/{pid}/fd"
    return {number: os.readlink(f"{folder}/{number}") for number in os.listdir(folder)}

def a_process_that_rewrites_descriptor_numbers_in_a_target_closes_no_other_descriptor(t):
    with held(nobodys(t, "waiter", "1")) as target, held(nobodys(t, "waiter", "1", uid=65533)) as innocent:
        for process in (target, innocent):
            ready(process)
        before = [descriptors(process.pid) for process in (target, innocent)]
        with held(nobodys(t, "rewriter", str(target.pid))) as rewriter:
            ready(rewriter)
            for _ in range(200 if t.long else 20):
                probes = f"pid{target.pid}:a.out:work:entry, pid{innocent.pid}:a.out:work:entry"
                done = t.run("-qn", f"{probes} {COUNTED} BEGIN {{ exit(0); }}", "-p", str(target.pid),
                             "-p", str(innocent.pid), timeout=60)
                if done.returncode not in (0, 1):
                    raise AssertionError(f"dtrace ended with {done.returncode}: {done.stderr}")
        for process in (target, innocent):
            released(process.pid)
        equal([descriptors(process.pid) for process in (target, innocent)], before, "the targets' descriptors")
        innocent.communicate(timeout=20)
        equal(innocent.returncode, 0, "the innocent target's exit status")

# A program that gains privileges must not map the arena, because other processes can write to it.

def a_set_uid_program_that_a_followed_target_executes_does_not_map_the_arena(t):
    if os.geteuid() != 0:
        raise Skip("only root may install a set-uid program")
    need("gcc")
    user = as_nobody()
    t.scratch.chmod(0o755)
    privileged, program = t.scratch / "gains", t.scratch / "executes"
    source = """#include <stdio.h>
                #include <string.h>
                #include <unistd.h>
                __attribute__((noinline)) int work(int n) { __asm__ volatile(""); return n + 1; }
                int main(int argc, char **argv) {
                    char line[512];
                    int n = 0, mapped = 0;
                    for (int i = 0; i < 100; i++) n = work(n);
                    FILE *maps = fopen("/proc/self/maps", "r");
                    while (maps && fgets(line, sizeof line, maps))
                        mapped += strstr(line, "memfd:dtrace") != NULL;
                    printf("user %d mapped %d\\n", (int)geteuid(), mapped);
                    fflush(stdout);
                    if (argc > 1) execl(argv[1], argv[1], (char *)0);
                    return n != 100;
                }"""
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", str(program)], input=source, text=True, check=True)
    for mode, seen in ((0o4755, 100), (0o755, 200)):
        shutil.copy(program, privileged)
        privileged.chmod(mode)
        done = t.run("-Z", "-x", "follow=exec", "-qn", 'pid$target:a.out:work:entry { @ = count(); } END { printa("work %@d\\n", @); }',
                     "-c", " ".join([*user, str(program), str(privileged)]), timeout=60)
        lines = [line for line in done.stdout.splitlines() if line.startswith("user ")]
        contains(done.stdout, f"work {seen}\n")
        equal(len(lines), 2, done.stdout)
        equal(lines[1].startswith("user 0 mapped 0"), seen == 100, lines[1])
        equal("gained privileges" in done.stderr, seen == 100, done.stderr)

# Targets that leave the session, by an exit, a death or the exec of a set-uid program, at any moment after the attach

def left_at_each_moment(t, how, judge, *more):
    """Traces three processes: a target that leaves the session, another process of the same user, and a process of
    another user. dtrace, its agents and the two other processes must live, and the calls of these two must be counted.
    Calls judge(target) during the session and after it."""
    jumps, breakpoints = ("-x", "follow=exec"), ("-x", "follow=exec", "-x", "mechanism=int3")
    moments = [0, *(100 << i for i in range(15)), 4_000_000] # in us
    sessions = ([(us, flags) for us in moments * 20 for flags in (jumps, breakpoints)] if t.long else
                list(zip(moments[::2], itertools.cycle((jumps, breakpoints)))))
    n_early = n_begun = 0
    for us, flags in sessions:
        with contextlib.ExitStack() as ends:
            hold = lambda process: ends.enter_context(held(process))
            target = hold(nobodys(t, "leaver", how, str(us), *more))
            others = [hold(nobodys(t, "waiter", "1")), hold(nobodys(t, "waiter", "1", uid=65533))]
            pids = [process.pid for process in (target, *others)]
            for process in (target, *others):
                ready(process)
            program = f"pid{pids[0]}:a.out:work:entry {{ @all[0] = count(); }} BEGIN {{ printf(\"BEGAN\\n\"); }}"
            for k, pid in enumerate(pids[1:]):
                program += f" pid{pid}:a.out:work:entry {{ @n{k} = count(); }}"
                program += so_far(f"@n{k}").replace("so far", f"{k} so far")
            out = t.scratch / f"left.{time.monotonic_ns()}"
            dtrace = hold(t.start("-q", *flags, "-o", str(out), "-n", program,
                                  *(word for pid in pids for word in ("-p", str(pid)))))
            def both_fired():
                return out.exists() and all(re.search(f"^{k} so far [1-9]", out.read_text(), re.M) for k in (0, 1))
            def has_left():
                try:
                    return not os.readlink(f"/proc/{target.pid}/exe").endswith("/leaver")
                except FileNotFoundError:
                    return True # it has exited
            def has_begun():
                return out.exists() and "BEGAN" in out.read_text()
            wait_until(lambda: has_left() or dtrace.poll() is not None, what=f"{how} after {us} us")
            n_early += not has_begun()
            wait_until(lambda: both_fired() or dtrace.poll() is not None, what=f"firings, {how} after {us} us")
            if dtrace.poll() is None:
                n_begun += 1
                judge(target)
                for process in others:
                    equal(tracer_of(process.pid) != 0, True, f"an agent traces the others, {how} after {us} us")
                dtrace.send_signal(signal.SIGINT)
            _, errors = dtrace.communicate(timeout=60)
            equal((dtrace.returncode in (0, 1), "agent" in errors), (True, False), f"{how} after {us} us: {errors}")
            for process in others:
                released(process.pid)
                said, _ = process.communicate(timeout=20)
                equal(process.returncode, 0, f"the status of another target, {how} after {us} us, which printed {said!r}")
            judge(target)
    print(f"     {n_early} of {len(sessions)} targets left before BEGIN, and {n_begun} sessions began")
    equal((n_early > 0, n_begun > 0), (True, True), "targets left before BEGIN, and sessions began")

def a_target_that_exits_at_any_moment_harms_nothing(t):
    left_at_each_moment(t, "exits", lambda target: None)

def a_target_that_dies_at_any_moment_harms_nothing(t):
    left_at_each_moment(t, "dies", lambda target: None)

def a_target_that_executes_a_set_uid_program_at_any_moment_passes_nothing_to_it(t):
    """The program has root's rights. It must not map memory that another process can write, and has no probes."""
    if os.geteuid() != 0:
        raise Skip("only root may install a set-uid program")
    t.scratch.chmod(0o755)
    privileged = t.scratch / "privileged_leaver"
    shutil.copy(t.victim("leaver"), privileged)
    privileged.chmod(0o4755)
    began = set()
    def judge(target):
        if target.pid in began:
            equal(target.communicate(timeout=20)[0], "mapped 0\n", "the set-uid program, at its end")
            equal(target.returncode, 0, "the status of the set-uid program")
            return
        began.add(target.pid)
        equal(ready(target), "user 0 mapped 0\n", "the set-uid program")
        equal(text_differs(target.pid), [], "changed text of the set-uid program")
    left_at_each_moment(t, "execs", judge, str(privileged))

# Reading an object that the target created must not block dtrace

def a_target_whose_descriptors_block_reads_does_not_delay_another_target(t):
    found = 0
    for _ in range(20):
        with held(nobodys(t, "unblocker")) as hostile, held(nobodys(t, "waiter", "1")) as innocent:
            ready(hostile)
            ready(innocent)
            probes = f"pid{hostile.pid}:a.out:work:entry, pid{innocent.pid}:a.out:work:entry"
            done = t.run("-qn", probes + " { @[pid, ustack(3), fds[0].fi_name] = count(); } "
                         'tick-10ms { n++; } tick-10ms /n == 100/ { printf("ticked\\n"); exit(0); }',
                         "-p", str(hostile.pid), "-p", str(innocent.pid), timeout=60)
            contains(done.stdout, "ticked\n")
            contains(done.stdout, f" {innocent.pid}\n")
            for target in (hostile, innocent):
                released(target.pid)
            innocent.communicate(timeout=20)
            equal(innocent.returncode, 0, "the innocent target's exit status")
            # If a read would block, dtrace gives up on the hostile target.
            if done.returncode != 0:
                contains(done.stderr, f"dtrace released process {hostile.pid}: ")
            found += numbers(hostile.communicate("\n", timeout=20)[0])[-1]
        if found != 0 and not t.long:
            return
    if found == 0:
        raise Skip("the hostile process found no userfaultfd in 20 runs")

# A set-uid dtrace must not run its user's preprocessor, and must not read root's files for the user.

EVIL = """#!/usr/bin/env python3
import os, sys
print(os.geteuid(), file=open(%r, "w"))
sys.stdout.write(sys.stdin.read())
"""

def a_set_uid_dtrace_ignores_options_in_the_environment(t):
    if os.geteuid() != 0:
        raise Skip("only root may install a set-uid program")
    user = as_nobody()
    t.scratch.chmod(0o755)
    folder = t.scratch / "privileged"
    folder.mkdir()
    folder.chmod(0o777)
    shutil.copy(t.dtrace, folder / "dtrace")
    (folder / "dtrace").chmod(0o4755)
    ran = folder / "ran"
    (folder / "cpp").write_text(EVIL % str(ran))
    (folder / "cpp").chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    def run(*flags, **env):
        done = subprocess.run([*user, str(folder / "dtrace"), *flags, "-qn", "BEGIN { exit(0); }"], cwd=folder,
                              capture_output=True, text=True, timeout=60, env=dict(os.environ, **env))
        equal(ran.exists(), False, f"the user's preprocessor ran, {flags} {env}")
        return done
    done = good(run(DTRACE_OPT_CPP="1", DTRACE_OPT_CPPPATH=str(folder / "cpp"), DTRACE_DEBUG="1"))
    equal(done.stderr, "", "messages")
    if not os.path.exists("/usr/bin/cpp"):
        return
    good(run("-C", "-x", f"cpppath={folder}/cpp"))
    good(run("-C", PATH=path))
    secret = folder / "secret"
    secret.write_text("#error secret\n")
    secret.chmod(0o600)
    done = run("-C", "-x", f"cppargs=-include {secret}")
    equal(("#error secret" in done.stderr, done.returncode), (False, 1), "a file of root was read")

# Children of a target that are not followed

def children_that_are_not_followed_do_not_map_the_arena(t):
    for mechanism in ("jump", "int3"):
        dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                         'END { printa("work %@d\\n", @); }', "-x", f"mechanism={mechanism}",
                         "-c", t.victim("dropper"), stdin=subprocess.PIPE)
        out, errors = dtrace.communicate("go\n", timeout=60)
        equal(dtrace.returncode, 0, errors)
        # At a breakpoint, a child without a tracer restores its own text (rescue.hpp).
        for line in ("forked mapped 0 sum 499500 status 0", "grandchild mapped 0 sum 499500 status 0",
                     "untraced mapped 0 sum 499500 status 0", "work 2000"):
            contains(out, line + "\n")

def is_jailed(reader, mapped):
    """Checks that a process that parses files has no rights, and no descriptors except those of files in `mapped`."""
    status = dict(line.split(":\t", 1) for line in
                  pathlib.Path(f"/proc/{reader}/status").read_text().splitlines() if ":\t" in line)
    for capabilities in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        equal(int(status[capabilities], 16), 0, capabilities)
    equal(status["NoNewPrivs"], "1")
    equal(status["Seccomp"], "2", "a reader has a seccomp filter")
    if os.geteuid() == 0: # the files of a process that is not dumpable belong to root
        links = [os.readlink(entry) for entry in pathlib.Path(f"/proc/{reader}/fd").iterdir()]
        allowed = ("/dev/null", "socket:", "/memfd:")
        equal([link for link in links if not link.startswith(allowed) and link not in mapped], [],
              "descriptors that the reader need not have")
        maps = pathlib.Path(f"/proc/{reader}/maps").read_text()
        equal(re.findall("memfd:dtrace-arena.*", maps), [], "the reader maps the arena")

def a_symbol_reader_has_no_rights(t):
    with held(victim(t, "waiter", "1")) as target:
        ready(target)
        traced = Traced(t, f"pid{target.pid}:a.out:work:entry {COUNTED}", str(target.pid))
        (reader,) = children_called(traced.process.pid, "dtrace-reader")
        is_jailed(reader, pathlib.Path(f"/proc/{target.pid}/maps").read_text())
        traced.finish(signal.SIGINT)

def a_symbol_reader_that_dies_is_replaced(t):
    """The stack of compare() contains libc's qsort(). dtrace needs the symbols of libc only when it prints the stacks,
    after the death of the reader."""
    with held(victim(t, "frames_fp")) as target:
        wait_until(lambda: "libc.so.6" in pathlib.Path(f"/proc/{target.pid}/maps").read_text(), what="libc")
        traced = Traced(t, f"pid{target.pid}:a.out:compare:entry {{ @[ustack()] = count(); }}", str(target.pid))
        (reader,) = children_called(traced.process.pid, "dtrace-reader")
        os.kill(reader, signal.SIGSEGV)
        out = traced.finish(signal.SIGINT)
        target.kill()
    contains(out, "frames_fp`compare\n")
    contains(out, "libc.so.6`qsort")

def rule_readers(agent):
    """Returns the rule readers of an agent. They are in its process group, but are not its children."""
    readers = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError): # it may have exited
            if entry.name.isdigit() and (entry / "comm").read_text() == "dtrace-rules\n" and \
               os.getpgid(int(entry.name)) == agent:
                readers.append(int(entry.name))
    return readers

def a_rule_reader_has_no_rights_and_may_die(t):
    """The agent requests rules for the stacks of compare(). Without a rule reader, it walks these stacks itself."""
    check_rule_reader(t, [t.victim("frames_fp")])

def the_agent_of_another_user_has_a_rule_reader(t):
    """The broker starts it, because the agent may not create processes."""
    check_rule_reader(t, of_another_user(t, "frames_fp"))

def check_rule_reader(t, command):
    with held(subprocess.Popen(command, stdout=subprocess.DEVNULL)) as target:
        wait_until(lambda: os.readlink(f"/proc/{target.pid}/exe").endswith("frames_fp") and
                   "libc.so.6" in pathlib.Path(f"/proc/{target.pid}/maps").read_text(), what="libc")
        traced = Traced(t, f"pid{target.pid}:a.out:compare:entry {{ @[ustack()] = count(); }}", str(target.pid))
        (agent,) = children_called(traced.process.pid, "ptrace-agent")
        wait_until(lambda: rule_readers(agent), what="a rule reader")
        (reader,) = rule_readers(agent)
        wait_until(lambda: "Seccomp:\t2" in pathlib.Path(f"/proc/{reader}/status").read_text(), what="the jail")
        is_jailed(reader, pathlib.Path(f"/proc/{target.pid}/maps").read_text())
        os.kill(reader, signal.SIGSEGV)
        wait_until(lambda: rule_readers(agent) == [], what="the death of the reader")
        time.sleep(0.2)
        equal(children_called(traced.process.pid, "ptrace-agent"), [agent])
        out = traced.finish(signal.SIGINT)
        target.kill()
    wait_until(lambda: rule_readers(agent) == [], what="the exit of the rule readers")
    contains(out, "frames_fp`compare\n")
    contains(out, "libc.so.6`qsort")

if __name__ == "__main__":
    main(tests_in(globals()))
