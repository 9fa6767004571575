// SPDX-License-Identifier: MIT
// The kernel's symbols from /proc/kallsyms, and the ranges of modules from
// /proc/modules.
//
//   kallsyms ── once, at the first lookup ──> by address (sorted), by name (buckets)
//
// The text is read once and kept in memory. A symbol is an address and the offset of
// its name in the text. A symbol extends to the next address of its module. The last
// symbol of a module extends to the end of the module's range, or to the end of its
// page if no range contains it. If several symbols have the same address, global ones
// are preferred to local ones, then the one with the fewest leading underscores.
//
// The kernel proper is the module "vmlinux"; programs may also write kernel, unix or
// genunix. Without permission to see addresses, kallsyms contains zeros. In that case
// nothing is found, and why_hidden() says what to change. A kernel may list only its
// functions (CONFIG_KALLSYMS_ALL is not set). In that case variables have no addresses
// here.
//
// Modules can be loaded and unloaded. A lookup that finds nothing reads the files again
// if /proc/modules has changed, at most once a second. That invalidates all names that
// were returned before.
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

    // Finds a symbol. The module is a name or a glob. If it is empty, all modules are
    // searched, and symbols of the kernel proper are preferred. Errors: not_found (no
    // symbol has that name), permission (addresses are hidden), or the reason why
    // kallsyms cannot be read.
    Result<Symbol> find(std::string_view module, std::string_view name);
    std::optional<At> at(std::uint64_t addr);
    // Returns whether D programs may use this name for a module. Does not read the
    // symbols.
    bool is_module(std::string_view name);
    std::vector<std::string_view> modules(); // loaded modules, the kernel proper first
    // Visits all symbols in ascending order of address.
    template <class F> void each(F visit);
    // Visits the symbols with this name in ascending order of address.
    template <class F> void each_named(std::string_view name, F visit);
    // Makes the next lookup read the files again.
    void refresh();

    // Returns text such as "vmlinux`vfs_read+0x1", "ext4`0xffffffffc0000000" if only
    // the module is known, or "0x7" if nothing is known.
    std::string format_address(std::uint64_t addr);
    std::string format_symbol(std::uint64_t addr); // without an offset
    std::string format_module(std::uint64_t addr);

    // Returns the function that a symbol is a variant of. For "foo", "foo.isra.0" (a
    // clone that the compiler makes) and "foo_noprof" (called by the allocator macros
    // since Linux 6.10), returns "foo". For a part of a function ("foo.cold",
    // "foo.part.0"), returns "".
    static std::string_view function_of(std::string_view symbol);
    // Returns the kernel's own spelling of a module name: "vmlinux" for "kernel",
    // "unix" and "genunix", and '_' instead of '-'.
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
    std::map<std::string, std::uint16_t, std::less<>> module_numbers_;
    std::vector<Entry> entries_; // sorted by address
    std::vector<Range> ranges_;  // sorted by address
    // The numbers of the entries, sorted by the buckets of their names, and where each
    // bucket begins. A bucket has about three entries. A map would take several times
    // as long to build.
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
