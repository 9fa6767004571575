// SPDX-License-Identifier: MIT
// Prints single values in the default form.
//
// Bytes are text if they are printable up to a NUL and only NULs follow, as in classic
// DTrace. A string is also text if it is empty, contains UTF-8, or has other bytes
// after its NUL.
#include "libdtrace/consume/values.hpp"

#include "libdtrace/consume/numbers.hpp"

#include <algorithm>

namespace dt {

static bool is_texty(unsigned char c)
{
    return (c >= 0x20 && c < 0x7f) || (c >= '\a' && c <= '\r');
}

bool looks_like_text(std::span<const std::byte> bytes)
{
    std::string_view text = load_string(bytes);
    if (text.empty())
        return false;
    if (!std::all_of(text.begin(), text.end(), is_texty))
        return false;
    auto rest = bytes.subspan(text.size());
    return std::all_of(rest.begin(), rest.end(),
                       [](std::byte b) { return b == std::byte{0}; });
}

static bool is_printable_string(std::string_view text)
{
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text[0]);
        std::size_t n = first < 0x80 ? is_texty(first) : utf8_length(text);
        if (n == 0)
            return false;
        text.remove_prefix(n);
    }
    return true;
}

static void put_text(std::string& out, std::string_view text, Column column, bool quiet)
{
    if (quiet) {
        out.append(text);
        return;
    }
    if (column == Column::Packed) {
        out.push_back(' ');
        return put_right(out, text, static_cast<std::size_t>(column));
    }
    out.append("  ");
    put_left(out, text, static_cast<std::size_t>(column));
}

void put_hex_dump(std::string& out, std::span<const std::byte> bytes)
{
    static constexpr std::string_view digits = "0123456789abcdef";
    constexpr std::size_t row_bytes = 16, offset_width = 10;
    out.push_back('\n');
    out.append(offset_width + 1, ' ');
    for (char digit : digits) {
        out.append("  ");
        out.push_back(digit);
    }
    out.append("  ").append(digits).push_back('\n');
    for (std::size_t at = 0; at < bytes.size(); at += row_bytes) {
        auto row = bytes.subspan(at, std::min(row_bytes, bytes.size() - at));
        std::string offset;
        put_hex(offset, at);
        put_right(out, offset, offset_width);
        out.push_back(':');
        for (std::byte b : row) {
            out.push_back(' ');
            out.push_back(digits[static_cast<unsigned>(b) >> 4]);
            out.push_back(digits[static_cast<unsigned>(b) & 15]);
        }
        out.append(3 * (row_bytes - row.size()) + 2, ' ');
        for (std::byte b : row) {
            auto c = static_cast<char>(b);
            out.push_back(c >= 0x20 && c < 0x7f ? c : '.');
        }
        out.push_back('\n');
    }
}

Escaping escaping_of(const RecordDesc& desc, const Display& display)
{
    return escaping_of(desc.compiled ? desc.compiled->origin : TextOrigin::Target,
                       display);
}

Escaping escaping_of(TextOrigin origin, const Display& display)
{
    switch (origin) {
    case TextOrigin::Program:
        return Escaping::None;
    case TextOrigin::Name:
        return Escaping::Names;
    case TextOrigin::Target:
        break;
    }
    return display.terminal ? Escaping::Strings : Escaping::None;
}

void put_bytes(std::string& out, std::span<const std::byte> bytes, Column column,
               const Display& display, Escaping escaping)
{
    bool quiet = display.quiet && column == Column::Trace;
    if (!display.rawbytes && looks_like_text(bytes))
        put_text(out, printable(load_string(bytes), escaping), column, quiet);
    else
        put_hex_dump(out, bytes);
}

// Prints an integer. A key of one or two bytes is printed as unsigned, because keys are
// sorted as unsigned.
static void put_integer(std::string& out, std::span<const std::byte> bytes,
                        Column column, bool quiet)
{
    std::int64_t value = load_signed(bytes);
    if (column == Column::Key && bytes.size() < 4)
        value = static_cast<std::int64_t>(load_unsigned(bytes));
    if (quiet) {
        put_signed(out, value);
        return;
    }
    std::size_t width = bytes.size() == 8   ? 16
                        : bytes.size() == 4 ? 8
                        : bytes.size() == 2 ? 5
                                            : 3;
    out.push_back(' ');
    put_signed(out, value, width);
}

bool is_stack(std::uint32_t action)
{
    return action == DTRACEACT_USTACK || action == DTRACEACT_JSTACK ||
           action == DTRACEACT_STACK;
}

void put_kstack(std::string& out, Symbolizer& symbols, std::span<const std::byte> bytes,
                std::uint64_t indent)
{
    out.push_back('\n');
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
        auto pc = load_as<std::uint64_t>(bytes.data());
        if (pc == 0)
            break;
        out.append(indent, ' ').append(symbols.kaddr(pc)).push_back('\n');
    }
}

void put_ustack(std::string& out, Symbolizer& symbols, std::span<const std::byte> bytes,
                std::uint64_t arg, std::uint64_t indent)
{
    out.push_back('\n');
    if (bytes.size() < 8)
        return;
    auto pid = load_as<std::uint64_t>(bytes.data());
    bytes = bytes.subspan(8);
    for (std::uint32_t n = DTRACE_USTACK_NFRAMES(arg); n > 0 && bytes.size() >= 8;
         n--) {
        auto pc = load_as<std::uint64_t>(bytes.data());
        if (pc == 0)
            break;
        out.append(indent, ' ').append(symbols.frame(pid, pc)).push_back('\n');
        bytes = bytes.subspan(8);
    }
}

bool is_symbol(std::uint32_t action)
{
    return action == DTRACEACT_SYM || action == DTRACEACT_MOD ||
           action == DTRACEACT_USYM || action == DTRACEACT_UMOD;
}

void begin_symbol(Symbolizer& symbols, std::uint32_t action, std::span<std::byte> bytes)
{
    const bool of_user = action == DTRACEACT_USYM || action == DTRACEACT_UMOD;
    if (!is_symbol(action) || bytes.size() < (of_user ? 16 : 8))
        return;
    const std::uint64_t pid = of_user ? load_as<std::uint64_t>(bytes.data()) : 0;
    std::byte* place = bytes.data() + (of_user ? 8 : 0);
    const auto addr = load_as<std::uint64_t>(place);
    const std::uint64_t begin = action == DTRACEACT_USYM ? symbols.usym_begin(pid, addr)
                                : action == DTRACEACT_UMOD
                                    ? symbols.umod_begin(pid, addr)
                                : action == DTRACEACT_SYM ? symbols.ksym_begin(addr)
                                                          : symbols.kmod_begin(addr);
    std::memcpy(place, &begin, sizeof begin);
}

std::string symbol_text(Symbolizer& symbols, std::uint32_t action,
                        std::span<const std::byte> bytes)
{
    auto word = [&](std::size_t n) {
        return bytes.size() >= 8 * (n + 1)
                   ? load_as<std::uint64_t>(bytes.data() + 8 * n)
                   : 0;
    };
    switch (action) {
    case DTRACEACT_SYM:
        return symbols.ksym(word(0));
    case DTRACEACT_MOD:
        return symbols.kmod(word(0));
    case DTRACEACT_USYM:
        return symbols.usym(word(0), word(1));
    case DTRACEACT_UMOD:
        return symbols.umod(word(0), word(1));
    case DTRACEACT_UADDR:
        return symbols.uaddr(word(0), word(1));
    default:
        return {};
    }
}

void put_float(std::string& out, double value, Padding padding)
{
    char text[64];
    std::snprintf(text, sizeof text, padding == Padding::None ? "%g" : " %16g", value);
    out.append(text);
}

static void put_float(std::string& out, std::span<const std::byte> bytes, bool quiet)
{
    double value = bytes.size() == 4   ? load_as<float>(bytes.data())
                   : bytes.size() == 8 ? load_as<double>(bytes.data())
                   : bytes.size() == sizeof(long double)
                       ? static_cast<double>(load_as<long double>(bytes.data()))
                       : 0;
    put_float(out, value, quiet ? Padding::None : Padding::Column);
}

void put_value(std::string& out, const PrintContext& context, const RecordDesc& desc,
               std::span<const std::byte> bytes, Column column)
{
    bool quiet = context.display.quiet && column == Column::Trace;
    bool raw = context.display.rawbytes;
    switch (desc.action) {
    case DTRACEACT_STACK:
        put_kstack(out, context.symbols, bytes, context.display.stackindent);
        return;
    case DTRACEACT_USTACK:
    case DTRACEACT_JSTACK:
        put_ustack(out, context.symbols, bytes, desc.arg, context.display.stackindent);
        return;
    case DTRACEACT_SYM:
    case DTRACEACT_MOD:
    case DTRACEACT_USYM:
    case DTRACEACT_UMOD:
    case DTRACEACT_UADDR:
        put_text(out, symbol_text(context.symbols, desc.action, bytes), Column::Key,
                 false);
        return;
    default:
        break;
    }
    const Type* type =
        desc.compiled && desc.compiled->type ? desc.compiled->type->resolve() : nullptr;
    const Escaping escaping = escaping_of(desc, context.display);
    if (type && type->kind == TypeKind::String && !raw) {
        std::string_view text = load_string(bytes);
        if (escaping == Escaping::Names || is_printable_string(text))
            return put_text(out, printable(text, escaping), column, quiet);
    }
    if (type && type->is_float())
        return put_float(out, bytes, quiet);
    bool is_integer = bytes.size() == 1 || bytes.size() == 2 || bytes.size() == 4 ||
                      bytes.size() == 8;
    if (is_integer && !(type && type->is_by_ref()))
        return put_integer(out, bytes, column, quiet);
    put_bytes(out, bytes, column, context.display, escaping);
}

} // namespace dt
