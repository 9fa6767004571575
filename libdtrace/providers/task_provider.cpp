// SPDX-License-Identifier: MIT
#include "libdtrace/providers/task_provider.hpp"

#include <array>
#include <sys/syscall.h>

namespace dt {

namespace {

struct CallRow {
    std::string_view name;
    bool returns;
    dt_rt_task_call call;
    std::vector<std::uint32_t> numbers;
};

// dt_rt_task_args() reads the arguments of these calls.
const std::vector<CallRow>& call_rows()
{
    static const std::vector<CallRow> rows{
        {"exec", false, DT_RT_EXEC, {SYS_execve, SYS_execveat}},
        {"exec-failure", true, DT_RT_EXEC_FAILURE, {SYS_execve, SYS_execveat}},
        {"signal-clear", true, DT_RT_SIGNAL_CLEAR, {SYS_rt_sigtimedwait}},
        {"signal-send",
         false,
         DT_RT_SIGNAL_SEND,
         {SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
          SYS_pidfd_send_signal}}};
    return rows;
}

constexpr std::array<std::string_view, n_task_events> event_names{
#define X(event, name) name,
    DT_TASK_EVENTS(X)
#undef X
};

} // namespace

ProviderAttributes TaskProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Isa};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Unknown};
    return {evolving, hidden, hidden, evolving, evolving};
}

Provider::Outcome TaskProvider::provide(const ProbeSpec& spec)
{
    if (!part_means(spec.provider, "proc") || !spec.module.empty() ||
        !spec.function.empty() || !has_targets_())
        return {};
    auto add = [&](std::string_view name) {
        if (part_means(spec.name, name))
            known_[name] = registry_.add(this, "proc", "", "", name);
    };
    for (const std::string_view name : event_names)
        add(name);
    for (const CallRow& row : call_rows())
        add(row.name);
    return {}; // the caller searches the registry for the new probes
}

std::uint32_t TaskProvider::if_enabled(std::string_view name) const
{
    const auto known = known_.find(name);
    return known != known_.end() && registry_.at(known->second).enabled ? known->second
                                                                        : 0;
}

TaskProbes TaskProvider::enabled_events() const
{
    TaskProbes probes{};
    for (std::size_t i = 0; i < probes.size(); i++)
        probes[i] = if_enabled(event_names[i]);
    return probes;
}

std::vector<CallProbe> TaskProvider::enabled_calls() const
{
    std::vector<CallProbe> all;
    for (const CallRow& row : call_rows())
        if (const std::uint32_t probe = if_enabled(row.name); probe != 0)
            all.push_back({probe, row.returns, row.numbers, task_call(row.call)});
    return all;
}

} // namespace dt
