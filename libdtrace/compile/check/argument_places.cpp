// SPDX-License-Identifier: MIT
#include "libdtrace/compile/check/argument_places.hpp"

#include <algorithm>
#include <array>

namespace dt {

namespace {

constexpr unsigned n_integer_registers = 6, n_float_registers = 8;
constexpr int max_places_depth = 64;

// The classes that the psABI assigns to an eight-byte word.
enum class Class { None, Integer, Float, FloatUp, X87, X87Up, Memory };

Class merged(Class a, Class b)
{
    if (a == b || b == Class::None)
        return a;
    if (a == Class::None)
        return b;
    for (Class stronger : {Class::Memory, Class::Integer})
        if (a == stronger || b == stronger)
            return stronger;
    for (Class x87 : {Class::X87, Class::X87Up})
        if (a == x87 || b == x87)
            return Class::Memory;
    return Class::Float;
}

struct Classes {
    std::array<Class, 2> words{Class::None, Class::None};
    bool has_empty = false; // the type contains a C++ class without members
    unsigned count(Class wanted) const
    {
        return static_cast<unsigned>(std::count(words.begin(), words.end(), wanted));
    }
    // The type is a union in which a __float128 or a vector shares a word with a member
    // of another class. Compilers pass such unions differently.
    bool is_disputed = false;
    void add(std::uint64_t word, Class one)
    {
        if (word >= words.size())
            return;
        Class& its = words[word];
        is_disputed |=
            its != Class::None && (its == Class::FloatUp) != (one == Class::FloatUp);
        its = merged(its, one);
    }
    bool in_memory() const { return count(Class::Memory) != 0; }
    bool in_x87() const { return words[0] == Class::X87; }
};

constexpr Classes memory{{Class::Memory, Class::Memory}};

// Classifies a type without members. Returns the class of the first word and the class
// of the words after it.
std::pair<Class, Class> classes_of_scalar(const Type* type)
{
    switch (type->passing) {
    case Passing::FloatRegister:
        return {Class::Float, Class::FloatUp};
    case Passing::FloatWords:
        return {Class::Float, Class::Float};
    default:
        break;
    }
    if (!type->is_float())
        return {Class::Integer, Class::Integer};
    return {type->size > 8 ? Class::X87 : Class::Float, Class::X87Up};
}

void classify(const Type* type, std::uint64_t at, Classes& into, int depth);

void classify_members(const Type* type, std::uint64_t at, Classes& into, int depth)
{
    if (type->members.empty() && (type->size == 1 || type->size == type->align))
        into.has_empty = true;
    for (const Member& member : type->members) {
        if (member.bitfield_bits == 0) {
            classify(member.type, at + member.offset_bits / 8, into, depth + 1);
            continue;
        }
        std::uint64_t first = at * 8 + member.offset_bits;
        into.add(first / 64, Class::Integer);
        into.add((first + member.bitfield_bits - 1) / 64, Class::Integer);
    }
}

void classify(const Type* type, std::uint64_t at, Classes& into, int depth)
{
    type = type->resolve();
    if (into.in_memory() || at >= 16 || type->size == 0)
        return;
    if (depth > max_places_depth) {
        into = memory;
        return;
    }
    if (type->is_struct_or_union()) {
        classify_members(type, at, into, depth);
        return;
    }
    if (type->kind == TypeKind::Array && type->passing == Passing::ByMembers) {
        std::uint64_t bytes = type->base->resolve()->size;
        for (std::uint64_t i = 0; bytes != 0 && i < type->count && at + i * bytes < 16;
             i++)
            classify(type->base, at + i * bytes, into, depth + 1);
        return;
    }
    if (type->align != 0 && at % type->align != 0) {
        into = memory; // a packed struct
        return;
    }
    auto [first, next] = classes_of_scalar(type);
    into.add(at / 8, first);
    if (type->size > 8)
        into.add(at / 8 + 1, next);
}

Classes classes_of(const Type* type)
{
    Classes classes;
    type = type->resolve();
    if (type->size > 16)
        return memory;
    classify(type, 0, classes, 0);
    auto [first, second] = classes.words;
    if (second == Class::X87Up && first != Class::X87)
        return memory;
    classes.is_disputed |= second == Class::FloatUp && first != Class::Float;
    return classes;
}

// Returns true if it is not known how compilers pass this type. For example, compilers
// differ for a word that contains only an unnamed bit-field. Debug data omit such a
// bit-field, so the word appears to have no member.
bool is_unknown(const Type* type, const Classes& classes)
{
    if (type->passing == Passing::Unknown || classes.is_disputed)
        return true;
    bool may_be_empty = classes.in_memory() || classes.has_empty || type->align > 8;
    std::uint64_t n_words = std::min<std::uint64_t>((type->size + 7) / 8, 2);
    return type->is_struct_or_union() && !may_be_empty &&
           2 - classes.count(Class::None) < n_words;
}

bool is_aggregate(const Type* type)
{
    return type->is_struct_or_union() || type->resolve()->kind == TypeKind::Array;
}

ArgumentPlace in_registers_of(const Type* type, unsigned n_integers)
{
    using Kind = ArgumentPlace::Kind;
    bool is_struct = type->is_struct_or_union();
    return {is_struct || n_integers != 0 ? Kind::Registers : Kind::Float, 0};
}

// Rounds a number of stack words up to a multiple of the alignment.
unsigned aligned(unsigned words, std::uint32_t align_bytes)
{
    unsigned to = std::max(align_bytes / 8, 1u);
    return (words + to - 1) / to * to;
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
    const ArgumentPlace returned = result_place(result);
    if (returned.kind == Kind::Address)
        next_integer(Kind::Value); // the hidden pointer to the result
    bool lost = returned.kind == Kind::Unknown;
    for (const Type* type : parameters) {
        const Type* real = type->resolve();
        const Classes classes = classes_of(real);
        lost = lost || is_unknown(real, classes);
        if (lost) {
            places.push_back({Kind::Unknown, 0});
            continue;
        }
        if (real->passing == Passing::ByReference) {
            places.push_back(next_integer(Kind::Address));
            continue;
        }
        unsigned integers = classes.count(Class::Integer),
                 floats = classes.count(Class::Float);
        bool fits = n_integer + integers <= n_integer_registers &&
                    n_float + floats <= n_float_registers;
        bool in_registers = !classes.in_memory() && !classes.in_x87();
        if (in_registers && integers + floats == 0) {
            places.push_back({Kind::Nowhere, 0});
        } else if (!is_aggregate(real) && integers == 1) {
            places.push_back(next_integer(Kind::Value));
        } else if (in_registers && fits) {
            n_integer += integers;
            n_float += floats;
            places.push_back(in_registers_of(real, integers));
        } else if (real->passing == Passing::IntegerWords) {
            lost = true; // GCC and Clang differ in how they pass such a type
            places.push_back({Kind::Unknown, 0});
        } else {
            n_stack = aligned(n_stack, real->align);
            places.push_back({Kind::Stack, n_stack});
            n_stack += static_cast<unsigned>((real->size + 7) / 8);
        }
    }
    return places;
}

std::vector<ArgumentPlace>
kernel_argument_places(const std::vector<const Type*>& parameters, const Type* result)
{
    using Kind = ArgumentPlace::Kind;
    std::vector<ArgumentPlace> places = argument_places(parameters, result);
    for (std::size_t i = 0; i < places.size(); i++)
        if (places[i].kind != Kind::Nowhere && !parameters[i]->is_scalar())
            places[i].kind = Kind::ByValue;
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
    const Classes classes = classes_of(real);
    if (is_unknown(real, classes))
        return {Kind::Unknown, 0};
    switch (real->passing) {
    case Passing::X87:
        return {Kind::Float, 0};
    case Passing::ByReference:
        return {Kind::Address, 1};
    default:
        break;
    }
    if (!is_aggregate(real))
        return {Kind::Value, 1};
    if (classes.in_memory())
        return {Kind::Address, 1};
    if (classes.count(Class::None) == 2)
        return {Kind::Nowhere, 0};
    return in_registers_of(real, classes.count(Class::Integer));
}

} // namespace dt
