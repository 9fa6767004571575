#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the documents agree with the tree.

  - Each relative link in a Markdown file leads to a file.
  - No two rows of docs/faults.md have the same id. Each id at the beginning of a test's docstring has a row there.
  - The suites, their tests, the GoogleTest names and the fuzzers that docs/faults.md names exist.

Prints each difference, and exits with 1 if there is one.
"""
import pathlib, re, sys

TREE = pathlib.Path(__file__).resolve().parent.parent
ID = r"[A-P]-?\d+[a-z]?"

def links():
    """Yields a message for each relative link to a file that does not exist."""
    skipped = {"build", ".git"}
    for page in TREE.rglob("*.md"):
        if skipped & set(page.relative_to(TREE).parts):
            continue
        for link in re.findall(r"\]\(([^)#:\s]+)\)", page.read_text()):
            if not (page.parent / link).exists():
                yield f"{page.relative_to(TREE)}: the link {link} leads nowhere"

def cited_ids():
    """Returns a dictionary from each id at the beginning of a test's docstring to the name of the test's file."""
    ids = {}
    for test in (TREE / "tests").rglob("*.py"):
        for cited in re.findall(rf'"""((?:{ID})(?:(?:, | to ){ID})*)(?=[:."])', test.read_text()):
            ids.update(dict.fromkeys(re.findall(ID, cited), test.name))
    return ids

def unit_tests():
    """Returns the names of all GoogleTest tests, as Suite.Name."""
    names = set()
    for test in (TREE / "tests").rglob("*.cpp"):
        names.update(".".join(name) for name in re.findall(r"^TEST\w*\((\w+),\s*(\w+)", test.read_text(), re.M))
    return names

def catalogue():
    """Yields a message for each difference between docs/faults.md and the tests."""
    text = (TREE / "docs/faults.md").read_text()
    ids = re.findall(rf"^\| ({ID}) \|", text, re.M)
    for number in sorted(set(ids)):
        if ids.count(number) > 1:
            yield f"docs/faults.md: {number} has {ids.count(number)} rows"
    for number, name in sorted(cited_ids().items()):
        if number not in ids:
            yield f"docs/faults.md: {number}, which {name} names, has no row"
    units = unit_tests()
    suites = {name.partition(".")[0] for name in units}
    for suite, name in sorted(set(re.findall(r"`([A-Z]\w+)\.(\*|[A-Z]\w+)`", text))):
        if (suite not in suites) if name == "*" else (f"{suite}.{name}" not in units):
            yield f"docs/faults.md: no test is called {suite}.{name}"
    for suite in sorted(set(re.findall(r"`(test_\w+)`", text))):
        if not (TREE / f"tests/system/{suite}.py").exists():
            yield f"docs/faults.md: no suite is called {suite}"
    for fuzzer in sorted(set(re.findall(r"`(\w+_fuzz)`", text))):
        if not list((TREE / "tests/fuzz").rglob(f"{fuzzer}.cpp")):
            yield f"docs/faults.md: no fuzzer is called {fuzzer}"
    functions = {path.stem: set(re.findall(r"^def (\w+)\(", path.read_text(), re.M))
                 for path in (TREE / "tests/system").glob("test_*.py")}
    for suite, names in re.findall(r"`(test_\w+)`: ((?:`\w+`(?: \([^)]*\))?(?:, |(?= ))?)+)", text):
        for name in re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", names)):
            if not name.startswith("test_") and name not in functions.get(suite, ()):
                yield f"docs/faults.md: {suite} has no test called {name}"

differences = [*links(), *catalogue()]
print("\n".join(differences) or "the documents agree with the tree")
sys.exit(bool(differences))
