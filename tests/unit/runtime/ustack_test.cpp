// SPDX-License-Identifier: MIT
// Tests stacks that the runtime walks with the agent's rules, and stacks that only the
// agent can walk.
#include "tests/unit/runtime/in_process.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace runtime_test;

namespace {

// A site that is reached while %rbp points into a stack with the return addresses
// `first`, `second` and `third`.
class Stack : public testing::Test {
protected:
    static constexpr std::uint64_t first = 0x11111, second = 0x22222, third = 0x33333;

    void SetUp() override
    {
        runtime.upcall = [this](dt_rt_upcall& call) {
            n_asked += call.op == DT_RT_UP_USTACK ? 1 : 0;
            call.value = 0;
            return 0;
        };
        char local;
        auto page = reinterpret_cast<std::uint64_t>(&local) & ~0xfffull;
        runtime.add_range(reinterpret_cast<void*>(page - 0x10000), 0x12000);
    }

    void add(dt_rt_rule rule)
    {
        std::uint32_t slot = dt_rt_rule_slot(rule.at);
        while (runtime.config().rules[slot].at != 0)
            slot = (slot + 1) & (DT_RT_MAX_RULES - 1);
        runtime.config().rules[slot] = rule;
    }
    // Returns the rule for code that has executed `push %rbp; mov %rsp,%rbp`.
    static dt_rt_rule by_frame_pointer(std::uint64_t at)
    {
        return {at, 16, -16, DT_RT_FROM_RBP, DT_RT_FROM_CFA};
    }
    static dt_rt_rule end_at(std::uint64_t at) { return {at, 0, 0, 0, 0}; }
    static std::uint64_t site() { return reinterpret_cast<std::uint64_t>(probed_work); }

    std::vector<std::uint64_t> fire(const void* rbp)
    {
        Registers registers{};
        registers.rflags = 0x202;
        registers.rbp = reinterpret_cast<std::uint64_t>(rbp);
        with_registers(&registers, probed);
        auto record = runtime.session.records().at(0);
        std::vector<std::uint64_t> pcs;
        for (unsigned i = 1; i <= 4 && record.u64(8 * i) != 0; ++i)
            pcs.push_back(record.u64(8 * i));
        return pcs;
    }

    InProcess runtime{"pid1:a.out:work:entry { ustack(4); }"};
    Function probed = runtime.probed({{"pid1:a.out:work:entry"}},
                                     reinterpret_cast<const void*>(probed_work));
    unsigned n_asked = 0;
};

std::uint64_t address(const void* at)
{
    return reinterpret_cast<std::uint64_t>(at);
}

using Pcs = std::vector<std::uint64_t>;

} // namespace

TEST_F(Stack, IsWalkedByTheRulesOfItsPlaces)
{
    std::uint64_t stack[64]{};
    stack[10] = address(&stack[20]); // the frame of the site's function
    stack[11] = first;
    stack[20] = address(&stack[40]); // the frame of the first caller
    stack[21] = second;
    // The second caller's frame consists of 8 bytes and this return address.
    stack[23] = third;
    add(by_frame_pointer(site()));
    add(by_frame_pointer(first - 1));
    add({second - 1, 16, 0, DT_RT_FROM_RSP, DT_RT_FROM_NONE});
    add(end_at(third - 1));
    EXPECT_EQ(fire(&stack[10]), (Pcs{site(), first, second, third}));
    EXPECT_EQ(n_asked, 0u);
}

TEST_F(Stack, EndsAtAReturnAddressOfZero)
{
    std::uint64_t stack[64]{};
    stack[10] = address(&stack[20]);
    stack[11] = first;
    add(by_frame_pointer(site()));
    add(by_frame_pointer(first - 1));
    EXPECT_EQ(fire(&stack[10]), (Pcs{site(), first}));
    EXPECT_EQ(n_asked, 0u);
}

TEST_F(Stack, IsNoDeeperThanWasAskedForAndNeedsNoRuleBehindThat)
{
    std::uint64_t stack[64]{};
    for (int i = 10; i < 60; i += 10) {
        stack[i] = address(&stack[i + 10]);
        stack[i + 1] = first + static_cast<unsigned>(i);
        add(by_frame_pointer(first + static_cast<unsigned>(i) - 1));
    }
    // Remove the rule for the fourth frame.
    runtime.config().rules[dt_rt_rule_slot(first + 29)] = {};
    add(by_frame_pointer(site()));
    EXPECT_EQ(fire(&stack[10]), (Pcs{site(), first + 10, first + 20, first + 30}));
    EXPECT_EQ(n_asked, 0u);
}

TEST_F(Stack, FollowsACfaThatWasSavedAndAFramePointerSavedElsewhere)
{
    std::uint64_t stack[64]{};
    stack[10] = address(&stack[30]); // the caller's %rbp, at %rbp
    stack[8] = address(&stack[21]);  // the CFA, at %rbp - 16
    stack[20] = first;               // the return address, at CFA - 8
    stack[31] = second;
    add({site(), -16, 0, DT_RT_FROM_AT_RBP, DT_RT_FROM_RBP});
    add(by_frame_pointer(first - 1));
    add(end_at(second - 1));
    EXPECT_EQ(fire(&stack[10]), (Pcs{site(), first, second}));
    EXPECT_EQ(n_asked, 0u);
}

TEST_F(Stack, WithoutUnwindInformationFollowsTheFramePointerForABit)
{
    std::uint64_t stack[64]{};
    auto guess = [](std::uint64_t at) {
        return dt_rt_rule{at, 0, 0, DT_RT_FROM_GUESS, DT_RT_FROM_NONE};
    };
    stack[10] = address(&stack[20]);
    stack[11] = first;
    stack[20] = 0;
    stack[21] = second;
    add(guess(site()));
    add(guess(first - 1));
    add(guess(second - 1));
    EXPECT_EQ(fire(&stack[10]), (Pcs{site(), first, second}));
    EXPECT_EQ(n_asked, 0u);
    // If %rbp is below the stack pointer or too far above it, the runtime makes an
    // upcall.
    EXPECT_TRUE(fire(reinterpret_cast<void*>(address(&stack[0]) + 0x6000)).empty());
    EXPECT_TRUE(fire(reinterpret_cast<void*>(address(&stack[0]) - 0x6000)).empty());
    EXPECT_EQ(n_asked, 2u);
}

TEST_F(Stack, IsAskedOfTheAgentWhereAPlaceHasNoRule)
{
    std::uint64_t stack[64]{};
    stack[10] = address(&stack[20]);
    stack[11] = first;
    add(by_frame_pointer(site()));
    runtime.upcall = [this](dt_rt_upcall& call) {
        ++n_asked;
        auto* pcs = reinterpret_cast<std::uint64_t*>(call.a[0]);
        EXPECT_EQ(call.a[1], 4u);
        pcs[0] = second;
        pcs[1] = third;
        call.value = 2;
        return 0;
    };
    EXPECT_EQ(fire(&stack[10]), (Pcs{second, third}));
    EXPECT_EQ(n_asked, 1u);
}

TEST_F(Stack, OfOneFrameAloneIsAskedOfTheAgent)
{
    add(end_at(site()));
    std::uint64_t stack[4]{};
    EXPECT_TRUE(fire(stack).empty());
    EXPECT_EQ(n_asked, 1u);
}

TEST_F(Stack, IsAskedOfTheAgentWhileRulesAreForgotten)
{
    std::uint64_t stack[64]{};
    stack[10] = address(&stack[20]);
    stack[11] = first;
    add(by_frame_pointer(site()));
    add(end_at(first - 1));
    runtime.config().rules_seq = 1;
    EXPECT_TRUE(fire(&stack[10]).empty());
    EXPECT_EQ(n_asked, 1u);
    runtime.config().rules_seq = 2;
    EXPECT_EQ(fire(&stack[10]), (Pcs{site(), first}));
    EXPECT_EQ(n_asked, 1u);
}

TEST_F(Stack, ThatLeavesItsMemoryOrGoesDownIsAskedOfTheAgent)
{
    static std::uint64_t elsewhere[64];
    elsewhere[11] = first;
    add(by_frame_pointer(site()));
    add(end_at(first - 1));
    EXPECT_TRUE(fire(&elsewhere[10]).empty());
    EXPECT_TRUE(fire(nullptr).empty());
    EXPECT_TRUE(fire(reinterpret_cast<void*>(~7ull)).empty());
    // This %rbp is far below the stack pointer at the site.
    char local;
    EXPECT_TRUE(fire(reinterpret_cast<void*>(address(&local) - 0x8000)).empty());
    EXPECT_EQ(n_asked, 4u);
    EXPECT_EQ(runtime.n_faults, 0u);
}

TEST_F(Stack, OnAStackThatTheAgentDoesNotKnowIsAskedOfIt)
{
    std::uint64_t stack[64]{};
    stack[11] = first;
    add(by_frame_pointer(site()));
    add(end_at(first - 1));
    runtime.config().n_ranges = 0;
    EXPECT_TRUE(fire(&stack[10]).empty());
    EXPECT_EQ(n_asked, 1u);
}

TEST_F(Stack, WithAWordThatCannotBeReadIsAskedOfTheAgent)
{
    // This memory is the stack of a thread. It is in the table of ranges, but one of
    // its pages cannot be read.
    constexpr std::size_t bytes = 1 << 20, page = 4096;
    auto* memory = static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    ASSERT_EQ(mprotect(memory + bytes - page, page, PROT_NONE), 0);
    runtime.config().n_ranges = 0;
    runtime.add_range(memory, bytes);
    add({site(), bytes / 2 - 64, 0, DT_RT_FROM_RSP, DT_RT_FROM_NONE});
    add(end_at(first - 1));
    with_stack_at(memory + bytes / 2, probed);
    EXPECT_EQ(n_asked, 1u);
    EXPECT_EQ(runtime.n_faults, 1u);
    munmap(memory, bytes);
}

TEST_F(Stack, WithoutAnAgentThatAnswersIsAFault)
{
    runtime.upcall = [](dt_rt_upcall&) { return -1; };
    std::uint64_t stack[4]{};
    Registers registers{};
    registers.rflags = 0x202;
    registers.rbp = address(stack);
    with_registers(&registers, probed);
    auto record = runtime.session.records().at(0);
    EXPECT_EQ(record.error().fault, std::uint32_t{DTRACEFLT_BADSTACK});
}
