// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/data_symbols.hpp"
#include "libdtrace/symbols/elf/elf_image.hpp"

#include "scratch.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>

using namespace dt;
namespace fs = std::filesystem;

static std::shared_ptr<ElfImage> opened(const std::string& path)
{
    auto image = ElfImage::open(path);
    EXPECT_TRUE(image) << image.error().text;
    return image ? *image : nullptr;
}

static std::string libc_path()
{
    Dl_info info{};
    ::dladdr(reinterpret_cast<void*>(&::fclose), &info);
    return fs::canonical("/lib/x86_64-linux-gnu/libc.so.6").string();
}

static bool has(ElfImage& image, std::string_view name)
{
    return image.functions().find(name) != nullptr;
}

TEST(ElfImage, TellsWhatAProgramIs)
{
    auto image = opened(VICTIM);
    EXPECT_EQ(image->kind(), ElfKind::pie);
    EXPECT_TRUE(image->facts().has_symtab);
    EXPECT_NE(image->facts().interpreter.find("ld-linux"), std::string::npos);
    EXPECT_TRUE(image->text_segment(image->entry()));
    EXPECT_TRUE(image->section(".plt"));
}

TEST(ElfImage, TellsStaticProgramsFromLibraries)
{
    auto fixed = opened(STATIC_VICTIM), pie = opened(STATIC_PIE_VICTIM);
    EXPECT_EQ(fixed->kind(), ElfKind::executable);
    EXPECT_EQ(pie->kind(), ElfKind::pie);
    EXPECT_TRUE(has(*fixed, "small_function"));
    EXPECT_TRUE(has(*pie, "small_function"));
    auto libc = opened(libc_path());
    EXPECT_EQ(libc->kind(), ElfKind::shared_object);
}

int numbers[100] = {7};

TEST(ElfImage, FindsTheVariableThatContainsAnAddress)
{
    auto image = ElfImage::open("/proc/self/exe");
    ASSERT_TRUE(image) << image.error().text;
    const auto addr = (*image)->find_variable("numbers");
    ASSERT_TRUE(addr);
    const DataSymbol* first = (*image)->variable_at(*addr);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->name, "numbers");
    EXPECT_EQ(first->addr, *addr);
    EXPECT_EQ(first->from, *addr);
    // A sanitizer makes variables larger.
    EXPECT_GE(first->end - first->from, sizeof numbers);
    EXPECT_EQ((*image)->variable_at(*addr + sizeof numbers - 1), first);
    const DataSymbol* after = (*image)->variable_at(first->end);
    EXPECT_TRUE(after == nullptr || after->name != "numbers");
    EXPECT_EQ((*image)->variable_at(UINT64_MAX - 1), nullptr);
}

TEST(DataSymbols, KeepALimitedNumberOfNames)
{
    DataSymbols symbols;
    for (std::uint64_t at = 0; at < DataSymbols::max_symbols; at++)
        ASSERT_NE(symbols.add({at, "x", at, at + 1}), nullptr);
    EXPECT_EQ(symbols.add({~1ull, "x", ~1ull, ~0ull}), nullptr);
    EXPECT_EQ(symbols.find(7)->addr, 7u);
    EXPECT_EQ(symbols.find(DataSymbols::max_symbols), nullptr);
    const std::string long_name(DataSymbols::max_name_bytes + 1, 'x');
    EXPECT_EQ(DataSymbols().add({0, long_name, 0, 1}), nullptr);
}

TEST(DataSymbols, KeepTheFirstSymbolOfAnAddress)
{
    DataSymbols symbols;
    const DataSymbol* first = symbols.add({0, "first", 0, 8});
    EXPECT_EQ(symbols.add({0, "second", 0, 4}), first);
    EXPECT_EQ(first->name, "first");
}

TEST(ElfImage, HoldsEveryAliasOfAFunction)
{
    auto image = opened(VICTIM);
    const FunctionTable& table = image->functions();
    const Function* f = table.find("weak_name");
    ASSERT_TRUE(f);
    EXPECT_EQ(f, table.find("__original_name"));
    EXPECT_EQ(table.name(*f), "original_name");
    EXPECT_EQ(table.names(*f).size(), 3U);
    EXPECT_EQ(table.match("shop::Cart::total").size(), 1U);
    EXPECT_EQ(table.match("shop::twice<*").size(), 2U);
    EXPECT_EQ(table.match("*hidden_helper*").size(), 1U);
}

TEST(ElfImage, ReadsLibcWithItsAliasesVersionsAndIndirectFunctions)
{
    auto libc = opened(libc_path());
    const FunctionTable& table = libc->functions();
    EXPECT_GT(table.all().size(), 2000U);
    const Function* malloc = table.find("malloc");
    ASSERT_TRUE(malloc);
    EXPECT_EQ(table.name(*malloc), "malloc");
    EXPECT_EQ(table.find("__libc_malloc"), malloc);
    EXPECT_EQ(table.at(malloc->addr + 1), malloc);
    auto copies = table.find_all("memcpy");
    ASSERT_GE(copies.size(), 2U); // versions GLIBC_2.2.5 and GLIBC_2.14
    for (const FunctionName& name : table.names(*copies[0]))
        if (name.text == "memcpy") {
            EXPECT_FALSE(name.old_version);
            EXPECT_TRUE(name.indirect);
        }
    for (const Function& f : table.all())
        for (const FunctionName& name : table.names(f))
            EXPECT_EQ(name.text.find('@'), std::string_view::npos) << name.text;
    EXPECT_TRUE(std::is_sorted(
        table.all().begin(), table.all().end(),
        [](const Function& a, const Function& b) { return a.addr < b.addr; }));
}

TEST(ElfImage, FindsTheDebugFileByBuildId)
{
    if (!fs::exists("/usr/lib/debug/.build-id"))
        GTEST_SKIP() << "lacks /usr/lib/debug/.build-id (package libc6-dbg)";
    EXPECT_TRUE(has(*opened(libc_path()), "_int_malloc")); // a static function
}

TEST(ElfImage, StrippedFilesGiveWhatIsLeft)
{
    Scratch scratch;
    std::string file = scratch.path("stripped");
    ASSERT_TRUE(objcopy("--strip-all " VICTIM " " + file));
    auto image = opened(file);
    EXPECT_FALSE(image->facts().has_symtab);
    EXPECT_FALSE(has(*image, "main"));
    auto whole = opened(VICTIM);
    const Function* main = whole->functions().find("main");
    ASSERT_TRUE(main);
    bool found = false;
    for (AddressRange range : image->frame_functions())
        found |= range.addr == main->addr && range.n_bytes == main->n_bytes;
    EXPECT_TRUE(found);
}

TEST(ElfImage, FollowsADebugLinkOnlyWhenTheContentIsRight)
{
    Scratch scratch;
    std::string plain = scratch.path("plain"), debug = scratch.path("plain.debug"),
                file = scratch.path("program");
    // Without a build id, only the debug link leads to the debug file.
    ASSERT_TRUE(objcopy("--remove-section .note.gnu.build-id " VICTIM " " + plain));
    ASSERT_TRUE(objcopy("--only-keep-debug " + plain + " " + debug));
    ASSERT_TRUE(
        objcopy("--strip-all --add-gnu-debuglink=" + debug + " " + plain + " " + file));
    auto image = opened(file);
    EXPECT_TRUE(has(*image, "main"));

    fs::create_directory(scratch.path(".debug"));
    fs::rename(debug, scratch.path(".debug/plain.debug"));
    EXPECT_TRUE(has(*opened(file), "main"));

    auto bytes = read_file(scratch.path(".debug/plain.debug"));
    bytes.push_back(std::byte{0});
    write_file(scratch.path(".debug/plain.debug"), bytes);
    EXPECT_FALSE(has(*opened(file), "main"));
}

TEST(ElfImage, DebugLinksDoNotLeaveTheirFolder)
{
    Scratch scratch;
    std::string file = scratch.path("program"), debug = scratch.path("x/abc.debug");
    fs::create_directory(scratch.path("x"));
    ASSERT_TRUE(objcopy("--only-keep-debug " VICTIM " " + debug));
    ASSERT_TRUE(objcopy("--strip-all --remove-section .note.gnu.build-id "
                        "--add-gnu-debuglink=" +
                        debug + " " VICTIM " " + file));
    // Change the name in the debug link from abc.debug to x/c.debug. The file x/c.debug
    // exists, but the reader must not open it.
    auto bytes = read_file(file);
    const char from[] = "abc.debug", to[] = "x/c.debug";
    auto at = std::search(bytes.begin(), bytes.end(),
                          reinterpret_cast<const std::byte*>(from),
                          reinterpret_cast<const std::byte*>(from) + 9);
    ASSERT_NE(at, bytes.end());
    std::memcpy(&*at, to, 9);
    write_file(file, bytes);
    fs::rename(debug, scratch.path("x/c.debug"));
    EXPECT_FALSE(has(*opened(file), "main"));
}

TEST(ElfImage, UnpacksTheMiniSymbolTable)
{
    Scratch scratch;
    std::string symbols = scratch.path("symbols"), packed = scratch.path("symbols.xz"),
                file = scratch.path("program");
    ASSERT_TRUE(objcopy(
        "-S --remove-section .gnu_debuglink --keep-symbol=main " VICTIM " " + symbols));
    write_file(packed, packed_xz(read_file(symbols)));
    ASSERT_TRUE(objcopy("--strip-all --add-section .gnu_debugdata=" + packed +
                        " " VICTIM " " + file));
    EXPECT_TRUE(has(*opened(file), "main"));

    write_file(packed, std::vector<std::byte>(1000, std::byte{0x5a}));
    ASSERT_TRUE(objcopy("--strip-all --add-section .gnu_debugdata=" + packed +
                        " " VICTIM " " + file));
    EXPECT_FALSE(has(*opened(file), "main")); // the damaged table is ignored
}

TEST(ElfImage, ReadsDynamicSymbolsWithoutSectionHeaders)
{
    auto bytes = read_file(libc_path());
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    header.e_shoff = 0;
    header.e_shnum = 0;
    header.e_shstrndx = 0;
    std::memcpy(bytes.data(), &header, sizeof(header));
    auto image = ElfImage::open(ElfSource{{}, std::move(bytes), "bare", ""});
    ASSERT_TRUE(image) << image.error().text;
    EXPECT_TRUE(has(**image, "malloc"));
    auto copies = (*image)->functions().find_all("memcpy");
    EXPECT_GE(copies.size(), 2U);
}

TEST(ElfImage, GivesTheBytesOfAFunctionAndOfReadOnlyData)
{
    auto image = opened(VICTIM);
    auto file = read_file(VICTIM);
    const Function* f = image->functions().find("main");
    ASSERT_TRUE(f);
    auto text = image->bytes(f->addr, f->n_bytes);
    ASSERT_TRUE(text) << text.error().text;
    const ElfSegment* segment = image->text_segment(f->addr);
    auto at = file.begin() +
              static_cast<std::ptrdiff_t>(segment->offset + f->addr - segment->addr);
    EXPECT_TRUE(std::equal(text->begin(), text->end(), at));
    auto rodata = image->section(".rodata");
    ASSERT_TRUE(rodata);
    EXPECT_TRUE(image->bytes(rodata->addr, rodata->n_bytes));
    EXPECT_FALSE(image->bytes(0xffffffff00000000, 16));
    EXPECT_FALSE(image->bytes(f->addr, 1 << 30));
}

TEST(ElfImage, GivesRangesThatLieAcrossWindows)
{
    auto libc = opened(libc_path());
    auto text = libc->section(".text");
    ASSERT_TRUE(text);
    auto whole = libc->bytes(text->addr, text->n_bytes);
    ASSERT_TRUE(whole);
    for (const Function& f : libc->functions().all()) {
        if (f.addr < text->addr || f.addr + f.n_bytes > text->addr + text->n_bytes)
            continue;
        auto part = libc->bytes(f.addr, f.n_bytes);
        ASSERT_TRUE(part);
        ASSERT_TRUE(std::equal(part->begin(), part->end(),
                               whole->begin() +
                                   static_cast<std::ptrdiff_t>(f.addr - text->addr)));
    }
}

TEST(ElfImage, RefusesByName)
{
    auto bytes = read_file(VICTIM);
    auto with = [&](std::size_t at, unsigned char value) {
        auto changed = bytes;
        changed[at] = std::byte{value};
        return ElfImage::open(ElfSource{{}, std::move(changed), "x", ""});
    };
    auto narrow = with(EI_CLASS, ELFCLASS32);
    ASSERT_FALSE(narrow);
    EXPECT_EQ(narrow.error().code, Code::unsupported);
    EXPECT_EQ(narrow.error().text, "x: 32-bit");
    EXPECT_EQ(with(EI_DATA, ELFDATA2MSB).error().text, "x: big-endian");
    EXPECT_EQ(with(offsetof(Elf64_Ehdr, e_type), ET_REL).error().code,
              Code::unsupported);
    EXPECT_EQ(with(0, 'x').error().code, Code::corrupt);
    EXPECT_EQ(ElfImage::open("/nonexistent").error().code, Code::not_found);
    EXPECT_EQ(ElfImage::open("/").error().code, Code::invalid);
    EXPECT_EQ(ElfImage::open("/dev/null").error().code, Code::invalid);
}

TEST(ElfImage, PrintsHowLongLoadingLibcTakes)
{
    std::vector<double> times;
    std::size_t n_functions = 0;
    for (int i = 0; i < 5; i++) {
        auto start = std::chrono::steady_clock::now();
        auto libc = opened(libc_path());
        n_functions = libc->functions().all().size();
        std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - start;
        times.push_back(took.count());
    }
    std::sort(times.begin(), times.end());
    std::printf("libc.so.6: %zu functions, median %.2f ms, slowest %.2f ms\n",
                n_functions, times[2], times[4]);
    EXPECT_GT(n_functions, 0U);
}
