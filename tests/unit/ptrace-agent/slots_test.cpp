// SPDX-License-Identifier: MIT
// Tests slots, where threads of a target run copies of displaced instructions. This
// process is the target.
#include "own_page.hpp"
#include "ptrace-agent/address_space.hpp"

#include <array>
#include <gtest/gtest.h>
#include <unistd.h>

namespace dt::agent {
namespace {

TEST(Slots, AreGivenToOneThreadAtATime)
{
    Slots slots;
    EXPECT_FALSE(slots.has_free(1));
    slots.add_page(TargetAddr{0x1000}, 2 * slot_bytes);
    const TargetAddr first = slots.of(1), second = slots.of(2);
    EXPECT_EQ(slots.of(1), first);
    EXPECT_NE(first, second);
    EXPECT_TRUE(slots.contain(first));
    EXPECT_TRUE(slots.contain(second + (slot_bytes - 1)));
    EXPECT_FALSE(slots.contain(TargetAddr{0x1000 + 2 * slot_bytes}));
    EXPECT_TRUE(slots.has_free(2)); // thread 2 has a slot already
    EXPECT_FALSE(slots.has_free(3));
    slots.free(1);
    EXPECT_TRUE(slots.has_free(3));
    EXPECT_EQ(slots.of(3), first);
}

TEST(Slots, CopyAnInstructionThatContinuesAfterTheOriginal)
{
    OwnPage text, page;
    TracepointTable table;
    AddressSpace space(getpid(), table);
    const std::array code{std::byte{0xb8}, std::byte{7},    std::byte{0},
                          std::byte{0},    std::byte{0},     // mov $7,%eax
                          std::byte{0x83}, std::byte{0xc0},  // add $35,%eax
                          std::byte{35},   std::byte{0xc3}}; // ret
    ASSERT_TRUE(space.write_text(text.at(), code));
    const auto mov = x86_64.decode(code, text.at());
    ASSERT_TRUE(mov);
    EXPECT_FALSE(space.slots.copy(space, *mov)); // no slot has been added yet
    space.slots.add_page(page.at(), slot_bytes);

    const auto copy = space.slots.copy(space, *mov);
    ASSERT_TRUE(copy);
    EXPECT_EQ(reinterpret_cast<int (*)()>(copy->value)(), 42);
    ASSERT_NE(space.slots.copied_to(*copy), nullptr);
    EXPECT_EQ(space.slots.copied_to(*copy)->at, text.at());
    EXPECT_FALSE(space.slots.has_free(1)); // the copy occupies the only slot
    EXPECT_EQ(space.slots.copy(space, *mov), copy);
    auto other = *mov;
    other.bytes[1] = std::byte{8};
    EXPECT_FALSE(space.slots.copy(space, other));
}

} // namespace
} // namespace dt::agent
