// SPDX-License-Identifier: MIT
// Parses arbitrary text as a static probe's arguments. Each operand must either be valid
// or have an error message.
#include "usdt/operands.hpp"

#include <cstdlib>

using dt::usdt::Operand;
using dt::usdt::OperandForm;

static void require(bool holds)
{
    if (!holds)
        std::abort();
}

static void check(const Operand& operand)
{
    require(!operand.text.empty());
    require((operand.form == OperandForm::unknown) == !operand.trouble.empty());
    if (operand.form == OperandForm::unknown)
        return;
    auto is_register = [](std::uint8_t n) {
        return n == Operand::no_register || n < 16;
    };
    require(operand.bytes == 1 || operand.bytes == 2 || operand.bytes == 4 ||
            operand.bytes == 8);
    require(operand.scale == 1 || operand.scale == 2 || operand.scale == 4 ||
            operand.scale == 8);
    require(!operand.is_float || operand.bytes >= 4);
    if (operand.form == OperandForm::vector)
        require(operand.reg < 32);
    else
        require(is_register(operand.reg));
    require(is_register(operand.index));
    if (operand.form == OperandForm::general)
        require(operand.reg < 16 && (!operand.high_byte || operand.reg < 4));
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto all = dt::usdt::parse_operands(text);
    require(all.size() <= 64);
    for (const Operand& operand : all)
        check(operand);
    require(dt::usdt::parse_operands(text, 3).size() <= 3);
    return 0;
}
