// SPDX-License-Identifier: MIT
// Checks constants in records, such as the aggregation in trunc(@a) or the option in
// setopt(). A target can forge the records of a clause that fires in it. If a record
// contains a different value instead of a constant, the record is forged.
#pragma once

#include "libdtrace/compile/program.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace dt {

using ConstantValue = std::variant<std::uint64_t, std::string>;

// Returns the constant that the object returns. Returns nullopt if the object computes
// its value.
std::optional<ConstantValue> constant_of(const Difo& difo);

// A constant and its position in a record. A string is compared only up to the first
// NUL in the record.
struct RecordedConstant {
    std::uint32_t offset = 0, size = 0; // bytes, from the record's start
    ConstantValue value;
};

// Returns whether the record contains all of the constants.
bool holds_constants(std::span<const std::byte> record,
                     std::span<const RecordedConstant> constants);

} // namespace dt
