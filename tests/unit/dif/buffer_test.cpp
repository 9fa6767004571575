// SPDX-License-Identifier: MIT
// Tests principal buffers with all three policies, speculations, and dynamic variables.
#include <algorithm>
#include <ctime>
#include <gtest/gtest.h>

#include "tests/unit/dif/session.hpp"

using namespace dif_test;

namespace {

Difo argument()
{
    return builtin(DIF_VAR_arg0);
}

void one_shard(Session& s, std::uint64_t policy, std::uint64_t bytes)
{
    s.config.n_shards = 1;
    s.config.options[DTRACEOPT_bufpolicy] = policy;
    s.config.options[DTRACEOPT_bufsize] = bytes;
}

// Adds a clause that records into the speculation whose id is arg0.
Clause& speculates(DofBuilder& dof, const char* probe)
{
    return dof.clause(probe).action({DTRACEACT_SPECULATE, argument(), 1});
}

} // namespace

TEST(Buffer, SwitchDropsWhatDoesNotFitAndCountsIt)
{
    Session s;
    one_shard(s, DT_BUFPOLICY_SWITCH, 240);
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(argument());
    ASSERT_EQ(s.load(dof), "");

    for (unsigned i = 0; i < 25; i++)
        s.fire("n", {i});
    auto records = s.records();
    ASSERT_EQ(records.size(), 10u);
    EXPECT_EQ(records[9].u64(), 9u);
    EXPECT_EQ(s.drops(DTRACEDROP_PRINCIPAL), 15u);
    s.fire("n", {77});
    EXPECT_EQ(dt_fill(s.memory(), 0, DT_BUFFER_PRINCIPAL), 24u);
    records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].u64(), 77u);
}

TEST(Buffer, FillStopsRecordingAndLeavesRoomForEnd)
{
    Session s;
    one_shard(s, DT_BUFPOLICY_FILL, 240);
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(argument());
    dof.clause("dtrace:::END").trace(constant(99));
    ASSERT_EQ(s.load(dof), "");

    for (unsigned i = 0; i < 25; i++)
        s.fire("n", {i});
    EXPECT_EQ(s.session().filled, 1u);
    EXPECT_EQ(s.drops(DTRACEDROP_PRINCIPAL), 0u);
    dt_activity_advance(s.memory(), DT_ACTIVITY_ACTIVE, DT_ACTIVITY_COOLDOWN);
    s.fire("END");
    auto records = s.records();
    ASSERT_EQ(records.size(), 11u);
    EXPECT_EQ(records[9].u64(), 9u);
    EXPECT_EQ(records[10].u64(), 99u);
}

TEST(Buffer, RingKeepsTheNewestRecordsInOrder)
{
    // Records of two sizes are written. Some of the buffer sizes are multiples of the
    // size of a record.
    for (std::uint64_t bytes : {240, 248, 256, 264, 400}) {
        for (unsigned n = 1; n < 60; n++) {
            Session s;
            one_shard(s, DT_BUFPOLICY_RING, bytes);
            DofBuilder dof;
            dof.clause("p:m:f:n").trace(argument());
            dof.clause("p:m:f:wide")
                .trace(argument())
                .trace(argument())
                .trace(argument());
            ASSERT_EQ(s.load(dof), "");
            for (unsigned i = 0; i < n; i++)
                s.fire(i % 3 == 2 ? "wide" : "n", {i});
            auto records = s.records();
            ASSERT_GT(records.size(), std::min(n, 4u) - 1);
            for (std::size_t i = 0; i < records.size(); i++)
                ASSERT_EQ(records[i].u64(), n - records.size() + i)
                    << bytes << " " << n;
            EXPECT_EQ(s.drops(DTRACEDROP_PRINCIPAL), 0u);
        }
    }
}

TEST(Buffer, ScribbledOffsetsNeverLeaveTheBuffer)
{
    for (std::uint64_t policy :
         {DT_BUFPOLICY_SWITCH, DT_BUFPOLICY_FILL, DT_BUFPOLICY_RING}) {
        Session s;
        one_shard(s, policy, 240);
        DofBuilder dof;
        dof.clause("p:m:f:n").trace(argument());
        dof.clause("p:m:f:n").key(argument()).aggregate(DTRACEAGG_count, 1, 1);
        ASSERT_EQ(s.load(dof), "");
        for (std::uint64_t lie : {~0ull, 1ull << 63, 241ull, 7ull, 1ull << 32}) {
            for (int i = 0; i < 2; i++) {
                s.shard(0).principal[i].used = lie;
                s.shard(0).principal[i].wrapped = lie;
                s.shard(0).principal[i].at = lie;
                s.shard(0).principal[i].size = lie;
                s.shard(0).agg[i].used = lie;
            }
            s.shard(0).active = static_cast<std::uint32_t>(lie);
            s.shard(0).agg_active = static_cast<std::uint32_t>(lie);
            char* buckets =
                reinterpret_cast<char*>(&s.shard(0)) + s.arena().plan.agg[0];
            std::memset(buckets, static_cast<int>(lie), s.arena().plan.agg_buckets * 4);
            s.fire("n", {1});
            s.fire("n", {2});
            std::vector<char> copy(65536);
            EXPECT_LE(dt_drain_principal(s.memory(), 0, 1, copy.data(), 240, nullptr,
                                         nullptr),
                      240);
            EXPECT_LE(dt_drain_agg(s.memory(), 0, 1, copy.data(), copy.size(), nullptr,
                                   nullptr),
                      65536);
            EXPECT_LE(dt_fill(s.memory(), 0, DT_BUFFER_PRINCIPAL), 240u);
        }
    }
}

TEST(Speculation, CommitMovesRecordsAndStampsItsTime)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:new").trace(Difo().call(DIF_SUBR_speculation, 1).ret(1));
    speculates(dof, "p:m:f:n").trace(constant(8));
    dof.clause("p:m:f:commit").action({DTRACEACT_COMMIT, argument(), 1});
    ASSERT_EQ(s.load(dof), "");

    s.fire("new");
    EXPECT_EQ(s.records()[0].u64(), 1u);
    s.fire("n", {1});
    s.fire("n", {1});
    EXPECT_TRUE(s.records().empty());
    std::uint64_t before = s.host.clock;
    s.fire("commit", {1});
    auto records = s.records();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[1].u64(), 8u);
    EXPECT_GT(records[0].timestamp, before);
    s.fire("new");
    EXPECT_EQ(s.records()[0].u64(), 1u) << "the id is free again at once";
}

TEST(Speculation, DiscardForgetsAndNoneFreeIsADrop)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:new").trace(Difo().call(DIF_SUBR_speculation, 1).ret(1));
    speculates(dof, "p:m:f:n").trace(constant(8));
    dof.clause("p:m:f:commit").action({DTRACEACT_COMMIT, argument(), 1});
    dof.clause("p:m:f:discard").action({DTRACEACT_DISCARD, argument(), 1});
    ASSERT_EQ(s.load(dof), "");

    s.fire("new");
    s.fire("new");
    auto ids = s.records();
    EXPECT_EQ(ids[0].u64(), 1u);
    EXPECT_EQ(ids[1].u64(), 0u);
    EXPECT_EQ(s.drops(DTRACEDROP_SPECUNAVAIL), 1u);
    s.fire("n", {1});
    s.fire("discard", {1});
    s.fire("discard", {1});
    s.fire("commit", {1});
    EXPECT_TRUE(s.records().empty());
}

TEST(Speculation, IdZeroRecordsNothingAndAnIdBeyondNspecFaults)
{
    Session s;
    DofBuilder dof;
    speculates(dof, "p:m:f:n").trace(constant(8));
    dof.clause("p:m:f:commit").action({DTRACEACT_COMMIT, argument(), 1});
    ASSERT_EQ(s.load(dof), "");

    s.fire("n", {0});
    s.fire("commit", {0});
    s.fire("n", {1});
    EXPECT_TRUE(s.records().empty()) << "1 was never given out";
    s.fire("commit", {2});
    s.fire("commit", {~0ull});
    s.fire("n", {2});
    auto records = s.records();
    ASSERT_EQ(records.size(), 3u);
    for (const Record& r : records)
        EXPECT_EQ(r.error().fault, unsigned{DTRACEFLT_ILLOP});
}

TEST(Speculation, AFullBufferIsASpecDrop)
{
    Session s;
    s.config.options[DTRACEOPT_specsize] = 96;
    DofBuilder dof;
    dof.clause("p:m:f:new").trace(Difo().call(DIF_SUBR_speculation, 1).ret(1));
    speculates(dof, "p:m:f:n").trace(constant(8));
    dof.clause("p:m:f:commit").action({DTRACEACT_COMMIT, argument(), 1});
    ASSERT_EQ(s.load(dof), "");

    s.fire("new");
    s.records();
    for (int i = 0; i < 10; i++)
        s.fire("n", {1});
    EXPECT_EQ(s.drops(DTRACEDROP_SPEC), 6u);
    s.fire("commit", {1});
    EXPECT_EQ(s.records().size(), 4u);
}

TEST(Speculation, PartsOfOtherShardsAreMovedByClean)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:new").trace(Difo().call(DIF_SUBR_speculation, 1).ret(1));
    speculates(dof, "p:m:f:n").trace(constant(8));
    dof.clause("p:m:f:commit").action({DTRACEACT_COMMIT, argument(), 1});
    ASSERT_EQ(s.load(dof), "");

    s.fire("new");
    s.records();
    s.host.host.shard = 0;
    s.fire("n", {1});
    s.host.host.shard = 1;
    s.fire("n", {1});
    s.fire("commit", {1});
    EXPECT_EQ(s.records().size(), 1u);
    s.fire("new");
    EXPECT_EQ(s.records()[0].u64(), 0u);
    EXPECT_EQ(s.drops(DTRACEDROP_SPECBUSY), 1u);
    dt_clean(s.memory(), 1, s.host.clock, Session::all_live);
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].u64(), 8u);
    s.fire("new");
    EXPECT_EQ(s.records()[0].u64(), 1u);
}

static std::uint64_t cpu_ns()
{
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(used.tv_nsec);
}

TEST(Speculation, CleaningWaitsOnlyAFewTimesForShardsThatStayInUse)
{
    DofBuilder dof;
    Session s;
    s.config.n_shards = 64;
    s.config.options[DTRACEOPT_nspec] = 64;
    dof.clause("p:m:f:new").trace(Difo().call(DIF_SUBR_speculation, 1).ret(1));
    ASSERT_EQ(s.load(dof), "");
    auto* session = static_cast<dt_session*>(dt_at(s.memory(), s.arena().session));
    for (std::uint32_t id = 0; id < 64; id++)
        session->spec_state[id] = DT_SPEC_COMMITTING;
    for (std::uint32_t no = 0; no < 64; no++)
        static_cast<dt_shard*>(
            dt_at(s.memory(), s.arena().shards + no * s.arena().shard_bytes))
            ->lock = 7;
    const std::uint64_t began = cpu_ns();
    dt_clean(s.memory(), 1, 1, Session::all_live);
    EXPECT_LT(cpu_ns() - began, 1'000'000'000u);
}

// A target can commit speculations whose buffers are full in all shards. Even then, one
// call of dt_clean() moves only a limited number of bytes.
TEST(Speculation, CleaningMovesALimitedNumberOfBytes)
{
    DofBuilder dof;
    Session s;
    s.config.n_shards = 16;
    s.config.options[DTRACEOPT_nspec] = 1024;
    dof.clause("p:m:f:new").trace(Difo().call(DIF_SUBR_speculation, 1).ret(1));
    ASSERT_EQ(s.load(dof), "");
    const dt_shard_plan& plan = s.arena().plan;
    auto* session = static_cast<dt_session*>(dt_at(s.memory(), s.arena().session));
    dt_rec_error forged{};
    const dt_rechdr header{1, 0, DT_REC_ERROR, 1};
    const std::size_t record_bytes = DT_ALIGN(sizeof header + sizeof forged, 8u);
    auto forge = [&] {
        for (dt_u32 no = 0; no < s.config.n_shards; no++) {
            auto* shard = static_cast<std::byte*>(
                dt_at(s.memory(), s.arena().shards + no * s.arena().shard_bytes));
            auto* buffers = reinterpret_cast<dt_buffer*>(shard + plan.specs);
            for (dt_u32 id = 0; id < plan.n_specs; id++) {
                std::byte* data = shard + plan.spec_data + id * plan.spec_bytes;
                for (std::size_t at = 0; at + record_bytes <= plan.spec_bytes;
                     at += record_bytes)
                    std::memcpy(data + at, &header, sizeof header);
                buffers[id].used = plan.spec_bytes;
            }
        }
    };
    for (dt_u32 id = 0; id < plan.n_specs; id++)
        session->spec_state[id] = DT_SPEC_COMMITTING;
    forge();
    auto n_left = [&] {
        dt_u32 n = 0;
        for (dt_u32 id = 0; id < plan.n_specs; id++)
            n += session->spec_state[id] == DT_SPEC_COMMITTING;
        return n;
    };
    EXPECT_EQ(dt_clean(s.memory(), 1, 1, Session::all_live), 1);
    EXPECT_GT(n_left(), plan.n_specs / 2);
    EXPECT_LT(n_left(), plan.n_specs);
    // Further calls of dt_clean() finish the remaining speculations.
    dt_u64 turn = 1;
    while (turn < 1000 && dt_clean(s.memory(), 1, turn << 20, Session::all_live) != 0)
        turn++;
    EXPECT_EQ(n_left(), 0u);
}

TEST(Speculation, RulesOfOrderAreKept)
{
    auto refused = [](auto build) {
        Session s;
        DofBuilder dof;
        build(dof.clause("p:m:f:n"));
        return s.load(dof);
    };
    EXPECT_EQ(refused([](Clause& c) {
                  c.trace(constant(1)).action({DTRACEACT_SPECULATE, constant(1), 1});
              }),
              "speculate() may not follow speculate(), commit() or an action that "
              "records data");
    EXPECT_EQ(refused([](Clause& c) {
                  c.trace(constant(1)).action({DTRACEACT_COMMIT, constant(1), 1});
              }),
              "a clause with commit() may not record data or use speculate()");
    EXPECT_EQ(refused([](Clause& c) {
                  c.action({DTRACEACT_SPECULATE, constant(1), 1})
                      .action({DTRACEACT_EXIT, constant(1), 1});
              }),
              "a clause with speculate() may not use exit()");
}

TEST(DynamicVariable, ExhaustionIsCountedAndFreeingMakesRoom)
{
    Session s;
    s.config.options[DTRACEOPT_dynvarsize] = 16384;
    Difo store;
    store.variable("a", 0x500, DIFV_SCOPE_GLOBAL, int_type(8), DIFV_KIND_ARRAY)
        .ldgs(DIF_VAR_arg0, 1)
        .ldgs(DIF_VAR_arg1, 2)
        .push(1)
        .indexed(DIF_OP_STGAA, 0x500, 2)
        .ret(0);
    Difo load;
    load.variable("a", 0x500, DIFV_SCOPE_GLOBAL, int_type(8), DIFV_KIND_ARRAY)
        .ldgs(DIF_VAR_arg0, 1)
        .push(1)
        .indexed(DIF_OP_LDGAA, 0x500, 2)
        .ret(2);
    DofBuilder dof;
    dof.clause("p:m:f:store").run(store);
    dof.clause("p:m:f:load").trace(load);
    ASSERT_EQ(s.load(dof), "");

    std::vector<std::uint64_t> those;
    for (unsigned i = 1; i <= 1000; i++)
        s.fire("store", {i, i});
    for (unsigned i = 1; i <= 1000; i++)
        s.fire("load", {i});
    for (const Record& r : s.records())
        if (r.u64() != 0)
            those.push_back(r.u64());
    std::size_t kept = those.size();
    EXPECT_GT(kept, 50u);
    EXPECT_EQ(kept + s.drops(DTRACEDROP_DYNAMIC), 1000u);
    // Freed space is reused. The test stores the same number of variables with other
    // keys. Then it stores the original variables again, in reverse order.
    std::uint64_t before = s.drops(DTRACEDROP_DYNAMIC);
    for (unsigned i = 1; i <= 1000; i++)
        s.fire("store", {i, 0});
    for (unsigned i = 2001; i <= 2000 + kept; i++)
        s.fire("store", {i, i});
    EXPECT_LT(s.drops(DTRACEDROP_DYNAMIC) - before, kept / 10);
    for (unsigned i = 2001; i <= 2000 + kept; i++)
        s.fire("store", {i, 0});
    before = s.drops(DTRACEDROP_DYNAMIC);
    for (auto i = those.rbegin(); i != those.rend(); ++i)
        s.fire("store", {*i, *i});
    EXPECT_EQ(s.drops(DTRACEDROP_DYNAMIC), before);
}

// With dynvarsize=1g, a store that prepared the entire space would take 60 ms.
TEST(DynamicVariable, AStoreTouchesFewPagesOfALargeSpace)
{
    Session s;
    s.config.options[DTRACEOPT_dynvarsize] = 1 << 30;
    Difo store;
    store.variable("a", 0x500, DIFV_SCOPE_GLOBAL, int_type(8), DIFV_KIND_ARRAY)
        .ldgs(DIF_VAR_arg0, 1)
        .ldgs(DIF_VAR_arg0, 2)
        .push(1)
        .indexed(DIF_OP_STGAA, 0x500, 2)
        .ret(0);
    DofBuilder dof;
    dof.clause("p:m:f:store").run(store);
    ASSERT_EQ(s.load(dof), "");
    auto touched_pages = [&] {
        std::vector<unsigned char> pages(s.total_bytes() / 4096);
        EXPECT_EQ(mincore(s.memory(), s.total_bytes(), pages.data()), 0);
        return std::count_if(pages.begin(), pages.end(),
                             [](unsigned char page) { return page & 1; });
    };
    const auto before = touched_pages();
    for (unsigned i = 1; i <= 4; i++)
        s.fire("store", {i});
    EXPECT_EQ(s.drops(DTRACEDROP_DYNAMIC), 0u);
    EXPECT_LT(touched_pages() - before, 64);
}

TEST(DynamicVariable, ThreadLocalsBelongToTheirThread)
{
    Session s;
    Difo store, load;
    store.variable("t", 0x500, DIFV_SCOPE_THREAD)
        .ldgs(DIF_VAR_arg0, 1)
        .indexed(DIF_OP_STTS, 0x500, 1)
        .ret(0);
    load.variable("t", 0x500, DIFV_SCOPE_THREAD).indexed(DIF_OP_LDTS, 0x500, 1).ret(1);
    DofBuilder dof;
    dof.clause("p:m:f:store").run(store);
    dof.clause("p:m:f:load").trace(load);
    ASSERT_EQ(s.load(dof), "");

    s.fire("store", {11});
    s.host.host.thread_key = 6;
    s.fire("store", {22});
    s.fire("load");
    s.host.host.thread_key = 5;
    s.fire("load");
    auto records = s.records();
    EXPECT_EQ(records[0].u64(), 22u);
    EXPECT_EQ(records[1].u64(), 11u);
}

TEST(DynamicVariable, AScribbledSpaceIsNeverFollowedOutside)
{
    Session s;
    Difo both;
    both.variable("a", 0x500, DIFV_SCOPE_GLOBAL, string_type(), DIFV_KIND_ARRAY)
        .sets("value", 1)
        .ldgs(DIF_VAR_arg0, 2)
        .push(2)
        .indexed(DIF_OP_STGAA, 0x500, 1)
        .indexed(DIF_OP_LDGAA, 0x500, 3)
        .indexed(DIF_OP_STGAA, 0x500, 0)
        .ret(0);
    DofBuilder dof;
    dof.clause("p:m:f:n").run(both);
    ASSERT_EQ(s.load(dof), "");

    auto* bytes = static_cast<unsigned char*>(dt_at(s.memory(), s.arena().dynvars));
    std::uint64_t state = 1;
    for (int round = 0; round < 200; round++) {
        for (std::uint64_t i = 0; i < s.arena().dynvars_bytes; i += 4) {
            state = state * 6364136223846793005 + 1442695040888963407;
            if ((state >> 60) == 0) {
                std::uint32_t junk = state >> (32 + (state >> 61 & 3) * 8);
                std::memcpy(bytes + i, &junk, 4);
            }
        }
        for (std::uint64_t i = 0; i < 10; i++)
            s.fire("n", {i});
        dt_clean(s.memory(), 1, 1, Session::nobody_lives);
    }
}
