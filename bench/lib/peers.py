# SPDX-License-Identifier: MIT
"""The same work by peers on the same victim, for bench/fast_path. Debian's bpftrace and perf;
what else bench/install-peers installs is not measured yet and said so."""
import os, re, shutil, signal, subprocess, time
from table import Skip
from target import Timed

BPFTRACE = [
    ("entry, count()", "work", "uprobe:PATH:work { @ = count(); }", "work"),
    ("entry, @[arg0 & 63] = count()", "work", "uprobe:PATH:work { @[arg0 & 63] = count(); }", "work"),
    ("entry, @ = hist(arg0)", "work", "uprobe:PATH:work { @ = hist(arg0); }", "work"),
    ("entry + return, latency into hist", "work",
     "uprobe:PATH:work { @t[tid] = nsecs; } uretprobe:PATH:work /@t[tid]/ "
     "{ @ = hist(nsecs - @t[tid]); delete(@t[tid]); }", "work"),
    ("@[ustack(9)] = count()", "stack", "uprobe:PATH:frame9 { @[ustack(9)] = count(); }", "frame9"),
]

def under(command, mode):
    def one(args):
        with Timed(args) as victim:
            bare = victim.run(mode)
            tool = subprocess.Popen([word.replace("PATH", victim.path).replace("PID", str(victim.pid))
                                     for word in command],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                end = time.monotonic() + 10
                while victim.run(mode, 1, 20000) < bare + 50:  # Until the probe is felt.
                    if tool.poll() is not None or time.monotonic() > end:
                        raise Skip("it does not attach here")
                    time.sleep(0.1)
                return victim.run(mode, 3) - bare
            finally:
                tool.send_signal(signal.SIGINT)
                tool.wait()
    return one

def measure(args, table):
    runs = min(args.runs, 3)
    for work, mode, program, _ in BPFTRACE:
        def cost():
            if not shutil.which("bpftrace") or os.geteuid() != 0:
                raise Skip("bpftrace needs to be installed, and root")
            one = under(["bpftrace", "-p", "PID", "-e", program], mode)
            return [one(args) for _ in range(runs)]
        table.row(f"bpftrace: {work}", "ns", None, None, cost)
    for tool in ("uftrace", "lttng"):
        if table.wants(tool):
            print(f"{tool:48} skipped: {'not measured by this script' if shutil.which(tool) else 'not installed'}")
