// SPDX-License-Identifier: MIT
// Tests the tracepoints of an address space, with this process as the target.
#include "own_page.hpp"
#include "ptrace-agent/address_space.hpp"

#include <array>
#include <gtest/gtest.h>
#include <unistd.h>

namespace dt::agent {
namespace {

constexpr std::byte nop{0x90}, trap{0xcc}, other{0xf4};

// Text of six nops, and tracepoints at the first, third and fifth of them.
class TracepointsOfText : public testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_TRUE(
            space.write_text(page.at(), std::array{nop, nop, nop, nop, nop, nop}));
        for (std::size_t i : {4, 0, 2}) {
            const auto insn = x86_64.decode(std::array{nop}, page.at() + i);
            ASSERT_TRUE(insn);
            all.push_back(&space.tracepoints.add(*insn));
        }
    }
    std::array<std::byte, 6> text() const
    {
        std::array<std::byte, 6> now{};
        EXPECT_TRUE(space.read_text(page.at(), now));
        return now;
    }

    OwnPage page;
    TracepointTable table;
    AddressSpace space{getpid(), table};
    std::vector<Tracepoint*> all; // at offsets 4, 0, 2
};

TEST_F(TracepointsOfText, ArePlantedAndRestored)
{
    EXPECT_EQ(space.tracepoints.size(), 3u);
    EXPECT_EQ(space.tracepoints.all(), (std::vector{all[1], all[2], all[0]}));
    EXPECT_TRUE(space.tracepoints.write_breakpoints(all).empty());
    EXPECT_EQ(text(), (std::array{trap, nop, trap, nop, trap, nop}));
    std::array<std::byte, 6> original{};
    EXPECT_TRUE(space.read_original(page.at(), original));
    EXPECT_EQ(original, (std::array{nop, nop, nop, nop, nop, nop}));
    EXPECT_TRUE(space.tracepoints.restore_originals(all).empty());
    EXPECT_EQ(text(), original);
    EXPECT_FALSE(all[0]->written);
}

TEST_F(TracepointsOfText, LeaveBytesAloneThatAnotherDebuggerHasWritten)
{
    ASSERT_TRUE(space.write_text(page.at(), std::array{other}));
    EXPECT_EQ(space.tracepoints.write_breakpoints(all), std::vector{all[1]});
    EXPECT_EQ(text(), (std::array{other, nop, trap, nop, trap, nop}));
    ASSERT_TRUE(space.write_text(page.at() + 2, std::array{other}));
    EXPECT_EQ(space.tracepoints.restore_originals({all[0], all[2]}),
              std::vector{all[2]});
    EXPECT_EQ(text(), (std::array{other, nop, other, nop, nop, nop}));
}

TEST_F(TracepointsOfText, AreListedWithoutAJumpUntilTheyHaveOne)
{
    EXPECT_EQ(space.tracepoints.without_jump().size(), 3u);
    all[1]->site = 7;
    EXPECT_EQ(space.tracepoints.without_jump(), (std::vector{all[2], all[0]}));
    EXPECT_EQ(space.tracepoints.without_jump(page.at() + 3, page.at() + 6),
              std::vector{all[0]});
    all[1]->site.reset();
    EXPECT_TRUE(space.tracepoints.write_breakpoints({all[1]}).empty());
    EXPECT_EQ(space.tracepoints.without_jump().size(), 3u);
    space.tracepoints.forget(*all[2]);
    EXPECT_EQ(space.tracepoints.without_jump(), (std::vector{all[1], all[0]}));
    EXPECT_EQ(space.tracepoints.find(page.at() + 2), nullptr);
}

} // namespace
} // namespace dt::agent
