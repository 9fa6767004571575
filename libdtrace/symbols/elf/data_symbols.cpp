// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/data_symbols.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace dt {

// Calls visit(symbol, names) for each variable of the symbol tables, until it returns
// true.
template <class Visit>
static void for_each_variable(const ElfSections& file, Visit visit)
{
    for (std::uint32_t kind : {SHT_SYMTAB, SHT_DYNSYM}) {
        const ElfSection* section = file.find(kind);
        if (!section)
            continue;
        auto symbols = file.data(*section);
        auto names = file.data(section->header.sh_link);
        if (!symbols || !names)
            continue;
        for (std::uint64_t at = 0; auto symbol = read_at<Elf64_Sym>(*symbols, at);
             at += sizeof(Elf64_Sym)) {
            if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT &&
                symbol->st_shndx != SHN_UNDEF && visit(*symbol, *names))
                return;
        }
    }
}

static bool is_global(const Elf64_Sym& symbol)
{
    return ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
}

std::optional<std::uint64_t> find_data_symbol(const ElfSections& file,
                                              std::string_view name)
{
    std::optional<std::uint64_t> found;
    for_each_variable(file, [&](const Elf64_Sym& symbol, auto& names) {
        if (string_at(names, symbol.st_name, name.size()) != name)
            return false;
        if (!found || is_global(symbol))
            found = symbol.st_value;
        return is_global(symbol);
    });
    return found;
}

DataSymbol data_symbol_at(std::span<const ElfSections* const> files, std::uint64_t addr)
{
    DataSymbol found;
    std::uint64_t lower = 0, upper = UINT64_MAX; // the gap
    auto visit = [&](const Elf64_Sym& symbol, auto& names) {
        const std::uint64_t end = symbol.st_value + symbol.st_size;
        if (end >= symbol.st_value && end <= addr)
            lower = std::max(lower, end);
        if (symbol.st_value > addr)
            upper = std::min(upper, symbol.st_value);
        if (addr - symbol.st_value >= symbol.st_size ||
            (!found.name.empty() && !is_global(symbol)))
            return false;
        if (const auto name = string_at(names, symbol.st_name); name && !name->empty())
            found = {symbol.st_value, symbol.st_size, std::string(*name)};
        return !found.name.empty() && is_global(symbol);
    };
    for (const ElfSections* file : files)
        if (found.name.empty())
            for_each_variable(*file, visit);
    return found.name.empty() ? DataSymbol{lower, upper - lower, ""} : found;
}

const DataSymbol* DataSymbols::find(std::uint64_t addr) const
{
    auto after = by_addr_.upper_bound(addr);
    if (after == by_addr_.begin() || !std::prev(after)->second.contains(addr))
        return nullptr;
    return &std::prev(after)->second;
}

const DataSymbol* DataSymbols::add(DataSymbol symbol)
{
    const std::uint64_t at = symbol.addr;
    return &(by_addr_[at] = std::move(symbol));
}

} // namespace dt
