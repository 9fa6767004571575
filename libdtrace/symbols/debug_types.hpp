// SPDX-License-Identifier: MIT
// What a file's DWARF says: its types by name, the types of its variables, the
// parameters of its functions.
//
//   .debug_info of the file, of its debug file, of what both share (dwz)
//     ── once, top-level entries ──> index: (kind, name) -> entry
//     ── when asked ──────────────> DebugType, which names others by DebugRef
//
// A name means the first definition that is found, as in a debugger without a context;
// what is declared outside of a namespace goes before what is inside of one. Entries are
// read when asked for: a type costs what it says itself, whatever it refers to.
//
// The data is untrusted: libdw checks its form; numbers and references are as they are there,
// and whoever follows them limits how far.
#pragma once

#include "base/result.hpp"
#include "libdtrace/symbols/elf_image.hpp"
#include "libdtrace/symbols/passing.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
        Struct,  // also classes
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
    bool is_complete = true;   // Struct, Union, Enum: not only declared
    DebugRef base = 0;         // Pointer, Array, Typedef, Const, Volatile, Function: result
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
    std::optional<std::uint64_t> addr; // link-time; nothing: elsewhere, or one per thread
};

class DebugTypes {
public:
    // Name spaces of C: ordinary names, and tags.
    enum class Kind { Ordinary, Struct, Union, Enum };

    // The file need not be kept. not_found: it has no DWARF; corrupt: libdw refuses it.
    static Result<std::unique_ptr<DebugTypes>> open(int fd);
    ~DebugTypes();
    DebugTypes(const DebugTypes&) = delete;
    DebugTypes& operator=(const DebugTypes&) = delete;

    // A class of C++ has its name in both name spaces.
    std::optional<DebugRef> find(Kind kind, std::string_view name);
    // Of those that live as long as the program.
    std::optional<DebugVariable> find_variable(std::string_view name);
    // Of an enumeration that find() knows.
    std::optional<std::int64_t> find_enumerator(std::string_view name);
    // What begins at a link-time address.
    std::optional<DebugFunction> function_at(std::uint64_t addr);
    DebugType type(DebugRef ref);
    // Calls for every name of a kind; for suggestions.
    std::vector<std::string_view> names(Kind kind);

private:
    struct State;
    explicit DebugTypes(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace dt
