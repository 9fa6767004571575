// SPDX-License-Identifier: MIT
// Compilers move cold code of a function to a separate place (NAME.cold). Tests that
// such a split-off part is not mistaken for a function if the file has no symbols.
#include "libdtrace/symbols/elf/split_off.hpp"

#include "libdtrace/symbols/elf/elf_image.hpp"
#include "scratch.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <initializer_list>
#include <set>

using namespace dt;

namespace {

constexpr std::uint64_t rsp = 7, rbp = 6;
constexpr std::int64_t data_factor = -8;
const CanonicalFrame at_call{rsp, 8, false};

CanonicalFrame first(std::initializer_list<unsigned> bytes,
                     const CanonicalFrame& from = at_call)
{
    std::vector<std::byte> text;
    for (unsigned b : bytes)
        text.push_back(static_cast<std::byte>(b));
    return at_first_address(from, text, data_factor);
}

TEST(SplitOff, ReadsTheFrameAtTheFirstAddress)
{
    // The instructions of a usual CIE are def_cfa and offset.
    EXPECT_EQ(first({0x0c, 7, 8, 0x90, 1}, {}), at_call);
    EXPECT_EQ(first({}), at_call);
    EXPECT_EQ(first({0, 0, 0}), at_call);
    // def_cfa_offset 48, then offset (0x80 | 3), which says where rbx was saved
    EXPECT_EQ(first({0x0e, 48, 0x83, 6}), (CanonicalFrame{rsp, 48, false}));
    EXPECT_EQ(first({0x83, 6, 0x0e, 0x80, 2}), (CanonicalFrame{rsp, 256, false}));
    // The next four lines test def_cfa rbp 16, def_cfa_register rbp, def_cfa_offset_sf
    // -2 * -8, and def_cfa_sf rbp -3 * -8.
    EXPECT_EQ(first({0x0c, 6, 16}), (CanonicalFrame{rbp, 16, false}));
    EXPECT_EQ(first({0x0d, 6}), (CanonicalFrame{rbp, 8, false}));
    EXPECT_EQ(first({0x13, 0x7e}), (CanonicalFrame{rsp, 16, false}));
    EXPECT_EQ(first({0x12, 6, 0x7d}), (CanonicalFrame{rbp, 24, false}));
    // def_cfa_expression of three bytes, alone and followed by def_cfa
    EXPECT_TRUE(first({0x0f, 3, 0x76, 0x78, 6}).by_expression);
    EXPECT_EQ(first({0x0f, 3, 0x76, 0x78, 6, 0x0c, 7, 8}), at_call);
    // Rules for other registers are skipped with their operands.
    EXPECT_EQ(first({0x05, 3,    2,    0x06, 3, 0x07, 16, 0x08, 3,  0x09, 3, 6,
                     0x0a, 0xc3, 0x10, 3,    2, 0x77, 8,  0x2e, 16, 0x0e, 32}),
              (CanonicalFrame{rsp, 32, false}));
}

TEST(SplitOff, LooksNoFurtherThanTheFirstAddress)
{
    EXPECT_EQ(first({0x41, 0x0e, 16}), at_call);    // advance_loc 1, past a push
    EXPECT_EQ(first({0x02, 1, 0x0e, 16}), at_call); // advance_loc1
    EXPECT_EQ(first({0x3f, 0x0e, 16}), at_call);    // an unknown operation
    EXPECT_EQ(first({0x0e, 16, 0x0b}), at_call);    // restore_state
    EXPECT_EQ(first({0x0e, 0x80}).reg, rsp);        // truncated
    EXPECT_EQ(first({0x0f, 0xff, 0xff, 0x7f}).by_expression, true);
}

TEST(SplitOff, PartsOfAStrippedProgramAreThoseThatSymbolsName)
{
    Scratch scratch;
    std::string file = scratch.path("stripped");
    ASSERT_TRUE(objcopy("--strip-all " PARTS " " + file));
    auto whole = ElfImage::open(PARTS), stripped = ElfImage::open(file);
    ASSERT_TRUE(whole && stripped);
    std::set<std::uint64_t> parts, found, functions;
    for (const Function& function : (*whole)->functions().all()) {
        if ((*whole)->functions().name(function).ends_with(".cold"))
            parts.insert(function.addr);
    }
    if (parts.size() < 3)
        GTEST_SKIP() << "lacks a compiler that splits functions";
    for (const Function& function : (*stripped)->functions().all()) {
        const FunctionName& name = (*stripped)->functions().names(function).front();
        EXPECT_TRUE(name.from_frame || !name.split_off) << name.text;
        if (name.from_frame && name.split_off)
            found.insert(function.addr);
        else
            functions.insert(function.addr);
    }
    EXPECT_EQ(found, parts);
    for (const char* name : {"with_a_frame", "without_a_frame", "returns_there",
                             "report", "give_up", "main"}) {
        const Function* function = (*whole)->functions().find(name);
        ASSERT_TRUE(function) << name;
        EXPECT_TRUE(functions.contains(function->addr)) << name;
    }
}

} // namespace
