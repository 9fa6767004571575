// SPDX-License-Identifier: MIT
// What all providers have in common.
#include "libdtrace/providers/provider.hpp"

#include <algorithm>
#include <array>

namespace dt {

bool is_kernel_provider(std::string_view name)
{
    static constexpr std::array<std::string_view, 16> names = {
        "fbt",      "sdt", "syscall", "proc", "sched", "io",  "vminfo", "sysinfo",
        "lockstat", "ip",  "tcp",     "udp",  "mib",   "cpc", "vfs",    "rawfbt"};
    return std::find(names.begin(), names.end(), name) != names.end();
}

Attributes attributes_of(const ProbeInfo& probe, const ProviderAttributes& parts)
{
    Attributes weak = weakest(parts.provider, parts.name);
    if (!probe.module.empty())
        weak = weakest(weak, parts.module);
    if (!probe.function.empty())
        weak = weakest(weak, parts.function);
    return weak;
}

bool same_attributes(const ProbeInfo& a, const ProbeInfo& b)
{
    return a.owner == b.owner && a.provider == b.provider &&
           a.module.empty() == b.module.empty() &&
           a.function.empty() == b.function.empty();
}

} // namespace dt
