// SPDX-License-Identifier: MIT
#include "usdt/intel_operands.hpp"

#include "usdt/register_names.hpp"

#include <cstdint>
#include <utility>

namespace dt::usdt {

namespace {

std::string add(std::string_view term, bool minus, Operand& out)
{
    std::uint64_t number = 0;
    if (term[0] >= '0' && term[0] <= '9' && term.find('*') == term.npos) {
        if (!parse_number(term, number))
            return "has an invalid number";
        out.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(out.value) +
                                              (minus ? 0 - number : number));
        return "";
    }
    std::size_t star = term.find('*');
    std::string_view name = term.substr(0, star), scale = "1";
    if (star != std::string_view::npos) {
        scale = term.substr(star + 1);
        if (register_by_name(scale)) // 4*rax
            std::swap(name, scale);
    }
    auto reg = register_by_name(name);
    if (!reg && star == std::string_view::npos && out.symbol.empty() && !minus) {
        out.symbol = term;
        return "";
    }
    if (!reg || reg->vector || reg->bytes != 8 || minus)
        return "has an invalid register";
    if (scale != "1" && scale != "2" && scale != "4" && scale != "8")
        return "has a scale that is not 1, 2, 4 or 8";
    if (reg->rip) {
        out.of_rip = true;
    } else if (star == std::string_view::npos && out.reg == Operand::no_register) {
        out.reg = reg->number;
    } else if (out.index == Operand::no_register) {
        out.index = reg->number;
        out.scale = static_cast<std::uint8_t>(scale[0] - '0');
    } else {
        return "has more than two registers";
    }
    return "";
}

} // namespace

bool is_intel_operand(std::string_view text)
{
    return text.find('[') != std::string_view::npos ||
           text.find(" PTR ") != std::string_view::npos || register_by_name(text);
}

std::string parse_intel_operand(std::string_view text, Operand& out, bool sized)
{
    if (auto reg = register_by_name(text); reg && !reg->rip) {
        out.form = reg->vector ? OperandForm::vector : OperandForm::general;
        out.reg = reg->number;
        out.high_byte = reg->high_byte;
        if (!sized)
            out.bytes = reg->bytes;
        return "";
    }
    out.form = OperandForm::memory;
    if (std::size_t ptr = text.find(" PTR "); ptr != std::string_view::npos)
        text.remove_prefix(ptr + 5);
    if (text.starts_with("fs:") || text.starts_with("gs:")) {
        out.segment = text[0] == 'f' ? Segment::fs : Segment::gs;
        text.remove_prefix(3);
    }
    bool minus = false;
    while (!text.empty()) {
        char c = text.front();
        if (std::string_view("[]+- ").find(c) != std::string_view::npos) {
            minus = c == '-' || (minus && c == ' ');
            text.remove_prefix(1);
            continue;
        }
        std::string_view term = text.substr(0, text.find_first_of("[]+- "));
        text.remove_prefix(term.size());
        if (term == "offset" || term == "OFFSET")
            continue;
        if (std::string wrong = add(term, minus, out); !wrong.empty())
            return wrong;
        minus = false;
    }
    bool others = out.reg != Operand::no_register || out.index != Operand::no_register;
    return out.of_rip && others ? "has a register in addition to rip" : "";
}

} // namespace dt::usdt
