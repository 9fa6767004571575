// SPDX-License-Identifier: MIT
// Formats a number as an address: 0x1f.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace dt {

inline std::string hex_text(std::uint64_t number)
{
    char digits[16];
    auto [end, error] = std::to_chars(digits, digits + sizeof digits, number, 16);
    return "0x" + std::string(digits, end);
}

} // namespace dt
