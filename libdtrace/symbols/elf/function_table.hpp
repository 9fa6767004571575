// SPDX-License-Identifier: MIT
// The functions of one ELF image, sorted by address, each with all of its names.
//
// Names with the same start address are aliases of one function. The preferred name is
// shown. The criteria are, in this order: a plain function before an indirect one,
// global and weak before local, fewer leading underscores, global before weak, shorter,
// alphabetical order.
//
// A function that only .eh_frame describes is named fde.ADDRESS. Probe descriptions can
// name it, but symbol lookups skip it.
//
// Names are views into the file's symbol tables, which the owner of the FunctionTable
// keeps in memory. A name may contain anything but NUL, so pass it through
// printable_name() before printing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

struct AddressRange {
    std::uint64_t addr = 0;
    std::uint64_t n_bytes = 0;
    bool contains(std::uint64_t at) const { return at - addr < n_bytes; }
};

enum class Binding : std::uint8_t { global, weak, local }; // in order of preference

struct FunctionName {
    std::string_view text;
    Binding binding = Binding::local;
    bool indirect = false;    // GNU_IFUNC: the address is that of the resolver
    bool old_version = false; // name@VERSION: a new program would not be linked to it
    // only .eh_frame describes the function, which is named fde.ADDRESS
    bool from_frame = false;
    bool split_off = false; // a part such as NAME.cold; from_frame is also true

    // Returns whether this names a part that the compiler split off from a function.
    bool is_of_part() const;
};

struct Function {
    std::uint64_t addr = 0; // link-time
    std::uint64_t n_bytes = 0;
    std::uint32_t first_name = 0;
    std::uint32_t n_names = 0;
    bool contains(std::uint64_t at) const { return at - addr < n_bytes; }
};

// A symbol from a symbol table, or a function from .eh_frame.
struct FunctionSymbol {
    std::uint64_t addr = 0;
    std::uint64_t n_bytes = 0;
    FunctionName name;
};

class FunctionTable {
public:
    FunctionTable() = default;
    explicit FunctionTable(std::vector<FunctionSymbol> symbols);
    // Returns a table of these functions and their names. The functions must have
    // strictly ascending addresses. Each function must have at least one name, and its
    // names must follow the names of the previous function. Otherwise returns nullopt.
    static std::optional<FunctionTable> from_parts(std::vector<Function> functions,
                                                   std::vector<FunctionName> names);

    std::span<const Function> all() const { return functions_; }
    std::span<const FunctionName>
    names(const Function& function) const // preferred first
    {
        return std::span(names_).subspan(function.first_name, function.n_names);
    }
    std::string_view name(const Function& function) const
    {
        return names_[function.first_name].text;
    }

    // Returns the innermost function that contains `addr`, or null.
    const Function* at(std::uint64_t addr) const;
    // Search for a mangled or plain name. Several static functions may have the same
    // name. find() prefers a symbol that is not an old version, then a global symbol.
    const Function* find(std::string_view name) const;
    std::vector<const Function*> find_all(std::string_view name) const;
    // Returns the functions that a glob or a name matches, sorted by address. Each
    // alias is compared in three forms: mangled, demangled, and demangled without
    // parameters.
    std::vector<const Function*> match(std::string_view glob) const;
    // Returns at most `limit` similar names, nearest first.
    std::vector<std::string> suggest(std::string_view name,
                                     std::size_t limit = 3) const;

private:
    void index_ends() const;
    void index_names() const;
    const Function* function_of(std::uint32_t name) const;

    std::vector<Function> functions_;
    std::vector<FunctionName> names_;
    // The first at() fills max_end_. max_end_[i] is the maximum end of functions_[0] to
    // functions_[i].
    mutable std::vector<std::uint64_t> max_end_;
    // The first lookup by name fills by_hash_ with hashes and indices in names_.
    mutable std::vector<std::pair<std::uint32_t, std::uint32_t>> by_hash_;
};

} // namespace dt
