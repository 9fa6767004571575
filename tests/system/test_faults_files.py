#!/usr/bin/env python3
"""Tests hostile files. A target chooses which files it maps, their contents, and which files later replace them. dtrace
opens only mapped files and files in the debug directories. It opens no FIFOs or devices, and checks every offset."""
import contextlib, os, pathlib, shutil, signal, struct, subprocess, time

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

@contextlib.contextmanager
def served(t, program):
    """Serves a copy of the program by FUSE. Yields the server and the path of the copy."""
    need("gcc", "pkg-config")
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        raise Skip("needs root and /dev/fuse")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True)
    if flags.returncode != 0:
        raise Skip("libfuse3-dev is not installed")
    server, folder = t.scratch / "fuse_server", t.scratch / "served"
    folder.mkdir(exist_ok=True)
    subprocess.run(["gcc", "-O1", "-o", str(server), str(HERE.parent / "victims/fuse_server.c"),
                    *flags.stdout.split(), "-lpthread"], check=True)
    process = subprocess.Popen([str(server), str(folder), str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    try:
        equal(process.stdout.readline(), "ready\n", "the file server")
        yield process, folder / "program"
    finally:
        process.kill()
        process.wait()
        subprocess.run(["umount", "-l", str(folder)], check=True)

def files_of_a_server_that_does_not_reply_delay_dtrace_only_for_a_limited_time(t):
    t.scratch.chmod(0o755)
    program = built(t, "local")
    for replies in (True, False):
        for mechanism in ("jump", "int3"):
            with contextlib.ExitStack() as stack:
                server, path = stack.enter_context(served(t, program))
                hostile = [*as_nobody(), str(path)]
                targets = [stack.enter_context(held(subprocess.Popen(command, stdin=subprocess.PIPE,
                                                                     stdout=subprocess.PIPE)))
                           for command in (hostile, [str(program)])]
                for target in targets:
                    target.stdout.readline()
                if not replies:
                    server.stdin.write("\n")
                    server.stdin.flush()
                began = time.monotonic()
                work, stacks = (f"pid{target.pid}:{part}:entry" for target, part in
                                zip(reversed(targets), ("a.out:work", "libc.so.6:read")))
                dtrace = stack.enter_context(held(t.start(
                    "-qn", "BEGIN { trace(\"begun\\n\"); } " f"{work} {{ @work = count(); }} "
                    f"{stacks} {{ @[ustack()] = count(); }}", "-x", f"mechanism={mechanism}",
                    *(f"-p{target.pid}" for target in targets))))
                equal(dtrace.stdout.readline(), "begun\n", mechanism)
                for target in targets:
                    target.stdin.write(b"x" * 10)
                    target.stdin.flush()
                wait_until(lambda: all(b"pipe_read" in pathlib.Path(f"/proc/{target.pid}/wchan").read_bytes()
                                       for target in targets), what="the end of the input")
                dtrace.send_signal(signal.SIGINT)
                out, errors = dtrace.communicate(timeout=60)
                if time.monotonic() - began > 30:
                    raise AssertionError(f"dtrace ran for {time.monotonic() - began:.1f} s")
                message = f"no symbols for {path}: the server of its file system does not reply"
                equal((dtrace.returncode, message in errors), (0, not replies), errors)
                contains(out, "program`main" if replies else "program`0x")
                equal(int(out.split()[0]), 10, out)
                equal(tracer_of(targets[0].pid), 0, "the tracer of the hostile target")
                released(targets[1].pid)
                targets[1].communicate(timeout=20)
                equal(targets[1].returncode, 0, "the innocent target's exit status")

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

TESTS = tests_in(globals(), served)

if __name__ == "__main__":
    main(TESTS)
