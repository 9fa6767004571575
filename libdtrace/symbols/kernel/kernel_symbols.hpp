// SPDX-License-Identifier: MIT
// The kernel's symbols from /proc/kallsyms, and the ranges of modules from
// /proc/modules.
//
//   kallsyms ── once, at the first lookup ──> by address (sorted), by name (buckets)
//
// If several symbols have the same address, a global symbol is preferred, then the
// symbol with the fewest leading underscores. The kernel proper is the module
// "vmlinux". Programs may also write kernel, unix or genunix.
//
// Without permission to see addresses, nothing is found, and why_hidden() says what to
// change. Without CONFIG_KALLSYMS_ALL, variables are not found.
//
// A lookup that finds nothing reads the files again if /proc/modules has changed, at
// most once a second. Reading the files again invalidates all names that were returned
// before.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

class KernelSymbols {
public:
    static constexpr std::string_view proper = "vmlinux";

    struct Paths {
        std::string kallsyms = "/proc/kallsyms", modules = "/proc/modules";
        std::string restriction = "/proc/sys/kernel/kptr_restrict";
    };
    KernelSymbols() : KernelSymbols(Paths{}) {}
    explicit KernelSymbols(Paths paths) : paths_(std::move(paths)) {}
    KernelSymbols(const KernelSymbols&) = delete;
    KernelSymbols& operator=(const KernelSymbols&) = delete;

    struct Symbol {
        std::string_view module, name;
        std::uint64_t addr = 0, n_bytes = 0;
        bool is_function = false;
        bool is_global = false;
    };
    struct At {
        std::string_view module;
        std::string_view name; // empty if only the module is known
        std::uint64_t offset = 0;
    };

    // Finds a symbol. `module` is a name or a glob. If it is empty, the kernel proper
    // is searched first. Errors: Code::not_found, Code::permission if the addresses are
    // hidden, or the reason why kallsyms cannot be read.
    Result<Symbol> find(std::string_view module, std::string_view name);
    std::optional<At> at(std::uint64_t addr);
    // Returns the lowest address that has a symbol in the module of an address, or the
    // address itself if it is in no module.
    std::uint64_t module_begin(std::uint64_t addr);
    // Returns whether D programs may use this name for a module. Does not read the
    // symbols.
    bool is_module(std::string_view name);
    std::vector<std::string_view> modules(); // loaded modules, the kernel proper first
    // Visits all symbols in ascending order of address.
    template <class F> void each(F visit);
    template <class F> void each_named(std::string_view name, F visit);
    // Makes the next lookup read the files again.
    void refresh();

    // Returns "vmlinux`vfs_read+0x1", "ext4`0xffffffffc0000000" if only the module is
    // known, or "0x7" if nothing is known.
    std::string format_address(std::uint64_t addr);
    std::string format_symbol(std::uint64_t addr); // without an offset
    std::string format_module(std::uint64_t addr);

    // Returns "foo" for the function "foo", its clone "foo.isra.0" and its variant
    // "foo_noprof" (since Linux 6.10). Returns "" for a part such as "foo.cold".
    static std::string_view function_of(std::string_view symbol);
    // Returns "vmlinux" for "kernel", "unix" and "genunix". Replaces '-' with '_'.
    static std::string canonical(std::string_view module);

private:
    struct Entry {
        std::uint64_t addr = 0;
        std::uint32_t name = 0; // offset in text_
        std::uint16_t name_bytes = 0, module = 0;
        char type = 0;
    };
    struct Range {
        std::uint64_t begin = 0, end = 0;
        std::uint16_t module = 0;
    };

    Result<Ok> load();
    void parse();
    bool parse_line(std::string_view line);
    void parse_ranges();
    bool lists_module(std::string_view name) const; // reads /proc/modules
    std::uint16_t module_number(std::string_view name);
    void index_names();
    // Returns the numbers of the entries that may have this name.
    std::span<const std::uint32_t> candidates(std::string_view name);
    bool reload_if_changed();
    Result<Symbol> find_loaded(std::string_view module, std::string_view name);
    std::optional<At> at_loaded(std::uint64_t addr) const;
    std::string why_not(std::string_view module, std::string_view name);
    std::string why_hidden() const;
    std::uint64_t end_of(std::size_t entry) const;
    std::size_t shown_at(std::size_t entry) const;
    std::string_view name_of(const Entry& entry) const
    {
        return {text_.data() + entry.name, entry.name_bytes};
    }
    Symbol symbol(std::size_t entry) const;

    Paths paths_;
    bool loaded_ = false, hidden_ = false;
    bool has_functions_only_ = false;
    std::uint64_t looked_ns_ = 0; // when /proc/modules was last checked
    std::string text_, modules_text_;
    std::vector<std::string> module_names_;
    // The lowest address of a symbol of each module, or UINT64_MAX.
    std::vector<std::uint64_t> module_begins_;
    std::map<std::string, std::uint16_t, std::less<>> module_numbers_;
    std::vector<Entry> entries_; // sorted by address
    std::vector<Range> ranges_;  // sorted by address
    // by_name_ contains the numbers of the entries, sorted by the buckets of their
    // names. buckets_ contains the start of each bucket in by_name_. A map would take
    // several times as long to build.
    std::vector<std::uint32_t> by_name_, buckets_;
};

template <class F> void KernelSymbols::each(F visit)
{
    if (!load() || hidden_)
        return;
    for (std::size_t i = 0; i < entries_.size(); i++)
        visit(symbol(i));
}

template <class F> void KernelSymbols::each_named(std::string_view name, F visit)
{
    if (!load() || hidden_)
        return;
    for (std::uint32_t i : candidates(name))
        if (name_of(entries_[i]) == name)
            visit(symbol(i));
}

} // namespace dt
