#!/usr/bin/python3
"""Finds functions that are declared and never defined, and functions that only tests use.

    tests/unused.py [--build build/release]    the directory of a configured and built tree"""
import argparse, collections, json, multiprocessing, pathlib, re, shlex, subprocess, sys

from clang import cindex
from clang.cindex import CursorKind as Kind

TREE = pathlib.Path(__file__).resolve().parent.parent
# Directories of the product. Calls from other directories are ignored.
PRODUCT = ("abi", "base", "bench", "cmd", "dif", "fasttrap", "kmod", "libdtrace", "process", "ptrace-agent", "usdt")
# Directories whose functions are called by programs outside the tree.
PUBLISHED = ("libdtrace/api/include/", "usdt/include/", "usdt/library/", "usdt/python/")
# Functions that are used without a call in the syntax tree.
EXCEPTIONS = {
    "begin": "range-based for loops call it",
    "end": "range-based for loops call it",
    "dt_rt_offsets": "the build reads the constants in its machine code",
}
FUNCTIONS = {Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.FUNCTION_TEMPLATE, Kind.CONSTRUCTOR}


def path_in_product(cursor):
    """Returns the path of the cursor's file below TREE if the file is in a directory of PRODUCT, otherwise None."""
    file = cursor.location.file
    if not file or not file.name.startswith(f"{TREE}/"):
        return None
    path = file.name[len(f"{TREE}/"):]
    return path if path.split("/")[0] in PRODUCT else None


def usr_of(function):
    """Returns clang's USR of a function: a name as unique as a linker symbol, but without template arguments."""
    template = cindex.conf.lib.clang_getSpecializedCursorTemplate(function)
    return (template or function).get_usr()


class Findings:
    """The part of the call graph that one compilation contributes."""

    def __init__(self):
        # Maps a USR to (place, name). A static function in a header has different USRs in C and C++.
        self.declared = {}
        self.defined = set()
        # Maps the USR of a caller to the USRs of the called functions. The USR is "" for calls outside functions.
        self.calls = collections.defaultdict(set)
        self.roots = set()
        self.unresolved = set()  # names that clang can resolve only in an instance of a template

    def visit(self, cursor, caller):
        for child in cursor.get_children():
            inside = caller
            if child.kind in FUNCTIONS:
                inside = self.declare(child) or caller
            elif child.kind == Kind.DESTRUCTOR:
                inside = ""
            elif child.kind.is_expression() or child.kind.is_reference():
                self.refer(child, caller)
            self.visit(child, inside)

    def declare(self, function):
        usr, path = usr_of(function), path_in_product(function)
        if not path:
            return usr
        name = function.spelling.split("<")[0]
        self.declared.setdefault(usr, (f"{path}:{function.location.line}", name))
        deleted = function.availability == cindex.AvailabilityKind.NOT_AVAILABLE
        if deleted or function.is_definition() or function.is_pure_virtual_method() or function.is_default_method():
            self.defined.add(usr)
        if (function.is_virtual_method() or name == "main" or path.startswith(PUBLISHED) or
                name.startswith("operator") or function.kind == Kind.CONSTRUCTOR):
            self.roots.add(usr)
        return usr

    def refer(self, cursor, caller):
        target = cursor.referenced
        if target is None or target.kind == Kind.OVERLOADED_DECL_REF:
            self.unresolved.add(cursor.spelling)
        elif target.kind in FUNCTIONS:
            self.calls[caller].add(usr_of(target))
        elif cursor.kind == Kind.OVERLOADED_DECL_REF:
            self.unresolved.add(cursor.spelling)


def parse(command):
    """Parses one compilation, and returns its Findings or the error that clang reports."""
    words = shlex.split(command["command"].replace("-isystem ", "-isystem"))
    words = [word for word in words if re.match(r"-(I|D|std=|isystem|m)", word)]
    unit = cindex.Index.create().parse(command["file"], words)
    for found in unit.diagnostics:
        if found.severity == cindex.Diagnostic.Fatal:
            return str(found)
    sys.setrecursionlimit(20000)
    findings = Findings()
    for top in unit.cursor.get_children():
        if path_in_product(top):
            # visit() looks only at the children of its cursor, so declare the top-level function here.
            inside = findings.declare(top) if top.kind in FUNCTIONS else ""
            findings.visit(top, inside)
    for found in unit.diagnostics:
        # clang 14 rejects some uses of libstdc++'s views and omits the statements that contain them. So every name in a
        # file with such an error counts as used.
        if found.severity == cindex.Diagnostic.Error and path_in_product(found):
            findings.unresolved |= set(re.findall(r"\w+", pathlib.Path(found.location.file.name).read_text()))
    return findings


def commands_of(build):
    """Returns one compile command for each file of the product."""
    database = json.loads(subprocess.run(["ninja", "-C", build, "-t", "compdb"], capture_output=True, text=True,
                                         check=True).stdout)
    found = {}
    for entry in database:
        folder = re.sub(rf"^{TREE}/(build/\w+/)?", "", entry["file"]).split("/")[0]
        if folder in PRODUCT and re.search(r"\.(c|cpp|cxx)$", entry["file"]):
            found.setdefault(entry["file"], entry)
    return list(found.values())


def words_of_other_sources():
    """Returns the identifiers in files that clang does not parse: the kernel module and assembly."""
    names = subprocess.run(["git", "ls-files"], cwd=TREE, capture_output=True, text=True).stdout.split()
    texts = [(TREE / name).read_text() for name in names if re.match(r"kmod/.*\.[ch]$|(?!tests/|bench/).*\.S$", name)]
    return set(re.findall(r"\w+", "\n".join(texts)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(TREE / "build/release"))
    with multiprocessing.Pool() as pool:
        parsed = pool.map(parse, commands_of(parser.parse_args().build), chunksize=1)
    declared, defined, roots, unresolved = {}, set(), set(), words_of_other_sources() | set(EXCEPTIONS)
    calls = collections.defaultdict(set)
    for findings in parsed:
        if isinstance(findings, str):
            sys.exit(f"unused: {findings}")
        for usr, place in findings.declared.items():
            declared.setdefault(usr, place)
        defined |= findings.defined
        roots |= findings.roots
        unresolved |= findings.unresolved
        for caller, targets in findings.calls.items():
            calls[caller] |= targets
    todo = [""] + [usr for usr, (_, name) in declared.items() if usr in roots or name in unresolved]
    reached = set(todo)
    while todo:
        new = calls[todo.pop()] - reached
        reached |= new
        todo += new
    by_place = collections.defaultdict(set)
    for usr, place in declared.items():
        by_place[place].add(usr)
    wrong = 0
    for (place, name), usrs in sorted(by_place.items()):
        is_own = ".h" in place  # A source file may declare a function that another library defines.
        problem = ("is declared and never defined" if is_own and not usrs & defined and name not in unresolved else
                   "is called by no program, library or benchmark" if not usrs & reached else None)
        if problem:
            wrong += 1
            print(f"{place}: {name}() {problem}; delete it, with its tests")
    print(f"{len(declared)} functions, {wrong} without a use")
    return 1 if wrong or len(declared) < 3000 else 0


if __name__ == "__main__":
    sys.exit(main())
