// SPDX-License-Identifier: MIT
// The tags' published names, expanded from the table of tags.hpp.
#include "libdtrace/compile/tags.hpp"

#include <cstddef>
#include <iterator>

namespace dt {

const char* tag_name(Tag tag)
{
    static const char* const names[] = {
#define X(name) "D_" #name,
        D_TAGS(X)
#undef X
    };
    auto at = static_cast<std::size_t>(tag);
    return at < std::size(names) ? names[at] : "D_UNKNOWN";
}

} // namespace dt
