// SPDX-License-Identifier: MIT
// How stable probes are: what their provider says, or #pragma D attributes of its block.
#include "libdtrace/session/session.hpp"

dt::ProviderAttributes dtrace_hdl::attributes_of_provider(const dt::ProbeInfo& probe)
{
    dt::ProviderAttributes parts = probe.owner->probe_attributes(probe);
    if (compiler)
        compiler->set_attributes(probe.provider, parts);
    return parts;
}

dt::ProbeStability dtrace_hdl::stability_of(std::span<const std::uint32_t> ids)
{
    dt::ProbeStability weak;
    const dt::ProbeInfo* before = nullptr; // mostly one like the next
    for (std::uint32_t id : ids) {
        const dt::ProbeInfo& probe = registry.at(id);
        if (before == nullptr || !dt::same_attributes(*before, probe)) {
            dt::ProviderAttributes parts = attributes_of_provider(probe);
            weak.descriptions =
                dt::weakest(weak.descriptions, dt::attributes_of(probe, parts));
            weak.arguments = dt::weakest(weak.arguments, parts.args);
        }
        before = &probe;
    }
    return weak;
}
