// SPDX-License-Identifier: MIT
// Finds x86-64 registers by name, and parses numbers in the notation of assemblers.
#pragma once

#include "usdt/operands.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace dt::usdt {

struct Register {
    std::uint8_t number = Operand::no_register;
    std::uint8_t bytes = 8;
    bool high_byte = false, vector = false, rip = false;
};

// Returns the register with this name. The name has no %, for example rax or xmm3.
std::optional<Register> register_by_name(std::string_view name);

// Parses the entire text as a decimal, hexadecimal (0x1f) or octal (017) number.
// Returns false if the text is not such a number.
bool parse_number(std::string_view text, std::uint64_t& value);

} // namespace dt::usdt
