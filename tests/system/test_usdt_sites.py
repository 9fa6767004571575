#!/usr/bin/env python3
"""Tests unusual static probes: shared sites, unusual operands, damaged notes, and semaphores after an unload or a kill.
"""
import os, pathlib, random, re, signal, struct, subprocess, time

from harness import *
from test_deaths import agent_of
from test_usdt import INCLUDE, ROOT, compiled
from traced import *

ODD = ROOT / "tests/victims/usdt/odd.c"
LIBRARY, HOLDER = (ROOT / f"tests/victims/usdt/{name}.c" for name in ("library", "holder"))

def odd(t, *flags):
    return compiled(t, "gcc", "-O1", *flags, source=ODD)

SHARED = ('odd*:::first { @["static"] = count(); @sum["static"] = sum(arg0); } '
          'pid$target:a.out:first:entry { @["entry"] = count(); @sum["entry"] = sum(arg0); } '
          'pid$target:a.out:first:0 { @["offset"] = count(); } '
          'END { printa("%s %@d\\n", @); printa("sum %s %@d\\n", @sum); }')

def rows(text):
    return {name: int(n) for name, n in re.findall(r"^((?:sum )?\w+) (\d+)$", text, re.M)}

def a_site_can_be_the_first_instruction_of_a_function(t):
    for flags in ((), ("-x", "mechanism=int3")):
        done = good(t.run("-q", *flags, "-n", SHARED, "-c", odd(t) + " 50"))
        equal(rows(done.stdout), {"static": 50, "entry": 50, "offset": 50,
                                  "sum static": 1275, "sum entry": 1275}, done.stderr)

def a_followed_child_has_all_probes_that_share_a_site(t):
    done = good(t.run("-q", "-x", "follow=fork", "-n", SHARED, "-c", odd(t) + " 50 fork"))
    equal(rows(done.stdout), {"static": 100, "entry": 100, "offset": 100,
                              "sum static": 2550, "sum entry": 2550}, done.stderr)
    # Without -x follow, a child has the static probes, but not the pid probes at the same site.
    done = good(t.run("-qn", SHARED, "-c", odd(t) + " 50 fork"))
    equal(rows(done.stdout), {"static": 100, "entry": 50, "offset": 50,
                              "sum static": 2550, "sum entry": 1275}, done.stderr)

SEGMENTS = 'odd*:::segments { printf("segments 0x%x %d %d\\n", arg0, args[1], args[2]); }'

def operands_may_have_a_segment(t):
    for flags in ((), ("-x", "mechanism=int3")):
        came = t.scratch / f"segments.came{len(flags)}"
        done = good(t.run("-q", *flags, "-o", str(came), "-n", SEGMENTS, "-c", odd(t) + " 5"))
        equal(came.read_text().strip(), done.stdout.strip())

def a_file_with_another_text_address_than_its_notes_has_its_probes(t):
    done = good(t.run("-q", "-n", SHARED, "-c", odd(t, "-DMOVED=0x1000") + " 20"))
    equal(rows(done.stdout)["static"], 20, done.stderr)

def a_note_with_a_wrong_address_does_no_harm(t):
    """The note's address is in the middle of an instruction. A breakpoint there would change that instruction."""
    whole = pathlib.Path(compiled(t, "gcc", "-O1", source=ODD)).read_bytes()
    notes = [at.start() + 12 + 8 for at in re.finditer(rb"(?s)\x08\0\0\0....\x03\0\0\0stapsdt\0", whole)]
    if not notes:
        raise AssertionError("no note was found to damage")
    for shift in (-9, -3, -2, -1, 3):
        lies = bytearray(whole)
        for at in notes:
            where = int.from_bytes(lies[at:at + 8], "little") + shift
            lies[at:at + 8] = where.to_bytes(8, "little")
        program = t.scratch / f"lies{shift}"
        program.write_bytes(lies)
        program.chmod(0o755)
        for flags in ((), ("-x", "mechanism=int3")):
            done = t.run("-Zqn", "odd*::: { @ = count(); }", *flags, "-c", f"{program} 5")
            equal(done.returncode, 0, done.stderr)
            equal(done.stdout.count("segments"), 5)
            contains(done.stderr, "is not at a nop, and is omitted")

def a_note_with_an_address_inside_our_nop_does_no_harm(t):
    """The bytes at the note's address also form a nop, but dtrace must omit the site."""
    program = pathlib.Path(compiled(t, "gcc", "-O1", source=ROOT / "tests/victims/usdt/red_zone.c"))
    whole = program.read_bytes()
    at = re.search(rb"(?s)\x08\0\0\0....\x03\0\0\0stapsdt\0", whole).start() + 12 + 8
    for shift in (2, 3):
        damaged = t.scratch / f"inside{shift}"
        address = int.from_bytes(whole[at:at + 8], "little") + shift
        damaged.write_bytes(whole[:at] + address.to_bytes(8, "little") + whole[at + 8:])
        damaged.chmod(0o755)
        done = t.run("-Zqn", "redzone*::: { @ = count(); }", "-c", f"{damaged} 0 5")
        equal(done.returncode, 0, done.stderr)
        contains(done.stderr, "is not at a nop, and is omitted")

MANY = 2000

MANY_NOTES = r"""
__asm__(".pushsection .note.stapsdt,\"\",@note\n"
        ".rept 70000\n.long 8, 35, 3\n.asciz \"stapsdt\"\n.quad place, 0, 0\n"
        ".asciz \"app\"\n.asciz \"query\"\n.asciz \"\"\n.balign 4\n.endr\n.popsection");
int main(void) { __asm__ volatile("place: nop; nop"); return 0; }
"""

def with_notes(t, n):
    source = t.scratch / f"notes{n}.c"
    source.write_text(MANY_NOTES.replace("N_NOTES", str(n)))
    return pathlib.Path(compiled(t, "gcc", "-no-pie", source=source))

def notes_beyond_the_limit_are_reported(t):
    program = with_notes(t, 70000)
    done = good(t.run("-qn", 'app$target:::query { printf("fired"); }', "-c", str(program)))
    contains(done.stderr, ".note.stapsdt has more than 65536 notes: 4464 of them are omitted")
    equal(done.stdout.strip(), "fired")

def a_section_beyond_the_limit_is_named_if_no_probe_matches(t):
    program = with_notes(t, 1)
    file = bytearray(program.read_bytes())
    headers, = struct.unpack_from("<Q", file, 40)
    n, names = struct.unpack_from("<HH", file, 60)
    text, = struct.unpack_from("<Q", file, headers + 64 * names + 24)
    for at in range(headers, headers + 64 * n, 64):
        name, = struct.unpack_from("<I", file, at)
        if file[text + name:].startswith(b".note.stapsdt\0"):
            struct.pack_into("<Q", file, at + 32, 400 << 20)
    program.write_bytes(file)
    done = t.run("-qn", "app$target:::query { }", "-c", str(program))
    equal(done.returncode, 1, done.stderr)
    contains(done.stderr, "section .note.stapsdt is 400 MiB and is omitted: the maximum is 384 MiB")

def two_thousand_probes_of_one_file_fire_once_each(t):
    source = t.scratch / "many.c"
    probes = "\n".join(f"\tDTRACE_PROBE2(many, p{n}, i + {n}, n);" for n in range(MANY))
    source.write_text(f"#include <dtrace/sdt.h>\n__attribute__((noinline)) void all(int i, long n) {{\n{probes}\n}}\n"
                      "int main(int argc, char **argv) { (void)argv; all(argc, -7); return 0; }\n")
    program = compiled(t, "gcc", "-O2", source=source)
    done = good(t.run("-qn", 'many*::: { @[probename, arg0] = count(); @n = sum(arg1); } '
                      'END { printa("%s %d %@d\\n", @); printa("n %@d\\n", @n); }', "-c", program))
    fired = re.findall(r"^p(\d+) (\d+) (\d+)$", done.stdout, re.M)
    equal(sorted((int(n), int(value), int(count)) for n, value, count in fired),
          [(n, n + 1, 1) for n in range(MANY)])
    contains(done.stdout, f"n {-7 * MANY}")

# Semaphores

class Holder:
    def __init__(self, t):
        library = compiled(t, "gcc", "-O1", "-shared", "-fPIC", source=LIBRARY)
        self.process = subprocess.Popen([compiled(t, "gcc", "-O1", source=HOLDER), library], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    def do(self, what):
        """Sends a letter, and returns the number in the reply. For the letter t, this is the value of the semaphore."""
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        letter, count = self.process.stdout.readline().split()
        equal(letter, what)
        return int(count)

TURNS = "held*:::turn { @ = count(); }"

def semaphores_of_an_unloaded_library_are_forgotten(t):
    holder = Holder(t)
    with held(holder.process):
        holder.do("o")
        equal(holder.do("t"), 0)
        traced = Traced(t, TURNS, holder.process.pid)
        equal(holder.do("t"), 1)
        holder.do("c")
        holder.do("o")  # loads the library again, most likely at the same address
        again = holder.do("t")
        if again not in (0, 1):
            raise AssertionError(f"the semaphore of the library is {again} after it was loaded again")
        holder.do("c")
        holder.do("o")
        out = traced.finish(signal.SIGINT)
        equal(numbers(out)[-1] >= 10, True, out)
        equal(holder.do("t"), 0)
        released(holder.process.pid)

def planting_again_raises_a_semaphore_only_once(t):
    holder = Holder(t)
    with held(holder.process):
        holder.do("o")
        for way in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            traced = Traced(t, TURNS, holder.process.pid)
            equal(holder.do("t"), 1)
            traced.finish(way)
            equal(holder.do("t"), 0)

def kill_both(traced):
    """Kills dtrace and its agent."""
    agent = agent_of(traced.process)
    traced.process.send_signal(signal.SIGSTOP)
    os.kill(agent, signal.SIGKILL)
    traced.process.kill()
    traced.process.communicate()

def dtrace_lowers_semaphores_of_a_killed_agent(t):
    holder = Holder(t)
    with held(holder.process):
        holder.do("o")
        for _ in range(2):
            traced = Traced(t, TURNS, holder.process.pid)
            equal(holder.do("t"), 1)
            os.kill(agent_of(traced.process), signal.SIGKILL)
            traced.process.communicate()
            equal(holder.do("t"), 0)

def the_next_tracer_lowers_semaphores_of_a_killed_one(t):
    holder = Holder(t)
    with held(holder.process):
        holder.do("o")
        for round in range(3):
            traced = Traced(t, TURNS, holder.process.pid)
            equal(holder.do("t"), 1, f"traced, round {round}")
            kill_both(traced)
            wait_until(lambda: tracer_of(holder.process.pid) == 0, what="the release of the target")
            equal(holder.do("t"), 1, "the semaphore while there is no tracer")
            traced = Traced(t, TURNS if round == 1 else
                            "pid$target:libc.so.6:malloc:entry { @ = count(); }", holder.process.pid)
            equal(holder.do("t"), 1 if round == 1 else 0, f"traced again, round {round}")
            traced.finish(signal.SIGINT)
            equal(holder.do("t"), 0, f"round {round}")

def semaphores_are_lowered_after_kills_at_any_moment(t):
    holder = Holder(t)
    with held(holder.process):
        holder.do("o")
        for round in range(300 if t.long else 15):
            who = random.choice(("agent", "dtrace", "both"))
            process = t.start("-Zqn", TURNS, "-p", str(holder.process.pid))
            with held(process):
                time.sleep(0.01 + random.random() * 0.12)
                agent = agent_of(process)
                if who == "both":
                    process.send_signal(signal.SIGSTOP)
                if who != "dtrace" and agent:
                    os.kill(agent, signal.SIGKILL)
                if who != "agent" or not agent:
                    process.kill()
                process.communicate(timeout=60)
            wait_until(lambda: tracer_of(holder.process.pid) == 0, what="the release of the target")
            equal(holder.process.poll(), None, f"the target's status, round {round}, killed: {who}")
            Traced(t, "pid$target:libc.so.6:malloc:entry { @ = count(); }", holder.process.pid).finish(signal.SIGINT)
            equal(holder.do("t"), 0, f"round {round}, killed: {who}")

def a_library_may_be_unloaded_after_the_kill_of_a_tracer(t):
    holder = Holder(t)
    with held(holder.process):
        holder.do("o")
        traced = Traced(t, TURNS, holder.process.pid)
        equal(holder.do("t"), 1)
        kill_both(traced)
        wait_until(lambda: tracer_of(holder.process.pid) == 0, what="the release of the target")
        holder.do("c")
        holder.do("o")
        Traced(t, "pid$target:libc.so.6:malloc:entry { @ = count(); }", holder.process.pid).finish(signal.SIGINT)
        equal(holder.do("t"), 0)

if __name__ == "__main__":
    main(tests_in(globals()))
