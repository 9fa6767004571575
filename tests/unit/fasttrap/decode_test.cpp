// SPDX-License-Identifier: MIT
#include "bytes.hpp"

#include "fasttrap/arch/x86_64/opcodes.hpp"

using namespace dt;
using namespace dt::test;

namespace {

struct Expected {
    const char* hex;
    ControlFlow flow;
    std::uint64_t target;
};

TEST(Decode, TellsWhereControlGoes)
{
    const Expected table[] = {
        {"55", ControlFlow::next, 0},
        {"f30f1efa", ControlFlow::next, 0},
        {"e8fbffffff", ControlFlow::call, 0x401000},
        {"66 66 48 e8 00010000", ControlFlow::call, 0x401108},
        {"67 e8 00010000", ControlFlow::call, 0x401106},
        {"e900010000", ControlFlow::jump, 0x401105},
        {"ebfe", ControlFlow::jump, 0x401000},
        {"f2 eb fd", ControlFlow::jump, 0x401000},
        {"74fe", ControlFlow::branch, 0x401000},
        {"2e 74 fd", ControlFlow::branch, 0x401000},
        {"0f8400010000", ControlFlow::branch, 0x401106},
        {"e2fe", ControlFlow::branch, 0x401000},
        {"e3fe", ControlFlow::branch, 0x401000},
        {"67 e3 fd", ControlFlow::branch, 0x401000},
        {"c3", ControlFlow::ret, 0},
        {"f3c3", ControlFlow::ret, 0},
        {"f2c3", ControlFlow::ret, 0},
        {"c21000", ControlFlow::ret, 0},
        {"ffe0", ControlFlow::jump_indirect, 0},
        {"3e ff e0", ControlFlow::jump_indirect, 0},
        {"ff2500000000", ControlFlow::jump_indirect, 0},
        {"ffd0", ControlFlow::call_indirect, 0},
        {"0f05", ControlFlow::syscall, 0},
        {"0f0b", ControlFlow::stop, 0},
        {"f4", ControlFlow::stop, 0},
        {"cc", ControlFlow::stop, 0},
        {"cd80", ControlFlow::other, 0},
        {"48cf", ControlFlow::other, 0},
    };
    for (const Expected& row : table) {
        Instruction insn = instruction(row.hex);
        EXPECT_EQ(insn.flow, row.flow) << row.hex;
        EXPECT_EQ(insn.target.value, row.target) << row.hex;
        EXPECT_EQ(insn.length, bytes_of(row.hex).size()) << row.hex;
    }
}

TEST(Decode, KnowsTheLengthOfNopsAndVectorInstructionsWhateverFollows)
{
    for (const char* hex :
         {"90",
          "6690",
          "0f1f00",
          "0f1f4000",
          "0f1f440000",
          "660f1f440000",
          "0f1f8000000000",
          "0f1f840000000000",
          "660f1f840000000000",
          "66662e0f1f840000000000",
          "66666666662e0f1f840000000000",
          "c5f877",               // vzeroupper
          "c5fe6f0511000000",     // vmovdqu 0x11(%rip), %ymm0
          "c4e37d394db801",       // vextracti128 to memory
          "62f1fe486f0511000000", // vmovdqu64 0x11(%rip), %zmm0
          "62f37d083e0f00",       // vpcmpub
          "62f5 7c 48 58 c1",     // vaddph, which capstone 4 does not support
          "660f78c00304",
          "f20f78c10304", // extrq, insertq (0f 78 without a prefix is vmread)
          "0f01ee",
          "0f01ef",
          "f3480faee9",
          "f30faee8"}) { // incsspq %rcx, incsspd %eax
        std::vector<std::byte> text = bytes_of(hex);
        std::size_t length = text.size();
        for (unsigned after : {0x00U, 0x90U, 0xccU, 0xffU}) {
            text.resize(length);
            text.resize(length + 15, static_cast<std::byte>(after));
            Result<Instruction> insn = x86_64.decode(text, TargetAddr{0x401000});
            ASSERT_TRUE(insn) << hex;
            EXPECT_EQ(insn->length, length) << hex;
        }
    }
}

TEST(Decode, SaysWhyBytesAreNoInstruction)
{
    const std::pair<const char*, Code> table[] = {
        {"06", Code::corrupt},                               // push %es
        {"0f04", Code::corrupt},                             // no such opcode
        {"48", Code::corrupt},                               // truncated
        {"e80000", Code::corrupt},                           // truncated
        {"", Code::corrupt},                                 // no bytes
        {"66666666666666666666666666666690", Code::corrupt}, // too long
        {"62f40c1848ff", Code::unsupported},                 // APX
        // Intel and AMD processors give these instructions different operand sizes.
        {"66 e8 0001 0000", Code::unsupported},
        {"66 c3", Code::unsupported},
        {"66 67 0f 78 c0 03 04",
         Code::unsupported}, // extrq, which capstone reads as vmread
    };
    for (const auto& [hex, code] : table) {
        Result<Instruction> insn = x86_64.decode(bytes_of(hex), TargetAddr{});
        ASSERT_FALSE(insn) << hex;
        EXPECT_EQ(insn.error().code, code) << hex << ": " << insn.error().text;
        EXPECT_FALSE(insn.error().text.empty());
    }
}

TEST(Decode, FindsTheMemoryOperand)
{
    Instruction rip = instruction("488b05 10000000");
    EXPECT_TRUE(rip.rip_relative);
    EXPECT_EQ(rip.memory.disp, 16);

    Instruction canary = instruction("64488b042528000000");
    EXPECT_EQ(canary.memory.segment, Segment::fs);
    EXPECT_EQ(canary.memory.base, Reg::none);
    EXPECT_EQ(canary.memory.disp, 0x28);

    Instruction indexed = instruction("4a 8b 44 e5 f8"); // mov -8(%rbp,%r12,8), %rax
    EXPECT_EQ(indexed.memory.base, Reg::rbp);
    EXPECT_EQ(indexed.memory.index, Reg::r12);
    EXPECT_EQ(indexed.memory.scale, 8);
    EXPECT_EQ(indexed.memory.disp, -8);
}

TEST(Decode, NamesRegistersReadAndWritten)
{
    auto bit = [](Reg reg) { return 1U << static_cast<unsigned>(reg); };
    Instruction add = instruction("4801d8"); // add %rbx, %rax
    EXPECT_EQ(add.reads, bit(Reg::rax) | bit(Reg::rbx));
    EXPECT_EQ(add.writes, bit(Reg::rax));
    Instruction push = instruction("4157"); // push %r15
    EXPECT_EQ(push.reads, bit(Reg::rsp) | bit(Reg::r15));
    EXPECT_EQ(push.writes, bit(Reg::rsp));
    Instruction call = instruction("0f05"); // syscall
    EXPECT_EQ(call.writes, bit(Reg::rax) | bit(Reg::rcx) | bit(Reg::r11));
}

TEST(Decode, SeesHighByteRegistersOnlyWithoutRex)
{
    EXPECT_EQ(instruction("88e0").operands[1].kind, Operand::high_byte); // mov %ah, %al
    Instruction low = instruction("4088e0"); // mov %spl, %al
    EXPECT_EQ(low.operands[1].kind, Operand::reg);
    EXPECT_EQ(low.operands[1].number, Reg::rsp);
}

} // namespace
