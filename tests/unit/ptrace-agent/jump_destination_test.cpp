// SPDX-License-Identifier: MIT
// Tests destination_of(), which returns the operand that contains an indirect jump's
// destination. Also tests dt_leaves_function().
#include "fasttrap/arch/arch.hpp"
#include "ptrace-agent/plant/statics.hpp"

#include <gtest/gtest.h>

namespace dt::agent {

namespace {

std::optional<dt_operand> destination(std::initializer_list<unsigned char> code)
{
    std::vector<std::byte> bytes;
    for (unsigned char byte : code)
        bytes.push_back(std::byte{byte});
    auto insn = x86_64.decode(bytes, TargetAddr{0x1000});
    EXPECT_TRUE(insn);
    return insn ? destination_of(*insn) : std::nullopt;
}

dt_operand bound(std::uint64_t value)
{
    dt_operand operand{};
    operand.form = DT_OPERAND_CONST;
    operand.bytes = 8;
    operand.value = static_cast<std::int64_t>(value);
    return operand;
}

} // namespace

TEST(JumpDestination, IsTheRegisterOfAJumpThroughARegister)
{
    auto to = destination({0x41, 0xff, 0xe4}); // jmp *%r12
    ASSERT_TRUE(to);
    EXPECT_EQ(to->form, DT_OPERAND_GENERAL);
    EXPECT_EQ(to->reg, 12);
    EXPECT_EQ(to->bytes, 8);
    to = destination({0x3e, 0xff, 0xe0}); // notrack jmp *%rax
    ASSERT_TRUE(to);
    EXPECT_EQ(to->reg, 0);
}

TEST(JumpDestination, IsTheWordThatAJumpThroughMemoryReads)
{
    auto to = destination({0xff, 0x60, 0x08}); // jmp *8(%rax)
    ASSERT_TRUE(to);
    EXPECT_EQ(to->form, DT_OPERAND_MEMORY);
    EXPECT_EQ(to->value, 8);
    EXPECT_EQ(to->reg, 0);
    EXPECT_EQ(to->index, DT_OPERAND_NO_REG);

    to = destination(
        {0xff, 0x24, 0xcd, 0x00, 0x20, 0x40, 0x00}); // jmp *0x402000(,%rcx,8)
    ASSERT_TRUE(to);
    EXPECT_EQ(to->value, 0x402000);
    EXPECT_EQ(to->reg, DT_OPERAND_NO_REG);
    EXPECT_EQ(to->index, 1);
    EXPECT_EQ(to->shift, 3);

    to = destination({0xff, 0x25, 0x10, 0x00, 0x00, 0x00}); // jmp *0x10(%rip)
    ASSERT_TRUE(to);
    EXPECT_EQ(to->value, 0x1016);
    EXPECT_EQ(to->reg, DT_OPERAND_NO_REG);

    to = destination({0x64, 0xff, 0x20}); // jmp *%fs:(%rax)
    ASSERT_TRUE(to);
    EXPECT_EQ(to->segment, 'f');
}

TEST(JumpDestination, IsUnknownForOtherInstructionsAndFor32BitAddresses)
{
    EXPECT_FALSE(destination({0xff, 0xd0}));       // call *%rax
    EXPECT_FALSE(destination({0xc3}));             // ret
    EXPECT_FALSE(destination({0x67, 0xff, 0x20})); // jmp *(%eax)
}

TEST(JumpDestination, LeavesTheFunctionIfNoPartContainsItOrIfItIsTheEntry)
{
    const std::vector<dt_operand> operands{dt_operand{}, bound(0x1000), bound(0x1010),
                                           bound(0x800), bound(0x820)};
    auto leaves = [&](std::uint64_t to) {
        return dt_leaves_function(operands.data(), 5, to) != 0;
    };
    EXPECT_TRUE(leaves(0xfff));
    EXPECT_TRUE(leaves(0x1000)); // the function makes a tail call to itself
    EXPECT_FALSE(leaves(0x1001));
    EXPECT_FALSE(leaves(0x100f));
    EXPECT_TRUE(leaves(0x1010));
    EXPECT_FALSE(leaves(0x800));
    EXPECT_FALSE(leaves(0x81f));
    EXPECT_TRUE(leaves(0x820));
    EXPECT_EQ(offset_of_jump(operands, {0x1004}), 4U);
}

} // namespace dt::agent
