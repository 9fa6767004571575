"""Runs the tests of the kernel module in virtual machines. A test is a shell script and a function that checks its
output.

    @script('''dtrace -qn 'fbt::vfs_read:entry { exit(0); }' ''')
    def a_function_of_the_kernel_is_probed(output): equal(output.status, 0)

    main(in_machines(globals(), files=["victims/counted"], modules=["drivers/block/brd.ko"]))

Each element of `files` is a file below tests/ in the build directory, or a function that creates a file. The function
takes the context and the kernel. `modules` are modules of the kernel itself.

By default, a suite runs on one kernel of KERNELS, and the next commit uses the next kernel. With --long, or if the
environment variable KERNELS is set, the suite runs on all of them. Each kernel has its own machine, which loads the
dtrace module and runs all scripts of the suite. A script is killed after two minutes, or after its own limit."""
import concurrent.futures, dataclasses, functools, lzma, os, pathlib, re, shutil, subprocess, sys

from harness import *
from test_vm import alone, fetched, kernels

ROOT = HERE.parent.parent
KERNELS = tuple(os.environ.get("KERNELS", "6.1 6.12").split()) # or "debug", which tests/vm/build-debug-kernel builds

@functools.cache
def kernels_of_this_run(t):
    if t.long or "KERNELS" in os.environ:
        return KERNELS
    suites = sorted(path.name for path in HERE.glob("test_kmod*.py"))
    counted = subprocess.run(["git", "-C", ROOT, "rev-list", "--count", "HEAD"], capture_output=True, text=True)
    n_commits = int(counted.stdout) if counted.returncode == 0 else 0
    chosen = KERNELS[(suites.index(pathlib.Path(sys.argv[0]).name) + n_commits) % len(KERNELS)]
    print(f"on the kernel {chosen}; --long uses {' and '.join(KERNELS)}", flush=True)
    return (chosen,)

LONG = 5 # seconds; scripts that take longer are listed

@dataclasses.dataclass
class Output:
    kernel: str
    text: str
    status: int
    log: str # the kernel's log up to the end of the last script

    def lines(self):
        return [line for line in self.text.splitlines() if line]

def script(text, long=None, seconds=120):
    """Returns a decorator for the function that checks the output of a script. With --long, `long` replaces the script
    if it is given."""
    def mark(check):
        check.script, check.long_script, check.seconds = text, long or text, seconds
        return check
    return mark

DRIVER = """
export PATH=/root:$PATH
insmod dtrace.ko || exit 9
for script in cases/*; do
    echo "@@@ $script"
    [ -e /dev/dtrace ] || insmod dtrace.ko # a killed script had removed the module
    timeout -s KILL $(sed -n 's/# seconds //p' $script) sh $script 2>&1 </dev/null
    echo "@@@ status $? $(cut -d' ' -f1 /proc/uptime)"
done
rmmod dtrace
"""

@functools.cache
def module(t, kernel):
    """Returns the dtrace.ko for a kernel. Builds it if necessary."""
    need("qemu-system-x86_64", "cpio", "busybox", "make", "pahole")
    fetched(t, kernel)
    folder = t.build.parent / "kmod" / kernel
    with alone(t):
        made = subprocess.run([ROOT / "kmod/build", kernels(t) / kernel / "headers", folder], capture_output=True, text=True)
    equal(made.returncode, 0, made.stdout + made.stderr)
    if "warning" in made.stderr:
        raise AssertionError(made.stderr)
    return folder / "dtrace.ko"

def module_of_the_kernels(t, kernel, name):
    """Returns a module that belongs to the kernel, for example drivers/block/brd.ko. Decompresses it if necessary."""
    fetched(t, kernel)
    stored = kernels(t) / kernel / "modules/kernel" / name
    if stored.exists():
        return stored
    plain = t.scratch / f"modules-{kernel}" / stored.name
    plain.parent.mkdir(exist_ok=True)
    plain.write_bytes(lzma.decompress(stored.with_suffix(".ko.xz").read_bytes()))
    return plain

def module_of_ours(name):
    """Returns a function that builds the module in tests/kmod/NAME for a kernel."""
    def file(t, kernel):
        folder = t.scratch / f"{name}-{kernel}"
        shutil.copytree(ROOT / "tests/kmod" / name, folder)
        made = subprocess.run(["make", "-s", "-C", kernels(t) / kernel / "headers", f"M={folder}", "modules"],
                              capture_output=True, text=True)
        equal(made.returncode, 0, made.stdout + made.stderr)
        return folder / f"{name}.ko"
    return file

class Boots:
    """The outputs of all scripts, for each kernel. All machines run at the same time."""
    def __init__(self, checks, files, modules, memory):
        self.checks, self.files, self.modules, self.memory = checks, files, modules, memory
        self.outputs = {}

    def of(self, t, kernel):
        if not self.outputs:
            wanted = kernels_of_this_run(t)
            for each in wanted:
                module(t, each)
            with concurrent.futures.ThreadPoolExecutor() as pool:
                self.outputs = dict(zip(wanted, pool.map(lambda each: self.boot(t, each), wanted)))
        return self.outputs[kernel]

    def boot(self, t, kernel):
        cases = t.scratch / f"cases-{kernel}"
        cases.mkdir()
        for number, check in enumerate(self.checks):
            text = check.long_script if t.long else check.script
            (cases / f"{number:03}").write_text(f"# seconds {check.seconds}\n{text}")
        files = [module(t, kernel), t.dtrace, f"{cases}:/root/cases", *(file(t, kernel) if callable(file) else t.build / "tests" / file for file in self.files),
                 *(module_of_the_kernels(t, kernel, name) for name in self.modules)]
        log = t.scratch / f"log-{kernel}"
        done = subprocess.run(
            [ROOT / "tests/vm/run", "--kernels", kernels(t), "--kernel", kernel, "--memory", str(self.memory),
             "--log", log, "--timeout", str(60 + sum(check.seconds for check in self.checks) // (1 if t.long else 3)),
             *(word for file in files for word in ("--file", str(file))), "sh", "-c", DRIVER],
            capture_output=True, text=True, errors="backslashreplace")
        messages = log.read_text() if log.exists() else done.stderr
        found, before = {}, 0
        parts = re.split(r"^@@@ cases/(\d+)\n", done.stdout, flags=re.M)
        for number, text in zip(parts[1::2], parts[2::2]):
            # The output of rmmod may follow the last status. A script that crashed the machine has no status.
            last = re.match(r"(.*)@@@ status (\d+) ([\d.]+)", text, re.S)
            text, status, uptime = last.groups() if last else (text, -1, before)
            found[int(number)] = Output(kernel, text, int(status), messages)
            if float(uptime) - before > LONG:
                print(f"{kernel}: {self.checks[int(number)].__name__}: {float(uptime) - before:.0f} s")
            before = float(uptime)
        if done.returncode != 0:
            print(f"with {kernel}: {done.stderr[-6000:]}", flush=True)
        return found

def in_machines(names, files=(), modules=(), memory=1024):
    wanted = [word for word in sys.argv[1:] if re.fullmatch(r"[a-z_]+", word)]
    checks = [value for value in list(names.values()) if hasattr(value, "script")]
    if wanted:
        checks = [check for check in checks if any(part in check.__name__ for part in wanted)]
    boots = Boots(checks, files, modules, memory)

    def test_of(number, check):
        def test(t):
            for kernel in kernels_of_this_run(t):
                outputs = boots.of(t, kernel)
                if number not in outputs:
                    raise AssertionError(f"with {kernel} the machine stopped before this script")
                try:
                    check(outputs[number])
                except AssertionError as error:
                    raise AssertionError(f"with {kernel}: {error}\n{outputs[number].text}") from None
        test.__name__ = check.__name__
        return test
    return [test_of(number, check) for number, check in enumerate(checks)]

def kernel_is_clean(log):
    """Fails if the kernel's log contains a warning, a fault or a stall."""
    bad = re.findall(r"^.*(?:WARNING:|BUG:|Oops|general protection|rcu.* stall|soft lockup|Call Trace).*$", log, flags=re.M)
    if bad:
        raise AssertionError("the kernel reports problems:\n" + "\n".join(bad) + "\n" + log[-4000:])
