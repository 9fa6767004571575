#!/usr/bin/env python3
"""Executes the dtrace commands in the build steps of PostgreSQL and Python, with this build's dtrace."""
import os, pathlib, re, subprocess

from harness import *
from traced import *
from usdt_builds import *

# A provider with each kind of probe definition in PostgreSQL's src/backend/utils/probes.d.
SERVER = """
#define LocalTransactionId unsigned int
#define LWLockMode int
#define BlockNumber unsigned int
#define Oid unsigned int
#define ForkNumber int
#define bool unsigned char

provider postgresql {

	probe transaction__start(LocalTransactionId);
	probe lwlock__acquire(const char *, LWLockMode);
	probe lock__wait__start(unsigned int, unsigned int, unsigned int, unsigned int, unsigned int, LWLockMode);
	probe query__start(const char *);
	probe query__plan__start();
	probe sort__start(int, bool, int, int, bool, int);
	probe sort__done(bool, long);
	probe smgr__md__read__done(ForkNumber, BlockNumber, Oid, Oid, Oid, int, int, int);
	probe wal__switch();
};
"""
BACKEND = """
#include <stdbool.h>
#include <stdint.h>
#include "probes.h"
typedef enum { LW_EXCLUSIVE, LW_SHARED } LWLockMode;
typedef struct { uint32_t field1; uint16_t field4; uint8_t type; } Tag;
static const char *const names[] = {"buffer"};
#define T_NAME(n) (names[n])
int main(int argc, char **argv)
{
	Tag tag = {1, 2, 3};
	LWLockMode mode = argc > 5 ? LW_SHARED : LW_EXCLUSIVE;
	bool random = argc > 1;
	TRACE_POSTGRESQL_TRANSACTION_START(42);
	if (TRACE_POSTGRESQL_LWLOCK_ACQUIRE_ENABLED())
		TRACE_POSTGRESQL_LWLOCK_ACQUIRE(T_NAME(0), mode);
	TRACE_POSTGRESQL_LOCK_WAIT_START(tag.field1, 7, 8, tag.field4, tag.type, mode);
	TRACE_POSTGRESQL_QUERY_START(argv[0]);
	TRACE_POSTGRESQL_QUERY_PLAN_START();
	TRACE_POSTGRESQL_SORT_START(1, random, 3, 4, !random, 6);
	TRACE_POSTGRESQL_SORT_DONE(random, 1l << 33);
	TRACE_POSTGRESQL_SMGR_MD_READ_DONE(0, 1, 2, 3, 4, -1, 8192, 8192);
	TRACE_POSTGRESQL_WAL_SWITCH();
	return 0;
}
"""

def as_dtrace(t):
    """Returns an environment in which the command dtrace is the one from this build."""
    folder = t.scratch / "bin"
    folder.mkdir(exist_ok=True)
    if not (folder / "dtrace").exists():
        (folder / "dtrace").symlink_to(t.dtrace)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

def shell(t, folder, commands):
    done = subprocess.run(["sh", "-ec", commands], cwd=folder, env=as_dtrace(t), capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""), commands)
    return done.stdout

def the_steps_of_postgresqls_build_succeed(t):
    folder = t.scratch / "server"
    folder.mkdir()
    (folder / "probes.d").write_text(SERVER)
    (folder / "backend.c").write_text(BACKEND)
    (folder / "backend.lo").write_text("# what libtool writes is no object\n")
    shell(t, folder, """
        dtrace -C -h -s probes.d -o probes.h.tmp
        sed -e 's/POSTGRESQL_/TRACE_POSTGRESQL_/g' probes.h.tmp >probes.h
        gcc -Wall -Wextra -Werror -Wmissing-prototypes -Wdeclaration-after-statement -Wpointer-arith -Wcast-function-type -Wshadow=compatible-local -O2 -c backend.c
        dtrace -C -G -s probes.d backend.o -o probes.o
        dtrace -64 -C -xnolibs -G -s probes.d backend.o -o probes.o
        dtrace -C -G -s probes.d backend.lo backend.o -fPIC -DPIC -o probes.o # as libtool runs it
        dtrace -k --types -C -G -s probes.d backend.o -o probes.o
        gcc backend.o probes.o -o backend""")
    done = good(t.run("-qn", 'postgresql*:::query-start { printf("%s\\n", copyinstr(arg0)); } '
                      'postgresql*:::lwlock-acquire { printf("%s %d\\n", stringof(args[0]), args[1]); } '
                      'postgresql*:::sort-done { printf("%d %d\\n", args[0], args[1]); } '
                      'postgresql*:::smgr-md-read-done { printf("%d\\n", args[5]); }', "-c", str(folder / "backend")))
    equal(done.stdout.split(), ["buffer", "0", str(folder / "backend"), "0", str(1 << 33), "-1"])

def every_probe_of_postgresql_compiles(t):
    """Compiles all probes of PostgreSQL 15, from our own definition of them. DTRACE_PROBES_D in the environment can
    name PostgreSQL's src/backend/utils/probes.d instead."""
    script = os.environ.get("DTRACE_PROBES_D", ROOT / "libdtrace/providers/known/postgresql.d")
    text = pathlib.Path(script).read_text()
    folder = made(t, script=script, name="probes.h")
    calls = []
    for name, args in re.findall(r"probe (\w+)\((.*?)\);", text):
        zeros = ", ".join("0" for _ in args.split(",")) if args.strip() else ""
        macro = "POSTGRESQL_" + name.replace("__", "_").upper()
        calls.append(f"\tif ({macro}_ENABLED()) {macro}({zeros});\n")
    (folder / "all.c").write_text('#include "probes.h"\nint main(void) {\n' + "".join(calls) + "return 0; }\n")
    path = compiled(folder, "gcc", "-O2", *STRICT, source=folder / "all.c", out="all")
    listing = good(t.run("-l", "-n", "postgresql$target:::", "-c", path)).stdout
    equal(len(re.findall(r"postgresql\d+", listing)), len(calls))

INTERPRETER = """
provider python {
    probe function__entry(const char *, const char *, int, const char *);
    probe gc__start(int);
    probe gc__done(long);
    probe audit(const char *, void *);
};

#pragma D attributes Evolving/Evolving/Common provider python provider
#pragma D attributes Evolving/Evolving/Common provider python args
"""
CALLER = """
#ifdef __cplusplus
extern "C" {
#endif
#include "pydtrace_probes.h"
#ifdef __cplusplus
}
#endif
static inline void audit(const char *event, void *arguments)
{
	if (PyDTrace_AUDIT_ENABLED()) PyDTrace_AUDIT(event, arguments);
}
int main(void)
{
	if (PyDTrace_FUNCTION_ENTRY_ENABLED()) PyDTrace_FUNCTION_ENTRY("file", "function", 3, "more");
	PyDTrace_GC_START(2);
	PyDTrace_GC_DONE((long)1 << 40);
	audit("event", (void *)0);
	return 0;
}
"""

def the_steps_of_pythons_build_succeed(t):
    folder = t.scratch / "interpreter"
    folder.mkdir()
    (folder / "pydtrace.d").write_text(INTERPRETER)
    (folder / "main.c").write_text(CALLER)
    equal(shell(t, folder, """
        echo 'BEGIN{}' > conftest.d
        dtrace -G -s conftest.d -o conftest.o > /dev/null 2>&1 && echo linked
        dtrace -o pydtrace_probes.h -h -s pydtrace.d
        sed 's/PYTHON_/PyDTrace_/' pydtrace_probes.h > pydtrace_probes.h.tmp
        mv pydtrace_probes.h.tmp pydtrace_probes.h
        gcc -Wall -Wextra -Werror -std=c11 -O2 -fPIC -c main.c
        g++ -Wall -Wextra -Werror -std=c++11 -x c++ -O0 -c main.c -o main++.o
        dtrace -o pydtrace.o -G -s pydtrace.d main.o
        gcc main.o pydtrace.o -o main
        g++ main++.o -o main++"""), "linked\n")
    for name in ("main", "main++"):
        done = good(t.run("-qn", 'python*::: { @[probename] = count(); }', "-c", str(folder / name)))
        equal(table(done.stdout), {"function-entry": 1, "gc-start": 1, "gc-done": 1, "audit": 1})

if __name__ == "__main__":
    main(tests_in(globals(), as_dtrace))
