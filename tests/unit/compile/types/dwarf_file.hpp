// SPDX-License-Identifier: MIT
// Creates a file with debug data, including data that no compiler would write.
#pragma once

#include "base/fd.hpp"

#include <cstdint>
#include <cstring>
#include <dwarf.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <variant>
#include <vector>

namespace dt {

// A number that a test gives to an entry, so that attributes can refer to this entry.
struct EntryLabel {
    int n = 0;
};

struct DwarfEntry {
    unsigned tag = 0;
    int label = 0;
    std::vector<
        std::pair<unsigned, std::variant<std::uint64_t, std::string, EntryLabel>>>
        attributes;
    std::vector<DwarfEntry> children;
};

class DwarfFile {
public:
    explicit DwarfFile(std::vector<DwarfEntry> entries,
                       std::uint64_t language = DW_LANG_C99)
    {
        DwarfEntry unit{DW_TAG_compile_unit, 0, {{DW_AT_language, language}}, {}};
        unit.children = std::move(entries);
        put(unit);
        abbrev_.push_back(0);
        for (auto [at, label] : references_)
            std::memcpy(info_.data() + at, &places_[label], 4);
        auto length = static_cast<std::uint32_t>(info_.size() - 4);
        std::memcpy(info_.data(), &length, 4);
    }

    // Returns a descriptor of an ELF file that contains only the debug data.
    Fd open() const
    {
        const char names[] = "\0.debug_info\0.debug_abbrev\0.shstrtab";
        std::string bytes(sizeof(Elf64_Ehdr), '\0');
        Elf64_Shdr sections[4] = {};
        auto add = [&](int n, std::uint32_t name, std::uint32_t type, const void* data,
                       std::size_t size) {
            sections[n].sh_name = name;
            sections[n].sh_type = type;
            sections[n].sh_offset = bytes.size();
            sections[n].sh_size = size;
            sections[n].sh_addralign = 1;
            bytes.append(static_cast<const char*>(data), size);
        };
        add(1, 1, SHT_PROGBITS, info_.data(), info_.size());
        add(2, 13, SHT_PROGBITS, abbrev_.data(), abbrev_.size());
        add(3, 27, SHT_STRTAB, names, sizeof names);
        Elf64_Ehdr header = {};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        header.e_type = ET_DYN;
        header.e_machine = EM_X86_64;
        header.e_version = EV_CURRENT;
        header.e_ehsize = sizeof(Elf64_Ehdr);
        header.e_shentsize = sizeof(Elf64_Shdr);
        header.e_shnum = 4;
        header.e_shstrndx = 3;
        bytes.resize((bytes.size() + 7) / 8 * 8);
        header.e_shoff = bytes.size();
        bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
        std::memcpy(bytes.data(), &header, sizeof header);
        Fd fd(::memfd_create("dwarf", MFD_CLOEXEC));
        EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
        return fd;
    }

private:
    static void put_uleb(std::vector<std::uint8_t>& into, std::uint64_t value)
    {
        do {
            bool more = value >= 0x80;
            into.push_back(
                static_cast<std::uint8_t>((value & 0x7f) | (more ? 0x80 : 0)));
            value >>= 7;
        } while (value != 0);
    }

    void put(const DwarfEntry& entry)
    {
        if (entry.label != 0)
            places_[entry.label] = static_cast<std::uint32_t>(info_.size());
        put_uleb(info_, ++n_abbrevs_);
        put_uleb(abbrev_, n_abbrevs_);
        put_uleb(abbrev_, entry.tag);
        abbrev_.push_back(!entry.children.empty());
        for (const auto& [name, value] : entry.attributes) {
            put_uleb(abbrev_, name);
            if (const auto* number = std::get_if<std::uint64_t>(&value)) {
                put_uleb(abbrev_, DW_FORM_udata);
                put_uleb(info_, *number);
            } else if (const auto* text = std::get_if<std::string>(&value)) {
                put_uleb(abbrev_, DW_FORM_string);
                info_.insert(info_.end(), text->c_str(),
                             text->c_str() + text->size() + 1);
            } else {
                put_uleb(abbrev_, DW_FORM_ref4);
                references_.emplace_back(info_.size(), std::get<EntryLabel>(value).n);
                info_.insert(info_.end(), 4, 0);
            }
        }
        put_uleb(abbrev_, 0);
        put_uleb(abbrev_, 0);
        for (const DwarfEntry& child : entry.children)
            put(child);
        if (!entry.children.empty())
            info_.push_back(0);
    }

    // The unit header contains the length (set later), version 4, the offset of the
    // abbreviations, and the size of an address in bytes.
    std::vector<std::uint8_t> info_{0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8};
    std::vector<std::uint8_t> abbrev_;
    std::uint64_t n_abbrevs_ = 0;
    std::map<int, std::uint32_t> places_;
    std::vector<std::pair<std::size_t, int>> references_;
};

} // namespace dt
