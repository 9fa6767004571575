#!/usr/bin/env python3
"""Tests that dtrace escapes control characters in text from a target. dtrace always escapes names, such as probefunc.
It escapes strings, such as the result of copyinstr(), only on a terminal."""
import os, pty, subprocess

from harness import *

SOURCE = r"""
#include <stdio.h>
__attribute__((noinline)) int sym_ESCAPE_bol(const char *text) { __asm__ volatile(""); return text[0]; }
int main(void)
{
    return sym_ESCAPE_bol("\303\244 \033[31mred\007 \302\2332J \377 tab\t.") == 0;
}
"""
SYMBOL, EVIL = b"sym_ESCAPE_bol", b"sym_\x1b]0;pw\x07bol"
SHOWN = r"sym_\033]0;pw\007bol"
NAMED = r"n\033]0;x\007\302\233e" # the program's own name

def target(t, name="n\x1b]0;x\x07\u009be"):
    need("gcc")
    out = t.scratch / name
    if not out.exists():
        subprocess.run(["gcc", "-O1", "-g0", "-xc", "-", "-o", str(out)], input=SOURCE.encode(),
                       check=True)
        data = out.read_bytes()
        assert data.count(SYMBOL) >= 1 and len(SYMBOL) == len(EVIL)
        out.write_bytes(data.replace(SYMBOL, EVIL))
    return str(out)

def on_a_terminal(t, *flags):
    """Runs dtrace with stdout and stderr on a terminal. Returns the text on the terminal."""
    ours, theirs = pty.openpty()
    with held(subprocess.Popen([t.dtrace, *flags], stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=theirs, cwd=t.scratch)) as running:
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError: # EIO: the other end was closed
            pass
        equal(running.wait(timeout=60), 0, text)
    os.close(ours)
    return text.replace(b"\r\n", b"\n")

def has_no_controls(text):
    text = text.encode() if isinstance(text, str) else text
    found = [c for c in text if (c < 0x20 and c not in b"\n\t") or c == 0x7f]
    equal(found, [], f"control characters in {text!r}")
    if b"\xc2\x9b" in text or b"\xff" in text:
        raise AssertionError(f"C1 control characters or invalid UTF-8 in {text!r}")

def names_are_escaped_in_all_kinds_of_output(t):
    program = 'pid$target:a.out:sym_*:entry { trace(probefunc); printf("|%s|%s|", execname, probefunc); ' \
              'ustack(1); @[probefunc, execname] = count(); }'
    done = t.run("-n", program, "-c", target(t))
    equal(done.returncode, 0, done.stderr)
    has_no_controls(done.stdout)
    for part in (f"{SHOWN}:entry", f"|{NAMED}|{SHOWN}|", f"{NAMED}`{SHOWN}\n"):
        contains(done.stdout, part)
    equal(done.stdout.count(SHOWN), 5, done.stdout)

def lists_and_messages_are_escaped(t):
    listed = t.run("-ln", "pid$target:a.out:sym_*:", "-c", target(t))
    has_no_controls(listed.stdout)
    contains(listed.stdout, f" {SHOWN} entry\n")
    flow = t.run("-Fn", "pid$target:a.out:sym_*:entry,pid$target:a.out:sym_*:return { }", "-c", target(t))
    has_no_controls(flow.stdout)
    contains(flow.stdout, f"-> {SHOWN}")
    fault = t.run("-n", "pid$target:a.out:sym_*:entry { trace(*(int *)8); }", "-c", target(t))
    has_no_controls(fault.stderr)
    contains(fault.stderr, f":{SHOWN}:entry): invalid address")

TYPES = r"""
enum colour_ESCAPE_e { GREEN_ESCAPE_n = 7 };
struct type_ESCAPE_t { enum colour_ESCAPE_e member_ESCAPE_m; };
__attribute__((noinline)) int look(struct type_ESCAPE_t *at) { __asm__ volatile(""); return at->member_ESCAPE_m; }
int main(void) { struct type_ESCAPE_t one = {GREEN_ESCAPE_n}; return look(&one) != 7; }
"""

def names_of_types_are_escaped(t):
    need("gcc")
    out = t.scratch / "typed"
    subprocess.run(["gcc", "-O1", "-g", "-xc", "-", "-o", str(out)], input=TYPES.encode(), check=True)
    out.write_bytes(out.read_bytes().replace(b"ESCAPE", b"\x1b]0;x\x07"))
    done = t.run("-qn", "pid$target:a.out:look:entry { print(*args[0]); }", "-c", str(out))
    equal(done.returncode, 0, done.stderr)
    has_no_controls(done.stdout)
    for part in ("struct type_", "enum colour_", " member_", "= GREEN_"):
        contains(done.stdout, part + r"\033]0;x\007_")

STRING = 'pid$target:a.out:sym_*:entry { this->s = copyinstr(arg0); printf("[%s] %c", this->s, this->s[3]); }'

def strings_are_escaped_only_on_a_terminal(t):
    text = on_a_terminal(t, "-qn", STRING, "-c", target(t))
    has_no_controls(text)
    contains(text.decode(), "[\u00e4 \\033[31mred\\007 \\302\\2332J \\377 tab\t.] \\033")
    done = subprocess.run([t.dtrace, "-qn", STRING, "-c", target(t)], capture_output=True, timeout=120)
    contains(done.stdout.decode("latin-1"), "[\xc3\xa4 \x1b[31mred\x07 \xc2\x9b2J \xff tab\t.] \x1b")

def strings_are_escaped_in_pieces(t):
    text = on_a_terminal(t, "-Bqn", STRING, "-c", target(t))
    has_no_controls(text)
    contains(text.decode(), "\\033[31mred\\007")

def text_of_the_d_program_itself_is_not_escaped(t):
    text = on_a_terminal(t, "-qn", r'BEGIN { printf("\033[1m%s\033[0m", "\033[4mown"); exit(0); }')
    contains(text.decode(), "\033[1m\033[4mown\033[0m")

def names_of_commands_and_files_are_not_changed(t):
    done = t.run("-wqn", 'pid$target:a.out:sym_*:entry { system("printf %%s \'%s\'", probefunc); exit(0); }',
                 "-c", target(t))
    contains(done.stdout, EVIL.decode())

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
