// SPDX-License-Identifier: MIT
// Computes integer expressions at compile time. Like the engine, uses 64 bits.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <optional>

namespace dt {

// Returns the result that the engine would compute. Returns nullopt for a division by
// zero and for an operator that cannot be folded. is_signed applies to division, right
// shift and comparison.
std::optional<std::uint64_t> fold_binary(Op op, std::uint64_t a, std::uint64_t b,
                                         bool is_signed);
std::optional<std::uint64_t> fold_unary(Op op, std::uint64_t a);

// Truncates the value to size_bytes bytes, then sign-extends or zero-extends it to 64
// bits.
std::uint64_t narrow(std::uint64_t value, std::uint64_t size_bytes, bool is_signed);

} // namespace dt
