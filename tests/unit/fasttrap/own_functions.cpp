// SPDX-License-Identifier: MIT
#include "own_functions.hpp"

#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <set>

namespace dt::test {

Image::Image(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::vector<char> raw((std::istreambuf_iterator<char>(file)), {});
    if (raw.size() < sizeof(Elf64_Ehdr))
        return;
    bytes_.resize(raw.size());
    std::memcpy(bytes_.data(), raw.data(), raw.size());
    auto at = [&](auto& what, std::uint64_t offset) {
        std::memcpy(&what, bytes_.data() + offset, sizeof what);
    };
    Elf64_Ehdr header;
    at(header, 0);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        at(segment, header.e_phoff + i * sizeof segment);
        if (segment.p_type == PT_LOAD)
            segments_.push_back({segment.p_vaddr, segment.p_offset, segment.p_filesz});
    }
    std::set<std::uint64_t> seen;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr table;
        Elf64_Shdr strings;
        at(table, header.e_shoff + i * sizeof table);
        if (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM)
            continue;
        at(strings, header.e_shoff + table.sh_link * sizeof strings);
        for (std::uint64_t k = 0; k < table.sh_size / sizeof(Elf64_Sym); ++k) {
            Elf64_Sym symbol;
            at(symbol, table.sh_offset + k * sizeof symbol);
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0 ||
                symbol.st_shndx == SHN_UNDEF || !seen.insert(symbol.st_value).second)
                continue;
            const char* name = reinterpret_cast<const char*>(bytes_.data()) +
                               strings.sh_offset + symbol.st_name;
            functions[name] = {TargetAddr{symbol.st_value}, symbol.st_size};
        }
    }
}

bool Image::read(TargetAddr from, std::span<std::byte> into) const
{
    for (const Segment& segment : segments_) {
        std::uint64_t offset = from.value - segment.at;
        if (from.value < segment.at || offset > segment.size ||
            into.size() > segment.size - offset)
            continue;
        std::memcpy(into.data(), bytes_.data() + segment.offset + offset, into.size());
        return true;
    }
    return false;
}

std::vector<std::byte> Image::text(const Function& function) const
{
    std::vector<std::byte> out(function.size);
    return read(function.at, out) ? out : std::vector<std::byte>{};
}

Result<FunctionSites> Image::analyze(const Function& function) const
{
    return analyze_function(x86_64, text(function), function.at,
                            [this](TargetAddr from, std::span<std::byte> into) {
                                return read(from, into);
                            });
}

} // namespace dt::test
