// SPDX-License-Identifier: MIT
// Versions of the language D. Each name of D came with one (builtin_facts.cpp), and
// -x version hides those that came later, so that an old program's own names keep theirs.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

struct Version {
    std::uint16_t major = 0, minor = 0, micro = 0;
    auto operator<=>(const Version&) const = default;
};

constexpr Version first_version{1, 0, 0};
constexpr Version latest_version{1, 13, 0}; // what _dtrace_version says

// "1.2" or "1.2.1"; nothing when it is malformed or a part is too large.
std::optional<Version> parse_version(std::string_view text);
// Has there been such a version?
bool is_defined(Version version);
std::string version_text(Version version); // "1.2", "1.2.1"

} // namespace dt
