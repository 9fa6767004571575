#!/usr/bin/env python3
"""What a machine can see of docs/style.md: clang-format's layout, file-local names that two files
of one merged compilation share, and the subjects of commits. Prints each violation with its place.

    tests/style.py [CHECK...]    names of functions below without check_; all if there is none"""
import collections, os, pathlib, re, subprocess, sys

TREE = pathlib.Path(__file__).resolve().parent.parent
# The commit before these checks existed. Older subjects are as they are.
FIRST_CHECKED = "657f32c"
MAX_SUBJECT = 72

def git(*words):
    return subprocess.run(["git", *words], cwd=TREE, capture_output=True, text=True).stdout

def sources(pattern):
    return [name for name in git("ls-files").split() if re.search(pattern, name)]

def check_subjects():
    """Commit subjects have at most 72 columns."""
    return [f"commit {line[:10]}: its subject has {len(line) - 11} columns, {MAX_SUBJECT} at most: {line[11:]}"
            for line in git("log", "--no-merges", "--format=%h %s", "--abbrev=10", f"{FIRST_CHECKED}..HEAD").splitlines()
            if len(line) - 11 > MAX_SUBJECT]

def check_layout():
    """clang-format has nothing to change in C++ files."""
    names = sources(r"\.(cpp|hpp)$")
    done = subprocess.run(["clang-format", "--dry-run", "--ferror-limit=1", *names], cwd=TREE,
                          capture_output=True, text=True)
    return [f"{found}: clang-format would change this; run clang-format -i on the file"
            for found in sorted(set(re.findall(r"^(\S+:\d+):\d+: warning", done.stderr, re.M)))]

DECLARED = re.compile(
    r"(?:template ?<.*> )?(?:struct|class|enum class|enum|using) (?P<type>\w+)(?: \{| =|:| :|$)|"
    r"(?:\[\[\w+\]\] )?(?!return\b|else\b|using\b|case\b|public\b|private\b|struct\b|class\b|enum\b|template\b|TEST)"
    r"[A-Za-z_][\w:<>,&* ]*?[\s&*](?P<name>\w+)\s*(?P<then>[(={\[;])")

def merged_folders():
    """Each C++ file with the folder whose CMakeLists.txt compiles it, which may merge it with its neighbours.
    Folders of programs have one file for each program, so they merge nothing."""
    for name in sources(r"\.cpp$"):
        folder = pathlib.PurePosixPath(name).parent
        while not (TREE / folder / "CMakeLists.txt").exists():
            folder = folder.parent
        if folder.parts[0] not in ("bench", "cmd") and folder.parts[:2] not in (("tests", "victims"), ("tests", "kmod")):
            yield name, str(folder)

def check_local_names():
    """No two files of a folder have a file-local name in common, so that they can be compiled together."""
    places = collections.defaultdict(dict)
    for name, folder in merged_folders():
        text = (TREE / name).read_text()
        local = "\n".join(re.findall(r"^namespace \{\n(.*?)^\} // namespace$", text, re.S | re.M))
        local += "\n" + "\n".join(line[7:] for line in text.splitlines() if line.startswith("static "))
        for line in local.splitlines():
            found = DECLARED.match(line)
            if not found:
                continue
            # Functions of one name and other parameters do not clash.
            key = found["type"] or (line if found["then"] == "(" else found["name"])
            places[folder, key].setdefault(name, line.strip())
    return [f"{', '.join(sorted(where))}: all have the file-local name {key!r}; merged compilation needs different ones"
            for (_, key), where in places.items() if len(where) > 1]

def main():
    checks = {name.removeprefix("check_"): function for name, function in globals().items()
              if name.startswith("check_")}
    wrong = 0
    for name in sys.argv[1:] or checks:
        found = checks[name]()
        wrong += len(found)
        print(f"{name}: {len(found)} wrong. {checks[name].__doc__}", *found, sep="\n    ")
    return 1 if wrong else 0

if __name__ == "__main__":
    sys.exit(main())
