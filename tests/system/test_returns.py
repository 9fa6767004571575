#!/usr/bin/env python3
"""Tests that the entry and return probes of a function fire equally often, even if the function contains indirect jumps
or loops to its start."""
import itertools, os, pathlib, re, shutil, subprocess, sys

from harness import *

VICTIMS = HERE.parent / "victims"

# Each compiler compiles leaving.c with each of these optimization levels and sets of options.
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-Os")
KINDS = {
    "pie": {"small": ["-fPIE"], "large": ["-fPIC", "-mcmodel=large"], "cet": ["-fPIE", "-fcf-protection=full"],
            "pic": ["-fPIC"], "protected": ["-fPIE", "-fstack-protector-all"]},
    "no-pie": {"small": ["-fno-pie"], "large": ["-fno-pie", "-mcmodel=large"],
               "medium": ["-fno-pie", "-mcmodel=medium"], "cet": ["-fno-pie", "-fcf-protection=full"]},
}

def leaving(t, kind):
    """Builds a program that contains leaving.c in all variants that can be linked together."""
    folder = t.scratch / f"leaving-{kind}"
    folder.mkdir()
    names, objects, compilers = [], [], []
    ways = itertools.product(enumerate(("gcc", "clang")), enumerate(LEVELS), enumerate(KINDS[kind].items()))
    for (i, compiler), (j, level), (k, (model, flags)) in ways:
        # A short run uses every other combination of a level and a set of options.
        if shutil.which(compiler) and (t.long or (i + j + k) % 2 == 0):
            names.append(f"{compiler}{level}{model}".replace("-", "_"))
            objects.append(folder / f"{names[-1]}.o")
            compilers.append([compiler, level, *flags, "-Wall", "-Wextra", "-Werror", f"-DVARIANT={names[-1]}",
                              "-c", str(VICTIMS / "leaving.c"), "-o", str(objects[-1])])
    if not names:
        raise Skip("neither gcc nor clang is installed")
    for some in (compilers[i:i + 4] for i in range(0, len(compilers), 4)):
        for running in [subprocess.Popen(command) for command in some]:
            equal(running.wait(), 0, f"{running.args}")
    (folder / "variants.h").write_text("".join(f"V({name})\n" for name in names))
    program = folder / "leaving"
    compiler = "gcc" if shutil.which("gcc") else "clang"
    pie = ["-fPIE", "-pie"] if kind == "pie" else ["-fno-pie", "-no-pie"]
    subprocess.run([compiler, "-O1", *pie, "-DMAIN", f"-I{folder}", str(VICTIMS / "leaving.c"),
                    *map(str, objects), "-o", str(program)], check=True)
    return program, len(names)

COUNTS = " ".join(f'pid$target:a.out:{part}_*:{name} {{ @{name[0]}[probefunc] = count(); }}'
                  for part, name in itertools.product(("by", "calls", "helper"), ("entry", "return"))) + \
    ' END { printa("%s %@d %@d\\n", @e, @r); }'

def entries_and_returns(t, program, calls, *flags):
    """Returns the numbers of entries and returns of each function, and the number of sites without a probe."""
    said = subprocess.run([str(program), str(calls)], check=True, capture_output=True, text=True).stdout
    done = good(t.run("-q", *flags, "-n", COUNTS, "-c", f"{program} {calls}"))
    contains(done.stdout, said)
    rows = {name: (int(e), int(r)) for name, e, r in re.findall(r"^(\w+) (\d+) (\d+)$", done.stdout, re.M)}
    more = re.search(r"and (\d+) more places", done.stderr)
    return rows, done.stderr.count("cannot probe") + (int(more[1]) if more else 0)

def good(done):
    equal(done.returncode, 0, done.stderr)
    return done

def a_jump_within_a_function_is_not_a_return(t):
    """Tests probes that use jumps. Sites where no jump fits are omitted and reported."""
    for kind in KINDS:
        program, n_variants = leaving(t, kind)
        rows, n_refused = entries_and_returns(t, program, 30)
        more = {name: row for name, row in rows.items() if row[0] == 30 and row[1] > 30}
        equal(more, {}, "functions that return more often than they are entered")
        fewer = [name for name, row in rows.items() if row[1] < row[0]]
        if len(fewer) > n_refused or len(rows) < 8 * n_variants:
            raise AssertionError(f"{len(fewer)} functions miss returns, {n_refused} sites were refused: {fewer}")

def a_jump_within_a_function_is_not_a_return_with_breakpoints(t):
    for kind in KINDS if t.long else ["pie"]:
        program = t.scratch / f"leaving-{kind}/leaving"
        if not program.exists():
            program, _ = leaving(t, kind)
        rows, n_refused = entries_and_returns(t, program, 2, "-x", "mechanism=int3")
        equal({name: row for name, row in rows.items() if row[0] != row[1]}, {})
        equal(n_refused, 0)

# The tests below trace functions with a loop back to their first instruction.

EACH = 'pid$target:a.out:turns_*:entry { @e[probefunc] = count(); } pid$target:a.out:turns_*:return { @r[probefunc] = count(); } ' \
       'END { printa("%s %@d %@d\\n", @e, @r); }'

def loop_heads(t):
    need("gcc")
    program = t.scratch / "loop_heads"
    if not program.exists():
        subprocess.run(["gcc", "-O1", str(VICTIMS / "loop_heads.c"), "-o", str(program)], check=True)
    return program

def an_iteration_of_a_loop_that_begins_a_function_is_not_an_entry(t):
    program = loop_heads(t)
    done = good(t.run("-q", "-n", EACH, "-c", f"{program} 10 7"))
    contains(done.stdout, "turns 140\n")  # the same as without probes
    rows = {name: (int(e), int(r)) for name, e, r in re.findall(r"^(\w+) (\d+) (\d+)$", done.stdout, re.M)}
    equal(rows, {"turns_few_bytes": (10, 10), "turns_longer": (10, 10), "turns_by_jump": (10, 10),
                 "turns_with_a_call": (70, 10), "turns_by_calls": (70, 70)}, done.stderr)
    # Additional firings that cannot be prevented are reported.
    contains(done.stderr, "these entry probes also fire when a loop goes back to the function's first instruction: "
                          "turns_with_a_call\n")

def a_note_on_a_function_is_printed_once_for_all_programs_of_a_shell(t):
    """The note is about the function and not about a process, so it is printed only once."""
    program = loop_heads(t)
    done = good(t.run("-qZ", "-x", "follow=exec", "-n", 'pid$target:loop_heads:turns_with_a_call:entry { @ = count(); } '
                      'END { printa("entries %@d\\n", @); }',
                      "-c", f"/bin/sh -c '{program} 10 7; {program} 10 7; {program} 10 7; true'"))
    equal(done.stdout.count("turns 140\n"), 3)
    contains(done.stdout, "entries 210\n")
    equal(done.stderr.count("first instruction: turns_with_a_call\n"), 1, done.stderr)

LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 4; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        void (*turns)(int *, long *) = (void (*)(int *, long *))dlsym(library, "turns_with_a_call");
        int left = 7;
        long seen = 0;
        turns(&left, &seen);
        printf("left %d\n", left);
        dlclose(library);
    }
    return 0;
}
"""

def a_note_on_a_function_is_printed_once_if_its_library_is_loaded_again(t):
    need("gcc")
    library, program = t.scratch / "libloops.so", t.scratch / "loader"
    subprocess.run(["gcc", "-O1", "-fPIC", "-shared", "-Wl,-Bsymbolic", str(VICTIMS / "loop_heads.c"), "-o", str(library)],
                   check=True)
    subprocess.run(["gcc", "-O1", "-xc", "-", "-o", str(program)], input=LOADER, text=True, check=True)
    done = good(t.run("-qZ", "-n", 'pid$target:libloops.so:turns_with_a_call:entry { @ = count(); } '
                      'END { printa("entries %@d\\n", @); }', "-c", f"{program} {library}"))
    equal(done.stdout.count("left 0\n"), 4)
    contains(done.stdout, "entries 28\n")
    equal(done.stderr.count("first instruction: turns_with_a_call\n"), 1, done.stderr)

def the_probe_of_the_first_instruction_fires_at_each_iteration(t):
    """While a probe at offset 0 is enabled, the function's entry probe also fires in each iteration."""
    program = loop_heads(t)
    done = good(t.run("-q", "-n", 'pid$target:a.out:turns_longer:0 { @["0"] = count(); } '
                      'END { printa("%s %@d\\n", @); }', "-c", f"{program} 10 7"))
    contains(done.stdout, "0 70\n")

def breakpoints_at_loops_that_begin_a_function_are_reported(t):
    done = good(t.run("-q", "-x", "mechanism=int3", "-n", 'pid$target:a.out:turns_few_bytes:entry { @ = count(); }',
                      "-c", f"{loop_heads(t)} 2 3"))
    contains(done.stderr, "first instruction: turns_few_bytes\n")

def a_listing_names_entries_that_fire_at_each_iteration(t):
    done = good(t.run("-lvn", "pid$target:a.out:turns_*:entry", "-c", f"{loop_heads(t)} 2 3"))
    equal(done.stdout.count("also fires when a loop goes back to the first instruction"), 1, done.stdout)

# The main loop of each interpreter has computed gotos or a switch.
INTERPRETERS = {
    # name: the script's extension, the functions whose entries and returns are compared, options
    "python3": ("py", ["*EvalFrame*"], ["-IS"]),
    "perl": ("pl", ["Perl_runops_*", "Perl_pp_*"], []),
    "php": ("php", ["execute_ex"], ["-n"]),
    "lua": ("lua", ["luaV_execute"], []),
    "qjs": ("js", ["JS_CallInternal"], []),
    "ruby": ("rb", ["vm_exec_core"], []),
}
BUILT = ("lua", "qjs", "ruby")  # tests/build-interpreter builds these, because Debian's binaries have no symbols

def interpreter(t, name):
    """Returns the path of an interpreter. Skips the test if the interpreter is missing. With --long, first builds a
    missing interpreter of BUILT."""
    if name == "python3":
        return os.path.realpath(sys.executable)
    if name not in BUILT:
        need(name)
        return os.path.realpath(shutil.which(name))
    folder = t.build.parent / "interpreters"
    if not (folder / name).exists():
        if not t.long:
            raise Skip(f"{name} is built by tests/build-interpreter, with --long")
        need("gcc", "make", "apt-get")
        done = subprocess.run([HERE.parent / "build-interpreter", name, folder], capture_output=True, text=True,
                              timeout=3600)
        if done.returncode != 0:
            raise Skip(f"{name} cannot be built: {done.stderr[-300:]}")
    return str(folder / name)

def loop_of(t, name):
    extension, functions, options = INTERPRETERS[name]
    command = [interpreter(t, name), *options, str(HERE / f"interpreters/loop.{extension}")]
    want = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    program = " ".join(f"pid$target::{function}:entry {{ @e[probefunc] = count(); }} "
                       f"pid$target::{function}:return {{ @r[probefunc] = count(); }}" for function in functions)
    for mechanism in ("any", "int3") if t.long else ("any",):
        done = good(t.run("-qZ", "-x", f"mechanism={mechanism}", "-n",
                          program + ' END { printa("row %s %@d %@d\\n", @e, @r); }', "-c", " ".join(command),
                          timeout=300))
        contains(done.stdout, want)
        rows = {function: (int(e), int(r)) for function, e, r in re.findall(r"row (\S+) (\d+) (\d+)$", done.stdout, re.M)}
        if not rows and name not in BUILT:
            raise Skip(f"this {name} is stripped, and exports no {functions[0]}")
        equal({function: row for function, row in rows.items() if row[0] != row[1]}, {}, f"{mechanism}: {done.stderr}")
        if max(e for e, _ in rows.values()) < 200:
            raise AssertionError(f"{name} made too few calls: {rows}")

def the_loop_of_python_returns_as_often_as_it_is_entered(t):
    loop_of(t, "python3")

def the_functions_of_perl_return_as_often_as_they_are_entered(t):
    loop_of(t, "perl")

def the_loop_of_php_returns_as_often_as_it_is_entered(t):
    loop_of(t, "php")

def the_loop_of_lua_returns_as_often_as_it_is_entered(t):
    loop_of(t, "lua")

def the_loop_of_quickjs_returns_as_often_as_it_is_entered(t):
    loop_of(t, "qjs")

def the_loop_of_ruby_returns_as_often_as_it_is_entered(t):
    loop_of(t, "ruby")

if __name__ == "__main__":
    main(tests_in(globals(), loop_heads))
