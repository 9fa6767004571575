#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that every row of D's tables has a program in this directory.

The tables are the headers that the compiler and the engine expand. A tst program covers the rows whose names it uses.
A row that cannot work in these tests needs an err program, which dtrace must refuse. An error tag needs a program
err.D_TAG.*, which must fail with that tag.

EXEMPT lists the rows that no program can cover, and the reasons. It is an error if a program covers such a row.

  coverage.py            prints the rows without a program, and exits with 1 if there are any
  coverage.py --list     prints every row and the number of programs that cover it
"""
import pathlib, re, sys

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent

KERNEL = "needs the kernel module"
TYPED = "needs probes with typed arguments: USDT and translated kernel probes"
USDT = "needs -G, -h or a USDT probe"
INTERNAL = "no program reaches it: "

EXEMPT = {
    "tag UNKNOWN": INTERNAL + "the tag of an error that has no tag of its own",
    "tag QUANT_PROTO": INTERNAL + "a call to quantize() with too many is PROTO_LEN",
    "tag ASRELO": INTERNAL + "every relocation is resolved before the DOF is written",
    "tag ID_OFLOW": INTERNAL + "needs 64,000 variables; the unit tests have it",
    "tag OP_IDENT": INTERNAL + "the grammar wants an identifier there",
    "tag DECL_DYNOBJ": INTERNAL + "the dynamic type has no name",
    "tag TRACE_DYN": INTERNAL + "a variable has a type before it can be traced",
    "tag PRINT_DYN": INTERNAL + "a variable has a type before it can be printed",
    "tag ARGS_XLATOR": TYPED,
    "tag SYM_BADREF": KERNEL,
    "tag SYM_MODEL": KERNEL,
    "tag STACK_PROTO": KERNEL,
    "tag STACK_SIZE": KERNEL,
    "tag PROC_DYN": "a static program can be traced here",
    "tag PROC_CREATEFAIL": INTERNAL + "planting fails when tracing starts, not before",
    "tag PROC_NODEV": INTERNAL + "the pid provider needs no device",
    "tag PROC_BADPROV": INTERNAL + "a bad name of the provider is PROC_BADPID",
    "tag PROC_USDT": USDT,
    "tag PRINTM_ADDR": "printm() is FreeBSD's",
    "tag PRINTM_SIZE": "printm() is FreeBSD's",
    "option grabanon": KERNEL,
    "fault BADALIGN": "x86-64 reads what is not aligned",
    "fault UNKNOWN": INTERNAL + "every fault has a kind",
    "fault KPRIV": KERNEL,
    "fault UPRIV": KERNEL,
    "fault TUPOFLOW": INTERNAL + "the compiler and the verifier count tuple registers",
    "fault BADSTACK": INTERNAL + "a stack that cannot be walked is a short one",
    "drop DYNRINSE": "needs threads that meet on a free list at one moment",
    "drop DYNDIRTY": "needs threads that meet on a bucket; tests/unit/dif has it",
    "drop SPECBUSY": "needs threads that meet on a speculation; tests/unit/dif has it",
    "drop STKSTROVERFLOW": "needs a ustack helper",
    "drop NMI": "needs an NMI in the midst of a probe of the kernel",
    "drop RETURN": "needs the kernel module; tests/system/test_kmod has it",
    "drop TIME": "needs the kernel module; tests/system/test_kmod_limits has it",
    "drop THROTTLE": "needs the kernel module; tests/system/test_kmod_cpc has it",
    "drop NOSHARD": "needs more threads at once than there are shards",
    "drop LEASE": "needs a consumer that stands still for 30 s; tests/unit/dif has it",
    "fault LIBRARY": "its text is the consumer's: tst.setopt_fixed.d",
}

def rows(header, macro):
    """Returns the arguments of each X(...) in a table."""
    text = (TREE / header).read_text()
    start = re.search(r"#define " + macro + r"\(X\)", text).end()
    body = re.match(r"(?:.*\\\n)*.*\n", text[start:]).group(0)
    body = re.sub(r"/\*.*?\*/", "", body.replace("\\\n", "\n"), flags=re.S)
    found = re.findall(r"\bX\(((?:[^()\"]|\"[^\"]*\"|\([^()]*\))*)\)", body)
    return [[field.strip() for field in row.split(",")] for row in found]

def read(pattern):
    """Returns a dictionary from path to (text without comments, first comment)."""
    out = {}
    for path in sorted(HERE.rglob(pattern)):
        text = path.read_text(errors="replace")
        first = re.search(r"/\*(.*?)\*/", text, re.S)
        out[path] = (re.sub(r"/\*.*?\*/", " ", text, flags=re.S),
                     first.group(1) if first else "")
    return out

TST, ERR = read("tst.*.d"), read("err.*.d")

def using(programs, pattern):
    return sum(1 for code, _ in programs.values() if re.search(pattern, code))

def variables():
    for row in rows("dif/vars.h", "DIF_VAR_ARRAYS") + rows("dif/vars.h", "DIF_VAR_SCALARS"):
        where = ERR if row[-1] in ("KERNEL", "TYPED") else TST
        pattern = r"(?<![>.`\w])" + row[0] + r"\b"
        if row[0].startswith("pr_"):
            pattern = r"curpsinfo->" + row[0] + r"\b"
        yield "variable " + row[0], using(where, pattern)
    for row in rows("dif/vars.h", "DIF_VAR_FILES"):
        yield "variable fds[]." + row[0], using(TST, r"\bfds\[.*\]\." + row[0] + r"\b")

def subroutines():
    for row in rows("dif/subrs.h", "DIF_SUBRS"):
        refused = row[-1] in ("KERNEL", "NONE")
        yield "subroutine " + row[0], using(ERR if refused else TST,
                                            r"\b" + row[0] + r"\s*\(")

def actions():
    for row in rows("dif/actions.h", "DIF_ACTIONS"):
        refused = set(row[-1]) & set("KN")
        yield "action " + row[0], using(ERR if refused else TST, r"\b" + row[0] + r"\s*\(")
    for row in rows("dif/actions.h", "DIF_AGGS"):
        yield "aggregation " + row[0], using(TST, r"@\w*(\[.*\])?\s*=\s*" + row[0] + r"\(")

def options():
    for row in rows("dif/options.h", "DIF_OPTIONS"):
        name = row[0]
        pattern = (rf"-x\s*{name}\b|option\s+{name}\b|setopt\(\"{name}\"|"
                   rf"DTRACE_OPT_{name.upper()}\b")
        n = sum(1 for code, first in TST.values() if re.search(pattern, code + first))
        yield "option " + name, n

def faults():
    printed = [p.with_suffix(".out").read_text(errors="replace")
               for p in TST if p.with_suffix(".out").exists()]
    for row in rows("dif/faults.h", "DIF_FAULTS"):
        n = sum(1 for text in printed if re.search(rf"^fault {row[1]}\b", text, re.M))
        yield "fault " + row[0], n

# Patterns for the consumer's message about each kind of drop.
DROPS = {
    "PRINCIPAL": r"^dtrace: \d+ drops? on CPU", "AGGREGATION": r"aggregation drops? on CPU",
    "DYNAMIC": r"dynamic variable drops?$", "SPEC": r"speculative drops?$",
    "SPECUNAVAIL": r"no speculative buffer available", "DBLERROR": r"in ERROR probe enabling",
}

def drops():
    printed = [p.with_suffix(".out").read_text(errors="replace")
               for p in TST if p.with_suffix(".out").exists()]
    for row in rows("dif/faults.h", "DIF_DROPS"):
        words = DROPS.get(row[0])
        yield "drop " + row[0], sum(1 for text in printed
                                    if words and re.search(words, text, re.M))

def tags():
    for row in rows("libdtrace/compile/tags.hpp", "D_TAGS"):
        yield "tag " + row[0], sum(1 for p in ERR if p.name.startswith(f"err.D_{row[0]}."))

def conversions():
    used = {}
    for code, _ in TST.values():
        for format in re.findall(r'"((?:[^"\\]|\\.)*)"', code):
            for one in re.findall(r"%[-#0+ '?@]*[\d*]*(?:\.[\d*]+)?((?:hh|h|ll|l|L|w)?[a-zA-Z])",
                                  format.replace("%%", "")):
                used[one] = used.get(one, 0) + 1
    for row in rows("libdtrace/compile/format.hpp", "FORMAT_CONVERSIONS"):
        yield "conversion " + row[0].strip('"'), used.get(row[0].strip('"'), 0)

def main():
    wrong, n_rows, seen = 0, 0, set()
    for table in (variables, subroutines, actions, options, faults, drops, tags,
                  conversions):
        for name, n in table():
            n_rows += 1
            seen.add(name)
            if "--list" in sys.argv:
                print(f"{n:4} {name}{'  (' + EXEMPT[name] + ')' if name in EXEMPT else ''}")
            if n == 0 and name not in EXEMPT:
                print(f"no program shows {name}")
                wrong += 1
            if n > 0 and name in EXEMPT:
                print(f"{name} has a program and stands in the list of those without")
                wrong += 1
    for name in EXEMPT.keys() - seen:
        print(f"{name} is no row")
        wrong += 1
    print(f"{n_rows} rows, {len(EXEMPT)} without a program for a reason, {wrong} wrong; "
          f"{len(TST)} tst and {len(ERR)} err programs")
    return 1 if wrong else 0

if __name__ == "__main__":
    sys.exit(main())
