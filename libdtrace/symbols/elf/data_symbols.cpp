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
    found.end = UINT64_MAX;
    bool found_global = false;
    auto visit = [&](const Elf64_Sym& symbol, auto& names) {
        const std::uint64_t begin = symbol.st_value;
        if (symbol.st_size > UINT64_MAX - begin)
            return false;
        for (const std::uint64_t bound : {begin, begin + symbol.st_size})
            if (bound <= addr)
                found.from = std::max(found.from, bound);
            else
                found.end = std::min(found.end, bound);
        const bool contains = begin <= addr && addr - begin < symbol.st_size;
        if (!contains || !(found.name.empty() || (is_global(symbol) && !found_global)))
            return false;
        const auto name = string_at(names, symbol.st_name, DataSymbols::max_name_bytes);
        if (!name || name->empty())
            return false;
        found.addr = begin;
        found.name = name->substr(0, name->find('@')); // without a version
        found_global = is_global(symbol);
        return false; // all bounds are needed
    };
    for (const ElfSections* file : files)
        for_each_variable(*file, visit);
    return found;
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
    if (by_addr_.size() >= max_symbols || symbol.name.size() > max_name_bytes)
        return nullptr;
    const std::uint64_t from = symbol.from;
    return &by_addr_.try_emplace(from, std::move(symbol)).first->second;
}

} // namespace dt
