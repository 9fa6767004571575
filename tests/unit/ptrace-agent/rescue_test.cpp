// SPDX-License-Identifier: MIT
// Tests the limits of the handler that restores a target's text after the agent's
// death. This process is the target.
#include "ptrace-agent/address_space.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dt::agent {
namespace {

// The pages of slots are not accessed, so their addresses need not be mapped.
TEST(Rescue, ReportsTheSlotsThatItsHandlerDoesNotKnow)
{
    const std::size_t bytes = Rescue::region_bytes();
    void* region = mmap(nullptr, bytes, PROT_READ | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(region, MAP_FAILED);
    TracepointTable table;
    AddressSpace space(getpid(), table);
    ASSERT_TRUE(space.rescue.install(
        space, TargetAddr{reinterpret_cast<std::uint64_t>(region)}, {}));

    TargetAddr page{0x10000};
    for (std::size_t i = 0; i < max_rescue_pages; ++i, page = page + 0x4000)
        space.rescue.add_slot_page(space, page);
    EXPECT_EQ(space.rescue.take_unknown_slots(), 0u);
    space.rescue.add_slot_page(space, page);
    EXPECT_EQ(space.rescue.take_unknown_slots(), slots_per_page);
    EXPECT_EQ(space.rescue.take_unknown_slots(), 0u);
    munmap(region, bytes);
}

} // namespace
} // namespace dt::agent
