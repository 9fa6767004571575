// SPDX-License-Identifier: MIT
// Tests the emulation of single instructions. A fault must not change any register.
#include "bytes.hpp"

using namespace dt;
using namespace dt::test;

namespace {

class Emulate : public testing::Test {
protected:
    Emulation::Outcome run(const std::string& hex, std::uint64_t at = 0x401000)
    {
        regs_.rip = at;
        return x86_64.emulate(instruction(hex, at), regs_, memory_).outcome;
    }
    void SetUp() override
    {
        memory_.map(0x8000, std::vector<std::byte>(64));
        regs_[Reg::rsp] = 0x8020;
    }
    Registers regs_;
    SmallMemory memory_;
};

TEST_F(Emulate, CallPushesTheOriginalReturnAddress)
{
    ASSERT_EQ(run("e800010000"), Emulation::done);
    EXPECT_EQ(regs_.rip, 0x401105U);
    EXPECT_EQ(regs_[Reg::rsp], 0x8018U);
    EXPECT_EQ(memory_.word(0x8018), 0x401005U);
}

TEST_F(Emulate, CallThroughTheStackPointerReadsBeforeItPushes)
{
    memory_.map_word(0x8028, 0x1234);
    ASSERT_EQ(run("ff542408"), Emulation::done); // call *8(%rsp)
    EXPECT_EQ(regs_.rip, 0x1234U);
    EXPECT_EQ(memory_.word(0x8018), 0x401004U);
}

TEST_F(Emulate, PushAndPopOfTheStackPointerKeepTheOrderOfTheManual)
{
    ASSERT_EQ(run("54"), Emulation::done); // pushes the old value of rsp
    EXPECT_EQ(memory_.word(0x8018), 0x8020U);
    ASSERT_EQ(run("5c"), Emulation::done); // rsp becomes the popped value
    EXPECT_EQ(regs_[Reg::rsp], 0x8020U);
}

TEST_F(Emulate, RetWithACountDropsArguments)
{
    memory_.map_word(0x8020, 0x55aa);
    ASSERT_EQ(run("c21000"), Emulation::done);
    EXPECT_EQ(regs_.rip, 0x55aaU);
    EXPECT_EQ(regs_[Reg::rsp], 0x8038U);
}

TEST_F(Emulate, ReadsTheCanaryThroughTheSegmentBase)
{
    regs_.fs_base = 0x8000;
    memory_.map_word(0x8028, 0xc0ffee);
    ASSERT_EQ(run("64488b042528000000"), Emulation::done);
    EXPECT_EQ(regs_[Reg::rax], 0xc0ffeeU);
}

TEST_F(Emulate, RipRelativeMeansTheOriginalPlace)
{
    ASSERT_EQ(run("488d05f0ffffff", 0x7f0012345000), Emulation::done);
    EXPECT_EQ(regs_[Reg::rax], 0x7f0012344ff7U);
}

TEST_F(Emulate, AFaultLeavesRegistersAndMemoryAlone)
{
    regs_[Reg::rsp] = 0x100;
    regs_[Reg::rbp] = 0x200;
    for (const char* hex :
         {"55", "5d", "c3", "c9", "e800000000", "488b4508", "48894508"}) {
        Registers before = regs_;
        before.rip = 0x401000;
        EXPECT_EQ(run(hex), Emulation::fault) << hex;
        EXPECT_EQ(regs_, before) << hex;
    }
}

TEST_F(Emulate, SaysThatItCannotWhereThePlanSaysCopy)
{
    for (const char* hex :
         {"0f05", "f3a4", "48894708", "0fa2", "9d", "660f6fc1", "cc"}) {
        Registers before = regs_;
        before.rip = 0x401000;
        EXPECT_EQ(run(hex), Emulation::cannot) << hex;
        EXPECT_EQ(regs_, before) << hex;
    }
}

} // namespace
