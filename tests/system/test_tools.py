#!/usr/bin/env python3
"""Tests the commands of cmd/tools, without the kernel module. Also tests the manual page of dtruss."""
import contextlib, os, pathlib, re, signal, subprocess, time

from harness import *
from traced import of_another_user, program_of, ready, victim

TREE = HERE.parents[1]
TOOLS = sorted(page.stem for page in (TREE / "cmd/tools").glob("*.1"))
NEED_THE_MODULE = ("opensnoop", "rwsnoop") # for all processes
PAGES = {page.stem: page for page in (TREE / "cmd").glob("*/*.1") if page.stem not in ("dtrace", "lockstat")}

def tool(t, name, *args, timeout=60):
    return subprocess.run([t.build / "cmd" / PAGES[name].parent.name / name, *map(str, args)], capture_output=True, text=True,
                          timeout=timeout, cwd=t.scratch)

def rows(done):
    equal(done.returncode, 0, done.stderr)
    return [line.split() for line in done.stdout.splitlines() if line]

FILES = """
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char** argv)
{
    for (int i = 1; i < argc; i++)
        close(open(argv[i], O_RDONLY));
    creat("made", 0600);
    return 0;
}
"""

def opensnoop_prints_the_files_and_the_errors(t):
    program = program_of(t, "opener", FILES, "-static")
    strange = "/no 'such' \"file\" \\"
    done = tool(t, "opensnoop", "-e", program, "/dev/null", strange)
    lines = [line for line in done.stdout.splitlines() if " opener " in line]
    paths = [re.sub(r"^ +\d+ +\d+ opener +(-?\d+) ", r"\1 ", line) for line in lines]
    equal([" ".join(path.split()) for path in paths],
          ["3 /dev/null", f"-1 ENOENT {strange}", "3 made"], done.stdout + done.stderr)
    equal([row[-1] for row in rows(tool(t, "opensnoop", "-x", "-n", "opener", program, "/dev/null", "/nosuch"))[1:]],
          ["/nosuch"], "-x")
    equal([row[-1] for row in rows(tool(t, "opensnoop", "-f", "made", program, "/dev/null"))[1:]], ["made"], "-f")
    equal(rows(tool(t, "opensnoop", "-n", "other", program, "/dev/null"))[1:], [], "-n")
    with_time = rows(tool(t, "opensnoop", "-s", "-v", program, "/dev/null"))
    equal(with_time[0], ["TIME(us)", "STRTIME", "UID", "PID", "COMM", "FD", "PATH"], "-sv")
    equal(with_time[1][0].isdigit(), True, "-s")

def execsnoop_prints_the_programs_of_all_children(t):
    done = tool(t, "execsnoop", "sh", "-c", "ls / >ls.out; (true one; sh -c 'exec echo two')")
    programs = [row[3:] for row in rows(done)[1:] if row[0].isdigit()]
    for expected in (["ls", "/"], ["sh", "-c", "exec", "echo", "two"]):
        equal(expected in programs, True, f"{expected} in {done.stdout}")
    equal(rows(tool(t, "execsnoop", "-n", "ls", "sh", "-c", "ls / >ls.out; cat ls.out >/dev/null"))[1:][0][3:],
          ["ls", "/"], "-n")

def errinfo_prints_and_counts_the_errors(t):
    program = program_of(t, "opener", FILES, "-static")
    done = rows(tool(t, "errinfo", program, "/nosuch", "/etc/passwd/x", "/nosuch"))
    errors = [row for row in done if row[0] == "opener" and row[1].startswith("open")]
    call = errors[0][1]
    equal(errors, [["opener", call, "2", "ENOENT"], ["opener", call, "20", "ENOTDIR"], ["opener", call, "2", "ENOENT"]],
          "errors")
    counts = rows(tool(t, "errinfo", "-c", program, "/nosuch", "/etc/passwd/x", "/nosuch"))
    equal(["opener", call, "2", "ENOENT", "2"] in counts, True, counts)

def procsystime_adds_up_the_calls(t):
    program = program_of(t, "opener", FILES, "-static")
    done = tool(t, "procsystime", "-aT", program, *["/dev/null"] * 50)
    equal(done.returncode, 0, done.stderr)
    tables = dict(re.findall(r"(Elapsed times|CPU times|Counts)\n\n(.*?)\n\n", done.stdout + "\n", re.S))
    equal(sorted(tables), ["CPU times", "Counts", "Elapsed times"], done.stdout)
    counts = {row.split()[0]: int(row.split()[1]) for row in tables["Counts"].splitlines()[1:]}
    equal(counts["close"], 50, counts)
    equal(counts["TOTAL:"], sum(counts.values()) - counts["TOTAL:"], counts)
    times = {row.split()[0]: int(row.split()[1]) for row in tables["Elapsed times"].splitlines()[1:] if " ns" not in row
             and row.split()[1].isdigit()}
    equal(times["TOTAL:"] >= times["close"] > 0, True, times)
    cpu = {row.split()[0]: int(row.split()[1]) for row in tables["CPU times"].splitlines()[1:]}
    equal(cpu["TOTAL:"], sum(cpu.values()) - cpu["TOTAL:"], cpu)

def a_running_process_of_another_user_is_traced(t):
    with held(subprocess.Popen(of_another_user(t, "circler"), stdout=subprocess.PIPE, stdin=subprocess.PIPE,
                               text=True)) as target:
        ready(target)
        with held(subprocess.Popen([t.build / "cmd/tools/opensnoop", "-p", str(target.pid)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=use_default_signals)) as snoop:
            contains(snoop.stdout.readline(), "PATH")
            target.stdin.write("c")
            target.stdin.flush()
            contains(snoop.stdout.readline(), "/proc/self/mem")

def wrong_options_are_explained(t):
    for name in TOOLS:
        help_text = tool(t, name, "-h")
        equal((help_text.returncode, help_text.stderr), (0, ""), name)
        contains(help_text.stdout, f"Usage: {name} ")
        wrong = tool(t, name, "-?")
        equal((wrong.returncode, wrong.stdout), (2, ""), name)
        contains(wrong.stderr, f"Usage: {name} ")
        if "-p PID | COMMAND" not in help_text.stdout:
            continue # the other test_tools*.py test the other tools
        refusals = [(("-p", "12x"), "-p takes the number of a process, not '12x'"),
                    (("-p", "1", "true"), "name a process with -p or a command, not both")]
        if name in NEED_THE_MODULE and t.run("-en", "BEGIN { trace(curthread); }").returncode != 0:
            refusals.append(((), "name a process with -p, or a command, because all processes can be traced only with "
                             "the kernel module"))
        for args, message in refusals:
            done = tool(t, name, *args)
            equal((done.returncode, done.stdout), (1, ""), name)
            contains(done.stderr, f"{name}: {message}")

@contextlib.contextmanager
def tracing_all(t, name, *args):
    """Runs a tool for all processes. Yields a function that interrupts the tool and returns the rows of its output."""
    if t.run("-en", "syscall::read:entry").returncode != 0:
        raise Skip("not all processes can be traced here")
    tracer = subprocess.Popen([t.build / "cmd/tools" / name, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True, preexec_fn=use_default_signals, cwd=t.scratch)
    with held(tracer):
        time.sleep(1) # until it traces
        def end():
            os.killpg(tracer.pid, signal.SIGINT)
            out, errors = tracer.communicate(timeout=60)
            equal(errors, "", out)
            return [line.split() for line in out.splitlines() if line]
        yield end

def all_processes_are_traced_without_a_target(t):
    program = program_of(t, "allofthem", FILES)
    with tracing_all(t, "execsnoop", "-n", "allofthem") as end:
        subprocess.run([program, "/dev/null", "a b"], check=True, cwd=t.scratch)
        equal([row[3:] for row in end()[1:]], [[str(program), "/dev/null", "a", "b"]], "execsnoop")
    with tracing_all(t, "errinfo", "-n", "allofthem") as end:
        subprocess.run([program, "/nosuch"], check=True, cwd=t.scratch)
        equal(["openat", "2"] in [row[1:3] for row in end()], True, "errinfo")
    with tracing_all(t, "procsystime", "-c", "-n", "allofthem") as end:
        subprocess.run([program, *["/dev/null"] * 200], check=True, cwd=t.scratch)
        counts = dict(row for row in end() if len(row) == 2)
        equal(int(counts["openat"]) > 200, True, counts)

def without_rights_the_message_says_what_is_missing(t):
    t.scratch.chmod(0o755)
    tools = t.scratch / "tools" # another user may have no access to the build directory
    tools.mkdir()
    for file in (t.build / "cmd/tools/execsnoop", t.build / "cmd/tools/common.sh", t.dtrace):
        subprocess.run(["install", "-m", "755", file, tools], check=True)
    done = subprocess.run(["timeout", "-s", "INT", "5", *(as_nobody() if os.geteuid() == 0 else ()), tools / "execsnoop"],
                          capture_output=True, text=True, timeout=60)
    if done.returncode in (0, 124):
        raise Skip("any user may trace all processes here")
    equal((done.returncode, done.stdout), (1, ""), done.stderr)
    contains(done.stderr, "execsnoop: name a process with -p, or a command, because only root can trace all processes")

def manual_pages_describe_each_option_and_their_examples_run(t):
    for name, path in PAGES.items():
        page = path.read_text().replace("\\-", "-")
        help_text = tool(t, name, "-h").stdout
        for option in re.findall(r"^  (-\w)", help_text, re.M):
            if not re.search(rf'^\.BI? {option}( |$)', page, re.M):
                raise AssertionError(f"{name}.1 does not describe {option}")
        examples = re.findall(r"\.EX\n(.*?)\n\.EE", page, re.S)
        equal(len(examples) >= 1, True, name)
        for example in examples:
            with held(victim(t, "circler")) as target:
                ready(target)
                command = f'PATH="{t.build}/cmd/tools:{t.build}/cmd/dtruss:$PATH"; exec timeout -s INT 2 ' + example.replace("4711", str(target.pid))
                done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=t.scratch, timeout=60)
                if done.returncode == 1 and "only by root" in done.stderr:
                    continue
                # A few functions in a library cannot be probed.
                errors = re.sub(r"^dtrace: (cannot probe|these entry probes) .*", "", done.stderr, flags=re.M)
                if done.returncode not in (0, 124) or "dtrace: " in errors:
                    raise AssertionError(f"{example}: status {done.returncode}\n{done.stderr}")

if __name__ == "__main__":
    main([opensnoop_prints_the_files_and_the_errors, execsnoop_prints_the_programs_of_all_children,
          errinfo_prints_and_counts_the_errors, procsystime_adds_up_the_calls,
          a_running_process_of_another_user_is_traced, wrong_options_are_explained,
          all_processes_are_traced_without_a_target, without_rights_the_message_says_what_is_missing,
          manual_pages_describe_each_option_and_their_examples_run])
