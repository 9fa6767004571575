// SPDX-License-Identifier: MIT
// Creates BEGIN, END and ERROR, in the order that gives them the ids 1, 2 and 3.
#include "libdtrace/providers/dtrace_provider.hpp"

#include <cassert>

namespace dt {

DtraceProvider::DtraceProvider(Registry& registry)
{
    std::uint32_t begin = registry.add(this, "dtrace", "", "", "BEGIN");
    std::uint32_t end = registry.add(this, "dtrace", "", "", "END");
    std::uint32_t error = registry.add(this, "dtrace", "", "", "ERROR");
    assert(begin == probe_begin && end == probe_end && error == probe_error);
}

ProviderAttributes DtraceProvider::attributes() const
{
    constexpr Attributes stable{Stability::Stable, Stability::Stable,
                                DependencyClass::Common};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Unknown};
    return {stable, hidden, hidden, stable, stable};
}

} // namespace dt
