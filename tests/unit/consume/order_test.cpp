// SPDX-License-Identifier: MIT
// Tests that the consumer prints records in chronological order, even if shards stay
// locked.
#include "session.hpp"

#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

using namespace dt;

TEST(Order, MergesShardsByTime)
{
    Session s(3);
    std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    for (int time : {2, 5, 7})
        s.record(epid, bytes_of<std::int32_t>(time), static_cast<std::uint64_t>(time),
                 0);
    for (int time : {1, 6})
        s.record(epid, bytes_of<std::int32_t>(time), static_cast<std::uint64_t>(time),
                 1);
    for (int time : {3, 4, 8})
        s.record(epid, bytes_of<std::int32_t>(time), static_cast<std::uint64_t>(time),
                 2);
    EXPECT_EQ(s.drain(), "1 2 3 4 5 6 7 8 ");
}

TEST(Order, HoldsBackWhatIsNotOlderThanTheRound)
{
    Session s;
    std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    s.now = 5;
    s.record(epid, bytes_of<std::int32_t>(4), 4, 0);
    s.record(epid, bytes_of<std::int32_t>(6), 6, 0);
    EXPECT_EQ(s.drain(DrainKind::Round), "4 ");
    s.record(epid, bytes_of<std::int32_t>(5), 5, 1);
    s.record(epid, bytes_of<std::int32_t>(9), 9, 1);
    s.now = 8;
    EXPECT_EQ(s.drain(DrainKind::Round), "5 6 ");
    EXPECT_EQ(s.drain(DrainKind::Final), "9 ");
    EXPECT_EQ(s.drain(DrainKind::Final), "");
}

TEST(Order, AShardInUseHoldsTheOthersBackAndThenNoMore)
{
    Session s;
    std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    s.now = 100;
    s.record(epid, bytes_of<std::int32_t>(2), 2, 0);
    s.record(epid, bytes_of<std::int32_t>(1), 1, 1);
    s.shard(1)->lock = static_cast<dt_u32>(getppid());
    EXPECT_EQ(s.drain(DrainKind::Round), "");
    s.shard(1)->lock = 0;
    EXPECT_EQ(s.drain(DrainKind::Round), "1 2 ");
    s.record(epid, bytes_of<std::int32_t>(3), 3, 0);
    s.record(epid, bytes_of<std::int32_t>(4), 4, 1);
    s.shard(1)->lock = static_cast<dt_u32>(getppid());
    s.now = 200;
    s.record(epid, bytes_of<std::int32_t>(150), 150, 0);
    std::string text;
    for (int round = 0; round < 10; round++)
        text += s.drain(DrainKind::Round);
    EXPECT_EQ(text, "3 150 ");
}

// Shards 1 and 2 are locked alternately, each for three rounds at a time.
TEST(Order, ShardsThatAreLockedInTurnsHoldTheOthersBackForFiveRounds)
{
    Session s(3);
    const std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    s.consumer().display().temporal = true;
    std::string text;
    for (int round = 0; round < 40; round++) {
        s.now += 10;
        for (std::uint32_t shard : {0u, 1u, 2u})
            if (s.shard(shard)->lock == 0 || shard == 0)
                s.record(epid, bytes_of<std::int32_t>(round), s.now - 1, shard);
        s.shard(1)->lock = round % 6 < 3 ? 1 : 0;
        s.shard(2)->lock = round % 6 < 3 ? 0 : 1;
        text += s.drain(DrainKind::Round);
        if (round >= 6) { // shard 0's record from five rounds ago must be printed
            EXPECT_NE((" " + text).find(" " + std::to_string(round - 5) + " "),
                      std::string::npos)
                << round << ": " << text;
        }
    }
    int last = 0;
    std::istringstream numbers(text);
    for (int number; numbers >> number; last = number)
        EXPECT_GE(number, last) << "the rows have lost their order";
}

TEST(Order, TheLastRoundSaysThatAShardInUseWasLost)
{
    Session s;
    std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    s.record(epid, bytes_of<std::int32_t>(3), 3, 1);
    s.shard(1)->lock = static_cast<dt_u32>(getppid());
    EXPECT_EQ(s.drain(DrainKind::Final), "");
    ASSERT_EQ(s.complaints.size(), 1u);
    EXPECT_NE(s.complaints[0].find("lost"), std::string::npos);
}

TEST(Order, FullestFollowsTheFillOfTheFullestShard)
{
    Session s;
    std::uint32_t epid = s.printf("x", {});
    EXPECT_EQ(s.consumer().fullest(), 0);
    for (std::size_t i = 0; i < (128u << 10) / sizeof(dt_rechdr); i++)
        s.record(epid, "", i, 1);
    EXPECT_NEAR(s.consumer().fullest(), 0.5, 0.01);
}
