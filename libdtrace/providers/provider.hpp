// SPDX-License-Identifier: MIT
// A provider publishes probes. Some providers have a fixed list (dtrace), some create
// probes when a description names them (profile, pid). provide() is called for each
// description, and creates the probes that the description may match.
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
    // Probes that match the description, possibly by an alias.
    std::vector<std::uint32_t> ids;
    bool retained = false; // more probes may match the description later
};

class Provider {
public:
    virtual ~Provider() = default;
    Provider() = default;
    Provider(const Provider&) = delete;
    Provider& operator=(const Provider&) = delete;

    virtual std::string name() const = 0;
    virtual ProviderAttributes attributes() const = 0;
    // Returns the attributes of one of the provider's probes.
    virtual ProviderAttributes probe_attributes(const ProbeInfo&) const
    {
        return attributes();
    }

    // The result of creating probes for a description. It is empty if the description
    // is not for this provider, or if a search of the registry finds the matching
    // probes. If the provider refuses the description, `refused` has the reason.
    struct Outcome {
        // If true, provided.ids contains all matching probes. If false, the caller
        // searches the registry for them.
        bool mine = false;
        Provided provided;
        std::optional<Diagnostic> refused;
    };
    virtual Outcome provide(const ProbeSpec& spec) = 0;
};

// Returns whether the name belongs to a provider of kernel probes, such as fbt or io,
// even if this implementation or this session does not have the provider.
bool is_kernel_provider(std::string_view name);

// Returns the attributes of a probe, which are the weakest attributes of the non-empty
// parts of its description.
Attributes attributes_of(const ProbeInfo& probe, const ProviderAttributes& parts);
// Returns true if two probes certainly have the same attributes. This is much faster
// than computing the attributes. If it returns false, they may still be the same.
bool same_attributes(const ProbeInfo& a, const ProbeInfo& b);

} // namespace dt
