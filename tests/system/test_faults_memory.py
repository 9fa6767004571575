"""Tests invalid addresses in copyin() and similar subroutines (J in docs/faults.md)."""
import os, re, subprocess

from faults import *
from harness import *

LOOK = """
pid$target:a.out:look:entry { self->kind = arg1; self->what = 0; @calls = count(); }
pid$target:a.out:look:entry { this->x = *(uint64_t *)copyin(arg0, 8); @in["in", arg1] = count(); }
pid$target:a.out:look:entry { self->what = 1; this->s = copyinstr(arg0); @in["string", arg1] = count(); }
pid$target:a.out:look:entry { self->what = 2; this->b = copyin(arg0, 5000); @in["much", arg1] = count(); }
ERROR { @faults[self->what, self->kind, arg4] = count(); }
END { printa("%s %d %@d\\n", @in); printa("fault %d %d %d %@d\\n", @faults); }
"""
BADADDR = 1
CHANGING = (20, 21)  # kinds of addresses: a page that is mapped and unmapped repeatedly, a file that is truncated
NOT_TO_BE_READ = (18, 19)  # a write-only page, an execute-only page; x86-64 can nevertheless read both

def looked(t, rounds, flags):
    said, out = traced_command(t, LOOK, f"{t.victim('memory')} {rounds}", flags, complaints=True)
    contains(said, f"calls {rounds * 22} signals 0\n")
    return {tuple(line.split()[:-1]): int(line.split()[-1]) for line in out.splitlines()
            if line.startswith(("in ", "string ", "much ", "fault "))}

def bad_addresses_cause_d_faults_and_no_signal(t):
    """J1, J2, J3, J4, J13: reads addresses that are unmapped, unreadable, not canonical, in the kernel, or past the
    end of a file. Also reads memory that is unmapped or truncated during the read."""
    rounds = 1000
    for flags in BOTH:
        got = looked(t, rounds, flags)
        for what, name in enumerate(("in", "string", "much")):
            for kind in range(22):
                good = got.get((name, str(kind)), 0)
                bad = got.get(("fault", str(what), str(kind), str(BADADDR)), 0)
                equal(good + bad, rounds, f"{name} of kind {kind}")
                if kind not in (*CHANGING, *NOT_TO_BE_READ):
                    equal(bad, 0 if kind == 0 else rounds, f"faults of {name} of kind {kind}")
        equal(sum(got.get((name, str(kind)), 0) for name in ("in", "string") for kind in CHANGING) > 0,
              True, "some reads of changing memory")

def a_fault_names_its_address(t):
    """J1: the fault reports the address of the first unreadable byte"""
    for flags in BOTH:
        done = t.run(*flags, "-qn", "pid$target:a.out:look:entry { self->kind = arg1; trace(copyinstr(arg0)); } "
                     'ERROR { printf("at %d %x\\n", self->kind, arg5); }',
                     "-c", t.victim("memory") + " 1")
        equal(done.returncode, 0, done.stderr)
        address = {int(kind): int(at, 16) for kind, at in re.findall(r"^kind (\d+) address (\w+)$", done.stdout, re.M)}
        faults = {int(kind): int(at, 16) for kind, at in re.findall(r"^at (\d+) (\w+)$", done.stdout, re.M)}
        for kind, at in faults.items():
            behind = 4 if kind in (5, 7) else 0  # the load begins four bytes before an unmapped page
            equal(at, address[kind] + behind, f"the address of kind {kind}")
        equal(len(faults) >= 16, True, f"only {len(faults)} faults")

def stores_are_possible_only_to_the_programs_own_memory(t):
    """J7, J8: a store to text, to constants, to dtrace's memory or to an invalid address causes a fault"""
    source = t.scratch / "stores.c"
    source.write_text(r'''
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static const char constant[16] = "constant";
static volatile long sink;
__attribute__((noinline)) void put(const void* p, long kind) { sink += (long)p + kind; }
int main(void)
{
    char own[16] = "before", line[300], flags[8];
    unsigned long start, end;
    char* two = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(two + 4096, 4096, PROT_NONE);
    put(own, 0); put(constant, 1); put((void*)put, 2); put(0, 3); put(two + 4096, 4);
    put((void*)0xffff888000000000ul, 5); put((void*)0xfffffffffffffffful, 6);
    FILE* maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, flags) == 3 && strstr(line, "memfd:dtrace-") != NULL) {
            put((void*)start, 7);
            put((void*)(start + (end - start) / 2), 7);
        }
    }
    printf("own %s constant %s\n", own, constant);
    return 0;
}''')
    need("gcc")
    program = t.scratch / "stores"
    subprocess.run(["gcc", "-O1", "-o", str(program), str(source)], check=True)
    for flags in BOTH:
        done = t.run("-w", *flags, "-qn", 'pid$target:a.out:put:entry { self->kind = arg1; copyoutstr("changed", arg0, 8); '
                     "@stored[arg1] = count(); } ERROR { @refused[self->kind, arg4] = count(); } "
                     'END { printa("stored %d %@d\\n", @stored); printa("refused %d %d %@d\\n", @refused); }',
                     "-c", str(program))
        equal(done.returncode, 0, done.stderr)
        contains(done.stdout, "own changed constant constant\n")
        equal(re.findall(r"^stored .*", done.stdout, re.M), ["stored 0 1"], "stores")
        kinds = {int(kind) for kind in re.findall(rf"^refused (\d) {BADADDR} ", done.stdout, re.M)}
        equal(kinds >= {1, 2, 3, 4, 5, 6}, True, f"refused: {kinds}")
        if not flags:
            contains(done.stdout, f"refused 7 {BADADDR} 6\n")

def stacks_with_invalid_frame_pointers_are_truncated(t):
    """H10: frame pointers that form a loop, are not readable or point far away"""
    if not os.path.exists(t.victim("regs")):
        raise Skip("its machine code is x86-64's")
    for flags in BOTH:
        said, out = traced_command(t, "pid$target:a.out:probed:entry { @[ustack()] = count(); @d = max(ustackdepth); }",
                                   t.victim("regs") + " 300 9", flags, complaints=True)
        contains(said, "rounds 300 odd 0\n")

TESTS = tests_of(globals())

if __name__ == "__main__":
    main(TESTS)
