// SPDX-License-Identifier: MIT
// The print() action, which prints a value according to its type. The type comes from
// the target's debug data, which may be invalid. So every access is limited to the
// available bytes, and the depth is limited.
#include "libdtrace/consume/typed.hpp"

#include "base/printable.hpp"
#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/values.hpp"

#include <algorithm>
#include <cstdio>

namespace dt {

std::span<const std::byte> cut(std::span<const std::byte> bytes, std::uint64_t offset,
                               std::uint64_t size)
{
    if (offset > bytes.size())
        return {};
    return bytes.subspan(offset, std::min<std::uint64_t>(size, bytes.size() - offset));
}

std::optional<std::uint64_t> bits_of(std::span<const std::byte> bytes,
                                     std::uint64_t offset_bits, std::uint32_t n_bits)
{
    unsigned __int128 word = 0;
    auto part = cut(bytes, offset_bits / 8, (offset_bits % 8 + n_bits + 7) / 8);
    if (part.empty() || n_bits > 64)
        return std::nullopt;
    for (std::size_t i = part.size(); i-- > 0;)
        word = word << 8 | static_cast<unsigned>(part[i]);
    word >>= offset_bits % 8;
    auto value = static_cast<std::uint64_t>(word);
    return n_bits >= 64 ? value : value & ((std::uint64_t{1} << n_bits) - 1);
}

namespace {

constexpr std::size_t indent_columns = 4;

using Bytes = std::span<const std::byte>;

// Appends a value. Omits the rest when the size of `out` reaches `end`.
void put_value_of(std::string& out, const Type* type, Bytes bytes, int depth,
                  std::size_t end);

// Returns the name of the type as declared, without "userland". For an unnamed struct,
// returns "struct " with the trailing space.
std::string written(const Type* type)
{
    std::string text = type_text(type);
    for (std::string_view word : {"userland ", "(anon)"})
        for (std::size_t at; (at = text.find(word)) != text.npos;)
            text.erase(at, word.size());
    return printable(text, Escaping::Names);
}

void put_scalar_hex(std::string& out, std::uint64_t value)
{
    if (value != 0)
        out.append("0x");
    put_hex(out, value);
}

bool is_printable(char c)
{
    return c >= ' ' && c <= '~';
}

// Returns whether the bytes contain a NUL and all bytes before it are printable.
bool is_text(Bytes bytes)
{
    for (std::byte byte : bytes) {
        if (byte == std::byte{0})
            return true;
        if (!is_printable(static_cast<char>(byte)))
            return false;
    }
    return false;
}

void put_char(std::string& out, char c)
{
    out.push_back('\'');
    if (c == 0)
        out.append("\\0");
    else if (is_printable(c))
        out.push_back(c);
    else
        for (int shift : {6, 3, 0}) // prints the byte as \ooo, in octal
            out.append(shift == 6 ? "\\" : "")
                .push_back(static_cast<char>(
                    '0' + (static_cast<unsigned char>(c) >> shift & 7)));
    out.push_back('\'');
}

void put_enum(std::string& out, const Type* type, Bytes bytes)
{
    std::int64_t value = type->is_signed
                             ? load_signed(bytes)
                             : static_cast<std::int64_t>(load_unsigned(bytes));
    for (const Enumerator& e : type->enumerators) {
        if (e.value == value) {
            append_printable(out, e.name, Escaping::Names);
            return;
        }
    }
    put_signed(out, value);
}

// Returns whether the member is a bit-field that is narrower than its type or does not
// start at a byte boundary.
bool shows_bits(const Member& member)
{
    return member.bitfield_bits != 0 &&
           (member.offset_bits % 8 != 0 ||
            member.bitfield_bits != member.type->resolve()->size * 8);
}

void put_members(std::string& out, const Type* type, Bytes bytes, int depth,
                 std::size_t end)
{
    out.append("{\n");
    std::string margin(indent_columns * static_cast<std::size_t>(depth + 1), ' ');
    for (const Member& member : type->members) {
        if (!member.type)
            continue;
        if (out.size() >= end) {
            out.append(margin).append(typed_rest).push_back('\n');
            break;
        }
        out.append(margin).append(written(member.type));
        if (!member.name.empty()) {
            if (out.back() != '*' && out.back() != ' ')
                out.push_back(' ');
            append_printable(out, member.name, Escaping::Names);
            if (shows_bits(member))
                out.append(" :").append(std::to_string(member.bitfield_bits));
            out.append(" =");
        }
        out.push_back(' ');
        if (member.bitfield_bits != 0)
            put_scalar_hex(
                out,
                bits_of(bytes, member.offset_bits, member.bitfield_bits).value_or(0));
        else
            put_value_of(
                out, member.type,
                cut(bytes, member.offset_bits / 8, member.type->resolve()->size),
                depth + 1, end);
        out.push_back('\n');
    }
    out.append(indent_columns * static_cast<std::size_t>(depth), ' ').push_back('}');
}

// Prints a string in quotes. Inside another value, adds brackets.
void put_text(std::string& out, Bytes bytes, int depth)
{
    out.append(depth == 0 ? "\"" : "[ \"");
    append_printable(out, load_string(bytes), Escaping::Strings);
    out.append(depth == 0 ? "\"" : "\" ]");
}

void put_array(std::string& out, const Type* type, Bytes bytes, int depth,
               std::size_t end)
{
    const Type* element = type->base->resolve();
    if (element->is_char && element->is_signed && is_text(bytes)) {
        put_text(out, bytes, depth);
        return;
    }
    bool structs = element->is_struct_or_union();
    auto new_line = [&](int indent) {
        out.push_back('\n');
        out.append(indent_columns * static_cast<std::size_t>(indent), ' ');
    };
    out.append("[ ");
    if (element->size != 0) {
        const char* separator = "";
        for (std::uint64_t at = 0; at + element->size <= bytes.size();
             at += element->size) {
            out.append(separator);
            if (structs)
                new_line(depth + 1);
            if (out.size() >= end) {
                out.append(typed_rest);
                break;
            }
            if (structs)
                out.append(written(type->base)).push_back(' ');
            put_value_of(out, type->base, bytes.subspan(at, element->size), depth + 1,
                         end);
            separator = ", ";
        }
    }
    if (structs)
        new_line(depth);
    out.append(structs ? "]" : " ]");
}

void put_value_of(std::string& out, const Type* type, Bytes bytes, int depth,
                  std::size_t end)
{
    type = type->resolve();
    if (bytes.empty() || depth > max_type_depth) {
        out.append("<unknown>");
        return;
    }
    switch (type->kind) {
    case TypeKind::Struct:
    case TypeKind::Union:
        put_members(out, type, bytes, depth, end);
        return;
    case TypeKind::Array:
        put_array(out, type, bytes, depth, end);
        return;
    case TypeKind::String:
        put_text(out, bytes, depth);
        return;
    case TypeKind::Enum:
        put_enum(out, type, bytes);
        return;
    case TypeKind::Float: {
        char text[64];
        if (bytes.size() == sizeof(long double))
            std::snprintf(text, sizeof text, "%+.16LE",
                          load_as<long double>(bytes.data()));
        else
            std::snprintf(text, sizeof text, "%+.7e",
                          bytes.size() == sizeof(float)
                              ? static_cast<double>(load_as<float>(bytes.data()))
                          : bytes.size() == sizeof(double)
                              ? load_as<double>(bytes.data())
                              : 0.0);
        out.append(text);
        return;
    }
    case TypeKind::Pointer:
        put_scalar_hex(out, load_unsigned(bytes));
        return;
    case TypeKind::Integer:
        if (type->is_bool)
            out.append(load_unsigned(bytes) != 0 ? "true" : "false");
        else if (type->is_char && type->is_signed && bytes.size() == 1)
            put_char(out, static_cast<char>(bytes.front()));
        else
            put_scalar_hex(out, load_unsigned(bytes));
        return;
    default:
        put_scalar_hex(out, load_unsigned(bytes));
        return;
    }
}

} // namespace

void put_typed(std::string& out, const Type* type, std::span<const std::byte> bytes)
{
    if (!type) {
        put_hex_dump(out, bytes);
        return;
    }
    out.append(written(type)).push_back(' ');
    put_value_of(out, type, bytes, 0, out.size() + max_typed_text);
    if (!type->is_struct_or_union())
        // Other values end the line here. After a structure or union, the D program
        // must print the newline.
        out.push_back('\n');
}

} // namespace dt
