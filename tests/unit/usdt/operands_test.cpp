// SPDX-License-Identifier: MIT
#include "usdt/operands.hpp"

#include <gtest/gtest.h>

namespace dt::usdt {
namespace {

Operand one(const std::string& text)
{
    auto all = parse_operands(text);
    EXPECT_EQ(all.size(), 1u) << text;
    return all.empty() ? Operand{} : all[0];
}

enum { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15 };
constexpr int none = Operand::no_register;

TEST(Operands, ARegisterHasTheNumberThatInstructionsGiveIt)
{
    const char* names[4][16] = {
        {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10",
         "r11", "r12", "r13", "r14", "r15"},
        {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d",
         "r11d", "r12d", "r13d", "r14d", "r15d"},
        {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w",
         "r12w", "r13w", "r14w", "r15w"},
        {"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b",
         "r11b", "r12b", "r13b", "r14b", "r15b"}};
    for (int width = 0; width < 4; width++)
        for (int n = 0; n < 16; n++) {
            std::string name = std::string("%") + names[width][n];
            Operand o = one("-4@" + name);
            EXPECT_EQ(o.form, OperandForm::general) << name;
            EXPECT_EQ(o.reg, n) << name;
            EXPECT_EQ(o.bytes, 4) << "the size before @ counts";
            EXPECT_FALSE(o.high_byte);
            EXPECT_EQ(one(name).bytes, 8 >> width) << name;
        }
    Operand high = one("-1@%ch");
    EXPECT_EQ(high.reg, rcx);
    EXPECT_TRUE(high.high_byte);
}

TEST(Operands, SizesSaySignAndKind)
{
    EXPECT_TRUE(one("-8@%rax").is_signed);
    EXPECT_FALSE(one("8@%rax").is_signed);
    EXPECT_EQ(one("2@%ax").bytes, 2);
    Operand f = one("4f@%edx");
    EXPECT_TRUE(f.is_float);
    EXPECT_EQ(f.bytes, 4);
    EXPECT_EQ(f.form, OperandForm::general);
    Operand x = one("8f@%xmm13");
    EXPECT_EQ(x.form, OperandForm::vector);
    EXPECT_EQ(x.reg, 13);
    EXPECT_TRUE(one("-8f@%xmm0").is_float);
}

TEST(Operands, ConstantsMayBeNegativeHexAndSums)
{
    EXPECT_EQ(one("-4@$-1").value, -1);
    EXPECT_EQ(one("8@$0x10").value, 16);
    EXPECT_EQ(one("8@$010").value, 8);
    EXPECT_EQ(one("8@$18446744073709551615").value, -1);
    EXPECT_EQ(one("-4@$8192").form, OperandForm::constant);
    EXPECT_EQ(one("8@$3+4-2").value, 5);
    Operand symbol = one("8@$table+16");
    EXPECT_EQ(symbol.symbol, "table");
    EXPECT_EQ(symbol.value, 16);
}

TEST(Operands, MemoryHasBaseIndexScaleAndDisplacement)
{
    Operand o = one("-4@-136(%rbp)");
    EXPECT_EQ(o.form, OperandForm::memory);
    EXPECT_EQ(o.reg, rbp);
    EXPECT_EQ(o.value, -136);
    EXPECT_EQ(o.index, none);

    o = one("8@(%rax,%rcx)");
    EXPECT_EQ(o.reg, rax);
    EXPECT_EQ(o.index, rcx);
    EXPECT_EQ(o.scale, 1);

    o = one("1@0x20(%r12, %r13, 8)");
    EXPECT_EQ(o.reg, r12);
    EXPECT_EQ(o.index, r13);
    EXPECT_EQ(o.scale, 8);
    EXPECT_EQ(o.value, 32);

    o = one("8@(,%rax,4)");
    EXPECT_EQ(o.reg, none);
    EXPECT_EQ(o.index, rax);

    o = one("8@%fs:-64");
    EXPECT_EQ(o.form, OperandForm::memory);
    EXPECT_EQ(o.segment, Segment::fs);
    EXPECT_EQ(o.value, -64);
    EXPECT_EQ(one("8@%gs:8(%rdi)").segment, Segment::gs);
}

TEST(Operands, ASymbolMayPrecedeOrFollowItsOffset)
{
    for (const char* text :
         {"-4@40+CheckpointStats(%rip)", "-4@CheckpointStats+40(%rip)"}) {
        Operand o = one(text);
        EXPECT_EQ(o.form, OperandForm::memory) << text << o.trouble;
        EXPECT_EQ(o.symbol, "CheckpointStats");
        EXPECT_EQ(o.value, 40);
        EXPECT_TRUE(o.of_rip);
    }
    EXPECT_EQ(one("-4@NBuffers(%rip)").symbol, "NBuffers");
    EXPECT_EQ(one("8@_ZN3foo3barE.part.0-8(%rip)").value, -8);
    EXPECT_EQ(one("8@table(,%rdi,8)").symbol, "table");
    EXPECT_EQ(one("4@counter").form, OperandForm::memory);
}

TEST(Operands, SeveralAreSeparatedByBlanksOutsideOfParentheses)
{
    auto all = parse_operands("  8@%rdi -4@8( %rsp , %rax , 2 )  4@$1 ");
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].text, "8@%rdi");
    EXPECT_EQ(all[1].form, OperandForm::memory);
    EXPECT_EQ(all[1].scale, 2);
    EXPECT_EQ(all[2].value, 1);
    EXPECT_TRUE(parse_operands("").empty());
    EXPECT_EQ(parse_operands("8@%rdi 8@%rdi 8@%rdi", 2).size(), 2u);
}

TEST(Operands, IntelsSyntaxIsKnownFromGccAndClang)
{
    auto all =
        parse_operands("4@$DWORD PTR -20[rbp+rax*4] 8@$r12 -4@$7 1@$al "
                       "8@QWORD PTR name[rip+8] 8@[rsp - 16] -8@[rbx + 8*rcx + 24] "
                       "8@[rip + name] -1@-5 4@QWORD PTR fs:-64[rdi] "
                       "8f@4609434218613702656");
    ASSERT_EQ(all.size(), 11u);
    for (const Operand& o : all)
        EXPECT_EQ(o.trouble, "") << o.text;
    EXPECT_EQ(all[0].form, OperandForm::memory);
    EXPECT_EQ(all[0].reg, rbp);
    EXPECT_EQ(all[0].index, rax);
    EXPECT_EQ(all[0].scale, 4);
    EXPECT_EQ(all[0].value, -20);
    EXPECT_EQ(all[1].form, OperandForm::general);
    EXPECT_EQ(all[1].reg, r12);
    EXPECT_EQ(all[2].form, OperandForm::constant);
    EXPECT_EQ(all[2].value, 7);
    EXPECT_EQ(all[3].reg, rax);
    EXPECT_EQ(all[4].symbol, "name");
    EXPECT_EQ(all[4].value, 8);
    EXPECT_TRUE(all[4].of_rip);
    EXPECT_EQ(all[5].reg, rsp);
    EXPECT_EQ(all[5].value, -16);
    EXPECT_EQ(all[6].index, rcx);
    EXPECT_EQ(all[6].scale, 8);
    EXPECT_EQ(all[6].value, 24);
    EXPECT_EQ(all[7].symbol, "name");
    EXPECT_EQ(all[8].form, OperandForm::constant);
    EXPECT_EQ(all[8].value, -5);
    EXPECT_EQ(all[9].segment, Segment::fs);
    EXPECT_EQ(all[9].value, -64);
    EXPECT_EQ(all[10].form, OperandForm::constant);
    EXPECT_EQ(one("4@7").form, OperandForm::constant) << "no memory is there";
    EXPECT_EQ(one("4@6295616").form, OperandForm::memory);
    for (const char* text : {"8@[rax*3]", "8@[rax+rbx+rcx]", "8@[eax]", "8@[rip+rax]",
                             "8@DWORD PTR 9x[rax]"})
        EXPECT_EQ(one(text).form, OperandForm::unknown) << text;
}

TEST(Operands, ANumberIsAConstantWhereTheProbeItsFileOrItsKindSaysSo)
{
    auto form = [](const char* text, Syntax of_file) {
        return parse_operands(text, max_operands, of_file)[0].form;
    };
    EXPECT_EQ(syntax_of("-4@4194304 8@rax"), Syntax::intel);
    EXPECT_EQ(syntax_of("-4@4194304 8@%rax 4@$7 4@counter"), Syntax::att);
    EXPECT_EQ(form("-4@4194304", Syntax::att), OperandForm::memory);
    EXPECT_EQ(form("-4@4194304", Syntax::intel), OperandForm::constant);
    EXPECT_EQ(form("-4@4194304 8@rax", Syntax::att), OperandForm::constant);
    EXPECT_EQ(form("-4@4194304 8@%rax", Syntax::intel), OperandForm::memory)
        << "another object's, which is AT&T's";
    EXPECT_EQ(form("8f@4609434218613702656", Syntax::att), OperandForm::constant);
    EXPECT_EQ(form("-4@$4194304", Syntax::att), OperandForm::constant);
}

TEST(Operands, AnUnknownOperandKeepsItsTextAndTheOthersWork)
{
    auto all = parse_operands("8@%rdi 16@%xmm0 8@%rzx 8@(%rax 8@%es:4 3@%rax 8@%rax+1 "
                              "8@(%eax) 8@(%rax,%rbx,3) 8@a-b 8@$99999999999999999999 "
                              "2f@%ax 8@4(%rip,%rax) 8@%cr3 @ 8@ -4@%esi");
    ASSERT_EQ(all.size(), 17u);
    EXPECT_EQ(all.front().form, OperandForm::general);
    for (std::size_t i = 1; i < all.size(); i++) {
        EXPECT_FALSE(all[i].text.empty());
        EXPECT_EQ(all[i].trouble.empty(), all[i].form != OperandForm::unknown)
            << all[i].text;
    }
    for (const char* text :
         {"16@%xmm0", "8@%rzx", "8@(%rax", "8@%es:4", "3@%rax", "8@%rax+1", "8@(%eax)",
          "8@(%rax,%rbx,3)", "8@a-b", "8@$99999999999999999999", "2f@%ax",
          "8@4(%rip,%rax)", "8@%cr3", "8@%rip", "8@", "8@$", "8@%r07", "8@%r16"})
        EXPECT_EQ(one(text).form, OperandForm::unknown) << text;
}

} // namespace
} // namespace dt::usdt
