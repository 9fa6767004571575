// SPDX-License-Identifier: MIT
// Tests a consumer that reads several arenas. Records are merged by time, and
// aggregations and drops are added up.
#include "session.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

using namespace dt;

TEST(Arenas, RecordsOfAllArenasAreMergedByTime)
{
    Session s;
    const std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    const std::size_t second = s.add_arena(), third = s.add_arena();
    auto record = [&](std::size_t arena, int time) {
        s.use_arena(arena);
        s.record(epid, bytes_of<std::int32_t>(time), static_cast<std::uint64_t>(time),
                 time % 2);
    };
    for (int time : {2, 5, 9})
        record(0, time);
    for (int time : {1, 6, 8})
        record(second, time);
    for (int time : {3, 4, 7})
        record(third, time);
    EXPECT_EQ(s.drain(), "1 2 3 4 5 6 7 8 9 ");
}

TEST(Arenas, AShardInUseHoldsBackTheRecordsOfOtherArenas)
{
    Session s;
    const std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    const std::size_t second = s.add_arena();
    s.record(epid, bytes_of<std::int32_t>(2), 2, 0);
    s.use_arena(second);
    s.record(epid, bytes_of<std::int32_t>(1), 1, 1);
    s.shard(1)->lock = static_cast<dt_u32>(getppid());
    EXPECT_EQ(s.drain(DrainKind::Round), "");
    s.shard(1)->lock = 0;
    EXPECT_EQ(s.drain(DrainKind::Round), "1 2 ");
}

TEST(Arenas, AggregationsOfAllArenasAreAddedUp)
{
    Session s;
    const std::uint32_t epid =
        s.clause({{.kind = DTRACEAGG_count, .bytes = 0, .uarg = 1, .in_key = false}});
    const std::size_t second = s.add_arena();
    s.aggregate(epid, "", words(3));
    s.use_arena(second);
    s.aggregate(epid, "", words(4), 1);
    EXPECT_EQ(s.drain(), "");
    s.use_arena(0);
    s.aggregate(epid, "", words(5));
    EXPECT_EQ(s.drain(), "");
    EXPECT_NE(s.dump().find(" 12\n"), std::string::npos);
}

TEST(Arenas, DropsOfAllArenasAreAddedUp)
{
    Session s;
    s.consumer();
    const std::size_t second = s.add_arena();
    s.shard(1)->drops[DTRACEDROP_PRINCIPAL] = 1;
    s.use_arena(second);
    s.shard(1)->drops[DTRACEDROP_PRINCIPAL] = 2;
    s.shard(0)->drops[DTRACEDROP_DYNAMIC] = 4;
    EXPECT_TRUE(s.consumer().report_drops());
    EXPECT_EQ(s.drops, (std::vector<std::string>{"3 drops on CPU 1",
                                                 "4 dynamic variable drops"}));
}

TEST(Arenas, InvalidDataInOneArenaDoNotAffectAnother)
{
    Session s;
    const std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    const std::size_t second = s.add_arena();
    s.record(epid + 77, bytes_of<std::int32_t>(1), 1, 0);
    s.use_arena(second);
    s.record(epid, bytes_of<std::int32_t>(2), 2, 0);
    EXPECT_EQ(s.drain(), "2 ");
    EXPECT_EQ(s.complaints.size(), 1u);
}

TEST(Arenas, RecordsOfAProbeAreAcceptedOnlyFromItsArena)
{
    Session s;
    const std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    const std::size_t second = s.add_arena(), third = s.add_arena();
    const auto* ecb =
        static_cast<dt_ecb*>(dt_at(s.arena(), s.arena()->ecbs.at)) + epid - 1;
    s.consumer().bind_probe(ecb->probe, static_cast<std::uint32_t>(third));
    int time = 0;
    for (std::size_t arena : {std::size_t{0}, second, third}) {
        s.use_arena(arena);
        time++;
        s.record(epid, bytes_of<std::int32_t>(time), static_cast<std::uint64_t>(time));
    }
    EXPECT_EQ(s.drain(), "3 ");
    EXPECT_EQ(s.complaints.size(), 2u);
}

TEST(Arenas, AggregationsOfAProbeAreAcceptedOnlyFromItsArena)
{
    Session s;
    const std::uint32_t epid =
        s.clause({{.kind = DTRACEAGG_count, .bytes = 0, .uarg = 1, .in_key = false}});
    const std::size_t second = s.add_arena();
    const auto* ecb =
        static_cast<dt_ecb*>(dt_at(s.arena(), s.arena()->ecbs.at)) + epid - 1;
    s.consumer().bind_probe(ecb->probe, static_cast<std::uint32_t>(second));
    s.aggregate(epid, "", words(30));
    s.use_arena(second);
    s.aggregate(epid, "", words(4));
    EXPECT_EQ(s.drain(), "");
    EXPECT_NE(s.dump().find(" 4\n"), std::string::npos);
}

// The test's parent process is alive and holds the lock of shard 1.
TEST(Arenas, ARetiredArenaIsReadWithoutWaitingForLocksAndThenRemoved)
{
    Session s;
    const std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    const std::size_t second = s.add_arena();
    s.use_arena(second);
    s.record(epid, bytes_of<std::int32_t>(1), 1, 0);
    s.record(epid, bytes_of<std::int32_t>(2), 2, 1);
    s.shard(0)->drops[DTRACEDROP_PRINCIPAL] = 5;
    s.shard(1)->lock = static_cast<dt_u32>(getppid());
    s.consumer().retire_arena(s.arena());
    EXPECT_EQ(s.drain(DrainKind::Round), "1 2 ");
    EXPECT_EQ(s.consumer().take_removed(), std::vector<const void*>{s.arena()});
    EXPECT_TRUE(s.consumer().take_removed().empty());
    EXPECT_TRUE(s.consumer().report_drops());
    EXPECT_EQ(s.drops, std::vector<std::string>{"5 drops on CPU 0"});
}

// The records of a ring buffer are printed at the end.
TEST(Arenas, TheRecordsOfARetiredArenaAreKeptUntilTheEnd)
{
    Session s;
    const std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.arena()->options[DTRACEOPT_bufpolicy] = DT_BUFPOLICY_RING;
    s.consumer().display().quiet = true;
    const std::size_t second = s.add_arena();
    s.record(epid, bytes_of<std::int32_t>(2), 2);
    s.use_arena(second);
    s.record(epid, bytes_of<std::int32_t>(1), 1);
    s.record(epid, bytes_of<std::int32_t>(3), 3);
    s.consumer().retire_arena(s.arena());
    EXPECT_EQ(s.drain(DrainKind::Round), "");
    EXPECT_EQ(s.consumer().take_removed().size(), 1u);
    s.use_arena(0);
    EXPECT_EQ(s.drain(DrainKind::Round), "");
    EXPECT_EQ(s.drain(DrainKind::Final), "1 2 3 ");
}

// A process can move to another domain while its earlier records are still unread.
TEST(Arenas, AProbeCanFireInSeveralArenas)
{
    Session s;
    const std::uint32_t epid = s.printf("%d ", {s.types.lookup("int")});
    s.consumer().display().quiet = true;
    const std::size_t second = s.add_arena(), third = s.add_arena();
    const auto* ecb =
        static_cast<dt_ecb*>(dt_at(s.arena(), s.arena()->ecbs.at)) + epid - 1;
    s.consumer().bind_probe(ecb->probe, std::nullopt);
    for (std::size_t arena : {second, third})
        s.consumer().bind_probe(ecb->probe, static_cast<std::uint32_t>(arena));
    int time = 0;
    for (std::size_t arena : {std::size_t{0}, second, third}) {
        s.use_arena(arena);
        time++;
        s.record(epid, bytes_of<std::int32_t>(time), static_cast<std::uint64_t>(time));
    }
    EXPECT_EQ(s.drain(), "2 3 ");
    EXPECT_EQ(s.complaints.size(), 1u);
}
