// SPDX-License-Identifier: MIT
// Checks the values in records that are constants of the program.
//
// A target can forge any record of a clause that fires in it. Some values in records
// are constants, for example the aggregation in trunc(@a), the option in setopt(), and
// the command of system() if it contains no conversions. A record in which a constant
// has a different value is forged.
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

// The constant that a DIF object returns.
using ConstantValue = std::variant<std::uint64_t, std::string>;

// Returns the constant that the object returns, or nullopt if it computes its value.
std::optional<ConstantValue> constant_of(const Difo& difo);

// A constant and its position in a record. If the constant is a string, it is compared
// only with the bytes of the record up to their first NUL.
struct RecordedConstant {
    std::uint32_t offset = 0, size = 0; // bytes, from the record's start
    ConstantValue value;
};

// Returns whether the record contains each of the constants at its position.
bool holds_constants(std::span<const std::byte> record,
                     std::span<const RecordedConstant> constants);

} // namespace dt
