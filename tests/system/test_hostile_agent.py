#!/usr/bin/env python3
"""Tests that root's dtrace survives a hostile program of another user which pretends to be a ptrace-agent. Root's dtrace
joins the agent that traces a process, so this program traces the process."""
import concurrent.futures, os, re, signal, subprocess, time

from harness import *
from faults import Line, untouched
from traced import of_another_user

COUNT = 'pid$target:a.out:work:entry { @entries = count(); } END { printa("entries %@d\\n", @entries); }'
MAX_SECONDS = 40 # the client's limit is 15 s for all replies, and 5 s for the end of the session
MAX_KBYTES = 400_000
# The behaviours of the victim, and the report of dtrace about each. An empty report means that dtrace continues.
TOO_LATE = "the ptrace-agent of another user did not reply in time"
MALFORMED = "the ptrace-agent sent a message that is malformed or too long"
WAYS = {"silent": TOO_LATE, "busy": TOO_LATE, "drips": TOO_LATE, "garbage": MALFORMED, "huge": MALFORMED, "long": MALFORMED,
        "flood": MALFORMED, "codes": "malformed error", "counts": MALFORMED, "reports": "", "children": "", "events": "",
        "files": "", "unasked": MALFORMED, "keeps": ""}

class Attack(Holder):
    """A process of an ordinary user, and a hostile agent of this user that traces it."""
    def __init__(self, t, how, other=1, name="ptrace-agent"):
        if os.geteuid() != 0:
            raise Skip("needs root")
        rounds, agent = of_another_user(t, "rounds"), of_another_user(t, "hostile_agent")
        self.target = subprocess.Popen([*rounds, "1000", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        equal(Line(self.target.stdout).next(), b"ready\n")
        self.process = subprocess.Popen([*agent, how, str(self.target.pid), str(other), name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        equal(Line(self.process.stdout).next(), b"listening\n")

    def planted(self):
        """Returns the processes that requests to plant probes named."""
        self.process.kill()
        return {int(line.split()[1]) for line in self.process.communicate(timeout=20)[0].splitlines()}

    def close(self):
        for process in (self.process, self.target):
            end_of(process)

def run_dtrace(t, attack, *flags, seconds=1):
    """Traces the process for some time after BEGIN has fired. Returns the exit status, the stderr and the maximum memory of
    dtrace."""
    errors, out = (t.scratch / f"{name}.{attack.target.pid}" for name in ("errors", "out"))
    out.write_text("")
    with errors.open("wb") as to:
        dtrace = subprocess.Popen([t.dtrace, "-q", *flags, "-o", str(out), "-n", COUNT + ' BEGIN { printf("BEGAN\\n"); }',
                                   "-p", str(attack.target.pid)], stdout=subprocess.DEVNULL, stderr=to)
    ends = time.monotonic() + MAX_SECONDS
    while True:
        pid, status, usage = os.wait4(dtrace.pid, os.WNOHANG)
        if pid != 0:
            dtrace.returncode = os.waitstatus_to_exitcode(status)
            return dtrace.returncode, errors.read_bytes(), usage.ru_maxrss
        if time.monotonic() > ends:
            dtrace.kill()
            os.wait4(dtrace.pid, 0)
            raise AssertionError(f"dtrace did not exit within {MAX_SECONDS} s: {errors.read_bytes()[-1000:]}")
        if "BEGAN" in out.read_text():
            out.write_text("")
            time.sleep(seconds)
            os.kill(dtrace.pid, signal.SIGINT)
        time.sleep(0.02)

def survive(t, how, report):
    # This process of root must not be affected. Some agents report it as a child of the target.
    other = subprocess.Popen([t.victim("rounds"), "1", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    with Attack(t, how, other.pid) as attack:
        status, errors, kbytes = run_dtrace(t, attack, *(("-x", "follow=fork") if how == "children" else ()))
        text = errors.decode(errors="replace")
        equal(status in (0, 1), True, f"{how}: exit status {status}: {text[:2000]}")
        equal(kbytes < MAX_KBYTES, True, f"{how}: {kbytes} kB")
        equal(len(errors) < 100_000, True, f"{how}: {len(errors)} bytes of messages")
        equal(re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", errors), None, f"{how}: control characters")
        contains(text, report)
        equal(other.poll(), None, f"{how}: the status of a process that the agent has named")
        untouched(other.pid)
        equal(attack.planted() - {attack.target.pid}, set(), f"{how}: processes of which the agent received addresses")
        equal(is_alive(attack.target.pid), True, f"{how}: the target lives")
    other.communicate(timeout=20)

def no_behaviour_of_an_agent_harms_roots_dtrace(t):
    of_another_user(t, "rounds"), of_another_user(t, "hostile_agent")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(survive, t, how, report) for how, report in WAYS.items()]:
            done.result()

def an_agent_gets_no_addresses_in_a_process_that_it_no_longer_traces(t):
    """The process may have exited, and another process may have its id."""
    with Attack(t, "leaves") as attack:
        status, errors, _ = run_dtrace(t, attack)
        equal(status, 0, errors)
        contains(errors.decode(), "no longer traces the process, so it gets no further probes")
        equal(attack.planted(), set(), "processes of which the agent received addresses")
        untouched(attack.target.pid)

def an_agent_cannot_hide_the_exit_of_a_process(t):
    """Another process could have its id by then."""
    with Attack(t, "hides") as attack:
        out = t.scratch / "out"
        dtrace = t.start("-q", "-o", str(out), "-n", COUNT + ' BEGIN { printf("BEGAN\\n"); }', "-p", str(attack.target.pid))
        with held(dtrace):
            wait_until(lambda: out.exists() and "BEGAN" in out.read_text(), what="tracing")
            attack.target.kill() # remains a zombie, because its tracer does not wait for it
            _, errors = dtrace.communicate(timeout=20)
            equal((dtrace.returncode, errors), (0, ""))

def a_process_that_only_has_the_name_of_a_broker_is_not_one(t):
    """The parent of the tracer must not be taken for an agent."""
    with Attack(t, "keeps", name="ptrace-broker") as attack:
        status, errors, _ = run_dtrace(t, attack, seconds=1)
        equal(status, 0, errors)
        equal(attack.planted(), {attack.target.pid})

TESTS = tests_in(globals(), run_dtrace)

if __name__ == "__main__":
    main(TESTS)
