#!/usr/bin/env python3
"""Tests the C API and the installation. Builds tests/api/mallocstat.c against an installed prefix, and compares its
output with the expected output."""
import os, pathlib, re, shutil, signal, subprocess

from harness import *
from saying import Target

SOURCE = HERE.parent / "api/mallocstat.c"
WARNINGS = ["-O2", "-Wall", "-Wextra", "-pedantic", "-Werror"]

def install(t, name, *flags, **environment):
    """Installs everything in the directory `name` of the scratch directory, and returns its path. Does nothing if the
    directory exists. If `flags` are given, they replace --prefix, and `environment` must set DESTDIR to this
    directory."""
    need("cmake")
    if not os.access(t.build, os.W_OK):
        raise Skip("cmake --install writes to the build folder, which belongs to another user")
    place = t.scratch / name
    if not place.exists():
        subprocess.run(["cmake", "--install", str(t.build), *(flags or ["--prefix", str(place)])],
                       env={**os.environ, **environment}, check=True, capture_output=True)
    return place

def pkg_config(prefix, *flags, package="libdtrace"):
    need("pkg-config")
    at = next(prefix.rglob("libdtrace.pc")).parent
    return subprocess.run(["pkg-config", *flags, package], check=True, text=True,
                          capture_output=True,
                          env={**os.environ, "PKG_CONFIG_PATH": str(at)}).stdout.split()

def build(prefix, to, *compiler):
    need(compiler[0])
    done = subprocess.run([*compiler, *WARNINGS, str(SOURCE), "-o", str(to),
                           *pkg_config(prefix, "--cflags", "--libs")],
                          capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), "compiler")
    return str(to)

def library_folder(prefix):
    return str(next(prefix.rglob("libdtrace.so")).parent)

class Mallocstat:
    """Runs mallocstat. The first test that needs mallocstat builds it."""
    def __init__(self, t):
        self.prefix = install(t, "prefix")
        self.program = t.scratch / "mallocstat"
        if not self.program.exists():
            build(self.prefix, self.program, "gcc", "-std=c11")
        self.environment = {**os.environ, "LD_LIBRARY_PATH": library_folder(self.prefix)}

    def start(self, *arguments):
        return subprocess.Popen([str(self.program), *arguments], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments, status=0):
        with held(self.start(*arguments)) as process:
            out, err = process.communicate(timeout=120)
            equal(process.returncode, status, f"status, with {out} and {err}")
        return out if status == 0 else err

def lines_of(text):
    """Returns the lines of the text without their leading spaces."""
    return [line.lstrip() for line in text.splitlines()]

def end_of(lines, text):
    """Returns the first line that starts with the text, and all lines after it."""
    return lines[next(i for i, line in enumerate(lines) if line.startswith(text)):]

# A consumer

def a_consumer_counts_the_calls_bytes_and_callers_of_a_command(t):
    lines = lines_of(Mallocstat(t).run(t.victim("allocs"), "1000"))
    # The victim itself prints these counts.
    equal([line for line in lines if re.match("small|large", line)],
          ["small 4000 96000", "large 1000 5000000"], "the victim's own count")
    lines = [line for line in lines if not re.match("small|large", line)]
    orders = ["keysorted", "keyrevsorted", "valsorted", "valrevsorted", "keyvarsorted",
              "keyvarrevsorted", "valvarsorted", "valvarrevsorted", "sorted"]
    equal(lines, [
        "started",
        "2 probes, 4 aggregations, 2 recording",
        "first large block, of libc.so.6:malloc:entry, 2 records: 5000 bytes from "
        "libc.so.6`malloc allocs`large allocs`main",
        "ended with status 0",
        "calls    bytes callers",
        "1000  5000000 libc.so.6`malloc allocs`large allocs`main",
        "4000    96000 libc.so.6`malloc allocs`small allocs`main",
        "5000 in all",
        "4000 from 16 bytes",
        "1000 from 4096 bytes",
        *[f"{order}: mean" for order in orders],
        "| @mean              509",  # (4000 * 24 + 1000 * 5000) / 5000, normalized by 2
        "ended walk: Abort explicitly directed",
        "wrong verdict: Illegal return value from callback",
    ])

def a_consumer_receives_faults_drops_options_and_text(t):
    out = Mallocstat(t).run("-x", "nspec=1", "-n",
                            'BEGIN { i = 0; printf("begun\\n%d\\n", 42); setopt("quiet"); } '
                            "BEGIN { trace(1 / i); } "
                            "BEGIN { self->a = speculation(); self->b = speculation(); }",
                            "-n", 'END { printf("over\\n"); }', t.victim("allocs"), "1")
    told = sorted(line for line in lines_of(out) if re.match(r"error|drop|option|\||\d+ probe", line))
    equal(told, sorted([
        "2 probes, 4 aggregations, 2 recording", "3 probes, 0 aggregations, 3 recording",
        "1 probes, 0 aggregations, 1 recording", "| begun", "| 42", "| over",
        "error in BEGIN: divide-by-zero, of course", "drop of kind SPECUNAVAIL: 1",
        "option quiet: 1, was unset", "| @mean              509"]))

def aggregation_walks_have_the_order_of_their_name(t):
    """Aggregations without keys come first, whatever their values are."""
    out = Mallocstat(t).run("-n", 'END { @u["b"] = sum(1); @v["a"] = sum(2); @w["b"] = sum(2); }',
                            t.victim("allocs"), "1")
    equal(end_of(lines_of(out), "keysorted")[:9], [
        "keysorted: mean v u w", "keyrevsorted: w u v mean",
        "valsorted: u v w mean", "valrevsorted: mean w v u",
        "keyvarsorted: mean v u w", "keyvarrevsorted: w u v mean",
        "valvarsorted: u v w mean", "valvarrevsorted: mean w v u",
        "sorted: mean u v w"])

def a_consumer_attaches_and_detaches_at_an_interrupt(t):
    work = "-n", "pid$target:a.out:work:entry { @work = count(); }"
    with Target(t) as target:
        process = Mallocstat(t).start(*work, "-p", str(target.pid))
        with held(process):
            wait_until(lambda: text_differs(target.pid), what="the start of tracing")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        equal((process.returncode, err), (0, ""), "status")
        wait_until(lambda: tracer_of(target.pid) == 0, what="the release of the target")
        target.is_unharmed()
    contains(out, "interrupted\n")
    contains(out, "       0 in all\n")

def errors_of_the_api_have_a_text(t):
    stat = Mallocstat(t)
    for arguments, text in (
            (["-x", "nosuch=1", "true"], "nosuch: Invalid option name"),
            (["-x", "bufsize=x", "true"], "bufsize: Invalid value for specified option"),
            (["/no/such/program"], "start a command: "),
            (["-p", "2147483646"], "grab: "),
            (["-n", "BEGIN { nothing; }", t.victim("allocs")], "compile: "),
            (["-n", "BEGIN { stop(); }", t.victim("allocs")], "enable tracing: ")):
        contains(stat.run(*arguments, status=1), "mallocstat: " + text)

# The installation

def headers_compile_as_c_and_as_cpp(t):
    prefix = install(t, "prefix")
    build(prefix, t.scratch / "as_c17", "gcc", "-std=c17")
    build(prefix, t.scratch / "as_cpp11", "g++", "-std=c++11", "-x", "c++")
    for header in ("dtrace.h", "dtrace/actions.h", "dtrace/faults.h", "dtrace/sdt.h", "dtrace/usdt.h"):
        for compiler in (["gcc", "-std=c11", "-x", "c"], ["g++", "-std=c++11", "-x", "c++"]):
            done = subprocess.run([*compiler, *WARNINGS, "-fsyntax-only", "-",
                                   *pkg_config(prefix, "--cflags")], text=True,
                                  input=f"#include <{header}>\n#include <{header}>\nextern int nothing;\n",
                                  capture_output=True)
            equal((done.returncode, done.stderr), (0, ""), f"{header} alone")

COMMANDS = ("dtrace", "lockstat", "dtruss", "opensnoop", "rwsnoop", "iosnoop", "execsnoop", "errinfo", "procsystime",
            "hotuser", "funclat", "plockstat", "dapptrace", "dappprof")

def exactly_the_expected_files_are_installed(t):
    prefix = install(t, "prefix")
    files = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*")
                   if not path.is_dir() and path.relative_to(prefix).parts[0] != "src") # test_kmod_source tests src
    library = str(pathlib.Path(library_folder(prefix)).relative_to(prefix))
    # The Python module is built only if Python's headers are installed.
    python = [f"{path.name}" for path in (t.build / "usdt/python").glob("dtrace_usdt*.so")]
    names = [re.sub(r"\.so\.[\d.]+$", ".so.N", name.removeprefix(library + "/")) for name in files]
    equal(sorted(re.sub(r"^(lib/)?python[\d.]+/dist-packages/", "", name) for name in names),
          sorted(["include/dtrace-usdt/sys/sdt.h", "include/dtrace.h", "include/dtrace/actions.h",
                  "include/dtrace/faults.h", "include/dtrace/sdt.h", "include/dtrace/usdt.h", "include/dtrace/usdt.hpp",
                  "include/dtrace/usdt_names.h",
                  "cmake/dtrace-usdt/dtrace-usdt-config-version.cmake", "cmake/dtrace-usdt/dtrace-usdt-config.cmake", "libdtrace.so", "libdtrace.so.N", "libdtrace.so.N", "libdtrace-usdt.a",
                  "libdtrace-usdt.so", "libdtrace-usdt.so.N", "libdtrace-usdt.so.N", "pkgconfig/dtrace-usdt.pc",
                  "pkgconfig/libdtrace.pc", "pkgconfig/libdtrace-usdt.pc", "share/dtrace/common.sh",
                  *(f"sbin/{command}" for command in COMMANDS), *(f"share/man/man1/{command}.1" for command in COMMANDS),
                  *python]))
    # No file may refer to the build directory, which may be deleted.
    for name in files:
        if str(t.build).encode() in (prefix / name).read_bytes():
            raise AssertionError(f"{name} names {t.build}")

def a_program_creates_probes_with_the_installed_library(t):
    """Builds and traces tests/victims/usdt/made.c with the shared and with the static library. Also loads a provider
    with the Python module, if the module was installed."""
    prefix = install(t, "prefix")
    source = HERE.parent / "victims/usdt/made.c"
    flags = lambda *more: pkg_config(prefix, "--cflags", "--libs", *more, package="libdtrace-usdt")
    archive = str(next(prefix.rglob("libdtrace-usdt.a")))
    for way, libraries in (("shared", flags()), ("static", [archive if word == "-ldtrace-usdt" else word
                                                            for word in flags("--static")])):
        program = str(t.scratch / f"made-{way}")
        subprocess.run(["gcc", "-std=gnu11", *WARNINGS, str(source), "-o", program, *libraries, "-pthread"],
                       check=True)
        done = t.run("-qn", "made*:::none { @ = count(); }", "-c", program + " early", stdin="count 70\n",
                     env={**os.environ, "LD_LIBRARY_PATH": library_folder(prefix)})
        equal((done.stdout.split(), done.stderr), ("ready enabled 70 times done 70".split(), ""), way)
    modules = list(prefix.rglob("dtrace_usdt*.so"))
    if modules:
        subprocess.run(["/usr/bin/python3", "-c", "import dtrace_usdt; dtrace_usdt.Provider('app').load()"], check=True,
                       env={**os.environ, "PYTHONPATH": str(modules[0].parent)})

def a_package_is_staged_under_destdir(t):
    stage = install(t, "stage", "--prefix", "/usr", DESTDIR=str(t.scratch / "stage"))
    equal((stage / "usr/sbin/dtrace").exists(), True, "usr/sbin/dtrace")
    # The .pc file contains paths relative to its own directory.
    build(stage, t.scratch / "staged", "gcc", "-std=c11")
    equal(pkg_config(stage, "--modversion"), [
        re.search(r"^project\(dtrace VERSION ([\d.]+)", (HERE.parent.parent / "CMakeLists.txt")
                  .read_text(), re.M)[1]], "version")

def the_installed_command_does_not_need_the_build_folder(t):
    """Tests jumps, which need the runtime, and breakpoints, which need the agent."""
    prefix = install(t, "prefix")
    need("unshare", "mount")
    victim = shutil.copy(t.victim("allocs"), t.scratch / "allocs")
    hide = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c",
            'mount -t tmpfs none "$0" && exec "$@"', str(t.build)]
    if subprocess.run([*hide, "true"], capture_output=True).returncode != 0:
        raise Skip("the build folder cannot be hidden here")
    equal(subprocess.run([*hide, "ls", str(t.build)], capture_output=True, text=True).stdout, "")
    for mechanism in ("jump", "int3"):
        done = subprocess.run([*hide, str(prefix / "sbin/dtrace"), "-x", "mechanism=" + mechanism,
                               "-qCn", "pid$target:libc.so.6:malloc:entry { @[arg0, ufunc(ucaller)] = "
                               "count(); }", "-c", f"{victim} 100"],
                              capture_output=True, text=True, timeout=120)
        equal((done.returncode, done.stderr), (0, ""), mechanism)
        equal([line.split() for line in done.stdout.splitlines() if line],
              [["small", "400", "9600"], ["large", "100", "500000"],
               ["5000", "allocs`large", "100"], ["24", "allocs`small", "400"]], mechanism)

def exceptions_of_cxx_use_the_unwinder_of_libgcc(t):
    """dtrace is linked with libunwind, which has functions with the same names as libgcc's unwinder. Exceptions must
    call the functions of libgcc."""
    prefix = install(t, "prefix")
    for command in ([str(prefix / "sbin/dtrace"), "-en", "BEGIN { nothing; }"],
                    [Mallocstat(t).program, "-n", "BEGIN { nothing; }", "true"]):
        done = subprocess.run(command, capture_output=True, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": library_folder(prefix),
                                   "LD_DEBUG": "bindings", "LD_BIND_NOW": "1"})
        equal(done.returncode, 1, "status")
        bound = set(re.findall(r" to (\S+) \[0\]: normal symbol `_Unwind_RaiseException'", done.stderr))
        equal([pathlib.Path(library).name for library in bound], ["libgcc_s.so.1"], str(command[0]))

def the_manual_page_is_found(t):
    prefix = install(t, "prefix")
    equal((prefix / "share/man/man1/dtrace.1").read_bytes(),
          (HERE.parent.parent / "cmd/dtrace/dtrace.1").read_bytes(), "the page")
    need("man")
    found = subprocess.run(["man", "-M", str(prefix / "share/man"), "-w", "dtrace"],
                           capture_output=True, text=True)
    equal(found.stdout.strip(), str(prefix / "share/man/man1/dtrace.1"), found.stderr)

TESTS = [
    a_consumer_counts_the_calls_bytes_and_callers_of_a_command,
    a_consumer_receives_faults_drops_options_and_text,
    aggregation_walks_have_the_order_of_their_name,
    a_consumer_attaches_and_detaches_at_an_interrupt, errors_of_the_api_have_a_text,
    headers_compile_as_c_and_as_cpp, exactly_the_expected_files_are_installed,
    a_program_creates_probes_with_the_installed_library,
    a_package_is_staged_under_destdir, the_installed_command_does_not_need_the_build_folder,
    exceptions_of_cxx_use_the_unwinder_of_libgcc, the_manual_page_is_found,
]

if __name__ == "__main__":
    main(TESTS)
