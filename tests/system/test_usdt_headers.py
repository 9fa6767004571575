#!/usr/bin/env python3
"""Tests <dtrace/sdt.h>, <sys/sdt.h> and <dtrace/usdt.hpp> with every compiler."""
import concurrent.futures, itertools, os, pathlib, re, shutil, struct, subprocess, time

from harness import *
from test_api import install

ROOT = HERE.parent.parent
INCLUDE = ROOT / "usdt/include"
VICTIMS = ROOT / "tests/victims/usdt"
SYSTEMTAP = pathlib.Path("/usr/include/x86_64-linux-gnu")
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror"]

# D programs that print the arguments of the victims' probes. The lines must be the same as those that the victims
# print.
OPERANDS = """
operands*:::bits { printf("bits %d %d %u\\n", args[0], args[1], args[2]); }
operands*:::packed { printf("packed %d %d %016x %s\\n", args[0], args[1], arg2, copyinstr(arg3)); }
operands*:::arrays { printf("arrays %s %s %s %d %d\\n", copyinstr(arg0), copyinstr(arg1), copyinstr(arg2),
    *(int *)copyin(arg3, 4), *(int *)copyin(arg4, 4)); }
operands*:::functions { printf("functions %x %x %x %x\\n", arg0, arg1, arg2, arg3); }
operands*:::variables { printf("variables %d %d %d %d %d %d\\n", args[0], args[1], args[2], args[3], args[4], args[5]); }
operands*:::addresses { printf("addresses %x %x %x %x\\n", arg0, arg1, arg2, arg3); }
operands*:::floats { printf("floats %016x %016x %016x %016x %016x %016x\\n", arg0, arg1, arg2, arg3, arg4, arg5); }
operands*:::enumerations { printf("enumerations %d %d %d %d %d\\n", args[0], args[1], args[2], args[3], args[4]); }
operands*:::constants { printf("constants %d %d %d %u %d %d\\n", args[0], args[1], args[2], args[3], args[4], args[5]); }
operands*:::none { printf("none\\n"); }
operands*:::twelve { printf("twelve %d %016x %s %016x %d %x %u %d %d %x\\n", args[0], arg1, copyinstr(arg2), arg3,
    args[4], arg5, args[6], args[7], args[8], arg9); }
"""
IN_C = 'operands*:::c { printf("c %d %d\\n", args[0], args[1]); }'
IN_CXX = """
operands*:::cxx { printf("cxx %d %d %d %d %d %d\\n", args[0], args[1], args[2], args[3], args[4], args[5]); }
operands*:::templated { printf("templated %d %d\\n", arg0, arg1); }
operands*:::lambda { printf("lambda %d %d\\n", args[0], args[1]); }
"""
OLD = """
old*:::query-start { printf("query-start %s %d\\n", copyinstr(arg0), args[1]); }
old*:::zero { printf("zero\\n"); }
old*:::one { printf("one %d\\n", args[0]); }
old*:::twelve { printf("twelve %d %d %d\\n", args[0], args[8], args[9]); }
old*:::any { printf("any %s %d\\n", copyinstr(arg0), args[1]); }
"""
OLD_IN_C = OLD + """
old*:::in_asm { printf("in_asm %d %d\\n", args[0], args[1]); }
old*:::at_operands { printf("at_operands %d %d\\n", args[0], args[1]); }
"""
TYPED = """
typed*:::none { printf("none\\n"); }
typed*:::query-start { printf("query-start %s %d\\n", copyinstr(arg0), args[1]); }
typed*:::floating { printf("floating %016x %016x\\n", arg0, arg1); }
typed*:::twelve-of-all { printf("twelve %d %d %d %d %d %d %d %d %d %d\\n", args[0], args[1], args[2], args[3],
    args[4], args[5], *(int *)copyin(arg6, 4), args[7], args[8], args[9]); }
typed*:::lazy { printf("lazy %s %d\\n", copyinstr(arg0), args[1]); }
typed*:::templated { printf("templated %d\\n", args[0]); }
"""
PLACES = 'places*:::at { printf("at %s\\n", copyinstr(arg0)); }'

# Compiling

def is_cxx(compiler):
    return "++" in compiler

def compiled(t, compiler, *flags, source, include=INCLUDE):
    """Compiles the source. Keeps the program for later tests."""
    need(compiler)
    source = VICTIMS / source
    name = re.sub(r"[/=,]", "_", "-".join([compiler, *map(str, flags), source.stem, include.parts[-1]]))
    out = t.scratch / name
    if not out.exists():
        language = ["-x", "c++"] if is_cxx(compiler) and source.suffix == ".c" else []
        done = subprocess.run([compiler, *flags, *WARNINGS, "-isystem" if include == SYSTEMTAP else "-I",
                               str(include), *language, str(source), "-o", str(out)], capture_output=True, text=True)
        equal((done.returncode, done.stderr), (0, ""), f"{compiler} {flags} {source.name}")
    return out

def refused(t, compiler, text, *flags):
    """Returns the compiler's first error. Fails if the text compiles."""
    need(compiler)
    done = subprocess.run([compiler, *flags, f"-I{INCLUDE}", "-x", "c++" if is_cxx(compiler) else "c", "-c", "-",
                           "-o", os.devnull], input=text, capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    if done.returncode == 0 or not errors:
        raise AssertionError(f"{compiler} compiles:\n{text}")
    return errors[0]

def compiles(compiler, text, *flags):
    """Checks that the text compiles without a warning."""
    need(compiler)
    done = subprocess.run([compiler, *flags, *WARNINGS, f"-I{INCLUDE}", "-x", "c++" if is_cxx(compiler) else "c", "-c", "-",
                           "-o", os.devnull], input=text, capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), f"{compiler} {flags}: {text}")

def at_once(jobs):
    """Runs the jobs in two threads. A job is a function and its arguments. Returns the results in order."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [done.result() for done in [pool.submit(*job) for job in jobs]]

# Notes

def section_of(file, name):
    out = subprocess.run(["objcopy", "-O", "binary", f"--only-section={name}", "--set-section-flags",
                          f"{name}=alloc", str(file), "/dev/stdout"], check=True, capture_output=True)
    return out.stdout

def notes_of(file):
    """Returns the three addresses of each note, its strings, and all of its other bytes."""
    data, at, notes = section_of(file, ".note.stapsdt"), 0, []
    while at < len(data):
        n_name, n_description, kind = struct.unpack_from("<III", data, at)
        begin = at + 12 + (n_name + 3) // 4 * 4
        end = begin + (n_description + 3) // 4 * 4
        addresses = struct.unpack_from("<QQQ", data, begin)
        texts = data[begin + 24:begin + n_description].decode().split("\0")
        notes.append((addresses, texts[:3], data[at:begin] + data[begin + 24:end]))
        at = end
    return notes

def no_operand_needs_a_symbol(file):
    for _, (provider, name, operands), _ in notes_of(file):
        if provider in ("operands", "typed", "kinds") and re.search(r"rip|\.L|GOT|[a-z]{4}", operands.replace(" PTR", "")):
            if not re.search(r"[DQ]?WORD|BYTE", operands):
                raise AssertionError(f"{file}: {name} has {operands}")

# Tracing

def prints_its_own_lines(t, program, script, *arguments, flags=()):
    """Checks that dtrace and the program print the same lines for the program's probes."""
    came = t.scratch / f"came.{time.monotonic_ns()}"
    done = good(t.run("-q", *flags, "-o", str(came), "-n", script, "-c", " ".join([str(program), *arguments])))
    for ours, its in itertools.zip_longest(came.read_text().strip().splitlines(), done.stdout.splitlines()):
        equal(ours, its, f"a line of {program}")
    return done

def good(done):
    equal(done.returncode, 0, done.stderr)
    return done

# Arguments

def ways_to_compile(long):
    for compiler in ("gcc", "g++", "clang", "clang++"):
        for level in ("-O0", "-O1", "-O2", "-O3", "-Os", "-Og"):
            yield compiler, level
    for flags in (["-fPIE", "-pie"], ["-no-pie", "-fno-pie"], ["-static"], ["-static-pie", "-fPIE"], ["-flto"],
                  ["-masm=intel"], ["-fno-omit-frame-pointer"], ["-mcmodel=large", "-fPIC"],
                  ["-ffunction-sections", "-Wl,--gc-sections"], ["-march=x86-64-v3", "-ffast-math"], ["-s"]):
        for compiler in ("gcc", "g++", "clang", "clang++") if long else ("gcc", "clang++"):
            yield compiler, "-O2", *flags
    yield "clang", "-O2", "-flto=thin", "-fuse-ld=lld"
    yield "g++", "-O0", "-masm=intel"
    yield "clang", "-O0", "-masm=intel"

def arguments_of_every_kind_are_right_in_every_kind_of_program(t):
    ways = [way for way in ways_to_compile(t.long) if shutil.which(way[0]) and
            ("lld" not in way[-1] or shutil.which("ld.lld"))]
    at_once([(lambda way: compiled(t, *way, source="operands.c"), way) for way in ways])
    for way in ways:
        program = compiled(t, *way, source="operands.c")
        if "-masm=intel" not in way:
            no_operand_needs_a_symbol(program)
        prints_its_own_lines(t, program, OPERANDS + (IN_CXX if is_cxx(way[0]) else IN_C), "3")

def arguments_are_right_if_few_registers_are_free(t):
    """There are twelve arguments, and several registers are reserved."""
    few = [f"-ffixed-{name}" for name in ("rbx", "r12", "r13", "r14", "r15")]
    for level in ("-O0", "-O2"):
        prints_its_own_lines(t, compiled(t, "gcc", level, *few, "-fno-omit-frame-pointer", source="operands.c"),
                             OPERANDS + IN_C, "3")

def arguments_are_right_in_a_stripped_program(t):
    program = shutil.copy(compiled(t, "gcc", "-O2", "-g", source="operands.c"), t.scratch / "stripped")
    notes = notes_of(program)
    subprocess.run(["objcopy", "--only-keep-debug", str(program), str(program) + ".debug"], check=True)
    subprocess.run(["strip", str(program)], check=True)
    equal(notes_of(program), notes)
    prints_its_own_lines(t, program, OPERANDS + IN_C, "3")

CANNOT_BE = {"struct { int x; } v": "v", "long double v": "v", "__int128 v": "v", "_Complex float v": "v",
             "int __attribute__((vector_size(16))) v": "v"}

def a_type_that_cannot_be_an_argument_is_a_compile_time_error(t):
    for compiler in ("gcc", "g++", "clang", "clang++"):
        for declaration, value in CANNOT_BE.items():
            contains(refused(t, compiler, f"#include <dtrace/sdt.h>\nvoid f(void)\n{{ {declaration} = {{0}}; "
                                          f"DTRACE_PROBE2(bad, bad, 1, {value}); }}"),
                     "an argument of a static probe must be an integer or enum of at most 8 bytes")
    contains(refused(t, "g++", "#include <dtrace/sdt.h>\n#include <atomic>\nvoid f(std::atomic<int>& v)\n"
                               "{ DTRACE_PROBE1(bad, bad, v); }"), "an argument of a static probe must be an integer")

def semaphores_that_no_probe_uses_do_not_compile(t):
    for compiler in ("gcc", "g++", "clang", "clang++"):
        for text in ("DTRACE_SEMAPHORE(a, b);\n", "DTRACE_SEMAPHORE_EXTERN(a, b);\nint f(void);\nint f(void) "
                     "{ if (DTRACE_PROBE_ENABLED(a, b)) return 1; return 0; }\n"):
            for header in ("dtrace/sdt.h", "sys/sdt.h"):
                contains(refused(t, compiler, f"#include <{header}>\n{text}"), "require DTRACE_USE_SEMAPHORES to be defined before")
            for before in ("#define DTRACE_USE_SEMAPHORES\n#include <dtrace/sdt.h>\n",
                           "#define _SDT_HAS_SEMAPHORES\n#include <sys/sdt.h>\n",
                           "#include <dtrace/sdt.h>\n#define _SDT_HAS_SEMAPHORES 1\n#include <sys/sdt.h>\n"):
                compiles(compiler, before + text)

def null_is_an_argument_without_a_warning(t):
    text = ('#include <cstddef>\n#include <sys/sdt.h>\nvoid f(const char* s);\nvoid f(const char* s)\n'
            '{ DTRACE_PROBE1(a, b, NULL); STAP_PROBE2(a, b, s, NULL); DTRACE_PROBE2(a, b, 0, s ? s : NULL); }\n')
    for compiler, standard in itertools.product(("g++", "clang++"), ("c++98", "c++11", "c++20")):
        compiles(compiler, text, f"-std={standard}", "-O2", "-Wconversion-null", "-Wunused-value")

def a_program_that_is_not_of_64_bits_does_not_compile(t):
    for compiler, flag in itertools.product(("gcc", "clang"), ("-m32", "-mx32")):
        contains(refused(t, compiler, "#include <dtrace/sdt.h>\n", flag), "only in 64-bit x86 programs")

def headers_compile_with_every_standard(t):
    text = ('#define _SDT_HAS_SEMAPHORES 1\n#define SDT_USE_VARIADIC\n#include <sys/sdt.h>\n'
            'extern unsigned short a_b_semaphore;\nunsigned short a_b_semaphore;\n'
            'int main(int c, char **v) { STAP_PROBE2(a, b, c, v); DTRACE_PROBEV(a, b); STAP_PROBEV(a, b, 1, 2.0); '
            'if (c) DTRACE_PROBE(a, b); else DTRACE_PROBE1(a, b, "x"); return 0; }\n')
    for compiler, standards in (("gcc", ("c89", "c99", "c17", "gnu89")), ("clang", ("c89", "c99", "c17")),
                                ("g++", ("c++98", "c++11", "c++20")), ("clang++", ("c++98", "c++17", "c++20"))):
        need(compiler)
        for standard in standards:
            done = subprocess.run([compiler, f"-std={standard}", "-pedantic", *WARNINGS, "-O1", f"-I{INCLUDE}", "-x",
                                   "c++" if is_cxx(compiler) else "c", "-c", "-", "-o", os.devnull], input=text,
                                  capture_output=True, text=True)
            equal((done.returncode, done.stderr), (0, ""), f"{compiler} {standard}")

# Places

def probes_and_tests_for_tracing_work_at_every_place_of_c(t):
    for compiler in ("gcc", "clang"):
        for level in ("-O0", "-O2"):
            # Some of the probes are in constructors.
            done = prints_its_own_lines(t, compiled(t, compiler, level, source="places.c"), PLACES,
                                        flags=["-x", "evaltime=preinit"])
            equal(len(done.stdout.strip().splitlines()), 20, done.stdout)
            if "not here" in done.stdout:
                raise AssertionError(done.stdout)

def probes_of_removed_functions_are_removed(t):
    for compiler, linker in itertools.product(("gcc", "clang"), ("bfd", "lld")):
        need(f"ld.{linker}")
        program = compiled(t, compiler, "-O1", "-ffunction-sections", "-Wl,--gc-sections", f"-fuse-ld={linker}",
                           source="places.c")
        whole = compiled(t, compiler, "-O1", "-ffunction-sections", source="places.c")
        equal(len(notes_of(program)), len(notes_of(whole)) - 1, f"{compiler} {linker}")
        equal([addresses for addresses, *_ in notes_of(program) if 0 in addresses], [])
        prints_its_own_lines(t, program, PLACES)

FOLDED = """
#ifdef TYPED
#include <dtrace/usdt.hpp>
#define HIT(name, x) dtrace::probe<"folded", name, long>::fire(x)
#define HIT_A(x) HIT("a", x)
#define HIT_B(x) HIT("b", x)
#else
#include <dtrace/sdt.h>
#define HIT_A(x) DTRACE_PROBE1(folded, a, x)
#define HIT_B(x) DTRACE_PROBE1(folded, b, x)
#endif
#define FUNCTION(name, probe) __attribute__((noinline)) long name(long x); long name(long x) { probe; return x + 1; }
FUNCTION(with_a, HIT_A(x))
FUNCTION(with_b, HIT_B(x))
FUNCTION(one, (void)x)
FUNCTION(other, (void)x)
int main(int c, char **v)
{
	(void)v;
	return with_a(c) + with_a(c) + with_a(c) + with_b(c) + one(c) + other(c) != 12;
}
"""

def functions_that_differ_by_a_probe_are_not_folded(t):
    source = t.scratch / "folded.c"
    source.write_text(FOLDED)
    for compiler, typed in (("gcc", []), ("clang", []), ("g++", ["-std=c++20", "-DTYPED"]), ("clang++", ["-std=c++20", "-DTYPED"])):
        for linker, icf in itertools.product(("lld", "gold"), ("safe", "all")):
            need(compiler)
            need(f"ld.{linker}")
            program = str(t.scratch / "folded")
            subprocess.run([compiler, *typed, "-O2", *WARNINGS, "-ffunction-sections", f"-fuse-ld={linker}", f"-Wl,--icf={icf}",
                            f"-I{INCLUDE}", *(["-x", "c++"] if typed else []), str(source), "-o", program], check=True)
            if icf == "all":  # the linker merges identical functions
                places = {line.split()[2]: line.split()[0] for line in
                          subprocess.run(["nm", "-C", program], capture_output=True, text=True).stdout.splitlines()
                          if len(line.split()) > 2}
                equal(*(places[next(name for name in places if name.startswith(what))] for what in ("one", "other")))
            done = good(t.run("-qn", "folded*::: { @[probename] = count(); }", "-c", program))
            equal(sorted(done.stdout.split()), sorted("a 3 b 1".split()), f"{compiler} {linker} {icf}")

def stripped_and_combined_objects_keep_their_probes(t):
    source = t.scratch / "folded.c"
    source.write_text(FOLDED)
    for compiler in ("gcc", "clang"):
        need(compiler)
        folder = t.scratch
        subprocess.run([compiler, "-c", "-O2", f"-I{INCLUDE}", str(source), "-o", str(folder / "whole.o")], check=True)
        for linker in ("bfd", "lld", "gold"):
            need(f"ld.{linker}")
            for strip in (["strip", "-g"], ["strip", "--strip-unneeded"]):
                for command in ([f"ld.{linker}", "-r", str(folder / "whole.o"), "-o", str(folder / "joined.o")],
                                [*strip, str(folder / "joined.o")],
                                [compiler, f"-fuse-ld={linker}", str(folder / "joined.o"), "-o", str(folder / "joined")]):
                    subprocess.run(command, check=True)
                equal(sorted(texts[1] for _, texts, _ in notes_of(folder / "joined")), ["a", "b"])
                good(t.run("-l", "-n", "folded$target:::a", "-n", "folded$target:::b", "-c", str(folder / "joined")))

def a_template_in_many_objects_has_one_site_and_no_invalid_note(t):
    for compiler in ("g++", "clang++"):
        need(compiler)
        objects = []
        for n in range(4):
            source = t.scratch / f"many{n}.cpp"
            source.write_text('#include <dtrace/sdt.h>\ntemplate <class T> [[gnu::noinline]] void one(T v)\n'
                              '{ DTRACE_PROBE1(many, one, v); }\ninline __attribute__((noinline)) void two()\n'
                              f'{{ DTRACE_PROBE(many, two); }}\n[[gnu::noinline]] void f{n}() {{ one({n}); two(); '
                              f'DTRACE_PROBE(many, own); }}\n' +
                              ("void f1(); void f2(); void f3(); int main() { f0(); f1(); f2(); f3(); }" if n == 0 else ""))
            objects.append(source)
        for flags in ([], ["-ffunction-sections", "-Wl,--gc-sections"]):
            program = t.scratch / "many"
            subprocess.run([compiler, "-O1", *flags, f"-I{INCLUDE}", *map(str, objects), "-o", str(program)], check=True)
            equal(sorted(texts[1] for _, texts, _ in notes_of(program)), ["one"] + 4 * ["own"] + ["two"])
            done = good(t.run("-qn", 'many*:::* { @[probename] = count(); } many*:::one { @v = sum(arg0); }', "-c", str(program)))
            equal(sorted(done.stdout.split()), sorted("6 one 4 own 4 two 4".split()))

def two_thousand_probes_of_one_object_exist(t):
    need("gcc")
    source = t.scratch / "thousands.c"
    source.write_text("#include <dtrace/sdt.h>\nint main(int c, char **v)\n{\n" + "".join(
        f"\tDTRACE_PROBE2(thousands, n{n}, c + {n}, v);\n" for n in range(2000)) + "\treturn 0;\n}\n")
    began = time.monotonic()
    subprocess.run(["gcc", "-O1", f"-I{INCLUDE}", str(source), "-o", str(t.scratch / "thousands")], check=True)
    if time.monotonic() - began > 60:
        raise AssertionError("2,000 probes take more than a minute to compile")
    done = good(t.run("-qn", "thousands*::: { @ = count(); @s = sum(arg0); }", "-c", str(t.scratch / "thousands")))
    equal([int(number) for number in done.stdout.split()], [2000, 2000 + sum(range(2000))])

def probes_in_assembly_have_the_registers_that_they_name(t):
    main = t.scratch / "assembled.c"
    main.write_text("long fire(long n);\nint main(void) { return fire(5) != 5; }\n")
    for compiler, include, flags in (("gcc", INCLUDE, []), ("clang", INCLUDE, []), ("gcc", INCLUDE, ["-DSYSTEMTAP"])):
        need(compiler)
        program = t.scratch / "assembled"
        subprocess.run([compiler, *flags, f"-I{include}", str(main), str(VICTIMS / "assembled.S"), "-o", str(program)],
                       check=True)
        done = good(t.run("-qn", "assembled*:::none { @n = count(); } assembled*:::one { @a = sum(args[0]); @b = sum(args[1]); } "
                                 "assembled*:::two { @c = sum(args[0]); @d = sum(args[1]); }", "-c", str(program)))
        twice = 2 if flags else 1
        equal([int(number) for number in done.stdout.split()], [5, 15, -25, 25 * twice, 15 * twice])

# Macros of SystemTap

def old(compiler):
    return OLD if is_cxx(compiler) else OLD_IN_C

def programs_for_systemtaps_header_are_traced_the_same_with_ours(t):
    for compiler in ("gcc", "g++", "clang", "clang++"):
        for flags in (["-O0"], ["-O2"], ["-O2", "-fPIC", "-flto"]):
            prints_its_own_lines(t, compiled(t, compiler, *flags, source="systemtap.c"), old(compiler), "4")

def systemtap_is_here():
    if not (SYSTEMTAP / "sys/sdt.h").exists():
        raise Skip("systemtap-sdt-dev is not installed")

def programs_with_systemtaps_own_header_are_traced(t):
    systemtap_is_here()
    for compiler in ("gcc", "g++", "clang", "clang++"):
        prints_its_own_lines(t, compiled(t, compiler, "-O2", source="systemtap.c", include=SYSTEMTAP),
                             old(compiler), "4")

def constants_of_systemtaps_header_in_intels_syntax_are_no_addresses(t):
    """The argument of probe `one` would be an address in AT&T syntax. Only the note of probe `two` shows that the file
    has Intel syntax."""
    systemtap_is_here()
    source = t.scratch / "bare.c"
    source.write_text("#include <sys/sdt.h>\nint main(int argc, char **argv) { DTRACE_PROBE1(bare, one, 4194304); "
                      "DTRACE_PROBE1(bare, two, argc); (void)argv; return 0; }\n")
    program = compiled(t, "gcc", "-O2", "-masm=intel", "-no-pie", "-fno-pie", source=source, include=SYSTEMTAP)
    equal([texts[2] for _, texts, _ in notes_of(program)], ["-4@4194304", "-4@edi"])
    done = good(t.run("-qn", 'bare*::: { printf("%d\\n", args[0]); }', "-c", str(program)))
    equal(done.stdout.split(), ["4194304", "1"])

def notes_equal_those_of_systemtap_byte_for_byte(t):
    systemtap_is_here()
    for flags in (["-O2"], ["-O1"], ["-O2", "-fPIC"]):
        ours, theirs = (sorted(notes_of(compiled(t, "gcc", *flags, source="systemtap.c", include=include)),
                               key=lambda note: note[1]) for include in (INCLUDE, SYSTEMTAP))
        equal([texts[:2] for _, texts, _ in ours], [texts[:2] for _, texts, _ in theirs])
        n_same = 0
        for one, other in zip(ours, theirs):
            # The two headers may pass an argument in different locations, so only the sizes are compared.
            equal(re.findall(r"\S+(?=@)", one[1][2]), re.findall(r"\S+(?=@)", other[1][2]), one[1][1])
            equal([at != 0 for at in one[0]], [at != 0 for at in other[0]], one[1][1])
            if one[1][2] == other[1][2]:
                equal(one[2], other[2], f"bytes of {one[1][1]}")
                n_same += 1
        if n_same < 3:
            raise AssertionError(f"only {n_same} of {len(ours)} notes have the same operands")

def both_headers_can_be_included_in_either_order(t):
    systemtap_is_here()
    alone = t.scratch / "alone"
    alone.mkdir(exist_ok=True)
    if not (alone / "dtrace").exists():
        (alone / "dtrace").symlink_to(INCLUDE / "dtrace")
    for order in (["dtrace/sdt.h", "sys/sdt.h"], ["sys/sdt.h", "dtrace/sdt.h"]):
        for compiler, semaphores in itertools.product(("gcc", "g++", "clang", "clang++"), (False, True)):
            need(compiler)
            text = (("#define DTRACE_USE_SEMAPHORES\n" if semaphores else "") +
                    "".join(f"#include <{header}>\n" for header in order) +
                    "#ifndef _SDT_ASM_1\n#error it is another\n#endif\n" +
                    ("DTRACE_SEMAPHORE(both, one);\n" if semaphores else "") +
                    "int main(int c, char **v) { DTRACE_PROBE2(both, one, c, v); DTRACE_PROBE(both, one); "
                    "DTRACE_PROBEV(both, one, c); return 0; }\n")
            program = t.scratch / "both"
            done = subprocess.run([compiler, "-O2", *WARNINGS, f"-I{alone}", "-isystem", str(SYSTEMTAP), "-x",
                                   "c++" if is_cxx(compiler) else "c", "-", "-o", str(program)], input=text,
                                  capture_output=True, text=True)
            equal((done.returncode, done.stderr), (0, ""), f"{compiler} {order}")
            equal([addresses[2] != 0 for addresses, *_ in notes_of(program)], 3 * [semaphores])

# C++ types

def typed_probes_are_traced_with_their_types(t):
    for compiler, *flags in (["g++", "-O0"], ["g++", "-O2"], ["clang++", "-O0"], ["clang++", "-O2"],
                             ["g++", "-O2", "-flto"], ["clang++", "-O2", "-fPIC", "-pie"], ["g++", "-O2", "-static"],
                             ["g++", "-Os", "-masm=intel"], ["clang++", "-O2", "-masm=intel"]):
        program = compiled(t, compiler, "-std=c++20", *flags, source="typed.cpp")
        contains(prints_its_own_lines(t, program, TYPED, "3").stderr, "made 3\n")
        alone = subprocess.run([str(program), "3"], capture_output=True, text=True)
        equal(alone.stderr, "made 0\n", "arguments that are computed without a tracer")

def a_wrong_call_of_a_typed_probe_does_not_compile(t):
    start = '#include <dtrace/usdt.hpp>\nusing p = dtrace::probe<"app", "query-start", const char*, int>;\n'
    wrong_type = "this argument is not of the type that the probe declares"
    for compiler in ("g++", "clang++"):
        for text, error in (
                ('void f() { p::fire("x"); }', r"no matching function for call to .*fire|too few arguments"),
                ('void f() { p::fire("x", 1, 2); }', r"no matching function for call to .*fire|too many arguments"),
                ('void f() { p::fire("x", 1.5); }', wrong_type),
                ('void f() { p::fire(1, 1); }', wrong_type),
                ('void f(int* i) { DTRACE_FIRE(p, i, 1); }', wrong_type),
                ('struct S {}; void f(S s) { dtrace::probe<"a", "b", S>::fire(s); }',
                 "an argument of a static probe must be an integer"),
                ('void f() { dtrace::probe<"a", "b c">::fire(); }', "a provider's or probe's name must consist of letters, digits"),
                ('void f() { dtrace::probe<"a", "1b">::fire(); }', "begin with a letter or _"),
                ('void f() { dtrace::probe<"1a", "b">::fire(); }', "begin with a letter or _"),
                ('void f() { dtrace::probe<"a1", "b">::fire(); }', "must not end in a digit"),
                ('void f() { dtrace::probe<"a-b", "b">::fire(); }', "must not contain -"),
                ('void f() { dtrace::probe<"", "b">::fire(); }', "a provider's or probe's name must consist of letters, digits"),
                *((f'void f() {{ dtrace::probe<"{own}", "b">::fire(); }}', "is one of DTrace's own")
                  for own in ("pid", "dtrace", "profile", "tick", "usdt", "syscall", "rawfbt")),
                (f'void f() {{ dtrace::probe<"{"p" * 56}", "b">::fire(); }}', "at most 55 characters"),
                (f'void f() {{ dtrace::probe<"a", "{"n" * 64}">::fire(); }}', "at most 63 characters"),
                (f'void f() {{ dtrace::probe<"a", "{"n" * 60}--">::fire(); }}', "at most 63 characters"),
                (f'void f() {{ dtrace::probe<"{"p" * 50}", "{"n" * 60}">::fire(); }}', "at most 101 characters"),
                ('void f(int i) { dtrace::probe<"a", "b", int&>::fire(i); }', "must not be const, references or arrays")):
            first = refused(t, compiler, start + text + "\n", "-std=c++20")
            if not re.search(error, first):
                raise AssertionError(f"{compiler}: {first}")
    contains(refused(t, "g++", start, "-std=c++17"), "dtrace/usdt.hpp needs C++20")

def names_of_maximum_length_and_names_like_those_of_dtrace_are_traced(t):
    source = t.scratch / "names.cpp"
    long = ("p" * 55, "n" * 45), ("profiler", "n" * 63), ("p", "a-" * 21)
    source.write_text("#include <dtrace/usdt.hpp>\nint main()\n{\n" + "".join(
        f'    dtrace::probe<"{provider}", "{name}">::fire();\n' for provider, name in long) + "}\n")
    for compiler in ("g++", "clang++"):
        need(compiler)
        subprocess.run([compiler, "-std=c++20", f"-I{INCLUDE}", str(source), "-o", str(t.scratch / "names")], check=True)
        for provider, name in long:
            done = good(t.run("-qn", f'{provider}$target:::{name} {{ printf("%s", probename); }}', "-c", str(t.scratch / "names")))
            equal(done.stdout.strip(), name)

def names_that_are_too_long_for_d_stay_different(t):
    need("gcc")
    begin = "n" * 63
    (t.scratch / "long.c").write_text(
        f"#include <dtrace/sdt.h>\nint main(void)\n{{\n\tDTRACE_PROBE(longer, {begin}_a);\n"
        f"\tDTRACE_PROBE1(longer, {begin}_b, 7);\n\tDTRACE_PROBE({'p' * 70}, one);\n\treturn 0;\n}}\n")
    program = str(t.scratch / "long")
    subprocess.run(["gcc", f"-I{INCLUDE}", str(t.scratch / "long.c"), "-o", program], check=True)
    rows = [line.split()[1:] for line in good(t.run("-l", "-n", "longer*:::, ppp*:::", "-c", program)).stdout.splitlines()[1:]]
    equal([(len(row[0]) <= 63, len(row[3]) <= 63, row[0][:4], row[3][:3]) for row in rows],
          [(True, True, "long", "nnn"), (True, True, "long", "nnn"), (True, True, "pppp", "one")])
    equal(len({row[3] for row in rows}), 3)
    for name in (begin + "_b", next(row[3] for row in rows if "longer" in row[0])):
        done = good(t.run("-qn", f'longer*:::{name} {{ printf("%s", probename); }}', "-c", program))
        equal(done.stdout.strip() in {row[3] for row in rows}, True, done.stdout)
    done = good(t.run("-qn", "longer*::: { @[probename] = count(); } ppp*:::one { @[probename] = count(); }", "-c", program))
    equal(sorted(done.stdout.split()), sorted([row[3] for row in rows] + 3 * ["1"]))

# Installation

def an_installation_is_found_by_cmake_and_by_pkg_config(t):
    prefix = install(t, "prefix")
    project = t.scratch / "project"
    project.mkdir(exist_ok=True)
    (project / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.20)
project(outside C CXX)
find_package(dtrace-usdt 0.1 REQUIRED)
set(CMAKE_CXX_STANDARD 20)
add_executable(typed typed.cpp)
add_executable(systemtap systemtap.c)
foreach(program typed systemtap)
  target_link_libraries(${program} PRIVATE dtrace::usdt)
endforeach()
""")
    for source in ("typed.cpp", "systemtap.c"):
        shutil.copy(VICTIMS / source, project)
    for command in (["-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
                    ["--build", project / "build"]):
        done = subprocess.run(["cmake", *map(str, command)], capture_output=True, text=True)
        equal(done.returncode, 0, done.stdout + done.stderr)
    prints_its_own_lines(t, project / "build/typed", TYPED, "2")
    prints_its_own_lines(t, project / "build/systemtap", OLD_IN_C, "2")
    need("pkg-config")
    flags = subprocess.run(["pkg-config", "--cflags", "dtrace-usdt"], check=True, capture_output=True, text=True,
                           env={**os.environ, "PKG_CONFIG_PATH": str(next(prefix.rglob("dtrace-usdt.pc")).parent)})
    need("gcc")
    subprocess.run(["gcc", "-O2", *flags.stdout.split(), str(VICTIMS / "systemtap.c"), "-o",
                    str(t.scratch / "by-pkg-config")], check=True)
    prints_its_own_lines(t, t.scratch / "by-pkg-config", OLD_IN_C, "2")

# Other tracers

NOP_5, NOP_10 = bytes.fromhex("0f1f440000"), bytes.fromhex("662e0f1f840000000000")
# The distance in bytes from a note's address to the instruction on which a tool sets its uprobe.
READERS = {
    "gdb, perf, bcc, SystemTap, libbpf before 1.7": lambda text: 0,
    "libbpf 1.7, which prefers a nop of 5 bytes": lambda text: 1 if text[1:6] == NOP_5 else 0,
    "libbpf after 1.7, which prefers a nop of 10 bytes": lambda text: 1 if text[1:11] == NOP_10 else 0,
}

def site_of(program):
    """Returns the file offset of the program's only static probe, and the 16 bytes of text from there."""
    notes = subprocess.run(["readelf", "-nW", program], check=True, capture_output=True, text=True).stdout
    segments = subprocess.run(["readelf", "-lW", program], check=True, capture_output=True, text=True).stdout
    at = int(re.search(r"Location: (0x[0-9a-f]+)", notes)[1], 16)
    for offset, address, length in re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", segments):
        if int(address, 16) <= at < int(address, 16) + int(length, 16):
            offset = at - int(address, 16) + int(offset, 16)
            return offset, pathlib.Path(program).read_bytes()[offset:offset + 16]
    raise AssertionError(f"{program}: no segment has the probe at {at:#x}")

def a_uprobe_of_another_tracer_does_not_change_the_red_zone_of_a_leaf_function(t):
    """If a uprobe is on a nop of 5 bytes, Linux 6.18 replaces the nop with a call. The call pushes a word, which may
    overwrite the red zone."""
    need("readelf")
    folder = t.scratch / "red-zone"
    folder.mkdir()
    (folder / "red_zone_made.d").write_text("provider redzone { probe site(long n); };\n")
    good(t.run("-h", "-s", str(folder / "red_zone_made.d"), "-o", str(folder / "red_zone_made.h")))
    n_hits, refused = 0, "neither gcc nor clang is installed"
    for compiler, level, made in itertools.product(("gcc", "clang"), ("-O1", "-O2"), ("sdt.h", "-h", "-h and -G")):
        if not shutil.which(compiler):
            continue
        program = str(folder / f"red-zone-{compiler}{level}-{made.replace(' ', '')}")
        command = [compiler, level, *WARNINGS, f"-I{INCLUDE}", f"-I{folder}", *(["-DMADE_BY_DTRACE_H"] if made != "sdt.h" else [])]
        inputs = [str(VICTIMS / "red_zone.c")]
        if made == "-h and -G":
            subprocess.run([*command, "-c", *inputs, "-o", f"{program}.o"], check=True)
            good(t.run("-G", "-s", str(folder / "red_zone_made.d"), "-o", f"{program}.provider.o", f"{program}.o"))
            inputs = [f"{program}.o", f"{program}.provider.o"]
        subprocess.run([*command, *inputs, "-o", program], check=True)
        offset, text = site_of(program)
        for reader, place in READERS.items():
            said = subprocess.run([program, hex(offset + place(text)), "500"], check=True,
                                  capture_output=True, text=True).stdout
            if said.startswith("no uprobe"):  # the kernel refuses uprobes on some instructions, and from ordinary users
                refused = said.strip()
                continue
            hits, wrong = map(int, re.fullmatch(r"hits (\d+) wrong (\d+)\n", said).groups())
            equal((hits, wrong), (500, 0), f"{reader}: {program}")
            n_hits += hits
    if n_hits == 0:
        raise Skip(refused)

if __name__ == "__main__":
    main(tests_in(globals()))
