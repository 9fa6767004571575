// SPDX-License-Identifier: MIT
// Tests the private part of an arena. Hosts in targets can neither reach nor influence
// this part.
#include "session.hpp"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>

using namespace dif_test;

namespace {

void with_private_part(Session& s)
{
    s.config.n_shards = 2;
    s.config.n_private = 2;
}

std::vector<unsigned> used_shards(Session& s)
{
    std::vector<unsigned> used;
    for (unsigned n = 0; n < s.arena().n_shards; n++)
        if (dt_fill(s.memory(), n, DT_BUFFER_PRINCIPAL) != 0)
            used.push_back(n);
    return used;
}

} // namespace

TEST(PrivatePart, HasTheLastShardsAndNothingThatTargetsNeed)
{
    Session s;
    with_private_part(s);
    s.start();
    const dt_arena& a = s.arena();
    EXPECT_EQ(dt_arena_private_at(&s.config), a.private_at);
    EXPECT_EQ(a.n_shards, 4u);
    EXPECT_EQ(a.n_shared, 2u);
    EXPECT_EQ(a.private_at % 65536, 0u);
    EXPECT_EQ(a.shards + 2 * a.shard_bytes, a.private_at);
    EXPECT_LE(a.counters.sets + (std::uint64_t{a.counters.n_sets} << DT_COUNTERS_SHIFT),
              a.shards);
    EXPECT_GT(a.own, a.private_at);
    EXPECT_GT(a.counters.seen, a.private_at);
}

TEST(PrivatePart, ASecondArenaHasTheSameProgramAndItsOwnData)
{
    Session s;
    with_private_part(s);
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(constant(1));
    ASSERT_EQ(s.load(dof), "");
    const dt_arena& a = s.arena();
    auto second = std::make_unique<std::byte[]>(a.total_bytes);
    std::memcpy(second.get(), s.memory(), a.program_bytes);
    dt_arena_init_like(second.get(), s.memory(), 1);

    auto fill = [](const void* arena) {
        return dt_fill(arena, 0, DT_BUFFER_PRINCIPAL);
    };
    s.host.host.arena = second.get();
    s.host.host.shard = 0;
    s.fire("n");
    EXPECT_EQ(fill(s.memory()), 0u);
    const auto before = fill(second.get());
    EXPECT_NE(before, 0u);

    // The activity of one arena does not affect the other.
    EXPECT_EQ(dt_activity_advance(s.memory(), DT_ACTIVITY_ACTIVE, DT_ACTIVITY_COOLDOWN),
              1);
    s.fire("n");
    EXPECT_GT(fill(second.get()), before);
}

TEST(PrivatePart, GivesEachHostShardsOfItsOwnSideOnly)
{
    Session s;
    with_private_part(s);
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(constant(1));
    ASSERT_EQ(s.load(dof), "");
    for (unsigned shard : {0u, 1u, 2u, 3u, 250u}) {
        for (unsigned own : {0u, 1u}) {
            s.host.host.shard = shard;
            s.host.host.own_shards = own;
            s.fire("n");
            auto used = used_shards(s);
            ASSERT_EQ(used.size(), 1u);
            EXPECT_EQ(used[0] >= 2, own == 1) << "first choice " << shard;
            s.records();
        }
    }
    s.shard(2).lock = s.shard(3).lock = 77;
    s.fire("n");
    EXPECT_EQ(s.drops(DTRACEDROP_NOSHARD), 1u) << "it took a shard that targets map";
}

TEST(PrivatePart, KeepsASessionAliveThatATargetEnds)
{
    Session s;
    with_private_part(s);
    DofBuilder dof;
    dof.clause("profile:::tick-1s").trace(constant(1));
    dof.clause("dtrace:::END").action({DTRACEACT_EXIT, constant(3, 4), 1});
    ASSERT_EQ(s.load(dof), "");
    s.session().activity = DT_ACTIVITY_STOPPED;
    s.session().exited = 1;
    s.host.host.own_shards = 1;
    s.fire("tick-1s");
    EXPECT_EQ(s.records().size(), 1u);
    EXPECT_EQ(dt_has_exited(s.memory()), 0);
    EXPECT_EQ(s.session().activity, std::uint32_t{DT_ACTIVITY_ACTIVE})
        << "not put right";
}

TEST(PrivatePart, EndsASessionByExitOfEitherSide)
{
    for (unsigned own : {0u, 1u}) {
        Session s;
        with_private_part(s);
        DofBuilder dof;
        dof.clause(own ? "profile:::tick-1s" : "p:m:f:tick-1s")
            .action({DTRACEACT_EXIT, constant(3, 4), 1});
        ASSERT_EQ(s.load(dof), "");
        s.host.host.own_shards = own;
        EXPECT_EQ(dt_has_exited(s.memory()), 0);
        s.fire("tick-1s");
        EXPECT_EQ(dt_has_exited(s.memory()), 1);
        EXPECT_EQ(s.session().activity, std::uint32_t{DT_ACTIVITY_DRAINING});
    }
}
