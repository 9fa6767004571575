"""Tests that probes change neither the effects of instructions nor the values in registers (F and G in
docs/faults.md)."""
import hashlib, os, pathlib, re, signal, subprocess, time

from faults import *
from harness import *

OWN = "pid$target:a.out::entry,pid$target:a.out::return "
STATES = ("pid$target:a.out:pa*:entry,pid$target:a.out:pa*:return,pid$target:a.out:probed:return "
          "{ @[probefunc] = count(); }",
          "pid$target:a.out:probed:entry,pid$target:a.out:probed:return "
          "{ @[tid] = max(timestamp); @s[execname, errno] = max(ustackdepth); }",
          "pid$target:a.out:probed: { @[probefunc] = count(); }",
          "pid$target:a.out:probed:,pid$target:a.out:pass: { @[probename] = count(); }")

def victim_of(t, name):
    if not os.path.exists(t.victim(name)):
        raise Skip("its machine code is x86-64's")
    return t.victim(name)

def registers_are_the_same_after_any_probe(t):
    """G1 to G6, G8, G9, G11: registers and MXCSR have random values, and DF is set. The stack has any alignment, and
    the x87 stack is full."""
    rounds = 20000 if t.long else 2000
    for program in STATES:
        for flags in BOTH:
            said, _ = traced_command(t, program, f"{victim_of(t, 'regs')} {rounds // len(flags or '1')} 77",
                                     flags)
            contains(said, " odd 0\n")

def registers_are_the_same_after_a_clause_that_faults(t):
    """G1, J1: clauses load from random addresses"""
    for flags in BOTH:
        said, _ = traced_command(t, "pid$target:a.out:probed: { trace(copyinstr(arg0)); } ERROR { @ = count(); }",
                                 f"{victim_of(t, 'regs')} 300 5", flags, complaints=True)
        contains(said, "rounds 300 odd 0\n")

def corpus(t, rounds, name="corpus"):
    done = subprocess.run([victim_of(t, name), str(rounds)], capture_output=True, text=True)
    equal(done.returncode, 0, done.stdout)
    contains(done.stdout, " odd 0\n")
    return done.stdout

def every_form_of_instruction_has_the_same_effect(t):
    """F4 to F17, F19, F20, F22: tests short functions, branches into replaced code, uses of the stack pointer and more.
    If an instruction faults, the signal handler must find the address of the original instruction, not of a copy."""
    rounds = 20 if t.long else 5
    want = corpus(t, rounds)
    for probes in (OWN, "pid$target:a.out::entry ", "pid$target:a.out::return ", "pid$target:a.out:: "):
        for flags in BOTH:
            said, _ = traced_command(t, probes + "{ @[probefunc, probename] = count(); }",
                                     victim_of(t, "corpus") + f" {rounds}", flags)
            equal(said, want, f"{probes}{flags}")

def short_functions_of_a_program_at_low_addresses_get_a_jump(t):
    """F4, F5: only four bytes precede a branch target, and no memory below the program is free for stubs"""
    victim = victim_of(t, "corpus_low")
    for function, n in (("jumps_over_four", 10), ("loops_behind_four", 10)):
        probe = f"pid$target:a.out:{function}:entry"
        listed = t.run("-lvn", probe, "-c", victim + " 1")
        contains(listed.stdout, "+0x0: a jump, and a second jump that replaces the instructions after it\n")
        said, counted = traced_command(t, probe + " { @[probefunc, probename] = count(); }",
                                       victim + " 3")
        equal(said, corpus(t, 3, "corpus_low"), function)
        equal(rows(counted)[f"{function} entry"], 3 * n, function)
    for probes in (OWN, "pid$target:a.out:: "):
        said, _ = traced_command(t, probes + "{ @[probefunc, probename] = count(); }", victim + " 20")
        equal(said, corpus(t, 20, "corpus_low"), probes)

def a_function_that_is_one_hlt_is_counted_and_faults_at_its_own_address(t):
    """F14: musl's __stack_chk_fail is such a function. The victim's SIGSEGV handler checks the address."""
    victim = victim_of(t, "corpus")
    probe = "pid$target:a.out:stops:entry"
    # A jump fits at about three quarters of the load addresses (fasttrap/README.md, Gaps).
    listed = (t.run("-lvn", probe, "-c", victim + " 1").stdout for _ in range(20))
    equal(any("+0x0: a jump" in each for each in listed), True, "a jump in one of twenty runs")
    for flags in BOTH:
        said, counted = traced_command(t, probe + " { @[probefunc] = count(); }", victim + " 3", flags)
        equal(said, corpus(t, 3), flags)
        equal(rows(counted)["stops"], 30, flags)

def entries_and_returns_of_every_form_are_counted_alike(t):
    """F21, F22: a jump fires as many times as a breakpoint"""
    got = [rows(traced_command(t, OWN + "{ @[probefunc, probename] = count(); }",
                               victim_of(t, "corpus") + " 3", flags)[1]) for flags in BOTH]
    # This function begins with a loop, so a breakpoint fires in each iteration.
    turns = got[1].pop("loops_to_itself entry")
    equal((got[0].pop("loops_to_itself entry"), turns > 30), (30, True), "loops_to_itself")
    for name, count in got[0].items():
        equal(count, got[1][name], name)
    # Only sites where no jump is possible may be missing.
    equal(len(got[1]) - len(got[0]) <= 6, True, f"{set(got[1]) - set(got[0])}")

# The next tests check that files stay unchanged, and trace text that another tracer has changed.

def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()

def neither_the_file_nor_another_process_is_patched(t):
    """F25: another process that maps the same file keeps its text"""
    path = t.victim("paced")
    before = digest(path)
    with Paced(t, "free") as target, Paced(t, "free") as other:
        tracer = Tracer(t, LOOKS + ENDS, target.pid)
        equal(text_differs(target.pid) != [], True, "the target is patched")
        untouched(other.pid)
        equal(digest(path), before, "the file")
        target.call()
        other.call()
        equal(found(tracer.finish(), "entries"), target.n, "firings")
        target.end()
        other.end()
    equal(digest(path), before, "the file")

def offsets_inside_instructions_are_refused(t):
    """F3: only the first byte of an instruction can have a probe"""
    need("objdump")
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", t.victim("spin")],
                          capture_output=True, text=True).stdout
    body = re.search(r"^([0-9a-f]+) <work>:\n((?: .*\n)+)", text, re.M)
    base = int(body.group(1), 16)
    starts = [int(at, 16) - base for at in re.findall(r"^ *([0-9a-f]+):\t", body.group(2), re.M)]
    for offset in range(starts[-1] + 1):
        done = t.run("-n", f"pid$target:a.out:work:{offset:x} {{ @ = count(); }}",
                     "-c", t.victim("spin") + " 1 1")
        if offset in starts:
            equal((done.returncode, offset), (0, offset), done.stderr)
        else:
            equal((done.returncode, offset), (1, offset), done.stderr)
            contains(done.stderr, "work")

def threads_that_jump_into_a_window_outlive_it(t):
    """C6, F5: threads jump to the second byte of a probed function, as goroutines do in goexit. The agent may handle
    the trap of such a thread after it has restored the text."""
    with held(subprocess.Popen([victim_of(t, "strayer")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)) as process:
        equal(process.stdout.readline(), "ready\n")
        for _ in range(200 if t.long else 10):
            Tracer(t, "pid$target:a.out:work:entry { @ = count(); }", process.pid).finish()
            untouched(process.pid)
        equal(process.communicate("x", timeout=30)[0], "wrong 0\n")
        equal(process.returncode, 0, "the target's status")

def an_existing_uprobe_stays(t):
    """F32: the kernel's breakpoint is neither moved nor removed"""
    events = pathlib.Path("/sys/kernel/tracing/uprobe_events")
    if not os.access(events, os.W_OK):
        raise Skip("no uprobes can be set here")
    need("nm")
    symbols = subprocess.run(["nm", t.victim("paced")], capture_output=True, text=True).stdout
    at = int(re.search(r"^([0-9a-f]+) T work$", symbols, re.M).group(1), 16)
    def change(text):
        fd = os.open(events, os.O_WRONLY | os.O_APPEND)  # O_TRUNC would remove the uprobes of other tracers
        try:
            os.write(fd, text.encode() + b"\n")
        finally:
            os.close(fd)
    change(f"p:faults/work {t.victim('paced')}:{at:#x}")
    enable = events.parent / "events/faults/work/enable"
    try:
        enable.write_text("1")
        with Paced(t, "free") as target:
            before = text_differs(target.pid)
            done = t.start("-qn", LOOKS + ENDS, "-p", str(target.pid))
            # If no probe could be planted, dtrace exits without waiting for a signal.
            wait_until(lambda: tracer_of(target.pid) != 0 or done.poll() is not None, what="the start of the agent")
            target.call()
            done.send_signal(signal.SIGINT)
            done.communicate(timeout=30)
            equal(text_differs(target.pid), before, "text next to the kernel's breakpoint")
            target.end()
    finally:
        enable.write_text("0")
        change("-:faults/work")

TESTS = tests_of(globals())

if __name__ == "__main__":
    main(TESTS)
