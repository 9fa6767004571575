// SPDX-License-Identifier: MIT
// print(): prints a value with its type, in the style of C.
//
//   struct point {
//       int x = 0x1
//       char [4] tag = [ "abc" ]
//   }
//
// The bytes are a copy of the value. Pointers are printed but never followed.
#pragma once

#include "libdtrace/compile/types/types.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dt {

// The maximum depth of nested types. Debug data may be invalid and nest types forever.
constexpr int max_type_depth = 64;
std::span<const std::byte> cut(std::span<const std::byte> bytes, std::uint64_t offset,
                               std::uint64_t size);
// Returns the bits of a bit-field. Bits after the end of `bytes` are 0. Returns nullopt
// if all bits are after the end, or if n_bits is larger than 64.
std::optional<std::uint64_t> bits_of(std::span<const std::byte> bytes,
                                     std::uint64_t offset_bits, std::uint32_t n_bits);

// The maximum length of one value's text in bytes, and the text that replaces the rest.
// The members of a union share their bytes, so the text of a few bytes could be huge.
constexpr std::size_t max_typed_text = std::size_t{1} << 20;
constexpr std::string_view typed_rest = "...";

// Appends the value's text. `typed_rest` replaces the members that do not fit.
void put_typed(std::string& out, const Type* type, std::span<const std::byte> bytes);

} // namespace dt
