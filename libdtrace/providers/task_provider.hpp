// SPDX-License-Identifier: MIT
// The proc provider of targets: the events of processes and threads. Its probes fire in
// the targets that the user has named, if the kernel module cannot be used.
//
// Most probes fire when the agent stops a thread (enum TaskEvent). The others fire at
// system calls (SyscallSites).
#pragma once

#include "libdtrace/providers/provider.hpp"
#include "libdtrace/providers/syscall_sites.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <functional>
#include <vector>

namespace dt {

class TaskProvider : public Provider {
public:
    // has_targets() returns whether the user has named targets.
    TaskProvider(Registry& registry, std::function<bool()> has_targets)
        : registry_(registry), has_targets_(std::move(has_targets))
    {
    }
    std::string name() const override { return "proc"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;

    TaskProbes enabled_events() const;
    std::vector<CallProbe> enabled_calls() const;

private:
    // Returns the id of a probe, or 0 if it is not enabled.
    std::uint32_t if_enabled(std::string_view name) const;

    Registry& registry_;
    std::function<bool()> has_targets_;
    std::map<std::string_view, std::uint32_t> known_; // all probes, by name
};

} // namespace dt
