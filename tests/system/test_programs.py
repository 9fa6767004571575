#!/usr/bin/env python3
"""Tests static, stripped and 32-bit programs."""
import os, pathlib, re, struct, subprocess, time

from harness import *
from traced import *

def static_programs_are_probed_by_name(t):
    done = good(t.run("-qn", "pid$target:a.out:work:entry,pid$target:a.out:work:return "
                      "{ @[probename] = count(); }", "-c", t.victim("static_spin") + " 300 4"))
    equal(table(done.stdout), {"entry": 1200, "return": 1200}, "calls")

def static_cxx_programs_are_probed_by_name(t):
    done = good(t.run("-qn", "pid$target:a.out:shapes??Circle??area*:entry { @ = count(); }",
                      "-c", t.victim("static_shapes")))
    equal(numbers(done.stdout)[-1], 12, "calls")

def stripped_programs_are_probed_by_their_unwind_tables(t):
    for name in ("stripped_spin", "static_stripped_spin"):
        done = good(t.run("-qn", "pid$target:a.out::entry { @ = count(); @n[probefunc] = count(); } "
                          'END { printa("all %@d\\n", @); }', "-c", t.victim(name) + " 100 2"))
        contains(done.stdout, "calls 200 ")
        # work() and outer() are called 200 times each. In the stripped program, their names are fde.ADDRESS.
        if list(table(done.stdout).values()).count(200) < 2:
            raise AssertionError(done.stdout)

def parts_of_split_functions_in_stripped_programs_are_not_functions(t):
    """A split-off part of a function has no entry probe. A jump to such a part is not a return."""
    for kind in ("entry", "return"):
        done = good(t.run("-qn", f"pid$target:a.out::{kind} {{ @[probefunc] = count(); }}",
                          "-c", t.victim("stripped_parts") + " 100"))
        contains(done.stdout, "calls 100 unlikely 50")
        # Three functions are called 100 times each. Their split-off parts call report() 150 times in total.
        counts = sorted(table(done.stdout).values())
        equal(counts[-4:], [100, 100, 100, 150], f"{kind}: {done.stdout}")
        equal([n for n in counts[:-4] if n > 1], [], f"{kind}: {done.stdout}")

def the_message_for_a_stripped_program_names_a_way_that_works(t):
    done = t.run("-qn", "pid$target:a.out:work:entry { @ = count(); }",
                 "-c", t.victim("stripped_spin") + " 100 2")
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "no function 'work' in stripped_spin")
    contains(done.stderr, "stripped_spin is stripped: ")
    # The recommended names fde.ADDRESS must work.
    listed = t.run("-ln", "pid$target:a.out:fde.*:entry", "-c", t.victim("stripped_spin") + " 1 1")
    names = re.findall(r" (fde\.[0-9a-f]+) entry$", listed.stdout, re.M)
    program = ",".join(f"pid$target:a.out:{name}:entry" for name in names)
    done = good(t.run("-qn", program + " { @[probefunc] = count(); }",
                      "-c", t.victim("stripped_spin") + " 100 2"))
    equal(sorted(table(done.stdout).values())[-2:], [200, 200], "calls")

def libraries_of_a_stripped_program_are_probed(t):
    done = good(t.run("-qn", "pid$target:libc.so.6:pthread_create*:entry { @ = count(); }",
                      "-c", t.victim("stripped_spin") + " 10 7"))
    equal(numbers(done.stdout)[-1], 7, "threads")

def tiny_elf32():
    """Returns a 32-bit program that waits: mov eax, 29; int 0x80 (pause); jmp back."""
    code = bytes.fromhex("b81d000000" "cd80" "ebf7")
    base, header = 0x08048000, 52 + 32
    size = header + len(code)
    return (b"\x7fELF\x01\x01\x01" + bytes(9) +
            struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + header, 52, 0, 0, 52, 32, 1, 0, 0, 0) +
            struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 0x1000) + code)

def a_32_bit_target_is_refused_by_name(t):
    program = t.scratch / "tiny32"
    program.write_bytes(tiny_elf32())
    program.chmod(0o755)
    try:
        target = subprocess.Popen([str(program)])
    except OSError as error:
        raise Skip(f"this kernel runs no 32-bit programs: {error.strerror}")
    with held(target):
        # A kernel without support for 32-bit programs kills the process during the exec.
        wait_until(lambda: target.poll() is not None or os.readlink(f"/proc/{target.pid}/exe") == str(program),
                   what="the program")
        if target.poll() is not None:
            raise Skip("this kernel runs no 32-bit programs")
        done = t.run("-n", "pid$target:a.out::entry", "-p", str(target.pid))
        equal(done.returncode, 1, done.stderr)
        contains(done.stderr, f"failed to grab pid {target.pid}: ")
        contains(done.stderr, "tiny32 is a 32-bit program")
        equal(tracer_of(target.pid), 0, "TracerPid")
        equal(is_alive(target.pid), True, "alive")
    done = t.run("-n", "pid$target:a.out::entry", "-c", str(program), timeout=20)
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "32-bit")

def a_target_with_a_shadow_stack_is_refused_with_the_reason(t):
    """Few processors have shadow stacks. So the test mounts another file over the target's status file. The other file
    reports a shadow stack."""
    if os.geteuid() != 0:
        raise Skip("only root can mount a file over the target's status")
    need("unshare", "mount")
    with held(victim(t, "waiter", "1")) as target:
        ready(target)
        status = f"/proc/{target.pid}/task/{target.pid}/status"
        features = t.scratch / "status"
        def run(line):
            text = pathlib.Path(status).read_text()
            features.write_text(re.sub("x86_Thread_features:.*\n", "", text) + line)
            return subprocess.run(["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"',
                                   "-", str(features), status, t.dtrace, "-qn",
                                   f"pid{target.pid}:a.out:work:entry {{ @ = count(); }} BEGIN {{ exit(0); }}",
                                   "-p", str(target.pid)], capture_output=True, text=True, timeout=60)
        done = run("x86_Thread_features:\tshstk wrss \n")
        if done.returncode == 32:
            raise Skip("nothing can be mounted here: " + done.stderr.strip())
        equal(done.returncode, 1, done.stderr)
        contains(done.stderr, "runs with a shadow stack")
        contains(done.stderr, "GLIBC_TUNABLES=glibc.cpu.x86_shstk=off")
        equal(text_differs(target.pid), [], "changed text")
        good(run("x86_Thread_features:\t\n"))
        released(target.pid)

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
