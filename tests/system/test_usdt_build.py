#!/usr/bin/env python3
"""Tests dtrace -h and -G, and the provider definitions that they put into programs."""
import itertools, os, pathlib, re, shutil, subprocess, time

from harness import *
from traced import *
from usdt_builds import *

# A D program that prints the arguments of shop.c's probes. The lines must be the same as those that shop.c prints.
PROGRAM = """
shop*:::order-placed { printf("order %d %d %s %d %d %d\\n", args[0]->number, args[0]->first->weight,
    stringof(args[0]->first->label), args[1]->weight, args[0]->open, args[2]); }
shop*:::sum { printf("sum %d %d %d %d %d %.2f %.2f\\n", args[0], args[1], args[2], args[3], args[4], args[5],
    args[6]); }
shop*:::names { printf("names %s %s\\n", stringof(args[0]), copyinstr(arg1)); }
shop*:::place { printf("place %d %d\\n", arg0, args[1]); }
shop*:::shown { printf("shown %d %d %s\\n", args[0], args[1]->order_number, args[1]->label); }
shop*:::bare-name { printf("bare %d\\n", args[0]); }
"""

def linked(folder, compiler, *objects, out="shop", flags=()):
    done = subprocess.run([compiler, *flags, *objects, "-o", str(folder / out)], capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), f"linking by {compiler} {flags}")
    return str(folder / out)

def program(folder, compiler, *flags, link=(), out="shop"):
    """Builds a program from two object files, both of which are compiled from shop.c."""
    objects = [compiled(folder, compiler, *flags, *which, "-c", out=f"{out}{n}.o")
               for n, which in enumerate(([], ["-DOTHER"]))]
    return linked(folder, compiler, *objects, out=out, flags=[*flags, *link])

def agrees(t, command, *flags, env=None):
    """Checks that dtrace and the program print the same lines for the program's probes."""
    came = t.scratch / f"came.{time.monotonic_ns()}"
    done = good(t.run("-q", "-L", str(USDT / "libraries"), *flags, "-o", str(came), "-n", PROGRAM,
                      "-c", command + " 5", env=env))
    theirs = done.stdout.splitlines()
    equal(came.read_text().strip().splitlines(), theirs, command)
    equal(len(theirs), 30, command)
    return done

def definitions(path):
    """Returns the number of provider definitions in the file."""
    return subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout.count("dtrace  ")

# Headers

def a_header_works_in_c_and_cxx_at_every_level(t):
    folder = made(t)
    for compiler, level in itertools.product(("gcc", "g++", "clang", "clang++"), ("-O0", "-O1", "-O2", "-O3")):
        if shutil.which(compiler):
            agrees(t, program(folder, compiler, level, *STRICT))

def a_header_compiles_with_every_standard(t):
    folder = made(t)
    for compiler, standards in (("gcc", ("c99", "c11", "c17", "gnu99", "gnu17")), ("clang", ("c99", "c17")),
                                ("g++", ("c++11", "c++14", "c++17", "c++20")), ("clang++", ("c++11", "c++20"))):
        for standard in standards:
            if shutil.which(compiler):
                for more in ([], ["-DSDT_TOO", f"-I{ROOT}/usdt/include"]):
                    program(folder, compiler, f"-std={standard}", "-O1", *STRICT, *more)

def a_header_compiles_with_older_standards_than_its_types(t):
    """The headers must compile with -std=c89 -pedantic, although their code needs more than C89 allows."""
    folder = made(t)
    script = t.scratch / "older.d"
    script.write_text("provider older { probe flags(_Bool, _Bool *, long long, unsigned long long *, double); };\n")
    more = made(t, script=script, name="older.h")
    source = folder / "older.c"
    source.write_text('#include "shop.h"\n#include "older.h"\nint main(int argc, char **argv)\n{\n'
                      '\tSHOP_START();\n\tSHOP_SUM(1u, 1, 2, 3L, argc, 0.5, 0.25f);\n\tSHOP_NAMES("a", argv[0], argv);\n'
                      '\tif (OLDER_FLAGS_ENABLED())\n\t\tOLDER_FLAGS(argc, 0, argc, 0, 1.5);\n\treturn 0;\n}\n')
    for compiler, standards in (("gcc", ("c89", "gnu89", "c99")), ("clang", ("c89", "gnu89", "c99")),
                                ("g++", ("c++98", "c++11")), ("clang++", ("c++98", "c++11"))):
        for standard, level in itertools.product(standards, ("-O0", "-O2")):
            compiled(folder, compiler, f"-std={standard}", level, f"-I{more}", *STRICT, source=source, out="older")

def a_header_works_in_every_kind_of_program(t):
    folder = made(t)
    for flags in (["-fPIE", "-pie"], ["-no-pie", "-fno-pie"], ["-static"], ["-static-pie", "-fPIE"], ["-flto"],
                  ["-flto=auto", "-flto-partition=max"], ["-march=x86-64-v3"], ["-fno-inline", "-g"],
                  ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"],
                  ["-fPIC", "-mcmodel=large"], ["-finstrument-functions"], ["-fvisibility=hidden", "-fno-asynchronous-unwind-tables"]):
        path = program(folder, "gcc", "-O2", *flags)
        agrees(t, path)
        equal(definitions(path), 1, str(flags))
    if shutil.which("clang"):
        agrees(t, program(folder, "clang", "-O2", "-finstrument-functions"))

CONSTANTS = """
#include <dtrace/sdt.h>
#include "constants.h"
int main(int argc, char **argv)
{
	CONSTANTS_ONE(4194304);
	CONSTANTS_TWO(argc, 2.5);
	DTRACE_PROBE1(constants, three, 4194304);
	(void)argv;
	return 0;
}
"""

def constants_in_intel_syntax_are_not_addresses(t):
    """In a note, a number without a $ is a constant in Intel syntax, but an address in AT&T syntax. 4194304 is a valid
    address."""
    script, source = t.scratch / "constants.d", t.scratch / "constants.c"
    script.write_text("provider constants { probe one(int); probe two(int, double); probe three(int); };\n")
    source.write_text(CONSTANTS)
    folder = made(t, script=script, name="constants.h")
    for compiler, syntax, level in itertools.product(("gcc", "g++", "clang", "clang++"), ("att", "intel"), ("-O0", "-O2")):
        path = compiled(folder, compiler, level, f"-masm={syntax}", "-no-pie", "-fno-pie", f"-I{ROOT}/usdt/include",
                        source=source, out="constants")
        if level == "-O2":
            notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True).stdout
            equal(notes.count("-4@$4194304"), 2, notes)
        done = good(t.run("-qn", 'constants*:::one, constants*:::three { printf("%d\\n", args[0]); } '
                          'constants*:::two { printf("%d %.1f\\n", args[0], args[1]); }', "-c", path))
        equal(done.stdout.split(), ["4194304", "1", "2.5", "4194304"], f"{compiler} {syntax} {level}")

VARIABLES = """
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif
#include "variables.h"
#ifdef __cplusplus
}
#endif
int counter = 7;
static const char *name = "variable";
static __thread int own = 9;
double ratio = 0.5;
static const struct { short width; } fixed = {-3};
int shown(void);
int shown(void) { return 1; }
int main(int argc, char **argv)
{
	if (VARIABLES_SEEN_ENABLED()) {
		counter++;
		own += argc;
	}
	VARIABLES_SEEN(counter, name, own, ratio, fixed.width + argc, &counter, argv[argc]);
	VARIABLES_ADDRESSES((unsigned long)shown, &own, stdout, "literal");
	printf("0x%lx %p %p\\n", (unsigned long)shown, (void *)&own, (void *)stdout);
	return 0;
}
"""

def no_argument_needs_a_symbol(t):
    """The header prevents gcc from writing names of globals, TLS variables and GOT slots to the note."""
    script, source = t.scratch / "variables.d", t.scratch / "variables.c"
    script.write_text("provider variables { probe seen(int, const char *, int, double, short, int *, void *);\n"
                      "probe addresses(unsigned long, int *, void *, const char *); };\n")
    source.write_text(VARIABLES)
    folder = made(t, script=script, name="variables.h")
    for compiler, flags in itertools.product(("gcc", "g++", "clang"), (["-O0"], ["-O2"], ["-O2", "-flto"], ["-O2", "-fPIC"],
                                                                       ["-O2", "-static"], ["-O2", "-no-pie", "-fno-pie"])):
        path = compiled(folder, compiler, *flags, *([] if compiler == "clang" else STRICT), source=source, out="variables")
        subprocess.run(["strip", path], check=True)
        notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True).stdout
        arguments = [line for line in notes.splitlines() if "Arguments:" in line]
        # A name after $ is permitted, because it is a link-time constant.
        wrong = [line for line in arguments if re.search(r"@[^$ ]*[a-z]{4}|%fs|rip", line)]
        equal((len(arguments), wrong), (2, []), f"{compiler} {flags}")
        done = good(t.run("-qn", 'variables*:::seen { printf("%d %s %d %.1f %d %d\\n", args[0], stringof(args[1]), args[2], '
                          'args[3], args[4], *args[5]); } variables*:::addresses { printf("0x%x 0x%x 0x%x %s\\n", arg0, arg1, '
                          'arg2, copyinstr(arg3)); }', "-c", path))
        lines = sorted(done.stdout.strip().splitlines())
        theirs = next(line for line in lines if line.count(" ") == 2)
        equal(sorted([f"{theirs} literal", theirs, "8 variable 10 0.5 -2 8"]), lines, f"{compiler} {flags}")

def strip_leaves_probes_and_definitions(t):
    folder = made(t)
    path = program(folder, "gcc", "-O2")
    subprocess.run(["strip", "-s", path], check=True)
    equal(definitions(path), 1)
    agrees(t, path)

def a_library_has_its_own_provider(t):
    folder = made(t)
    compiled(folder, "gcc", "-O2", "-DOTHER", "-fPIC", "-shared", out="libother.so")
    main = compiled(folder, "gcc", "-O2", "-c", out="main.o")
    path = linked(folder, "gcc", main, f"-L{folder}", "-lother", f"-Wl,-rpath,{folder}")
    agrees(t, path)
    listing = good(t.run("-l", "-n", "shop$target:::start", "-c", path)).stdout
    contains(listing, "libother.so")
    contains(listing, "main start")

def types_of_arguments_are_checked(t):
    folder = made(t)
    wrong = ('SHOP_BARE_NAME("text")', "SHOP_NAMES(1, 0, 0)", "SHOP_PLACE(1, 2)", "SHOP_ORDER_PLACED(0, 1.5, 0)")
    for call, compiler in itertools.product(wrong, ("gcc", "g++")):
        source = folder / "wrong.c"
        source.write_text(f'#include "shop.h"\nint main(void) {{ {call}; return 0; }}\n')
        language = ["-x", "c++"] if compiler == "g++" else []
        done = subprocess.run([compiler, "-Wall", "-Werror", *language, str(source), "-o", str(folder / "wrong")],
                              capture_output=True, text=True)
        equal(done.returncode != 0, True, f"{compiler} took {call}")
    source.write_text('#include "shop.h"\nint main(void) { SHOP_NAMES(0, "text", 0); return 0; }\n')
    compiled(folder, "gcc", *STRICT, source=source, out="right")

def twelve_arguments_of_any_type_are_passed(t):
    script, source = t.scratch / "twelve.d", t.scratch / "twelve.c"
    script.write_text("provider twelve { probe ratios(" + ", ".join(12 * ["double"]) + ");\n"
                      "probe numbers(" + ", ".join(12 * ["long"]) + "); };\n")
    source.write_text('#include "twelve.h"\n__attribute__((noinline)) static void f(double d, long n)\n{\n'
                      f"\tTWELVE_RATIOS({', '.join(f'd + {n}' for n in range(12))});\n"
                      f"\tTWELVE_NUMBERS({', '.join(f'n * {n}' for n in range(12))});\n}}\n"
                      "int main(int argc, char **argv) { f(argc, argc + 2l); (void)argv; return 0; }\n")
    folder = made(t, script=script, name="twelve.h")
    for compiler, level in itertools.product(("gcc", "g++", "clang", "clang++"), ("-O0", "-O2")):
        path = compiled(folder, compiler, level, *STRICT, source=source, out="twelve")
        done = good(t.run("-qn", 'twelve*:::ratios { printf("%.0f %.0f\\n", args[0], args[9]); } '
                          'twelve*:::numbers { printf("%d %d\\n", args[1], args[9]); }', "-c", path))
        equal(done.stdout.split(), ["1", "10", "3", "27"], f"{compiler} {level}")

# C code that passes pointers to its own types, which the header does not know.
POINTERS = """
#ifndef __cplusplus
#include <stdbool.h>
#endif
#include "pointers.h"
enum state { NEW = 1, SOLD = 5 };
typedef struct { int number; } order_t;
int main(int argc, char **argv)
{
	bool flag = argc > 0, *where = &flag;
	enum state state = SOLD, *current = &state;
	volatile enum state shared = NEW;
	order_t order = {7}, *first = &order;
	char rows[3][4] = {"abc", "def", "ghi"};
	const char fixed[2][4] = {"jkl", "mno"};
	POINTERS_FLAGS(&flag, &where, flag);
	POINTERS_STATES(&state, &current, &shared, state);
	POINTERS_ORDERS(&order, &first);
	POINTERS_ROWS(rows, rows + 1, fixed);
	(void)argv;
	return 0;
}
"""

def pointers_of_every_kind_are_accepted_in_c_and_cxx(t):
    script, source = t.scratch / "pointers.d", t.scratch / "pointers.c"
    script.write_text("enum state { NEW = 1, SOLD = 5 };\ntypedef struct { int number; } order_t;\n"
                      "provider pointers { probe flags(_Bool *, _Bool **, _Bool);\n"
                      "probe states(enum state *, enum state **, volatile enum state *, enum state);\n"
                      "probe orders(order_t *, order_t **);\n"
                      "probe rows(char a[3][4], char (*b)[4], const char (*c)[4]); };\n")
    source.write_text(POINTERS)
    folder = made(t, script=script, name="pointers.h")
    for compiler, level in itertools.product(("gcc", "g++", "clang", "clang++"), ("-O0", "-O2")):
        path = compiled(folder, compiler, level, *STRICT, source=source, out="pointers")
        done = good(t.run("-qn", 'pointers*:::flags { printf("%d %d %d\\n", *args[0], **args[1], args[2]); } '
                          'pointers*:::states { printf("%d %d %d %d\\n", *args[0], **args[1], *args[2], args[3]); } '
                          'pointers*:::orders { printf("%d %d\\n", args[0]->number, (*args[1])->number); } '
                          'pointers*:::rows { printf("%s %s %s\\n", copyinstr(arg0), copyinstr(arg1), copyinstr(arg2)); }',
                          "-c", path))
        equal(done.stdout.split(), "1 1 1 5 5 1 5 7 7 abc def jkl".split(), f"{compiler} {level}")

def a_probe_is_enabled_while_the_program_is_traced(t):
    folder = made(t)
    path = program(folder, "gcc", "-O2")
    alone = subprocess.run([path, "5"], capture_output=True, text=True)
    contains(alone.stderr, "enabled 0 times")
    done = t.run("-qn", "shop*:::order-placed { @ = count(); }", "-c", path + " 1000")
    contains(done.stderr, "enabled 1000 times")
    equal(numbers(done.stdout)[-1], 1000)

def two_headers_of_one_provider_can_be_included_together(t):
    folder = t.scratch / "parts"
    folder.mkdir()
    for part in ("one", "two"):
        (folder / f"{part}.d").write_text(f"provider parts {{ probe {part}(int n); }};\n")
        good(t.run("-h", "-s", f"{part}.d", cwd=folder))
    for language, compiler in (("c", "gcc"), ("cpp", "g++")):
        source = folder / f"parts.{language}"
        source.write_text('#include "one.h"\n#include "two.h"\n#include "one.h"\n'
                          "int main(void) { PARTS_ONE(1); PARTS_TWO(2); return 0; }\n")
        path = compiled(folder, compiler, "-Wall", "-Wextra", "-Werror", source=source, out=f"parts-{language}")
        done = good(t.run("-qn", 'parts*::: { printf("%s %d\\n", probename, arg0); }', "-c", path))
        equal(done.stdout.split("\n")[:2], ["one 1", "two 2"])

def a_header_is_named_after_its_script(t):
    folder = t.scratch / "named"
    folder.mkdir()
    script = shutil.copy(USDT / "shop.d", folder)
    here = folder / "here"
    here.mkdir()
    good(t.run("-C", "-h", "-s", script, cwd=here))
    good(t.run("-C", "-G", "-s", script, cwd=here))
    equal((sorted(os.listdir(folder)), os.listdir(here)), (["here", "shop.d", "shop.o"], ["shop.h"]))

# Objects

def an_object_can_be_created_repeatedly_and_linked_in_every_way(t):
    folder = made(t)
    for flags, more in (([], []), (["-static"], []), (["-flto"], []), (["-Wl,--gc-sections"], [])):
        objects = [compiled(folder, "gcc", "-O2", *flags, *which, "-c", out=f"shop{n}.o")
                   for n, which in enumerate(([], ["-DOTHER"]))]
        before = [pathlib.Path(one).read_bytes() for one in objects]
        for again in range(2):
            good(t.run("-C", "-G", "-s", str(USDT / "shop.d"), "-o", str(folder / "prov.o"), *objects))
            path = linked(folder, "gcc", *objects, str(folder / "prov.o"), flags=[*flags, "-Wl,--fatal-warnings"])
            equal([pathlib.Path(one).read_bytes() for one in objects], before)
        equal(definitions(path), 1)
        agrees(t, path)
        contains(subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout, "GNU_STACK")
        equal("RWE" in subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout, False)

# The header that SystemTap's dtrace writes contains this declaration.
FOREIGN = """
__extension__ extern unsigned short shop_start_semaphore __attribute__((unused, section(".probes"), visibility("hidden")));
#define DTRACE_USE_SEMAPHORES
#include <dtrace/sdt.h>
#include <stdio.h>
int main(void) { if (shop_start_semaphore) puts("enabled"); DTRACE_PROBE(shop, start); return 0; }
"""

def an_object_defines_semaphores_that_other_headers_declare(t):
    folder = made(t)
    (folder / "foreign.c").write_text(FOREIGN)
    main = compiled(folder, "gcc", f"-I{ROOT}/usdt/include", "-c", source=folder / "foreign.c", out="main.o")
    good(t.run("-C", "-G", "-s", str(USDT / "shop.d"), "-o", str(folder / "prov.o"), main))
    path = linked(folder, "gcc", str(folder / "prov.o"), main)
    done = good(t.run("-qn", "shop*:::start { @ = count(); }", "-c", path))
    contains(done.stdout, "enabled")
    equal(numbers(done.stdout)[-1], 1)

def an_object_with_probes_that_the_provider_lacks_is_refused(t):
    folder = made(t)
    main = compiled(folder, "gcc", "-c", out="main.o")
    script = folder / "less.d"
    script.write_text("provider shop { probe start(); };\n")
    done = t.run("-G", "-s", str(script), "-o", str(folder / "prov.o"), main)
    equal(done.returncode, 1)
    contains(done.stderr, "main.o has the probe shop:::")
    done = t.run("-G", "-s", str(script), "-o", str(folder / "prov.o"), str(folder / "nosuch.o"))
    contains(done.stderr, "nosuch.o: No such file or directory")
    archive = folder / "main.a"
    subprocess.run(["ar", "rc", archive, main], check=True)
    done = t.run("-G", "-s", str(script), "-o", str(folder / "prov.o"), str(archive))
    equal(done.returncode, 1)
    contains(done.stderr, "main.a has the probe shop:::")

def neither_the_script_nor_an_object_is_overwritten(t):
    folder = made(t)
    main = compiled(folder, "gcc", "-c", out="main.o")
    before = pathlib.Path(main).read_bytes()
    for name, flags in (("shop.h", ("-h",)), ("shop.o", ("-G", "-o", str(folder / "shop.o"))), ("shop.d", ("-h", "-o", str(folder / "shop.d")))):
        script = folder / name
        script.write_text("provider shop { probe start(); };\n")
        done = t.run(*flags, "-s", str(script), cwd=folder)
        equal((done.returncode, script.read_text()), (1, "provider shop { probe start(); };\n"), name)
        contains(done.stderr, "is the script itself")
    done = t.run("-G", "-s", str(USDT / "shop.d"), "-o", main, main)
    equal((done.returncode, pathlib.Path(main).read_bytes()), (1, before))
    contains(done.stderr, "main.o is one of the input objects")

def the_object_of_a_script_without_d_is_named_d_out(t):
    folder = made(t)
    text = "provider shop { probe start(); };\n"
    done = t.run("-G", "-s", "/dev/stdin", stdin=text, cwd=folder)
    equal((done.returncode, (folder / "d.out").exists(), os.path.exists("/dev/stdin.o")), (0, True, False), done.stderr)
    (folder / "named.d").write_text(text)
    good(t.run("-G", "-s", "named.d", cwd=folder))
    equal((folder / "named.o").exists(), True, "named.o")

# Definitions

def the_definition_contains_types_order_and_stability(t):
    path = program(made(t), "gcc", "-O2", "-g0")
    listing = good(t.run("-lv", "-n", "shop$target:::", "-c", path)).stdout
    for part in ("args[0]: order_t *", "args[1]: struct part *", "args[2]: enum state", "args[0]: const char *",
                 "args[0]: int j", "args[1]: int i", "args[1]: orderinfo_t *order", "args[6]: float",
                 "Identifier Names: Evolving", "Data Semantics:   Private", "Dependency Class: ISA"):
        contains(listing, part)

# A provider whose probes use types from system headers.
FILES = """
#include <sys/stat.h>
#include <stdio.h>
#include <netinet/in.h>
provider files { probe seen(struct stat *status, FILE *file, struct sockaddr_in *from, dev_t); };
"""
SEEN = """
#include <sys/stat.h>
#include <stdio.h>
#include <netinet/in.h>
#include "files.h"
int main(void)
{
	struct stat status;
	struct sockaddr_in from = {0};
	from.sin_port = 0x1234;
	if (stat("/", &status) != 0) return 1;
	FILES_SEEN(&status, stdout, &from, status.st_dev);
	printf("%lu %lu %d %lu\\n", (unsigned long)status.st_ino, (unsigned long)status.st_mtim.tv_nsec, 0x1234,
	       (unsigned long)status.st_dev);
	return 0;
}
"""

def types_of_system_headers_are_part_of_the_definition(t):
    script, source = t.scratch / "files.d", t.scratch / "files.c"
    script.write_text(FILES)
    source.write_text(SEEN)
    folder = made(t, script=script, name="files.h")
    for compiler in ("gcc", "g++"):
        path = compiled(folder, compiler, "-O2", "-g0", source=source, out="files")
        done = good(t.run("-qn", 'files*:::seen { printf("%d %d %d %d\\n", args[0]->st_ino, args[0]->st_mtim.tv_nsec, '
                          'args[2]->sin_port, args[3]); }', "-c", path))
        lines = done.stdout.split()
        equal(lines[:4], lines[4:], done.stdout)

def a_native_argument_can_be_passed_as_several_translated_ones(t):
    """args[n] and argn have the values in the order of the translated arguments."""
    script, source = t.scratch / "pairs.d", t.scratch / "pairs.c"
    script.write_text("provider pairs { probe place(int i, int j) : (int j, int i, int i, int j); };\n")
    source.write_text('#include "pairs.h"\nint main(void) { PAIRS_PLACE(7, -8); return 0; }\n')
    folder = made(t, script=script, name="pairs.h")
    path = compiled(folder, "gcc", "-O2", "-g0", source=source, out="pairs")
    done = good(t.run("-qn", 'pairs$target:::place { printf("%d %d %d %d, %d %d %d %d\\n", args[0], args[1], args[2], '
                      'args[3], (int)arg0, arg1, arg2, (int)arg3); }', "-c", path))
    equal(done.stdout.split("\n")[0], "-8 7 7 -8, -8 7 7 -8")

def arguments_are_translated_by_a_translator_in_a_library(t):
    path = program(made(t), "gcc", "-O2")
    done = t.run("-xerrtags", "-qn", "shop*:::shown { trace(args[1]->order_number); }", "-c", path)
    contains(done.stderr, "no translator from")
    agrees(t, path)

def without_a_definition_only_sizes_are_known(t):
    path = program(made(t, "-x", "strip"), "gcc", "-O2")
    equal(definitions(path), 0)
    listing = good(t.run("-lv", "-n", "shop$target:::sum", "-c", path)).stdout
    contains(listing, "args[0]: uint32_t")

def two_different_definitions_in_a_program_are_ignored(t):
    folder = made(t)
    other = t.scratch / "shop_other.d"
    other.write_text((USDT / "shop.d").read_text().replace("probe bare-name(int);", "probe bare-name(long);"))
    theirs = made(t, script=other)
    for compiler, flags in (("gcc", []), ("gcc", ["-flto"]), ("gcc", ["-flto", "-Wl,--gc-sections"]), ("clang", ["-flto"])):
        if not shutil.which(compiler) or (compiler == "clang" and not shutil.which("ld.lld")):
            continue
        linker = ["-fuse-ld=lld"] if compiler == "clang" else []
        main = compiled(folder, compiler, "-O1", *flags, "-c", out="main.o")
        second = compiled(theirs, compiler, "-O1", *flags, "-DOTHER", "-c", out="other.o")
        path = linked(folder, compiler, main, second, flags=[*flags, *linker])
        equal(definitions(path), 2, str(flags))
        done = t.run("-qn", "shop*:::bare-name { trace(args[0]); }", "-c", path + " 1")
        contains(done.stderr, "different definitions of provider shop")
        equal(numbers(done.stdout)[-1], 2)

def an_invalid_definition_is_reported_once_and_sizes_are_known(t):
    folder = made(t)
    path = program(folder, "gcc", "-O2")
    whole = pathlib.Path(path).read_bytes()
    probe = b"probe place(int i, int j, const char *what) : (int j, int i)"
    equal(whole.count(probe), 1)
    lies = {"cannot be read": b"probe place(int i, int j, const chor *what) : (int j, int i)",
            "passes 3 arguments, but its definition has 2": b"probe place(int i, int j                 ) : (int j, int i)"}
    for told, lie in lies.items():
        liar = folder / "liar"
        liar.write_bytes(whole.replace(probe, lie.ljust(len(probe))))
        liar.chmod(0o755)
        done = good(t.run("-qn", 'shop*:::place { printf("%d %d %d\\n", arg0, arg1, args[0]); }', "-c", f"{liar} 2"))
        equal([line for line in done.stdout.splitlines() if re.fullmatch(r"\d+ \d+ \d+", line)], ["1 2 1", "2 3 2"])
        equal(done.stderr.count(told), 1, done.stderr)

def other_tools_accept_programs_with_definitions(t):
    need("gdb")
    path = program(made(t), "gcc", "-O2", "-g")
    notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True)
    equal((notes.returncode, notes.stderr), (0, ""))
    contains(notes.stdout, "Name: order__placed")
    seen = subprocess.run(["gdb", "-batch", "-ex", "info probes stap shop", path], capture_output=True, text=True).stdout
    for name in ("start", "order__placed", "sum", "names", "place", "shown", "bare__name"):
        contains(seen, name)
    both = subprocess.run(["ld", "-r", str(pathlib.Path(path + "0.o")), path + "1.o", "-o", path + ".r.o"], capture_output=True, text=True)
    equal((both.returncode, both.stderr), (0, ""))
    agrees(t, linked(pathlib.Path(path).parent, "gcc", path + ".r.o", out="again"))

# Errors

def errors_have_a_reason_and_a_line(t):
    cases = (("provider web { probe go(nosuch_t *); };", "-h", "D_TYPE_ERR", "line 1: failed to resolve nosuch_t: Unknown type name"),
             ("provider web1 { probe go(); };", "-h", "D_PROV_BADNAME", "may not end with a digit"),
             *((f"provider {own} {{ probe go(); }};", flag, "D_PROV_BADNAME", f"provider {own} is one of DTrace's own")
               for own in ("pid", "dtrace", "profile", "tick", "usdt", "syscall", "rawfbt") for flag in ("-h", "-G")),
             *((f"provider {'p' * 56} {{ probe go(); }};", flag, "D_PROV_BADNAME", "is 56 bytes long, which exceeds the maximum of 55")
               for flag in ("-h", "-G")),
             ("provider web {\nprobe " + "n" * 64 + "(); };", "-h", "D_PROV_BADNAME", "is 64 bytes long, which exceeds the maximum of 63"),
             ("provider web { probe " + "n" * 60 + "-x-y(); };", "-G", "D_PROV_BADNAME", "(each - is stored as two bytes, __)"),
             ("provider web { probe go();\nprobe go(int); };", "-h", "D_PROV_PRDUP", "line 2"),
             ("provider web { probe go(); };\nprovider web { probe go(int); };", "-h", "D_PROV_INCOMPAT", "line 2"),
             ("provider web { probe go(int a) : (int b); };", "-G", "D_PROV_PRXLATOR", "no native argument for its translated argument b"),
             ("struct s { int x; };\nprovider web { probe go(struct s); };", "-h", "", "pass its address"),
             ("provider web { probe a__b();\nprobe a_b(); };", "-h", "",
              "line 2: web:::a_b and web:::a__b on line 1 would both define WEB_A_B in C"),
             ("provider web { probe a__enabled();\nprobe a(); };", "-h", "",
              "line 2: web:::a and web:::a__enabled on line 1 would both define WEB_A_ENABLED in C"),
             ("provider web { probe a();\nprobe a_enabled(); };", "-G", "", "would both define WEB_A_ENABLED in C"),
             ("provider web { probe bar__baz(int); };\nprovider web_bar { probe baz(char *); };", "-h", "",
              "line 2: web_bar:::baz and web:::bar__baz on line 1 would both define WEB_BAR_BAZ in C"),
             ("provider web { probe go(); };\nprovider WEB { probe go(); };", "-h", "", "would both define WEB_GO in C"),
             ("provider web { probe b___c(); };\nprovider web___b { probe c(); };", "-h", "",
              "would both define __dtrace_web___b___c in C"),
             ("int x;", "-h", "", "no provider is defined"),
             *((f"provider web {{\nprobe go({', '.join(13 * ['double'])}); }};", flag, "",
                "line 2: web:::go has 13 arguments, but a program can pass at most 12 to a probe") for flag in ("-h", "-G")))
    script = t.scratch / "wrong.d"
    for text, flag, tag, part in cases:
        script.write_text(text + "\n")
        out = t.scratch / "wrong.out"
        done = t.run("-xerrtags", flag, "-s", str(script), "-o", str(out))
        equal((done.returncode, out.exists()), (1, False), text)
        contains(done.stderr, part)
        contains(done.stderr, tag)
    script.write_text("provider web { probe go(); };\n")
    for flag in ("-h", "-G"):
        for target in ("/nosuch/file", str(t.scratch)):
            done = t.run(flag, "-s", str(script), "-o", target)
            equal(done.returncode, 1)
            contains(done.stderr, target)
        if os.path.exists("/dev/full"):
            contains(t.run(flag, "-s", str(script), "-o", "/dev/full").stderr, "No space left")
    equal(t.run("-h").returncode, 2)
    contains(t.run("-G", "-n", "BEGIN").stderr, "-G requires exactly one script")
    contains(t.run("-xlinktype=dof", "-G", "-s", str(script)).stderr, "not by DOF")

if __name__ == "__main__":
    main(tests_in(globals()))
