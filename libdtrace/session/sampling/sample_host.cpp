// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/sample_host.hpp"

#include "base/clock_ns.hpp"
#include "dif/float.h"
#include "dif/vars.h"
#include "libdtrace/session/backends/local_host.hpp"
#include "ptrace-agent/uregs.hpp"

#include <algorithm>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt {

namespace {

SampleHost& self_of(dt_host* host)
{
    return *static_cast<SampleHost*>(host->self);
}

constexpr dt_host_ops sample_ops = {
    .timestamp = [](dt_host* host) -> dt_u64 { return self_of(host).timestamp(); },
    .walltime = [](dt_host* host) -> dt_u64 { return self_of(host).walltime(); },
    .vtimestamp = nullptr,
    .load = [](dt_host* host, dt_u64 addr, void* to, dt_u64 bytes,
               dt_u64* bad) { return self_of(host).load(addr, to, bytes, bad); },
    .load_string =
        [](dt_host* host, dt_u64 addr, char* to, dt_u64 max, dt_u64* bad) {
            return self_of(host).load_string(addr, to, max, bad);
        },
    .store = nullptr,
    .arg = nullptr,
    .var = [](dt_host* host, dt_u32 id, dt_u32 index,
              dt_u64* value) { return self_of(host).var(id, index, value); },
    .var_string =
        [](dt_host* host, dt_u32 id, dt_u32 index, char* to, dt_u64 max) {
            return self_of(host).var_string(id, index, to, max);
        },
    .ustack = [](dt_host* host, dt_u64* pcs,
                 dt_u32 max) { return self_of(host).ustack(pcs, max); },
    .stack = [](dt_host* host, dt_u64* pcs,
                dt_u32 max) { return self_of(host).stack(pcs, max); },
    .progenyof = [](dt_host* host, dt_u64 pid) -> int {
        return self_of(host).progenyof(pid) ? 1 : 0;
    },
    .ask = nullptr,
    .raise = nullptr,
    .stop = nullptr,
    .harm = nullptr,
    .flop = dt_flop,
    .identify = nullptr,
};

} // namespace

SampleHost::SampleHost(void* arena)
{
    host_.ops = &sample_ops;
    host_.arena = arena;
    host_.owner = static_cast<dt_u32>(::syscall(SYS_gettid));
    host_.own_shards = 1;
    host_.has_target = 1;
    host_.self = this;
}

void SampleHost::fire(std::uint32_t probe, const PerfSample& sample,
                      std::span<const std::uint64_t> args, std::uint64_t error)
{
    sample_ = &sample;
    error_ = error;
    vars_ = TaskVars(sample.pid, sample.tid);
    host_.cpu = sample.cpu;
    host_.shard = shard_for(host_.arena, sample.cpu);
    host_.thread_key =
        static_cast<dt_u64>(sample.pid) << 32 | static_cast<dt_u32>(sample.tid);
    dt_fire(&host_, probe, reinterpret_cast<const dt_u64*>(args.data()),
            static_cast<dt_u32>(args.size()));
    sample_ = nullptr;
    text_.clear();
    name_.clear();
}

void SampleHost::change(const PerfTaskEvent& event)
{
    tasks_.change(event);
    const bool is_program_gone =
        event.kind == PerfTaskEvent::execed ||
        (event.kind == PerfTaskEvent::exited && event.pid == event.tid);
    if (is_program_gone)
        stacks_.forget(event.pid);
}

void SampleHost::forget_processes()
{
    tasks_.forget_all();
    stacks_.forget_all();
}

std::uint64_t SampleHost::walltime() const
{
    return sample_->time_ns + clock_ns(CLOCK_REALTIME) - monotonic_ns();
}

std::span<const std::byte> SampleHost::bytes_at(std::uint64_t addr,
                                                std::uint64_t n) const
{
    auto part_of = [addr, n](std::uint64_t begin, std::span<const std::byte> all) {
        const auto rest =
            all.subspan(std::min<std::uint64_t>(addr - begin, all.size()));
        return rest.first(std::min<std::uint64_t>(n, rest.size()));
    };
    if (addr >= text_base) // with the NUL
        return part_of(text_base,
                       std::as_bytes(std::span(text_.c_str(), text_.size() + 1)));
    if (addr >= record_base)
        return part_of(record_base, sample_->record);
    return StackCopy(*sample_).bytes(addr, n);
}

int SampleHost::load(std::uint64_t addr, void* to, std::uint64_t bytes,
                     std::uint64_t* bad) const
{
    const auto from = bytes_at(addr, bytes);
    if (from.size() != bytes) {
        *bad = addr + from.size();
        return -1;
    }
    std::memcpy(to, from.data(), bytes);
    return 0;
}

std::int64_t SampleHost::load_string(std::uint64_t addr, char* to, std::uint64_t max,
                                     std::uint64_t* bad) const
{
    const auto from = bytes_at(addr, max);
    const auto end = std::find(from.begin(), from.end(), std::byte{0});
    if (end == from.end() && from.size() != max) {
        *bad = addr + from.size();
        return -1;
    }
    const auto n = end - from.begin();
    std::memcpy(to, from.data(), static_cast<std::size_t>(n));
    return n;
}

// Returns a user or group id of a process that has exited. Returns nullopt if the
// variable is another one, or if /proc has it.
std::optional<std::uint64_t> SampleHost::id_of_exited(std::uint32_t id)
{
    const bool is_user = id == DIF_VAR_uid || id == DIF_VAR_pr_euid;
    const bool is_group = id == DIF_VAR_gid || id == DIF_VAR_pr_egid;
    if ((!is_user && !is_group) || vars_.exists())
        return std::nullopt;
    return is_user ? tasks_.uid_of(sample_->pid) : tasks_.gid_of(sample_->pid);
}

int SampleHost::var(std::uint32_t id, std::uint32_t index, std::uint64_t* value)
{
    if (id == DIF_VAR_uregs) {
        const auto found =
            sample_->user ? agent::ureg_of(*sample_->user, index) : std::nullopt;
        *value = found.value_or(0);
        return found ? 0 : -1;
    }
    if (id == DIF_VAR_errno) {
        *value = error_;
        return 0;
    }
    if (id == DIF_VAR_ppid) {
        *value = static_cast<std::uint64_t>(tasks_.parent_of(sample_->pid));
        return 0;
    }
    const auto& kernel = sample_->kernel_stack;
    if (id == DIF_VAR_stackdepth || id == DIF_VAR_caller) {
        *value = id == DIF_VAR_stackdepth ? kernel.size()
                 : kernel.size() > 1      ? kernel[1]
                                          : 0;
        return 0;
    }
    if (sample_->pid == 0) { // the CPU was idle
        *value = 0;
        return 0;
    }
    auto number = id_of_exited(id);
    if (!number)
        number = vars_.number(id, index);
    *value = number.value_or(0);
    return number ? 0 : -1;
}

std::uint64_t SampleHost::var_string(std::uint32_t id, std::uint32_t index, char* to,
                                     std::uint64_t max)
{
    std::string text;
    if (id == DIF_VAR_pr_psargs || id == DIF_VAR_execargs)
        text = tasks_.arguments_of(sample_->pid);
    if (id == DIF_VAR_execname && sample_->pid == 0) // the CPU was idle
        text = "swapper/" + std::to_string(sample_->cpu);
    else if (id == DIF_VAR_execname)
        text = tasks_.name_of(sample_->pid);
    if (id == DIF_VAR_execname && text.empty())
        text = name_;
    else if (text.empty())
        text = vars_.text(id, index);
    const std::uint64_t n = std::min<std::uint64_t>(max, text.size());
    std::memcpy(to, text.data(), n);
    return n;
}

std::int64_t SampleHost::ustack(std::uint64_t* pcs, std::uint32_t max)
{
    return stacks_.walk(*sample_, pcs, max);
}

std::int64_t SampleHost::stack(std::uint64_t* pcs, std::uint32_t max) const
{
    const std::size_t n = std::min<std::size_t>(max, sample_->kernel_stack.size());
    std::copy_n(sample_->kernel_stack.begin(), n, pcs);
    return static_cast<std::int64_t>(n);
}

bool SampleHost::progenyof(std::uint64_t pid)
{
    return tasks_.is_descendant(sample_->pid, static_cast<pid_t>(pid));
}

} // namespace dt
