// SPDX-License-Identifier: MIT
// The profile provider: probes that fire at intervals of time.
//
//   tick-N[unit]     once per interval
//   profile-N[unit]  once per interval for every running thread of the targets, with
//                    its program counter in arg1; once per CPU if there is no target
//
// A description that names a probe creates this probe. The kernel module fires these
// probes if the session uses the module. Otherwise TimerThread fires tick probes, and
// profile probes fire in the consumer (MachineProbes) or on stopped threads of the
// targets (Sampler in the agent). Intervals below 200 us are
// refused, because firing would use most of a CPU.
#pragma once

#include "libdtrace/providers/provider.hpp"

#include <cstdint>
#include <map>

namespace dt {

struct Timer {
    std::uint32_t probe = 0;
    std::uint64_t interval_ns = 0;
    bool per_cpu = false; // true for profile-N, false for tick-N
};

// Returns the interval in ns for "97", "1ms", "5sec" or "100hz". Returns nullopt if the
// text is invalid, the number is zero, or the interval is too long (292 years).
std::optional<std::uint64_t> parse_interval(std::string_view text);

constexpr std::uint64_t shortest_interval_ns = 200'000;

class ProfileProvider : public Provider {
public:
    explicit ProfileProvider(Registry& registry);
    std::string name() const override { return "profile"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;

    const std::map<std::uint32_t, Timer>& timers() const { return timers_; }

private:
    // Returns null if the probe was created, or if the name is not the name of a timed
    // probe. Otherwise returns why the probe was refused.
    const char* make(const std::string& name);

    Registry& registry_;
    std::map<std::uint32_t, Timer> timers_; // indexed by probe id
};

} // namespace dt
