// SPDX-License-Identifier: MIT
#include "bytes.hpp"

using namespace dt;
using namespace dt::test;

namespace {

Displaced plan(const std::string& hex)
{
    return x86_64.plan_displaced(instruction(hex));
}

TEST(Displaced, RefusesByNameWhatCannotRunElsewhere)
{
    const std::pair<const char*, const char*> table[] = {
        {"cc", "int3"},
        {"cd80", "int n"},
        {"f1", "int1"},
        {"0fb9c0", "ud1"},
        {"ec", "port"},
        {"6c", "port"},
        {"fa", "cli"},
        {"cb", "far return"},
        {"48cf", "interrupt"},
        {"ff28", "far jump"},
        {"ff18", "far call"},
        {"8ed0", "mov to ss"},
        {"c7f800000000", "transaction"},
        {"c6f800", "transaction"},
        {"0f01d5", "transaction"},
        {"0f34", "sysenter"},
        {"3e2e90", "two segment"},
        {"6465488b00", "two segment"},
    };
    for (const auto& [hex, reason] : table) {
        Displaced refused = plan(hex);
        EXPECT_EQ(refused.how, Displaced::refused) << hex;
        EXPECT_NE(refused.reason.find(reason), std::string_view::npos)
            << hex << ": " << refused.reason;
    }
}

TEST(Displaced, EmulatesWhateverDependsOnRipAndTheUsualPrologue)
{
    for (const char* hex : {"e800000000",
                            "ff15 00000000",
                            "ffd0",
                            "e900000000",
                            "ebfe",
                            "ffe0",
                            "ff2500000000",
                            "3effe0",
                            "f2e900000000",
                            "7400",
                            "0f8400000000",
                            "c3",
                            "c20800",
                            "f3c3",
                            "f2c3",
                            "e000",
                            "e100",
                            "e200",
                            "e300",
                            "67e300",
                            "488d0500000000",
                            "488b0500000000",
                            "55",
                            "4157",
                            "6a01",
                            "6800010000",
                            "5d",
                            "4889e5",
                            "4883ec18",
                            "4881ec00010000",
                            "4883c418",
                            "f30f1efa",
                            "90",
                            "0f1f440000",
                            "488d442408",
                            "c9",
                            "31c0",
                            "85c0",
                            "4839d8",
                            "64488b042528000000",
                            "4889442408",
                            "4989f8",
                            "4154",
                            "53",
                            "b801000000",
                            "0fb6c0",
                            "4863ff",
                            "0f94c0",
                            "480f44c1",
                            "8b07"})
        EXPECT_EQ(plan(hex).how, Displaced::emulate) << hex;
}

TEST(Displaced, CopiesStoresThatOtherThreadsMaySee)
{
    for (const char* hex :
         {"890500000000", "48894708", "f00fb10f", "4801 07", "ff07", "87 07"})
        EXPECT_EQ(plan(hex).how, Displaced::out_of_line) << hex;
}

TEST(Displaced, CopiesTrapsWhoseExceptionIsReportedAtTheirOwnAddress)
{
    EXPECT_EQ(plan("0f0b").how, Displaced::out_of_line); // ud2
    EXPECT_EQ(plan("f4").how, Displaced::out_of_line);   // hlt
}

TEST(Displaced, GivesRipRelativeCopiesASpareRegister)
{
    struct Row {
        const char* original;
        const char* copy;
        Reg spare;
    };
    const Row table[] = {
        {"48890510000000", "48898610000000", Reg::rsi}, // mov %rax, x(%rip)
        {"48893510000000", "4889b710000000", Reg::rdi}, // mov %rsi, x(%rip)
        // mov %rax, x(%rip) with REX.B, which has no effect on an operand with %rip
        {"49890510000000", "48898610000000", Reg::rsi},
        {"660f6f0510000000", "660f6f8610000000", Reg::rsi},     // movdqa
        {"c5fe6f0511000000", "c5fe6f8611000000", Reg::rsi},     // VEX with two bytes
        {"c4e24d3a0511000000", "c4e24d3a8711000000", Reg::rdi}, // vvvv is 6 (rsi)
        {"62f1fe486f0511000000", "62f1fe486f8611000000", Reg::rsi}, // EVEX
        {"6291fe486f0511000000", "62f1fe486f8611000000",
         Reg::rsi}, // EVEX.X and EVEX.B are cleared
    };
    for (const Row& row : table) {
        Displaced out = plan(row.original);
        ASSERT_EQ(out.how, Displaced::out_of_line) << row.original;
        std::vector<std::byte> copy(out.copy.begin(),
                                    out.copy.begin() + out.copy_length);
        EXPECT_EQ(copy, bytes_of(row.copy)) << row.original;
        EXPECT_EQ(out.spares[0].reg, row.spare) << row.original;
        EXPECT_EQ(out.spares[0].value, 0x401000 + out.length) << row.original;
    }
}

TEST(Displaced, PutsTrapsBehindTheCopy)
{
    Displaced out = plan("f3a4");
    EXPECT_TRUE(out.run_to_trap);
    for (std::size_t i = out.copy_length; i < slot_bytes; ++i)
        EXPECT_EQ(out.copy[i], std::byte{0xcc});
}

TEST(Displaced, RunsFlagsImagesAndStringsToTheTrap)
{
    EXPECT_TRUE(plan("9d").run_to_trap);
    EXPECT_TRUE(plan("669c").run_to_trap);
    EXPECT_TRUE(plan("f3ab").run_to_trap);
    EXPECT_TRUE(plan("0f05").run_to_trap);
    EXPECT_FALSE(plan("0fa2").run_to_trap);
}

TEST(Displaced, ComesBackFromTheSlotByStepTrapAndFault)
{
    Displaced out = plan("48890510000000");
    const TargetAddr slot{0x7f0000000000};
    Registers before;
    before[Reg::rsi] = 0x1234;
    before.rip = 0x401000;

    // The thread stops after the copy, or one byte later, after the trap byte.
    for (std::uint64_t at : {7U, 8U}) {
        Registers regs = before;
        SlotRun run = prepare_out_of_line(out, slot, regs);
        EXPECT_EQ(regs.rip, slot.value);
        EXPECT_EQ(regs[Reg::rsi], 0x401007U);
        regs.rip += at;
        EXPECT_EQ(finish_out_of_line(out, run, regs), SlotEnd::finished);
        EXPECT_EQ(regs.rip, 0x401007U);
        EXPECT_EQ(regs[Reg::rsi], 0x1234U);
    }
    Registers regs = before;
    SlotRun run = prepare_out_of_line(out, slot, regs);
    EXPECT_EQ(original_address(out, run, slot), TargetAddr{0x401000});
    EXPECT_EQ(original_address(out, run, slot + 7), TargetAddr{0x401007});
    EXPECT_EQ(original_address(out, run, TargetAddr{5}), TargetAddr{5});
    EXPECT_EQ(finish_out_of_line(out, run, regs), SlotEnd::unfinished); // faulted
    EXPECT_EQ(regs, before);

    regs.rip = 0x500000; // as after sigreturn(2) or execve(2)
    EXPECT_EQ(finish_out_of_line(out, run, regs), SlotEnd::elsewhere);
    EXPECT_EQ(regs.rip, 0x500000U);
}

TEST(Displaced, MakesTheAccessOfAFaultingCallNatively)
{
    Instruction call = instruction("e800010000");
    Registers regs;
    regs.rip = 0x401000;
    regs[Reg::rsp] = 0x7ffc0000;
    Registers before = regs;
    SmallMemory memory;
    Emulation did = x86_64.emulate(call, regs, memory);
    ASSERT_EQ(did.outcome, Emulation::fault);
    EXPECT_EQ(regs, before);
    EXPECT_EQ(did.memory_fault.address, TargetAddr{0x7ffbfff8});
    EXPECT_TRUE(did.memory_fault.write);
    EXPECT_EQ(did.memory_fault.value, 0x401005U);

    Displaced access = x86_64.plan_after_fault(call, did.memory_fault);
    EXPECT_TRUE(access.access_only);
    std::vector<std::byte> copy(access.copy.begin(),
                                access.copy.begin() + access.copy_length);
    EXPECT_EQ(copy, bytes_of("48897d00")); // mov %rdi, 0(%rbp)
    SlotRun run = prepare_out_of_line(access, TargetAddr{0x9000}, regs);
    EXPECT_EQ(regs[Reg::rbp], 0x7ffbfff8U);
    EXPECT_EQ(regs[Reg::rdi], 0x401005U);
    regs.rip += access.copy_length;
    EXPECT_EQ(finish_out_of_line(access, run, regs), SlotEnd::unfinished);
    EXPECT_EQ(regs, before);
}

} // namespace
