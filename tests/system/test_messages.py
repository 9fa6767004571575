#!/usr/bin/env python3
"""What dtrace(1) says: errors with their reasons, exit statuses, output forms, endings."""
import inspect, os, pathlib, pty, re, select, signal, subprocess, time

from harness import *

def fails_with(done, *parts, status=1):
    equal(done.returncode, status, f"status, with {done.stderr!r}")
    for part in parts:
        contains(done.stderr, part)
    equal(done.stderr.startswith("dtrace: "), True, f"dtrace: before {done.stderr!r}")
    return done

def script(t, text, name="script.d"):
    path = t.scratch / name
    path.write_text(text)
    return str(path)

def on_terminal(t, *flags):
    """dtrace with its stderr on a terminal: status and what the terminal showed."""
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        raise Skip(f"no pseudo-terminal: {error.strerror}")
    process = subprocess.Popen([t.dtrace, *flags], stdin=theirs, stdout=theirs, stderr=theirs,
                               cwd=t.scratch)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 20)[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return process.wait(timeout=20), shown.decode(errors="backslashreplace").replace("\r", "")

class Target:
    """A victim that calls work() until it is told to end, for -p."""
    def __init__(self, t, threads=2, prefix=(), place=None):
        program = str(place / "waiter") if place else t.victim("waiter")
        self.process = subprocess.Popen([*prefix, program, str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if failure[0] is None:
            out, _ = self.process.communicate(timeout=20)
            equal(self.process.returncode, 0, f"status of the target, which said {out!r}")
        else:
            self.process.kill()
            self.process.communicate()

    def is_unharmed(self):
        equal(is_alive(self.pid), True, "alive")
        equal(tracer_of(self.pid), 0, "TracerPid")
        equal(text_differs(self.pid), [], "changed text")

def tracing(dtrace, pid):
    """Waits until the probes of the program itself are in place."""
    def are_planted():
        equal(dtrace.poll(), None, "dtrace's status")
        return any("/waiter+" in place for place in text_differs(pid))
    wait_until(are_planted, what="tracing")

# D that is wrong

def a_type_error_names_tag_line_and_shows_the_source(t):
    path = script(t, "BEGIN\n{\n\tx = 1;\n\ttrace(x + \"one\");\n}\n")
    done = fails_with(t.run("-s", path), f"dtrace: failed to compile script {path}: line 4: ")
    equal(done.stderr.count("\n"), 1, "lines without a terminal")
    fails_with(t.run("-xerrtags", "-s", path), f"script {path}: [D_OP_INCOMPAT] line 4: ")
    status, shown = on_terminal(t, "-s", path)
    equal(status, 1, "status")
    message, source, caret = shown.splitlines()
    contains(message, "line 4: ")
    equal(source, "\ttrace(x + \"one\");", "the source line")
    equal(caret.strip(), "^", "the caret")

def a_syntax_error_names_tag_line_and_token(t):
    path = script(t, "BEGIN\n{\n\ttrace(1;\n}\n")
    fails_with(t.run("-xerrtags", "-s", path),
               f"dtrace: failed to compile script {path}: [D_SYNTAX] line 3: syntax error near \";\"")
    status, shown = on_terminal(t, "-s", path)
    equal(status, 1, "status")
    contains(shown, "trace(1;")

def an_error_on_the_command_line_names_the_specifier(t):
    done = fails_with(t.run("-n", "BEGIN { trace(nothing); }"))
    equal(done.stderr, "dtrace: invalid probe specifier BEGIN { trace(nothing); }: "
                       "failed to resolve nothing: Unknown variable name\n", "message")

def an_empty_script_is_an_error(t):
    fails_with(t.run("-xerrtags", "-s", script(t, "")), "[D_EMPTY]", "empty D program")

def a_description_that_matches_nothing_is_an_error_without_Z(t):
    fails_with(t.run("-n", "dtrace:::NEVER { }"), "does not match any probes")
    done = t.run("-Zn", "dtrace:::NEVER { } BEGIN { exit(0); }")
    equal(done.returncode, 0, done.stderr)

# Targets that are not there, or not ours

def an_unknown_function_is_named_with_its_like(t):
    done = fails_with(t.run("-n", "pid$target:libc.so.6:maloc:entry", "-c", "/bin/true"),
                      "no function 'maloc' in libc.so.6", "malloc")
    contains(done.stderr, "did you mean")
    fails_with(t.run("-xerrtags", "-n", "pid$target:libc.so.6:maloc:entry", "-c", "/bin/true"),
               "[D_PROC_FUNC]")

def an_unknown_library_is_named(t):
    fails_with(t.run("-n", "pid$target:libnothing:work:entry", "-c", "/bin/true"),
               "no library 'libnothing'")
    fails_with(t.run("-xerrtags", "-n", "pid$target:libnothing:work:entry", "-c", "/bin/true"),
               "[D_PROC_LIB]")

def an_unknown_probe_name_is_refused(t):
    fails_with(t.run("-xerrtags", "-n", "pid$target:libc.so.6:malloc:enter", "-c", "/bin/true"),
               "[D_PROC_NAME]")

def a_pid_that_is_not_there_is_named(t):
    done = subprocess.Popen(["/bin/true"])
    done.wait()
    fails_with(t.run("-n", "BEGIN", "-p", str(done.pid)),
               f"dtrace: failed to grab pid {done.pid}: ", "no such process")
    fails_with(t.run("-xerrtags", "-n", f"pid{done.pid}:::entry"), "[D_PROC_GRAB]")

def a_pid_that_is_no_number_is_refused(t):
    for text in ("abc", "-5", "0", "12x", "99999999999999", ""):
        fails_with(t.run("-n", "BEGIN", "-p", text), f"invalid pid: {text}")

def a_probe_without_a_target_says_how_to_name_one(t):
    fails_with(t.run("-n", "pid$target:::entry"), "-p", "-c")

def nobody(t):
    """Prefix of a command that runs as nobody, and a folder with programs for it. An
    ordinary user is nobody enough."""
    place = t.scratch / "nobody"
    place.mkdir(exist_ok=True)
    for path in (t.dtrace, t.victim("spin"), t.victim("waiter")):
        subprocess.run(["install", "-m", "755", path, str(place)], check=True)
    t.scratch.chmod(0o755)
    place.chmod(0o777)
    return as_nobody() if os.geteuid() == 0 else [], place

def another_users_process_is_refused_with_the_reason(t):
    user, place = nobody(t)
    if os.geteuid() != 0:
        owner = os.stat("/proc/1").st_uid
        if owner == os.geteuid():
            raise Skip("process 1 is ours here")
        fails_with(t.run("-n", "BEGIN", "-p", "1"), "failed to grab pid 1: ",
                   f"not permitted: it belongs to user {owner}, and we are user {os.geteuid()}")
        return
    with Target(t) as target:
        done = subprocess.run([*user, str(place / "dtrace"), "-n", "BEGIN", "-p", str(target.pid)],
                              capture_output=True, text=True, timeout=20, cwd=place)
        fails_with(done, f"failed to grab pid {target.pid}: ",
                   "not permitted: it belongs to user 0, and we are user 65534")
        target.is_unharmed()

def a_process_that_is_not_dumpable_is_refused_with_the_reason(t):
    user, place = nobody(t)
    need("/usr/bin/python3")
    target = subprocess.Popen(
        [*user, "/usr/bin/python3", "-c", "import ctypes, sys\n"
         "ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE\n"
         "print('ready', flush=True)\nsys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        equal(target.stdout.readline(), "ready\n", "the target")
        done = subprocess.run([*user, str(place / "dtrace"), "-n", "BEGIN", "-p", str(target.pid)],
                              capture_output=True, text=True, timeout=20, cwd=place)
        fails_with(done, f"failed to grab pid {target.pid}: ", "it is not dumpable",
                   "PR_SET_DUMPABLE")
    finally:
        target.communicate(timeout=20)
    equal(target.returncode, 0, "the target's status")

def yama_is_named_where_it_forbids(t):
    setting = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    if not setting.exists():
        raise Skip("this kernel has no Yama")
    if setting.read_text().strip() == "0":
        raise Skip("kernel.yama.ptrace_scope is 0 here")
    user, place = nobody(t)
    with Target(t, prefix=user, place=place) as target:
        done = subprocess.run([*user, str(place / "dtrace"), "-n", "BEGIN", "-p", str(target.pid)],
                              capture_output=True, text=True, timeout=20)
        fails_with(done, "kernel.yama.ptrace_scope")

def another_debugger_is_named(t):
    with Target(t) as target:
        tracer = subprocess.Popen([t.victim("tracer"), str(target.pid)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        try:
            equal(tracer.stdout.readline(), "tracing\n", "the other debugger")
            fails_with(t.run("-n", "pid$target:a.out:work:entry", "-p", str(target.pid)),
                       f"failed to grab pid {target.pid}: ", "tracer", str(tracer.pid))
            equal(tracer_of(target.pid), tracer.pid, "TracerPid")
        finally:
            tracer.communicate(timeout=20)
        done = t.run("-qn", "pid$target:a.out:work:entry { exit(0); }", "-p", str(target.pid))
        equal(done.returncode, 0, done.stderr)

def a_second_dtrace_names_the_first(t):
    with Target(t) as target:
        first = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); }", "-p", str(target.pid))
        tracing(first, target.pid)
        fails_with(t.run("-n", "pid$target:a.out:work:entry", "-p", str(target.pid)),
                   f"failed to grab pid {target.pid}: ", str(tracer_of(target.pid)))
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=20)
        equal(first.returncode, 0, "the first dtrace")
        target.is_unharmed()

def a_zombie_is_refused(t):
    zombie = subprocess.Popen(["/bin/true"])
    wait_until(lambda: not is_alive(zombie.pid), what="zombie")
    try:
        fails_with(t.run("-n", "BEGIN", "-p", str(zombie.pid)),
                   f"failed to grab pid {zombie.pid}: ", "zombie")
    finally:
        zombie.wait()

def a_kernel_thread_is_refused(t):
    threads = [path.parent for path in pathlib.Path("/proc").glob("[0-9]*/stat")
               if is_kernel_thread(path)]
    if not threads:
        raise Skip("no kernel threads in this pid namespace")
    fails_with(t.run("-n", "BEGIN", "-p", threads[0].name), "failed to grab pid", "kernel thread")

def is_kernel_thread(path):
    try:
        fields = path.read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return int(fields[6]) & 0x00200000 != 0  # PF_KTHREAD

def dtrace_does_not_trace_itself(t):
    # The shell becomes dtrace, so that its pid is known beforehand.
    done = subprocess.run(["/bin/sh", "-c", f"exec {t.dtrace} -n BEGIN -p $$"],
                          capture_output=True, text=True, timeout=20)
    fails_with(done, "failed to grab pid")

def a_command_that_cannot_run_is_named(t):
    text = script(t, "no program\n", "not-executable")
    for command, why in (("/no/such/program", "command not found"),
                         ("nosuchprogram", "command not found"), (text, "not executable"),
                         ("/", "not executable")):
        fails_with(t.run("-n", "BEGIN", "-c", command, timeout=20,
                         env=dict(os.environ, PATH="/usr/bin:/bin")),
                   f"dtrace: failed to execute {command}: ", why)
    text = script(t, "#!/no/such/shell\n", "no-interpreter")
    os.chmod(text, 0o755)
    fails_with(t.run("-n", "BEGIN", "-c", text, timeout=20), "its interpreter was not found")
    fails_with(t.run("-n", "BEGIN", "-c", "  ", timeout=20), "-c needs a command")

# Output that cannot be written

def a_full_disk_is_reported_and_the_target_let_go(t):
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
        raise Skip("cannot mount a small file system here")
    try:
        done = t.run("-o", str(place / "out"), "-qn",
                     'tick-1ms { printf("%5000s\\n", "x"); } tick-20s { exit(0); }', timeout=60)
        fails_with(done, "No space left on device")
    finally:
        subprocess.run(["umount", str(place)], check=True)

def a_closed_pipe_ends_the_run_and_lets_the_target_go(t):
    with Target(t) as target:
        began = time.monotonic()
        done = subprocess.run(
            ["/bin/sh", "-c", f"{t.dtrace} -qn 'pid$target:a.out:work:entry "
             f"{{ printf(\"%d\\n\", arg0); }}' -p {target.pid} | head -1"],
            capture_output=True, text=True, timeout=60)
        equal(len(done.stdout.splitlines()), 1, "lines")
        if time.monotonic() - began > 10:
            raise AssertionError(f"ended after {time.monotonic() - began} s")
        wait_until(lambda: tracer_of(target.pid) == 0, what="let go")
        target.is_unharmed()

def an_output_file_that_cannot_be_opened_is_named(t):
    fails_with(t.run("-o", "/no/such/place/out", "-n", "BEGIN"),
               "failed to open", "/no/such/place/out", "No such file or directory")

# Options, operands, scripts

def a_missing_script_is_named(t):
    done = fails_with(t.run("-s", "/no/such/script.d"))
    equal(done.stderr, "dtrace: failed to open /no/such/script.d: No such file or directory\n",
          "message")

def wrong_options_are_named(t):
    fails_with(t.run("-x", "nosuchoption", "-n", "BEGIN"), "failed to set -x nosuchoption: ")
    for setting in ("bufsize=lots", "evaltime=soon", "strsize=-1", "quiet=maybe"):
        fails_with(t.run("-x", setting, "-n", "BEGIN { exit(0); }"),
                   f"failed to set -x {setting.split('=')[0]}: Invalid value for specified option")
    done = fails_with(t.run("-b", "much", "-n", "BEGIN { exit(0); }"))
    contains(done.stderr, "bufsize")

def wrong_flags_are_usage_errors(t):
    for flags in (["-y"], ["-n"], ["-l", "-V"], [], ["-q"]):
        done = t.run(*flags)
        equal(done.returncode, 2, f"status of {flags}: {done.stderr}")
        contains(done.stderr, "Usage: dtrace ")

def help_and_version_are_answers(t):
    for flag in ("-h", "--help"):
        done = t.run(flag)
        equal((done.returncode, done.stderr), (0, ""), flag)
        contains(done.stdout, "Usage: dtrace ")
    done = t.run("-V")
    equal(done.returncode, 0, "-V")
    if not re.fullmatch(r"dtrace: .*\d+\.\d+.*\n", done.stdout):
        raise AssertionError(done.stdout)

def executable_scripts_take_combined_flags_and_operands(t):
    place = t.scratch / "scripts"
    place.mkdir(exist_ok=True)
    path = place / "hash-bang"
    path.write_text(f"#!{t.dtrace} -qs\n"
                    'BEGIN { printf("%d %s %s\\n", $1, $$2, $$0); exit($1); }\n')
    path.chmod(0o755)
    done = subprocess.run([str(path), "7", "word"], capture_output=True, text=True, timeout=20)
    equal(done.returncode, 7, done.stderr)
    equal(done.stdout.splitlines()[0], f"7 word {path}", "output")
    path.write_text(f"#!{t.dtrace} -Zqs\n"
                    "pid$target:a.out:work:entry { @ = count(); }\n"
                    'END { printa("%@d calls\\n", @); }\n')
    done = subprocess.run([str(path), "-c", t.victim("spin") + " 30 2"],
                          capture_output=True, text=True, timeout=20)
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "60 calls\n")

def macro_arguments_are_numbers_and_strings(t):
    done = t.run("-qn", 'BEGIN { printf("%d %s %s\\n", $1 + 1, $$1, $$2); exit(0); }', "41", "two")
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "42 41 two\n")
    done = t.run("-qn", 'BEGIN { printf("%d %d %d %d\\n", $pid, $ppid, $uid, $gid); exit(0); }')
    fields = list(map(int, done.stdout.split()))
    equal(fields[1:], [os.getpid(), os.geteuid(), os.getegid()] if os.getuid() == os.geteuid()
          else fields[1:], "$ppid $uid $gid")

def missing_and_extraneous_arguments_are_errors(t):
    fails_with(t.run("-n", "BEGIN { trace($1); exit(0); }"), "$1")
    fails_with(t.run("-xerrtags", "-n", "BEGIN { trace($1); exit(0); }"), "[D_MACRO_UNDEF]")
    fails_with(t.run("-n", "BEGIN { exit(0); }", "extra"),
               "extraneous argument 'extra' ($1 is not referenced)")
    equal(t.run("-xargref", "-qn", "BEGIN { exit(0); }", "extra").returncode, 0, "-xargref")
    done = t.run("-xdefaultargs", "-qn", 'BEGIN { printf("[%d%s]", $1, $$2); exit(0); }')
    contains(done.stdout, "[0]")

def options_come_from_the_environment_too(t):
    done = t.run("-n", 'BEGIN { printf("here"); exit(0); }',
                 env=dict(os.environ, DTRACE_OPT_QUIET="1"))
    equal(done.stdout, "here\n", "quiet output")

def output_is_appended(t):
    path = t.scratch / "appended"
    path.write_text("before\n")
    for word in ("first", "second"):
        done = t.run("-qo", str(path), "-n", f'BEGIN {{ printf("{word}\\n"); exit(0); }}')
        equal((done.returncode, done.stdout), (0, ""), done.stderr)
    equal([line for line in path.read_text().splitlines() if line],
          ["before", "first", "second"], "the file")

def the_pieces_of_a_description_may_be_flags(t):
    for flags in (["-P", "dtrace"], ["-P", "dtrace { }"], ["-i", "1"], ["-n", "BEGIN"],
                  ["-n", "dtrace:::BEGIN /1/ { }"]):
        done = t.run(*flags, "-n", "tick-10ms { exit(0); }")
        equal(done.returncode, 0, f"{flags}: {done.stderr}")
        if not re.search(r"^  *\d+ +1 +:BEGIN", done.stdout, re.M):
            raise AssertionError(f"no BEGIN by {flags}:\n{done.stdout}")
    done = t.run("-Zq", "-m", "pid$target:nolibrary", "-f", "pid$target:a.out:work { @ = count(); }",
                 "-b", "64k", "-n", "END { }", "-c", t.victim("spin") + " 1 1")
    equal(done.returncode, 0, done.stderr)

def a_script_is_read_from_standard_input(t):
    for name in ("-", "/dev/stdin"):
        done = t.run("-qs", name, stdin='BEGIN { printf("read\\n"); exit(0); }\n')
        equal((done.returncode, done.stdout), (0, "read\n\n"), done.stderr)

def several_programs_are_enabled_in_order(t):
    path = script(t, 'BEGIN { printf("two "); }\n')
    done = t.run("-qn", 'BEGIN { printf("one "); }', "-s", path,
                 "-n", 'BEGIN { printf("three"); exit(0); }')
    equal((done.returncode, done.stdout), (0, "one two three\n"), done.stderr)

# Forms of output

def hello_world_is_two_lines(t):
    done = t.run("-n", 'BEGIN { trace("Hello World!"); exit(0); }')
    equal(done.returncode, 0, done.stderr)
    equal(done.stderr, "dtrace: description 'BEGIN { trace(\"Hello World!\"); exit(0); }' "
                       "matched 1 probe\n", "stderr")
    header, record, rest = done.stdout.split("\n", 2)
    equal(header, "CPU     ID                    FUNCTION:NAME", "header")
    if not re.fullmatch(r" {0,2}\d{1,3}      1 {27}:BEGIN   Hello World! {21}", record):
        raise AssertionError(repr(record))
    equal(rest, "\n", "what follows")

def the_golden_program_disassembles_to_its_words(t):
    done = t.run("-eSn", 'BEGIN /execname == "csh"/ { trace(arg0); }')
    equal(done.returncode, 0, done.stderr)
    # Predicate and action of the course's example, word for word.
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

def lists_have_their_columns(t):
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

def listing_leaves_a_process_unharmed(t):
    with Target(t) as target:
        done = t.run("-ln", "pid$target:a.out:work:", "-p", str(target.pid))
        equal(done.returncode, 0, done.stderr)
        for name in ("entry", "return", "0"):
            if not re.search(rf" work {name}$", done.stdout, re.M):
                raise AssertionError(f"no {name} in:\n{done.stdout}")
        target.is_unharmed()

def matched_probes_are_told_unless_quiet(t):
    done = t.run("-n", "BEGIN { exit(0); } END { }")
    contains(done.stderr, "' matched 2 probes\n")
    path = script(t, "BEGIN { exit(0); }\n")
    contains(t.run("-s", path).stderr, f"dtrace: script '{path}' matched 1 probe\n")
    equal(t.run("-qs", path).stderr, "", "quiet stderr")

def flow_is_indented(t):
    done = t.run("-Fn", "pid$target:a.out:outer:entry,pid$target:a.out:outer:return,"
                 "pid$target:a.out:inner:entry,pid$target:a.out:inner:return { }",
                 "-c", t.victim("facts"))
    equal(done.returncode, 0, done.stderr)
    lines = [line[3:].rstrip() for line in done.stdout.splitlines()
             if re.match(r" {0,2}\d+ ", line)]
    equal(lines, [" " * n + text for n, text in
                  ((1, " -> outer"), (1, "   -> inner"), (1, "   <- inner"), (1, " <- outer"))],
          "rows")

def exit_statuses_tell_what_happened(t):
    for number in (0, 1, 42, 255):
        equal(t.run("-qn", f"BEGIN {{ exit({number}); }}").returncode, number, "exit()")
    equal(t.run("-qn", "BEGIN { exit(1); } END { exit(5); }").returncode, 5, "exit() in END")
    equal(t.run("-en", "BEGIN { exit(9); }").returncode, 0, "-e")
    equal(t.run("-en", "BEGIN { trace(; }").returncode, 1, "-e on a wrong program")
    # The command's own status is told, and is not dtrace's.
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

def destructive_actions_need_w(t):
    fails_with(t.run("-n", 'BEGIN { system("echo no"); exit(0); }'),
               "could not enable tracing: ", "estructive actions not allowed")
    done = t.run("-wn", 'BEGIN { system("echo %s", "yes"); exit(0); }')
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "yes\n")
    contains(done.stderr, "allowing destructive actions")

# Endings

def ended_by(t, *signals):
    """Traces a target, sends signals to dtrace, and returns status and output."""
    with Target(t) as target:
        dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                         'END { printf("END ran\\n"); }', "-p", str(target.pid))
        tracing(dtrace, target.pid)
        time.sleep(0.3) # until the target has called it
        for signum in signals:
            dtrace.send_signal(signum)
        began = time.monotonic()
        out, errors = dtrace.communicate(timeout=20)
        if time.monotonic() - began > 5:
            raise AssertionError(f"{signals}: ended after {time.monotonic() - began:.1f} s")
        wait_until(lambda: tracer_of(target.pid) == 0, what="let go")
        target.is_unharmed()
        return dtrace.returncode, out, errors

def one_interrupt_ends_with_END_and_results(t):
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        status, out, errors = ended_by(t, signum)
        equal(status, 0, errors)
        contains(out, "END ran\n")
        if not re.search(r"^ +\d+$", out, re.M):
            raise AssertionError(f"no result after {signum!r}:\n{out}")

def two_interrupts_end_at_once(t):
    """A consumer that is kept busy drops all and goes; the target is let go."""
    with Target(t, 8) as target:
        reader, writer = os.pipe()
        dtrace = subprocess.Popen([t.dtrace, "-qn", "pid$target:a.out::entry { printf(\"%d\\n\", arg0); } "
                                   'END { printf("END ran\\n"); }', "-p", str(target.pid)],
                                  stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        tracing(dtrace, target.pid)
        time.sleep(1)  # nobody reads: it waits in write()
        dtrace.send_signal(signal.SIGINT)
        time.sleep(0.1)
        dtrace.send_signal(signal.SIGINT)
        try:
            dtrace.wait(timeout=10)
        finally:
            dtrace.kill()
            os.close(reader)
            dtrace.communicate()
        wait_until(lambda: tracer_of(target.pid) == 0, what="let go")
        target.is_unharmed()

def an_interrupt_without_a_target_runs_END(t):
    dtrace = t.start("-qn", 'BEGIN { printf("up\\n"); } END { printf("down\\n"); }')
    time.sleep(0.5)
    dtrace.send_signal(signal.SIGINT)
    out, errors = dtrace.communicate(timeout=10)
    equal((dtrace.returncode, out), (0, "up\ndown\n\n"), errors)

def an_interrupt_from_the_terminal_ends_command_and_trace(t):
    """The terminal sends it to the whole group: the command dies of it, and its counts
    are printed."""
    dtrace = t.start("-qn", "pid$target:a.out:work:entry { @ = count(); } "
                     'END { printf("END ran\\n"); }', "-c", t.victim("waiter") + " 2",
                     stdin=subprocess.PIPE, start_new_session=True)
    pid = int(dtrace.stdout.readline().split()[1])
    time.sleep(0.3)
    os.killpg(dtrace.pid, signal.SIGINT)
    out, errors = dtrace.communicate(timeout=20)
    equal(dtrace.returncode, 0, errors)
    contains(out, "END ran\n")
    wait_until(lambda: not is_alive(pid), what="the command's end")

def an_ignored_signal_stays_ignored(t):
    dtrace = subprocess.Popen([t.dtrace, "-qn", "tick-1s { exit(6); }"],
                              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    time.sleep(0.3)
    dtrace.send_signal(signal.SIGHUP)
    equal(dtrace.wait(timeout=10), 6, "status")

def a_killed_dtrace_lets_its_target_go(t):
    with Target(t) as target:
        dtrace = t.start("-qn", "pid$target:a.out::entry { @ = count(); }", "-p", str(target.pid))
        tracing(dtrace, target.pid)
        dtrace.kill()
        dtrace.communicate()
        wait_until(lambda: tracer_of(target.pid) == 0, what="let go")
        target.is_unharmed()

def an_error_after_the_grab_leaves_the_target_unharmed(t):
    with Target(t) as target:
        for program in ("pid$target:a.out:work:entry { trace(nothing); }",
                        "pid$target:a.out:none:entry", "syntax ( error",
                        'pid$target:a.out:work:entry { system("true"); }'):
            fails_with(t.run("-n", program, "-p", str(target.pid)))
            wait_until(lambda: tracer_of(target.pid) == 0, what="let go")
            target.is_unharmed()

def a_failed_compile_ends_the_command_it_started(t):
    marker = t.scratch / "ran"
    path = script(t, f"#!/bin/sh\ntouch {marker}\n", "toucher")
    os.chmod(path, 0o755)
    fails_with(t.run("-n", "BEGIN { trace(nothing); }", "-c", path))
    time.sleep(0.2)
    equal(marker.exists(), False, "the command ran although nothing was traced")

# Every function whose only parameter is the context, but the helper among them.
TESTS = [value for value in list(globals().values())
         if getattr(value, "__module__", "") == "__main__" and
         str(getattr(value, "__code__", None) and inspect.signature(value)) == "(t)" and
         value is not nobody]

if __name__ == "__main__":
    main(TESTS)
