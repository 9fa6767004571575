#!/usr/bin/env python3
"""Tests that the examples in README.md and the manual page compile, and that their output matches the files in readme/.
ACCEPT=1 in the environment writes the new output to these files."""
import os, pathlib, re, shlex

from harness import *
from saying import Target

TREE = HERE.parent.parent
GOLDEN = HERE / "readme"

def commands(lines):
    """Yields the arguments of each dtrace command in the lines. A command continues until its quotes are closed."""
    lines = list(lines)
    while lines:
        text = lines.pop(0).strip().removeprefix("# ").removeprefix("$ ")
        if not text.startswith("dtrace "):
            continue
        while text.count("'") % 2 != 0:
            text += "\n" + lines.pop(0)
        yield shlex.split(text)[1:]

def of_readme():
    before, _, rest = (TREE / "README.md").read_text().partition("## The kernel, too\n")
    # test_kmod tests the examples in the omitted section.
    lines = (before + rest.partition("\n## ")[2]).splitlines()
    # Commands are indented by four spaces. Other lines are replaced with empty lines, even within quotes.
    found = list(commands(line if line.startswith("    ") else "" for line in lines))
    equal(len(found) >= 6, True, f"{len(found)} examples in README.md")
    return found

def of_manual_page():
    page = (TREE / "cmd/dtrace/dtrace.1").read_text()
    lines = page.split(".SH EXAMPLES\n")[1].split("\n.fi")[0].replace("\\-", "-").splitlines()
    found = list(commands(lines))
    equal(len(found) >= 3, True, f"{len(found)} examples in the manual page")
    return found

def on(target, example):
    """Returns the example with the target's pid after -p."""
    return [str(target.pid) if before == "-p" else word
            for before, word in zip(["", *example], example)]

def run(t, flags, example):
    if "-p" not in example:
        return t.run(*flags, *example)
    with Target(t) as target:
        return t.run(*flags, *on(target, example))

def steady(text):
    """Replaces the parts that differ from run to run, or between builds of the C library."""
    text = re.sub(r"^DIFO 0x[0-9a-f]+", "DIFO ADDRESS", text, flags=re.M)
    text = re.sub(r"^ *\d+ +pid\d+ ", "   ID     pidPID ", text, flags=re.M)
    text = re.sub(r"^ *\d+ +(?=dtrace )", "   ID     ", text, flags=re.M)
    # The number of return sites depends on the compiler.
    return re.sub(r"(\t\t\+0x)[1-9a-f][0-9a-f]*(: .*\n)(?:\t\t\+0x[0-9a-f]+\2)*", r"\1N\2", text)

def shows(t, flags, stream, name):
    """Compares the output of all examples with a file. The examples must write only to this stream."""
    shown = ""
    for example in of_readme():
        done = run(t, flags, example)
        streams = {"stdout": done.stdout, "stderr": done.stderr}
        text = streams.pop(stream)
        equal((done.returncode, *streams.values()), (0, ""), f"{example}, which printed {text}")
        shown += f"$ dtrace {' '.join(flags)} {shlex.join(example)}\n{steady(text)}\n"
    golden = GOLDEN / name
    if os.environ.get("ACCEPT"):
        golden.write_text(shown)
    for got, want in zip(shown.split("\n$ "), golden.read_text().split("\n$ ")):
        if got != want:
            raise AssertionError(f"got\n{got}\nwant\n{want}")
    equal(shown, golden.read_text(), name)

def every_example_compiles(t):
    for example in of_readme():
        done = run(t, ["-e"], example)
        equal((done.returncode, done.stdout, done.stderr), (0, "", ""), shlex.join(example))

def every_example_of_the_manual_page_compiles(t):
    for example in of_manual_page():
        done = run(t, ["-eZ"], example)
        equal((done.returncode, done.stdout, done.stderr), (0, "", ""), shlex.join(example))

def every_example_has_its_disassembly(t):
    shows(t, ["-eS"], "stderr", "disassembly.out")

def the_option_verbose_shows_what_S_shows(t):
    program = ["-n", "BEGIN { trace(pid); }"]
    by_flag, by_option = t.run("-eS", *program), t.run("-e", "-x", "verbose", *program)
    contains(by_flag.stderr, "ldgs")
    equal(steady(by_option.stderr), steady(by_flag.stderr), "output")
    by_pragma = t.run("-en", "#pragma D option verbose\n" + program[1])
    equal(steady(by_pragma.stderr), steady(by_flag.stderr), "output with a pragma")

def every_example_has_its_stability_report(t):
    shows(t, ["-ev"], "stderr", "stability.out")

def every_example_has_its_listing_with_attributes_and_types(t):
    if not pathlib.Path("/usr/lib/debug/.build-id").exists():
        raise Skip("libc6-dbg is not installed")
    shows(t, ["-lv"], "stdout", "listing.out")

TESTS = [
    every_example_compiles, every_example_of_the_manual_page_compiles,
    every_example_has_its_disassembly, the_option_verbose_shows_what_S_shows,
    every_example_has_its_stability_report,
    every_example_has_its_listing_with_attributes_and_types,
]

if __name__ == "__main__":
    main(TESTS)
