// SPDX-License-Identifier: MIT
// Providers whose probes fire in the kernel module.
//
// Their probes are made when a description names them, from lists that the running kernel
// gives; where one of them lies is asked when it is enabled.
#pragma once

#include "libdtrace/providers/provider.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

// A place where a probe fires: struct dtk_site of abi/ioctl.h, with a name where that has an
// address of one.
struct KernelSite {
    std::uint32_t kind = 0; // enum dtk_kind
    std::uint64_t where = 0;
    std::string name; // goes before where
    std::uint64_t more = 0;
};

class KernelProvider : public Provider {
public:
    // Of one of its probes; none: there is none any more.
    virtual std::vector<KernelSite> sites(const ProbeInfo& probe) = 0;

protected:
    // Could the description's part mean this text?
    static bool part_means(const std::string& part, std::string_view text);
};

} // namespace dt
