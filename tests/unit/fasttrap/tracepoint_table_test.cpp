// SPDX-License-Identifier: MIT
#include "fasttrap/tracepoint_table.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

using namespace dt;

namespace {

std::atomic<int> n_alive{0};

struct Entry : TableEntry {
    Entry(SpaceId space, std::uint64_t at) : TableEntry(space, TargetAddr{at})
    {
        ++n_alive;
    }
    ~Entry() override
    {
        alive = 0;
        --n_alive;
    }
    std::uint64_t alive = 0x1234567890abcdef;
};

bool add(TracepointTable& table, SpaceId space, std::uint64_t at)
{
    return static_cast<bool>(table.add(std::make_unique<Entry>(space, at)));
}

TEST(TracepointTable, FindsByProcessAndAddress)
{
    TracepointTable table;
    ASSERT_TRUE(add(table, 1, 0x1000));
    ASSERT_TRUE(add(table, 2, 0x1000));
    TracepointTable::ReadLock rcu;
    TableEntry* one = table.find(1, TargetAddr{0x1000});
    TableEntry* two = table.find(2, TargetAddr{0x1000});
    ASSERT_NE(one, nullptr);
    ASSERT_NE(two, nullptr);
    EXPECT_EQ(one->space(), 1);
    EXPECT_EQ(two->space(), 2);
    EXPECT_EQ(table.find(1, TargetAddr{0x1001}), nullptr);
    EXPECT_EQ(table.find(3, TargetAddr{0x1000}), nullptr);
}

TEST(TracepointTable, RefusesASecondTracepointAtAnAddress)
{
    TracepointTable table;
    ASSERT_TRUE(add(table, 1, 0x1000));
    auto again = table.add(std::make_unique<Entry>(1, 0x1000));
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Code::busy);
    EXPECT_EQ(table.size(), 1U);
}

TEST(TracepointTable, KeepsARemovedEntryAliveUntilReclaim)
{
    TracepointTable table;
    ASSERT_TRUE(add(table, 1, 0x1000));
    auto* entry = static_cast<Entry*>(table.find(1, TargetAddr{0x1000}));
    EXPECT_TRUE(table.remove(1, TargetAddr{0x1000}));
    EXPECT_FALSE(table.remove(1, TargetAddr{0x1000}));
    EXPECT_EQ(table.find(1, TargetAddr{0x1000}), nullptr);
    EXPECT_EQ(entry->alive, 0x1234567890abcdefU);
    EXPECT_EQ(n_alive, 1);
    table.reclaim();
    EXPECT_EQ(n_alive, 0);
}

TEST(TracepointTable, GrowsAndWalksOneProcessOnly)
{
    TracepointTable table;
    for (std::uint64_t i = 0; i < 20000; ++i)
        ASSERT_TRUE(add(table, i % 2 == 0 ? 10 : 20, 0x400000 + i));
    std::set<std::uint64_t> seen;
    table.for_each(10, [&](TableEntry& entry) {
        EXPECT_EQ(entry.space(), 10);
        seen.insert(entry.at().value);
    });
    EXPECT_EQ(seen.size(), 10000U);
    EXPECT_EQ(table.remove_space(10), 10000U);
    EXPECT_EQ(table.size(), 10000U);
    EXPECT_EQ(table.size(10), 0U);
    for (std::uint64_t i = 1; i < 20000; i += 2)
        ASSERT_NE(table.find(20, TargetAddr{0x400000 + i}), nullptr);
    EXPECT_EQ(table.find(10, TargetAddr{0x400000}), nullptr);
}

TEST(TracepointTable, FreesEverythingWhenItGoesAway)
{
    {
        TracepointTable table;
        for (std::uint64_t i = 0; i < 100; ++i)
            ASSERT_TRUE(add(table, 1, i));
        table.remove(1, TargetAddr{5});
    }
    EXPECT_EQ(n_alive, 0);
}

TEST(TracepointTable, ReadersNeverSeeAFreedEntry)
{
    TracepointTable table;
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> n_found{0};
    std::atomic<std::uint64_t> n_bad{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&] {
            for (std::uint64_t n = 0; !stop; ++n) {
                TracepointTable::ReadLock rcu;
                auto* entry = static_cast<Entry*>(table.find(1, TargetAddr{n % 64}));
                if (entry == nullptr)
                    continue;
                ++n_found;
                n_bad += entry->alive != 0x1234567890abcdef ? 1 : 0;
            }
        });
    }
    for (int round = 0; round < 200 || (n_found < 1000 && round < 20000); ++round) {
        for (std::uint64_t at = 0; at < 64; ++at)
            ASSERT_TRUE(add(table, 1, at));
        table.remove_space(1);
        table.reclaim();
    }
    stop = true;
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_GT(n_found, 0U);
    EXPECT_EQ(n_bad, 0U);
}

} // namespace
