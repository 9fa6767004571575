// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string_view>

namespace dt {

// Calls visit(part) for each part of the text. Ignores one separator at the end.
template <class F> void each_part(std::string_view text, char separator, F visit)
{
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(separator));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        visit(part);
    }
}

template <class F> void each_line(std::string_view text, F visit)
{
    each_part(text, '\n', visit);
}

} // namespace dt
