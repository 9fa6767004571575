// SPDX-License-Identifier: MIT
// The code that all providers share.
#include "libdtrace/providers/provider.hpp"

#include "libdtrace/providers/kernel_provider.hpp"
#include "libdtrace/symbols/glob.hpp"
#include "usdt/include/dtrace/usdt_names.h"

#include <utility>

namespace dt {

bool is_kernel_provider(std::string_view name)
{
#define X(own) || name == own
    return false DTRACE_USDT_KERNEL_PROVIDERS(X);
#undef X
}

bool Provider::part_means(const std::string& part, std::string_view text)
{
    return part.empty() || part == text || (is_glob(part) && glob_match(part, text));
}

Provider::Outcome Provider::refuse(Tag tag, const ProbeSpec& spec, std::string text)
{
    Outcome outcome;
    outcome.mine = true;
    outcome.refused = Diagnostic{tag, spec.at, std::move(text), ""};
    return outcome;
}

Attributes attributes_of(const ProbeInfo& probe, const ProviderAttributes& parts)
{
    Attributes weak = weakest(parts.provider, parts.name);
    if (!probe.module.empty())
        weak = weakest(weak, parts.module);
    if (!probe.function.empty())
        weak = weakest(weak, parts.function);
    return weak;
}

bool same_attributes(const ProbeInfo& a, const ProbeInfo& b)
{
    return a.owner == b.owner && a.provider == b.provider &&
           a.module.empty() == b.module.empty() &&
           a.function.empty() == b.function.empty();
}

} // namespace dt
