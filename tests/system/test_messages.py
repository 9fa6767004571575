#!/usr/bin/env python3
"""Tests error messages for D programs with errors, and for targets that cannot be traced."""
import ctypes, os, pathlib, re, signal, subprocess

from harness import *
from saying import *

# D programs with errors

def a_type_error_names_tag_line_and_shows_the_source(t):
    path = script(t, "BEGIN\n{\n\tx = 1;\n\ttrace(x - \"one\");\n}\n")
    done = fails_with(t.run("-s", path), f"dtrace: failed to compile script {path}: line 4: ")
    equal(done.stderr.count("\n"), 1, "lines without a terminal")
    fails_with(t.run("-xerrtags", "-s", path), f"script {path}: [D_OP_INCOMPAT] line 4: ")
    status, shown = on_terminal(t, "-s", path)
    equal(status, 1, "status")
    message, source, caret = shown.splitlines()
    contains(message, "line 4: ")
    equal(source, "\ttrace(x - \"one\");", "the source line")
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

# Targets that do not exist or may not be traced

def an_unknown_function_is_named_with_similar_names(t):
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

def a_pid_that_does_not_exist_is_named(t):
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
    """Returns a command prefix for running as the user nobody, and a directory with programs. The prefix is empty if
    the test does not run as root."""
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
            raise Skip("process 1 belongs to this user here")
        fails_with(t.run("-n", "BEGIN", "-p", "1"), "failed to grab pid 1: ",
                   f"not permitted: it belongs to user {owner}, and dtrace runs as user {os.geteuid()}")
        return
    with Target(t) as target:
        done = subprocess.run([*user, str(place / "dtrace"), "-n", "BEGIN", "-p", str(target.pid)],
                              capture_output=True, text=True, timeout=20, cwd=place)
        fails_with(done, f"failed to grab pid {target.pid}: ",
                   "not permitted: it belongs to user 0, and dtrace runs as user 65534")
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

def yama_is_named_if_it_forbids_tracing(t):
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

def a_zombie_is_refused(t):
    zombie = subprocess.Popen(["/bin/true"])
    wait_until(lambda: not is_alive(zombie.pid), what="the end of the process")
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
    # The shell becomes dtrace, so $$ is the pid of dtrace.
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

def debug_messages_name_the_steps_of_tracing(t):
    library = t.scratch / "debugged"
    library.mkdir(exist_ok=True)
    (library / "one.d").write_text("inline int one = 1;\n")
    (library / "other.d").write_text("#pragma D depends_on provider nosuch\n")
    program = "pid$target:a.out:visit:entry { trace(args[1]); }"
    done = t.run("-q", "-x", "debug", "-L", str(library), "-n", program, "-c",
                 t.victim("records"))
    equal(done.returncode, 0, done.stderr)
    lines = [line for line in done.stderr.splitlines() if line.startswith("libdtrace ")]
    for line in lines:
        if not re.match(r"libdtrace DEBUG \d{10}: \S", line):
            raise AssertionError(line)
    for part in ("one.d: compiled", "other.d: skipped: ", ": created, ",
                 "type data of records: found", "compiled a program: 1 clauses",
                 "1 sites, 1 planted, 0 refused", ": ended", "stop"):
        contains("\n".join(lines), part)
    done = t.run("-qn", "BEGIN { exit(0); }", env=dict(os.environ, DTRACE_DEBUG="1"))
    contains(done.stderr, ": open: ")
    done = t.run("-qn", "BEGIN { exit(0); }")
    equal(done.stderr, "", "without debug")

def a_profile_of_a_target_reports_nothing(t):
    done = t.run("-qn", "profile-97 { @[execname] = count(); }", "-c", t.victim("spin") + " 10 1")
    equal((done.returncode, done.stderr), (0, ""), "with a target")

TESTS = tests_in(globals(), nobody)

if __name__ == "__main__":
    main(TESTS)
