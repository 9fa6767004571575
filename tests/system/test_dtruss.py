#!/usr/bin/env python3
"""Tests dtruss(1), without the kernel module. Its output is compared with that of strace."""
import collections, os, re, shutil, signal, subprocess

from harness import *
from traced import of_another_user, program_of, ready, victim

def dtruss(t, *args, **more):
    return subprocess.run([t.build / "cmd/dtruss/dtruss", *map(str, args)], capture_output=True, text=True, timeout=120,
                          errors="backslashreplace", **more)

def split_arguments(text):
    """Splits the arguments of a call at the commas that are not in brackets or quotes."""
    arguments, depth, quoted, begin, i = [], 0, False, 0, 0
    while i < len(text):
        c = text[i]
        if quoted and c == "\\":
            i += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted and c in "([{":
            depth += 1
        elif not quoted and c in ")]}":
            depth -= 1
        elif not quoted and c == "," and depth == 0:
            arguments.append(text[begin:i].strip())
            begin = i + 1
        i += 1
    return [*arguments, text[begin:].strip()] if text.strip() else []

def simple(argument):
    """Replaces what differs between two runs: addresses and random bytes. Removes strace's comments."""
    argument = re.sub(r" ?/\*.*?\*/", "", argument)
    argument = re.sub(r"\w+ or (\w+)", r"\1", argument) # several names of one ioctl command
    argument = re.sub(r"0x[0-9a-f]{5,}", "ADDRESS", argument)
    argument = argument.replace("[TRAP ", "[") # under breakpoints, dtrace removes SIGTRAP from masks (BUGS in dtruss.1)
    return "RANDOM" if argument.startswith('"\\x') else argument

Call = collections.namedtuple("Call", "name arguments result")
WITH_PROCESS_IDS = {"getpid", "gettid", "getppid", "getpgrp", "set_tid_address", "fork", "vfork", "clone", "clone3", "wait4"}

def calls_of(lines):
    """Returns a list of the calls of each thread. The threads are in the order of their creation, as their ids show. The
    order of their first calls depends on the scheduler if a shell starts a pipeline."""
    threads, begun = {}, {}
    for line in lines:
        prefix = re.match(r"\[pid +(\d+)\] |(\d+) +", line)
        thread, text = (prefix[0].strip("[pid ] "), line[prefix.end():]) if prefix else ("", line)
        if text.endswith(" <unfinished ...>"):
            begun[thread] = text.removesuffix(" <unfinished ...>")
            continue
        if resumed := re.match(r"<\.\.\. \w+ resumed>", text):
            text = begun.pop(thread) + text[resumed.end():]
        call = re.match(r"(\w+)\((.*)\) += (.*)$", text)
        if call and call[1] != "rt_sigreturn": # strace also prints its result
            name, arguments, result = call[1], [simple(each) for each in split_arguments(call[2])], simple(call[3])
            threads.setdefault(thread, []).append(
                Call(name, arguments, "ID" if name in WITH_PROCESS_IDS and result[0].isdigit() else result))
    first = next((int(thread) for thread in threads if thread), 0)
    # After the largest id, the kernel begins with small ones again.
    return [threads[thread] for thread in sorted(threads, key=lambda thread: (int(thread or 0) - first) % (1 << 22))]

def are_equal(ours, theirs):
    """Compares two calls. strace prints the contents of structures that dtruss does not print."""
    return ours.name == theirs.name and ours.result == theirs.result and len(ours.arguments) == len(theirs.arguments) and \
        all(a == b or (a == "ADDRESS" and b[0] in "[{") for a, b in zip(ours.arguments, theirs.arguments))

def new_folder(t):
    """Creates a folder with some files, in place of the last one. Returns its path."""
    folder = t.scratch / "work"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "a/b/c").mkdir(parents=True)
    for i in range(20):
        (folder / f"a/file {i}\t\\").write_text(f"line {i}\n" * 100)
    return folder

def compare(t, *command, handlers=False):
    """Runs a command under strace and under dtruss, each time in a new folder, and compares the calls. Returns their
    number."""
    need("strace")
    log = t.scratch / "strace.log"
    environment = {**os.environ, "LC_ALL": "C"}
    subprocess.run(["strace", "-f", "-o", log, *command], capture_output=True, check=True, env=environment, cwd=new_folder(t))
    theirs = calls_of(log.read_text(errors="backslashreplace").splitlines())
    del theirs[0][0] # the execve(2) of strace itself
    done = dtruss(t, "-f", *command, env=environment, cwd=new_folder(t))
    equal(done.returncode, 0, done.stderr)
    ours = calls_of(line for line in done.stderr.splitlines() if line.startswith("[pid "))
    what = " ".join(map(str, command))
    equal(len(ours), len(theirs), f"threads of {what}")
    for mine, wanted in zip(ours, theirs):
        if handlers: # dtruss prints a call after those of the handlers that have interrupted it
            mine, wanted = (sorted(calls, key=lambda call: call.name) for calls in (mine, wanted))
        equal([call.name for call in mine], [call.name for call in wanted], what)
        equal([(tuple(a), tuple(b)) for a, b in zip(mine, wanted) if not are_equal(a, b)], [], f"dtruss, strace: {what}")
    return sum(map(len, ours))

def the_calls_of_commands_are_those_of_strace(t):
    for command in (["cat", "/etc/passwd"], ["ls", "-l", "a"], ["sort", "/etc/passwd"], ["tar", "cf", "tree.tar", "a"],
                    ["find", "a", "-type", "f"], ["wc", "-l", "/etc/services"], ["head", "-n", "2", "/etc/passwd"],
                    ["cp", "-r", "a", "copy"], ["mv", "a", "moved"], ["rm", "-r", "a"], ["rmdir", "a/b/c"],
                    ["mkdir", "-p", "d/e/f"], ["ln", "-s", "a", "link"], ["chmod", "-R", "go-r", "a"], ["touch", "new"],
                    ["date", "+%Y"], ["uname", "-a"], ["sed", "s/a/b/", "/etc/passwd"],
                    ["od", "-c", "/etc/hostname"], ["env"], ["id"], ["stat", "a"], ["du", "a"], ["tail", "-n", "1", "/etc/passwd"]):
        n_calls = compare(t, *command)
        equal(n_calls > 20, True, f"{n_calls} calls of {command}")

def the_calls_of_shell_scripts_are_those_of_strace(t):
    compare(t, "sh", "-c", "ls / | wc -l; true", handlers=True)
    compare(t, "sh", "-c", "for i in 1 2 3; do cat /etc/passwd >/dev/null; done; exec /bin/true", handlers=True)

THREADS = """
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static void* run(void* number)
{
    char byte = 'a';
    volatile long bad = 8;
    for (int i = 0; i < 50; i++)
        if (pwrite((int)(long)number, &byte, 1, i) != 1)
            return number;
    pread((int)(long)number, (char*)bad, 1, 0);
    pread((int)(long)number, &byte, 1, 1000);
    return 0;
}
int main(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) {
        int file = open("data", O_RDWR | O_CREAT | O_TRUNC, 0640);
        pthread_create(&threads[i], 0, run, (void*)(long)file);
        pthread_join(threads[i], 0);
        close(file);
    }
    return 0;
}
"""

def the_calls_of_each_thread_are_those_of_strace(t):
    program = program_of(t, "pwriters", THREADS)
    done = dtruss(t, "-f", program, cwd=t.scratch)
    by_thread = [calls for calls in calls_of(done.stderr.splitlines()) if any(c.name == "pwrite64" for c in calls)]
    equal(len(by_thread), 4, done.stderr)
    for calls in by_thread:
        file = calls[[c.name for c in calls].index("pwrite64")].arguments[0]
        equal([c for c in calls if c.name == "pwrite64"],
              [Call("pwrite64", [file, '"a"', "1", str(i)], "1") for i in range(50)], "pwrite64")
        equal([c for c in calls if c.name == "pread64"],
              [Call("pread64", [file, "0x8", "1", "0"], "-1 EFAULT (Bad address)"),
               Call("pread64", [file, '""', "1", "1000"], "0")], "pread64")

def static_programs_and_other_c_libraries_are_traced(t):
    text = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }'
    compare(t, program_of(t, "static", text, "-static"))
    need("musl-gcc")
    source = t.scratch / "static.c"
    subprocess.run(["musl-gcc", "-static", "-O1", "-o", t.scratch / "musl", source], check=True)
    compare(t, t.scratch / "musl")

def signals_are_printed(t):
    done = dtruss(t, "sh", "-c", "trap 'echo got' USR1; kill -USR1 $$; kill -TERM $$")
    contains(done.stderr, "--- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER, si_pid=")
    contains(done.stderr, "--- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=")

def the_summary_counts_calls_and_errors(t):
    done = dtruss(t, "-c", "ls", "/nonexistent", env={**os.environ, "LC_ALL": "C"})
    need("strace")
    strace = subprocess.run(["strace", "-c", "ls", "/nonexistent"], capture_output=True, text=True,
                            env={**os.environ, "LC_ALL": "C"})
    def rows(text):
        """Maps a system call to the numbers of calls and errors."""
        return {words[-1]: [int(word) for word in words[3:-1]] for words in map(str.split, text.splitlines())
                if len(words) in (5, 6) and words[3].isdigit()}
    ours, theirs = rows(done.stderr), rows(strace.stderr)
    theirs["execve"][0] -= 1 # that of strace itself
    del theirs["total"], ours["total"]
    equal(ours | {"exit_group": [1]}, {call: n for call, n in theirs.items() if n != [0]} | {"exit_group": [1]}, "summary")

def options_select_calls_and_columns(t):
    lines = dtruss(t, "-t", "open*,close", "cat", "/etc/passwd").stderr.splitlines()
    names = {re.match(r"(\w+)\(", line)[1] for line in lines if re.match(r"\w+\(", line)}
    equal(names, {"openat", "close"}, lines)
    lines = dtruss(t, "-a", "-t", "openat", "cat", "/etc/hostname").stderr.splitlines()
    calls = [line for line in lines if "openat(" in line]
    equal(all(re.match(r"\[pid +\d+\] +\d+ +\d+ +\d+ openat\(", line) for line in calls), True, calls)
    equal(calls != [], True, lines)
    equal("openat" in dtruss(t, "-n", "other", "cat", "/etc/hostname").stderr, False, "-n")
    contains(dtruss(t, "-s", "-t", "write", program_of(t, "writer", '#include <unistd.h>\n'
                    'int main(void) { return write(1, "x", 1) != 1; }')).stderr, "writer`main+0x")
    for args, status, message in ((["-t", "a b", "true"], 1, "-t takes the names of system calls, not 'a b'"),
                                  (["-p", "0", ], 1, "-p takes the number of a process, not '0'"),
                                  ([], 2, "name a process with -p, or a command"),
                                  (["-t", "nosuchcall", "true"], 1, "nosuchcall"),
                                  (["/nonexistent/program"], 1, "/nonexistent/program")):
        done = dtruss(t, *args)
        equal(done.returncode, status, args)
        contains(done.stderr, message)

def running_processes_are_traced_until_an_interrupt(t):
    with held(subprocess.Popen(of_another_user(t, "circler"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as \
            target:
        ready(target)
        with held(subprocess.Popen([t.build / "cmd/dtruss/dtruss", "-t", "openat", "-p", str(target.pid)],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=use_default_signals)) as tracer:
            wait_until(lambda: tracer_of(target.pid) != 0, what="the attach")
            time.sleep(1) # until the probes are planted
            target.stdin.write("x")
            target.stdin.flush()
            contains(tracer.stderr.readline(), 'openat(AT_FDCWD, "/proc/self/mem", O_RDWR)')
            tracer.send_signal(signal.SIGINT)
            tracer.communicate(timeout=30)
            equal((tracer.returncode, tracer_of(target.pid)), (0, 0), "dtruss")

if __name__ == "__main__":
    main([the_calls_of_commands_are_those_of_strace, the_calls_of_shell_scripts_are_those_of_strace,
          the_calls_of_each_thread_are_those_of_strace, static_programs_and_other_c_libraries_are_traced,
          signals_are_printed, the_summary_counts_calls_and_errors, options_select_calls_and_columns,
          running_processes_are_traced_until_an_interrupt])
