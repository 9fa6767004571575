// SPDX-License-Identifier: MIT
// Host operations in the consumer's own process.
#include "libdtrace/session/backends/local_host.hpp"

#include "abi/ioctl.h"
#include "base/clock_ns.hpp"
#include "dif/float.h"
#include "dif/vars.h"
#include "process/proc_files.hpp"
#include "process/task_vars.hpp"

#include <cerrno>
#include <cstring>
#include <sched.h>
#include <string>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

namespace dt {

namespace {

dt_u64 op_timestamp(dt_host*)
{
    return clock_ns(CLOCK_MONOTONIC);
}
dt_u64 op_walltime(dt_host*)
{
    return clock_ns(CLOCK_REALTIME);
}
dt_u64 op_vtimestamp(dt_host*)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

TaskVars own_vars()
{
    return {::getpid(), static_cast<pid_t>(::syscall(SYS_gettid))};
}

// Reads a register of the calling thread. Segment registers, and registers that a call
// does not preserve, read as 0.
int own_register(dt_u32 index, dt_u64* value)
{
    struct Row {
        dt_u32 index;
        int in_context;
    };
    constexpr Row rows[] = {{0, REG_R15},  {1, REG_R14},  {2, REG_R13},  {3, REG_R12},
                            {10, REG_RBP}, {11, REG_RBX}, {17, REG_RIP}, {20, REG_RSP}};
    if (index >= DIF_UREGS_AMD64_N)
        return -1;
    ucontext_t context{};
    ::getcontext(&context);
    *value = 0;
    for (const Row& row : rows)
        if (row.index == index)
            *value = static_cast<dt_u64>(context.uc_mcontext.gregs[row.in_context]);
    return 0;
}

int op_var(dt_host*, dt_u32 id, dt_u32 index, dt_u64* value)
{
    if (id == DIF_VAR_uregs)
        return own_register(index, value);
    // The errno of this process has no meaning for the D program.
    const auto number = id == DIF_VAR_errno ? 0 : own_vars().number(id, index);
    *value = number.value_or(0);
    return number ? 0 : -1;
}

dt_u64 op_var_string(dt_host*, dt_u32 id, dt_u32 index, char* to, dt_u64 max)
{
    const std::string text = own_vars().text(id, index);
    const dt_u64 n = text.size() < max ? text.size() : max;
    std::memcpy(to, text.data(), n);
    return n;
}

int op_progenyof(dt_host*, dt_u64 pid)
{
    return is_descendant(::getpid(), static_cast<pid_t>(pid)) ? 1 : 0;
}

constexpr dt_host_ops local_ops = {
    .timestamp = op_timestamp,
    .walltime = op_walltime,
    .vtimestamp = op_vtimestamp,
    .load = nullptr,
    .load_string = nullptr,
    .store = nullptr,
    .arg = nullptr,
    .var = op_var,
    .var_string = op_var_string,
    .ustack = nullptr,
    .progenyof = op_progenyof,
    .raise = nullptr,
    .stop = nullptr,
    .flop = dt_flop,
};

} // namespace

int thread_alive(dt_u32 tid)
{
    if (DTK_IS_CPU(tid))
        return 1;
    // The thread may belong to any process. EPERM means that it exists.
    return ::syscall(SYS_tkill, static_cast<pid_t>(tid), 0) == 0 || errno != ESRCH;
}

std::uint32_t shard_for(const void* arena, std::uint32_t cpu)
{
    // The last private shard is tried last, because the agent tries it first.
    const auto* header = static_cast<const dt_arena*>(arena);
    const dt_u32 n_own = header->n_shards - header->n_shared;
    return n_own > 1 ? header->n_shared + cpu % (n_own - 1) : cpu;
}

LocalHost::LocalHost(void* arena)
{
    auto tid = static_cast<dt_u32>(::syscall(SYS_gettid));
    host_.ops = &local_ops;
    host_.arena = arena;
    host_.owner = tid;
    host_.own_shards = 1;
    host_.has_target = 0;
    host_.thread_key = static_cast<dt_u64>(::getpid()) << 32 | tid;
}

void LocalHost::fire(std::uint32_t probe, std::uint64_t arg0, std::uint64_t arg1)
{
    int cpu = ::sched_getcpu();
    host_.cpu = cpu < 0 ? 0 : static_cast<dt_u32>(cpu);
    host_.shard = shard_for(host_.arena, host_.cpu);
    const dt_u64 args[2] = {arg0, arg1};
    dt_fire(&host_, probe, args, 2);
}

} // namespace dt
