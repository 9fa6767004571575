// SPDX-License-Identifier: MIT
// The interface to debug data: types by name, types of variables, and parameters of
// functions. DwarfTypes implements it for a file's DWARF, BtfTypes for the kernel's
// BTF.
//
//   (kind, name) ── find() ──> DebugRef ── type() ──> DebugType
//
// A DebugType refers to other types by DebugRef. An entry is read only when requested.
//
// The data are untrusted, and numbers and references are not checked. Code that follows
// references must limit the number of steps.
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

// The number of an entry within one DebugTypes object. 0 means the type void.
using DebugRef = std::uint32_t;

struct DebugMember {
    std::string name; // empty for an anonymous member and for a base class
    DebugRef type = 0;
    std::uint64_t offset_bits = 0;
    std::uint32_t bitfield_bits = 0; // 0: not a bit-field
};

struct DebugType {
    enum class Kind : std::uint8_t {
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
        Opaque, // D knows only the size: complex numbers, vectors, ...
    };
    Kind kind = Kind::Void;
    Passing passing = Passing::ByMembers;
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t align = 0; // in bytes; 0 if the kind and members determine it
    bool is_signed = false;
    // Whether a Struct, Union or Enum is defined, not only declared.
    bool is_complete = true;
    // The type to which a Pointer, Array, Typedef, Const or Volatile refers, or the
    // result of a Function.
    DebugRef base = 0;
    // The number of elements in each dimension, outermost first. Nullopt if unknown.
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
    // Whether the function's calling convention may differ from the ABI.
    bool own_convention = false;
};

struct DebugVariable {
    DebugRef type = 0;
    // Link-time address. Nullopt if the variable is thread-local or defined in another
    // file.
    std::optional<std::uint64_t> addr;
    // Whether this is a per-CPU variable of the kernel. Its symbol is relative to each
    // CPU's base.
    bool per_cpu = false;
};

class DebugTypes {
public:
    // The name spaces of C.
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
    // Splits "struct foo" into the kind Struct and the tag "foo". A name without a
    // keyword gets the kind `otherwise`.
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

    // Whether the data and the pointers in them belong to a process or to the kernel.
    enum class Place { Process, Kernel };
    virtual Place place() const { return Place::Process; }

    virtual std::optional<DebugRef> find(Kind kind, std::string_view name) = 0;
    // Finds a variable with static storage.
    virtual std::optional<DebugVariable> find_variable(std::string_view name) = 0;
    // Finds an enumerator of any enumeration that find() can return.
    virtual std::optional<std::int64_t> find_enumerator(std::string_view name) = 0;
    // Finds the function that starts at a link-time address.
    virtual std::optional<DebugFunction> function_at(std::uint64_t addr) = 0;
    // Returns new messages about truncated tables.
    virtual std::vector<std::string> take_cuts() { return {}; }
    virtual DebugType type(DebugRef ref) = 0;
    // Returns the owner of an entry, and the entry's number there. One file may refer
    // to entries of another file.
    virtual std::pair<DebugTypes*, DebugRef> owner(DebugRef ref) { return {this, ref}; }
    // Returns all names of a kind, for suggestions.
    virtual std::vector<std::string_view> names(Kind kind) = 0;
};

} // namespace dt
