// SPDX-License-Identifier: MIT
// Single-steps a command. Writes lines "ADDRESS COUNT" in hexadecimal to FILE, in
// ascending order, and then the final memory map of the command.
//
//   stepper FILE - COMMAND...              starts at its first instruction
//   stepper FILE LIBRARY+OFFSET COMMAND... starts at main(), whose address is the first
//                                          argument of the function at that offset
//                                          (__libc_start_main)
//
// A repeated instruction (rep movsb) counts as one.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { n_slots = 1 << 20 };
static struct slot {
    uint64_t at, count;
} slots[n_slots];

static void die(const char* what)
{
    perror(what);
    exit(9);
}

static void count(uint64_t at)
{
    uint64_t i = (at * 0x9e3779b97f4a7c15u) >> 44;
    while (slots[i].at != at && slots[i].at != 0)
        i = (i + 1) % n_slots;
    slots[i].at = at;
    slots[i].count += 1;
}

static int by_address(const void* a, const void* b)
{
    const struct slot *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static struct user_regs_struct regs_of(pid_t pid)
{
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
        die("PTRACE_GETREGS");
    return regs;
}

static int go(int request, pid_t pid, int number)
{
    int status;
    if (ptrace(request, pid, NULL, (long)number) != 0 ||
        waitpid(pid, &status, 0) != pid)
        die("going on");
    return status;
}

static int is_exit(int status)
{
    return status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8);
}

// Returns the address of byte 0 of the library's file, or 0 if it is not mapped. Copies
// the memory map to `out` if `out` is not null.
static uint64_t base_of(pid_t pid, const char* library, FILE* out)
{
    char name[64], line[4352];
    uint64_t base = 0;
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE* maps = fopen(name, "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (out != NULL)
            fputs(line, out);
        line[strcspn(line, "\n")] = 0;
        const char* slash = strrchr(line, '/');
        if (slash == NULL || strcmp(slash + 1, library) != 0)
            continue;
        unsigned long begin, offset;
        char access[8];
        sscanf(line, "%lx-%*x %7s %lx", &begin, access, &offset);
        if (access[2] == 'x')
            base = begin - offset;
    }
    if (maps != NULL)
        fclose(maps);
    return base;
}

static void run_to(pid_t pid, uint64_t at)
{
    long text = ptrace(PTRACE_PEEKTEXT, pid, at, NULL);
    ptrace(PTRACE_POKETEXT, pid, at, (text & ~0xffl) | 0xcc);
    int status = go(PTRACE_CONT, pid, 0);
    struct user_regs_struct regs = regs_of(pid);
    if (status >> 8 != SIGTRAP || regs.rip != at + 1)
        die("a breakpoint");
    regs.rip = at;
    ptrace(PTRACE_POKETEXT, pid, at, text);
    ptrace(PTRACE_SETREGS, pid, NULL, &regs);
}

static void run_to_main(pid_t pid, char* start)
{
    char* plus = strchr(start, '+');
    uint64_t base = 0;
    if (plus == NULL)
        die("LIBRARY+OFFSET");
    *plus = 0;
    while ((base = base_of(pid, start, NULL)) == 0) {
        if (is_exit(go(PTRACE_SYSCALL, pid, 0)))
            die("no such library");
    }
    run_to(pid, base + strtoul(plus + 1, NULL, 16));
    run_to(pid, regs_of(pid).rdi);
}

int main(int argc, char** argv)
{
    int status;
    if (argc < 4)
        return 2;
    pid_t pid = fork();
    if (pid == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[3], &argv[3]);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        die("the start");
    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD);
    if (strcmp(argv[2], "-") != 0)
        run_to_main(pid, argv[2]);

    uint64_t last = 0;
    do {
        uint64_t at = regs_of(pid).rip;
        if (at != last)
            count(at);
        last = at;
        status = go(PTRACE_SINGLESTEP, pid,
                    status >> 8 == SIGTRAP || status >> 8 == (SIGTRAP | 0x80)
                        ? 0
                        : WSTOPSIG(status));
    } while (!is_exit(status));

    FILE* out = fopen(argv[1], "w");
    if (out == NULL)
        die(argv[1]);
    qsort(slots, n_slots, sizeof *slots, by_address);
    for (int i = 0; i < n_slots; ++i) {
        if (slots[i].at != 0)
            fprintf(out, "%lx %lx\n", slots[i].at, slots[i].count);
    }
    base_of(pid, "", out);
    fclose(out);
    status = go(PTRACE_CONT, pid, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
