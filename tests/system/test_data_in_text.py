#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests text that contains data between its instructions. No probe may change a byte of the data."""
import ctypes, os, re, shutil, subprocess, sys

from faults import *
from harness import *

ALL = "pid$target:{0}::entry,pid$target:{0}::return "

def tables_between_instructions_are_never_changed(t):
    """A function reads a table that follows a ret and looks like code or padding."""
    if not os.path.exists(t.victim("tables")):
        raise Skip("its machine code is x86-64's")
    command = t.victim("tables") + " 1000"
    want = subprocess.run(command.split(), capture_output=True, text=True).stdout
    for flags in (*BOTH, ("-x", "mechanism=any")):
        for probes in (ALL.format("a.out"), "pid$target:a.out:sum*: ", "pid$target:a.out:sum_biased:return "):
            said, out = traced_command(t, probes + "{ @[probefunc, probename] = count(); }", command, flags)
            equal(said, want, f"{probes}{flags}")
            if "entry" in probes:
                counts = rows(out)
                for name in ("padded", "bare", "biased", "outside", "loaded", "prologue", "shared"):
                    equal(counts[f"sum_{name} entry"], 1000, f"{name} {flags}")
                    # The table of sum_bare directly follows its return, so a jump may not fit there.
                    if name == "bare" and flags == () and "sum_bare return" not in counts:
                        continue
                    equal(counts[f"sum_{name} return"], 1000, f"{name} {flags}")

def counts_in_runs(t, probes, want, flags=(), n_runs=1):
    """Runs dtrace `n_runs` times. In each run, the counts by function and probe name must equal `want`. Returns the
    messages of the last run."""
    out = t.scratch / "recorded"
    for _ in range(n_runs):
        out.unlink(missing_ok=True) # dtrace -o appends to an existing file
        done = t.run("-q", *flags, "-o", str(out), "-n", probes + "{ @[probefunc, probename] = count(); }",
                     "-c", t.victim("tables") + " 100")
        equal((done.returncode, rows(out.read_text())), (0, want), f"{probes}{flags}: {done.stderr}")
    return done.stderr

def the_probes_of_a_named_function_do_not_depend_on_addresses(t):
    """empty_hook is one byte long. Whether a jump fits there depends on the addresses at which the program is
    loaded. If no jump fits, a breakpoint is used."""
    if not os.path.exists(t.victim("tables")):
        raise Skip("its machine code is x86-64's")
    counts_in_runs(t, "pid$target:a.out:empty_hook:entry,pid$target:a.out:count_down:return ",
                   {"empty_hook entry": 100, "count_down return": 100}, n_runs=1000 if t.long else 12)
    counts_in_runs(t, "pid$target:a.out:empty_hook:,pid$target:a.out:count_down:entry ",
                   {"empty_hook entry": 100, "empty_hook return": 100, "empty_hook 0": 100, "count_down entry": 100})

def a_site_without_a_jump_gets_a_breakpoint_if_its_function_is_named(t):
    """One of the return sites of leave_early() has no space for a jump. If the probe description has a wildcard, dtrace
    omits this site and reports it. With -x mechanism=any, dtrace sets a breakpoint there."""
    if not os.path.exists(t.victim("tables")):
        raise Skip("its machine code is x86-64's")
    both = {"leave_early return": 100}
    said = counts_in_runs(t, "pid$target:a.out:leave_early:return ", both)
    contains(said, "leave_early:return at tables`leave_early+0x5 fires through a breakpoint, about 20 us per hit: ")
    said = counts_in_runs(t, "pid$target:a.out:leave_e*:return ", {"leave_early return": 50})
    contains(said, "leave_early+0x5: no jump can replace the instruction; -x mechanism=any sets a breakpoint")
    said = counts_in_runs(t, "pid$target:a.out:leave_e*:return ", both, ("-x", "mechanism=any"))
    contains(said, "fires through a breakpoint")
    said = counts_in_runs(t, "pid$target:a.out:leave_e*:return ", {"leave_early return": 50}, ("-x", "mechanism=jump"))
    contains(said, "cannot probe")

def results_of(t, library, most, program=None):
    """Runs ciphers.py and returns its output. If `program` is not None, dtrace traces ciphers.py with this D
    program."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ciphers.py")
    command = [sys.executable, script, library, str(most)]
    if program is None:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        equal(done.returncode, 0, library)
        return done.stdout
    said, out = traced_command(t, program, " ".join(command), ("-Z",), complaints=True, timeout=900)
    equal(int(out.split()[-1]) > 100, True, f"probes of {library} fired: {out}")
    return said

def compare(t, library, most):
    if len(library) == 0 or not loads(library):
        raise Skip(f"{library} is not installed")
    want = results_of(t, library, most)
    # The file's name may contain a different version than the soname, so the probe description has a wildcard.
    got = results_of(t, library, most, ALL.format(library.partition(".so")[0] + ".so*") + "{ @ = count(); }")
    wrong = [b for a, b in zip(want.splitlines(), got.splitlines()) if a != b]
    equal(wrong, [], f"of {len(want.splitlines())} hashes and ciphers")
    equal(len(got), len(want), library)

def loads(library):
    try:
        ctypes.CDLL(library)
        return True
    except OSError:
        return False

def libgcrypt_computes_the_same_hashes_and_ciphers_while_traced(t):
    """Probes the entries and returns of all functions in the library."""
    compare(t, "libgcrypt.so.20", 4096 if t.long else 140)

def libcrypto_computes_the_same_hashes_and_ciphers_while_traced(t):
    """Probes the entries and returns of all functions in the library."""
    compare(t, "libcrypto.so.3", 4096 if t.long else 140)

def other_libraries_compute_the_same_hashes_and_ciphers_while_traced(t):
    """Tests libsodium, libgnutls and libmbedcrypto with --long, if they are installed."""
    if not t.long:
        raise Skip("its packages are installed with --long")
    present = [name for name in ("libsodium.so.23", "libgnutls.so.30", "libmbedcrypto.so.7",
                                 "libmbedcrypto.so.16") if loads(name)]
    if not present:
        raise Skip("none of them is installed")
    for name in present:
        compare(t, name, 1024)

def ffmpeg_writes_the_same_video_while_traced(t):
    """Tests x264 and the decoders, which contain hand-written assembly. Needs --long and ffmpeg."""
    if not t.long:
        raise Skip("its packages are installed with --long")
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise Skip("ffmpeg is not installed")
    film = t.scratch / "film.mkv"
    source = f"{ffmpeg} -loglevel error -threads 1 -f lavfi -i testsrc=duration=1:size=160x120 -bitexact -threads 1"
    for command, modules in ((f"{source} -c:v libx264 -f md5 -", ("libx264.so*", "libavcodec.so*")),
                             (f"{source} -c:v mpeg4 -f md5 -", ("libavcodec.so*", "libswscale.so*"))):
        want = subprocess.run(command.split(), capture_output=True, text=True).stdout
        contains(want, "MD5=")
        for module in modules:
            said, out = traced_command(t, ALL.format(module) + "{ @ = count(); }", command, ("-Z",), complaints=True,
                                       timeout=900)
            equal(said, want, f"{module}: {command}")
            equal(int(out.split()[-1]) > 1000, True, f"probes of {module} fired: {out}")

RC4_OPTIONS = """
import ctypes
library = ctypes.CDLL("libcrypto.so.3")
options = library.RC4_options
options.restype = ctypes.c_char_p
for _ in range(10):
    said = options()
begin = ctypes.cast(options, ctypes.c_void_p).value
print(said, ctypes.string_at(begin, 0xd0).split(b"rc4(8x,int)", 1)[1].split(b">")[0])
"""

def strings_after_a_function_of_libcrypto_are_never_changed(t):
    """The symbol of RC4_options() includes strings that follow the last ret of the function."""
    if not loads("libcrypto.so.3"):
        raise Skip("libcrypto.so.3 is not installed")
    script = t.scratch / "options.py"
    script.write_text(RC4_OPTIONS)
    command = [sys.executable, str(script)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode != 0 or "CRYPTOGAMS" not in done.stdout:
        raise Skip("this libcrypto has those strings in another place")
    # Each executed instruction has a probe, which fires through a breakpoint. The strings begin at offset 0x50.
    done = t.run("-qZ", "-x", "mechanism=int3", "-n", "pid$target:libcrypto.so*:RC4_options: { @[probename] = count(); } "
                 'END { printa("at %s %@d\\n", @); }', "-c", " ".join(command))
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0])
    fired = dict(re.findall(r"^at (\w+) (\d+)$", done.stdout, re.M))
    equal((fired["entry"], fired["return"], fired["0"]), ("10", "10", "10"), done.stdout)
    equal([at for at in fired if at not in ("entry", "return") and int(at, 16) >= 0x50], [], "places in the strings")
    said = t.run("-Zn", "pid$target:libcrypto.so*:RC4_options:50 { }", "-c", " ".join(command))
    contains(said.stderr, "RC4_options+0x50: no known code leads there, so the bytes may be data")

TESTS = tests_in(globals(), compare)

if __name__ == "__main__":
    main(TESTS)
