#!/usr/bin/env python3
"""Tests sessions whose targets belong to several trust domains, each with an agent and an arena of its own."""
import itertools, re, shutil, signal, subprocess

from harness import *
from traced import *

# A target that replies to each line on its stdin. For "beat N", it reaches the probe N times. For "spoil", it
# overwrites the memory that it shares with dtrace until the next line arrives. With the argument "sandbox", it installs
# a seccomp filter.
SOURCE = r"""
#define _GNU_SOURCE
#include <dtrace/sdt.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static int input_waits(void)
{
    struct pollfd in = {0, POLLIN, 0};
    return poll(&in, 1, 0) != 0;
}

static void spoil(unsigned char with)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        unsigned long begin, end;
        if (!strstr(line, "memfd:dtrace-data") || !strstr(line, " rw-s ") ||
            sscanf(line, "%lx-%lx", &begin, &end) != 2)
            continue;
        if (end - begin > 64 << 20)
            end = begin + (64 << 20);
        memset((void *)begin, with, end - begin);
    }
    fclose(maps);
}

int main(int argc, char **argv)
{
    char line[64];
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {1, &allow};
    if (argc > 1 && strcmp(argv[1], "sandbox") == 0 &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0))
        return 1;
    setlinebuf(stdout);
    puts("ready");
    setvbuf(stdin, 0, _IONBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        long n = strncmp(line, "beat ", 5) == 0 ? atol(line + 5) : 0;
        for (long i = 0; i < n; i++)
            DTRACE_PROBE1(trusttest, beat, i);
        if (strcmp(line, "spoil\n") == 0) {
            puts("spoils");
            for (unsigned char with = 0; !input_waits(); with++)
                spoil(with);
            continue;
        }
        puts("done");
    }
    return 0;
}
"""

USERS = (0, 65534, 65533, 65532)

def program(t):
    """Builds the target where every user can run it. Returns its path."""
    if os.geteuid() != 0:
        raise Skip("an ordinary user cannot trace processes of other users")
    need("gcc", "setpriv")
    place = t.scratch / "anybody"
    binary = place / "probed"
    if not binary.exists():
        place.mkdir(exist_ok=True)
        t.scratch.chmod(0o755)
        place.chmod(0o755)
        subprocess.run(["gcc", "-O1", "-xc", "-", f"-I{HERE.parent.parent}/usdt/include", "-o", str(binary)],
                       input=SOURCE, text=True, check=True)
    return binary

@contextlib.contextmanager
def targets(t, *users, arguments=()):
    """Yields one running target for each user id, in this order."""
    with contextlib.ExitStack() as stack:
        running = []
        for user in users:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", str(program(t)), *arguments]
            running.append(stack.enter_context(held(subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))))
        for process in running:
            ready(process)
        yield running

def order(process, line):
    """Sends an order to a target, and waits for its reply."""
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return ready(process).strip()

# For the first beat of each order "beat N", prints a line. Counts all other beats.
BEATS = """trusttest*:::beat /arg0 == 0/ { printf("heard %d\\n", pid); }
           trusttest*:::beat /arg0 > 0/ { @[uid] = count(); }"""

def heard(session, process):
    """Waits until a session with the program BEATS traces a process that was started after the session."""
    def is_heard():
        order(process, "beat 1")
        return f"heard {process.pid}\n" in session.began.read_text()
    wait_until(is_heard, what="tracing a new process")

def shared_memory(pid):
    """Returns the inode of the memory that a target shares with dtrace."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "memfd:dtrace-data" in line:
            return int(line.split()[4])
    raise AssertionError(f"process {pid} shares no memory with dtrace")

def agents_of(dtrace):
    return children_called(dtrace, "ptrace-agent")

def events_of_all_users_are_counted_exactly(t):
    with targets(t, *USERS) as running:
        pids = [process.pid for process in running]
        for named in ((), pids):
            traced = Traced(t, "trusttest*:::beat { @[pid] = count(); @all = sum(arg0); }", *named)
            for n, process in enumerate(running, 1):
                order(process, f"beat {n}000")
            text = traced.finish(signal.SIGINT)
            equal(table(text), {str(pid): n * 1000 for n, pid in enumerate(pids, 1)})
            contains(text, f" {sum(sum(range(n * 1000)) for n in range(1, 5))}\n")
            for pid in pids:
                released(pid)

def targets_of_different_users_share_no_memory(t):
    with targets(t, 65534, 65533, 65534) as running:
        one, other, same = (process.pid for process in running)
        traced = Traced(t, "trusttest*:::beat { @ = count(); }", one, other, same)
        equal(shared_memory(one) == shared_memory(same), True, "two processes of a user share memory")
        equal(shared_memory(one) == shared_memory(other), False, "processes of two users share memory")
        agents = {tracer_of(pid) for pid in (one, other, same)}
        equal(len(agents), 2, "number of agents")
        traced.finish(signal.SIGINT)

def a_target_cannot_spoil_the_results_of_another_user(t):
    with targets(t, 65534, 65533) as (hostile, innocent):
        traced = Traced(t, "BEGIN { first = 1; n = 0; } tick-10ms { n++; } "
                        f"trusttest{innocent.pid}:::beat /n != -1 && first == 1/ {{ @[pid] = count(); @sum = sum(arg0); }} "
                        f"trusttest{hostile.pid}:::beat {{ trace(arg0); }} "
                        "END { printf(\"first %d\\n\", first); }", hostile.pid, innocent.pid)
        with held(traced.process):
            equal(order(hostile, "spoil"), "spoils")
            for _ in range(20):
                order(innocent, "beat 5000")
                time.sleep(0.02)
            order(hostile, "beat 1")
            traced.process.send_signal(signal.SIGINT)
            _, errors = traced.process.communicate(timeout=60)
        equal(traced.process.returncode, 0, errors)
        text = traced.began.read_text()
        equal(table(text).get(str(innocent.pid)), 100000, "events of the innocent target\n" + text + errors)
        contains(text, f" {20 * sum(range(5000))}\n")
        contains(text, "first 1\n")

def a_target_cannot_forge_records_of_the_probes_of_another_user(t):
    marker = t.scratch / "executed"
    with targets(t, 65534) as (innocent,):
        forger = program(t).parent / "forger"
        subprocess.run(["install", "-m", "755", t.victim("forger"), str(forger)], check=True)
        with held(subprocess.Popen(["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", str(forger), "records"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as hostile:
            ready(hostile)
            done = t.run("-wqn", f"pid{hostile.pid}:a.out:work:entry {{ @calls = count(); }} "
                         f"trusttest{innocent.pid}:::beat {{ system(\"echo %s >> {marker}\", execname); }} "
                         f"trusttest{innocent.pid}:::beat {{ @beats = count(); }} tick-2s {{ exit(0); }}",
                         "-p", str(innocent.pid), "-p", str(hostile.pid))
            equal(hostile.communicate("\n", timeout=60)[0].strip(), "wrote", "what the hostile target did")
    equal(done.returncode, 0, done.stderr)
    equal(marker.exists(), False, "a system() of another user's probe was executed")
    contains(done.stderr, "overwritten the buffer")

def records_of_all_users_are_printed_in_the_order_of_time(t):
    with targets(t, *USERS) as running:
        traced = Traced(t, "trusttest*:::beat { printf(\"%d %d\\n\", uid, timestamp); }")
        for _ in range(25):
            for process in running:
                order(process, "beat 1")
        rows = [line.split() for line in traced.finish(signal.SIGINT).splitlines() if line[:1].isdigit()]
    equal([int(row[0]) for row in rows], list(USERS) * 25, "the users of the records")
    times = [int(row[1]) for row in rows]
    equal(times, sorted(times), "the times of the records")

def variables_of_tick_clauses_are_the_same_for_all_users(t):
    with targets(t, *USERS) as running:
        text = Traced(t, "BEGIN { state = 7; name = \"before\"; } tick-200ms { state++; name = \"after\"; } "
                      "trusttest*:::beat { @[state >= 7, state > 7, name] = count(); }")
        for process in running:
            order(process, "beat 10")
        time.sleep(0.8)
        for process in running:
            order(process, "beat 10")
        rows = table(text.finish(signal.SIGINT))
    equal(sum(rows.values()), 80)
    equal(sum(rows.get(key, 0) for key in ("1 0 before", "1 1 after")), 80, rows)
    equal(rows.get("1 1 after", 0) >= 40, True, rows)

def a_program_whose_targets_share_a_variable_traces_one_user(t):
    with targets(t, *USERS) as running:
        for body in ("n++;", "seen[pid] = 1;", "tick-1s { set[1] = 2; } trusttest*:::beat { trace(set[arg0]); n = 1;"):
            clause = body if "beat" in body else "trusttest*:::beat { " + body
            done = t.run("-qn", clause + " @[uid] = count(); } tick-1s { exit(0); }")
            equal(done.returncode, 0, done.stderr)
            contains(done.stderr, "3 processes of 3 other users will not be traced: the program shares the variable ")
        one, other = (str(process.pid) for process in running[:2])
        named = ("-qn", "trusttest*:::beat { n++; } tick-1s { exit(n); }", "-p", one, "-p", other)
        done = t.run(*named)
        equal(done.returncode, 1, done.stderr)
        contains(done.stderr, "the targets belong to several users or sandboxes, and the program shares the variable n ")
        equal(t.run("-x", "trust=all", *named).returncode, 0, "with -x trust=all")
        equal(t.run(*named[:4]).returncode, 0, "with one user")

def exit_in_a_clause_of_one_user_ends_the_session(t):
    with targets(t, *USERS) as running:
        traced = Traced(t, "trusttest*:::beat /uid == 65533/ { exit(3); } trusttest*:::beat { @[uid] = count(); }").process
        with held(traced):
            for process in running:
                order(process, "beat 1")
            traced.communicate(timeout=20)
        equal(traced.returncode, 3)
        for process in running:
            released(process.pid)
            equal(order(process, "beat 1000"), "done")

def exit_in_begin_leaves_no_records_of_any_user(t):
    with targets(t, *USERS) as running:
        for process in running:
            process.stdin.write("beat 1000000000\n")
            process.stdin.flush()
        done = t.run("-qn", "BEGIN { exit(4); } trusttest*:::beat { @[uid] = count(); }")
        equal((done.returncode, done.stdout.strip()), (4, ""), done.stderr)

def the_death_of_one_agent_does_not_end_the_tracing_of_other_users(t):
    with targets(t, 65534, 65533) as (one, other):
        session = Traced(t, "trusttest*:::beat { @[uid] = count(); }", one.pid, other.pid)
        traced = session.process
        with held(traced):
            order(one, "beat 10")
            os.kill(tracer_of(one.pid), signal.SIGKILL)
            time.sleep(0.5)
            equal(order(one, "beat 1000"), "done")
            order(other, "beat 500")
            traced.send_signal(signal.SIGINT)
            _, errors = traced.communicate(timeout=30)
        text = session.began.read_text()
        equal(table(text).get("65533"), 500, text + errors)
        contains(errors, f"{one.pid}")
        contains(errors, "is no longer traced: the ptrace-agent has exited")
        released(other.pid)

def an_agent_that_does_not_respond_is_killed_and_no_other_user_is_affected(t):
    with targets(t, 65534, 65533) as (one, other):
        session = Traced(t, "trusttest*:::beat { @[uid] = count(); }", one.pid, other.pid)
        traced = session.process
        with held(traced):
            stopped = tracer_of(one.pid)
            os.kill(stopped, signal.SIGSTOP)
            for process in (one, other):
                order(process, "beat 1000")
            began = time.monotonic()
            traced.send_signal(signal.SIGINT)
            _, errors = traced.communicate(timeout=120)
        equal(table(session.began.read_text()), {"65533": 1000, "65534": 1000}, "events\n" + errors)
        equal(is_alive(stopped), False, "the agent that was stopped")
        equal(10 < time.monotonic() - began < 60, True, "the time until dtrace has ended")
        released(other.pid)
        for process in (one, other):
            equal(order(process, "beat 1000"), "done")

def all_agents_release_their_targets_when_dtrace_is_killed(t):
    with targets(t, *USERS) as running:
        traced = Traced(t, "trusttest*:::beat { @[uid] = count(); }").process
        with held(traced):
            agents = agents_of(traced.pid)
            equal(len(agents), len(USERS), "number of agents")
            traced.kill()
        for process in running:
            wait_until(lambda pid=process.pid: tracer_of(pid) == 0, what="the release")
            released(process.pid)
            equal(order(process, "beat 1000"), "done")
        wait_until(lambda: not any(is_alive(pid) for pid in agents), what="the end of the agents")

def a_sandboxed_process_shares_no_memory_with_others_of_its_user(t):
    with targets(t, 65534) as (plain,), targets(t, 65534, 65534, arguments=("sandbox",)) as (one, other):
        pids = [process.pid for process in (plain, one, other)]
        traced = Traced(t, "trusttest*:::beat { @[pid] = count(); }", *pids)
        equal(len({shared_memory(pid) for pid in pids}), 3, "number of shared memories")
        for process in (plain, one, other):
            order(process, "beat 100")
        equal(table(traced.finish(signal.SIGINT)), {str(pid): 100 for pid in pids})

def a_domain_ends_with_its_last_process(t):
    with targets(t, 65534) as (stays,):
        session = Traced(t, BEATS)
        traced = session.process
        with held(traced):
            for _ in range(3):
                with targets(t, 65533, arguments=("sandbox",)) as (ends,):
                    heard(session, ends)
                    order(ends, "beat 101")
                    equal(len(agents_of(traced.pid)) >= 2, True, "number of agents")
                wait_until(lambda: len(agents_of(traced.pid)) == 1, what="the end of the agent")
            order(stays, "beat 11")
            equal(table(session.finish(signal.SIGINT)), {"65533": 300, "65534": 10})

def a_user_cannot_use_up_all_domains(t):
    with targets(t, *[65534] * 70, arguments=("sandbox",)) as many, targets(t, 65533) as (one,):
        traced = Traced(t, "trusttest*:::beat { @[uid] = count(); }")
        equal(len(agents_of(traced.process.pid)) <= 18, True, "number of agents")
        for process in (*many, one):
            order(process, "beat 10")
        equal(table(traced.finish(signal.SIGINT)), {"65533": 10, "65534": 700})

def short_lived_processes_of_one_user_are_in_one_domain(t):
    with targets(t, 65534):
        traced = Traced(t, "trusttest*:::beat { n++; } END { printf(\"%d\\n\", n); }").process
        with held(traced):
            for _ in range(60):
                command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(program(t))]
                subprocess.run(command, input="beat 1\n", capture_output=True, text=True, check=True)
            with targets(t, 65534) as (later,):
                wait_until(lambda: tracer_of(later.pid), what="tracing a later process")
                equal(len(agents_of(traced.pid)), 1, "number of agents")
            traced.send_signal(signal.SIGINT)
            _, errors = traced.communicate(timeout=30)
        equal("will not be traced" in errors, False, errors)

def a_process_of_another_user_that_starts_later_is_traced(t):
    with targets(t, 65534) as (early,):
        traced = Traced(t, BEATS)
        order(early, "beat 11")
        with targets(t, 65533, 65532) as late:
            for process in late:
                heard(traced, process)
                order(process, "beat 21")
            equal(table(traced.finish(signal.SIGINT)), {"65534": 10, "65533": 20, "65532": 20})

# The agent of another user's domain has no rights. Its broker makes system calls for it.

def status_of(pid):
    """Returns the fields of /proc/PID/status."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.split() for name, _, value in (line.partition(":") for line in lines)}

def agent_and_broker(pid):
    """Returns the agent that traces a process of another user, and the agent's broker."""
    broker = tracer_of(pid)
    equal(status_of(broker)["Name"], ["ptrace-broker"])
    agent = int(status_of(broker)["PPid"][0])
    equal(status_of(agent)["Name"], ["ptrace-agent"])
    return agent, broker

def as_user(user, code):
    """Runs a Python program as a user. Returns what it prints."""
    command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "/usr/bin/python3", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

def agents_of_other_users_have_no_rights(t):
    with targets(t, 65534, 65533, 0) as running:
        traced = Traced(t, "trusttest*:::beat { @[uid] = count(); }", *(process.pid for process in running))
        ids = set()
        for process in running[:2]:
            agent, broker = agent_and_broker(process.pid)
            rights = status_of(agent)
            equal(len({*rights["Uid"], *rights["Gid"]}), 1, "number of different ids of the agent")
            ids.add(int(rights["Uid"][0]))
            equal(rights["Groups"], [], "groups of the agent")
            for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                equal(int(rights[name][0], 16), 0, name)
            equal((rights["NoNewPrivs"], rights["Seccomp"]), (["1"], ["2"]), "no_new_privs and seccomp")
            # CAP_DAC_OVERRIDE, CAP_KILL, CAP_SYS_PTRACE and CAP_SYS_ADMIN
            equal(int(status_of(broker)["CapPrm"][0], 16), 1 << 1 | 1 << 5 | 1 << 19 | 1 << 21, "rights of the broker")
            files = [os.readlink(file) for file in pathlib.Path(f"/proc/{agent}/fd").iterdir()]
            equal([file for file in files if file.startswith("/") and not re.match("/dev/null$|/memfd:|/proc/[0-9]+/mem", file)],
                  [], "files of the agent")
        equal(len(ids - {0, 65534, 65533}), 2, "number of different user ids of the agents")
        equal(status_of(tracer_of(running[2].pid))["Name"], ["ptrace-agent"], "the tracer of a process of dtrace's user")
        traced.finish(signal.SIGINT)

def trust_user_gives_the_agents_of_other_users_the_rights_of_dtrace(t):
    with targets(t, 65534) as (one,):
        traced = Traced(t, "trusttest*:::beat { @[uid] = count(); }", one.pid, flags=("-x", "trust=user"))
        equal(status_of(tracer_of(one.pid))["Name"], ["ptrace-agent"], "the tracer")
        equal(status_of(tracer_of(one.pid))["Uid"][0], "0", "user id of the agent")
        order(one, "beat 100")
        equal(table(traced.finish(signal.SIGINT)), {"65534": 100})

def trust_confined_in_the_program_is_too_late(t):
    """The program is compiled after dtrace has attached to the targets."""
    with targets(t, 65534) as (one,):
        done = t.run("-qn", "#pragma D option trust=confined\ntrusttest*:::beat { @ = count(); }", "-x", "trust=user",
                     "-p", str(one.pid))
        equal(done.returncode, 1)
        contains(done.stderr, "-x trust=confined must be set before targets of other users are named")
        released(one.pid)

def own_memory_of(pid):
    """Yields the readable private memory of a process, in pieces."""
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            addresses, rights, *_ = line.split()
            begin, end = (int(part, 16) for part in addresses.split("-"))
            if rights.startswith("r") and rights.endswith("p") and "[v" not in line:
                with contextlib.suppress(OSError): # a guard page
                    memory.seek(begin)
                    yield memory.read(end - begin)

def an_agent_that_is_started_later_contains_nothing_about_other_users(t):
    """The agent of the second target must not contain the path of the first target's program."""
    marker = b"marker_of_the_first_target"
    marked = program(t).parent / marker.decode()
    shutil.copy(program(t), marked)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(marked)]
    with held(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as first, \
         targets(t, 65533) as (second,):
        ready(first)
        traced = Traced(t, "trusttest*:::beat { @[uid] = count(); }", first.pid, second.pid)
        equal(any(marker in part for part in own_memory_of(traced.process.pid)), True, "dtrace has read the path")
        agent, broker = agent_and_broker(second.pid)
        for pid in (agent, broker):
            equal(any(marker in part for part in own_memory_of(pid)), False, f"the path in process {pid}")
        traced.finish(signal.SIGINT)

def a_user_cannot_kill_stop_or_trace_the_agent_of_its_processes(t):
    with targets(t, 65534) as (one,):
        traced = Traced(t, "trusttest*:::beat { @[uid] = count(); }", one.pid)
        attack = """import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
done = []
for pid in (PIDS):
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        try:
            os.kill(pid, number)
            done.append(f"kill {number}")
        except PermissionError:
            pass
    if libc.ptrace(0x4206, pid, 0, 0) == 0: # PTRACE_SEIZE
        done.append("ptrace")
    for file in ("mem", "maps", "environ"):
        try:
            open(f"/proc/{pid}/{file}", "rb").close()
            done.append(file)
        except PermissionError:
            pass
print(done)"""
        for _ in range(3):
            equal(as_user(65534, attack.replace("PIDS", f"{agent_and_broker(one.pid)}")), "[]\n", "successful attacks")
            order(one, "beat 100")
        equal(table(traced.finish(signal.SIGINT)), {"65534": 300})
        released(one.pid)

def breakpoints_in_some_threads_of_another_user_do_not_hold_up_the_other_threads(t):
    need("gcc")
    source = """#include <pthread.h>
                #include <stdio.h>
                __attribute__((noinline)) int inner(int x) { __asm__ volatile(""); return x + 1; }
                __attribute__((noinline)) int outer(int x) { __asm__ volatile(""); return inner(x) * 3; }
                static void *work(void *unused) { while (outer(4) == 15); return unused; }
                int main(void) {
                    pthread_t thread;
                    int n = 0;
                    for (int i = 0; i < 4; i++) pthread_create(&thread, 0, work, 0);
                    puts("ready");
                    fflush(stdout);
                    while (getchar() != EOF) {
                        for (int i = 0; i < 10; i++) n += outer(i);
                        puts(n ? "done" : "");
                        fflush(stdout);
                    }
                    return 0;
                }"""
    busy = program(t).parent / "busy"
    subprocess.run(["gcc", "-O1", "-pthread", "-xc", "-", "-o", str(busy)], input=source, text=True, check=True)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(busy)]
    with held(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as process:
        ready(process)
        traced = Traced(t, f"pid{process.pid}:a.out:outer:,pid{process.pid}:a.out:inner: {{ @[tid] = count(); }}", process.pid,
                        flags=("-x", "mechanism=int3"))
        for _ in range(5):
            equal(order(process, ""), "done")
        equal(len(table(traced.finish(signal.SIGINT))), 5, "number of threads that fired probes")

def a_killed_agent_or_broker_harms_no_target(t):
    for mechanism in ("jump", "int3"):
        for victim in (0, 1):
            with targets(t, 65534, 65533) as (one, other):
                session = Traced(t, "trusttest*:::beat { @[uid] = count(); }", one.pid, other.pid,
                                 flags=("-x", f"mechanism={mechanism}"))
                with held(session.process):
                    pair = agent_and_broker(one.pid)
                    order(one, "beat 10")
                    os.kill(pair[victim], signal.SIGKILL)
                    wait_until(lambda: not any(is_alive(pid) for pid in pair), what="the end of the agent and its broker")
                    equal(order(one, "beat 1000"), "done")
                    equal(order(other, "beat 500"), "done")
                    session.process.send_signal(signal.SIGINT)
                    _, errors = session.process.communicate(timeout=30)
                contains(errors, "is no longer traced: the ptrace-agent has exited")
                equal(table(session.began.read_text()).get("65533"), 500, errors)
                equal(order(one, "beat 1000"), "done")
                released(other.pid)

def a_set_user_id_program_keeps_its_privileges_if_another_user_is_traced(t):
    need("gcc")
    place = program(t).parent
    source = """#include <stdio.h>
                #include <unistd.h>
                __attribute__((noinline)) int work(int n) { __asm__ volatile(""); return n + 1; }
                int main(int argc, char **argv) {
                    int n = 0;
                    printf("user %d\\n", (int)geteuid());
                    fflush(stdout);
                    if (argc < 2) return 0;
                    while (getchar() != '\\n');
                    for (int i = 0; i < 100; i++) n = work(n);
                    execl(argv[1], argv[1], (char *)0);
                    return 1;
                }"""
    plain, privileged = place / "plain", place / "privileged"
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", str(plain)], input=source, text=True, check=True)
    shutil.copy(plain, privileged)
    privileged.chmod(0o4755)
    for mechanism, follow in itertools.product(("jump", "int3"), ((), ("-x", "follow=exec"))):
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(plain), str(privileged)]
        with held(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as process:
            equal(ready(process), "user 65534\n")
            session = Traced(t, f"pid{process.pid}:a.out:work:entry {{ @ = count(); }}", process.pid,
                             flags=("-x", f"mechanism={mechanism}", *follow))
            with held(session.process):
                output, _ = process.communicate("\n", timeout=30)
                equal(output, "user 0\n", f"the set-user-ID program, {mechanism} {follow}")
                equal(process.returncode, 0)
                _, errors = session.process.communicate(timeout=30)
            contains(session.began.read_text(), " 100\n")
            equal("gained privileges" in errors, bool(follow), errors)

TESTS = tests_in(globals(), program, targets, order, heard, shared_memory, agents_of, status_of, agent_and_broker, as_user, own_memory_of)

if __name__ == "__main__":
    main(TESTS)
