// SPDX-License-Identifier: MIT
#include "libdtrace/session/session_state.hpp"

#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/sampling/perf_events.hpp"
#include "libdtrace/session/sampling/recorded_events.hpp"
#include "libdtrace/session/sampling/sample_contents.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace dt {

SessionState::SessionState(Listener& to)
    : listener(to),
      providers(
          processes, [this](SearchScope scope) { return usdt_candidates(scope); },
          [this] { return can_record_events(); })
{
    open_kernel();
}

int SessionState::fail(int number, std::string text)
{
    error = number;
    error_text = std::move(text);
    debug("error %d: %s", number, error_text.c_str());
    return -1;
}

int SessionState::fail(const Error& cause)
{
    return fail(cause.sys != 0 ? cause.sys : EDT_ENABLING_ERR, cause.text);
}

void SessionState::internal_error(const std::string& text) const
{
    debug("internal error: %s", text.c_str());
    if (!options.flags.core)
        return;
    std::fprintf(stderr, "libdtrace: internal error: %s\n", text.c_str());
    std::abort();
}

void SessionState::open_kernel()
{
    kernel.reset();
    auto opened = KernelDevice::open();
    if (opened)
        kernel.emplace(std::move(*opened));
    else
        why_no_kernel = opened.error().text;
    providers.set_kernel_usable(kernel.has_value());
}

std::vector<ArenaMemory*> SessionState::all_arenas()
{
    std::vector<ArenaMemory*> all{&*arena};
    for (const auto& further : domain_arenas)
        all.push_back(further.memory.get());
    return all;
}

bool SessionState::has_own_targets() const
{
    return std::any_of(processes.all().begin(), processes.all().end(),
                       [](const auto& process) { return process->by_user(); });
}

bool SessionState::can_sample_machine() const
{
    if (kernel.has_value())
        return false;
    if (!may_sample_machine_)
        may_sample_machine_ = static_cast<bool>(PerfEvents::check_permission());
    return *may_sample_machine_;
}

bool SessionState::can_record_events() const
{
    if (kernel.has_value())
        return false;
    if (!may_record_events_)
        may_record_events_ = static_cast<bool>(RecordedEvents::check_permission());
    return *may_record_events_;
}

bool SessionState::is_recorded(std::uint32_t probe) const
{
    const Provider* owner = registry.at(probe).owner;
    return providers.is_recorded(owner) ||
           (owner == &providers.syscall && !kernel.has_value() && !has_own_targets());
}

bool SessionState::samples_in_consumer() const
{
    return can_sample_machine() && (!has_own_targets() || needs_only_samples(*this));
}

bool SessionState::fires_in_consumer(std::uint32_t probe) const
{
    if (probe == probe_begin || probe == probe_end || is_recorded(probe))
        return true;
    const auto& timers = providers.profile.timers();
    const auto timer = timers.find(probe);
    return timer != timers.end() && (!timer->second.per_cpu || samples_in_consumer());
}

std::vector<ProcessSymbols*> SessionState::usdt_candidates(SearchScope scope)
{
    std::vector<ProcessSymbols*> all;
    for (const auto& process : processes.all())
        if (process->is_held() && process->by_user() && process->symbols != nullptr)
            all.push_back(process->symbols.get());
    if (!all.empty() || scope == SearchScope::named)
        return all;
    // Begins to watch for new processes first, so that no process is missed.
    new_processes.begin();
    return processes.all_readable().symbols;
}

std::string SessionState::id_in_providers(const ps_prochandle& process) const
{
    const bool like_origin = process.is_followed() && process.execed;
    return std::to_string(like_origin ? process.origin : process.pid);
}

bool SessionState::awaits_libraries(const ps_prochandle& process) const
{
    const std::string pid = id_in_providers(process);
    return is_any_enabled([&](const ProbeSpec& spec) {
        return spec.provider == "pid" + pid || spec.provider == "plockstat" + pid ||
               spec.provider == "syscall" || spec.provider == "proc" ||
               providers.may_be_static(spec);
    });
}

bool SessionState::syscalls_fire_in_targets() const
{
    return has_own_targets() && !kernel.has_value() &&
           options.mechanism != MechanismOption::uprobe;
}

bool SessionState::awaits_statics() const
{
    return is_any_enabled(
        [this](const ProbeSpec& spec) { return providers.may_be_static(spec); });
}

std::set<pid_t> SessionState::found_by_probes() const
{
    std::set<pid_t> pids;
    for (const Enabling& each : enabled)
        for (const auto& ids : each.prog->matched)
            for (std::uint32_t id : ids)
                if (const ProcessProbe* probe = probes.probe(id))
                    pids.insert(probe->pid);
    return pids;
}

} // namespace dt
