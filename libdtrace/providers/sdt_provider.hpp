// SPDX-License-Identifier: MIT
// The sdt provider: the kernel's tracepoints, sdt:SUBSYSTEM::EVENT.
#pragma once

#include "libdtrace/providers/kernel_provider.hpp"

#include <string_view>
#include <utility>

namespace dt {

class SdtProvider : public KernelProvider {
public:
    explicit SdtProvider(Registry& registry) : registry_(registry) {}
    std::string name() const override { return "sdt"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    std::vector<KernelSite> sites(const ProbeInfo& probe) override;
    void forget(); // makes the provider read the list again
    // Returns why there are no tracepoints, starting with "; ", or "" if the list can
    // be read.
    std::string hint();

private:
    void load();

    Registry& registry_;
    std::string list_, why_not_;
    std::vector<std::pair<std::string_view, std::string_view>>
        events_; // subsystem, name
    bool loaded_ = false;
};

} // namespace dt
