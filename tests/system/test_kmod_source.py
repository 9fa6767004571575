#!/usr/bin/env python3
"""Tests the kernel module's source, which DKMS builds. Also tests dtrace's message if the module is not loaded."""
import shutil

from machines import *
from test_api import install

def source(t):
    return next((install(t, "prefix") / "src").glob("dtrace-*"))

def the_installed_source_is_complete_and_builds(t):
    need("make", "pahole")
    for kernel in kernels_of_this_run(t):
        fetched(t, kernel)
        copy = t.scratch / f"dkms-{kernel}"
        version = source(t).name.removeprefix("dtrace-")
        shutil.copytree(source(t), copy / "dtrace" / version / "build")
        settings = (source(t) / "dkms.conf").read_text()
        contains(settings, f'PACKAGE_VERSION="{version}"')
        made = subprocess.run(
            ["bash", "-euc", f". {source(t)}/dkms.conf; eval \"${{MAKE[0]}}\""], capture_output=True, text=True,
            env={**os.environ, "kernel_source_dir": str(kernels(t) / kernel / "headers"), "dkms_tree": str(copy),
                 "PACKAGE_NAME": "dtrace", "PACKAGE_VERSION": version})
        equal(made.returncode, 0, made.stdout + made.stderr)
        if not (copy / "dtrace" / version / "build/dtrace.ko").exists():
            raise AssertionError(made.stdout)

def without_the_module_the_message_names_its_providers(t):
    if os.path.exists("/dev/dtrace"):
        raise Skip("the module is loaded here")
    done = t.run("-n", "fbt::vfs_read:entry")
    equal(done.returncode, 1)
    contains(done.stderr, "does not match any probes; the fbt provider needs the kernel: the dtrace kernel module is not "
                          "loaded; modprobe dtrace or insmod dtrace.ko makes its providers available (fbt, sdt, syscall, proc, sched, io, ")
    equal(len(done.stderr.splitlines()), 1)

if __name__ == "__main__":
    main(tests_in(globals(), source, fetched, kernels, install, module))
