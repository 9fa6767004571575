// SPDX-License-Identifier: MIT
// Tests many threads and processes in one arena, and lock holders that die.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "tests/unit/dif/session.hpp"

using namespace dif_test;

namespace {

// The host of one thread. All hosts share the session's arena.
struct ThreadHost : FakeHost {
    ThreadHost(Session& s, unsigned n)
    {
        host.arena = s.memory();
        host.owner = 1000 + n;
        host.shard = n % s.arena().n_shards;
        host.thread_key = n;
        clock = 1;
        step = 1;
    }
};

void in_threads(unsigned n, const std::function<void(unsigned)>& body)
{
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < n; i++)
        threads.emplace_back(body, i);
    for (std::thread& t : threads)
        t.join();
}

} // namespace

TEST(Concurrency, FiftyThreadsCountExactlyWhileTheConsumerDrains)
{
    constexpr unsigned n_threads = 50, n_firings = 4000;
    Session s;
    s.config.n_shards = 8;
    DofBuilder dof;
    dof.clause("p:m:f:n").key(builtin(DIF_VAR_arg0)).aggregate(DTRACEAGG_count, 1, 1);
    dof.clause("p:m:f:n").trace(builtin(DIF_VAR_arg1));
    ASSERT_EQ(s.load(dof), "");
    std::uint32_t probe = s.probe("n");

    std::atomic<bool> done{false};
    std::map<std::uint64_t, std::uint64_t> counts;
    std::uint64_t n_records = 0;
    auto drain = [&] {
        for (const AggEntry& e : s.aggregations()) {
            std::uint64_t key;
            std::memcpy(&key, e.key.data(), 8);
            counts[key] += e.value[0];
        }
        n_records += s.records().size();
    };
    std::thread consumer([&] {
        while (!done)
            drain();
    });
    in_threads(n_threads, [&](unsigned n) {
        ThreadHost h(s, n);
        for (std::uint64_t i = 0; i < n_firings; i++) {
            std::uint64_t args[] = {n, i};
            dt_fire(&h.host, probe, args, 2);
        }
    });
    done = true;
    consumer.join();
    drain();

    std::uint64_t counted = 0;
    for (auto [key, count] : counts)
        counted += count;
    std::uint64_t no_shard = s.drops(DTRACEDROP_NOSHARD);
    EXPECT_EQ(counted + no_shard, std::uint64_t{n_threads} * n_firings);
    EXPECT_EQ(n_records + s.drops(DTRACEDROP_PRINCIPAL) + no_shard,
              std::uint64_t{n_threads} * n_firings);
    EXPECT_EQ(s.drops(DTRACEDROP_AGGREGATION), 0u);
}

TEST(Concurrency, WithAShardPerThreadNothingIsDropped)
{
    constexpr unsigned n_threads = 50, n_firings = 2000;
    Session s;
    s.config.n_shards = 64;
    DofBuilder dof;
    dof.clause("p:m:f:n").aggregate(DTRACEAGG_count, 1, 0);
    ASSERT_EQ(s.load(dof), "");
    std::uint32_t probe = s.probe("n");

    in_threads(n_threads, [&](unsigned n) {
        ThreadHost h(s, n);
        for (std::uint64_t i = 0; i < n_firings; i++)
            dt_fire(&h.host, probe, nullptr, 0);
    });
    std::uint64_t counted = 0;
    for (const AggEntry& e : s.aggregations())
        counted += e.value[0];
    EXPECT_EQ(counted, std::uint64_t{n_threads} * n_firings);
    EXPECT_EQ(s.drops(DTRACEDROP_NOSHARD), 0u);
}

TEST(Concurrency, ThreadLocalsOfManyThreadsNeverMix)
{
    constexpr unsigned n_threads = 20, n_firings = 2000;
    Session s;
    s.config.n_shards = 32;
    Difo store, check;
    store.variable("t", 0x500, DIFV_SCOPE_THREAD)
        .ldgs(DIF_VAR_arg0, 1)
        .indexed(DIF_OP_STTS, 0x500, 1)
        .ret(0);
    // Returns 1 if the variable contains another thread's value. Otherwise returns 0,
    // for example if the store was dropped.
    check.variable("t", 0x500, DIFV_SCOPE_THREAD)
        .indexed(DIF_OP_LDTS, 0x500, 1)
        .ldgs(DIF_VAR_arg0, 2)
        .op(DIF_OP_TST, 1)
        .branch(DIF_OP_BE, 8)
        .op(DIF_OP_CMP, 1, 2)
        .branch(DIF_OP_BE, 8)
        .setx(1, 3)
        .ret(3)
        .ret(0);
    Difo found;
    found.variable("t", 0x500, DIFV_SCOPE_THREAD).indexed(DIF_OP_LDTS, 0x500, 1).ret(1);
    Difo clear;
    clear.variable("t", 0x500, DIFV_SCOPE_THREAD).indexed(DIF_OP_STTS, 0x500, 0).ret(0);
    DofBuilder dof;
    dof.clause("p:m:f:entry").run(store);
    dof.clause("p:m:f:return").when(check).aggregate(DTRACEAGG_count, 1, 0);
    dof.clause("p:m:f:return").when(found).aggregate(DTRACEAGG_count, 2, 0);
    dof.clause("p:m:f:return").run(clear);
    ASSERT_EQ(s.load(dof), "");
    std::uint32_t entry = s.probe("entry"), ret = s.probe("return");

    in_threads(n_threads, [&](unsigned n) {
        ThreadHost h(s, n);
        for (std::uint64_t i = 1; i <= n_firings; i++) {
            std::uint64_t args[] = {i << 8 | n};
            dt_fire(&h.host, entry, args, 1);
            dt_fire(&h.host, ret, args, 1);
        }
    });
    std::uint64_t right = 0;
    for (const AggEntry& e : s.aggregations()) {
        EXPECT_EQ(e.aggvar, 2u) << "a thread read what another stored";
        right += e.value[0];
    }
    std::uint64_t lost = s.drops(DTRACEDROP_DYNAMIC) + s.drops(DTRACEDROP_DYNDIRTY) +
                         s.drops(DTRACEDROP_DYNRINSE);
    EXPECT_LE(std::uint64_t{n_threads} * n_firings - right, lost);
}

TEST(Concurrency, TheShardOfAHolderThatDiedIsFreedAndItsRecordsAreComplete)
{
    Session s;
    s.config.n_shards = 1;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(builtin(DIF_VAR_arg0));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n", {1});
    s.shard(0).lock = 4711; // the holder died during a firing
    s.fire("n", {2});
    EXPECT_EQ(s.drops(DTRACEDROP_NOSHARD), 1u);
    std::vector<char> copy(65536);
    EXPECT_EQ(dt_drain_principal(s.memory(), 0, 1, copy.data(), copy.size(),
                                 Session::all_live, nullptr),
              -1);
    EXPECT_EQ(dt_drain_principal(s.memory(), 0, 1, copy.data(), copy.size(),
                                 Session::nobody_lives, nullptr),
              24);
    s.fire("n", {3});
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].u64(), 3u);

    s.shard(0).lock = 4711;
    dt_clean(s.memory(), 1, 1, Session::nobody_lives);
    s.fire("n", {4});
    EXPECT_EQ(s.records().size(), 1u);
}

TEST(Concurrency, ProcessesKilledAtAnyMomentLeaveAConsistentArena)
{
    Session s;
    s.config.n_shards = 4;
    s.config.options[DTRACEOPT_nspec] = 4;
    Difo store;
    store.variable("a", 0x500, DIFV_SCOPE_GLOBAL, string_type(), DIFV_KIND_ARRAY)
        .ldgs(DIF_VAR_arg0, 1)
        .push(1)
        .sets("some text", 2)
        .indexed(DIF_OP_STGAA, 0x500, 2)
        .indexed(DIF_OP_LDGAA, 0x500, 3)
        .indexed(DIF_OP_STGAA, 0x500, 0)
        .ret(3)
        .returns_string();
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(builtin(DIF_VAR_arg0)).trace(literal("payload"));
    dof.clause("p:m:f:n")
        .key(builtin(DIF_VAR_arg0))
        .aggregate(DTRACEAGG_sum, 1, 1, constant(1));
    dof.clause("p:m:f:n").run(store);
    ASSERT_EQ(s.load(dof), "");
    std::uint32_t probe = s.probe("n");

    std::uint64_t seen = 0;
    for (int round = 0; round < 60; round++) {
        pid_t child = fork();
        if (child == 0) {
            ThreadHost h(s, 7);
            h.host.owner = static_cast<std::uint32_t>(getpid());
            for (std::uint64_t i = 0;; i++) {
                std::uint64_t args[] = {i & 15};
                dt_fire(&h.host, probe, args, 1);
            }
        }
        usleep(300 + 97 * round);
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        dt_clean(s.memory(), 1, 1, Session::nobody_lives);
        for (const Record& r : s.records()) {
            ASSERT_EQ(r.flags, 0u);
            ASSERT_LT(r.u64(), 16u);
            ASSERT_EQ(r.text(8), "payload");
            seen++;
        }
        for (const AggEntry& e : s.aggregations())
            ASSERT_GT(e.value[0], 0u);
        for (unsigned n = 0; n < 4; n++)
            ASSERT_EQ(s.shard(n).lock, 0u);
    }
    EXPECT_GT(seen, 0u);
    s.fire("n", {3});
    EXPECT_EQ(s.records().size(), 1u);
    EXPECT_EQ(s.aggregations().size(), 1u);
}

TEST(Concurrency, ABucketWhoseHolderDiedIsFreedByClean)
{
    Session s;
    Difo store, load;
    store.variable("t", 0x500, DIFV_SCOPE_GLOBAL, int_type(8), DIFV_KIND_ARRAY)
        .setx(5, 1)
        .push(1)
        .indexed(DIF_OP_STGAA, 0x500, 1)
        .ret(0);
    load.variable("t", 0x500, DIFV_SCOPE_GLOBAL, int_type(8), DIFV_KIND_ARRAY)
        .setx(5, 1)
        .push(1)
        .indexed(DIF_OP_LDGAA, 0x500, 1)
        .ret(1);
    DofBuilder dof;
    dof.clause("p:m:f:store").run(store);
    dof.clause("p:m:f:load").trace(load);
    ASSERT_EQ(s.load(dof), "");
    s.fire("store");

    // Locks each bucket as if its holder had died.
    struct Bucket {
        std::uint32_t lock, others[15];
    };
    auto* buckets = static_cast<Bucket*>(dt_at(s.memory(), s.arena().dyn.buckets));
    unsigned n = 0;
    for (; n < s.arena().dyn.n_buckets; n++)
        buckets[n].lock = 4711;
    // The load must not return 0. After a timeout, it drops the firing.
    s.fire("load");
    EXPECT_TRUE(s.records().empty());
    EXPECT_EQ(s.drops(DTRACEDROP_DYNDIRTY), 1u);
    dt_clean(s.memory(), 1, 1, Session::nobody_lives);
    s.fire("load");
    EXPECT_EQ(s.records()[0].u64(), 5u);
}

// The D program stores to an address in the memory of dynamic variables without loading
// a variable from this address. So the engine must search for the variable. The search
// must end, even though the chains are circular.
TEST(Concurrency, AStoreEndsInASpaceWhoseChainsAreCircular)
{
    Session s;
    s.config.options[DTRACEOPT_dynvarsize] = 1 << 20;
    Difo store;
    store.ldgs(DIF_VAR_arg0, 1).op(DIF_OP_STX, 1, 0, 1).setx(0, 1).ret(1);
    DofBuilder dof;
    dof.clause("p:m:f:store").run(store);
    ASSERT_EQ(s.load(dof), "");
    struct Bucket {
        std::uint32_t lock, head, others[14];
    };
    struct Chunk {
        std::uint32_t next, key_bytes, value_bytes, size_class;
    };
    const dt_dyn_plan& plan = s.arena().dyn;
    auto* buckets = static_cast<Bucket*>(dt_at(s.memory(), plan.buckets));
    for (unsigned n = 0; n < plan.n_buckets; n++)
        buckets[n].head = 1;
    // Every position in the pool looks like the header of a large chunk. In each
    // header, `next` refers to the first chunk.
    auto* chunks = static_cast<Chunk*>(dt_at(s.memory(), plan.pool));
    for (std::uint64_t n = 0; n < plan.pool_bytes / sizeof(Chunk); n++)
        chunks[n] = {1, 16, 100'000, 3};
    s.fire("store", {DT_VBASE + plan.pool + 200'000});
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_NE(records[0].flags & DT_REC_ERROR, 0);
}

TEST(Concurrency, ThreadLocalsOfThreadsThatEndedMakeRoomForOthers)
{
    Session s;
    s.config.options[DTRACEOPT_dynvarsize] = 8192;
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

    // There are more threads than slots. The variables need more memory than is
    // available, so some stores are dropped.
    std::uint64_t drops = 0;
    for (std::uint64_t t = 1; t <= 2000; t++) {
        s.host.host.thread_key = t;
        s.fire("store", {t});
        s.fire("load");
        auto records = s.records();
        ASSERT_EQ(records.size(), 1u);
        EXPECT_EQ(records[0].u64(), s.drops(DTRACEDROP_DYNAMIC) == drops ? t : 0);
        drops = s.drops(DTRACEDROP_DYNAMIC);
    }
    EXPECT_GT(drops, 0u);
    for (unsigned i = 0; i < s.arena().dyn.n_slots; i++)
        dt_clean(s.memory(), 1, 1, Session::nobody_lives);
    for (std::uint64_t t = 3001; t <= 3020; t++) {
        s.host.host.thread_key = t;
        s.fire("load");
        s.fire("store", {t});
        s.fire("load");
        auto records = s.records();
        EXPECT_EQ(records[0].u64(), 0u);
        EXPECT_EQ(records[1].u64(), t);
    }
    EXPECT_EQ(s.drops(DTRACEDROP_DYNAMIC), drops);
}

TEST(Concurrency, ProbesAndEcbsAreAddedWhileOthersFire)
{
    Session s;
    s.config.n_shards = 8;
    DofBuilder dof;
    for (int i = 0; i < 20; i++)
        dof.clause("p:m:f:n").aggregate(DTRACEAGG_count, 1, 0);
    s.start();
    auto image = dof.build();
    std::uint32_t first, n;
    ASSERT_EQ(dt_load(s.memory(), image.data(), image.size(), &first, &n, &s.error), 0);
    std::uint32_t probe = dt_probe_add(s.memory(), "p", "m", "f", "n");
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> n_fired{0};
    std::thread firing([&] {
        ThreadHost h(s, 1);
        while (!done) {
            dt_fire(&h.host, probe, nullptr, 0);
            n_fired++;
        }
    });
    using Clock = std::chrono::steady_clock;
    const Clock::time_point deadline = Clock::now() + std::chrono::seconds(30);
    for (std::uint32_t clause = n; clause-- > 0;) {
        EXPECT_NE(dt_ecb_add(s.memory(), probe, first + clause), 0u);
        // Waits until at least one complete firing has run since the ECB was added.
        const std::uint64_t enough = n_fired + 2;
        while (n_fired < enough && Clock::now() < deadline)
            std::this_thread::yield();
    }
    EXPECT_LT(Clock::now(), deadline);
    done = true;
    firing.join();
    EXPECT_EQ(dt_ecb_add(s.memory(), probe, first), 20u)
        << "the same pair, the same EPID";
    s.aggregations();
    ThreadHost h(s, 1);
    dt_fire(&h.host, probe, nullptr, 0);
    auto entries = s.aggregations();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].value[0], 20u);
}
