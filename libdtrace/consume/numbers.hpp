// SPDX-License-Identifier: MIT
// Converts integers to text, and bytes to integers, without stdio and locales. The
// consumer's inner loop calls these functions. Integers in bytes have the machine's
// byte order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace dt {

// "00" "01" .. "99", concatenated.
inline constexpr char two_digits[201] =
    "00010203040506070809101112131415161718192021222324"
    "25262728293031323334353637383940414243444546474849"
    "50515253545556575859606162636465666768697071727374"
    "75767778798081828384858687888990919293949596979899";

// Writes the decimal digits so that they end before the address `end`. Returns the
// address of the first digit.
inline char* digits_before(char* end, std::uint64_t value)
{
    while (value >= 100) {
        end -= 2;
        std::memcpy(end, two_digits + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        end -= 2;
        std::memcpy(end, two_digits + value * 2, 2);
    } else {
        *--end = static_cast<char>('0' + value);
    }
    return end;
}

inline char* hex_before(char* end, std::uint64_t value, bool upper = false)
{
    const char* digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    do {
        *--end = digits[value & 15];
        value >>= 4;
    } while (value != 0);
    return end;
}

inline char* octal_before(char* end, std::uint64_t value)
{
    do {
        *--end = static_cast<char>('0' + (value & 7));
        value >>= 3;
    } while (value != 0);
    return end;
}

inline void put_unsigned(std::string& out, std::uint64_t value)
{
    char buf[20];
    char* begin = digits_before(buf + sizeof buf, value);
    out.append(begin, static_cast<std::size_t>(buf + sizeof buf - begin));
}

inline void put_signed(std::string& out, std::int64_t value)
{
    char buf[21];
    auto magnitude = static_cast<std::uint64_t>(value);
    char* begin =
        digits_before(buf + sizeof buf, value < 0 ? 0 - magnitude : magnitude);
    if (value < 0)
        *--begin = '-';
    out.append(begin, static_cast<std::size_t>(buf + sizeof buf - begin));
}

inline void put_hex(std::string& out, std::uint64_t value)
{
    char buf[16];
    char* begin = hex_before(buf + sizeof buf, value);
    out.append(begin, static_cast<std::size_t>(buf + sizeof buf - begin));
}

// Right-justifies text in a column. Longer text is not truncated.
inline void put_right(std::string& out, std::string_view text, std::size_t width)
{
    if (text.size() < width)
        out.append(width - text.size(), ' ');
    out.append(text);
}

inline void put_left(std::string& out, std::string_view text, std::size_t width)
{
    out.append(text);
    if (text.size() < width)
        out.append(width - text.size(), ' ');
}

inline void put_signed(std::string& out, std::int64_t value, std::size_t width)
{
    char buf[21];
    auto magnitude = static_cast<std::uint64_t>(value);
    char* begin =
        digits_before(buf + sizeof buf, value < 0 ? 0 - magnitude : magnitude);
    if (value < 0)
        *--begin = '-';
    put_right(out, {begin, static_cast<std::size_t>(buf + sizeof buf - begin)}, width);
}

template <class T> T load_as(const std::byte* from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Loads an integer of 1, 2, 4 or 8 bytes. Any other size reads as 0.
inline std::int64_t load_signed(std::span<const std::byte> bytes)
{
    switch (bytes.size()) {
    case 1:
        return load_as<std::int8_t>(bytes.data());
    case 2:
        return load_as<std::int16_t>(bytes.data());
    case 4:
        return load_as<std::int32_t>(bytes.data());
    case 8:
        return load_as<std::int64_t>(bytes.data());
    default:
        return 0;
    }
}

inline std::uint64_t load_unsigned(std::span<const std::byte> bytes)
{
    switch (bytes.size()) {
    case 1:
        return load_as<std::uint8_t>(bytes.data());
    case 2:
        return load_as<std::uint16_t>(bytes.data());
    case 4:
        return load_as<std::uint32_t>(bytes.data());
    case 8:
        return load_as<std::uint64_t>(bytes.data());
    default:
        return 0;
    }
}

// Returns the text in a field of fixed size, up to its NUL.
inline std::string_view load_string(std::span<const std::byte> bytes)
{
    const char* text = reinterpret_cast<const char*>(bytes.data());
    return {text, bytes.empty() ? 0 : strnlen(text, bytes.size())};
}

} // namespace dt
