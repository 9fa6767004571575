"""A target is taken while its program is only starting."""
import os, re, shutil, signal, subprocess, time

from harness import computes, contains, equal, held, is_alive, main, need, text_differs, tracer_of

def forget_cached(path):
    """The next read of the file comes from the disk, where it is not in use elsewhere."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)

def own_copy(t, program):
    """Of a program that nobody else runs, so that its pages can be forgotten."""
    copy = t.scratch / program
    shutil.copy(os.path.realpath(shutil.which(program)), copy)
    return str(copy)

def a_program_in_the_middle_of_execve_is_taken_whole(t):
    """The kernel lets a tracer seize it there, with half of it mapped."""
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
            # On a busy machine it is taken before its exec, which is then reported.
            reported = re.sub(rf"dtrace: process {pid} executed \S+/perl, which is not traced .*\n", "", done.stderr)
            equal((done.returncode, reported), (0, ""), done.stderr)
            contains(done.stdout, "on\n")
            equal(is_alive(pid), True, "the target lives")
            equal((tracer_of(pid), text_differs(pid)), (0, []))
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

def a_program_that_starts_another_one_keeps_clean_text(t):
    """exec at any moment of the grab and of the planting: no site of the old program is
    written into the new one."""
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

TESTS = [a_program_in_the_middle_of_execve_is_taken_whole, a_program_that_starts_another_one_keeps_clean_text]

if __name__ == "__main__":
    main(TESTS)
