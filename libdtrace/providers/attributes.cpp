// SPDX-License-Identifier: MIT
// Names of stability levels and classes, in the order of their enums.
#include "libdtrace/providers/attributes.hpp"

#include <algorithm>
#include <array>

namespace dt {

Attributes weakest(const Attributes& a, const Attributes& b)
{
    return {std::min(a.name, b.name), std::min(a.data, b.data),
            std::min(a.dependency, b.dependency)};
}

const char* stability_name(Stability stability)
{
    static constexpr std::array names{"Internal", "Private",  "Obsolete", "External",
                                      "Unstable", "Evolving", "Stable",   "Standard"};
    return names[static_cast<std::size_t>(stability)];
}

const char* class_name(DependencyClass dependency)
{
    static constexpr std::array names{"Unknown", "CPU", "Platform",
                                      "Group",   "ISA", "Common"};
    return names[static_cast<std::size_t>(dependency)];
}

std::string attributes_text(const Attributes& attributes)
{
    return std::string(stability_name(attributes.name)) + "/" +
           stability_name(attributes.data) + "/" + class_name(attributes.dependency);
}

} // namespace dt
