// SPDX-License-Identifier: MIT
// Host operations of the agent: time, memory, arguments, stacks.
#include "ptrace-agent/host.hpp"

#include "base/clock_ns.hpp"
#include "base/page_bytes.hpp"
#include "dif/float.h"
#include "process/proc_files.hpp"
#include "ptrace-agent/unwind.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

namespace dt::agent {

// The number of times that a busy shard is tested before another shard is tried.
constexpr std::uint32_t max_looks = 1000;

static FiringHost& self(dt_host* host)
{
    return *static_cast<FiringHost*>(host->self);
}

static dt_u64 op_timestamp(dt_host*)
{
    return clock_ns(CLOCK_MONOTONIC);
}
static dt_u64 op_walltime(dt_host*)
{
    return clock_ns(CLOCK_REALTIME);
}
static dt_u64 op_vtimestamp(dt_host* h)
{
    return self(h).vtimestamp();
}
static int op_load(dt_host* h, dt_u64 addr, void* to, dt_u64 bytes, dt_u64* bad)
{
    std::uint64_t at = addr;
    int result = self(h).load(addr, to, bytes, &at);
    *bad = at;
    return result;
}
static dt_s64 op_load_string(dt_host* h, dt_u64 addr, char* to, dt_u64 max, dt_u64* bad)
{
    std::uint64_t at = addr;
    dt_s64 result = self(h).load_string(addr, to, max, &at);
    *bad = at;
    return result;
}
static int op_store(dt_host* h, dt_u64 addr, const void* from, dt_u64 bytes,
                    dt_u64* bad)
{
    std::uint64_t at = addr;
    int result = self(h).store(addr, from, bytes, &at);
    *bad = at;
    return result;
}
static int op_arg(dt_host* h, dt_u32 n, dt_u64* value, dt_u64* bad)
{
    std::uint64_t number = 0, at = 0;
    int result = self(h).arg(n, &number, &at);
    *value = number;
    *bad = at;
    return result;
}
static int op_var(dt_host* h, dt_u32 id, dt_u32 index, dt_u64* value)
{
    std::uint64_t number = 0;
    int result = self(h).var(id, index, &number);
    *value = number;
    return result;
}
static dt_u64 op_var_string(dt_host* h, dt_u32 id, dt_u32 index, char* to, dt_u64 max)
{
    return self(h).var_string(id, index, to, max);
}
static dt_s64 op_ustack(dt_host* h, dt_u64* pcs, dt_u32 max)
{
    static_assert(sizeof(dt_u64) == sizeof(std::uint64_t));
    return self(h).ustack(reinterpret_cast<std::uint64_t*>(pcs), max);
}
static int op_progenyof(dt_host* h, dt_u64 pid)
{
    return self(h).progenyof(pid);
}
static int op_raise(dt_host* h, int signal)
{
    return self(h).raise(signal);
}
static int op_stop(dt_host* h)
{
    return self(h).raise(SIGSTOP);
}

static const dt_host_ops host_ops = {
    .timestamp = op_timestamp,
    .walltime = op_walltime,
    .vtimestamp = op_vtimestamp,
    .load = op_load,
    .load_string = op_load_string,
    .store = op_store,
    .arg = op_arg,
    .var = op_var,
    .var_string = op_var_string,
    .ustack = op_ustack,
    .progenyof = op_progenyof,
    .raise = op_raise,
    .stop = op_stop,
    .flop = dt_flop,
};

FiringHost::FiringHost(const ArenaMap& arena, Thread& thread, const Registers& regs)
    : thread_(thread), regs_(regs), vars_(thread.process->pid, thread.tid)
{
    static const auto own_id = static_cast<dt_u32>(getpid());
    auto cpu = static_cast<dt_u32>(std::max(0, sched_getcpu()));
    host_.ops = &host_ops;
    host_.arena = arena.base();
    host_.cpu = cpu;
    // Each firing begins with the same shard. The records of a speculation stay in
    // order only if all of them are in one shard.
    host_.shard = arena.n_shards() - 1;
    host_.own_shards = 1;
    host_.shard_tries = max_looks;
    host_.owner = own_id;
    host_.has_target = 1;
    host_.thread_key = static_cast<dt_u64>(thread.process->pid) << 32 |
                       static_cast<dt_u64>(thread.tid);
    host_.self = this;
}

void FiringHost::fire(const Firing& firing)
{
    kind_ = firing.kind;
    if (kind_ == SiteKind::static_probe) {
        operands_ = thread_.process->space->statics.operands_of(firing.arg0);
        dt_fire(&host_, firing.probe, nullptr, 0);
        return;
    }
    if (kind_ == SiteKind::ret) {
        dt_u64 args[] = {firing.arg0, regs_[Reg::rax]};
        dt_fire(&host_, firing.probe, args, 2);
        return;
    }
    const bool is_call =
        kind_ == SiteKind::system_call || kind_ == SiteKind::system_return;
    if (const dt_u32 call = dt_rt_task_call_of(firing.arg0); is_call && call != 0) {
        const dt_u64 in[] = {regs_[Reg::rdi], regs_[Reg::rsi], regs_[Reg::rdx]};
        dt_u64 args[3];
        const dt_u32 n = dt_rt_task_args(call, static_cast<std::uint32_t>(firing.arg0),
                                         in, regs_[Reg::rax], args);
        if (n != 0)
            dt_fire(&host_, firing.probe, args, n);
        return;
    }
    if (kind_ == SiteKind::system_return) {
        const dt_u64 result =
            dt_rt_errno_of(regs_[Reg::rax]) != 0 ? ~dt_u64{0} : regs_[Reg::rax];
        dt_u64 args[] = {result, result};
        dt_fire(&host_, firing.probe, args, 2);
        return;
    }
    if (kind_ == SiteKind::system_call) {
        dt_u64 args[] = {regs_[Reg::rdi], regs_[Reg::rsi], regs_[Reg::rdx],
                         regs_[Reg::r10], regs_[Reg::r8],  regs_[Reg::r9]};
        dt_fire(&host_, firing.probe, args, 6);
        return;
    }
    // The registers that hold integer arguments (System V AMD64 ABI, 3.2.3).
    dt_u64 args[] = {regs_[Reg::rdi], regs_[Reg::rsi], regs_[Reg::rdx],
                     regs_[Reg::rcx], regs_[Reg::r8],  regs_[Reg::r9]};
    dt_fire(&host_, firing.probe, args, 6);
}

void FiringHost::fire_at_stop(std::uint32_t probe, std::span<const std::uint64_t> args)
{
    kind_ = SiteKind::ret; // so that arg() reads nothing from the stack
    dt_fire(&host_, probe, reinterpret_cast<const dt_u64*>(args.data()),
            static_cast<dt_u32>(args.size()));
}

// Reads argument n. For a static probe, this is its operand n. For an entry probe, arg6
// and later arguments are on the stack above the return address. Returns -1 and sets
// `bad` if an operand cannot be read. Stores 0 if the argument does not exist, or if
// the stack cannot be read.
int FiringHost::arg(std::uint32_t n, std::uint64_t* value, std::uint64_t* bad)
{
    *value = *bad = 0;
    if (kind_ == SiteKind::static_probe)
        return n < operands_.size() ? static_arg(operands_[n], value, bad) : 0;
    if (kind_ == SiteKind::ret || kind_ >= SiteKind::jump_out || n < 6)
        return 0;
    TargetAddr at{regs_[Reg::rsp] + 8 * (n - 5)};
    if (!thread_.process->space->read_value(at, *value))
        *value = 0;
    return 0;
}

std::uint64_t FiringHost::vtimestamp()
{
    return thread_run_ns(thread_.process->pid, thread_.tid);
}

int FiringHost::load(std::uint64_t addr, void* to, std::uint64_t bytes,
                     std::uint64_t* bad)
{
    auto* into = static_cast<std::byte*>(to);
    AddressSpace& space = *thread_.process->space;
    if (bytes == 0 || space.read({addr}, {into, bytes}))
        return 0;
    while (bytes != 0) {
        std::uint64_t n = std::min(bytes, page_bytes - addr % page_bytes);
        if (addr + n < addr || !space.read({addr}, {into, n})) {
            *bad = addr;
            return -1;
        }
        addr += n;
        into += n;
        bytes -= n;
    }
    return 0;
}

std::int64_t FiringHost::load_string(std::uint64_t addr, char* to, std::uint64_t max,
                                     std::uint64_t* bad)
{
    std::uint64_t length = 0;
    while (length < max) {
        std::uint64_t in_page = page_bytes - (addr + length) % page_bytes;
        std::uint64_t part = length == 0 ? 256 : page_bytes;
        std::uint64_t n = std::min({max - length, in_page, part});
        if (load(addr + length, to + length, n, bad) != 0)
            return -1;
        if (const void* end = std::memchr(to + length, 0, n))
            return static_cast<const char*>(end) - to;
        length += n;
    }
    return static_cast<std::int64_t>(length);
}

int FiringHost::store(std::uint64_t addr, const void* from, std::uint64_t bytes,
                      std::uint64_t* bad)
{
    // process_vm_writev() respects page protection, so a D program cannot write to
    // text.
    auto* bytes_from = static_cast<const std::byte*>(from);
    while (bytes != 0) {
        std::uint64_t n = std::min(bytes, page_bytes - addr % page_bytes);
        if (addr + n < addr ||
            !thread_.process->space->write({addr}, {bytes_from, n})) {
            *bad = addr;
            return -1;
        }
        addr += n;
        bytes_from += n;
        bytes -= n;
    }
    return 0;
}

std::int64_t FiringHost::ustack(std::uint64_t* pcs, std::uint32_t max)
{
    return unwind_user_stack(*thread_.process, regs_, pcs, max);
}

} // namespace dt::agent
