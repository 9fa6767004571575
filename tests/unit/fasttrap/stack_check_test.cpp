// SPDX-License-Identifier: MIT
// Tests the stack checks at the start of functions, as Go's assembler emits them.
#include "fasttrap/arch/arch.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace dt {

namespace {

// Returns the length in bytes of the stack check at the start of the code.
std::size_t check_of(std::initializer_list<unsigned char> code)
{
    std::vector<std::byte> text;
    for (unsigned char byte : code)
        text.push_back(std::byte{byte});
    text.resize(text.size() + 64, std::byte{0x90});
    return x86_64.stack_check_bytes(text, TargetAddr{0x401000});
}

} // namespace

TEST(StackCheck, EndsBehindTheBranchThatGrowsASmallFrame)
{
    // cmp 0x10(%r14),%rsp; jbe
    EXPECT_EQ(check_of({0x49, 0x3b, 0x66, 0x10, 0x76, 0x2a}), 6U);
    EXPECT_EQ(check_of({0x49, 0x3b, 0x66, 0x10, 0x0f, 0x86, 0x20, 0, 0, 0}), 10U);
}

TEST(StackCheck, EndsBehindTheBranchThatGrowsALargeFrame)
{
    // lea -4096(%rsp),%r12; cmp 0x10(%r14),%r12; jbe
    EXPECT_EQ(check_of({0x4c, 0x8d, 0xa4, 0x24, 0x00, 0xf0, 0xff, 0xff, 0x4d, 0x3b,
                        0x66, 0x10, 0x76, 0x20}),
              14U);
    // mov %rsp,%r12; sub $0x20000,%r12; jb; cmp 0x10(%r14),%r12; jbe
    EXPECT_EQ(check_of({0x49, 0x89, 0xe4, 0x49, 0x81, 0xec, 0x00, 0x00, 0x02, 0x00,
                        0x72, 0x20, 0x4d, 0x3b, 0x66, 0x10, 0x76, 0x1a}),
              18U);
}

TEST(StackCheck, LoadsGFirstWhereArgumentsAreOnTheStack)
{
    // mov %fs:-8,%rcx; cmp 0x10(%rcx),%rsp; jbe
    EXPECT_EQ(check_of({0x64, 0x48, 0x8b, 0x0c, 0x25, 0xf8, 0xff, 0xff, 0xff, 0x48,
                        0x3b, 0x61, 0x10, 0x76, 0x20}),
              15U);
}

TEST(StackCheck, IsNotWhereNothingAsksForStack)
{
    EXPECT_EQ(check_of({0x55, 0x48, 0x89, 0xe5}), 0U);             // push %rbp; mov
    EXPECT_EQ(check_of({0x48, 0x83, 0xc0, 0x01, 0xc3}), 0U);       // add; ret
    EXPECT_EQ(check_of({0x49, 0x3b, 0x66, 0x10, 0xc3}), 0U);       // no branch
    EXPECT_EQ(check_of({0x49, 0x3b, 0x66, 0x10, 0x77, 0x20}), 0U); // ja
    EXPECT_EQ(check_of({0x49, 0x3b, 0x66, 0x08, 0x76, 0x20}), 0U); // compares 8(%r14)
    EXPECT_EQ(check_of({0x49, 0x3b, 0x46, 0x10, 0x76, 0x20}), 0U); // compares %rax
    // The jbe leads beyond the end of the function, so this is not a stack check.
    EXPECT_EQ(check_of({0x49, 0x3b, 0x66, 0x10, 0x0f, 0x86, 0, 4, 0, 0}), 0U);
}

} // namespace dt
