// SPDX-License-Identifier: MIT
// The registry's table and its glob matching.
#include "libdtrace/providers/registry.hpp"

#include "libdtrace/symbols/glob.hpp"

#include <algorithm>

namespace dt {

Registry::Hash Registry::hash(const std::string& provider, const std::string& module,
                              const std::string& function, const std::string& name)
{
    Hash hash = 0;
    for (const std::string* part : {&provider, &module, &function, &name})
        hash = hash * 0x9e3779b97f4a7c15 + std::hash<std::string_view>{}(*part);
    return hash;
}

void Registry::expect(std::size_t n_more)
{
    std::size_t n = probes_.size() + n_more;
    if (n <= probes_.capacity())
        return;
    probes_.reserve(std::max(n, 2 * probes_.capacity()));
    by_name_.reserve(probes_.capacity());
}

std::uint32_t Registry::add(Provider* owner, std::string provider, std::string module,
                            std::string function, std::string name)
{
    if (std::uint32_t known = find(provider, module, function, name); known != 0)
        return known;
    auto next = static_cast<std::uint32_t>(probes_.size() + 1);
    by_name_.emplace(hash(provider, module, function, name), next);
    ProbeInfo info;
    info.id = next;
    info.provider = std::move(provider);
    info.module = std::move(module);
    info.function = std::move(function);
    info.name = std::move(name);
    info.owner = owner;
    probes_.push_back(std::move(info));
    return next;
}

std::uint32_t Registry::find(const std::string& provider, const std::string& module,
                             const std::string& function, const std::string& name) const
{
    auto [from, to] = by_name_.equal_range(hash(provider, module, function, name));
    for (; from != to; ++from) {
        const ProbeInfo& probe = at(from->second);
        if (probe.name == name && probe.function == function &&
            probe.module == module && probe.provider == provider)
            return probe.id;
    }
    return 0;
}

static bool part_matches(const std::string& pattern, bool pattern_is_glob,
                         const std::string& text)
{
    if (pattern.empty())
        return true;
    return pattern_is_glob ? glob_match(pattern, text) : pattern == text;
}

std::vector<std::uint32_t> Registry::match(const std::string& provider,
                                           const std::string& module,
                                           const std::string& function,
                                           const std::string& name) const
{
    std::vector<std::uint32_t> ids;
    bool globs[] = {is_glob(provider), is_glob(module), is_glob(function),
                    is_glob(name)};
    bool exact = !provider.empty() && !module.empty() && !function.empty() &&
                 !name.empty() && !globs[0] && !globs[1] && !globs[2] && !globs[3];
    if (exact) {
        if (std::uint32_t id = find(provider, module, function, name); id != 0)
            ids.push_back(id);
        return ids;
    }
    bool anchored_only =
        provider.empty() && module.empty() && function.empty() && name.empty();
    for (const ProbeInfo& probe : probes_) {
        if (anchored_only && probe.function.empty())
            continue;
        if (part_matches(provider, globs[0], probe.provider) &&
            part_matches(module, globs[1], probe.module) &&
            part_matches(function, globs[2], probe.function) &&
            part_matches(name, globs[3], probe.name))
            ids.push_back(probe.id);
    }
    return ids;
}

} // namespace dt
