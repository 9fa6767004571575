// SPDX-License-Identifier: MIT
// Tests the table of all probes.
#include "libdtrace/providers/registry.hpp"

#include <deque>
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
    // An empty description matches only probes with a function.
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

TEST(Registry, AProbeOfAnEndedProcessIsRecycledForItsKinAlone)
{
    Registry registry;
    for (int i = 0; i < 1000; i++)
        registry.add(nullptr, "pid1", "libc", "f" + std::to_string(i), "entry");
    registry.recycle("pid9", registry.match("pid1", "", "", ""));
    EXPECT_EQ(registry.add(nullptr, "pid2", "libc", "f7", "entry"), 1001U) << "no kin";
    registry.begin_kin("pid8");
    EXPECT_EQ(registry.add(nullptr, "pid3", "libc", "f7", "entry"), 1002U);
    registry.begin_kin("pid9");
    EXPECT_EQ(registry.add(nullptr, "pid4", "libc", "f7", "return"), 1003U);
    EXPECT_EQ(registry.add(nullptr, "pid4", "libc", "f7", "entry"), 8U);
    EXPECT_EQ(registry.at(8).provider, "pid4");
    EXPECT_EQ(registry.add(nullptr, "pid4", "libc", "f7", "entry"), 8U);
    EXPECT_EQ(registry.add(nullptr, "pid5", "libc", "f7", "entry"), 1004U) << "once";
    // A new process may reuse the pid of an exited process. Its probes have the same
    // names.
    EXPECT_EQ(registry.add(nullptr, "pid1", "libc", "f8", "entry"), 9U);
    EXPECT_EQ(registry.add(nullptr, "pid4", "libc", "f8", "entry"), 1005U);
    EXPECT_EQ(registry.take_renamed(), Ids{8});
    EXPECT_EQ(registry.take_renamed(), Ids{});
}

TEST(Registry, TwoThousandProcessesHaveTheProbesOfFive)
{
    Registry registry;
    registry.begin_kin("pid1");
    constexpr int n_functions = 50, n_processes = 2'000, at_a_time = 5;
    std::deque<std::string> alive;
    for (int process = 0; process < n_processes; process++) {
        alive.push_back("pid" + std::to_string(process + 2));
        for (int i = 0; i < n_functions; i++) {
            const std::string name = "f" + std::to_string(i);
            const std::uint32_t id =
                registry.add(nullptr, alive.back(), "m", name, "entry");
            ASSERT_EQ(registry.find(alive.back(), "m", name, "entry"), id);
            ASSERT_EQ(registry.find(alive.front(), "m", name, "entry") != 0, true);
        }
        if (alive.size() < at_a_time)
            continue;
        registry.recycle("pid1", registry.match(alive.front(), "", "", ""));
        alive.pop_front();
    }
    EXPECT_LE(registry.size(), std::size_t{n_functions} * (at_a_time + 1));
}

} // namespace
