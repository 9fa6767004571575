// SPDX-License-Identifier: MIT
// The cpc provider: probes that fire each time one of perf's counters overflows.
//
//   cpc:::EVENT-MODE[-0xMASK]-COUNT      cpc:::PAPI_tot_cyc-all-1000000
//
// EVENT is a row of abi/cpc.h, or rHEX for a raw event of the processor. MODE is user,
// kernel or all. With a MASK, HEX has at most two digits, and the processor's event
// code is HEX | MASK << 8. A name is parsed from its end, because names of events
// contain dashes.
//
// A description that names a single probe creates this probe. A pattern such as cpc:::
// creates one probe for each matching event of this machine, in mode all, with the
// default count.
#pragma once

#include "libdtrace/providers/kernel_provider.hpp"

#include <functional>
#include <map>
#include <string_view>

namespace dt {

struct CpcCounter {
    std::uint32_t type = 0, mode = 0; // an enum dt_cpc_type, a set of DT_CPC_*
    std::uint64_t config = 0, count = 0;
};

// Parses the name of a probe. The error names the part that is not valid.
Result<CpcCounter> parse_cpc(std::string_view name);

// Returns false if the kernel reports that this machine cannot count the event.
bool has_cpc_event(const CpcCounter& counter);

class CpcProvider : public KernelProvider {
public:
    using HasEvent = std::function<bool(const CpcCounter&)>;
    explicit CpcProvider(Registry& registry, HasEvent has_event = has_cpc_event)
        : registry_(registry), has_event_(std::move(has_event))
    {
    }
    std::string name() const override { return "cpc"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    std::vector<KernelSite> sites(const ProbeInfo& probe) override;

private:
    void list(const ProbeSpec& spec);

    Registry& registry_;
    HasEvent has_event_;
};

} // namespace dt
