#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the manual page lists all existing names and no other names.

The names are rows of the tables that the command, the compiler and the engine expand. On the page, they are the bold
words in the tags of .TP entries. A tag is the line after .TP or .TQ. If a row has a size, a count or a rate as its
default, the text of the entry must contain the default.

  manual.py [PAGE]       prints the differences, and exits with 1 if there are any
"""
import pathlib, re, shutil, subprocess, sys

from coverage import TREE, rows

PAGE = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else TREE / "cmd/dtrace/dtrace.1"

# Matches the options that Options::set() handles without a table.
OTHERS = r'(?:Count|List)\{"(\w+)"'

def read(name):
    return (TREE / name).read_text()

# The page

def words(line):
    """Returns the words of a roff line as pairs (text, is bold)."""
    macro, *arguments = [quoted or plain for quoted, plain in
                         re.findall(r'"([^"]*)"|(\S+)', line.replace("\\-", "-"))] or [""]
    bold = {".B": (True, True), ".BR": (True, False), ".BI": (True, False),
            ".RB": (False, True), ".IB": (False, True)}.get(macro)
    if bold is None:
        return [(line, False)]
    return [(re.sub(r"\\f.", "", text), bold[i % 2]) for i, text in enumerate(arguments)]

def entries(section):
    """Returns a dictionary from each name in the section to the text of its entry, without markup."""
    found = {}
    for entry in re.split(r"^\.TP\n", section, flags=re.M)[1:]:
        entry = re.split(r"^\.(?:PP|SS.*)$", entry, flags=re.M)[0]
        lines = entry.rstrip("\n").split("\n")
        n_tags = 1
        while n_tags < len(lines) and lines[n_tags] == ".TQ":
            n_tags += 2
        said = " ".join("".join(text for text, _ in words(line)) for line in lines[n_tags:])
        for line in lines[:n_tags]:
            for name, bold in words(line):
                if bold and name.strip():
                    found[name.strip()] = said
    return found

def sections():
    parts = re.split(r"^\.SH (.*)\n", PAGE.read_text(), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2]))

# The names that the page must list, and the defaults that it must show

def flags():
    text = read("cmd/dtrace/arguments.cpp")
    table = re.search(r"constexpr Flag flags\[\] = \{(.*?)\n\};", text, re.S)[1]
    yield from ("-" + letter for letter in re.findall(r"\{'(\w)',", table))
    yield from ("--" + name for name in re.findall(r'\{"(\w+)", no_argument,', text))
    # getopt() parses -32 and -64 as the flags -3 and -6 with an argument.
    if '"+:3:6:"' not in text:
        raise SystemExit("cmd/dtrace/arguments.cpp: the flags -32 and -64 are not where this test expects them")
    yield from ("-32", "-64")

def variables():
    arrays = [row[0] + "[]" for row in rows("dif/vars.h", "DIF_VAR_ARRAYS")]
    return [*arrays, "curpsinfo", "curlwpsinfo", "fds[]"] + [
        row[0] for row in rows("dif/vars.h", "DIF_VAR_SCALARS") if not row[0].startswith("pr_")]

def kernel_probes():
    """Returns the names of the probes of each stable provider (for vfs: module:function)."""
    probes = {}
    for provider, probe in re.findall(r'\tX\("(\w+)", +"([^"]+)"', read("abi/stable.h")):
        probes.setdefault(provider, set()).add(probe.rpartition(":")[0] if provider == "vfs" else probe)
    return probes

def kernel_providers():
    named = re.findall(r'std::string name\(\) const override \{ return "(\w+)"; \}', "".join(
        path.read_text() for path in (TREE / "libdtrace/providers").glob("*_provider.hpp")
        if "public KernelProvider" in path.read_text()))
    return [*named, *kernel_probes()]

def members():
    """Yields (structure, member) for each member of curpsinfo, curlwpsinfo and fds[] that the page must name."""
    text = read("libdtrace/compile/builtins.cpp")
    for structure, table in (("curpsinfo", "psinfo_rows"), ("curlwpsinfo", "lwpsinfo_rows")):
        body = re.search(r"PsinfoRow " + table + r"\[\] = \{(.*?)\n\};", text, re.S)[1]
        for member in re.findall(r'\{"(\w+)", +Kind::(?:Variable|Number)', body):
            yield structure, member
    for row in rows("dif/vars.h", "DIF_VAR_FILES"):
        yield "fds[]", row[0]

def default_of(kind, value):
    """Returns the text of a default that the page must show, or None if the page need not show it."""
    if value == "DT_OPT_UNSET" or kind not in ("SIZE", "COUNT", "RATE"):
        return None
    if kind == "RATE":
        return "1s" if int(value) == 10**9 else f"{round(10**9 / int(value))}hz"
    n = eval(value.replace("ull", ""))
    for unit in ("", "k", "m"):
        if n % 1024 != 0:
            return f"{n}{unit}"
        n //= 1024
    return f"{n}g"

def options():
    run_time = {row[0]: default_of(row[2], row[3]) for row in rows("dif/options.h", "DIF_OPTIONS")}
    text = read("libdtrace/session/options.cpp")
    others = []
    for table in ("flag_options", "text_options", "choice_options"):
        body = re.search(table + r"\[\] = \{(.*?)\n\};", text, re.S)[1]
        others += re.findall(r'^    (?:\{"|CHOICE\()(\w+)\b', body, re.M)
    others += re.findall(OTHERS, text)
    unsupported = re.search(r'unsupported =\s*"([\w|]+)"', text)[1].split("|")
    return run_time, others + unsupported

# What differs

wrong = 0

def complain(text):
    global wrong
    print(text)
    wrong += 1

def compare(what, page, table):
    table = list(table)
    for name in table:
        if name not in page:
            complain(f"the page does not list {what} {name}")
    for name, said in page.items():
        if name not in table:
            complain(f"the page lists {what} {name}, which no table has")
        if not re.search(r"\w.*\.$", said):
            complain(f"the page has no sentence about {what} {name}")
    return len(table)

def compare_synopsis(text):
    flag_rows = re.findall(r"\{'(\w)', (nullptr|\")", read("cmd/dtrace/arguments.cpp"))
    plain = "".join(sorted((letter for letter, rest in flag_rows
                            if rest == "nullptr"), key=lambda c: (c.lower(), c)))
    for where, shown in (("page", re.search(r"^\.RB \[ \\-(\w{3,}) \]$", text, re.M)),
                         ("usage", re.search(r"Usage: dtrace \[-(\w+)\]",
                                             read("cmd/dtrace/arguments.cpp")))):
        if shown is None or sorted(shown[1]) != sorted(plain):
            complain(f"the synopsis of the {where} is not -{plain}")
    for letter, rest in flag_rows:
        if rest != "nullptr" and not re.search(rf"^\.(?:RB \[ )?.*\\-{letter}$|\[ \\-{letter} \]", text, re.M):
            complain(f"the synopsis of the page lacks -{letter}")

def render():
    if shutil.which("groff") is None:
        print("groff is not installed: not rendered")
        return
    done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", str(PAGE)],
                          capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        complain(f"groff: {done.stderr.strip()}")

def main():
    page = sections()
    n = compare("flag", entries(page["OPTIONS"]), flags())
    said = entries(page["KERNEL PROVIDERS"])
    n += compare("provider", said, kernel_providers())
    for provider, probes in kernel_probes().items():
        n += len(probes)
        # "Packets: send, receive."
        listed = set(said.get(provider, "").replace("\\-", "-").partition(": ")[2].partition(".")[0].split(", "))
        if listed != probes:
            complain(f"the page does not list {sorted(probes - listed)}, and lists {sorted(listed - probes)}, of {provider}")
    said = entries(page["VARIABLES"])
    n += compare("variable", said, variables())
    for structure, member in members():
        n += 1
        if not re.search(rf"\b{member}\b", said.get(structure, "")):
            complain(f"the page does not list {structure}->{member}")
    for what, section, macro, header in (
            ("action", "ACTIONS", "DIF_ACTIONS", "dif/actions.h"),
            ("aggregating function", "AGGREGATING FUNCTIONS", "DIF_AGGS", "dif/actions.h"),
            ("subroutine", "SUBROUTINES", "DIF_SUBRS", "dif/subrs.h")):
        n += compare(what, entries(page.get(section, "")), [row[0] for row in rows(header, macro)])
    said = entries(page["RUN-TIME OPTIONS"])
    run_time, others = options()
    n += compare("option", said, [*run_time, *others])
    for name, default in run_time.items():
        if default and "without any effect" not in said.get(name, "") and \
                not re.search(rf"\({default}\b", said.get(name, "")):
            complain(f"the page does not say that {name} is {default} by default")
    compare_synopsis(page["SYNOPSIS"])
    render()
    print(f"{n} names of tables, {wrong} wrong")
    return 1 if wrong else 0

if __name__ == "__main__":
    sys.exit(main())
