// SPDX-License-Identifier: MIT
// Converts a value to JSON according to its type. typed.cpp prints the same values as
// text.
#include "base/hex_text.hpp"
#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/structured.hpp"
#include "libdtrace/consume/typed.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

namespace dt {

using Json = nlohmann::ordered_json;
using Bytes = std::span<const std::byte>;

namespace {

// The approximate number of bytes by which the JSON of one value may still grow.
class Budget {
public:
    // the cost of each value, in addition to its text and its name
    static constexpr std::size_t value_bytes = 8;
    void spend(std::size_t n_bytes) { left_ -= std::min(left_, n_bytes); }
    bool any() const { return left_ != 0; }

private:
    std::size_t left_ = max_typed_text;
};

// Builds a JSON object whose members keep their order. The JSON library would take
// quadratic time for a type with many members.
class Object {
public:
    // Adds a member. If several values have the same name, keeps the last one.
    void set(const std::string& name, Json value)
    {
        auto [at, is_new] = places_.emplace(name, list_.size());
        if (is_new)
            list_.emplace_back(name, std::move(value));
        else
            list_.begin()[static_cast<std::ptrdiff_t>(at->second)].second =
                std::move(value);
    }
    Json take() && { return Json(std::move(list_)); }

private:
    Json::object_t list_;
    std::unordered_map<std::string, std::size_t> places_;
};

} // namespace

static Json value_json(const Type* type, Bytes bytes, int depth, Budget& budget);

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

static Json enum_json(const Type* type, std::int64_t value)
{
    for (const Enumerator& each : type->enumerators)
        if (each.value == value)
            return each.name;
    return value;
}

static Json bitfield_json(const Member& member, Bytes bytes)
{
    auto bits = bits_of(bytes, member.offset_bits, member.bitfield_bits);
    if (!bits)
        return {};
    const Type* type = member.type->resolve();
    unsigned shift = 64 - member.bitfield_bits;
    auto by_sign = static_cast<std::int64_t>(*bits << shift) >> shift;
    if (type->is_bool)
        return *bits != 0;
    if (type->kind == TypeKind::Enum) {
        Json name = enum_json(type, static_cast<std::int64_t>(*bits));
        return name.is_string() ? name : enum_json(type, by_sign);
    }
    return type->is_signed ? Json(by_sign) : Json(*bits);
}

static Json members_json(const Type* type, Bytes bytes, int depth, Budget& budget)
{
    Object object;
    for (const Member& member : type->members) {
        if (!member.type)
            continue;
        if (!budget.any()) {
            object.set(std::string(typed_rest), true);
            break;
        }
        budget.spend(Budget::value_bytes + member.name.size());
        Json value;
        if (member.bitfield_bits != 0) {
            value = bitfield_json(member, bytes);
        } else {
            value = value_json(
                member.type,
                cut(bytes, member.offset_bits / 8, member.type->resolve()->size),
                depth + 1, budget);
        }
        if (!member.name.empty())
            object.set(member.name, std::move(value));
        else if (value.is_object()) // members of an anonymous struct or union
            for (auto& [name, inner] : value.get_ref<Json::object_t&>())
                object.set(name, std::move(inner));
    }
    return std::move(object).take();
}

static Json text_json(Bytes bytes, Budget& budget)
{
    std::string text(load_string(bytes));
    budget.spend(text.size());
    return text;
}

static Json array_json(const Type* type, Bytes bytes, int depth, Budget& budget)
{
    const Type* element = type->base->resolve();
    if (element->is_char &&
        (bytes.empty() || bytes.front() == std::byte{0} || looks_like_text(bytes)))
        return text_json(bytes, budget);
    Json array = Json::array();
    for (std::uint64_t at = 0; element->size != 0 && at + element->size <= bytes.size();
         at += element->size) {
        if (!budget.any()) {
            array.push_back(typed_rest);
            break;
        }
        budget.spend(Budget::value_bytes);
        array.push_back(value_json(type->base, bytes.subspan(at, element->size),
                                   depth + 1, budget));
    }
    return array;
}

static Json float_json(Bytes bytes)
{
    double value = 0;
    if (bytes.size() == 4)
        value = load_as<float>(bytes.data());
    else if (bytes.size() == 8)
        value = load_as<double>(bytes.data());
    else if (bytes.size() == sizeof(long double))
        value = static_cast<double>(load_as<long double>(bytes.data()));
    else
        return {};
    return double_json(value);
}

Json double_json(double value)
{
    if (std::isfinite(value))
        return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

static Json value_json(const Type* type, Bytes bytes, int depth, Budget& budget)
{
    type = type->resolve();
    if (bytes.empty() || depth > max_type_depth)
        return {};
    switch (type->kind) {
    case TypeKind::Struct:
    case TypeKind::Union:
        return members_json(type, bytes, depth, budget);
    case TypeKind::Array:
        return array_json(type, bytes, depth, budget);
    case TypeKind::String:
        return text_json(bytes, budget);
    case TypeKind::Float:
        return float_json(bytes);
    case TypeKind::Enum:
        return enum_json(type, type->is_signed
                                   ? load_signed(bytes)
                                   : static_cast<std::int64_t>(load_unsigned(bytes)));
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
    Budget budget;
    return type != nullptr ? value_json(type, bytes, 0, budget) : bytes_json(bytes);
}

} // namespace dt
