#!/usr/bin/env python3
"""Tests D programs of all kinds while a target attacks dtrace: it changes random words of the memory that it shares with
dtrace (tests/victims/mutator.c), or sends forged upcalls to the agent (tests/victims/upcaller.c).

The target may falsify its own results. dtrace and its agents must survive, and must stay
below fixed limits of time and memory. A second target of the same user shares the memory and must not be harmed. The
results of another user's target must be exact."""
import contextlib, itertools, signal, subprocess, tempfile

from harness import *
from traced import of_another_user, ready, released

WORK = "pid$1:a.out:work:entry"

# Each program tests a different part of the engine. $1 is the hostile target, and $2 the innocent one.
PROGRAMS = {
    "aggregations": """{ @c = count(); @s[arg0 % 7] = sum(arg0); @q[copyinstr(arg1)] = quantize(arg0);
        @l = lquantize(arg0, 0, 1000, 10); @ll = llquantize(arg0, 10, 0, 6, 20); @m = min(arg0); @x = max(arg0);
        @a[probefunc] = avg(arg0); @d = stddev(arg0); @u[ustack(5)] = count(); }
        tick-50ms { printa(@s); printa("%k %@d\\n", @u); trunc(@s, 3); clear(@q); normalize(@c, 7); }""",
    "records": """{ printf("%s %d %Y %p\\n", copyinstr(arg1), arg0, walltimestamp, arg1); trace(timestamp); ustack(3);
        tracemem(copyin(arg1, 8), 8); print(arg0); usym(arg1); trace(execname); }""",
    "variables": """{ self->n = arg0; self->s = copyinstr(arg1); a[arg0 % 100] = self->n; b[self->s, arg0 % 10] = timestamp;
        g = arg0; gs = self->s; this->x = a[(arg0 + 1) % 100]; trace(b["one", 3]); trace(gs); trace(this->x);
        self->s = 0; a[arg0 % 50] = 0; }""",
    "speculations": """{ self->p = speculation(); } WORK { speculate(self->p); printf("%d %s\\n", arg0, copyinstr(arg1)); }
        WORK /arg0 % 3 == 0/ { commit(self->p); } WORK /arg0 % 3 == 1/ { discard(self->p); }""",
    "strings": """{ this->s = copyinstr(arg1); trace(strjoin(this->s, "-")); trace(strtok(this->s, " ")); trace(strtok(0, " "));
        trace(substr(this->s, 1, 5)); trace(index(this->s, "o")); trace(json(this->s, "key[1]")); trace(strlen(this->s));
        trace(lltostr(arg0)); trace(basename(this->s)); trace(rand()); }""",
    "errors": """{ trace(*(int *)0); } WORK { trace(copyinstr(8)); } ERROR { @e[arg4] = count(); trace(arg5); }""",
}
OPTIONS = ((), ("-x", "bufpolicy=ring", "-x", "bufsize=64k"), ("-x", "bufsize=4k", "-x", "aggsize=8k", "-x", "dynvarsize=64k"),
           ("-x", "temporal=0", "-x", "aggpercpu", "-x", "nspec=3"), ("-x", "format=json",), ("-x", "mechanism=int3",))

def user(t, uid, program, *arguments):
    """Starts a victim. If the test runs as root, the victim runs as the user `uid`."""
    process = subprocess.Popen([*of_another_user(t, program, uid), *arguments], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    ready(process)
    return process

def peak_kib(pid):
    """Returns the current size of a process's unshared resident memory, in KiB."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status).group(1))

def attacked(t, attacker, name, options, seed, seconds):
    """Runs one session. Fails if dtrace or a target is harmed. Returns the number that the hostile target prints at its
    end."""
    program = (WORK + " " + PROGRAMS[name]).replace("WORK", WORK)
    program = program.replace(WORK, WORK + ",pid$2:a.out:work:entry") + " tick-10ms { n++; } END { printf(\"ticks %d\\n\", n); }"
    with contextlib.ExitStack() as stack:
        hostile = stack.enter_context(held(user(t, 65534, attacker, str(seed))))
        innocent = stack.enter_context(held(user(t, 65534, "forger", "innocent")))
        # The output is large and the test does not need it.
        dtrace = stack.enter_context(held(t.start("-q", *options, "-o", "/dev/null", "-n", program,
                                                  "-p", str(hostile.pid), "-p", str(innocent.pid),
                                                  str(hostile.pid), str(innocent.pid))))
        wait_until(lambda: dtrace.poll() is not None or tracer_of(innocent.pid), what="tracing")
        agent = tracer_of(innocent.pid)
        time.sleep(seconds)
        equal(dtrace.poll(), None, f"dtrace has ended: {name} {options} {seed}")
        for pid, what in ((dtrace.pid, "dtrace"), (agent, "the agent")):
            if peak_kib(pid) > 600 << 10:
                raise AssertionError(f"{what} uses {peak_kib(pid)} KiB: {name} {options} {seed}")
        dtrace.send_signal(signal.SIGINT)
        try:
            _, errors = dtrace.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"dtrace does not end: {name} {options} {seed}")
        equal(dtrace.returncode, 0, f"{name} {options} {seed}\n{errors[-2000:]}")
        for process in (hostile, innocent):
            equal(process.poll(), None, f"{process.args[-2:]}: {name} {options} {seed}\n{errors[-2000:]}")
            released(process.pid)
        said, _ = hostile.communicate("\n", timeout=60)
        innocent.communicate("\n", timeout=60)
        equal((hostile.returncode, innocent.returncode), (0, 0), f"{name} {options} {seed}")
        return int(re.search(r"(?:changed|answered) (\d+)", said).group(1))

def random_changes_of_shared_memory_harm_neither_dtrace_nor_another_target(t):
    need("setpriv")
    first = int(time.time()) % 100000 if t.long else 1
    seconds, ends = (3, time.monotonic() + 600) if t.long else (1, 0)
    n_changed = 0
    for seed in itertools.count(first):
        for k, name in enumerate(PROGRAMS):
            options = OPTIONS[(seed + k) % len(OPTIONS)]
            n_changed += attacked(t, "mutator", name, options, seed, seconds)
        if time.monotonic() >= ends:
            break
    print(f"     {n_changed} words were changed, seeds {first} to {seed}")
    equal(n_changed > 10000, True, f"{n_changed} words were changed")

def forged_upcalls_harm_neither_dtrace_nor_another_target(t):
    need("setpriv")
    first = int(time.time()) % 100000 if t.long else 1
    seconds, n_rounds = (3, 20) if t.long else (1, 1)
    for seed in range(first, first + n_rounds):
        for name, options in zip(("variables", "records"), ((), ("-x", "mechanism=int3"))):
            n_answered = attacked(t, "upcaller", name, options, seed, seconds)
            equal(n_answered > 100 or bool(options), True, f"{n_answered} upcalls were answered, {options}, seed {seed}")

TESTS = tests_in(globals(), user, peak_kib, attacked)

if __name__ == "__main__":
    main(TESTS)
