// SPDX-License-Identifier: MIT
// A value by its type, as JSON: what typed.cpp writes for people.
#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/structured.hpp"
#include "libdtrace/consume/typed.hpp"

#include <nlohmann/json.hpp>

namespace dt {

using Json = nlohmann::ordered_json;
using Bytes = std::span<const std::byte>;

static Json value_json(const Type* type, Bytes bytes, int depth);

static std::string hex_text(std::uint64_t value)
{
    std::string text = "0x";
    put_hex(text, value);
    return text;
}

Json bytes_json(Bytes bytes)
{
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::byte b : bytes) {
        text.push_back(digits[static_cast<unsigned>(b) >> 4]);
        text.push_back(digits[static_cast<unsigned>(b) & 15]);
    }
    return Json{{"bytes", text}};
}

static Json members_json(const Type* type, Bytes bytes, int depth)
{
    Json object = Json::object();
    for (const Member& member : type->members) {
        if (!member.type)
            continue;
        Json value;
        if (member.bitfield_bits != 0) {
            auto bits = bits_of(bytes, member.offset_bits, member.bitfield_bits);
            value = bits ? Json(*bits) : Json();
        } else {
            value = value_json(
                member.type,
                cut(bytes, member.offset_bits / 8, member.type->resolve()->size),
                depth + 1);
        }
        if (!member.name.empty())
            object[member.name] = std::move(value);
        else if (value.is_object()) // an anonymous member's members
            object.update(value);
    }
    return object;
}

static Json array_json(const Type* type, Bytes bytes, int depth)
{
    const Type* element = type->base->resolve();
    if (element->is_char &&
        (bytes.empty() || bytes.front() == std::byte{0} || looks_like_text(bytes)))
        return std::string(load_string(bytes));
    Json array = Json::array();
    for (std::uint64_t at = 0; element->size != 0 && at + element->size <= bytes.size();
         at += element->size)
        array.push_back(
            value_json(type->base, bytes.subspan(at, element->size), depth + 1));
    return array;
}

static Json float_json(Bytes bytes)
{
    switch (bytes.size()) {
    case 4:
        return load_as<float>(bytes.data());
    case 8:
        return load_as<double>(bytes.data());
    case sizeof(long double):
        return static_cast<double>(load_as<long double>(bytes.data()));
    default:
        return {};
    }
}

static Json value_json(const Type* type, Bytes bytes, int depth)
{
    type = type->resolve();
    if (bytes.empty() || depth > max_type_depth)
        return {};
    switch (type->kind) {
    case TypeKind::Struct:
    case TypeKind::Union:
        return members_json(type, bytes, depth);
    case TypeKind::Array:
        return array_json(type, bytes, depth);
    case TypeKind::String:
        return std::string(load_string(bytes));
    case TypeKind::Float:
        return float_json(bytes);
    case TypeKind::Enum:
        for (const Enumerator& each : type->enumerators)
            if (each.value == load_signed(bytes))
                return each.name;
        return load_signed(bytes);
    case TypeKind::Pointer:
        return hex_text(load_unsigned(bytes));
    case TypeKind::Integer:
        if (type->is_bool)
            return load_unsigned(bytes) != 0;
        if (type->is_signed)
            return load_signed(bytes);
        return load_unsigned(bytes);
    default:
        return bytes.size() <= 8 ? Json(load_unsigned(bytes)) : bytes_json(bytes);
    }
}

Json typed_json(const Type* type, Bytes bytes)
{
    return type != nullptr ? value_json(type, bytes, 0) : bytes_json(bytes);
}

} // namespace dt
