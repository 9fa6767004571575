// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/data_symbols.hpp"

namespace dt {

std::optional<std::uint64_t> find_data_symbol(const ElfSections& file,
                                              std::string_view name)
{
    std::optional<std::uint64_t> local;
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
            if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT ||
                symbol->st_shndx == SHN_UNDEF ||
                string_at(*names, symbol->st_name, name.size()) != name)
                continue;
            if (ELF64_ST_BIND(symbol->st_info) != STB_LOCAL)
                return symbol->st_value;
            if (!local)
                local = symbol->st_value;
        }
    }
    return local;
}

} // namespace dt
