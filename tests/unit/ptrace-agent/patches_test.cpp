// SPDX-License-Identifier: MIT
// Tests Patches, the list of the jumps and trampolines of an address space.
#include "ptrace-agent/plant/patches.hpp"

#include <gtest/gtest.h>

namespace dt::agent {
namespace {

TEST(Patches, RequestTheLargeAreaAgainAfterTheirAreasAreUnmapped)
{
    Patches patches;
    patches.areas.emplace_back(TargetAddr{0x10000}, 0x1000);
    patches.common_areas.insert(TargetAddr{0x400000});
    patches.forget_all();
    EXPECT_TRUE(patches.areas.empty());
    EXPECT_TRUE(patches.common_areas.empty());
}

} // namespace
} // namespace dt::agent
