#!/usr/bin/env python3
"""Runs the commands in README.md and docs/*.md as they are printed there.

A command is a line that begins with "$ " in an indented block. The lines up to the next command are the output that the
document shows. The tutorial shows the output of every command. In the other documents, a command without output only
has to exit with status 0.

All commands of a document run in one shell, in a directory that has usdt/ and build/release/ like the source tree. The
documents trace the process 4711. The test replaces this number with the pid of a python3 process, and interrupts these
commands after two seconds. Commands that begin with "# " need root and the kernel module; test_kmod compiles them.

Only the shape of the output is compared:
 - all numbers are treated as equal, and so are all addresses;
 - consecutive rows of a table, a distribution or a stack are treated as one row;
 - at least half of the words that the document shows must be in the output;
 - the medians of a distribution in the output and in the document may differ by at most a factor of 16.

ACCEPT=1 in the environment writes the new output into the documents. Read the diff before you commit it."""
import itertools, os, re, select, subprocess, sys

from harness import *

TREE = HERE.parent.parent
PID = "4711"

READER = """
import time
print("ready", flush=True)
while True:
    with open("/etc/hostname") as file:
        file.read()
    time.sleep(0.001)
"""

class Command:
    """A command in a document. Lines [begin, end) of the document show the command's output."""
    def __init__(self, prompt, text, begin, end, shown):
        self.prompt, self.text, self.begin, self.end = prompt, text, begin, end
        self.shown = tidied("\n".join(shown))

def tidied(text):
    """Returns the text without spaces at line ends and without consecutive empty lines."""
    lines = [line.rstrip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")

def is_open(text):
    """Returns whether a shell would read another line of this command."""
    document = re.search(r"<<'(\w+)'$", text.split("\n")[0])
    if document:
        return text.split("\n")[-1] != document[1]
    return text.count("'") % 2 != 0 or text.endswith("\\")

def commands(path):
    """Returns the commands in a document, in order."""
    lines = path.read_text().splitlines()
    found = []
    at = 0
    while at < len(lines):
        start = re.match(r"    ([$#]) (.*)", lines[at])
        at += 1
        if not start:
            continue
        prompt, text = start.groups()
        while is_open(text):
            text += "\n" + lines[at].removeprefix("    ")
            at += 1
        begin = at
        while at < len(lines) and re.match(r"(    (?![$#] ).*)?$", lines[at]):
            at += 1
        end = at
        while end > begin and not lines[end - 1].strip():
            end -= 1
        shown = [line.removeprefix("    ") for line in lines[begin:end]]
        found.append(Command(prompt, text, begin, end, shown))
    return found

class Shell:
    """A bash process that runs one command after another. It keeps its variables and its working directory."""
    def __init__(self, folder):
        self.output = folder / ".output"
        self.process = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, bufsize=1, cwd=folder,
                                        env={**os.environ, "LC_ALL": "C.UTF-8"})
    def run(self, text, timeout=60):
        """Runs a command. Returns its status and its output, including stderr."""
        self.process.stdin.write(f"{{ {text}\n}} >{self.output} 2>&1 </dev/null\necho status $?\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            raise AssertionError(f"the command did not end in {timeout} s: {text}")
        status = self.process.stdout.readline().split()
        return int(status[1]), tidied(self.output.read_text(errors="backslashreplace"))
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

DISTRIBUTION = re.compile(r"^ *(<?>?=? ?-?\d+) \|[@ ]*(\d+)$")

def shape(text):
    """Returns the text without numbers, with each run of similar lines as one line."""
    kinds = []
    for line in text.splitlines():
        if DISTRIBUTION.match(line):
            line = "a row of a distribution"
        elif re.match(r"^ {8,}\S+(`\S+|0x[0-9a-f]+)$", line):
            line = "a frame of a stack"
        elif re.match(r"^ *[A-Za-z_.<][\w.>-]*( +-?\d+)+( ms)?$", line):
            line = "a key and numbers"
        elif re.match(r"^ +\S+ +\S+ +-?\d+$", line):
            line = "two keys and a number"
        else:
            line = re.sub(r"0x[0-9a-f]+|\d+", "N", line)
            line = re.sub(r"\s+", " ", line)
        kinds.append(line)
    return [kind for kind, _ in itertools.groupby(kinds)]

def medians(text):
    """Returns the bucket that contains the median of each distribution."""
    found = []
    for is_one, rows in itertools.groupby(map(DISTRIBUTION.match, text.splitlines()), bool):
        if not is_one:
            continue
        rows = [(int(re.sub(r"[<>= ]", "", row[1])), int(row[2])) for row in rows]
        left = sum(count for _, count in rows) / 2
        for bucket, count in rows:
            left -= count
            if left <= 0:
                break
        found.append(bucket)
    return found

def words(text):
    return set(re.findall(r"[A-Za-z_]\w{2,}", text))

def compare(got, shown):
    """Compares the shape, the words and the medians of two outputs. Returns the first difference, or "" if they
    match."""
    if shape(got) != shape(shown):
        return "its shape differs"
    if len(words(got) & words(shown)) * 2 < len(words(shown)):
        return "most of its words differ"
    for now, before in zip(medians(got), medians(shown)):
        if max(abs(now), 1) > 16 * max(abs(before), 1) or max(abs(before), 1) > 16 * max(abs(now), 1):
            return f"a distribution has its median in {now}, not {before}"
    return ""

def tree(t, name):
    """Creates a directory with the parts of a built source tree that the documents use."""
    folder = t.scratch / name
    (folder / "build").mkdir(parents=True)
    (folder / "build/release").symlink_to(t.build)
    (folder / "usdt").symlink_to(TREE / "usdt")
    return folder

def runs_as_printed(t, path, at_least, shows_all=False):
    """Runs every command in a document. If shows_all is set, the document must show the output of every command."""
    document = TREE / path
    found = [command for command in commands(document) if command.prompt == "$"]
    equal(len(found) >= at_least, True, f"{len(found)} commands in {path}")
    folder = tree(t, path.replace("/", "-"))
    failures, replaced = [], {}
    reader = subprocess.Popen([sys.executable, "-c", READER], stdout=subprocess.PIPE, text=True)
    with held(reader), Shell(folder) as shell:
        reader.stdout.readline()
        shell.run(f"PATH={t.build}/cmd/dtrace:{t.build}/cmd/dtruss:{t.build}/cmd/tools:$PATH")
        for command in found:
            text = command.text
            if f"-p {PID}" in text:
                text = "timeout --preserve-status -s INT 2 " + text.replace(f"-p {PID}", f"-p {reader.pid}")
            status, got = shell.run(text)
            got = re.sub(rf"\b{reader.pid}\b", PID, got)
            # On a busy machine, the profile provider skips samples and reports them.
            got = re.sub(r"^dtrace: profile: \d+ of \d+ samples were skipped.*\n\n?", "", got, flags=re.M)
            why = f"its status is {status}" if status != 0 else ""
            if command.shown or shows_all:
                why = why or compare(got, command.shown)
                replaced[command] = got
            if why:
                failures.append(f"{path}: {why}\n$ {command.text}\ngot\n{got}\nthe document shows\n{command.shown}\n")
    if os.environ.get("ACCEPT"):
        lines = document.read_text().splitlines()
        for command, got in reversed(replaced.items()):
            lines[command.begin:command.end] = [f"    {line}".rstrip() for line in got.splitlines()]
        document.write_text("\n".join(lines) + "\n")
    if failures:
        raise AssertionError("\n".join(failures))

def the_commands_of_the_readme_print_the_output_that_it_shows(t):
    runs_as_printed(t, "README.md", 6)

def the_commands_of_the_tutorial_print_the_output_that_it_shows(t):
    need("redis-server", "redis-benchmark", "redis-cli", "gcc", "python3", "gdb")
    try:
        runs_as_printed(t, "docs/tutorial.md", 20, shows_all=True)
    finally:
        # A failure may have left the server and its load running.
        for name in ("load.pid", "redis.pid"):
            for file in t.scratch.glob(f"docs-tutorial.md/**/{name}"):
                for pid in file.read_text().split():
                    try:
                        os.kill(int(pid), signal.SIGKILL)
                    except ProcessLookupError:
                        pass

def the_commands_for_users_of_other_tools_run(t):
    need("gcc", "python3")
    runs_as_printed(t, "docs/coming-from.md", 17)

def links_between_the_documents_have_a_target(t):
    for path in (TREE / "README.md", *sorted((TREE / "docs").glob("*.md"))):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            equal((path.parent / link).exists(), True, f"{link}, a link of {path.name}")

def the_comparison_finds_a_changed_shape_and_a_changed_size(t):
    """Tests compare() itself, with outputs that have the same shape and outputs that do not."""
    table = "  value  ------------- Distribution ------------- count\n"
    def distribution(*rows):
        return table + "\n".join(f"{bucket:9} |@@@@@{count:>12}" for bucket, count in rows)
    fast, slow = distribution((32, 0), (64, 100), (128, 7)), distribution((2048, 0), (4096, 90))
    equal(compare(fast, distribution((64, 0), (128, 3))), "", "the same except for noise")
    equal(compare(fast, slow), "a distribution has its median in 64, not 4096")
    equal(compare("  malloc   12\n  free    7", "  malloc   3"), "", "rows of a table")
    equal(compare("  malloc   12", "  read   3"), "most of its words differ")
    equal(compare("  malloc   12", "dtrace: 12 drops on CPU 0"), "its shape differs")
    equal(compare("", "  malloc 3"), "its shape differs")

TESTS = [
    the_commands_of_the_readme_print_the_output_that_it_shows, the_commands_of_the_tutorial_print_the_output_that_it_shows,
    the_commands_for_users_of_other_tools_run, links_between_the_documents_have_a_target,
    the_comparison_finds_a_changed_shape_and_a_changed_size,
]

if __name__ == "__main__":
    main(TESTS)
