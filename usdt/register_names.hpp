// SPDX-License-Identifier: MIT
// The registers of x86-64 by their names, and numbers as assemblers write them.
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

// Without %: rax, r8d, xmm3, rip.
std::optional<Register> register_by_name(std::string_view name);

// Decimal, 0x hexadecimal or 0 octal, all of the text.
bool parse_number(std::string_view text, std::uint64_t& value);

} // namespace dt::usdt
