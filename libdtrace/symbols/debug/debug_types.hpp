// SPDX-License-Identifier: MIT
// What debug data says: types by name, the types of variables, the parameters of
// functions. Of a file's DWARF it is DwarfTypes that answers, of the kernel's BTF BtfTypes.
//
//   (kind, name) ── find() ──> DebugRef ── type() ──> DebugType, which names others by DebugRef
//
// Entries are read when requested: a type costs what it says itself, whatever it refers to.
//
// The data is untrusted: its form is checked; numbers and references are as they are there,
// and whoever follows them limits how far.
#pragma once

#include "base/result.hpp"
#include "libdtrace/symbols/debug/passing.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

// An entry of one DebugTypes; 0: void.
using DebugRef = std::uint32_t;

struct DebugMember {
    std::string name; // empty: anonymous, or a base class
    DebugRef type = 0;
    std::uint64_t offset_bits = 0;
    std::uint32_t bitfield_bits = 0; // 0: not a bit-field
};

struct DebugType {
    enum class Kind {
        Void,
        Integer,
        Bool,
        Character,
        Float,
        Pointer, // also C++'s references
        Array,
        Struct, // also classes
        Union,
        Enum,
        Typedef,
        Const,
        Volatile,
        Function,
        Opaque, // so many bytes that mean nothing in D: complex numbers, vectors, ...
    };
    Kind kind = Kind::Void;
    Passing passing = Passing::ByMembers;
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t align = 0; // as said; 0: what follows from the type
    bool is_signed = false;
    bool is_complete = true; // Struct, Union, Enum: not only declared
    DebugRef base = 0; // Pointer, Array, Typedef, Const, Volatile, Function: result
    // Array: of its dimensions, the outermost first; nothing: not known.
    std::vector<std::optional<std::uint64_t>> counts;
    std::vector<DebugMember> members;
    std::vector<std::pair<std::string, std::int64_t>> enumerators;
    std::vector<DebugRef> parameters; // Function
    bool varargs = false;
};

struct DebugParameter {
    std::string name; // may be empty
    DebugRef type = 0;
};

struct DebugFunction {
    std::vector<DebugParameter> parameters;
    DebugRef result = 0;
    bool varargs = false;
    // Its arguments are not where the ABI has them, as the compiler or the language says.
    bool own_convention = false;
};

struct DebugVariable {
    DebugRef type = 0;
    std::optional<std::uint64_t>
        addr; // link-time; nothing: elsewhere, or one per thread
    bool per_cpu =
        false; // of the kernel: its address is where each CPU's begins to count
};

class DebugTypes {
public:
    // Name spaces of C: ordinary names, and tags.
    enum class Kind { Ordinary, Struct, Union, Enum };
    struct TagWord {
        std::string_view word; // "struct "
        Kind kind;
    };
    static constexpr std::array tag_words{TagWord{"struct ", Kind::Struct},
                                          TagWord{"union ", Kind::Union},
                                          TagWord{"enum ", Kind::Enum}};
    struct Name {
        Kind kind = Kind::Ordinary;
        std::string_view name;
    };
    // "struct foo" is foo among the structs; what has no such word is of the kind given.
    static constexpr Name split(std::string_view text, Kind otherwise = Kind::Ordinary)
    {
        for (const TagWord& tag : tag_words)
            if (text.starts_with(tag.word))
                return {tag.kind, text.substr(tag.word.size())};
        return {otherwise, text};
    }

    DebugTypes() = default;
    virtual ~DebugTypes() = default;
    DebugTypes(const DebugTypes&) = delete;
    DebugTypes& operator=(const DebugTypes&) = delete;

    // Where what they describe lies, and what pointers in it lead to.
    enum class Place { Process, Kernel };
    virtual Place place() const { return Place::Process; }

    virtual std::optional<DebugRef> find(Kind kind, std::string_view name) = 0;
    // Of those that live as long as the program.
    virtual std::optional<DebugVariable> find_variable(std::string_view name) = 0;
    // Of an enumeration that find() knows.
    virtual std::optional<std::int64_t> find_enumerator(std::string_view name) = 0;
    // What begins at a link-time address.
    virtual std::optional<DebugFunction> function_at(std::uint64_t addr) = 0;
    // Returns sentences about tables that are larger than what is read of a file, each
    // sentence once.
    virtual std::vector<std::string> take_cuts() { return {}; }
    virtual DebugType type(DebugRef ref) = 0;
    // Whose entry it is, and which: data of one file may refer to another's.
    virtual std::pair<DebugTypes*, DebugRef> owner(DebugRef ref) { return {this, ref}; }
    // All names of a kind; for suggestions.
    virtual std::vector<std::string_view> names(Kind kind) = 0;
};

} // namespace dt
