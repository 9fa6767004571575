#!/usr/bin/env python3
"""Tests that tracing does not change the results of a program, even if dtrace is killed."""
import hashlib, os, random, signal, subprocess, sys, time

from harness import *

def sample_file(t):
    """Creates a file of about 200 KB with fixed text."""
    path = t.scratch / "sample.txt"
    if not path.exists():
        rng = random.Random(7)
        words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 9))) for _ in range(500)]
        with path.open("w") as file:
            for _ in range(4000):
                file.write(" ".join(rng.choices(words, k=8)) + "\n")
    return str(path)

def small_file(t):
    path = t.scratch / "small.txt"
    path.write_text("\n".join(f"line {i * 7919 % 1000}" for i in range(60)) + "\n")
    return str(path)

def cc1():
    found = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True)
    return found.stdout.strip()

def programs(t):
    """Returns the names and command lines of programs whose output is the same in each run."""
    small = small_file(t)
    script = t.scratch / "one.py"
    script.write_text("import json\nprint(json.dumps({'a': [i * i for i in range(9)]}))\n")
    perl = t.scratch / "one.pl"
    perl.write_text('my %h; $h{$_ % 7} += $_ for 1 .. 200; print "$_ $h{$_}\\n" for sort keys %h;\n')
    awk = t.scratch / "one.awk"
    awk.write_text("{ n[$2 % 10]++ } END { for (i = 0; i < 10; i++) print i, n[i] }\n")
    sql = t.scratch / "one.sql"
    sql.write_text("create table t(a); insert into t values(3),(1),(2); select a*a from t order by a;\n")
    source = t.scratch / "one.c"
    source.write_text("int f(int a) { return a * 3 + 1; }\n")
    repo = t.scratch / "repo"
    if not repo.exists():
        subprocess.run(["git", "init", "-q", str(repo)], check=True)
    return [
        ("xz", f"xz -0 -c {small}"),
        ("gzip", f"gzip -n -c {small}"),
        ("sqlite3", f"sqlite3 -init {sql} :memory: .quit"),
        ("perl", f"perl {perl}"),
        ("python3", f"/usr/bin/python3 -S -E {script}"),
        ("gawk", f"gawk -f {awk} {small}"),
        ("cc1", f"{cc1()} -quiet -O1 {source} -o -"),
        ("openssl", f"openssl dgst -sha256 {small}"),
        ("git", f"git -C {repo} status --porcelain"),
        ("sort", f"sort -n -k2 {small}"),
    ]

def all_probes_of(name):
    def test(t):
        command = dict(programs(t))[name]
        need(command.split()[0])
        plain = subprocess.run(command.split(), capture_output=True, cwd=t.scratch)
        out = t.scratch / f"{name}.traced"
        traced = subprocess.run(
            [t.dtrace, "-q", "-o", str(t.scratch / "trace.out"), "-n",
             "pid$target:a.out::entry,pid$target:a.out::return { @[probename] = count(); }",
             "-Z", "-c", command], stdout=out.open("wb"), stderr=subprocess.PIPE,
            cwd=t.scratch, timeout=600)
        equal(traced.returncode, 0, traced.stderr.decode())
        equal(out.read_bytes(), plain.stdout, "output of the traced program")
        equal("terminated" in traced.stderr.decode(), False, traced.stderr.decode())
    test.__name__ = f"{name}_computes_the_same_with_all_its_entries_and_returns_probed"
    return test

def long_programs(t):
    """Returns programs that run for about half a second without tracing, and their outputs."""
    sample = sample_file(t)
    commands = [
        ["/usr/bin/python3", "-S", "-c", "print(sum(hash((i, i * 3)) % 7 for i in range(900000)))"],
        ["perl", "-e", "my $s = 0; for (1 .. 3000000) { $s = ($s * 31 + $_) % 1000003 } print \"$s\\n\""],
        ["gawk", "BEGIN { for (i = 0; i < 4000000; i++) s = (s * 31 + i) % 1000003; print s }"],
        ["sort", sample, sample, sample],
        ["gzip", "-9", "-n", "-c", sample],
    ]
    return [(command, subprocess.run(command, capture_output=True, check=True).stdout)
            for command in commands]

def killing_dtrace_at_random_moments_harms_no_target(t):
    """After dtrace is killed, the agent restores the text, and the target exits with the right result."""
    rng = random.Random(42)
    programs = long_programs(t)
    for n in range(1000 if t.long else 80):
        command, plain = programs[n % len(programs)]
        out = t.scratch / "killed.out"
        target = subprocess.Popen(command, stdout=out.open("wb"))
        time.sleep(rng.uniform(0, 0.1))
        dtrace = subprocess.Popen(
            [t.dtrace, "-qZn", "pid$target:libc.so.6::entry,pid$target:a.out::return { @ = count(); }",
             "-p", str(target.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, 0.3))
        dtrace.kill()
        dtrace.wait()
        equal(target.wait(timeout=60), 0, f"round {n}, {command[0]}: exit status")
        equal(out.read_bytes() == plain, True, f"round {n}, {command[0]}: right output")

TESTS = [all_probes_of(name) for name in
         ("xz", "gzip", "sqlite3", "perl", "python3", "gawk", "cc1", "openssl", "git", "sort")]
TESTS.append(killing_dtrace_at_random_moments_harms_no_target)

if __name__ == "__main__":
    main(TESTS)
