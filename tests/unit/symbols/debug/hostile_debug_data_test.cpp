// SPDX-License-Identifier: MIT
// Tests the reader of debug data with damaged data. The reader must not crash. It may
// return an error or only a part of the data.
#include "libdtrace/symbols/debug/dwarf_types.hpp"
#include "scratch.hpp"

#include <chrono>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace dt;

static std::size_t read_types(const std::vector<std::byte>& bytes)
{
    Fd fd(::memfd_create("damaged", MFD_CLOEXEC));
    EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    auto types = DwarfTypes::open(fd.get());
    if (!types)
        return 0;
    std::size_t seen = 1;
    using Kind = DebugTypes::Kind;
    for (Kind kind : {Kind::Ordinary, Kind::Struct, Kind::Union, Kind::Enum})
        for (std::string_view name : (*types)->names(kind))
            if (auto ref = (*types)->find(kind, name)) {
                DebugType type = (*types)->type(*ref);
                for (const DebugMember& member : type.members)
                    seen += (*types)->type(member.type).members.size();
                seen += (*types)->type(type.base).bytes != 0;
            }
    for (std::uint64_t addr = 0x1000; addr < 0x1800; addr++)
        if (auto function = (*types)->function_at(addr))
            seen += function->parameters.size();
    for (const char* name : {"head", "counter", "bits", "per_thread"})
        seen += (*types)->find_variable(name).has_value();
    seen += (*types)->find_enumerator("GREEN").has_value();
    return seen;
}

// Returns the offset and size of each section that is not loaded, such as .debug_*.
static std::vector<std::pair<std::size_t, std::size_t>>
debug_sections(const std::vector<std::byte>& bytes)
{
    std::vector<std::pair<std::size_t, std::size_t>> all;
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    for (std::size_t i = 1; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section,
                    sizeof section);
        bool loaded = (section.sh_flags & SHF_ALLOC) != 0;
        if (section.sh_type == SHT_PROGBITS && !loaded && section.sh_size != 0)
            all.emplace_back(section.sh_offset, section.sh_size);
    }
    return all;
}

class HostileDebugData : public testing::TestWithParam<const char*> {};

TEST_P(HostileDebugData, ChangedBytesDoNotCrashTheReader)
{
    const auto whole = read_file(SHAPES "." + std::string(GetParam()) + ".so");
    const auto sections = debug_sections(whole);
    ASSERT_FALSE(sections.empty());
    // A memfd has no directory, so the reader cannot find the .dwo files of split
    // units.
    const bool split = std::string(GetParam()) == "gcc_split_5";
    EXPECT_GT(read_types(whole), split ? 0u : 10u);
    std::mt19937 random(20260101);
    constexpr unsigned char values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < 400; round++) {
        auto bytes = whole;
        for (int i = 0; i < 1 + round % 16; i++) {
            auto [at, size] = sections[random() % sections.size()];
            std::size_t one = at + random() % size;
            bytes[one] = i % 2 == 0 ? std::byte{values[random() % std::size(values)]}
                                    : bytes[at + random() % size];
        }
        read_types(bytes);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST_P(HostileDebugData, SectionsCutShortDoNotCrashTheReader)
{
    const auto whole = read_file(SHAPES "." + std::string(GetParam()) + ".so");
    Elf64_Ehdr header;
    std::memcpy(&header, whole.data(), sizeof header);
    for (std::size_t i = 1; i < header.e_shnum; i++)
        for (std::uint64_t size : {0, 1, 7, 12, 50, 300}) {
            auto bytes = whole;
            std::memcpy(bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr) +
                            offsetof(Elf64_Shdr, sh_size),
                        &size, sizeof size);
            read_types(bytes);
        }
}

TEST(HostileDebugUnits, AreRefusedIfTheyAreAMillion)
{
    constexpr std::size_t n_units = 1 << 20;
    const unsigned char unit[] = {8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1};
    std::vector<std::byte> info;
    info.reserve(n_units * sizeof unit);
    for (std::size_t i = 0; i < n_units; i++)
        for (unsigned char byte : unit)
            info.push_back(std::byte{byte});
    Scratch scratch;
    const std::string units = scratch.path("units"), file = scratch.path("file.so");
    write_file(units, info);
    write_file(file, read_file(SHAPES ".gcc_5.so"));
    ASSERT_TRUE(objcopy("--update-section .debug_info=" + units + " " + file));
    Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(fd);
    auto types = DwarfTypes::open(fd.get());
    ASSERT_FALSE(types);
    EXPECT_EQ(types.error().code, Code::limit);
}

INSTANTIATE_TEST_SUITE_P(Dwarf, HostileDebugData,
                         testing::Values("gcc_2", "gcc_4", "gcc_5", "gcc_type_units_5",
                                         "gcc_split_5", "gcc_packed", "gxx_5"),
                         [](const auto& info) { return std::string(info.param); });
