// SPDX-License-Identifier: MIT
// Versions of the language D. -x version hides the names that later versions
// introduced, so that an old program can use these names itself.
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
constexpr Version latest_version{1, 13, 0}; // the value of _dtrace_version

// Parses "1.2" or "1.2.1". Returns nullopt if a part is malformed or too large.
std::optional<Version> parse_version(std::string_view text);
bool is_defined(Version version);
std::string version_text(Version version); // returns "1.2" or "1.2.1"

} // namespace dt
