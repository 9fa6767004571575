// SPDX-License-Identifier: MIT
// Host operations in the consumer's own process.
#include "libdtrace/session/backends/local_host.hpp"

#include "abi/ioctl.h"
#include "base/clock_ns.hpp"
#include "dif/float.h"
#include "dif/vars.h"
#include "process/open_file.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
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

OpenFile own_file(dt_u32 fd)
{
    return {::getpid(), static_cast<pid_t>(::syscall(SYS_gettid)), fd};
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
    switch (id) {
    case DIF_VAR_uregs:
        return own_register(index, value);
    case DIF_VAR_pid:
        *value = static_cast<dt_u64>(::getpid());
        return 0;
    case DIF_VAR_tid:
        *value = static_cast<dt_u64>(::syscall(SYS_gettid));
        return 0;
    case DIF_VAR_ppid:
        *value = static_cast<dt_u64>(::getppid());
        return 0;
    case DIF_VAR_uid: // uid and gid are the effective ids
    case DIF_VAR_pr_euid:
        *value = ::geteuid();
        return 0;
    case DIF_VAR_gid:
    case DIF_VAR_pr_egid:
        *value = ::getegid();
        return 0;
    case DIF_VAR_pr_pgid:
        *value = static_cast<dt_u64>(::getpgid(0));
        return 0;
    case DIF_VAR_pr_sid:
        *value = static_cast<dt_u64>(::getsid(0));
        return 0;
    case DIF_VAR_ipl:
    case DIF_VAR_errno:
    case DIF_VAR_jid:
        *value = 0;
        return 0;
    default:
        break;
    }
    auto number = own_file(index).number(id);
    *value = number.value_or(0);
    return number ? 0 : -1;
}

std::string read_file(const char* path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string link_target(const char* path)
{
    char to[4096];
    ssize_t n = ::readlink(path, to, sizeof to);
    return n < 0 ? std::string() : std::string(to, static_cast<std::size_t>(n));
}

std::string string_var(dt_u32 id, dt_u32 index)
{
    switch (id) {
    case DIF_VAR_execname: {
        std::string name = read_file("/proc/self/comm");
        if (!name.empty() && name.back() == '\n')
            name.pop_back();
        return name;
    }
    case DIF_VAR_execargs:
    case DIF_VAR_pr_psargs: {
        std::string args = read_file("/proc/self/cmdline");
        while (!args.empty() && args.back() == '\0')
            args.pop_back();
        for (char& c : args)
            if (c == '\0')
                c = ' ';
        return args;
    }
    case DIF_VAR_cwd:
        return link_target("/proc/self/cwd");
    case DIF_VAR_root:
        return link_target("/proc/self/root");
    case DIF_VAR_zonename:
        return "global";
    default:
        return own_file(index).text(id).value_or("");
    }
}

dt_u64 op_var_string(dt_host*, dt_u32 id, dt_u32 index, char* to, dt_u64 max)
{
    std::string text = string_var(id, index);
    dt_u64 n = text.size() < max ? text.size() : max;
    std::memcpy(to, text.data(), n);
    return n;
}

// Returns the parent of a process, or 0 if there is no parent or /proc cannot be read.
pid_t parent_of(pid_t pid)
{
    const std::string stat =
        read_file(("/proc/" + std::to_string(pid) + "/stat").c_str());
    // The process name may itself contain parentheses.
    const std::size_t name_end = stat.rfind(')');
    int parent = 0;
    if (name_end == std::string::npos ||
        std::sscanf(stat.c_str() + name_end + 1, " %*c %d", &parent) != 1)
        return 0;
    return parent;
}

int op_progenyof(dt_host*, dt_u64 pid)
{
    // Limits the walk, because parents may change during the walk.
    constexpr int max_generations = 4096;
    pid_t ancestor = ::getpid();
    for (int i = 0; i < max_generations && ancestor > 0; i++) {
        if (pid == static_cast<dt_u64>(ancestor))
            return 1;
        ancestor = i == 0 ? ::getppid() : parent_of(ancestor);
    }
    return 0;
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
    // Tries the last private shard last, because the agent tries it first.
    const auto* arena = static_cast<const dt_arena*>(host_.arena);
    const dt_u32 n_own = arena->n_shards - arena->n_shared;
    host_.shard = n_own > 1 ? arena->n_shared + host_.cpu % (n_own - 1) : host_.cpu;
    const dt_u64 args[2] = {arg0, arg1};
    dt_fire(&host_, probe, args, 2);
}

} // namespace dt
