// SPDX-License-Identifier: MIT
// Tests how the location of errno is found, with this process as the target.
#include "ptrace-agent/address_space.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <unistd.h>

namespace dt::agent {
namespace {

TEST(ErrnoPlace, IsTheErrnoOfTheThread)
{
    TracepointTable table;
    AddressSpace space(getpid(), table);
    std::uint64_t fs_base = 0;
    asm("mov %%fs:0,%0" : "=r"(fs_base)); // %fs:0 contains the thread pointer
    const auto offset = space.errno_place.offset(space);
    ASSERT_TRUE(offset);
    EXPECT_EQ(fs_base + static_cast<std::uint64_t>(*offset),
              reinterpret_cast<std::uint64_t>(&errno));
    space.errno_place.libraries_changed(); // keeps a known offset
    EXPECT_EQ(space.errno_place.offset(space), offset);
}

} // namespace
} // namespace dt::agent
