#!/usr/bin/env python3
"""Tests hostile files. A target chooses which files it maps, their contents, and which files later replace them. dtrace
opens only mapped files and files in the debug directories. It opens no FIFOs or devices, and checks every offset."""
import os, pathlib, shutil, signal, struct, subprocess

from harness import *
from traced import ready, released

SOURCE = r"""
#include <stdio.h>
#include <unistd.h>
struct pair { int first, second; };
__attribute__((noinline)) int work(struct pair* p) { return p->first + p->second; }
__attribute__((noinline)) int outer(struct pair* p) { return work(p) * 2; }
int main(void)
{
    char c;
    int sum = 0;
    puts("ready");
    fflush(stdout);
    while (read(0, &c, 1) == 1)
        sum += outer(&(struct pair){c, 1});
    return sum == 0;
}
"""

def built(t, name, *flags):
    need("gcc")
    folder = t.scratch / name
    folder.mkdir(exist_ok=True)
    (folder / "target.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O1", *flags, "-o", "target", "target.c"], cwd=folder, check=True)
    return folder / "target"

def crafted(program):
    """Returns a copy of the program in which the offset of the program headers is far past the end of the file."""
    data = bytearray(program.read_bytes())
    struct.pack_into("<Q", data, 32, 1 << 45)
    return bytes(data)

def stacks_do_not_need_files_that_the_target_chooses(t):
    original = built(t, "mapped").read_bytes()
    t.scratch.chmod(0o755)
    hostile = as_nobody() if os.geteuid() == 0 else []
    for kind in ("crafted", "fifo", "device"):
        for mechanism in ("int3", "jump"):
            path = t.scratch / f"{kind}-{mechanism}"
            path.write_bytes(original)
            path.chmod(0o755)
            innocent = subprocess.Popen([t.victim("waiter"), "1"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
            target = subprocess.Popen([*hostile, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            with held(target), held(innocent):
                target.stdout.readline()
                ready(innocent)
                bad = crafted(path)
                path.unlink()
                # /proc/PID/maps now reports the path with " (deleted)" after it.
                for name in (path, path.with_name(path.name + " (deleted)")):
                    if kind == "crafted":
                        name.write_bytes(bad)
                    elif kind == "fifo":
                        os.mkfifo(name)
                    else:
                        name.symlink_to("/dev/ptmx")
                dtrace = t.start("-qn", "BEGIN { trace(\"begun\\n\"); } "
                                 f"pid{target.pid}:a.out:work:entry {{ @[ustack(3)] = count(); }} "
                                 f"pid{innocent.pid}:a.out:work:entry {{ @n = count(); }}",
                                 "-x", f"mechanism={mechanism}", "-p", str(target.pid), "-p", str(innocent.pid))
                with held(dtrace):
                    equal(dtrace.stdout.readline(), "begun\n", kind)
                    target.stdin.write(b"x" * 10)
                    target.stdin.close()
                    target.stdin = None
                    target.wait(timeout=60)
                    dtrace.send_signal(signal.SIGINT)
                    out, errors = dtrace.communicate(timeout=60)
                equal((target.returncode, dtrace.returncode, errors), (0, 0, ""), kind)
                words = out.split()
                equal([w.split("`")[-1].split("+")[0] for w in words[:-1]], ["work", "outer", "main", "10"],
                      f"{kind}, {mechanism}: {out}")
                equal(int(words[-1]) > 0, True, "calls of the innocent target")
                released(innocent.pid)
                innocent.communicate(timeout=20)
                equal(innocent.returncode, 0, "the innocent target's exit status")

MEMBERS = "pid$target:a.out:work:entry { @ = sum(args[0]->second); }"

def members(t, program, *flags):
    return t.run("-qn", MEMBERS, *flags, "-c", str(program), stdin="xxx", timeout=60)

def split_debug_data_is_read_only_from_debug_folders(t):
    program = built(t, "split", "-g", "-gsplit-dwarf")
    pieces = list(program.parent.glob("*.dwo"))
    equal(len(pieces), 1, "files of debug data")
    done = members(t, program)
    equal(done.returncode, 1, done.stdout)
    contains(done.stderr, "args[0]")
    done = members(t, program, "-x", f"debugdir=/nowhere:{program.parent}")
    equal((done.returncode, done.stdout.split()[-1]), (0, "3"), done.stderr)
    pieces[0].unlink()
    os.mkfifo(pieces[0])
    for flags in ((), ("-x", f"debugdir={program.parent}")):
        equal(members(t, program, *flags).returncode, 1, flags)

def an_alternate_debug_file_is_read_only_from_debug_folders(t):
    need("objcopy")
    program = built(t, "alternate", "-g")
    fifo, section = program.with_name("fifo"), program.with_name("section")
    os.mkfifo(fifo)
    section.write_bytes(os.fsencode(fifo) + b"\0" + b"\x12" * 20)
    subprocess.run(["objcopy", "--add-section", f".gnu_debugaltlink={section}", str(program)], check=True)
    done = members(t, program)
    equal(done.returncode, 1, done.stdout)
    contains(done.stderr, f"part of the debug data is in {fifo}, which was not found in /usr/lib/debug")

TESTS = tests_in(globals())

if __name__ == "__main__":
    main(TESTS)
