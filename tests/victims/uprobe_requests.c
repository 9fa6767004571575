// SPDX-License-Identifier: MIT
// Requests a correct uprobe from the kernel module, then impossible and random ones.
// Prints the results. The last request is made without CAP_SYS_ADMIN.
#include "abi/ioctl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct dt_operand wrong_operand = {0, DT_OPERAND_GENERAL, 8, 0, 16, 0, 0, 0, 0};
static const struct dt_operand operands[2] = {
    {8, DT_OPERAND_MEMORY, 8, 0, 4, DT_OPERAND_NO_REG, 0, 0, 0},
    {0, DT_OPERAND_VECTOR, 4, DT_OPERAND_FLOAT, 15, 0, 0, 0, 0}};
static volatile long sink;

__attribute__((noinline)) long work(long n)
{
    sink += n;
    return n + 1;
}

static int attach(int device, uint32_t kind, const struct dtk_uprobe *request)
{
    struct dtk_site site = {1, kind, (uintptr_t)request, 0, 0, 0};
    struct dtk_list list = {(uintptr_t)&site, sizeof(site), 1, 0};
    return ioctl(device, DTK_ATTACH, &list) != 0 ? -errno : site.error;
}

static uint64_t offset_of_work(void)
{
    extern const char __executable_start;
    return (uint64_t)((uintptr_t)work - (uintptr_t)&__executable_start);
}

static int prepare(void)
{
    static struct dtk_arena arena;
    static const char names[] = "pid1\0a\0work\0entry";
    struct dtk_list list = {(uintptr_t)names, sizeof(names), 1, 0};
    int device = open(DTK_DEVICE, O_RDWR);
    arena.config.options[DTRACEOPT_bufsize] = 1 << 16;
    arena.config.options[DTRACEOPT_aggsize] = 1 << 16;
    arena.config.options[DTRACEOPT_dynvarsize] = 1 << 16;
    arena.config.options[DTRACEOPT_strsize] = 256;
    arena.config.options[DTRACEOPT_destructive] = DT_OPT_UNSET;
    arena.config.max_probes = arena.config.max_ecbs = 64;
    arena.config.max_clauses = arena.config.max_vars = 64;
    arena.config.heap_bytes = arena.config.globals_bytes = arena.config.locals_bytes = 1 << 16;
    if (device < 0 || ioctl(device, DTK_ARENA, &arena) != 0 ||
        ioctl(device, DTK_PROBES, &list) != 0) {
        perror(DTK_DEVICE);
        exit(2);
    }
    return device;
}

static void keep_perfmon_alone(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};

    data[CAP_TO_INDEX(CAP_PERFMON)].effective = CAP_TO_MASK(CAP_PERFMON);
    data[CAP_TO_INDEX(CAP_PERFMON)].permitted = CAP_TO_MASK(CAP_PERFMON);
    if (syscall(SYS_capset, &header, data) != 0)
        perror("capset");
}

int main(int argc, char **argv)
{
    const int device = prepare(), self = open("/proc/self/exe", O_RDONLY);
    const int null = open("/dev/null", O_RDONLY), folder = open("/proc/self", O_RDONLY);
    const struct dtk_uprobe good = {.fd = self, .pid = getpid(), .offset = offset_of_work()};
    struct dtk_uprobe r;
    long n_served = 0, sum = 0;
    int ends[2];

    if (pipe(ends) != 0)
        return 2;
#define TRY(what, kind, change)                                                        \
    r = good;                                                                          \
    change;                                                                            \
    printf("%s: %d\n", what, attach(device, kind, &r))
    TRY("right", DTK_UPROBE, (void)0);
    TRY("no file", DTK_UPROBE, r.fd = -1);
    TRY("a device", DTK_UPROBE, r.fd = null);
    TRY("a folder", DTK_UPROBE, r.fd = folder);
    TRY("a pipe", DTK_UPROBE, r.fd = ends[0]);
    TRY("itself", DTK_UPROBE, r.fd = device);
    TRY("behind the end", DTK_UPROBE, r.offset = 1 << 30);
    TRY("no offset", DTK_UPROBE, r.offset = UINT64_MAX);
    TRY("no process", DTK_UPROBE, r.pid = 4000000);
    TRY("a negative process", DTK_UPROBE, r.pid = -1);
    TRY("an unknown flag", DTK_UPROBE, r.flags = 1u << 31);
    TRY("an unknown condition", DTK_URETURN, r.when = 17);
    TRY("an odd semaphore", DTK_USTATIC, r.semaphore = 3);
    TRY("a semaphore behind the end", DTK_USTATIC, r.semaphore = 1ull << 40);
    TRY("too many operands", DTK_USTATIC, r.n_operands = UINT32_MAX);
    TRY("operands of the kernel", DTK_USTATIC,
        (r.n_operands = 1, r.operands = 0xffffffff81000000));
    TRY("an unknown register", DTK_USTATIC,
        (r.n_operands = 1, r.operands = (uintptr_t)&wrong_operand));
    TRY("operands of a function", DTK_UPROBE,
        (r.n_operands = 2, r.operands = (uintptr_t)operands));
    TRY("in the middle of an instruction", DTK_UPROBE, (r.offset += 1, r.inside = 1));
    TRY("too far inside", DTK_UPROBE, r.inside = DTK_INSIDE_MAX + 1);
    printf("nowhere: %d\n", attach(device, DTK_UPROBE, (const struct dtk_uprobe *)8));
    srand(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
    for (int i = 0; i < 2000; ++i) {
        const uint32_t kind = DTK_UPROBE + (uint32_t)rand() % 3;
        r = good;
        r.inside = (uint32_t)rand() % 16;
        r.offset += r.inside;
        r.flags = (uint32_t)rand() % 4;
        r.when = (uint32_t)rand() % 18;
        r.arg0 = (uint64_t)rand();
        r.semaphore = rand() % 4 ? 0 : (uint64_t)rand() % 20000;
        r.operands = (uintptr_t)operands + (uint64_t)rand() % 24;
        r.n_operands = kind == DTK_USTATIC ? (uint32_t)rand() % 3 : 0;
        n_served += attach(device, kind, &r) == 0;
        if (i == 1000)
            (void)ioctl(device, DTK_DETACH);
    }
    for (long i = 0; i < 100; ++i)
        sum += work(i);
    (void)ioctl(device, DTK_DETACH);
    printf("some served: %d\nsum %ld\n", n_served > 0, sum);
    keep_perfmon_alone();
    TRY("without CAP_SYS_ADMIN", DTK_UPROBE, (void)0);
    return 0;
}
