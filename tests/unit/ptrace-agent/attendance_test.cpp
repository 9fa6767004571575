// SPDX-License-Identifier: MIT
// Tests which moved instructions may fault. The agent stays attached to a program that
// handles such faults.
#include "ptrace-agent/hold/attendance.hpp"

#include <cstddef>
#include <gtest/gtest.h>
#include <vector>

using namespace dt;

namespace {

bool may_fault(std::vector<int> text)
{
    std::vector<std::byte> bytes;
    for (int byte : text)
        bytes.push_back(static_cast<std::byte>(byte));
    const auto insn = x86_64.decode(bytes, TargetAddr{0x1000});
    EXPECT_TRUE(insn);
    return insn && agent::may_fault(*insn);
}

TEST(Attendance, ExpectsNoFaultOfInstructionsWithoutMemoryOrOnTheStack)
{
    EXPECT_FALSE(may_fault({0x55}));                         // push %rbp
    EXPECT_FALSE(may_fault({0x48, 0x89, 0xe5}));             // mov %rsp,%rbp
    EXPECT_FALSE(may_fault({0x48, 0x83, 0xec, 0x10}));       // sub $16,%rsp
    EXPECT_FALSE(may_fault({0x48, 0x89, 0x5c, 0x24, 0x08})); // mov %rbx,8(%rsp)
    EXPECT_FALSE(may_fault({0x48, 0x8d, 0x47, 0x01}));       // lea 1(%rdi),%rax
    EXPECT_FALSE(may_fault({0x0f, 0x1f, 0x40, 0x00}));       // nopl 0(%rax)
    EXPECT_FALSE(may_fault({0xe8, 0, 0, 0, 0}));             // call
}

TEST(Attendance, ExpectsFaultsOfInstructionsThatAccessMemoryOrDivide)
{
    EXPECT_TRUE(may_fault({0x48, 0x8b, 0x07}));       // mov (%rdi),%rax
    EXPECT_TRUE(may_fault({0x89, 0x7d, 0xec}));       // mov %edi,-20(%rbp)
    EXPECT_TRUE(may_fault({0x48, 0x8b, 0x04, 0xfc})); // mov (%rsp,%rdi,8),%rax
    EXPECT_TRUE(may_fault({0xff, 0x27}));             // jmp *(%rdi)
    EXPECT_TRUE(may_fault({0x48, 0xf7, 0xf1}));       // div %rcx
    EXPECT_TRUE(may_fault({0xf3, 0xa4}));             // rep movsb
}

} // namespace
