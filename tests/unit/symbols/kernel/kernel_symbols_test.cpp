// SPDX-License-Identifier: MIT
// Tests the kernel's symbols with files that the test creates, and with this machine's
// files.
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"

#include "base/clock_ns.hpp"
#include "scratch.hpp"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>

using namespace dt;

namespace {

constexpr const char* kallsyms = "ffffffff81000000 T _text\n"
                                 "ffffffff81000000 t do_text\n"
                                 "ffffffff81000040 T vfs_read\n"
                                 "ffffffff81000040 T __vfs_read\n"
                                 "ffffffff81000100 t helper\n"
                                 "ffffffff82000000 D jiffies\n"
                                 "0000000000001000 A this_cpu_off\n"
                                 "not a line\n"
                                 "ffffffffc0001000 t mount\t[ext4]\n"
                                 "ffffffffc0001080 t helper\t[ext4]\n"
                                 "ffffffffc0005000 t send\t[nf_tables]\n";
constexpr const char* modules = "ext4 8192 2 jbd2,mbcache, Live 0xffffffffc0001000\n"
                                "nf_tables 4096 0 - Live 0xffffffffc0005000 (E)\n"
                                "bare 4096 0 - Live 0xffffffffc0009000\n";

struct Given {
    explicit Given(const char* symbols_text = kallsyms,
                   const char* modules_text = modules)
    {
        std::ofstream(scratch.path("kallsyms")) << symbols_text;
        std::ofstream(scratch.path("modules")) << modules_text;
        std::ofstream(scratch.path("restriction")) << "1\n";
    }
    Scratch scratch;
    KernelSymbols symbols{{scratch.path("kallsyms"), scratch.path("modules"),
                           scratch.path("restriction")}};
};

} // namespace

TEST(KernelSymbols, AnAddressIsNamedByModuleSymbolAndOffset)
{
    Given given;
    EXPECT_EQ(given.symbols.format_address(0xffffffff81000040), "vmlinux`vfs_read");
    EXPECT_EQ(given.symbols.format_address(0xffffffff81000041), "vmlinux`vfs_read+0x1");
    EXPECT_EQ(given.symbols.format_symbol(0xffffffff81000041), "vmlinux`vfs_read");
    EXPECT_EQ(given.symbols.format_module(0xffffffff81000041), "vmlinux");
    EXPECT_EQ(given.symbols.format_address(0xffffffffc0001090), "ext4`helper+0x10");
}

TEST(KernelSymbols, PreferTheGlobalAndPlainNameAtAnAddress)
{
    Given given;
    EXPECT_EQ(given.symbols.format_address(0xffffffff81000000), "vmlinux`_text");
    EXPECT_EQ(given.symbols.format_address(0xffffffff81000050),
              "vmlinux`vfs_read+0x10");
}

TEST(KernelSymbols, AnAddressInAModuleWithoutASymbolIsTheModulesAlone)
{
    Given given;
    EXPECT_EQ(given.symbols.format_address(0xffffffffc0009010),
              "bare`0xffffffffc0009010");
    EXPECT_EQ(given.symbols.format_module(0xffffffffc0009010), "bare");
    EXPECT_EQ(given.symbols.format_address(0xffffffffc000f000), "0xffffffffc000f000");
}

TEST(KernelSymbols, AddressesOfProcessesAreNoneOfTheKernels)
{
    Given given;
    EXPECT_EQ(given.symbols.format_address(0x1010), "0x1010");
    EXPECT_EQ(given.symbols.format_symbol(0), "0x0");
    EXPECT_EQ(given.symbols.format_module(0x7fff00001010), "0x7fff00001010");
}

TEST(KernelSymbols, ANameIsTheKernelProperUnlessAModuleIsSaid)
{
    Given given;
    EXPECT_EQ(given.symbols.find("", "helper")->addr, 0xffffffff81000100);
    EXPECT_EQ(given.symbols.find("ext4", "helper")->addr, 0xffffffffc0001080);
    EXPECT_EQ(given.symbols.find("e*", "helper")->module, "ext4");
    EXPECT_EQ(given.symbols.find("", "send")->module, "nf_tables");
    EXPECT_EQ(given.symbols.find("nf-tables", "send")->addr, 0xffffffffc0005000);
    for (const char* proper : {"vmlinux", "kernel", "unix", "genunix"})
        EXPECT_EQ(given.symbols.find(proper, "jiffies")->addr, 0xffffffff82000000)
            << proper;
}

TEST(KernelSymbols, ASymbolReachesToTheNextOneOfItsModule)
{
    Given given;
    auto read = given.symbols.find("", "vfs_read"),
         jiffies = given.symbols.find("", "jiffies");
    EXPECT_EQ(read->n_bytes, 0xc0u);
    EXPECT_TRUE(read->is_function);
    EXPECT_FALSE(jiffies->is_function);
    // The last symbol extends to the end of its page.
    EXPECT_EQ(jiffies->n_bytes, 4096u);
    EXPECT_EQ(given.symbols.find("ext4", "mount")->n_bytes, 0x80u);
    EXPECT_EQ(given.symbols.find("ext4", "helper")->n_bytes,
              0x1f80u); // up to the end of its module
}

TEST(KernelSymbols, MissingNamesAreReportedWithTheNearestName)
{
    Given given;
    EXPECT_EQ(given.symbols.find("", "vfs_raed").error().text,
              "the kernel has no symbol vfs_raed (did you mean vfs_read?)");
    EXPECT_EQ(given.symbols.find("ext4", "munt").error().text,
              "ext4 has no symbol munt (did you mean mount?)");
    EXPECT_EQ(given.symbols.find("ext5", "mount").error().text,
              "the kernel has no module ext5 (did you mean ext4?)");
}

TEST(KernelSymbols, HiddenAddressesNameTheSettingThatHidesThem)
{
    Given given("0000000000000000 T _text\n0000000000000000 D jiffies\n", "");
    auto found = given.symbols.find("", "jiffies");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::permission);
    EXPECT_NE(found.error().text.find("kptr_restrict"), std::string::npos);
    EXPECT_EQ(given.symbols.format_address(0xffffffff81000040), "0xffffffff81000040");
}

TEST(KernelSymbols, AKernelThatListsFunctionsAloneSaysSo)
{
    Given given("ffffffff81000000 T _text\n", "");
    EXPECT_EQ(
        given.symbols.find("", "jiffies").error().text,
        "the kernel has no symbol jiffies; the kernel was built without symbols for "
        "variables (CONFIG_KALLSYMS_ALL)");
}

TEST(KernelSymbols, AfterARefreshModulesThatCameAreThere)
{
    Given given;
    EXPECT_FALSE(given.symbols.is_module("late"));
    std::ofstream(given.scratch.path("kallsyms"), std::ios::app)
        << "ffffffffc000d000 t come\t[late]\n";
    std::ofstream(given.scratch.path("modules"), std::ios::app)
        << "late 4096 0 - Live 0xffffffffc000d000\n";
    given.symbols.refresh();
    EXPECT_TRUE(given.symbols.is_module("late"));
    EXPECT_EQ(given.symbols.format_address(0xffffffffc000d004), "late`come+0x4");
}

TEST(KernelSymbols, AnEmptyFileAndNoneHaveNoSymbols)
{
    Given given("", "");
    EXPECT_EQ(given.symbols.find("", "jiffies").error().code, Code::not_found);
    EXPECT_EQ(given.symbols.format_address(0xffffffff81000040), "0xffffffff81000040");
    KernelSymbols none({"/nonexistent", "/nonexistent", "/nonexistent"});
    EXPECT_EQ(none.find("", "jiffies").error().code, Code::not_found);
    EXPECT_TRUE(none.is_module("vmlinux"));
}

TEST(KernelSymbols, AFunctionHasTheNamesThatCompilersAndMacrosGiveIt)
{
    for (const char* name : {"foo", "foo.isra.0", "foo.constprop.0.isra.3",
                             "foo_noprof", "foo_noprof.isra.0"})
        EXPECT_EQ(KernelSymbols::function_of(name), "foo") << name;
    for (const char* part : {"foo.cold", "foo.part.0", "foo.isra.0.cold"})
        EXPECT_EQ(KernelSymbols::function_of(part), "") << part;
    EXPECT_EQ(KernelSymbols::function_of("foo_noprofit"), "foo_noprofit");
}

TEST(KernelSymbols, AllSymbolsOfThisMachineAreReadInOnePass)
{
    KernelSymbols symbols;
    const std::uint64_t before = monotonic_ns();
    auto found = symbols.find("vmlinux", "vfs_read");
    const std::uint64_t after = monotonic_ns();
    if (!found)
        GTEST_SKIP() << found.error().text;
    std::size_t n = 0;
    symbols.each([&n](const KernelSymbols::Symbol&) { n++; });
    std::printf("%zu symbols in %.1f ms\n", n,
                static_cast<double>(after - before) / 1e6);
    EXPECT_GT(n, 1000u);
    EXPECT_EQ(symbols.format_address(found->addr + 1), "vmlinux`vfs_read+0x1");
}
