// SPDX-License-Identifier: MIT
// Providers whose probes fire in the kernel module. The sites of a probe are looked up
// when the probe is enabled.
#pragma once

#include "libdtrace/providers/provider.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

// A place where a probe fires, like struct dtk_site (abi/ioctl.h).
struct KernelSite {
    std::uint32_t kind = 0; // enum dtk_kind
    std::uint64_t where = 0;
    std::string name; // a symbol, which overrides `where` if it is not empty
    std::uint64_t more = 0;
};

class KernelProvider : public Provider {
public:
    // Returns the sites of a probe, or none if the probe no longer exists.
    virtual std::vector<KernelSite> sites(const ProbeInfo& probe) = 0;
};

} // namespace dt
