#!/usr/bin/env python3
"""Checks that every #include in the tree refers to a directory from which the including file may include. The table
ALLOWED lists these directories for each directory that contains source files. Such a directory is called a room. A unit
test may include the room that it tests, and everything that this room may include."""
import pathlib, re, subprocess, sys

TREE = pathlib.Path(__file__).resolve().parent.parent
BELOW_SESSION = ["base", "dif", "abi", "process", "fasttrap", "usdt", "ptrace-agent",
                 "ptrace-agent/wire", "libdtrace/symbols",
                 "libdtrace/compile", "libdtrace/providers", "libdtrace/consume"]
ALLOWED = {
    "dif": [],
    "base": [],
    "abi": ["dif"],
    "kmod": ["dif", "abi"],
    "process": ["dif", "base", "abi"],
    "fasttrap": ["base"],
    "usdt": ["base"],
    "ptrace-agent/runtime": ["dif", "abi"],
    "ptrace-agent/native": ["dif", "base", "abi", "ptrace-agent/runtime"],
    "ptrace-agent/wire": ["base", "fasttrap", "ptrace-agent/runtime"],
    "ptrace-agent": ["dif", "base", "abi", "process", "fasttrap", "ptrace-agent/native", "ptrace-agent/runtime",
                     "ptrace-agent/wire"],
    "libdtrace/symbols": ["base", "process", "usdt"],
    "libdtrace/compile/types": ["dif", "libdtrace/compile", "libdtrace/symbols"],
    "libdtrace/compile/parse": ["libdtrace/compile", "libdtrace/compile/types"],
    "libdtrace/compile/check": ["dif", "libdtrace/compile", "libdtrace/compile/types", "libdtrace/symbols"],
    "libdtrace/compile/generate": ["dif", "libdtrace/compile", "libdtrace/compile/check"],
    "libdtrace/compile": ["base", "dif", "libdtrace/symbols"],
    "libdtrace/consume": ["base", "dif", "libdtrace/compile"],
    "libdtrace/providers": ["base", "dif", "abi", "process", "fasttrap", "usdt", "ptrace-agent", "ptrace-agent/runtime",
                            "ptrace-agent/wire", "libdtrace/symbols", "libdtrace/compile"],
    "libdtrace/session": BELOW_SESSION,
    "libdtrace/api": BELOW_SESSION + ["libdtrace/session"],
    "cmd": [],
}
# Published headers, which programs outside the tree can include. Every file in the tree may include them.
PUBLISHED = {"dif/actions.h", "dif/faults.h", "dif/types.h", "libdtrace/api/include/dtrace.h"}
# For each subdirectory of tests/unit, the directory with the tested code.
TESTED = {"api": "libdtrace/api", "session": "libdtrace/session", "compile": "libdtrace/compile",
          "consume": "libdtrace/consume", "providers": "libdtrace/providers", "symbols": "libdtrace/symbols",
          "process": "process", "runtime": "ptrace-agent/runtime", "dif": "dif", "fasttrap": "fasttrap",
          "ptrace-agent": "ptrace-agent", "usdt": "usdt"}
# The tests of these directories may also include headers from the directories on the right.
FOR_TESTS = {"ptrace-agent/runtime": ("libdtrace/compile", "ptrace-agent/native")}
# Directories in which a file may include headers from all subdirectories.
WHOLE = {"libdtrace/compile"}

def room_of(path):
    """Returns the innermost room in ALLOWED that contains the path, or the first directory of the path."""
    folders = pathlib.PurePosixPath(path).parts[:-1]
    for n in range(len(folders), 0, -1):
        if "/".join(folders[:n]) in ALLOWED:
            return "/".join(folders[:n])
    return folders[0] if folders else ""

def is_inside(room, other):
    return room == other or room.startswith(other + "/")

def may_include(room, included):
    target = room_of(included)
    if target == room or included in PUBLISHED:
        return True
    if room in WHOLE and is_inside(target, room):
        return True
    below = ALLOWED[room]
    # A room that may include compile/ or symbols/ may also include their subdirectories.
    return target in below or any(target.startswith(whole + "/") and whole in below and not is_inside(room, whole)
                                  for whole in ("libdtrace/compile", "libdtrace/symbols"))

def main():
    files = subprocess.run(["git", "ls-files"], cwd=TREE, capture_output=True, text=True, check=True).stdout.split()
    wrong = n_includes = 0
    for name in files:
        room = room_of(name)
        under_test = name.startswith("tests/unit/") and name.count("/") > 2
        if under_test:
            room = TESTED[name.split("/")[2]]
        if not re.search(r"\.(c|h|S|cpp|hpp)$", name) or room not in ALLOWED:
            continue
        for number, line in enumerate((TREE / name).read_text().splitlines(), 1):
            found = re.match(r'#include "([^"]+/[^"]+)"', line)
            if not found or room_of(found[1]) not in ALLOWED:
                continue
            n_includes += 1
            target = room_of(found[1])
            if under_test and (is_inside(target, room) or target in FOR_TESTS.get(room, ())):
                continue
            if not may_include(room, found[1]):
                wrong += 1
                print(f"{name}:{number}: {room}/ may not include {found[1]}; ALLOWED in tests/layers.py lists "
                      f"what it may include")
    print(f"{n_includes} includes, {wrong} that point up")
    return 1 if wrong or n_includes < 1000 else 0

if __name__ == "__main__":
    sys.exit(main())
