#!/usr/bin/env python3
"""Checks the rules of docs/style.md that a program can check. Prints each violation with its location.

    tests/style.py [CHECK...]    the names of the check_ functions below, without this prefix; default: all"""
import collections, io, os, pathlib, re, subprocess, sys, tokenize

TREE = pathlib.Path(__file__).resolve().parent.parent
# The last commit before these checks existed. Commits up to this one are not checked.
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
    """Yields each C++ file and the directory whose CMakeLists.txt compiles it. With CMAKE_UNITY_BUILD, the files of
    such a directory are compiled together. Omits directories in which each file is a program."""
    for name in sources(r"\.cpp$"):
        folder = pathlib.PurePosixPath(name).parent
        while not (TREE / folder / "CMakeLists.txt").exists():
            folder = folder.parent
        if folder.parts[0] not in ("bench", "cmd") and folder.parts[:2] not in (("tests", "victims"), ("tests", "kmod")):
            yield name, str(folder)

def check_local_names():
    """No two files of a directory define the same file-local name, so that they can be compiled together."""
    places = collections.defaultdict(dict)
    for name, folder in merged_folders():
        text = (TREE / name).read_text()
        local = "\n".join(re.findall(r"^namespace \{\n(.*?)^\} // namespace$", text, re.S | re.M))
        local += "\n" + "\n".join(line[7:] for line in text.splitlines() if line.startswith("static "))
        for line in local.splitlines():
            found = DECLARED.match(line)
            if not found:
                continue
            # Functions of the same name with different parameters do not conflict.
            key = found["type"] or (line if found["then"] == "(" else found["name"])
            places[folder, key].setdefault(name, line.strip())
    return [f"{', '.join(sorted(where))}: all have the file-local name {key!r}; merged compilation needs different ones"
            for (_, key), where in places.items() if len(where) > 1]

MAX_METHODS = 60
MAX_CLASS_FILES = 4
MAX_FOLDER_FILES = 55
# Classes that may be larger, with the reason.
LARGE_CLASSES = {
    "Checker": "one method for each kind of expression, statement and clause",
    "Parser": "one method for each rule of the grammar",
}
# Folders that may have more files, with the reason. An entry also applies to the folders below it.
LARGE_FOLDERS = {
    "tests/d": "one program for each case, next to its expected output; a folder is a topic of D",
    "tests/victims": "one program for each case; tests name them without a folder",
    "tests/system": "one suite for each subject; ./check runs test_*.py",
}
CLASS_HEAD = re.compile(r"\b(?:class|struct)\s+(?:\[\[.*?\]\]\s*)?(?P<name>\w+(?:::\w+)*)\s*(?:final\s*)?(?::(?!:)[^()]*)?$")
NO_METHOD = re.compile(r"\s*,|\s*(?:using|typedef|friend|static_assert|enum|return)\b|.*=\s*(?:default|delete)\s*$", re.S)
DEFINED = re.compile(r"^(?![ \t#}])[^\n;={(]*?(?P<name>\w+(?:::\w+)*)::~?(?:\w+|operator[^\w\n]+)\s*\(", re.M)

def code_of(name):
    """Returns the text of a C++ file without comments, strings, preprocessor lines and template arguments."""
    text = re.sub(r"""//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)'|"(?:[^"\\\n]|\\.)*"|^\s*#(?:[^\\\n]|\\.|\\\n)*""",
                  lambda found: "\n" * found[0].count("\n"), (TREE / name).read_text(), flags=re.S | re.M)
    before = None
    while text != before: # each round removes the innermost level of nested template arguments
        before, text = text, re.sub(r"(?<=[\w\s])<[\w\s:*&,.()\[\]]*>", "", text)
    return text

def is_method(head):
    """Returns whether a declaration in the body of a class declares or defines a method."""
    head = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", "", head)
    before, paren, after = head.partition("(")
    return bool(paren) and not NO_METHOD.match(head) and "=" not in before.replace("operator", "").strip("=!<> ") and \
        not after.startswith("*") and re.search(r"\w\s*$|operator\s*\W*$", before) is not None

def methods_in(text):
    """Yields the name of the class for each method that a class body declares, except defaulted and deleted
    methods."""
    scopes, head, parens = [], "", 0
    for token in re.findall(r"[{};()]|[^{};()]+", text):
        if token in "()":
            parens += 1 if token == "(" else -1
            head += token
        elif parens > 0 and token in "{};":
            # A brace among parameters belongs to a default argument or to a lambda.
            head += " "
        elif token in "{;":
            if scopes and scopes[-1] and is_method(head):
                yield scopes[-1]
            if token == "{":
                found = CLASS_HEAD.search(head)
                outer = scopes[-1] if scopes and scopes[-1] else ""
                scopes.append((outer + "::" if outer else "") + found["name"] if found else "")
            head = ""
        elif token == "}":
            scopes = scopes[:-1]
            head = ""
        else:
            head += token

def class_sizes():
    """Returns two dictionaries whose keys are pairs (part of the tree, class). The first contains the number of
    methods, and the second the .cpp files that implement the class."""
    n_methods, files = collections.Counter(), collections.defaultdict(set)
    for name in sources(r"\.(?:cpp|hpp)$"):
        parts = pathlib.PurePosixPath(name).parts
        part = "/".join(parts[:{"libdtrace": 2, "tests": 3}.get(parts[0], 1)])
        text = code_of(name)
        n_methods.update((part, each) for each in methods_in(text))
        if name.endswith(".cpp"):
            for found in DEFINED.finditer(text):
                files[part, found["name"]].add(name)
    return n_methods, files

def check_class_sizes():
    """No class has more than 60 methods, or is implemented in more than four .cpp files."""
    n_methods, files = class_sizes()
    small = lambda key: key[1] not in LARGE_CLASSES
    return [f"{part}: class {name} has {n} methods, {MAX_METHODS} at most; give its second purpose a class of "
            f"its own" for (part, name), n in sorted(n_methods.items()) if n > MAX_METHODS and small((part, name))] + \
           [f"{part}: class {name} is implemented in {len(where)} files, {MAX_CLASS_FILES} at most; give its second "
            f"purpose a class of its own: {', '.join(sorted(where))}"
            for (part, name), where in sorted(files.items()) if len(where) > MAX_CLASS_FILES and small((part, name))]

def check_folder_sizes():
    """No folder has more than 55 files directly in it."""
    n_files = collections.Counter(str(pathlib.PurePosixPath(name).parent) for name in git("ls-files").splitlines())
    return [f"{folder}: {n} files, {MAX_FOLDER_FILES} at most; move the files of one subject to a folder of their own"
            for folder, n in sorted(n_files.items()) if n > MAX_FOLDER_FILES and
            not any(folder == large or folder.startswith(large + "/") for large in LARGE_FOLDERS)]

# Words from the table in docs/style.md, as regular expressions, and what to write instead. A word in STRICT is always
# wrong. A word in LIMITED also has correct uses, so its uses are only counted.
STRICT = {
    r"anew": "again, or recreated", r"for ever": "forever", r"in vain": "without success", r"likewise": "also",
    r"(?:to|can) be had": "available", r"asked for": "requested", r"beside": "next to",
    r"(?:is|are|was|were) gone": "has exited, has been removed", r"let(?:s|ting)? go of": "detaches from, releases",
    r"memory ahead": "prefault", r"who rang": "doorbell", r"(?:goes|go|went|going) on": "continues",
    r"(?:is|are|be|was) met": "encountered",
}
LIMITED = {
    r"told|tells?": "reported, reports", r"seen": "found, observed", r"stands?": "is, is located", r"lies": "is, is located",
    r"had|got": "obtained", r"behind": "after", r"out of": "from", r"whole": "entire", r"(?:is|are) none": "does not exist",
    r"who|whom|whose|whoever|(?:some|no|every)body": "name the thing", r"(?:comes|come|came) to": "reaches", r"others": "other processes, other probes",
}
# How many words of LIMITED each top-level directory may contain. Lower a number if words are removed, and never raise a
# number.
LIMITS = {".": 4, "abi": 1, "base": 5, "bench": 9, "cmd": 23, "dif": 41, "docs": 31, "fasttrap": 56, "kmod": 25,
          "libdtrace": 149, "process": 2, "ptrace-agent": 32, "tests": 142, "usdt": 19}

def texts_of(name):
    """Yields the comments, documents and messages in a file, as pairs of a line number and a text."""
    text = (TREE / name).read_text()
    if name.endswith((".md", ".1")):
        text = re.sub(r"(?ms)^\.(?:nf|EX)$.*?^\.(?:fi|EE)$|^```.*?^```|^    .*?$|`[^`\n]*`", lambda m: "\n" * m[0].count("\n"), text)
        return list(enumerate(text.splitlines(), 1))
    if name.endswith(".py"):
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        layout = (tokenize.INDENT, tokenize.NEWLINE, tokenize.NL, tokenize.DEDENT)
        # A string at the beginning of a line is a docstring; other strings belong to the code.
        chosen = [token for before, token in zip([tokens[0], *tokens], tokens) if token.type == tokenize.COMMENT or
                  token.type == tokenize.STRING and (before.type in layout or before is token)]
        return [(token.start[0] + i, line) for token in chosen for i, line in enumerate(token.string.split("\n"))]
    if "." not in pathlib.PurePosixPath(name).name:
        return [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith("#")]
    # A string is a message if it contains a space. Character constants also match, so that '"' does not start a string.
    found = re.finditer(r"""(?s)//([^\n]*)|/\*(.*?)\*/|'(?:[^'\\\n]|\\.)+'|"((?:[^"\\\n]|\\.)*)\"""", text)
    pairs = []
    for match in found:
        part = next((group for group in match.groups() if group), "")
        if match.lastindex == 3 and (" " not in part or name.startswith(("tests/", "bench/"))):
            continue
        first = text.count("\n", 0, match.start(match.lastindex or 0)) + 1
        pairs += [(first + i, line) for i, line in enumerate(part.split("\n"))]
    return pairs

def check_words():
    """Comments, documents and messages contain none of the words that docs/style.md replaces."""
    found, n_limited = [], collections.Counter()
    for name in sources(r"\.(?:c|h|S|cpp|hpp|md|1|py)$|^check$"):
        folder = name.split("/")[0] if "/" in name else "."
        if name in ("docs/style.md", "tests/style.py"):
            continue
        for line, text in texts_of(name):
            for word, instead in STRICT.items():
                if match := re.search(rf"(?<![\w`(-])(?:{word})(?![\w`(-])", text, re.I):
                    found.append(f"{name}:{line}: {match[0]!r}; write: {instead}: {text.strip()}")
            n_limited[folder] += sum(len(re.findall(rf"(?<![\w`(-])(?:{word})(?![\w`(-])", text, re.I)) for word in LIMITED)
    for folder, n in sorted(n_limited.items()):
        if n > LIMITS.get(folder, 0):
            found.append(f"{folder}: {n} words of LIMITED in tests/style.py, {LIMITS.get(folder, 0)} at most; "
                         f"write another word in the new text")
    return found

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
