// SPDX-License-Identifier: MIT
// print(): a value with its type, as one would write it in C.
//
//   struct point {
//       int x = 0x1
//       char [4] tag = [ "abc" ]
//   }
//
// Bytes are the value's own copy; pointers in it are shown, never followed.
#pragma once

#include "libdtrace/compile/types/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dt {

// What debug data says of a type need not be true: nesting ends at a depth that no real
// type has, and each access is cut to the bytes that there are.
constexpr int max_type_depth = 64;
std::span<const std::byte> cut(std::span<const std::byte> bytes, std::uint64_t offset,
                               std::uint64_t size);
// Nothing: they are not all there.
std::optional<std::uint64_t> bits_of(std::span<const std::byte> bytes,
                                     std::uint64_t offset_bits, std::uint32_t n_bits);

// The most text of one value, and the sign that the rest is left out. Members of a union
// share their bytes, so a type of a few bytes could print gigabytes.
constexpr std::size_t max_typed_text = std::size_t{1} << 20;
constexpr std::string_view typed_rest = "...";

// Writes `typed_rest` where the text is cut.
void put_typed(std::string& out, const Type* type, std::span<const std::byte> bytes);

} // namespace dt
