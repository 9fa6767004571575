#!/usr/bin/env python3
"""Tests dtrace --patches, which lists the changes to a process's text, and dtrace -lv, which predicts them."""
import os, pathlib, re, shutil, signal, subprocess

from harness import Holder, Skip, as_nobody, contains, equal, main, need, text_differs, tracer_of, wait_until

ROW = re.compile(r"^ *(\d+) +0x([0-9a-f]+) +(\S+) +(\S+) +(\d+|-) +(live|inert|lethal|-) (.+)$", re.M)

class Sleeper(Holder):
    """A python3 process that waits until its stdin is closed."""
    def __init__(self, **more):
        need("python3")
        self.process = subprocess.Popen(
            ["python3", "-c", "import sys; print('up', flush=True); sys.stdin.read()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
        self.process.stdout.readline()
        self.pid = self.process.pid

class Planted(Holder):
    """A dtrace process that has planted the probes of a D program."""
    def __init__(self, t, pid, program, *flags):
        began = t.scratch / f"began.{pid}.{os.urandom(4).hex()}"
        self.process = t.start("-q", *flags, "-o", str(began), "-n",
                               program + ' BEGIN { printf("BEGAN\\n"); }', "-p", str(pid))
        def is_up():
            if self.process.poll() is not None:
                raise AssertionError(self.process.communicate()[1])
            return began.exists() and "BEGAN" in began.read_text()
        wait_until(is_up, what="the start of tracing")
    def finish(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=60)[1]

def patches(t, pid, *flags):
    done = t.run("--patches", "-p", str(pid), *flags)
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    return done.stdout

def a_process_that_was_not_traced_has_no_patches(t):
    with Sleeper() as target:
        equal(patches(t, target.pid),
              f"pid {target.pid}: no patches\npid {target.pid}: no runtime is mapped\n")

def form_of(patch):
    """Returns the text that dtrace -lv prints for a patch. `patch` is the text that dtrace --patches prints for it."""
    return ("a jump, and a second jump that replaces the instructions after it" if patch.startswith("two ")
            else "a jump, and several more that replace the instructions after it" if "overlapping jumps" in patch
            else "a jump whose last bytes belong to the instructions after it" if "and from there to" in patch
            else "a jump")

SHORT_BODIES = (
    "return 0;", "return a;", "return a + %d;", "return p->v;", "return p->c;", "return ext(a + 3);",
    "return ext(a) + 1;", "return p ? p->v : 0;", "while (a & 3) a++; return a;", "return a < p->v ? a : p->v;",
    "switch (a) { case 1: return 3; case 2: return ext(4); } return a;", "g = a; return g;",
    "if (!a) return 0; if (a == p->v) return 1; return ext(a);",
    "for (; p; p = p->next) if (p->v == a) return 1; return 0;")

def short_functions(n):
    """Returns C source with short functions of several kinds, and a main() that calls each of them."""
    state, lines = 1, []
    for i in range(n):
        state = (state * 1103515245 + 12345) % 2**31
        body = SHORT_BODIES[(state >> 16) % len(SHORT_BODIES)]
        lines.append(f"int f{i}(struct n* p, int a) {{ {body % (i % 97) if '%' in body else body} }}")
    # The calls use pointers, so that no compiler removes them.
    table = "int (*volatile all[])(struct n*, int) = {" + ", ".join(f"f{i}" for i in range(n)) + "};"
    calls = f"for (int i = 0; i < {n}; i++) sum = sum * 31 + all[i](&r, i % 11);"
    return ("#include <stdio.h>\nstruct n { struct n* next; int v; char c; };\nint g;\n"
            "__attribute__((noinline)) int ext(int a) { return a * 3; }\n" + "\n".join(lines) + "\n" + table +
            "\nint main(void) { static struct n r = {0, 7, 1}; unsigned sum = 0;\n" + calls +
            '\nprintf("%u\\n", sum); return 0; }\n')

def nearly_all_sites_in_unaligned_code_get_jumps(t):
    # With -Os, functions are not aligned, so the jumps of short functions overlap.
    n = 300
    source = t.scratch / "short.c"
    source.write_text(short_functions(n))
    for compiler in ("gcc", "clang"):
        need(compiler)
        program = t.scratch / f"short-{compiler}"
        # gcc would replace identical functions with jumps of two bytes. Many consecutive jumps of this kind are a known
        # limitation.
        more = ["-fno-ipa-icf"] if compiler == "gcc" else []
        subprocess.run([compiler, "-Os", "-w", "-fno-inline", *more, "-fpie", "-pie", "-o", program, source],
                       check=True)
        alone = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        probes = f"pid$target:{program.name}:f*:entry,pid$target:{program.name}:f*:return"
        script = probes + " /probefunc != \"frame_dummy\"/ { @[probename] = count(); }"
        done = t.run("-q", "-o", str(t.scratch / "counts"), "-n", script, "-c", str(program))
        contains(done.stdout, alone.strip())
        # dtrace names only the first ten refused sites and counts the others. There are about 680 sites.
        more = re.search(r"and (\d+) more places", done.stderr)
        refused = done.stderr.count("cannot probe") + int(more[1] if more else 0)
        if refused > 3:
            raise AssertionError(f"{compiler}: {refused} places refused\n{done.stderr}")
        counts = dict(re.findall(r"(entry|return) +(\d+)", (t.scratch / "counts").read_text()))
        for kind in ("entry", "return"):
            if not n - refused <= int(counts.get(kind, 0)) <= n:
                raise AssertionError(f"{compiler}: {counts}, and {refused} places refused")
        listed = t.run("-lvn", probes, "-c", str(program))
        contains(listed.stdout, "a jump, and several more that replace the instructions after it")

# Functions of one byte without padding between them.
ONE_BYTE_FUNCTIONS = r"""
#include <stdio.h>
__asm__(".text\n.macro one name\n.type \\name,@function\n\\name: ret\n.size \\name,1\n.endm\n"
        ".p2align 4\n.type before,@function\nbefore: mov $1,%eax\n ret\n.size before,.-before\n"
        "one hook\none stub_a\none stub_b\n"
        ".type after,@function\nafter: xor %eax,%eax\n ret\n.size after,.-after\n");
void hook(void); void stub_a(void); void stub_b(void); void before(void); void after(void);
int main(void)
{
    for (int i = 0; i < 3; i++) { hook(); stub_a(); stub_b(); before(); after(); }
    return 0;
}
"""

def each_run_plants_the_same_sites(t):
    # The test makes many runs, because the addresses are random, and so is the free memory near them.
    program, source = t.scratch / "hooks", t.scratch / "hooks.c"
    source.write_text(ONE_BYTE_FUNCTIONS)
    subprocess.run(["gcc", "-O1", "-fpie", "-pie", "-o", program, source], check=True)
    named = "pid$target:a.out:hook:entry, pid$target:a.out:hook:return { @[probename] = count(); }"
    some = ", ".join(f"pid$target:a.out:{name}:{kind}" for name in ("hook", "stub*", "before", "after")
                     for kind in ("entry", "return")) + " { @[probefunc, probename] = count(); }"
    for script, n_rows in ((named, 2), (some, 10)):
        for _ in range(1000 if t.long else 20):
            done = t.run("-qn", script, "-c", str(program))
            equal((done.returncode, done.stderr), (0, ""), done.stdout)
            equal(re.findall(r" (\d+)$", done.stdout, re.M), ["3"] * n_rows, done.stdout)

def nearly_all_sites_of_real_programs_get_jumps(t):
    """Tests programs with short functions, and a library with much assembly code."""
    files = ["/usr/bin/busybox", "/lib/ld-musl-x86_64.so.1", "/usr/lib/x86_64-linux-gnu/libc.so.6",
             "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/redis-server", "/usr/bin/python3"]
    done = subprocess.run([t.build / "bench/census", *filter(os.path.exists, files)], capture_output=True, text=True,
                          timeout=120)
    equal(done.returncode, 0, done.stderr)
    found = re.findall(r"^(\S+): (\d+) functions.*\n  entries by a jump \S+ %, (\d+) not\n(?:    .*\n)*"
                       r"  returns by a jump \S+ % of (\d+);.*\n((?:    .*\n)*)", done.stdout, re.M)
    equal(len(found) >= 3, True, done.stdout)
    for path, n_entries, n_refused, n_returns, reasons in found:
        refused_returns = sum(map(int, re.findall(r"^    (\d+):", reasons, re.M)))
        if int(n_refused) > int(n_entries) * 0.0005 or refused_returns > int(n_returns) * 0.003:
            raise AssertionError(f"{path}: {n_refused} of {n_entries} entries and {refused_returns} of {n_returns} returns")

def functions_that_begin_or_end_beside_data_get_jumps(t):
    """OpenSSL's assembly code has data tables next to these functions."""
    n_found = 0
    for module, command in (("libcrypto.so.3", "openssl version"), ("a.out", "node --version")):
        if not shutil.which(command.split()[0]):
            continue
        for name in ("Camellia_cfb8_encrypt", "aesni_multi_cbc_encrypt"):
            done = t.run("-Zlvn", f"pid$target:{module}:{name}:[er]*", "-c", command)
            equal(done.returncode, 0, done.stderr)
            planned = re.findall(r"^\t\t[+-]0x[0-9a-f]+: (.+)$", done.stdout, re.M)
            equal([text for text in planned if text != "a jump"], [], f"{name} of {command}")
            n_found += len(planned)
    if n_found == 0:
        raise Skip("neither openssl nor node has these functions")

def a_listing_predicts_how_sites_are_planted(t):
    # The pattern matches only `entry` and `return`. It does not match offsets, because r is not a hexadecimal digit.
    probes = "pid$target:libc.so.6::[er]*"
    with Sleeper() as target:
        listed = t.run("-lvn", probes, "-p", str(target.pid))
        equal((listed.returncode, listed.stderr), (0, ""))
        equal(text_differs(target.pid), [], "text after listing")
        planned = re.findall(r"^\t\t[+-]0x[0-9a-f]+: (.+)$", listed.stdout, re.M)
        jumps = [text for text in planned if text.startswith("a jump")]
        refused = [text.removeprefix("none: ") for text in planned if text.startswith("none: ")]
        equal(len(jumps) + len(refused), len(planned), "sites that are neither")
        if len(jumps) < 8000 or not any("after it" in text for text in jumps):
            raise AssertionError(f"{len(jumps)} jumps are too few for all forms")
        tracer = Planted(t, target.pid, f"{probes} {{ @ = count(); }} {probes} {{ @b = count(); }}")
        rows = ROW.findall(patches(t, target.pid))
        errors = tracer.finish()
    equal(sum(int(row[4]) for row in rows), len(jumps), "probes that fire by a jump")
    told = re.findall(r"cannot probe \S+ at \S+: (.+)$", errors, re.M)
    more = re.search(r"and (\d+) more places", errors)
    equal(len(told) + (int(more[1]) if more else 0), len(refused), errors)
    equal([text for text in told if text not in refused], [], "reasons that the listing did not predict")
    forms = [form_of(row[6]) for row in rows if "reports to dtrace" not in row[6]]
    for form in set(forms):
        if forms.count(form) > jumps.count(form):
            raise AssertionError(f"{forms.count(form)} times {form!r}, but {jumps.count(form)} were predicted")

def a_listing_names_breakpoints_with_the_reason(t):
    with Sleeper() as target:
        listed = t.run("-lvn", "pid$target:libc.so.6:malloc:entry", "-p", str(target.pid),
                       "-x", "mechanism=int3")
    contains(listed.stdout, "\n\tMechanism\n\t\t+0x0: a breakpoint: -x mechanism=int3\n\n")

def a_listing_of_a_command_has_the_mechanism(t):
    listed = t.run("-lvn", "pid$target:a.out:work:return", "-c", t.victim("spin") + " 1 1")
    equal(listed.returncode, 0, listed.stderr)
    if not re.search(r"\n\tMechanism\n\t\t\+0x[0-9a-f]+: a jump\n\n", listed.stdout):
        raise AssertionError(listed.stdout)

def a_probe_of_dtrace_itself_has_no_mechanism(t):
    listed = t.run("-lvn", "BEGIN")
    contains(listed.stdout, "Argument Types\n\t\tNone\n\n")
    if "Mechanism" in listed.stdout:
        raise AssertionError(listed.stdout)

def live_jumps_are_listed_with_their_function(t):
    with Sleeper() as target:
        tracer = Planted(t, target.pid, "pid$target:libc.so.6:malloc:entry,"
                         "pid$target:libc.so.6:free:entry { @ = count(); }")
        out = patches(t, target.pid)
        tracer.finish()
        after = patches(t, target.pid)
    rows = [row for row in ROW.findall(out) if "reports to dtrace" not in row[6]]
    equal(out.count("when the program is about to trace itself"), 2, "jumps in clone() and prctl()")
    functions = sorted(re.sub(r"^(__libc_|cfree$)", lambda m: "" if m[1] == "__libc_" else "free",
                              row[3]).split("+")[0] for row in rows)
    equal(functions, ["free", "malloc"], out)
    equal([row[4:6] for row in rows], [("1", "live")] * 2)
    if not all(re.fullmatch("a jump to 0x[0-9a-f]+", row[6]) for row in rows):
        raise AssertionError(out)
    contains(out, "jumps (5 live, 0 inert), 0 breakpoints, 0 unknown")
    contains(out, f"pid {target.pid}: the runtime is mapped at 0x")
    equal(after, f"pid {target.pid}: no patches\npid {target.pid}: no runtime is mapped\n")

def jumps_of_a_killed_tracer_are_inert(t):
    with Sleeper() as target:
        with Planted(t, target.pid, "pid$target:libc.so.6:malloc:entry { @ = count(); }"):
            agent = tracer_of(target.pid)
            os.kill(agent, signal.SIGKILL)
        wait_until(lambda: tracer_of(target.pid) == 0, what="the end of the agent")
        out = patches(t, target.pid)
        rows = ROW.findall(out)
        equal({row[5] for row in rows}, {"inert"}, out)
        contains(out, "0 live, 4 inert")
        contains(out, "; its agent has exited\n")

def breakpoints_are_live_while_the_process_is_traced(t):
    with Sleeper() as target:
        tracer = Planted(t, target.pid, "pid$target:libc.so.6:qsort:entry { @ = count(); }",
                         "-x", "mechanism=int3")
        out = patches(t, target.pid)
        tracer.finish()
    rows = [row for row in ROW.findall(out) if row[3] == "qsort"]
    equal([row[4:] for row in rows], [("-", "live", "a breakpoint (int3)")], out)
    contains(out, "0 unknown\n")

def changes_by_other_programs_are_unknown(t):
    with Sleeper() as target:
        maps = pathlib.Path(f"/proc/{target.pid}/maps").read_text()
        text = next(line for line in maps.splitlines() if "r-xp" in line and "libc.so.6" in line)
        at = int(text.split("-")[0], 16) + 64
        with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(at)
            was = memory.read(1)[0]
            memory.seek(at)
            memory.write(bytes([was ^ 1]))
        out = patches(t, target.pid)
    rows = ROW.findall(out)
    equal([(row[1], row[5], row[6]) for row in rows],
          [(f"{at:x}", "-", f"unknown: {was ^ 1:02x} instead of {was:02x}")], out)
    contains(out, "0 jumps (0 live, 0 inert), 0 breakpoints, 1 unknown")

def patches_of_several_processes_are_separate(t):
    with Sleeper() as one, Sleeper() as two:
        out = patches(t, one.pid, "-p", str(two.pid))
    contains(out, f"pid {one.pid}: no patches\n")
    contains(out, f"pid {two.pid}: no patches\n")

def a_process_of_another_user_is_refused(t):
    user = as_nobody()
    with Sleeper() as target:
        done = subprocess.run([*user, t.dtrace, "--patches", "-p", str(target.pid)],
                              capture_output=True, text=True)
    equal((done.returncode, done.stdout), (1, ""))
    contains(done.stderr, f"dtrace: failed to read pid {target.pid}: ")
    contains(done.stderr, "ermi")  # either "Permission denied" or "not permitted"

def a_process_that_does_not_exist_is_refused(t):
    done = t.run("--patches", "-p", "2147483646")
    equal((done.returncode, done.stdout), (1, ""))
    contains(done.stderr, "dtrace: failed to read pid 2147483646: ")

def wrong_combinations_of_flags_are_refused(t):
    for flags, text in ((["--patches"], "--patches requires a process: use -p pid"),
                        (["--patches", "-c", "true"], "--patches reads running processes: use -p, not -c"),
                        (["--patches", "-p", "1", "-n", "BEGIN"], "--patches takes no probes"),
                        (["--patches", "-l"], "only one of -A, -G, -h, -l, -V, --help and --patches may be used")):
        done = t.run(*flags)
        equal(done.returncode, 2, flags)
        contains(done.stderr, "dtrace: " + text)

def an_unknown_mechanism_is_refused_with_a_list_of_the_valid_ones(t):
    for value in ("=fast", ""):
        done = t.run("-x", "mechanism" + value, "-n", "BEGIN")
        equal((done.returncode, done.stderr),
              (1, "dtrace: failed to set -x mechanism: Invalid value for specified option: "
                  "it must be auto, any, jump, int3 or uprobe\n"))

def the_help_names_the_flag(t):
    contains(t.run("--help").stdout, "--patches      list dtrace's patches in the processes given with -p")

TESTS = [
    a_process_that_was_not_traced_has_no_patches, nearly_all_sites_in_unaligned_code_get_jumps,
    each_run_plants_the_same_sites,
    nearly_all_sites_of_real_programs_get_jumps, functions_that_begin_or_end_beside_data_get_jumps,
    a_listing_predicts_how_sites_are_planted,
    a_listing_names_breakpoints_with_the_reason, a_listing_of_a_command_has_the_mechanism,
    a_probe_of_dtrace_itself_has_no_mechanism, live_jumps_are_listed_with_their_function,
    jumps_of_a_killed_tracer_are_inert, breakpoints_are_live_while_the_process_is_traced,
    changes_by_other_programs_are_unknown, patches_of_several_processes_are_separate,
    a_process_of_another_user_is_refused, a_process_that_does_not_exist_is_refused,
    wrong_combinations_of_flags_are_refused, an_unknown_mechanism_is_refused_with_a_list_of_the_valid_ones,
    the_help_names_the_flag,
]

if __name__ == "__main__":
    main(TESTS)
