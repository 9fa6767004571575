// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/zero_ended.hpp"

#include <gelf.h>
#include <string_view>

namespace dt {

std::list<std::vector<char>> end_debug_sections_with_zero(Elf* elf)
{
    std::list<std::vector<char>> added;
    std::size_t names = 0;
    if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0)
        return added;
    for (Elf_Scn* section = nullptr;
         (section = elf_nextscn(elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS)
            continue;
        const char* text = elf_strptr(elf, names, header.sh_name);
        std::string_view name = text != nullptr ? text : "";
        if (name.starts_with(".zdebug_"))
            elf_compress_gnu(section, 0, 0); // decompress, as libdw would
        else if (!name.starts_with(".debug_"))
            continue;
        else if ((header.sh_flags & SHF_COMPRESSED) != 0)
            elf_compress(section, 0, 0);
        Elf_Data* data = elf_getdata(section, nullptr);
        Elf_Data* raw =
            elf_rawdata(section, nullptr); // libdw may read this instead of `data`
        if (data == nullptr || data->d_buf == nullptr || data->d_size == 0 ||
            raw == nullptr || raw->d_size != data->d_size)
            continue;
        const char* bytes = static_cast<const char*>(data->d_buf);
        if (bytes[data->d_size - 1] == 0)
            continue;
        std::vector<char>& longer = added.emplace_back(
            bytes, bytes + data->d_size); // d_size still excludes the zero
        longer.push_back(0);
        data->d_buf = raw->d_buf = longer.data();
    }
    return added;
}

} // namespace dt
