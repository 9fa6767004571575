// SPDX-License-Identifier: MIT
// A provider publishes probes. Some providers have a fixed list (dtrace). Others create
// probes when a description names them (profile, pid).
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
    // Includes probes that match by an alias.
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
    virtual ProviderAttributes probe_attributes(const ProbeInfo&) const
    {
        return attributes();
    }

    // Returns whether the provider's probes are derived. Only descriptions that name the
    // provider match them, because the compiler rewrites the clauses of these
    // descriptions (derive_probes.cpp).
    virtual bool is_derived() const { return false; }

    // The result of provide(). Empty if the description is not for this provider, or if
    // the caller finds the probes in the registry.
    struct Outcome {
        // Whether provided.ids contains all matching probes. If not, the caller
        // searches the registry.
        bool mine = false;
        Provided provided;
        std::optional<Diagnostic> refused;
    };
    virtual Outcome provide(const ProbeSpec& spec) = 0;

protected:
    // Returns whether this part of a description matches the text. An empty part
    // matches any text.
    static bool part_means(const std::string& part, std::string_view text);
    // Returns a refusal of the description, with this message.
    static Outcome refuse(Tag tag, const ProbeSpec& spec, std::string text);
};

// Returns whether the provider's probes are in the kernel, like the probes of fbt or
// io. Works even if the session does not have the provider.
bool is_kernel_provider(std::string_view name);

// Returns the weakest attributes of the non-empty parts of the probe's description.
Attributes attributes_of(const ProbeInfo& probe, const ProviderAttributes& parts);
// Returns true if two probes certainly have the same attributes. This check is faster
// than a comparison of the attributes.
bool same_attributes(const ProbeInfo& a, const ProbeInfo& b);

} // namespace dt
