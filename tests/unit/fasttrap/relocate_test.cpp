// SPDX-License-Identifier: MIT
// Tests the relocation of each form of instruction that depends on its address, over
// short and long distances.
#include "bytes.hpp"

#include <cstring>
#include <gtest/gtest.h>

using namespace dt;
using namespace dt::test;

namespace {

constexpr std::uint64_t near_to = 0x501000;
constexpr std::uint64_t far_to = 0x7f0000000000;

std::vector<std::byte> moved(const Instruction& insn, std::uint64_t to)
{
    CodeBuffer out{TargetAddr{to}, {}};
    Result<Ok> done = x86_64.relocate(insn, out);
    EXPECT_TRUE(done) << (done ? "" : done.error().text);
    EXPECT_LE(out.bytes.size(), x86_64.moving(insn).max_bytes);
    return out.bytes;
}

std::vector<std::byte> moved(const std::string& hex, std::uint64_t to = near_to)
{
    return moved(instruction(hex), to);
}

std::string refused(const std::string& hex)
{
    Moving moving = x86_64.moving(instruction(hex));
    EXPECT_EQ(moving.how, Moving::refused);
    return std::string(moving.reason);
}

// By default, each original instruction is at 0x401000.

TEST(Relocate, CopiesWhatDoesNotDependOnItsPlace)
{
    for (const char* hex : {"55", "4889e5", "c3", "f3c3", "c21000", "ffe0", "3effe0",
                            "ff6008", "9c", "9d", "f348ab", "6548330425280000 00",
                            "62f17c48100411", "c5f877", "0f1f4000", "0f0b", "f4"})
        EXPECT_EQ(moved(hex), bytes_of(hex)) << hex;
}

TEST(Relocate, RewritesTheDisplacementOfDataInReach)
{
    // mov 0x1000(%rip),%rax reads from 0x402007, which is -0xff000 from the end of the
    // copy.
    EXPECT_EQ(moved("488b0500100000"), bytes_of("488b05 0010f0ff"));
    // cmpl $1,0(%rip) has its immediate after the displacement.
    EXPECT_EQ(moved("833d0000000001"), bytes_of("833d 0000f0ff 01"));
    // jmp *0x1000(%rip)
    EXPECT_EQ(moved("ff2500100000"), bytes_of("ff25 0010f0ff"));
    // vmovaps and an EVEX load
    EXPECT_EQ(moved("c5f8280500100000"), bytes_of("c5f82805 0010f0ff"));
    EXPECT_EQ(moved("62f17c48280500100000"), bytes_of("62f17c482805 0010f0ff"));
}

TEST(Relocate, RefusesDataOutOfReach)
{
    CodeBuffer out{TargetAddr{far_to}, {}};
    Result<Ok> done = x86_64.relocate(instruction("488b0500100000"), out);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::unsupported);
    // mov 0x1000(%eip),%eax truncates the address to 32 bits, so any copy reaches it.
    EXPECT_EQ(moved("678b0500100000", far_to).size(), 7U);
}

TEST(Relocate, FormsAnAddressThatIsOutOfReachAsAConstant)
{
    // lea 0x1000(%rip),%r10, and its 32- and 16-bit forms
    EXPECT_EQ(moved("4c8d1500100000"), bytes_of("4c8d15 0010f0ff"));
    EXPECT_EQ(moved(instruction("4c8d1500100000", 0x7e0000000000), near_to),
              bytes_of("49ba 07100000007e0000"));
    EXPECT_EQ(moved(instruction("8d0500100000", 0x7e0000000000), near_to),
              bytes_of("b8 06100000"));
    EXPECT_EQ(moved(instruction("668d0500100000", 0x7e0000000000), near_to),
              bytes_of("66b8 0710"));
    EXPECT_EQ(moved(instruction("67488d0500100000", 0x7e0000000000), near_to).size(),
              8U);
}

TEST(Relocate, JumpsToTheOriginalTarget)
{
    EXPECT_EQ(moved("eb10"), bytes_of("e9 0d00f0ff")); // to 0x401012
    EXPECT_EQ(moved("e900010000"), bytes_of("e9 0001f0ff"));
    EXPECT_EQ(moved("f2e900010000"), bytes_of("e9 0101f0ff")); // bnd jmp
    EXPECT_EQ(moved("eb10", far_to), bytes_of("ff2502000000 cccc 1210400000000000"));
}

TEST(Relocate, BranchesOnTheSameCondition)
{
    for (unsigned condition = 0; condition < 16; ++condition) {
        Instruction insn = instruction("7010");
        insn.condition = static_cast<std::uint8_t>(condition);
        std::vector<std::byte> near = moved(insn, near_to);
        EXPECT_EQ(near[1], static_cast<std::byte>(0x80 | condition));
        std::vector<std::byte> far = moved(insn, far_to);
        EXPECT_EQ(far[1], static_cast<std::byte>(0x80 | (condition ^ 1)));
        EXPECT_EQ(far.size(), 24U);
    }
    EXPECT_EQ(moved("7510"), bytes_of("0f85 0c00f0ff"));
    // The prefix is a branch hint, which the copy omits.
    EXPECT_EQ(moved("2e7510"), bytes_of("0f85 0d00f0ff"));
    EXPECT_EQ(moved("0f8500010000"), bytes_of("0f85 0001f0ff"));
    EXPECT_EQ(moved("7510", far_to),
              bytes_of("0f8412000000 ff2504000000 cccccccc 1210400000000000"));
}

TEST(Relocate, TakesLoopsOverAJump)
{
    EXPECT_EQ(moved("e2fe"), bytes_of("e202 eb05 e9 f7ffefff"));
    EXPECT_EQ(moved("e010"), bytes_of("e002 eb05 e9 0900f0ff"));
    EXPECT_EQ(moved("e310"), bytes_of("e302 eb05 e9 0900f0ff"));
    EXPECT_EQ(moved("67e310"), bytes_of("67e302 eb05 e9 0900f0ff")); // jecxz
    EXPECT_EQ(moved("e210", far_to),
              bytes_of("e202 eb14 ff2506000000 cccccccccccc 1210400000000000"));
}

TEST(Relocate, PushesTheOriginalReturnAddress)
{
    EXPECT_EQ(moved("e800010000"), bytes_of("68 05104000 e9 fb00f0ff"));
    // A return address that push cannot sign-extend is stored as a literal.
    EXPECT_EQ(moved(instruction("e800010000", far_to), far_to + 0x1000),
              bytes_of("ff350a000000 e9 faf0ffff cccccccccc 05000000007f0000"));
    EXPECT_EQ(moved("e800010000", far_to),
              bytes_of("68 05104000 ff2505000000 cccccccccc 0511400000000000"));
}

// If the AC flag is set, an unaligned literal would cause SIGBUS.
TEST(Relocate, AlignsLiterals)
{
    const std::uint64_t address = 0x401005;
    for (unsigned i = 0; i < 8; ++i) {
        std::vector<std::byte> jump = moved("eb03", far_to + i);
        std::size_t at = jump.size() - sizeof address;
        EXPECT_EQ((i + at) % 8, 0U);
        EXPECT_EQ(std::memcmp(&jump[at], &address, sizeof address), 0);
        EXPECT_EQ(jump[2], static_cast<std::byte>(at - 6));
        std::vector<std::byte> call =
            moved(instruction("e800010000", far_to), far_to + 0x1000 + i);
        at = call.size() - sizeof address;
        EXPECT_EQ((i + at) % 8, 0U);
        EXPECT_EQ(call[2], static_cast<std::byte>(at - 6));
    }
}

TEST(Relocate, CallsThroughRegistersAndMemory)
{
    EXPECT_EQ(moved("ffd0"), bytes_of("68 02104000 ffe0"));
    EXPECT_EQ(moved("41ffd3"), bytes_of("68 03104000 41ffe3"));
    EXPECT_EQ(moved("3effd0"), bytes_of("68 03104000 3effe0")); // notrack
    EXPECT_EQ(moved("ff5008"), bytes_of("68 03104000 ff6008"));
    EXPECT_EQ(moved("ff1500100000"), bytes_of("68 06104000 ff25 fb0ff0ff"));
    // The push lowers the stack pointer by 8, so the displacement increases by 8.
    EXPECT_EQ(moved("ff542408"), bytes_of("68 04104000 ff642410"));
    EXPECT_EQ(moved("ff1424"), bytes_of("68 03104000 ff642408"));
    EXPECT_EQ(moved("ff54c408"), bytes_of("68 04104000 ff64c410"));
    EXPECT_EQ(moved("64ff542408"), bytes_of("68 05104000 64ff642410"));
    // A base register r12 needs a SIB byte, like rsp. But the push does not change r12.
    EXPECT_EQ(moved("41ff542408"), bytes_of("68 05104000 41ff642408"));
}

TEST(Relocate, RefusesByName)
{
    EXPECT_EQ(refused("ffd4"), "a call to the address in %rsp cannot be moved");
    EXPECT_EQ(refused("ff5424f8"),
              "an indirect call through a pointer below %rsp cannot be moved");
    EXPECT_EQ(refused("67ff542408"), "an indirect call through a pointer at a 32-bit "
                                     "address or far above %rsp cannot be "
                                     "moved");
    EXPECT_EQ(refused("0f05"), "a system call cannot be moved");
    EXPECT_EQ(refused("0f34"), "sysenter and sysexit change the privilege level");
    EXPECT_EQ(refused("c7f800000000"), "transactional memory is not supported");
    EXPECT_EQ(refused("0fffc0"), "ud0 raises an exception");
    EXPECT_EQ(refused("cc"), "int3 is a breakpoint not set by dtrace");
    EXPECT_EQ(refused("cd80"), "int n raises a software interrupt");
    EXPECT_EQ(x86_64.moving(instruction("f30f1efa")).how, Moving::stays);
}

TEST(Relocate, KnowsPadding)
{
    for (const char* hex : {"90", "cc", "6690", "0f1f00", "0f1f4000", "660f1f440000",
                            "662e0f1f840000000000", "6666662e0f1f840000000000",
                            "488d7600", "488db42600000000", "488db600000000", "f390"})
        EXPECT_TRUE(x86_64.is_padding(instruction(hex))) << hex;
    for (const char* hex : {"c3", "4889e5", "488d7601", "488d37", "4190", "f30f1efa"})
        EXPECT_FALSE(x86_64.is_padding(instruction(hex))) << hex;
}

TEST(Relocate, SaysHowToLeaveASequenceInTheMiddle)
{
    Instruction call = instruction("e800010000");
    EXPECT_EQ(x86_64.leave_moved(call, 0)->on, call.at);
    EXPECT_EQ(x86_64.leave_moved(call, 0)->rsp_add, 0);
    EXPECT_EQ(x86_64.leave_moved(call, 5)->on, call.at);
    EXPECT_EQ(x86_64.leave_moved(call, 5)->rsp_add, 8);
    EXPECT_FALSE(x86_64.leave_moved(call, 3));
    Instruction loop = instruction("e210");
    EXPECT_EQ(x86_64.leave_moved(loop, 2)->on, loop.next());
    EXPECT_EQ(x86_64.leave_moved(loop, 4)->on, loop.target);
    EXPECT_FALSE(x86_64.leave_moved(instruction("55"), 1));
}

} // namespace
