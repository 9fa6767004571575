// SPDX-License-Identifier: MIT
#include "libdtrace/compile/version.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace dt {

namespace {

constexpr Version versions[] = {
    first_version, {1, 1, 0},  {1, 2, 0},  {1, 2, 1},  {1, 2, 2},  {1, 3, 0},
    {1, 4, 0},     {1, 4, 1},  {1, 5, 0},  {1, 6, 0},  {1, 6, 1},  {1, 6, 2},
    {1, 6, 3},     {1, 7, 0},  {1, 7, 1},  {1, 8, 0},  {1, 8, 1},  {1, 9, 0},
    {1, 9, 1},     {1, 10, 0}, {1, 11, 0}, {1, 12, 0}, {1, 12, 1}, latest_version,
};

// The largest values of the parts of a version, which is encoded in 32 bits.
constexpr std::uint16_t most_major = 0xff, most_part = 0xfff;

} // namespace

std::optional<Version> parse_version(std::string_view text)
{
    Version version;
    const char* at = text.data();
    const char* end = at + text.size();
    std::uint16_t* const parts[] = {&version.major, &version.minor, &version.micro};
    for (std::size_t n = 0; n < std::size(parts); n++) {
        auto [stop, error] = std::from_chars(at, end, *parts[n]);
        if (error != std::errc{} || *parts[n] > (n == 0 ? most_major : most_part))
            return std::nullopt;
        if (stop == end)
            return n == 0 ? std::nullopt : std::optional(version);
        if (*stop != '.')
            return std::nullopt;
        at = stop + 1;
    }
    return std::nullopt;
}

bool is_defined(Version version)
{
    return std::binary_search(std::begin(versions), std::end(versions), version);
}

std::string version_text(Version version)
{
    return std::to_string(version.major) + "." + std::to_string(version.minor) +
           (version.micro == 0 ? "" : "." + std::to_string(version.micro));
}

} // namespace dt
