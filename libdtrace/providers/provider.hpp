// SPDX-License-Identifier: MIT
// A provider publishes probes. Some have a fixed list (dtrace), some make probes when a
// description names them (profile, pid).
//
//   provide()  a description was compiled: make the probes that it may mean
//   enable()   tracing begins, or began before and these are new: make them fire
#pragma once

#include "base/result.hpp"
#include "libdtrace/compile/ast.hpp"
#include "libdtrace/compile/diagnostic.hpp"
#include "libdtrace/providers/registry.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct Provided {
    std::vector<std::uint32_t> ids; // probes that the description means, maybe aliases
    bool retained = false;          // more may come later
};

class Provider {
public:
    virtual ~Provider() = default;
    Provider() = default;
    Provider(const Provider&) = delete;
    Provider& operator=(const Provider&) = delete;

    virtual std::string name() const = 0;
    virtual ProviderAttributes attributes() const = 0;
    // Of one of its probes.
    virtual ProviderAttributes probe_attributes(const ProbeInfo&) const
    {
        return attributes();
    }

    // Makes probes for a description; nothing when it is not this provider's matter, or
    // when only what exists can match. A Diagnostic refuses the description.
    struct Outcome {
        bool mine = false; // ids say all that matches; else the registry is asked
        Provided provided;
        std::optional<Diagnostic> refused;
    };
    virtual Outcome provide(const ProbeSpec& spec) = 0;
};

// Providers of the kernel's probes, as scripts name them.
bool is_kernel_provider(std::string_view name);

// Of a probe's description: the weakest of its parts that are not empty.
Attributes attributes_of(const ProbeInfo& probe, const ProviderAttributes& parts);
bool same_attributes(const ProbeInfo& a, const ProbeInfo& b); // without asking for them

} // namespace dt
