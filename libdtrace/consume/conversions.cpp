// SPDX-License-Identifier: MIT
// The printf conversions: a table with a row for each conversion letter (the d of
// %lld), and the functions that print values.
//
// The length modifiers l, ll and L are ignored, because the size of each value is
// known. h and hh truncate the value. Only floating-point numbers are printed by stdio.
#include "libdtrace/consume/format_plan.hpp"
#include "libdtrace/consume/net_names.hpp"
#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/wall_time.hpp"

#include <algorithm>
#include <array>

namespace dt {

static void put_padded(FormatItem& item, std::string_view text)
{
    if (item.left)
        put_left(item.out, text, static_cast<std::size_t>(item.width));
    else
        put_right(item.out, text, static_cast<std::size_t>(item.width));
}

static std::string grouped(std::string_view digits)
{
    std::string text;
    for (std::size_t i = 0; i < digits.size(); i++) {
        if (i > 0 && (digits.size() - i) % 3 == 0)
            text.push_back(',');
        text.push_back(digits[i]);
    }
    return text;
}

// Prints digits in their field. The prefix is a sign or 0x.
static void put_digits(std::string& out, const Conversion& c, std::string_view prefix,
                       std::string_view digits, int width, int precision, bool left)
{
    std::string with_commas;
    if (c.group) {
        with_commas = grouped(digits);
        digits = with_commas;
    }
    std::size_t zeros = 0;
    if (precision >= 0) {
        if (static_cast<std::size_t>(precision) > digits.size())
            zeros = static_cast<std::size_t>(precision) - digits.size();
    } else if (c.zero && !left &&
               static_cast<std::size_t>(width) > prefix.size() + digits.size()) {
        zeros = static_cast<std::size_t>(width) - prefix.size() - digits.size();
    }
    std::size_t length = prefix.size() + zeros + digits.size();
    std::size_t pad = static_cast<std::size_t>(width) > length
                          ? static_cast<std::size_t>(width) - length
                          : 0;
    if (!left)
        out.append(pad, ' ');
    out.append(prefix).append(zeros, '0').append(digits);
    if (left)
        out.append(pad, ' ');
}

void put_number(std::string& out, const FormatStep& step, std::int64_t value,
                bool is_signed, int width, int precision, bool left)
{
    const Conversion& c = step.conversion;
    char buf[24];
    char* end = buf + sizeof buf;
    char* begin = end;
    auto magnitude = static_cast<std::uint64_t>(value);
    std::string_view prefix;
    switch (step.letter) {
    case 'x':
    case 'X':
    case 'p':
        begin = hex_before(end, magnitude, step.letter == 'X');
        if (c.alternate && magnitude != 0)
            prefix = step.letter == 'X' ? "0X" : "0x";
        break;
    case 'o':
        begin = octal_before(end, magnitude);
        if (c.alternate && *begin != '0')
            *--begin = '0';
        break;
    default:
        if (is_signed && value < 0) {
            prefix = "-";
            magnitude = 0 - magnitude;
        } else if (is_signed && (c.plus || c.space)) {
            prefix = c.plus ? "+" : " ";
        }
        begin = digits_before(end, magnitude);
        break;
    }
    if (precision == 0 && magnitude == 0 && !(step.letter == 'o' && c.alternate))
        begin = end;
    put_digits(out, c, prefix, {begin, static_cast<std::size_t>(end - begin)}, width,
               precision, left);
}

// Truncates the value for %hd and %hhd.
static std::span<const std::byte> narrowed(const FormatItem& item)
{
    const std::string& name = item.step.conversion.name;
    std::size_t n = name.starts_with("hh") ? 1 : name.starts_with("h") ? 2 : 8;
    return item.bytes.first(std::min(item.bytes.size(), n));
}

static void print_signed(FormatItem& item)
{
    auto bytes = narrowed(item);
    std::int64_t value = item.step.is_signed
                             ? load_signed(bytes)
                             : static_cast<std::int64_t>(load_unsigned(bytes));
    put_number(item.out, item.step, value, item.step.is_signed, item.width,
               item.precision, item.left);
}

static void print_unsigned(FormatItem& item)
{
    put_number(item.out, item.step,
               static_cast<std::int64_t>(load_unsigned(narrowed(item))), false,
               item.width, item.precision, item.left);
}

static std::string_view cut(const FormatItem& item, std::string_view text)
{
    if (item.precision >= 0)
        text = text.substr(0, static_cast<std::size_t>(item.precision));
    return text;
}

static std::string value_text(const FormatItem& item)
{
    std::string symbol =
        symbol_text(item.context.symbols, item.step.action, item.bytes);
    return symbol.empty() ? std::string(load_string(item.bytes)) : symbol;
}

// Prints text. The precision counts bytes of the text before escaping.
static void print_text(FormatItem& item)
{
    std::string symbol =
        symbol_text(item.context.symbols, item.step.action, item.bytes);
    if (!symbol.empty())
        return put_padded(item, cut(item, symbol));
    put_padded(item, printable(cut(item, load_string(item.bytes)), item.escaping()));
}

// Escapes the text as in a quoted C string.
static std::string escaped(std::string_view text)
{
    static constexpr std::string_view named = "\a\b\t\n\v\f\r\"\\";
    static constexpr std::string_view letters = "abtnvfr\"\\";
    std::string out;
    for (char c : text) {
        auto byte = static_cast<unsigned char>(c);
        if (std::size_t at = named.find(c); at != named.npos && c != 0) {
            out.push_back('\\');
            out.push_back(letters[at]);
        } else if (byte < 0x20 || byte >= 0x7f) {
            out.push_back('\\');
            for (int shift = 6; shift >= 0; shift -= 3)
                out.push_back(static_cast<char>('0' + ((byte >> shift) & 7)));
        } else {
            out.push_back(c);
        }
    }
    return out;
}

static void print_escaped_text(FormatItem& item)
{
    put_padded(item, cut(item, escaped(value_text(item))));
}

static void print_char(FormatItem& item)
{
    char c = static_cast<char>(load_unsigned(item.bytes));
    put_padded(item, printable({&c, 1}, item.escaping()));
}

static void print_escaped_char(FormatItem& item)
{
    char c = static_cast<char>(load_unsigned(item.bytes));
    put_padded(item, c == 0 ? std::string("\\0") : escaped({&c, 1}));
}

static void put_utf8(std::string& out, std::uint32_t c)
{
    auto tail = [&](int shift) {
        out.push_back(static_cast<char>(0x80 | ((c >> shift) & 0x3f)));
    };
    if (c < 0x80) {
        out.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
        out.push_back(static_cast<char>(0xc0 | c >> 6));
        tail(0);
    } else if (c < 0x10000) {
        out.push_back(static_cast<char>(0xe0 | c >> 12));
        tail(6), tail(0);
    } else if (c < 0x110000) {
        out.push_back(static_cast<char>(0xf0 | c >> 18));
        tail(12), tail(6), tail(0);
    } else {
        out.push_back('?');
    }
}

static void print_wide_char(FormatItem& item)
{
    std::string text;
    put_utf8(text, static_cast<std::uint32_t>(load_unsigned(item.bytes)));
    put_padded(item, printable(text, item.escaping()));
}

static void print_wide_text(FormatItem& item)
{
    std::string text;
    int n = 0;
    for (auto rest = item.bytes; rest.size() >= 4; rest = rest.subspan(4), n++) {
        auto c = load_as<std::uint32_t>(rest.data());
        if (c == 0 || (item.precision >= 0 && n >= item.precision))
            break;
        put_utf8(text, c);
    }
    put_padded(item, printable(text, item.escaping()));
}

void put_double(FormatItem& item, long double value)
{
    const Conversion& c = item.step.conversion;
    std::string format = "%";
    for (auto [set, flag] : {std::pair{c.alternate, '#'},
                             {c.zero, '0'},
                             {item.left, '-'},
                             {c.space, ' '},
                             {c.plus, '+'}})
        if (set)
            format.push_back(flag);
    format += "*.*L";
    format.push_back(item.step.letter);
    // The largest long double has 4933 digits before the decimal point.
    std::string text(400 + 5000 +
                         static_cast<std::size_t>(std::max(item.precision, 0)) +
                         static_cast<std::size_t>(item.width),
                     '\0');
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int n = std::snprintf(text.data(), text.size(), format.c_str(), item.width,
                          item.precision, value);
#pragma GCC diagnostic pop
    item.out.append(text, 0, std::min<std::size_t>(n < 0 ? 0 : n, text.size() - 1));
}

static void print_float(FormatItem& item)
{
    long double value = item.bytes.size() == 4   ? load_as<float>(item.bytes.data())
                        : item.bytes.size() == 8 ? load_as<double>(item.bytes.data())
                        : item.bytes.size() == sizeof value
                            ? load_as<long double>(item.bytes.data())
                            : 0;
    put_double(item, value);
}

static void print_kernel_address(FormatItem& item)
{
    Symbolizer& symbols = item.context.symbols;
    std::string text = item.bytes.size() == 16
                           ? symbol_text(symbols, item.step.action, item.bytes)
                           : symbols.kaddr(load_unsigned(item.bytes));
    put_padded(item, text);
}

static void print_user_address(FormatItem& item)
{
    Symbolizer& symbols = item.context.symbols;
    std::string text;
    if (item.bytes.size() == 16)
        text = symbols.uaddr(load_as<std::uint64_t>(item.bytes.data()),
                             load_as<std::uint64_t>(item.bytes.data() + 8));
    else
        text = symbols.uaddr(symbols.target(), load_unsigned(item.bytes));
    put_padded(item, text);
}

// Prints a stack. The option stackindent sets the indentation, or the width if the flag
// "-" is given, as in %-10k.
static void print_stack(FormatItem& item)
{
    std::uint64_t indent = item.left && item.width > 0
                               ? static_cast<std::uint64_t>(item.width)
                               : item.context.display.stackindent;
    if (item.step.action == DTRACEACT_STACK)
        put_kstack(item.out, item.context.symbols, item.bytes, indent);
    else
        put_ustack(item.out, item.context.symbols, item.bytes, item.step.arg, indent);
}

static void print_time(FormatItem& item)
{
    put_padded(item, calendar_time(load_unsigned(item.bytes)));
}

static void print_mail_time(FormatItem& item)
{
    put_padded(item, mail_time(load_unsigned(item.bytes)));
}

static void print_host(FormatItem& item)
{
    put_padded(item, host_name(std::string(load_string(item.bytes))));
}

static void print_port(FormatItem& item)
{
    put_padded(item,
               service_name(static_cast<std::uint16_t>(load_unsigned(item.bytes))));
}

// clang-format off
#define DT_CONVERSIONS(X) /* X(last letter, printer) */ \
    X('d', print_signed)         X('i', print_signed)      \
    X('u', print_unsigned)       X('o', print_unsigned)    \
    X('x', print_unsigned)       X('X', print_unsigned)    \
    X('p', print_unsigned)       X('c', print_char)        \
    X('C', print_escaped_char)   X('s', print_text)        \
    X('S', print_escaped_text)   X('a', print_kernel_address) \
    X('A', print_user_address)   X('k', print_stack)       \
    X('e', print_float)          X('E', print_float)       \
    X('f', print_float)          X('F', print_float)       \
    X('g', print_float)          X('G', print_float)       \
    X('Y', print_time)           X('T', print_mail_time)   \
    X('I', print_host)           X('P', print_port)
// clang-format on

FormatPrinter find_printer(std::string_view name)
{
    if (name == "wc")
        return print_wide_char;
    if (name == "ws")
        return print_wide_text;
    if (name.empty())
        return nullptr;
    switch (name.back()) {
#define X(letter, printer)                                                             \
    case letter:                                                                       \
        return printer;
        DT_CONVERSIONS(X)
#undef X
    default:
        return nullptr;
    }
}

} // namespace dt
