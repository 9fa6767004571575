// SPDX-License-Identifier: MIT
// Tests the ELF reader with damaged and forged files. The reader must not crash. It may
// return an error or only a part of the data.
#include "libdtrace/symbols/elf/elf_image.hpp"
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

static int read_all(const std::vector<std::byte>& bytes)
{
    auto image = ElfImage::open(ElfSource{{}, bytes, "hostile", ""});
    if (!image)
        return 0;
    int seen = 0;
    const FunctionTable& table = (*image)->functions();
    for (const Function& f : table.all()) {
        seen += table.at(f.addr) != nullptr;
        seen += !table.name(f).empty();
        if (auto text = (*image)->bytes(f.addr, f.n_bytes); text && !text->empty())
            seen += std::to_integer<int>(text->front()) +
                    std::to_integer<int>(text->back());
    }
    table.find("main");
    for (AddressRange range : (*image)->frame_functions())
        seen += static_cast<int>(range.n_bytes);
    return seen + 1;
}

TEST(HostileElf, TruncatedAtEveryPlaceGivesAnErrorOrPartOfTheTruth)
{
    auto whole = read_file(PLUGIN);
    EXPECT_GT(read_all(whole), 1);
    for (std::size_t n = 0; n < whole.size(); n += n < 4096 ? 1 : 61)
        read_all({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)});
}

TEST(HostileElf, MutatedBytesDoNotCrashTheReader)
{
    auto whole = read_file(PLUGIN);
    std::mt19937 random(20250101);
    constexpr unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    Elf64_Ehdr header;
    std::memcpy(&header, whole.data(), sizeof(header));
    for (int round = 0; round < 3000; round++) {
        auto bytes = whole;
        for (int i = 0; i < 1 + round % 8; i++) {
            // The headers are only a small part of the file. So two of three changes
            // are made in the headers.
            std::size_t at = random() % bytes.size();
            if (i % 3 == 0)
                at = random() % 1024;
            else if (i % 3 == 1)
                at = header.e_shoff + random() % (header.e_shnum * sizeof(Elf64_Shdr));
            bytes[at] = std::byte{values[random() % std::size(values)]};
        }
        read_all(bytes);
    }
}

TEST(HostileElf, CountsAndOffsetsAtTheEdgesAreRefusedOrCut)
{
    auto whole = read_file(PLUGIN);
    constexpr std::uint64_t edges[] = {0, 1, 0xffff, 0x7fffffffffffffff,
                                       0xfffffffffffffff0};
    Elf64_Ehdr header;
    std::memcpy(&header, whole.data(), sizeof(header));
    for (std::size_t section = 0; section < header.e_shnum; section++)
        for (std::size_t field = 0; field < sizeof(Elf64_Shdr); field += 8)
            for (std::uint64_t edge : edges) {
                auto bytes = whole;
                std::memcpy(bytes.data() + header.e_shoff +
                                section * sizeof(Elf64_Shdr) + field,
                            &edge, sizeof(edge));
                read_all(bytes);
            }
    for (std::size_t at = 16; at < header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr);
         at += 2)
        for (std::uint64_t edge : edges) {
            auto bytes = whole;
            std::memcpy(bytes.data() + at, &edge, at % 8 == 0 ? 8 : 2);
            read_all(bytes);
        }
}

TEST(HostileElf, SparseFilesOfExbibytesTakeNoMemory)
{
    auto bytes = read_file(PLUGIN);
    Fd fd(::memfd_create("sparse", MFD_CLOEXEC));
    ASSERT_TRUE(fd);
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    for (std::size_t i = 0; i < header.e_shnum; i++) { // each section claims 2 EiB
        std::uint64_t huge = std::uint64_t{1} << 61;
        std::memcpy(bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr) +
                        offsetof(Elf64_Shdr, sh_size),
                    &huge, sizeof(huge));
    }
    ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    if (::ftruncate(fd.get(), off_t{1} << 62) != 0)
        GTEST_SKIP() << "no sparse file of 4 EiB here";
    auto start = std::chrono::steady_clock::now();
    auto image = ElfImage::open(ElfSource{std::move(fd), {}, "sparse", ""});
    if (image) {
        (*image)->functions();
        (*image)->frame_functions();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// All symbols share one name of 16 MiB. The reader limits the total length of the names
// that it reads.
TEST(HostileElf, ManySymbolsWithOneLongNameTakeLittleTime)
{
    constexpr std::size_t n_symbols = 20000, name_bytes = 16 << 20;
    for (const char first : {'a', '@'}) {
        auto bytes = read_file(VICTIM);
        Elf64_Ehdr header;
        std::memcpy(&header, bytes.data(), sizeof header);
        const std::size_t names_at = bytes.size();
        bytes.resize(names_at + name_bytes, std::byte{'a'});
        bytes[names_at] = std::byte{0};
        bytes[names_at + 1] = static_cast<std::byte>(first);
        bytes.back() = std::byte{0};
        const std::size_t symbols_at = bytes.size();
        Elf64_Sym symbol{1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, header.e_entry,
                         16};
        bytes.resize(symbols_at + n_symbols * sizeof symbol);
        for (std::size_t i = 1; i < n_symbols; i++)
            std::memcpy(bytes.data() + symbols_at + i * sizeof symbol, &symbol,
                        sizeof symbol);
        auto section_at = [&](std::size_t i) {
            return bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
        };
        auto move = [&](std::size_t i, std::size_t at, std::size_t n_bytes) {
            Elf64_Shdr section;
            std::memcpy(&section, section_at(i), sizeof section);
            section.sh_offset = at;
            section.sh_size = n_bytes;
            std::memcpy(section_at(i), &section, sizeof section);
        };
        for (std::size_t i = 0; i < header.e_shnum; i++) {
            Elf64_Shdr section;
            std::memcpy(&section, section_at(i), sizeof section);
            if (section.sh_type != SHT_SYMTAB)
                continue;
            move(i, symbols_at, n_symbols * sizeof symbol);
            move(section.sh_link, names_at, name_bytes);
        }
        auto start = std::chrono::steady_clock::now();
        auto image = ElfImage::open(ElfSource{{}, std::move(bytes), "long names", ""});
        ASSERT_TRUE(image);
        (*image)->functions();
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
        EXPECT_FALSE((*image)->take_cuts().empty());
    }
}

TEST(HostileElf, AFileCutShortAfterItWasOpenedGivesAnError)
{
    Scratch scratch;
    std::string path = scratch.path("cut");
    write_file(path, read_file(VICTIM));
    auto image = ElfImage::open(path);
    ASSERT_TRUE(image);
    ASSERT_EQ(::truncate(path.c_str(), 100), 0);
    EXPECT_TRUE((*image)->functions().all().empty());
    EXPECT_FALSE((*image)->bytes((*image)->entry(), 16));
}
