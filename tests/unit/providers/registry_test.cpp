// SPDX-License-Identifier: MIT
// The table of all probes.
#include "libdtrace/providers/registry.hpp"

#include <gtest/gtest.h>

namespace {

using namespace dt;
using Ids = std::vector<std::uint32_t>;

TEST(Registry, IdsCountFromOneAndAKnownNameKeepsItsId)
{
    Registry registry;
    EXPECT_EQ(registry.add(nullptr, "p", "m", "f", "entry"), 1U);
    EXPECT_EQ(registry.add(nullptr, "p", "m", "f", "return"), 2U);
    EXPECT_EQ(registry.add(nullptr, "p", "m", "f", "entry"), 1U);
    EXPECT_EQ(registry.size(), 2U);
    EXPECT_EQ(registry.find("p", "m", "f", "return"), 2U);
    EXPECT_EQ(registry.find("p", "m", "f", "retur"), 0U);
    EXPECT_FALSE(registry.has(0));
    EXPECT_TRUE(registry.has(2));
    EXPECT_FALSE(registry.has(3));
}

TEST(Registry, NamesThatDifferOnlyInWhereAPartEndsAreDifferent)
{
    Registry registry;
    EXPECT_EQ(registry.add(nullptr, "ab", "c", "", "d"), 1U);
    EXPECT_EQ(registry.add(nullptr, "a", "bc", "", "d"), 2U);
    EXPECT_EQ(registry.add(nullptr, "ab", "", "c", "d"), 3U);
    EXPECT_EQ(registry.add(nullptr, "d", "c", "", "ab"), 4U);
    EXPECT_EQ(registry.find("a", "bc", "", "d"), 2U);
    EXPECT_EQ(registry.find("", "abc", "", "d"), 0U);
}

TEST(Registry, AnEmptyPartMatchesAnythingAndGlobsMatchInEachPart)
{
    Registry registry;
    registry.add(nullptr, "dtrace", "", "", "BEGIN");
    registry.add(nullptr, "pid1", "libc.so.6", "malloc", "entry");
    registry.add(nullptr, "pid1", "libc.so.6", "free", "entry");
    registry.add(nullptr, "pid1", "libm.so.6", "sin", "return");
    EXPECT_EQ(registry.match("", "", "malloc", ""), Ids{2});
    EXPECT_EQ(registry.match("pid*", "libc*", "", "e?try"), (Ids{2, 3}));
    EXPECT_EQ(registry.match("", "", "[sf]*", ""), (Ids{3, 4}));
    EXPECT_EQ(registry.match("pid1", "libc.so.6", "mal", "entry"), Ids{});
    // Nothing named at all: probes that are somewhere.
    EXPECT_EQ(registry.match("", "", "", ""), (Ids{2, 3, 4}));
    EXPECT_EQ(registry.match("*", "", "", "BEGIN"), Ids{1});
}

TEST(Registry, AHundredThousandProbesAreFoundAgain)
{
    Registry registry;
    for (int i = 0; i < 100'000; i++)
        registry.add(nullptr, "pid1", "node", "f" + std::to_string(i), "entry");
    EXPECT_EQ(registry.find("pid1", "node", "f99999", "entry"), 100'000U);
    EXPECT_EQ(registry.add(nullptr, "pid1", "node", "f7", "entry"), 8U);
}

} // namespace
