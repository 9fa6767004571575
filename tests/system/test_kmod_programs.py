#!/usr/bin/env python3
"""Tests the D programs in tests/d that trace no process. A session in the kernel must produce the same output as a
session in user space."""
import base64, importlib.machinery, importlib.util, re, shlex

from machines import *

loader = importlib.machinery.SourceFileLoader("run_d", str(ROOT / "tests/run-d"))
run_d = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_d", loader))
loader.exec_module(run_d)

# Patterns of programs that are not run in the kernel, with the reasons.
ELSEWHERE = {
    r"@flags:.*-(c|p|l|e|h|G)\b": "has a target, or does not run",
    r"@flags:.*-(C\b|x ?cpp)|^#!.*-C": "there is no cpp(1) in the machine",
    r"\bustack\(": "BEGIN has the stack of dtrace there",
    r"@flags:.*-(S|Sn)\b": "prints its compiled code",
    r"\bpid\$|\$target": "has a target",
    r"\btick-[^{]*\{[^}]*\bprogenyof\(": "a tick of the kernel interrupts any process",
    r"\bfloat\b|\bdouble\b|[0-9]\.[0-9]+[^\"'0-9a-z]|%[0-9.]*[aefgAEFG]\b": "the kernel has no floating point",
}

def programs():
    found = []
    for program in sorted((ROOT / "tests/d").rglob("tst.*.d")):
        text = program.read_text(errors="replace")
        if program.parent.name == "cpp" or run_d.directives(text)["command"] or any(re.search(mark, text) for mark in ELSEWHERE):
            continue
        found.append(program)
    return found

def script_of(step):
    lines = ["case $(uname -r) in 6.1.*) kernel=0 ;; *) kernel=1 ;; esac", "echo 1 >/sys/module/dtrace/parameters/destructive"]
    for place, (number, program) in enumerate(list(enumerate(PROGRAMS))[::step]):
        wish = run_d.directives(program.read_text(errors="replace"))
        words = ["dtrace", *wish["flags"], "-x", "mechanism=uprobe", "-s", program.name, *wish["args"]]
        env = " ".join(f"{name}={shlex.quote(value)}" for name, value in wish["env"].items())
        lines.append(f"if [ $kernel = {place % 2 if step > 1 else '$kernel'} ]; then cd /root/d/{program.parent.relative_to(ROOT / 'tests/d')}; "
                     f"printf %s {shlex.quote(wish['stdin'])} | LC_ALL=C TZ=UTC {env} timeout 20 "
                     f"sh -c '\"$@\"; echo $? >/tmp/status' - {shlex.join(words)} 2>/tmp/err | cat >/tmp/out; "
                     f"echo {number} $(cat /tmp/status) $(base64 -w0 /tmp/out | tr -d '\\n')/ $(base64 -w0 /tmp/err)/; fi")
    return "\n".join(lines)

PROGRAMS = programs()

# Each program takes almost a second. A run without --long selects one program in ten.
ONE_OF = 10

@script(script_of(ONE_OF), long=script_of(1), seconds=2400)
def programs_have_the_same_output_in_the_kernel(output):
    wrong = []
    came = {}
    for line in output.lines():
        number, status, out, err = line.split()
        came[int(number)] = int(status), base64.b64decode(out[:-1] or b""), base64.b64decode(err[:-1] or b"")
    n_short = len(PROGRAMS[::ONE_OF])
    if len(came) not in (len(PROGRAMS), n_short // 2, n_short - n_short // 2):
        raise AssertionError(f"{len(came)} of {len(PROGRAMS)} programs ran")
    for number in came:
        program = PROGRAMS[number]
        name = program.relative_to(ROOT / "tests/d")
        word, why = run_d.judge(program, run_d.directives(program.read_text(errors="replace")), *came[number])
        if word != "PASS":
            wrong.append(f"{name}: {why}\n{came[number][2].decode(errors='replace')}")
    output.text = "" # cleared, because otherwise a failure would print the encoded text
    if wrong:
        raise AssertionError(f"{len(wrong)} of {len(PROGRAMS)} programs differ:\n" + "\n".join(wrong))

if __name__ == "__main__":
    main(in_machines(globals(), files=[f"{ROOT / 'tests/d'}:/root/d"], memory=1536))
