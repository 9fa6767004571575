// SPDX-License-Identifier: MIT
#include "usdt/register_names.hpp"

#include <array>
#include <charconv>

namespace dt::usdt {

namespace {

std::optional<Register> legacy_register(std::string_view name)
{
    struct Row {
        std::string_view by_width[4]; // for 8, 4, 2, 1 bytes
        std::string_view high;
    };
    static constexpr std::array<Row, 8> rows = {{
        {{"rax", "eax", "ax", "al"}, "ah"},
        {{"rcx", "ecx", "cx", "cl"}, "ch"},
        {{"rdx", "edx", "dx", "dl"}, "dh"},
        {{"rbx", "ebx", "bx", "bl"}, "bh"},
        {{"rsp", "esp", "sp", "spl"}, ""},
        {{"rbp", "ebp", "bp", "bpl"}, ""},
        {{"rsi", "esi", "si", "sil"}, ""},
        {{"rdi", "edi", "di", "dil"}, ""},
    }};
    for (std::uint8_t n = 0; n < rows.size(); n++) {
        for (unsigned width = 0; width < 4; width++)
            if (name == rows[n].by_width[width])
                return Register{n, static_cast<std::uint8_t>(8 >> width), false, false,
                                false};
        if (!rows[n].high.empty() && name == rows[n].high)
            return Register{n, 1, true, false, false};
    }
    return std::nullopt;
}

// Recognises %r8 to %r15 and their parts: r8d r8w r8b.
std::optional<Register> numbered_register(std::string_view name)
{
    std::uint8_t bytes = 8;
    switch (name.empty() ? '\0' : name.back()) {
    case 'd':
        bytes = 4;
        break;
    case 'w':
        bytes = 2;
        break;
    case 'b':
        bytes = 1;
        break;
    default:
        break;
    }
    if (bytes != 8)
        name.remove_suffix(1);
    unsigned n = 0;
    if (name.size() < 2 || name[0] != 'r')
        return std::nullopt;
    auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), n);
    if (error != std::errc{} || end != name.data() + name.size() || n < 8 || n > 15 ||
        name[1] == '0')
        return std::nullopt;
    return Register{static_cast<std::uint8_t>(n), bytes, false, false, false};
}

// Recognises xmm, ymm and zmm registers. Only their low 8 bytes are used.
std::optional<Register> vector_register(std::string_view name)
{
    if (name.size() < 4 || (name[0] != 'x' && name[0] != 'y' && name[0] != 'z') ||
        name.substr(1, 2) != "mm")
        return std::nullopt;
    unsigned n = 0;
    auto [end, error] = std::from_chars(name.data() + 3, name.data() + name.size(), n);
    if (error != std::errc{} || end != name.data() + name.size() || n > 31)
        return std::nullopt;
    return Register{static_cast<std::uint8_t>(n), 8, false, true, false};
}

} // namespace

std::optional<Register> register_by_name(std::string_view name)
{
    if (name == "rip")
        return Register{Operand::no_register, 8, false, false, true};
    if (auto found = legacy_register(name))
        return found;
    if (auto found = numbered_register(name))
        return found;
    return vector_register(name);
}

bool parse_number(std::string_view text, std::uint64_t& value)
{
    int base = 10;
    if (text.size() > 1 && text[0] == '0') {
        bool is_hex = text[1] == 'x' || text[1] == 'X';
        text.remove_prefix(is_hex ? 2 : 1);
        base = is_hex ? 16 : 8;
    }
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc{} && end == text.data() + text.size();
}

} // namespace dt::usdt
