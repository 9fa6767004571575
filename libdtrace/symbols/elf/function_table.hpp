// SPDX-License-Identifier: MIT
// The functions of one ELF image, in the order of addresses, each with all of its
// names.
//
// A function is an address range; names that share the start address are aliases of one
// function. The preferred name is the one shown (probefunc, stacks): by type (a plain
// function before an indirect one), binding (global and weak before local), fewer leading
// underscores (strdup, which is weak, before __strdup), global before weak, shorter, then by
// alphabet. A lookup by name finds every alias.
//
// A stripped image's functions that only .eh_frame knows are there too, named
// fde.ADDRESS: probes can be asked of them, but symbol lookups pass them over.
//
// Names are views into the symbol tables that the owner of the table keeps. They are
// what the file says, minus the @version: anything but NUL may be in them, so
// printable_name() stands between them and a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
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

enum class Binding : std::uint8_t { global, weak, local }; // in the order of preference

struct FunctionName {
    std::string_view text;
    Binding binding = Binding::local;
    bool indirect = false;    // GNU_IFUNC: the address is the resolver's
    bool old_version = false; // name@VERSION: not what a new program would link to
    bool from_frame = false;  // no symbol: fde.ADDRESS, made up from .eh_frame
    bool split_off = false;   // from_frame, and a part of a function as NAME.cold is

    bool is_of_part() const; // no function, but what a compiler split off from one
};

struct Function {
    std::uint64_t addr = 0; // link-time
    std::uint64_t n_bytes = 0;
    std::uint32_t first_name = 0;
    std::uint32_t n_names = 0;
    bool contains(std::uint64_t at) const { return at - addr < n_bytes; }
};

// One symbol as a source gave it; FunctionTable sorts and joins them.
struct FunctionSymbol {
    std::uint64_t addr = 0;
    std::uint64_t n_bytes = 0;
    FunctionName name;
};

class FunctionTable {
public:
    FunctionTable() = default;
    explicit FunctionTable(std::vector<FunctionSymbol> symbols);

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

    // The function whose bytes hold `addr`; of nested ones the innermost. Null: none.
    const Function* at(std::uint64_t addr) const;
    // The function that has this mangled or plain name. Several static functions may
    // share a name: find() gives the global or current-version one first, find_all()
    // all.
    const Function* find(std::string_view name) const;
    std::vector<const Function*> find_all(std::string_view name) const;
    // Functions whose alias, demangled alias, or demangled alias without its parameters
    // matches a glob (or is it). In the order of addresses.
    std::vector<const Function*> match(std::string_view glob) const;
    // Names that the user may have meant, nearest first, at most `limit`.
    std::vector<std::string> suggest(std::string_view name,
                                     std::size_t limit = 3) const;

private:
    void index_names() const;

    std::vector<Function> functions_;
    std::vector<std::uint64_t> max_end_; // of functions_[0..i], for nested functions
    std::vector<FunctionName> names_;
    std::vector<std::uint32_t> function_of_; // by index into names_
    mutable std::vector<std::pair<std::uint32_t, std::uint32_t>> by_hash_;
};

} // namespace dt
