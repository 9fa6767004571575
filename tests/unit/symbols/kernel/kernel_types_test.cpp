// SPDX-License-Identifier: MIT
// Tests how types, functions and tracepoints are found in the BTF of the kernel and its
// modules.
#include "libdtrace/symbols/kernel/kernel_types.hpp"

#include "scratch.hpp"
#include "tests/unit/symbols/debug/btf_data.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace dt;

namespace {

struct KnownTypes {
    KnownTypes()
    {
        SmallKernel kernel;
        kernel.write(scratch.path("vmlinux"));
        SmallModule(kernel).write(scratch.path("ext4"));
        std::ofstream(scratch.path("kallsyms"))
            << "ffffffff81000000 T wake\nffffffffc0001000 t mount\t[ext4]\n"
               "ffffffffc0002000 t bare_init\t[bare]\n";
        std::ofstream(scratch.path("none"));
        std::ofstream(scratch.path("modules"))
            << "ext4 8192 0 - Live 0xffffffffc0001000\n"
               "bare 4096 0 - Live 0xffffffffc0002000\n";
    }
    Scratch scratch;
    KernelSymbols symbols{
        {scratch.path("kallsyms"), scratch.path("modules"), scratch.path("none")}};
    KernelTypes types{symbols, scratch.path("")};
};

} // namespace

TEST(KernelTypes, AFunctionHasItsPrototypeWhereverItIs)
{
    KnownTypes given;
    auto wake = given.types.function("vmlinux", "wake");
    ASSERT_TRUE(wake) << wake.error().text;
    EXPECT_EQ(wake->function.parameters.size(), 2u);
    auto mount = given.types.function("", "mount");
    ASSERT_TRUE(mount) << mount.error().text;
    EXPECT_EQ(mount->types, *given.types.types("ext4"));
    EXPECT_FALSE(given.types.function("vmlinux", "mount"));
}

TEST(KernelTypes, ATracepointsArgumentsAreThoseOfItsCallbackButTheFirst)
{
    KnownTypes given;
    auto found = given.types.tracepoint("", "sched_wake");
    ASSERT_TRUE(found) << found.error().text;
    ASSERT_EQ(found->function.parameters.size(), 1u);
    EXPECT_EQ(found->function.parameters[0].name, "task");
    EXPECT_EQ(
        given.types.tracepoint("", "sched_wakr").error().text,
        "the kernel's type data does not describe a tracepoint sched_wakr (did you "
        "mean sched_wake?)");
}

TEST(KernelTypes, CompilersClonesHaveNoPrototype)
{
    KnownTypes given;
    EXPECT_EQ(given.types.function("", "wake.isra.0").error().code, Code::unsupported);
}

TEST(KernelTypes, ModulesAreKnownBySymbolsOrByTypes)
{
    KnownTypes given;
    for (const char* name : {"vmlinux", "kernel", "unix", "genunix", "ext4", "bare"})
        EXPECT_TRUE(given.types.is_module(name)) << name;
    for (const char* name : {"", "a.out", "libc.so.6", "../none", "xfs"})
        EXPECT_FALSE(given.types.is_module(name)) << name;
    auto all = given.types.modules("*");
    ASSERT_TRUE(all);
    ASSERT_EQ(all->size(), 3u);
    EXPECT_EQ((*all)[0].name, "vmlinux");
    EXPECT_EQ((*all)[2].types, nullptr); // the module `bare` has no types
}

TEST(KernelTypes, WithoutBtfTheReasonIsSaid)
{
    Scratch empty;
    KernelSymbols symbols({empty.path("x"), empty.path("x"), empty.path("x")});
    KernelTypes types(symbols, empty.path(""));
    auto found = types.function("", "wake");
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().text.find("CONFIG_DEBUG_INFO_BTF"), std::string::npos)
        << found.error().text;
    EXPECT_FALSE(types.modules(""));
}

TEST(KernelTypes, ThisMachinesTracepointsAreDescribed)
{
    if (::access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        GTEST_SKIP() << "no BTF of the kernel";
    KernelSymbols symbols;
    KernelTypes types(symbols);
    auto found = types.tracepoint("", "sched_switch");
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_GE(found->function.parameters.size(), 3u);
    EXPECT_EQ(found->types->type(found->function.parameters[0].type).name, "bool");
    EXPECT_EQ(found->function.parameters[0].name, "preempt");
    EXPECT_TRUE(types.function("", "vfs_read"));
}
