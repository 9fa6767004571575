// SPDX-License-Identifier: MIT
// Tests small, forged tables in which many entries claim the same bytes. A reader must
// not read these bytes again for each entry.
#include "libdtrace/symbols/debug/dwarf_types.hpp"
#include "libdtrace/symbols/elf/code_places.hpp"
#include "libdtrace/symbols/elf/elf_image.hpp"
#include "libdtrace/symbols/elf/static_probes.hpp"

#include <chrono>
#include <cstring>
#include <dwarf.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace dt;

namespace {

constexpr std::uint64_t text_addr = 0x400000, text_bytes = 4 << 20;

class Made {
public:
    Made& u8(unsigned value) { return number<std::uint8_t>(value); }
    Made& u16(unsigned value) { return number<std::uint16_t>(value); }
    Made& u32(std::size_t value) { return number<std::uint32_t>(value); }
    Made& u64(std::uint64_t value) { return number<std::uint64_t>(value); }
    Made& text(std::string_view value)
    {
        bytes_.append(value);
        return u8(0);
    }
    Made& align(std::size_t to)
    {
        bytes_.resize((bytes_.size() + to - 1) / to * to);
        return *this;
    }
    // Sets the 32-bit word at `at` to the number of bytes after this word.
    void set_length(std::size_t at) { set(at, bytes_.size() - at - 4); }
    void set(std::size_t at, std::size_t value)
    {
        auto word = static_cast<std::uint32_t>(value);
        std::memcpy(bytes_.data() + at, &word, sizeof word);
    }
    std::size_t size() const { return bytes_.size(); }
    const std::string& bytes() const { return bytes_; }

private:
    template <class T> Made& number(std::uint64_t value)
    {
        T stored = static_cast<T>(value);
        bytes_.append(reinterpret_cast<const char*>(&stored), sizeof stored);
        return *this;
    }
    std::string bytes_;
};

using Sections = std::vector<std::pair<std::string, std::string>>;

// Returns a program with a segment that contains 4 MiB of nops, and with the given
// sections, which are not loaded.
std::vector<std::byte> file_with(const Sections& sections)
{
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = header.e_version = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_ehsize = sizeof header;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(sections.size() + 2);
    header.e_shstrndx = 1;
    Elf64_Phdr text{PT_LOAD,   PF_R | PF_X, 0,          text_addr,
                    text_addr, text_bytes,  text_bytes, 4096};

    std::string file(text_bytes, '\x90'), names(1, '\0');
    std::vector<Elf64_Shdr> headers(2);
    auto add = [&](Elf64_Shdr& section, const std::string& name,
                   const std::string& bytes) {
        section.sh_name = static_cast<Elf64_Word>(names.size());
        names += name + '\0';
        section.sh_offset = file.size();
        section.sh_size = bytes.size();
        section.sh_addralign = 1;
        file += bytes;
    };
    for (const auto& [name, bytes] : sections) {
        Elf64_Shdr section{};
        section.sh_type = SHT_PROGBITS;
        add(section, name, bytes);
        headers.push_back(section);
    }
    headers[1].sh_type = SHT_STRTAB;
    add(headers[1], ".shstrtab", names + ".shstrtab" + '\0');
    file.resize((file.size() + 7) / 8 * 8);
    header.e_shoff = file.size();
    file.append(reinterpret_cast<const char*>(headers.data()),
                headers.size() * sizeof(Elf64_Shdr));
    std::memcpy(file.data(), &header, sizeof header);
    std::memcpy(file.data() + sizeof header, &text, sizeof text);
    auto all = std::as_bytes(std::span(file));
    return {all.begin(), all.end()};
}

std::shared_ptr<ElfImage> image_with(const Sections& sections)
{
    auto image = ElfImage::open(ElfSource{{}, file_with(sections), "forged", ""});
    EXPECT_TRUE(image);
    return image ? *image : nullptr;
}

void append_cie(Made& out, std::string_view augmentation, std::string_view data)
{
    const std::size_t at = out.size();
    out.u32(0).u32(0).u8(1).text(augmentation).u8(1).u8(0x78).u8(16);
    for (char c : data)
        out.u8(static_cast<unsigned char>(c));
    out.align(4).set_length(at);
}

// Appends an FDE. Its CIE is the first entry of the section.
void append_fde(Made& out, std::uint64_t begin, std::uint64_t n_bytes,
                std::uint64_t table)
{
    const std::size_t at = out.size();
    out.u32(0).u32(at + 4).u64(begin).u64(n_bytes);
    if (table != 0)
        out.u8(sizeof table).u64(table);
    out.align(4).set_length(at);
}

class Clock {
public:
    double seconds() const
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_)
            .count();
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Time limits in seconds. A naive reader would take minutes.
constexpr double few_seconds = 10, half_a_minute = 30;

TEST(ForgedTables, FunctionsThatClaimTheSameTextAreReadInLittleTime)
{
    constexpr std::size_t n = 100000;
    Made frames;
    append_cie(frames, "", "");
    for (std::size_t i = 0; i < n; i++)
        append_fde(frames, text_addr + 4096 + i, 1 << 20, 0);
    auto image = image_with({{".eh_frame", frames.bytes()}});
    ASSERT_TRUE(image);
    Clock clock;
    EXPECT_GE(image->functions().all().size(), 1U);
    EXPECT_LT(clock.seconds(), few_seconds);
}

TEST(ForgedTables, FunctionsThatClaimTheSameLandingPadsTakeLittleTimeAndMemory)
{
    constexpr std::size_t n = 4000, n_sites = 60000, site_bytes = 4;
    Made frames, table;
    append_cie(frames, "zL", std::string_view("\1\0", 2));
    for (std::size_t i = 0; i < n; i++)
        append_fde(frames, text_addr + 4096 + i * 8, 8, 1);
    // The section's address is 0. The first byte is padding, and the table begins at
    // address 1, because address 0 would mean that a function has no table.
    table.u8(0).u8(0xff).u8(0xff).u8(1);
    const std::size_t length = n_sites * site_bytes;
    table.u8(0x80 | (length & 0x7f)).u8(0x80 | (length >> 7 & 0x7f)).u8(length >> 14);
    for (std::size_t i = 0; i < n_sites; i++)
        table.u8(0).u8(0).u8(1).u8(0);
    auto image = image_with(
        {{".eh_frame", frames.bytes()}, {".gcc_except_table", table.bytes()}});
    ASSERT_TRUE(image);
    Clock clock;
    CodePlaces places = image->code_places();
    EXPECT_LT(clock.seconds(), few_seconds);
    EXPECT_TRUE(std::binary_search(places.labels.begin(), places.labels.end(),
                                   text_addr + 4096 + 1));
}

constexpr unsigned unit_kind = 1, space_kind = 2;

std::string abbreviations()
{
    Made out;
    out.u8(unit_kind).u8(DW_TAG_compile_unit).u8(1);
    out.u8(DW_AT_ranges).u8(DW_FORM_sec_offset).u8(DW_AT_low_pc).u8(DW_FORM_addr);
    out.u8(0).u8(0);
    out.u8(space_kind).u8(DW_TAG_namespace).u8(1);
    out.u8(DW_AT_sibling).u8(DW_FORM_ref4).u8(0).u8(0).u8(0);
    return out.bytes();
}

std::size_t begin_unit(Made& info)
{
    const std::size_t at = info.size();
    info.u32(0).u16(4).u32(0).u8(8).u8(unit_kind).u32(0).u64(0);
    return at;
}

std::string ranges_of_text(std::size_t n)
{
    Made out;
    for (std::size_t i = 0; i < n; i++)
        out.u64(text_addr + 4096).u64(text_addr + 4097);
    return out.u64(0).u64(0).bytes();
}

std::unique_ptr<DebugTypes> types_in(const Sections& sections)
{
    auto bytes = file_with(sections);
    Fd fd(::memfd_create("forged", MFD_CLOEXEC));
    EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    auto types = DwarfTypes::open(fd.get());
    EXPECT_TRUE(types);
    return types ? std::move(*types) : nullptr;
}

// Returns n namespaces. Each one claims that its first child is also its next sibling.
// So 2 to the power of n paths lead to the last entry.
std::string entries_inside_of_each_other(std::size_t n)
{
    Made info;
    const std::size_t unit = begin_unit(info);
    for (std::size_t i = 0; i < n; i++) {
        info.u8(space_kind).u32(0);
        info.set(info.size() - 4, info.size() - unit);
    }
    info.u8(0).u8(0).set_length(unit);
    return info.bytes();
}

template <class T> void expect_one_cut(T& from, std::string_view text)
{
    const std::vector<std::string> cuts = from.take_cuts();
    ASSERT_EQ(cuts.size(), 1U);
    EXPECT_NE(cuts[0].find(text), std::string::npos) << cuts[0];
    EXPECT_TRUE(from.take_cuts().empty());
}

TEST(ForgedTables, SectionsThatAreTooLargeAreReported)
{
    auto bytes = file_with({{".note.stapsdt", "x"}});
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    Elf64_Shdr notes;
    std::byte* at = bytes.data() + header.e_shoff + 2 * sizeof notes;
    std::memcpy(&notes, at, sizeof notes);
    notes.sh_size = elf_limits::section_bytes + (std::uint64_t{16} << 20);
    std::memcpy(at, &notes, sizeof notes);
    auto image = ElfImage::open(ElfSource{{}, std::move(bytes), "forged", ""});
    ASSERT_TRUE(image);
    EXPECT_TRUE((*image)->static_probes().probes.empty());
    (*image)->static_probes();
    expect_one_cut(
        **image,
        "forged: section .note.stapsdt is 400 MiB and is omitted: the maximum is "
        "384 MiB");
}

TEST(ForgedTables, EntriesInsideOfEachOtherEndTheSearch)
{
    const Sections sections{{".debug_abbrev", abbreviations()},
                            {".debug_info", entries_inside_of_each_other(60)},
                            {".debug_ranges", ranges_of_text(1)}};
    Clock clock;
    auto of_names = types_in(sections), of_functions = types_in(sections);
    ASSERT_TRUE(of_names && of_functions);
    EXPECT_FALSE(of_names->find(DebugTypes::Kind::Struct, "none"));
    expect_one_cut(*of_names, "refers to more entries than its size allows");
    EXPECT_LT(clock.seconds(), half_a_minute);
    EXPECT_FALSE(of_functions->function_at(text_addr + 4096));
    EXPECT_LT(clock.seconds(), 2 * half_a_minute);
}

TEST(ForgedTables, UnitsThatShareAListOfRangesTakeLittleMemory)
{
    constexpr std::size_t n_units = 5000, n_ranges = 20000;
    Made info;
    for (std::size_t i = 0; i < n_units; i++) {
        const std::size_t unit = begin_unit(info);
        info.u8(0).set_length(unit);
    }
    auto types = types_in({{".debug_abbrev", abbreviations()},
                           {".debug_info", info.bytes()},
                           {".debug_ranges", ranges_of_text(n_ranges)}});
    ASSERT_TRUE(types);
    Clock clock;
    EXPECT_FALSE(types->function_at(text_addr + 4096));
    EXPECT_LT(clock.seconds(), half_a_minute);
    expect_one_cut(*types, "more than 4194304 address ranges");
}

} // namespace
