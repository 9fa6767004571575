#!/usr/bin/env python3
"""Tests output formats, exit statuses, and files that cannot be written."""
import os, re, subprocess, time

from harness import *
from saying import *

# Output that cannot be written

def a_full_disk_is_reported_and_the_target_released(t):
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full")
    with Target(t) as target:
        done = t.run("-o", "/dev/full", "-qn",
                     'pid$target:a.out:work:entry { printf("%s\\n", probefunc); } '
                     "tick-10s { exit(0); }", "-p", str(target.pid), timeout=60)
        fails_with(done, "No space left on device")
        target.is_unharmed()

def a_full_file_system_is_reported(t):
    need("mount", "umount")
    place = t.scratch / "small"
    place.mkdir(exist_ok=True)
    if os.geteuid() != 0 or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(place)],
            capture_output=True).returncode != 0:
        raise Skip("a small file system cannot be mounted here")
    try:
        done = t.run("-o", str(place / "out"), "-qn",
                     'tick-1ms { printf("%5000s\\n", "x"); } tick-20s { exit(0); }', timeout=60)
        fails_with(done, "No space left on device")
    finally:
        subprocess.run(["umount", str(place)], check=True)

def a_closed_pipe_ends_the_run_and_releases_the_target(t):
    with Target(t) as target:
        began = time.monotonic()
        done = subprocess.run(
            ["/bin/sh", "-c", f"{t.dtrace} -qn 'pid$target:a.out:work:entry "
             f"{{ printf(\"%d\\n\", arg0); }}' -p {target.pid} | head -1"],
            capture_output=True, text=True, timeout=60)
        equal(len(done.stdout.splitlines()), 1, "lines")
        if time.monotonic() - began > 10:
            raise AssertionError(f"dtrace ended only after {time.monotonic() - began} s")
        wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
        target.is_unharmed()

def an_output_file_that_cannot_be_opened_is_named(t):
    fails_with(t.run("-o", "/no/such/place/out", "-n", "BEGIN"),
               "failed to open", "/no/such/place/out", "No such file or directory")

# Output formats

def hello_world_is_two_lines(t):
    done = t.run("-n", 'BEGIN { trace("Hello World!"); exit(0); }')
    equal(done.returncode, 0, done.stderr)
    equal(done.stderr, "dtrace: description 'BEGIN { trace(\"Hello World!\"); exit(0); }' "
                       "matched 1 probe\n", "stderr")
    header, record, rest = done.stdout.split("\n", 2)
    equal(header, "CPU     ID                    FUNCTION:NAME", "header")
    if not re.fullmatch(r" {0,2}\d{1,3}      1 {27}:BEGIN   Hello World! {21}", record):
        raise AssertionError(repr(record))
    equal(rest, "\n", "the rest")

def the_example_program_compiles_to_the_known_instructions(t):
    done = t.run("-eSn", 'BEGIN /execname == "csh"/ { trace(arg0); }')
    equal(done.returncode, 0, done.stderr)
    # Eight words of the predicate, and two words of the action.
    equal(re.findall(r"^([0-9a-f]{2}): ([0-9a-f]{8})\b", done.stderr, re.M),
          [("00", "29011801"), ("01", "26000102"), ("02", "27010200"), ("03", "12000006"),
           ("04", "0e000001"), ("05", "11000007"), ("06", "25000001"), ("07", "23000001"),
           ("00", "29010601"), ("01", "23000001")], "words")
    for part in ("returns D type (integer) (size 4)", "returns D type (integer) (size 8)",
                 "OFF OPCODE      INSTRUCTION", 'DT_VAR(280) = "execname"', '! "csh"',
                 "NAME             ID   KND SCP FLAG TYPE", "DT_INTEGER[0]", "DT_STRING[1]",
                 "string (unknown) by ref (size 256)"):
        contains(done.stderr, part)
    again = t.run("-Sn", 'BEGIN /execname == "csh"/ { trace(arg0); } BEGIN { exit(0); }')
    equal(again.returncode, 0, again.stderr)
    contains(again.stderr, "matched 2 probes")

def listings_have_columns(t):
    done = t.run("-l", "-P", "dtrace")
    equal(done.returncode, 0, done.stderr)
    equal(done.stdout.splitlines(),
          ["   ID   PROVIDER            MODULE                          FUNCTION NAME"] +
          [f"{n:5} {'dtrace':>10} {'':17} {'':33} {name}"
           for n, name in ((1, "BEGIN"), (2, "END"), (3, "ERROR"))], "list")
    done = t.run("-ln", "pid$target:libc.so.6:malloc:entry", "-c", "/bin/true")
    equal(done.returncode, 0, done.stderr)
    if not re.search(r"^ *\d+ +pid\d+ +libc\.so\.6 +malloc entry$", done.stdout, re.M):
        raise AssertionError(done.stdout)
    done = t.run("-ln", "nothing:::here")
    equal(done.returncode, 0, done.stderr)
    contains(done.stderr, "dtrace: failed to match nothing:::here: No probe matches description")
    done = t.run("-lvn", "dtrace:::BEGIN")
    contains(done.stdout, "Probe Description Attributes")
    contains(done.stdout, "Argument Types")
    done = t.run("-lvn", "pid$target:a.out:work:0", "-c", t.victim("spin") + " 1 1")
    contains(done.stdout, "Argument Types\n\t\tUnknown: inside a function, the locations of its arguments are unknown\n")

def listing_does_not_harm_a_process(t):
    with Target(t) as target:
        done = t.run("-ln", "pid$target:a.out:work:", "-p", str(target.pid))
        equal(done.returncode, 0, done.stderr)
        for name in ("entry", "return", "0"):
            if not re.search(rf" work {name}$", done.stdout, re.M):
                raise AssertionError(f"no {name} in:\n{done.stdout}")
        target.is_unharmed()

def the_number_of_matched_probes_is_printed_unless_quiet(t):
    done = t.run("-n", "BEGIN { exit(0); } END { }")
    contains(done.stderr, "' matched 2 probes\n")
    path = script(t, "BEGIN { exit(0); }\n")
    contains(t.run("-s", path).stderr, f"dtrace: script '{path}' matched 1 probe\n")
    equal(t.run("-qs", path).stderr, "", "quiet stderr")

def flowindent_indents_entries_and_returns(t):
    done = t.run("-Fn", "pid$target:a.out:outer:entry,pid$target:a.out:outer:return,"
                 "pid$target:a.out:inner:entry,pid$target:a.out:inner:return { }",
                 "-c", t.victim("facts"))
    equal(done.returncode, 0, done.stderr)
    lines = [line[3:].rstrip() for line in done.stdout.splitlines()
             if re.match(r" {0,2}\d+ ", line)]
    equal(lines, [" " * n + text for n, text in
                  ((1, " -> outer"), (1, "   -> inner"), (1, "   <- inner"), (1, " <- outer"))],
          "rows")

def the_exit_status_depends_on_the_result(t):
    for number in (0, 1, 42, 255):
        equal(t.run("-qn", f"BEGIN {{ exit({number}); }}").returncode, number, "exit()")
    equal(t.run("-qn", "BEGIN { exit(1); } END { exit(5); }").returncode, 5, "exit() in END")
    equal(t.run("-en", "BEGIN { exit(9); }").returncode, 0, "-e")
    equal(t.run("-en", "BEGIN { trace(; }").returncode, 1, "-e on a program with an error")
    # dtrace reports the command's exit status, but exits with 0.
    done = t.run("-n", "pid$target:a.out:main:entry", "-c", t.victim("stages"))
    equal(done.returncode, 0, done.stderr)
    contains(done.stderr, "exited with status 5")

def faults_name_their_place_and_later_clauses_run(t):
    done = t.run("-qn", "BEGIN { trace(*(int *)0); } BEGIN { printf(\"later\\n\"); exit(0); }")
    equal(done.returncode, 0, done.stderr)
    if not re.match(r"dtrace: error on enabled probe ID \d+ \(ID 1: dtrace:::BEGIN\): "
                    r"invalid address \(0x0\) in action #1 at DIF offset \d+\n", done.stderr):
        raise AssertionError(done.stderr)
    contains(done.stdout, "later\n")

def destructive_actions_need_the_flag_w(t):
    fails_with(t.run("-n", 'BEGIN { system("echo no"); exit(0); }'),
               "could not enable tracing: ", "estructive actions not allowed")
    done = t.run("-wn", 'BEGIN { system("echo %s", "yes"); exit(0); }')
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "yes\n")
    contains(done.stderr, "allowing destructive actions")

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
