#!/usr/bin/env python3
"""Tests the syscall provider in targets, without the kernel module."""
import os, re, subprocess

from harness import *
from traced import program_of, tagged_lines

KNOWN = """
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
    char byte;
    for (int i = 0; i < 1000; i++)
        getppid();
    for (int i = 0; i < 10; i++)
        close(-7);
    open("/nonexistent/file", O_RDWR | O_CREAT, 0640);
    int zero = open("/dev/zero", O_RDONLY);
    if (read(zero, &byte, 1) != 1 || byte != 0)
        return 1;
    return errno == ENOENT ? 0 : 2;
}
"""

def entries_and_returns_are_exact(t):
    program = program_of(t, "known", KNOWN)
    for mechanism in ("auto", "jump", "int3"):
        done = t.run("-qn", 'syscall::getppid:entry, syscall::close:entry { @e[probefunc] = count(); } '
                     'syscall::getppid:return, syscall::close:return { @r[probefunc, errno] = count(); } '
                     'END { printa("entry %s %@d\\n", @e); printa("return %s %d %@d\\n", @r); }',
                     "-x", f"mechanism={mechanism}", "-c", str(program))
        equal((done.returncode, done.stderr), (0, ""), mechanism)
        equal(sorted(done.stdout.splitlines()),
              ["", "entry close 10", "entry getppid 1000", "return close 9 10", "return getppid 0 1000"], mechanism)

def arguments_results_and_errors_are_those_of_the_call(t):
    program = program_of(t, "known", KNOWN)
    for mechanism in ("auto", "int3"):
        lines = tagged_lines(t, 'syscall::openat:entry /copyinstr(arg1) != "/etc/ld.so.cache" && '
                         'strstr(copyinstr(arg1), "libc") == NULL/ '
                         '{ self->in = 1; printf("D open %d %s %x %o\\n", (int)arg0, copyinstr(arg1), arg2, arg3); } '
                         'syscall::openat:return /self->in/ '
                         '{ self->in = 0; printf("D opened %d %d %d\\n", arg0 == -1, arg0 == arg1, errno); }',
                         "-x", f"mechanism={mechanism}", command=program)
        equal(lines, ["open -100 /nonexistent/file 42 640", "opened 1 1 2",
                      "open -100 /dev/zero 0 0", "opened 0 1 0"], mechanism)

ANY = """
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
static int ends[2];
static void on_alarm(int number)
{
    (void)number;
    syscall(SYS_getppid);
    syscall(SYS_write, ends[1], "x", 1);
}
static void* run(void* unused)
{
    (void)unused;
    for (int i = 0; i < 20000; i++)
        syscall(i % 2 ? SYS_getuid : SYS_getgid);
    return 0;
}
int main(void)
{
    pthread_t threads[4];
    char byte;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval soon = {.it_value = {.tv_usec = 50000}};
    if (pipe(ends) != 0)
        return 1;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &soon, 0);
    if (syscall(SYS_read, ends[0], &byte, 1) != 1) /* waits for the handler, and is restarted */
        return 2;
    return syscall(SYS_close, -3) == -1 && errno == EBADF ? 0 : 3;
}
"""

def an_instruction_may_make_any_call(t):
    program = program_of(t, "any", ANY)
    for mechanism in ("auto", "int3"):
        done = t.run("-qn", 'syscall:::entry { @e[probefunc] = count(); } syscall:::return { @r[probefunc] = count(); } '
                     'syscall::read:return /arg0 == 1/ { @ = count(); } '
                     'syscall::close:return /errno == 9/ { @bad = count(); } '
                     'END { printa("entry %s %@d\\n", @e); printa("return %s %@d\\n", @r); '
                     'printa("read %@d\\n", @); printa("bad %@d\\n", @bad); }',
                     "-x", f"mechanism={mechanism}", "-c", str(program))
        equal((done.returncode, done.stderr), (0, ""), mechanism)
        for line in ("entry getuid 40000", "return getuid 40000", "entry getgid 40000", "return getgid 40000",
                     "entry getppid 1", "return getppid 1", "read 1", "bad 1", "return read 1"):
            equal(line in done.stdout.splitlines(), True, f"{mechanism}, {line}:\n{done.stdout}")

GO = """
package main
import "os"
func main() {
	for i := 0; i < 1000; i++ {
		os.Getppid()
	}
}
"""

def go_programs_make_calls_without_a_c_library(t):
    # Go sends signals to its own threads, also just before a call.
    need("go")
    (t.scratch / "calls.go").write_text(GO)
    subprocess.run(["go", "build", "-o", t.scratch / "gocalls", "calls.go"], check=True, cwd=t.scratch,
                   env={**os.environ, "GO111MODULE": "off", "GOCACHE": str(t.scratch / "cache")})
    for _ in range(5):
        lines = tagged_lines(t, 'syscall::getppid:entry { @e = count(); } syscall::getppid:return { @r = count(); } '
                         'END { printa("D entry %@d\\n", @e); printa("D return %@d\\n", @r); }',
                         command=t.scratch / "gocalls")
        equal(lines, ["entry 1000", "return 1000"])

def counts_of_strace(folder, command):
    """Returns how many times each system call was made, except those that never return."""
    need("strace")
    subprocess.run(["strace", "-f", "-qq", "-o", folder / "strace", *command], check=True, capture_output=True)
    calls = {}
    for line in (folder / "strace").read_text().splitlines():
        if found := re.match(r"(?:\d+ +)?(\w+)\(", line):
            calls[found[1]] = calls.get(found[1], 0) + 1
    return calls

def calls_are_those_that_strace_reports(t):
    for command in (["/bin/true"], ["/bin/ls", "/usr"], ["/bin/cat", "/etc/passwd"], ["/usr/bin/sort", "/etc/passwd"]):
        want = counts_of_strace(t.scratch, command)
        want.pop("execve")
        lines = tagged_lines(t, 'syscall:::entry { @[probefunc] = count(); } END { printa("D %s %@d\\n", @); }',
                         command=" ".join(command))
        got = {name: int(count) for name, count in (line.split() for line in lines)}
        equal(got, want, " ".join(command))

def without_a_target_the_message_says_what_to_do(t):
    done = subprocess.run([*(as_nobody() if os.geteuid() == 0 else ()), t.dtrace, "-en", "syscall:::entry"], capture_output=True, text=True, cwd="/")
    if done.returncode == 0:
        raise Skip("any user may trace all processes")
    contains(done.stderr, "name a process with -p or -c to trace its system calls; those of all processes need root")

def without_tracefs_the_types_are_unknown(t):
    if os.geteuid() == 0 and not os.path.exists("/sys/kernel/tracing/events"):
        done = subprocess.run([*as_nobody(), t.dtrace, "-en", "syscall::read:entry { trace(args[0]); }", "-c", "/bin/true"],
                              capture_output=True, text=True, cwd="/")
        contains(done.stderr, "args[0] has no type: tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing; "
                 "use arg0")
    else:
        raise Skip("tracefs is mounted, or the test does not run as root")

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
