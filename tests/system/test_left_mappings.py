"""If the ptrace-agent is killed, its memory stays mapped in the targets. The next session unmaps it, unless a thread may
still need it (ptrace-agent/hold/left_mappings.hpp, A9 in docs/faults.md)."""
import contextlib, os, pathlib, random, re, signal, subprocess, time

from harness import equal, held, main, need, text_differs, tracer_of, wait_until
from test_deaths import OWN_HANDLER, agent_of
from traced import Traced, ready, victim

# Two threads call work() all the time and allocate memory. With an argument, each thread has an alternate signal stack
# in the same mapping as its stack, at higher addresses. Commands on stdin:
#   r   prints the number of calls, after both threads have made another call
#   s   interrupts a thread with a signal, whose handler waits. Prints the pc that the signal has interrupted.
#   g   lets the handler return
#   i   calls idle(), which is not called otherwise
#   w   reads an address, and writes it to the stack, two words below the number 51. In a signal frame, the address would
#       be the interrupted pc, and the number would be the segment registers.
#   f   forks a child, and prints its pid. The child maps 8 GiB, and writes to each of the regions. It reads commands
#       from the pipe, like its parent: c prints whether all that it has written is still there.
WORKER = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
static volatile long n_calls[2], interrupted, go;
static char* alternate_stacks[2];
__attribute__((noinline)) long work(long n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
__attribute__((noinline)) long idle(long n) { __asm__ volatile("" : "+r"(n)); return n * 5; }
static void on_signal(int signal, siginfo_t* info, void* context)
{
    (void)signal, (void)info;
    interrupted = ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
    while (!go)
        ;
    interrupted = 0;
}
static void* run(void* number)
{
    stack_t alternate = {.ss_sp = alternate_stacks[(long)number], .ss_size = 1 << 16};
    if (alternate.ss_sp)
        sigaltstack(&alternate, 0);
    for (long i = 0;; i++) {
        if (work(i) != i * 3)
            _exit(2);
        if (i % 1000 == 0)
            free(malloc(i % 7000 + 1));
        n_calls[(long)number]++;
    }
    return 0;
}
static void be_child(void)
{
    volatile long* regions[8];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int all = 1;
    for (long i = 0; i < 8; i++) {
        regions[i] = mmap(0, 1l << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        for (long j = 0; j < 1l << 30; j += 1 << 22)
            regions[i][j / 8] = i + j;
    }
    printf("%d\n", getpid());
    fflush(stdout);
    while (getchar() != 'c')
        ;
    for (long i = 0; i < 8; i++)
        for (long j = 0; j < 1l << 30; j += 1 << 22)
            all &= regions[i][j / 8] == i + j;
    printf("%s %ld\n", all ? "intact" : "destroyed", work(7));
    fflush(stdout);
    _exit(0);
}
int main(int argc, char** argv)
{
    enum { stack_bytes = 1 << 20 };
    struct sigaction action = {0};
    pthread_attr_t attributes[2];
    pthread_t threads[2];
    int command;
    volatile long words[32] = {0};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGUSR1, &action, 0);
    setvbuf(stdin, 0, _IONBF, 0);
    for (long i = 0; i < 2; i++) {
        pthread_attr_init(&attributes[i]);
        if (argc > 1) {
            char* stack = mmap(0, 2 * stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            pthread_attr_setstack(&attributes[i], stack, stack_bytes);
            alternate_stacks[i] = stack + stack_bytes;
        }
        pthread_create(&threads[i], &attributes[i], run, (void*)i);
    }
    printf("ready\n"), fflush(stdout);
    while ((command = getchar()) != EOF) {
        if (command == 'r') {
            long before = n_calls[0], other = n_calls[1];
            while (n_calls[0] == before || n_calls[1] == other)
                ;
            printf("%ld\n", before);
        } else if (command == 's') {
            go = 0;
            pthread_kill(threads[0], SIGUSR1);
            while (!interrupted)
                ;
            printf("%lx\n", interrupted);
        } else if (command == 'g') {
            go = 1;
            while (interrupted)
                ;
            printf("returned\n");
        } else if (command == 'i') {
            printf("%ld\n", idle(1));
        } else if (command == 'w') {
            long address = 0;
            for (command = getchar(); command != '\n'; command = getchar())
                address = address * 10 + command - '0';
            words[1] = 0x2640, words[22] = address, words[24] = 51;
            printf("written\n");
        } else if (command == 'f') {
            fflush(stdout);
            pid_t child = fork();
            if (child == 0)
                be_child();
            waitpid(child, 0, 0);
        }
        fflush(stdout);
    }
    _exit(0);
}
"""

JOURNAL_PERIOD, JOURNAL_OFFSET, JOURNAL_BYTES = 256 << 20, 0xd7ac000, 0x23000 # inject/mapping_journal.hpp

def mappings(pid):
    """Returns the mappings of a process as a list of (begin, end, permissions, name)."""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(None, 5)
        begin, end = (int(part, 16) for part in fields[0].split("-"))
        found.append((begin, end, fields[1], fields[5] if len(fields) > 5 else ""))
    return found

def ours(pid):
    """Returns the mappings that only dtrace creates: executable anonymous memory, its memfds, and its journal."""
    return [each for each in mappings(pid)
            if each[3].startswith("/memfd:dtrace-") or (not each[3] and each[2] == "r-xp") or
            (not each[3] and each[2] == "r--p" and each[0] % JOURNAL_PERIOD == JOURNAL_OFFSET)]

def size(pid):
    return int(re.search(r"VmSize:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) >> 10

def build(t, name, source, *flags, arguments=()):
    need("gcc")
    file, program = t.scratch / f"{name}.c", t.scratch / name
    if not program.exists():
        file.write_text(source)
        subprocess.run(["gcc", "-O1", "-pthread", *flags, "-o", program, file], check=True)
    return subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def ask(target, command):
    target.stdin.write(command)
    target.stdin.flush()
    return ready(target).strip()

PROBES = ("pid$target:a.out:work:, pid$target:a.out:idle:, pid$target:libc.so.6:malloc:entry, "
          "pid$target:libc.so.6:malloc:return, pid$target:libc.so.6:free:entry { @ = count(); }")

def trace_and_kill(t, pid, *flags):
    """Traces the process, and kills the agent."""
    traced = Traced(t, PROBES, pid, flags=flags)
    with held(traced.process):
        agent = agent_of(traced.process)
        os.kill(agent, signal.SIGKILL)
        wait_until(lambda: agent_of(traced.process) == 0 and tracer_of(pid) == 0, what="the end of the agent")
        traced.process.communicate(timeout=20)

def session(t, pid):
    """Runs a session that traces the process only for a moment."""
    done = t.run("-qn", "pid$target:a.out:work:entry { @ = count(); } BEGIN { exit(0); }", "-p", str(pid))
    equal(done.returncode, 0, done.stderr)

def is_clean(t, pid):
    equal(ours(pid), [], "dtrace's mappings")
    equal(text_differs(pid), [], "changes of the text")
    patches = t.run("--patches", "-p", str(pid)).stdout
    equal(("no patches" in patches, "no runtime is mapped" in patches), (True, True), patches)

def the_next_session_unmaps_what_killed_agents_have_left(t):
    for flags in ((), ("-x", "mechanism=any"), ("-x", "mechanism=int3")):
        with held(build(t, "worker", WORKER)) as target:
            ready(target)
            before = size(target.pid)
            for _ in range(3):
                trace_and_kill(t, target.pid, *flags)
                equal(len(ours(target.pid)) > 0, True, f"memory of the killed agent is mapped, {flags}")
                ask(target, "r")
            session(t, target.pid)
            is_clean(t, target.pid)
            equal(size(target.pid) < before + 64, True, f"{size(target.pid)} MiB instead of {before}")
            ask(target, "r")

def breakpoints_that_no_thread_has_hit_are_removed_by_the_next_session(t):
    with held(build(t, "worker", WORKER)) as target:
        ready(target)
        traced = Traced(t, "pid$target:a.out:idle: { @ = count(); }", target.pid, flags=("-x", "mechanism=int3"))
        with held(traced.process):
            os.kill(agent_of(traced.process), signal.SIGKILL)
            wait_until(lambda: tracer_of(target.pid) == 0, what="the end of the agent")
            traced.process.communicate(timeout=20)
        equal(text_differs(target.pid) != [], True, "the text contains breakpoints")
        session(t, target.pid)
        is_clean(t, target.pid)
        equal(ask(target, "i"), "5", "the function that contained the breakpoints")

def random_kills_leave_no_mappings(t):
    with held(build(t, "worker", WORKER)) as target:
        ready(target)
        for _ in range(300 if t.long else 20):
            flags = ("-x", "mechanism=" + random.choice(("any", "jump", "int3")))
            with held(t.start("-Zqn", PROBES, *flags, "-p", str(target.pid))) as dtrace:
                wait_until(lambda: agent_of(dtrace) or dtrace.poll() is not None, what="the start of the agent")
                agent = agent_of(dtrace)
                time.sleep(random.random() * 0.15)
                for pid in random.sample((agent, dtrace.pid), random.choice((1, 2))):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            wait_until(lambda: tracer_of(target.pid) == 0, what="the end of the tracing")
            ask(target, "r")
        session(t, target.pid)
        is_clean(t, target.pid)

def code_to_which_a_signal_handler_returns_stays_mapped(t):
    return_into_left_code(t)

def code_to_which_a_handler_on_an_alternate_stack_returns_stays_mapped(t):
    # When the handler has returned, its frame stays on the alternate stack, but no thread needs the code any more.
    return_into_left_code(t, "alternate stacks")

def return_into_left_code(t, *arguments):
    """Lets a signal interrupt a thread in code of a killed agent. The code must stay mapped until the handler returns."""
    with held(build(t, "worker", WORKER, arguments=arguments)) as target:
        ready(target)
        trace_and_kill(t, target.pid)
        def mapped(address):
            return [each for each in mappings(target.pid) if each[0] <= address < each[1]]
        for _ in range(1000):
            pc = int(ask(target, "s"), 16)
            if mapped(pc)[0][2:] == ("r-xp", ""):
                break
            ask(target, "g")
        equal(mapped(pc)[0][2:], ("r-xp", ""), "the mapping that contains the interrupted pc")
        session(t, target.pid)
        equal(mapped(pc)[0][2:], ("r-xp", ""), "the mapping after the session")
        equal(ask(target, "g"), "returned")
        ask(target, "r")
        session(t, target.pid)
        is_clean(t, target.pid)
        ask(target, "r")

def a_number_that_looks_like_segment_registers_keeps_nothing_mapped(t):
    with held(build(t, "worker", WORKER)) as target:
        ready(target)
        trace_and_kill(t, target.pid)
        address = max(begin for begin, *_ in ours(target.pid))
        equal(ask(target, f"w{address}\n"), "written")
        session(t, target.pid)
        is_clean(t, target.pid)
        ask(target, "r")

def the_programs_own_trap_handler_is_restored(t):
    need("gcc")
    probes = "pid$target:a.out:outer:, pid$target:a.out:inner: { @ = count(); }"
    with held(build(t, "own_handler", OWN_HANDLER)) as target:
        equal(ask(target, "\n"), "1 0", "traps, traps with a wrong mask, before")
        for _ in range(3):
            traced = Traced(t, probes, target.pid, flags=("-x", "mechanism=int3"))
            with held(traced.process):
                os.kill(agent_of(traced.process), signal.SIGKILL)
                wait_until(lambda: tracer_of(target.pid) == 0, what="the end of the agent")
                equal(ask(target, "\n"), "1 0", "after the death of the agent")
        done = t.run("-qn", probes + " BEGIN { exit(0); }", "-x", "mechanism=int3", "-p", str(target.pid))
        equal((done.returncode, ours(target.pid), text_differs(target.pid)), (0, [], []), done.stderr)
        equal(ask(target, "\n"), "1 0", "after the last session")

def a_forked_childs_copies_are_unmapped(t):
    # The child is forked either while the agent traces its parent, or after the agent's death.
    for after_death in (False, True):
        with held(build(t, "worker", WORKER)) as target:
            ready(target)
            if after_death:
                trace_and_kill(t, target.pid)
                child = int(ask(target, "f"))
            else:
                traced = Traced(t, PROBES, target.pid)
                with held(traced.process):
                    child = int(ask(target, "f"))
                    traced.finish(signal.SIGINT)
            equal(len(ours(child)) > 0, True, "the child has inherited memory of dtrace")
            session(t, child)
            is_clean(t, child)
            equal(ask(target, "c"), "intact 21", f"the child's memory, after the death: {after_death}")

# The beginning of a program that writes a journal (inject/mapping_journal.hpp).
JOURNAL = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
struct entry { uint64_t at, bytes, n_inherited; uint32_t kind, state; };
struct journal { uint64_t magic; uint32_t version, n; uint64_t pid, start_time; struct entry all[4479]; };
static int is_mapped(void* at)
{
    unsigned char page;
    return mincore((void*)((uint64_t)at & ~4095ull), 4096, &page) == 0;
}
"""

# Forges two journals. They list an executable page and memory of the program, libc, the stack, and ranges that do not
# exist. The second journal pretends to have billions of entries. Prints which of the first three are still mapped.
FORGER = JOURNAL + r"""int main(void)
{
    char* page = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char line[8];
    for (uint64_t i = 0; i < 2; i++) {
        struct journal* j = mmap((void*)((0x40000000000 + i * (256 << 20)) | 0xd7ac000), 0x23000,
                                 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        j->magic = 0x314c4e524a504d44;
        j->version = 1;
        j->n = i == 0 ? 4479 : 0xffffffff;
        j->pid = getpid();
        for (uint64_t n = 0; n < 4479; n++)
            j->all[n] = (struct entry){n * 0x123456789abcdef, n << 50, n << 50, n, n};
        j->all[0] = (struct entry){(uint64_t)page, 4096, 4096, 4, 2};
        j->all[1] = (struct entry){(uint64_t)&puts & ~4095ull, 4096, 4096, 1, 2};
        j->all[2] = (struct entry){(uint64_t)&j & ~4095ull, 4096, 4096, 1, 2};
        j->all[3] = (struct entry){0x1000, 0x7fffffffe000, 0x7fffffffe000, 5, 2};
        mprotect(j, 0x23000, PROT_READ);
    }
    do {
        printf("%d %d %d\n", is_mapped(page), is_mapped(&puts), is_mapped(line));
        fflush(stdout);
    } while (read(0, line, 1) == 1);
    return 0;
}
"""

def a_forged_journal_only_unmaps_the_targets_own_memory(t):
    with held(build(t, "forger", FORGER)) as target:
        equal(ready(target), "1 1 1\n", "before")
        done = t.run("-qn", "pid$target:libc.so.6:puts:entry { @ = count(); } BEGIN { exit(0); }", "-p", str(target.pid))
        equal((done.returncode, done.stderr), (0, ""), "the session")
        # The kernel allows no mapping of libc and of the stack to count as anonymous memory of dtrace.
        equal(ask(target, "\n"), "0 1 1", "after the session")

# Makes a journal of an agent that was killed before it recorded that it had mapped memory, and a journal without a
# header, whose first page was read. Prints which of these are still mapped: code that was only read, code that the program has written, data of the
# program, and the journal without a header.
PLANNED = JOURNAL + r"""
enum { bytes = 3 * 4096, rescue = 5, page = 6, planned = 1 };
static char* map(uint64_t at, uint64_t size, int protection)
{
    return mmap((void*)at, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
int main(void)
{
    char *only_read = map(0x41000000000, bytes, PROT_READ | PROT_EXEC), line[8];
    char *written = map(0x41000100000, bytes, PROT_READ | PROT_WRITE), *data = map(0x41000200000, bytes, PROT_READ | PROT_WRITE);
    struct journal* j = (void*)map(0x4000d7ac000, 0x23000, PROT_READ | PROT_WRITE);
    char* empty = map(0x4001d7ac000, 0x23000, PROT_READ);
    int sum = ((volatile char*)only_read)[5000] + ((volatile char*)empty)[0];
    written[5000] = data[5000] = 1;
    mprotect(written, bytes, PROT_READ | PROT_EXEC);
    j->magic = 0x314c4e524a504d44;
    j->version = 1;
    j->n = 3;
    j->pid = getpid();
    j->all[0] = (struct entry){(uint64_t)only_read, bytes, bytes, rescue, planned};
    j->all[1] = (struct entry){(uint64_t)written, bytes, bytes, rescue, planned};
    j->all[2] = (struct entry){(uint64_t)data, bytes, bytes, page, planned};
    mprotect(j, 0x23000, PROT_READ);
    do {
        printf("%d %d %d %d\n", is_mapped(only_read), is_mapped(written), is_mapped(data) + sum, is_mapped(empty));
        fflush(stdout);
    } while (read(0, line, 1) == 1);
    return 0;
}
"""

def memory_that_was_planned_and_only_read_is_unmapped(t):
    with held(build(t, "planned", PLANNED)) as target:
        equal(ready(target), "1 1 1 1\n", "before")
        done = t.run("-qn", "pid$target:libc.so.6:puts:entry { @ = count(); } BEGIN { exit(0); }", "-p", str(target.pid))
        equal((done.returncode, done.stderr), (0, ""), "the session")
        equal(ask(target, "\n"), "0 1 1 0", "after the session")

def a_left_stub_for_system_calls_is_removed(t):
    image = pathlib.Path(t.dtrace).read_bytes()
    at = image.find(bytes.fromhex("0f05b80e000000bf02000000"))    # the code of inject/call_stub.S
    code = image[at:image.find(b"\xff\x25", at) + 6]    # the last instruction is jmp *rip_(%rip)
    n_bytes = (len(code) + 7 & ~7) + 152
    with held(subprocess.Popen(["sleep", "100"])) as target:
        wait_until(lambda: "libc.so.6" in pathlib.Path(f"/proc/{target.pid}/maps").read_text(), what="its libc")
        end = [each[1] for each in mappings(target.pid) if each[2] == "r-xp" and "libc.so.6" in each[3]][0]
        with open(f"/proc/{target.pid}/mem", "r+b", buffering=0) as memory:
            memory.seek(end - n_bytes - 16 & ~15)
            memory.write(code)
        patches = t.run("--patches", "-p", str(target.pid)).stdout
        equal("code with which a killed ptrace-agent made system calls" in patches, True, patches)
        done = t.run("-qn", "BEGIN { exit(0); }", "-p", str(target.pid))
        equal((done.returncode, text_differs(target.pid)), (0, []), done.stderr)

# Leaves no free space within reach of a jump from libc, and has 4,000 mappings.
CROWDED = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    uint64_t text = (uint64_t)&puts & ~0xffffull, reach = 0x90000000;
    char* many = mmap(0, 4000 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int i = 0; i < 4000; i += 2)
        mprotect(many + i * 4096, 4096, PROT_READ);
    for (uint64_t bytes = 1 << 26; bytes >= 4096; bytes >>= 1)
        for (uint64_t at = text - reach; at < text + reach; at += bytes)
            mmap((void*)at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    printf("ready\n");
    fflush(stdout);
    pause();
    return 0;
}
"""

def an_agent_that_finds_no_space_notices_the_death_of_its_client(t):
    with held(build(t, "crowded", CROWDED)) as target:
        ready(target)
        for wait_s in (0.5, 1, 2):
            with held(t.start("-qn", "pid$target:libc.so.6::entry { @ = count(); }", "-p", str(target.pid),
                              "-x", "mechanism=jump")) as dtrace:
                wait_until(lambda: tracer_of(target.pid) or dtrace.poll() is not None, what="the start of the tracing")
                time.sleep(wait_s)
                dtrace.kill()
                killed = time.monotonic()
                wait_until(lambda: tracer_of(target.pid) == 0, what="the end of the tracing")
                after = time.monotonic() - killed
            equal(after < 1, True, f"the target was traced for {after:.1f} s after the death of dtrace")

TESTS = [the_next_session_unmaps_what_killed_agents_have_left, random_kills_leave_no_mappings,
         breakpoints_that_no_thread_has_hit_are_removed_by_the_next_session,
         code_to_which_a_signal_handler_returns_stays_mapped,
         code_to_which_a_handler_on_an_alternate_stack_returns_stays_mapped,
         a_number_that_looks_like_segment_registers_keeps_nothing_mapped,
         the_programs_own_trap_handler_is_restored, a_forked_childs_copies_are_unmapped,
         a_forged_journal_only_unmaps_the_targets_own_memory, memory_that_was_planned_and_only_read_is_unmapped, a_left_stub_for_system_calls_is_removed,
         an_agent_that_finds_no_space_notices_the_death_of_its_client]

if __name__ == "__main__":
    main(TESTS)
