#!/usr/bin/env python3
"""Tests programs whose stacks grow: Go, and C with -fsplit-stack. An entry probe fires once for each call, even if the
function grows its stack. If the stack may be full, a probe writes nothing below the stack pointer."""
import os, re, subprocess

from harness import *
from traced import *

def good(done):
    equal(done.returncode, 0, done.stderr)
    return done

def built(t):
    return go_program(t, "go_stack")

def said(text):
    return {name: int(n) for name, n in re.findall(r"^(\w+) (\d+)$", text, re.M)}

def counted(t, program, names, calls, *flags):
    """Returns the numbers that the program prints, the entries and returns of each function, and dtrace's messages."""
    done = good(t.run("-q", *flags, "-n", " ".join(
        f'pid$target:a.out:{name}:entry {{ @e["{name}"] = count(); }} pid$target:a.out:{name}:return {{ @r["{name}"] = count(); }}'
        for name in names) + ' END { printa("%s: %@d entries, %@d returns\\n", @e, @r); }', "-c", f"{program} {calls}"))
    rows = {name: (int(e), int(r)) for name, e, r in
            re.findall(r"^(\S+): (\d+) entries, (\d+) returns$", done.stdout, re.M)}
    return said(done.stdout), rows, done.stderr

GO = ("main.leaf.abi0", "main.deep", "main.large", "main.small")

def a_go_function_that_grows_its_stack_is_entered_once(t):
    program = built(t)
    says, rows, error = counted(t, program, GO, 200)
    equal(rows, {name: (says[name.split(".")[1]],) * 2 for name in GO}, error)

def nothing_is_written_below_the_stack_of_a_go_function_that_does_not_check_it(t):
    program = built(t)
    for flags in ((), ("-x", "mechanism=int3")):
        says, rows, error = counted(t, program, GO[:1], 100, *flags)
        equal((says["written"], rows["main.leaf.abi0"]), (0, (100, 100)), error)
    done = good(t.run("-qn", "pid$target:a.out:main.leaf*: { @ = count(); }", "-c", f"{program} 20"))
    equal(said(done.stdout)["written"], 0, done.stderr)

def a_wildcard_omits_go_functions_without_a_stack_check_and_reports_this(t):
    """Go's runtime often calls functions without a stack check, and a breakpoint costs 20 us per hit."""
    done = good(t.run("-qn", 'pid$target:a.out:main.*:entry { @[probefunc] = count(); }', "-c", f"{built(t)} 20"))
    contains(done.stderr, "main.leaf.abi0")
    contains(done.stderr, "Go code may have no free stack there; -x mechanism=any sets a breakpoint")
    equal(said(done.stdout)["written"], 0)
    contains(done.stdout, "main.deep")

def a_listing_gives_the_reason_for_a_breakpoint_in_a_go_function(t):
    done = good(t.run("-lvn", "pid$target:a.out:main.leaf.abi0:entry", "-c", f"{built(t)} 1"))
    contains(done.stdout, "Go code may have no free stack there")

LOOP = """package main

//go:noinline
func spin(n *int) {
	for {
		*n--
		if *n <= 0 {
			return
		}
	}
}

func main() {
	k := 7
	spin(&k)
}
"""

def a_go_function_that_begins_with_its_loop_is_reported(t):
    need("go")
    source = t.scratch / "loop.go"
    source.write_text(LOOP)
    subprocess.run(["go", "build", "-o", "loop", source.name], cwd=t.scratch, check=True,
                   env=os.environ | {"GOCACHE": str(t.scratch / "cache")})
    for flags in ((), ("-x", "mechanism=int3")):
        done = good(t.run(*flags, "-qn", "pid$target:a.out:main.spin:entry { @ = count(); }", "-c", str(t.scratch / "loop")))
        equal(done.stdout.split(), ["7"])
        contains(done.stderr, "these entry probes also fire when a loop goes back to the function's first instruction: main.spin\n")

def a_c_function_that_grows_its_stack_is_entered_and_left_once(t):
    need("gcc")
    for level in ("-O0", "-O2"):
        program = str(t.scratch / f"split{level}")
        done = subprocess.run(["gcc", level, "-fsplit-stack", str(HERE.parent / "victims/split_stack.c"), "-o", program,
                               "-lpthread"], capture_output=True, text=True)
        if done.returncode != 0:
            raise Skip("gcc has no -fsplit-stack here: " + done.stderr.splitlines()[0])
        says, rows, error = counted(t, program, ("deep", "small"), 3)
        equal(rows, {name: (says[name],) * 2 for name in ("deep", "small")}, error)

if __name__ == "__main__":
    main(tests_in(globals(), built))
