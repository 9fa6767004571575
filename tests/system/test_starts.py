"""Tests attaching to a target while its program starts."""
import os, re, shutil, signal, subprocess, time

from harness import computes, contains, equal, held, is_alive, main, need, text_differs, tracer_of

def forget_cached(path):
    """Removes the file from the page cache, unless the file is in use. The next read then comes from the disk."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)

def own_copy(t, program):
    """Copies a program. No other process runs the copy, so its pages can be removed from the cache."""
    copy = t.scratch / program
    shutil.copy(os.path.realpath(shutil.which(program)), copy)
    return str(copy)

def a_program_in_the_middle_of_execve_is_traced(t):
    """The kernel lets a tracer attach during execve(2), when only part of the program is mapped."""
    need("perl")
    perl = own_copy(t, "perl")
    for _ in range(30):
        forget_cached(perl)
        pid = os.fork()
        if pid == 0:
            os.execv(perl, ["perl", "-e", "while (1) { $i++ }"])
        try:
            done = t.run("-qn", "pid$target:a.out:Perl_runops_standard:entry, profile-97 { @ = count(); } "
                         'tick-50ms { printf("on\\n"); exit(0); }', "-Z", "-p", str(pid))
            # On a busy machine, dtrace may attach before the exec. In this case, dtrace reports the exec.
            reported = re.sub(rf"dtrace: process {pid} executed \S+/perl, which is not traced .*\n", "", done.stderr)
            # dtrace may skip samples on a busy machine.
            reported = re.sub(r"dtrace: profile: \d+ of \d+ samples were skipped, .*\n", "", reported)
            equal((done.returncode, reported), (0, ""), done.stderr)
            contains(done.stdout, "on\n")
            equal(is_alive(pid), True, "the target lives")
            equal((tracer_of(pid), text_differs(pid)), (0, []))
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

def a_program_that_executes_another_one_has_unchanged_text(t):
    """No probe of the old program may be written into the new program, even if the exec happens during the attach."""
    need("perl")
    for i in range(40):
        with held(subprocess.Popen(["perl", "-e", f"select(undef, undef, undef, {i * 0.0005});"
                                    'exec(q{perl}, q{-e}, q{while (1) { $i++ }})'])) as target:
            done = t.run("-qn", "pid$target:libc.so.6::entry { @ = count(); } tick-100ms { exit(0); }", "-Z",
                         "-p", str(target.pid))
            equal(done.returncode, 0, done.stderr)
            computes(target.pid)
            equal(target.poll(), None, "the target's end")
            equal((tracer_of(target.pid), text_differs(target.pid)), (0, []))

TESTS = [a_program_in_the_middle_of_execve_is_traced, a_program_that_executes_another_one_has_unchanged_text]

if __name__ == "__main__":
    main(TESTS)
