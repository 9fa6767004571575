// SPDX-License-Identifier: MIT
// Looks up kernel symbols. kernel_symbols_read.cpp reads them.
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"

#include "base/page_bytes.hpp"

#include "base/hex_text.hpp"
#include "libdtrace/symbols/glob.hpp"
#include "libdtrace/symbols/suggest.hpp"

#include <algorithm>
#include <cctype>

namespace dt {

std::string_view KernelSymbols::function_of(std::string_view symbol)
{
    constexpr std::string_view behind_macro = "_noprof";
    std::string_view name = symbol.substr(0, symbol.find('.'));
    const std::string_view ending = symbol.substr(name.size());
    if (ending.find(".cold") != std::string_view::npos ||
        ending.find(".part") != std::string_view::npos)
        return {};
    if (name.ends_with(behind_macro))
        name.remove_suffix(behind_macro.size());
    return name;
}

std::string KernelSymbols::canonical(std::string_view module)
{
    if (module == "kernel" || module == "unix" || module == "genunix")
        return std::string(proper);
    std::string name(module);
    if (!is_glob(module)) // in a glob, '-' may be part of a class like [a-z]
        std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

bool KernelSymbols::is_module(std::string_view name)
{
    const std::string wanted = canonical(name);
    if (wanted == proper)
        return true;
    if (loaded_)
        return module_numbers_.contains(wanted);
    return !wanted.empty() && lists_module(wanted);
}

std::vector<std::string_view> KernelSymbols::modules()
{
    std::vector<std::string_view> all;
    if (load())
        all.assign(module_names_.begin(), module_names_.end());
    if (all.empty())
        all.push_back(proper);
    return all;
}

Result<KernelSymbols::Symbol> KernelSymbols::find(std::string_view module,
                                                  std::string_view name)
{
    if (auto read = load(); !read)
        return read.error();
    auto found = find_loaded(module, name);
    if (!found && found.error().code == Code::not_found && reload_if_changed())
        return find_loaded(module, name);
    return found;
}

Result<KernelSymbols::Symbol> KernelSymbols::find_loaded(std::string_view module,
                                                         std::string_view name)
{
    const std::string wanted = canonical(module);
    std::optional<std::size_t> best;
    auto rank = [&](std::size_t i) {
        const Entry& entry = entries_[i];
        bool is_global = std::isupper(static_cast<unsigned char>(entry.type)) != 0;
        return (entry.module == 0 ? 0 : 2) + (is_global ? 0 : 1);
    };
    for (std::uint32_t i : candidates(name)) {
        if (name_of(entries_[i]) != name ||
            (!wanted.empty() && !glob_match(wanted, module_names_[entries_[i].module])))
            continue;
        if (!best || rank(i) < rank(*best))
            best = i;
    }
    if (!best)
        return Error{Code::not_found, why_not(wanted, name), 0};
    if (hidden_)
        return Error{Code::permission, why_hidden(), 0};
    return symbol(*best);
}

std::string KernelSymbols::why_not(std::string_view module, std::string_view name)
{
    if (!module.empty() && !is_glob(module) && !module_numbers_.contains(module)) {
        Suggestions near(module);
        for (const std::string& known : module_names_)
            near.consider(known);
        return "the kernel has no module " + std::string(module) +
               did_you_mean(near.nearest(1));
    }
    Suggestions near(name);
    for (const Entry& entry : entries_)
        if (module.empty() || glob_match(module, module_names_[entry.module]))
            near.consider(name_of(entry));
    const std::vector<std::string> nearest = near.nearest(1);
    const bool may_be_data = nearest.empty() && has_functions_only_;
    return (module.empty() ? "the kernel" : std::string(module)) + " has no symbol " +
           std::string(name) + did_you_mean(nearest) +
           (may_be_data ? "; the kernel was built without symbols for variables "
                          "(CONFIG_KALLSYMS_ALL)"
                        : "");
}

std::optional<KernelSymbols::At> KernelSymbols::at(std::uint64_t addr)
{
    // Addresses in the lower half belong to processes. Per-CPU symbols in the lower
    // half are offsets, not addresses.
    if (static_cast<std::int64_t>(addr) >= 0 || !load() || hidden_)
        return std::nullopt;
    auto found = at_loaded(addr);
    if (!found && reload_if_changed())
        found = at_loaded(addr);
    return found;
}

std::uint64_t KernelSymbols::module_begin(std::uint64_t addr)
{
    const auto found = at(addr);
    if (!found)
        return addr;
    const auto name =
        std::find(module_names_.begin(), module_names_.end(), found->module);
    const std::uint64_t begin =
        module_begins_[static_cast<std::size_t>(name - module_names_.begin())];
    return begin < addr ? begin : addr;
}

std::optional<KernelSymbols::At> KernelSymbols::at_loaded(std::uint64_t addr) const
{
    auto after = std::upper_bound(
        entries_.begin(), entries_.end(), addr,
        [](std::uint64_t at, const Entry& entry) { return at < entry.addr; });
    if (after != entries_.begin()) {
        auto last = static_cast<std::size_t>(after - entries_.begin()) - 1;
        if (addr < end_of(last)) {
            const Entry& entry = entries_[shown_at(last)];
            return At{module_names_[entry.module], name_of(entry), addr - entry.addr};
        }
    }
    for (const Range& range : ranges_)
        if (addr >= range.begin && addr < range.end)
            return At{module_names_[range.module], {}, 0};
    return std::nullopt;
}

// Returns the end of a symbol. `entry` is the last entry at the symbol's address.
std::uint64_t KernelSymbols::end_of(std::size_t entry) const
{
    const Entry& its = entries_[entry];
    std::uint64_t end =
        (its.addr | (page_bytes - 1)) + (its.addr < UINT64_MAX - page_bytes);
    for (const Range& range : ranges_)
        if (range.module == its.module && its.addr >= range.begin &&
            its.addr < range.end)
            end = range.end;
    if (entry + 1 == entries_.size())
        return end;
    const Entry& next = entries_[entry + 1];
    // If the next symbol is in the same module, the symbol extends to the next symbol.
    // In the kernel proper, the next symbol must be less than 1 GiB away. In other
    // modules, it must not be after `end`. Otherwise the symbol ends at `end` or at the
    // next symbol, whichever is lower.
    constexpr std::uint64_t largest = std::uint64_t{1} << 30;
    const bool goes_on =
        next.module == its.module &&
        (its.module == 0 ? next.addr - its.addr < largest : next.addr <= end);
    return goes_on ? next.addr : std::min(end, next.addr);
}

std::size_t KernelSymbols::shown_at(std::size_t entry) const
{
    auto rank = [this](std::size_t i) {
        const Entry& its = entries_[i];
        std::string_view name = name_of(its);
        int underscores = static_cast<int>(name.size());
        if (auto first = name.find_first_not_of('_'); first != std::string_view::npos)
            underscores = static_cast<int>(first);
        bool is_local = std::islower(static_cast<unsigned char>(its.type)) != 0;
        return std::pair(is_local, underscores);
    };
    std::size_t best = entry;
    for (std::size_t i = entry; i > 0 && entries_[i - 1].addr == entries_[i].addr;) {
        i--;
        if (rank(i) <= rank(best))
            best = i;
    }
    return best;
}

KernelSymbols::Symbol KernelSymbols::symbol(std::size_t entry) const
{
    const Entry& its = entries_[entry];
    std::size_t last = entry;
    while (last + 1 < entries_.size() && entries_[last + 1].addr == its.addr)
        last++;
    const char type = its.type;
    Symbol found;
    found.module = module_names_[its.module];
    found.name = name_of(its);
    found.addr = its.addr;
    found.n_bytes = end_of(last) - its.addr;
    found.is_function = type == 'T' || type == 't' || type == 'W' || type == 'w';
    found.is_global = std::isupper(static_cast<unsigned char>(type)) != 0;
    return found;
}

std::string KernelSymbols::format_address(std::uint64_t addr)
{
    auto found = at(addr);
    if (!found)
        return hex_text(addr);
    std::string text = std::string(found->module) + "`";
    if (found->name.empty())
        return text + hex_text(addr);
    text += found->name;
    return found->offset == 0 ? text : text + "+" + hex_text(found->offset);
}

std::string KernelSymbols::format_symbol(std::uint64_t addr)
{
    auto found = at(addr);
    if (!found)
        return hex_text(addr);
    return std::string(found->module) + "`" +
           (found->name.empty() ? hex_text(addr) : std::string(found->name));
}

std::string KernelSymbols::format_module(std::uint64_t addr)
{
    auto found = at(addr);
    return found ? std::string(found->module) : hex_text(addr);
}

} // namespace dt
