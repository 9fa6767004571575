// SPDX-License-Identifier: MIT
#include "libdtrace/compile/argument_places.hpp"

#include <algorithm>
#include <array>

namespace dt {

namespace {

constexpr unsigned n_integer_registers = 6, n_float_registers = 8;
constexpr int max_depth = 64;

// The classes of the psABI that matter here; of a word of eight bytes.
enum class Class { None, Integer, Float, Memory };

struct Classes {
    std::array<Class, 2> words{Class::None, Class::None};
    unsigned count(Class wanted) const
    {
        return static_cast<unsigned>(std::count(words.begin(), words.end(), wanted));
    }
    bool in_memory() const { return words[0] == Class::Memory; }
};

constexpr Classes memory{{Class::Memory, Class::None}};

void classify(const Type* type, std::uint64_t at, Classes& into, int depth)
{
    type = type->resolve();
    if (type->is_struct_or_union()) {
        for (const Member& member : type->members) {
            std::uint64_t offset = at + member.offset_bits / 8;
            const Type* real = member.type->resolve();
            bool aligned = member.bitfield_bits != 0 || real->align == 0 ||
                           offset % real->align == 0;
            if (!aligned || depth > max_depth)
                into = memory;
            else
                classify(real, offset, into, depth + 1);
        }
        return;
    }
    if (type->kind == TypeKind::Array && type->base->resolve()->size != 0) {
        std::uint64_t bytes = type->base->resolve()->size;
        for (std::uint64_t i = 0; i < type->count && at + i * bytes < 16; i++)
            classify(type->base, at + i * bytes, into, depth + 1);
        return;
    }
    if (into.in_memory() || at >= 16 || type->size == 0)
        return;
    if (type->is_float() && type->size > 8) {
        into = memory; // the x87 unit's
        return;
    }
    Class& word = into.words[at / 8];
    if (word != Class::Integer)
        word = type->is_float() ? Class::Float : Class::Integer;
}

Classes classes_of(const Type* type)
{
    Classes classes;
    if (type->resolve()->size > 16)
        return memory;
    classify(type, 0, classes, 0);
    return classes;
}

bool is_aggregate(const Type* type)
{
    return type->is_struct_or_union() || type->resolve()->kind == TypeKind::Array;
}

} // namespace

std::vector<ArgumentPlace> argument_places(const std::vector<const Type*>& parameters,
                                           const Type* result)
{
    using Kind = ArgumentPlace::Kind;
    std::vector<ArgumentPlace> places;
    unsigned n_integer = 0, n_float = 0, n_stack = 0;
    auto next_integer = [&](Kind kind) -> ArgumentPlace {
        if (n_integer < n_integer_registers)
            return {kind, n_integer++};
        return {kind, n_integer_registers + n_stack++};
    };
    if (result_place(result).kind == Kind::Address)
        next_integer(Kind::Value); // where the result shall go
    for (const Type* type : parameters) {
        const Type* real = type->resolve();
        if (real->passed_by_reference) {
            places.push_back(next_integer(Kind::Address));
            continue;
        }
        Classes classes = classes_of(real);
        unsigned integers = classes.count(Class::Integer),
                 floats = classes.count(Class::Float);
        bool fits = n_integer + integers <= n_integer_registers &&
                    n_float + floats <= n_float_registers;
        if (!classes.in_memory() && integers + floats == 0) {
            places.push_back({Kind::Nowhere, 0});
        } else if (!is_aggregate(real) && integers == 1) {
            places.push_back(next_integer(Kind::Value));
        } else if (!classes.in_memory() && fits) {
            n_integer += integers;
            n_float += floats;
            places.push_back({is_aggregate(real) ? Kind::Registers : Kind::Float, 0});
        } else {
            if (real->align >= 16)
                n_stack += n_stack % 2;
            places.push_back({Kind::Stack, n_stack});
            n_stack += static_cast<unsigned>((real->size + 7) / 8);
        }
    }
    return places;
}

ArgumentPlace result_place(const Type* result)
{
    using Kind = ArgumentPlace::Kind;
    const Type* real = result->resolve();
    if (real->kind == TypeKind::Void)
        return {Kind::Nowhere, 0};
    if (real->is_float())
        return {Kind::Float, 0};
    if (real->passed_by_reference)
        return {Kind::Address, 1};
    if (!is_aggregate(real))
        return {Kind::Value, 1};
    Classes classes = classes_of(real);
    if (classes.in_memory())
        return {Kind::Address, 1};
    bool empty = classes.count(Class::None) == 2;
    return {empty ? Kind::Nowhere : Kind::Registers, 0};
}

} // namespace dt
