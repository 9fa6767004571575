#!/usr/bin/env python3
"""Tests that programs and modules run on Debian's kernels, in the virtual machines of tests/vm."""
import contextlib, fcntl, pathlib, re, shutil, subprocess

from harness import *

ROOT = HERE.parent.parent
VM = ROOT / "tests/vm"
KERNELS = {"6.1": r"6\.1\.\d+-\d+-amd64", "6.12": r"6\.12\.\d+\+deb12-amd64"}

@contextlib.contextmanager
def alone(t):
    """Holds a lock, so that only one suite at a time fetches or builds files of the virtual machines."""
    with open(t.build.parent / "vm.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

def fetched(t, kernel):
    with alone(t):
        fetch(t, kernel)

def fetch(t, kernel):
    done = subprocess.run([VM / "fetch-kernel", kernel, kernels(t)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip(f"Debian's kernel {kernel} cannot be fetched: {done.stderr.strip()[-200:]}")

def in_vm(t, *words, timeout=300):
    need("qemu-system-x86_64", "cpio", "busybox")
    fetched(t, words[words.index("--kernel") + 1] if "--kernel" in words else "6.1")
    return subprocess.run([VM / "run", "--kernels", kernels(t), *words], capture_output=True, text=True, timeout=timeout)

def kernels(t):
    return t.build.parent / "vm"

def a_program_runs_on_each_kernel_and_its_output_and_status_are_returned(t):
    for kernel, release in KERNELS.items():
        done = in_vm(t, "--kernel", kernel, "sh", "-c", "uname -r; echo to stderr >&2; nproc; exit 3")
        equal(done.returncode, 3, done.stderr)
        if not re.fullmatch(release + "\nto stderr\n2\n", done.stdout):
            raise AssertionError(done.stdout)

def a_program_of_this_project_has_its_libraries_in_the_machine(t):
    done = in_vm(t, t.dtrace, "-qn", 'BEGIN { printf("%s\\n", execname); exit(0); }')
    equal((done.returncode, done.stdout), (0, "dtrace\n\n"), done.stderr)

def a_module_is_built_for_each_kernel_and_can_be_loaded_and_removed(t):
    need("make", "pahole")
    for kernel in KERNELS:
        fetched(t, kernel)
        folder = t.scratch / f"hello-{kernel}"
        shutil.copytree(VM / "hello", folder)
        made = subprocess.run(["make", "-C", kernels(t) / kernel / "headers", f"M={folder}", "modules"],
                              capture_output=True, text=True)
        equal(made.returncode, 0, made.stdout + made.stderr)
        log = t.scratch / "log"
        done = in_vm(t, "--kernel", kernel, "--file", str(folder / "hello.ko"), "--log", str(log),
                     "sh", "-c", "insmod hello.ko && grep -c ^hello /proc/modules && rmmod hello")
        equal((done.returncode, done.stdout), (0, "1\n"), done.stderr)
        messages = log.read_text()
        contains(messages, "hello: loaded")
        contains(messages, "hello: unloaded")

def failures_are_reported_with_the_kernels_log(t):
    done = in_vm(t, "sh", "-c", "echo c >/proc/sysrq-trigger; sleep 60")
    equal(done.returncode, 125)
    contains(done.stderr, "sysrq triggered crash")
    contains(done.stderr, "run: the machine failed: its kernel stopped")
    done = in_vm(t, "--timeout", "5", "sleep", "1000")
    equal(done.returncode, 125)
    contains(done.stderr, "it did not end in 5 seconds")
    done = in_vm(t, "--file", "/nosuch/file", "true")
    contains(done.stderr, "/nosuch/file: there is no such file")

if __name__ == "__main__":
    main(tests_in(globals(), in_vm, kernels, fetched))
