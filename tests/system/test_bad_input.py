#!/usr/bin/env python3
"""Tests scripts that are huge, deeply nested, or not D at all. dtrace must compile or refuse them, in time and memory
proportional to the size of the script. SECONDS and BYTES are generous limits."""
import resource, subprocess

from harness import *

SECONDS, BYTES = 20, 3 << 30
MEGA = 1 << 20
DEEP = 100_000

def each(n, line):
    return "".join(line(i) for i in range(n))

def compiled(t, script):
    """Runs dtrace -e. Returns its status and the beginning of its stderr."""
    path = t.scratch / "bad.d"
    path.write_text(script, encoding="latin-1")
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    try:
        done = subprocess.run([t.dtrace, "-e", "-q", "-s", str(path)], capture_output=True,
                              timeout=SECONDS, preexec_fn=limit, cwd=t.scratch)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"compiling took more than {SECONDS} s: {script[:60]!r}...") from None
    return done.returncode, done.stderr.decode(errors="backslashreplace")[:4000]

def compiles(t, script):
    equal(compiled(t, script), (0, ""), f"{script[:60]!r}...")

def is_refused(t, script, why):
    status, said = compiled(t, script)
    equal(status, 1, f"status of {script[:60]!r}...: {said}")
    contains(said, why)

def long_scripts_compile(t):
    end = "BEGIN { exit(0); }"
    compiles(t, "/* comment */\n" * (MEGA // 2) + end)
    compiles(t, "/*" + "x" * 10 * MEGA + "*/" + end)
    compiles(t, " " * 10 * MEGA + "\n" * MEGA + end)
    compiles(t, 'BEGIN { trace("' + "s" * 10 * MEGA + '"); }')
    compiles(t, "#pragma D option quiet\n" * 100_000 + end)
    compiles(t, "int x; BEGIN {" + "x = x + 1;\n" * 50_000 + "}")
    compiles(t, "BEGIN {" + each(50_000, lambda i: f'trace("s{i}");') + "}")

def many_clauses_and_declarations_compile(t):
    n = 100_000
    compiles(t, each(n, lambda i: f"BEGIN {{ trace({i}); }}\n"))
    compiles(t, each(60_000, lambda i: f"BEGIN {{ v{i} = {i}; }}\n"))
    compiles(t, each(n, lambda i: f"BEGIN {{ @a{i} = count(); }}\n"))
    compiles(t, each(n, lambda i: f"inline int n{i} = {i};\n"))
    compiles(t, "typedef int t0;" + each(n, lambda i: f"typedef t{i} t{i + 1};\n") +
             f"BEGIN {{ trace(sizeof (t{n})); }}")
    compiles(t, "struct s {" + each(n, lambda i: f"int m{i};\n") + "}; struct s s;"
             f"BEGIN {{ trace(s.m{n - 1}); }}")
    compiles(t, "enum e {" + ",".join(f"e{i}" for i in range(n)) + "};"
             f"BEGIN {{ trace(e{n - 1}); }}")
    compiles(t, ",".join(["BEGIN"] * n) + "{ trace(1); }")
    compiles(t, "struct out { int a; };" + each(n, lambda i:
             f"struct in{i} {{ int b; }};\n"
             f"translator struct out < struct in{i} *p > {{ a = p->b; }};\n"))

def more_variables_than_identifiers_are_refused(t):
    is_refused(t, each(70_000, lambda i: f"BEGIN {{ v{i} = {i}; }}\n"),
               "too many variables: no variable id is left for")

def deep_nesting_is_refused(t):
    for begin, middle, end in (("(", "1", ")"), ("!", "1", ""), ("(int)", "1", ""),
                               ("1 ? ", "1", ": 2"), ("x ? 1 : ", "1", ""), ("x = ", "1", ""),
                               ("1 + ", "1", ""), ("sizeof (", "1", ")"),
                               ('strjoin("a", ', '"b"', ")"), ("x[", "1", "]")):
        is_refused(t, f"int x; BEGIN {{ trace({begin * DEEP}{middle}{end * DEEP}); }}", "nested")
    for declaration in ("int " + "*" * DEEP + "p;", "int a" + "[1]" * DEEP + ";",
                        "int " + "(" * DEEP + "p" + ")" * DEEP + ";",
                        "int " + "(*" * DEEP + "f" + ")(int)" * DEEP + ";",
                        each(DEEP, lambda i: f"struct s{i} {{") + "int a;" +
                        each(DEEP, lambda i: f"}} x{i};"),
                        "inline int n = " + "(" * DEEP + "1" + ")" * DEEP + ";"):
        is_refused(t, declaration + "BEGIN { exit(0); }", "nested")
    is_refused(t, "BEGIN { " + "if (1) { " * DEEP + "trace(1);" + "}" * DEEP + " }", "nested")
    is_refused(t, "BEGIN { " + each(20_000, lambda i: f"if (arg0 == {i}) {{ }} else ") +
               "{ } }", "nested")

def inlines_that_double_repeatedly_are_refused(t):
    is_refused(t, "int x; inline int n0 = x;" +
               each(60, lambda i: f"inline int n{i + 1} = n{i} + n{i};\n") +
               "BEGIN { trace(n60); }", "expand to more than")

def text_that_is_no_program_is_refused(t):
    is_refused(t, "/*" * MEGA, "comment")
    is_refused(t, 'BEGIN { trace("' + "a" * 5 * MEGA, "end-of-file")
    is_refused(t, "{" * MEGA, "syntax error")
    is_refused(t, "\x01\xff@#$%^&" * MEGA, "syntax error")
    is_refused(t, "BEGIN { trace(" + "9" * 5 * MEGA + "); }", "constant 999")
    is_refused(t, "x" * 5 * MEGA + ":::{ exit(0); }", "probe description")
    is_refused(t, "BEGIN { trace(" + "y" * 5 * MEGA + "); }", "failed to resolve yyy")
    is_refused(t, 'BEGIN { printf("' + "%d" * DEEP + '"); }', "prototype mismatch")

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
