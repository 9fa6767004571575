// SPDX-License-Identifier: MIT
// Creates probes for the kernel's tracepoints.
#include "libdtrace/providers/sdt_provider.hpp"

#include "abi/ioctl.h"
#include "base/each_part.hpp"
#include "libdtrace/providers/tracefs.hpp"

#include <algorithm>
#include <array>

namespace dt {

ProviderAttributes SdtProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Isa};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Isa};
    return {evolving, hidden, hidden, hidden, hidden};
}

// Returns whether the events of the subsystem have no tracepoints of their own.
static bool is_made_of_others(std::string_view subsystem)
{
    constexpr std::array others{"ftrace", "syscalls", "kprobes", "uprobes",
                                "synthetic"};
    return std::find(others.begin(), others.end(), subsystem) != others.end();
}

// Reads the list of the kernel's events. A line is "sched:sched_switch".
void SdtProvider::load()
{
    if (loaded_)
        return;
    loaded_ = true;
    auto list = read_tracefs("available_events");
    if (!list) {
        why_not_ = list.error().text;
        return;
    }
    list_ = std::move(*list);
    each_line(list_, [this](std::string_view line) {
        std::size_t colon = line.find(':');
        if (colon != std::string_view::npos &&
            !is_made_of_others(line.substr(0, colon)))
            events_.emplace_back(line.substr(0, colon), line.substr(colon + 1));
    });
}

void SdtProvider::forget()
{
    loaded_ = false;
    events_.clear();
    list_.clear();
    why_not_.clear();
}

Provider::Outcome SdtProvider::provide(const ProbeSpec& spec)
{
    if (!part_means(spec.provider, "sdt") || !spec.function.empty())
        return {};
    load();
    for (const auto& [subsystem, event] : events_)
        if (part_means(spec.module, subsystem) && part_means(spec.name, event))
            registry_.add(this, "sdt", subsystem, "", event);
    return {}; // the caller searches the registry for the new probes
}

std::vector<KernelSite> SdtProvider::sites(const ProbeInfo& probe)
{
    KernelSite site;
    site.kind = DTK_TRACEPOINT;
    site.name = probe.name;
    return {site};
}

std::string SdtProvider::hint()
{
    load();
    return why_not_.empty() ? "" : "; " + why_not_;
}

} // namespace dt
