// SPDX-License-Identifier: MIT
#include "libdtrace/session/backends/backend_choice.hpp"

#include "libdtrace/session/session_state.hpp"

namespace dt {

BackendFacts backend_facts(const SessionState& state)
{
    BackendFacts facts;
    facts.module_usable = state.kernel.has_value();
    facts.module_wanted = state.options.mechanism == MechanismOption::uprobe;
    facts.named_targets = state.has_own_targets();
    facts.process_probes = state.awaits_statics();
    const bool syscalls_in_targets = state.syscalls_fire_in_targets();
    for (const Enabling& each : state.enabled) {
        facts.kernel_probes |= each.prog->program->needs_kernel;
        // A description of a kernel provider counts even if no probe matches. A module
        // that is loaded later may have the probes (-Z).
        for (const auto& clause : each.prog->program->clauses)
            for (const ProbeSpec& spec : clause.probes)
                facts.kernel_probes |=
                    facts.module_usable && is_kernel_provider(spec.provider);
        for (const auto& ids : each.prog->matched)
            for (std::uint32_t id : ids) {
                const ProbeInfo& probe = state.registry.at(id);
                const bool call_in_target =
                    syscalls_in_targets && (probe.owner == &state.providers.syscall ||
                                            probe.owner == &state.providers.tasks);
                facts.kernel_probes |= !call_in_target && !state.is_recorded(id) &&
                                       state.providers.of_kernel(id) != nullptr;
                facts.profile_probes |= probe.name.starts_with("profile-");
                facts.tick_probes |= probe.name.starts_with("tick-");
                facts.process_probes |= call_in_target ||
                                        probe.owner == &state.providers.pid ||
                                        probe.owner == &state.providers.plockstat ||
                                        probe.owner == &state.providers.usdt;
            }
    }
    return facts;
}

BackendChoice choose_backend(const BackendFacts& facts)
{
    if (facts.kernel_probes || facts.module_wanted)
        return facts.module_usable ? BackendChoice::module
                                   : BackendChoice::module_unusable;
    if (!facts.module_usable)
        return BackendChoice::processes;
    const bool clock_in_module = facts.process_probes
                                     ? facts.profile_probes && !facts.named_targets
                                     : facts.profile_probes || facts.tick_probes;
    if (clock_in_module)
        return BackendChoice::module;
    return facts.profile_probes ? BackendChoice::processes_for_profile
                                : BackendChoice::processes;
}

} // namespace dt
