// SPDX-License-Identifier: MIT
// Tests aggregating functions, their keys, and full buffers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "dif/distribution.h"
#include "tests/unit/dif/session.hpp"

using namespace dif_test;

namespace {

// Aggregates the values without a key. Returns the words of the entry.
std::vector<std::uint64_t> kept(dif_agg kind, const std::vector<std::uint64_t>& values,
                                std::uint64_t arg = 0)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").aggregate(kind, 1, 0, builtin(DIF_VAR_arg0), arg);
    EXPECT_EQ(s.load(dof), "");
    for (std::uint64_t v : values)
        s.fire("n", {v});
    auto entries = s.aggregations();
    EXPECT_EQ(entries.size(), 1u);
    return entries.empty() ? std::vector<std::uint64_t>{} : entries[0].value;
}

using Words = std::vector<std::uint64_t>;
constexpr std::uint64_t minus(std::uint64_t n)
{
    return -n;
}

} // namespace

TEST(Aggregation, CountSumMinMaxAvg)
{
    EXPECT_EQ(kept(DTRACEAGG_count, {1, 2, 3}), Words{3});
    EXPECT_EQ(kept(DTRACEAGG_sum, {1, 2, minus(9)}), Words{minus(6)});
    EXPECT_EQ(kept(DTRACEAGG_min, {1, minus(2), 3}), Words{minus(2)});
    EXPECT_EQ(kept(DTRACEAGG_max, {minus(1), minus(2)}), Words{minus(1)});
    EXPECT_EQ(kept(DTRACEAGG_avg, {1, 2, 6}), (Words{3, 9}));
}

TEST(Aggregation, SumWraps)
{
    EXPECT_EQ(kept(DTRACEAGG_sum, {~0ull >> 1, 1}), Words{1ull << 63});
}

TEST(Aggregation, StddevKeepsSquaresIn128Bits)
{
    EXPECT_EQ(kept(DTRACEAGG_stddev, {3, minus(4)}), (Words{2, minus(1), 25, 0}));
    EXPECT_EQ(kept(DTRACEAGG_stddev, {1ull << 63, 1ull << 63}),
              (Words{2, 0, 0, 1ull << 63}));
}

TEST(Aggregation, QuantizeSortsByPowersOfTwoAroundZero)
{
    EXPECT_EQ(dt_quantize_bucket(0), 63u);
    EXPECT_EQ(dt_quantize_bucket(1), 64u);
    EXPECT_EQ(dt_quantize_bucket(7), 66u);
    EXPECT_EQ(dt_quantize_bucket(-1), 62u);
    EXPECT_EQ(dt_quantize_bucket(-8), 59u);
    EXPECT_EQ(dt_quantize_bucket(std::numeric_limits<dt_s64>::max()), 126u);
    EXPECT_EQ(dt_quantize_bucket(std::numeric_limits<dt_s64>::min()), 0u);
    for (unsigned i = 0; i < DTRACE_QUANTIZE_NBUCKETS; i++)
        EXPECT_EQ(dt_quantize_bucket(dt_quantize_value(i)), i);
    auto words = kept(DTRACEAGG_quantize, {0, 1, 7, 6});
    ASSERT_EQ(words.size(), 127u);
    EXPECT_EQ(words[63], 1u);
    EXPECT_EQ(words[64], 1u);
    EXPECT_EQ(words[66], 2u);
}

TEST(Aggregation, LquantizeHasBucketsBelowAndAboveItsRange)
{
    std::uint64_t arg = DTRACE_LQUANTIZE_ARG(10, 5, static_cast<dt_u32>(-10));
    auto words =
        kept(DTRACEAGG_lquantize, {minus(11), minus(10), 0, 39, 40, minus(1)}, arg);
    EXPECT_EQ(words, (Words{arg, 1, 2, 1, 0, 0, 1, 1}));
}

TEST(Aggregation, LlquantizeMatchesASearchThroughItsBoundaries)
{
    for (std::uint64_t arg :
         {DTRACE_LLQUANTIZE_ARG(10, 0, 6, 20), DTRACE_LLQUANTIZE_ARG(2, 3, 10, 8),
          DTRACE_LLQUANTIZE_ARG(10, 2, 4, 10), DTRACE_LLQUANTIZE_ARG(3, 0, 4, 9)}) {
        ASSERT_TRUE(dt_llquantize_ok(arg));
        std::uint64_t factor = DTRACE_LLQUANTIZE_FACTOR(arg);
        std::vector<std::uint64_t> starts;
        for (unsigned k = DTRACE_LLQUANTIZE_LOW(arg); k <= DTRACE_LLQUANTIZE_HIGH(arg);
             k++) {
            std::uint64_t low = std::llround(std::pow(factor, k)), next = low * factor;
            std::uint64_t n =
                std::min<std::uint64_t>(next, DTRACE_LLQUANTIZE_NSTEP(arg));
            for (std::uint64_t at = low; at < next; at += next / n)
                starts.push_back(at);
        }
        starts.push_back(starts.back() + 1);
        starts.back() = std::llround(std::pow(factor, DTRACE_LLQUANTIZE_HIGH(arg) + 1));
        EXPECT_EQ(dt_llquantize_buckets(arg), starts.size() + 1);
        for (std::uint64_t v = 0; v < starts.back() + 10; v += 1 + v / 1000) {
            unsigned expected = 0;
            while (expected < starts.size() && starts[expected] <= v)
                expected++;
            ASSERT_EQ(dt_llquantize_bucket(arg, v), expected) << v;
        }
        EXPECT_EQ(dt_llquantize_bucket(arg, -5), 0u);
    }
}

TEST(Aggregation, BadParametersAreRefused)
{
    auto refused = [](dif_agg kind, std::uint64_t arg) {
        Session s;
        DofBuilder dof;
        dof.clause("p:m:f:n").aggregate(kind, 1, 0, constant(1), arg);
        return s.load(dof);
    };
    EXPECT_EQ(refused(DTRACEAGG_lquantize, DTRACE_LQUANTIZE_ARG(0, 5, 0)),
              "lquantize() has invalid parameters");
    EXPECT_EQ(refused(DTRACEAGG_lquantize, DTRACE_LQUANTIZE_ARG(1, 0, 0)),
              "lquantize() has invalid parameters");
    for (std::uint64_t arg :
         {DTRACE_LLQUANTIZE_ARG(1, 0, 6, 20), DTRACE_LLQUANTIZE_ARG(10, 6, 6, 20),
          DTRACE_LLQUANTIZE_ARG(10, 0, 6, 5), DTRACE_LLQUANTIZE_ARG(10, 0, 6, 25),
          DTRACE_LLQUANTIZE_ARG(10, 0, 60, 20), DTRACE_LLQUANTIZE_ARG(10, 0, 6, 30)})
        EXPECT_EQ(refused(DTRACEAGG_llquantize, arg),
                  "llquantize() has invalid parameters");
    EXPECT_EQ(refused(static_cast<dif_agg>(0x70a), 0), "unknown aggregating function");
}

TEST(Aggregation, AnIncrementMayBeNegative)
{
    Session s;
    DofBuilder dof;
    Clause& c = dof.clause("p:m:f:n");
    c.action({DTRACEAGG_quantize, constant(minus(3)), DT_NTUPLE_INCREMENT});
    c.aggregate(DTRACEAGG_quantize, 1, 0, constant(1));
    c.aggregate(DTRACEAGG_quantize, 2, 0, constant(1));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto entries = s.aggregations();
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].value[64], minus(3));
    EXPECT_EQ(entries[1].value[64], 1u);
}

TEST(Aggregation, KeysOfSeveralPartsAreZeroPadded)
{
    Session s;
    DofBuilder dof;
    Difo name = builtin(DIF_VAR_execname);
    name.returns_string();
    dof.clause("p:m:f:n")
        .key(builtin(DIF_VAR_arg0, 4))
        .key(name)
        .aggregate(DTRACEAGG_count, 1, 2);
    ASSERT_EQ(s.load(dof), "");

    s.host.strings[DIF_VAR_execname] = "a long name";
    s.fire("n", {1});
    s.host.strings[DIF_VAR_execname] = "b";
    s.fire("n", {1});
    s.host.strings[DIF_VAR_execname] = "a long name";
    s.fire("n", {1});
    auto entries = s.aggregations();
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].value, Words{2});
    EXPECT_EQ(entries[1].value, Words{1});
    EXPECT_EQ(entries[1].key.size(), 264u);
    EXPECT_EQ(entries[1].key,
              std::string("\1\0\0\0\0\0\0\0b", 9) + std::string(255, '\0'));
}

TEST(Aggregation, StacksAsKeysDifferByEachFrameAndAreZeroPadded)
{
    Session s;
    s.host.numbers[DIF_VAR_pid] = 42;
    DofBuilder dof;
    dof.clause("p:m:f:n")
        .action({DTRACEACT_USTACK, {}, 1, DTRACE_USTACK_ARG(4, 0)})
        .aggregate(DTRACEAGG_count, 1, 1);
    ASSERT_EQ(s.load(dof), "");

    // The first stack leaves frames in the key's memory, which later keys must not
    // contain.
    const std::vector<Words> stacks = {{1, 2, 3, 4}, {1, 2}, {1, 2, 3},    {},  {1},
                                       {2, 1},       {1, 2}, {1, 2, 3, 4}, {1}, {1}};
    for (const Words& stack : stacks) {
        s.host.frames = stack;
        s.fire("n");
    }
    std::map<Words, std::uint64_t> counts;
    for (const auto& entry : s.aggregations()) {
        Words key(entry.key.size() / 8);
        std::memcpy(key.data(), entry.key.data(), entry.key.size());
        counts[key] += entry.value[0];
    }
    EXPECT_EQ(counts, (std::map<Words, std::uint64_t>{{{42, 1, 2, 3, 4}, 2},
                                                      {{42, 1, 2, 0, 0}, 2},
                                                      {{42, 1, 2, 3, 0}, 1},
                                                      {{42, 0, 0, 0, 0}, 1},
                                                      {{42, 1, 0, 0, 0}, 3},
                                                      {{42, 2, 1, 0, 0}, 1}}));
}

TEST(Aggregation, ClausesShareAnAggregationOfOneId)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").key(constant(5)).aggregate(DTRACEAGG_count, 1, 1);
    dof.clause("p:m:f:n").key(constant(5)).aggregate(DTRACEAGG_count, 1, 1);
    dof.clause("p:m:f:n").key(constant(5)).aggregate(DTRACEAGG_count, 2, 1);
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto entries = s.aggregations();
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].value, Words{2});
    EXPECT_EQ(entries[1].value, Words{1});
}

TEST(Aggregation, AFullBufferDropsNewKeysAndStillCountsOldOnes)
{
    Session s;
    s.config.options[DTRACEOPT_aggsize] = 2048;
    DofBuilder dof;
    dof.clause("p:m:f:n").key(builtin(DIF_VAR_arg0)).aggregate(DTRACEAGG_count, 1, 1);
    ASSERT_EQ(s.load(dof), "");

    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 1000; i++)
            s.fire("n", {i});
    }
    std::uint64_t counted = 0;
    auto entries = s.aggregations();
    for (const AggEntry& e : entries) {
        EXPECT_EQ(e.value[0], 2u);
        counted += e.value[0];
    }
    EXPECT_GT(entries.size(), 20u);
    EXPECT_EQ(counted + s.drops(DTRACEDROP_AGGREGATION), 2000u);
}

// A shard is parked after about 30 keys. So 130 keys park four of the eight shards.
TEST(Aggregation, AShardIsParkedWhenItsBufferIsAlmostFull)
{
    Session s;
    s.config.options[DTRACEOPT_aggsize] = 2048;
    s.config.n_shards = 8;
    s.config.n_parkable = 100; // reduced to 4, half of the shards
    DofBuilder dof;
    dof.clause("p:m:f:n").key(builtin(DIF_VAR_arg0)).aggregate(DTRACEAGG_count, 1, 1);
    ASSERT_EQ(s.load(dof), "");
    auto parked = [&] {
        std::vector<unsigned> found;
        for (unsigned n = 0; n < s.arena().n_shards; n++)
            if (s.shard(n).lock == DT_SHARD_PARKED)
                found.push_back(n);
        return found;
    };

    for (int round = 0; round < 2; round++) {
        s.host.host.shard = 0;
        for (unsigned i = 0; i < 130; i++)
            s.fire("n", {i});
        EXPECT_EQ(parked(), (std::vector<unsigned>{0, 1, 2, 3}));
        EXPECT_EQ(s.drops(DTRACEDROP_AGGREGATION), 0u);

        s.records(); // reading the records does not free the shard
        dt_clean(s.memory(), 1, 0, [](dt_u32) { return 0; });
        EXPECT_EQ(parked(), (std::vector<unsigned>{0, 1, 2, 3}));
        EXPECT_EQ(s.aggregations().size(), 130u);
        EXPECT_EQ(parked(), std::vector<unsigned>{});
    }
}

TEST(Aggregation, ShardsForAllCpusAreNeverParked)
{
    struct {
        dt_u32 n_shards, n_cpus, wanted, n_parkable;
    } const cases[] = {{128, 2, 100, 64},    {128, 2, 10, 10}, {128, 100, 100, 26},
                       {252, 128, 200, 122}, {8, 6, 100, 0},   {4, 16, 4, 0}};
    for (const auto& c : cases) {
        Session s;
        s.config.n_shards = c.n_shards;
        s.config.n_cpus = c.n_cpus;
        s.config.n_parkable = c.wanted;
        s.start();
        EXPECT_EQ(s.arena().plan.n_parkable, c.n_parkable)
            << c.n_shards << " shards, " << c.n_cpus << " CPUs";
    }
}

namespace {

constexpr std::uint64_t header_and_key = sizeof(dt_aggent) + 8;
constexpr std::uint64_t short_bytes = header_and_key + sizeof(dt_aggpoint);
constexpr std::uint64_t full_bytes = header_and_key + 8ull * DTRACE_QUANTIZE_NBUCKETS;

struct Quantized : Session {
    explicit Quantized(std::uint64_t aggsize = 8 << 20)
    {
        config.options[DTRACEOPT_aggsize] = aggsize;
        config.n_shards = 1;
        DofBuilder dof;
        dof.clause("p:m:f:n")
            .key(builtin(DIF_VAR_arg0))
            .aggregate(DTRACEAGG_quantize, 1, 1, builtin(DIF_VAR_arg1));
        EXPECT_EQ(load(dof), "");
    }
    // Fires once for each key. Returns the number of bytes that these firings added to
    // the buffer.
    std::uint64_t bytes_for(unsigned n_keys, std::uint64_t value)
    {
        const std::uint64_t before = used();
        for (unsigned key = 0; key < n_keys; key++)
            fire("n", {key, value});
        const std::uint64_t start = 4ull * arena().plan.agg_buckets;
        return used() - std::max(before, start);
    }

private:
    std::uint64_t used() { return shard(0).agg[shard(0).agg_active & 1].used; }
};

} // namespace

TEST(Aggregation, AKeyOfADistributionHasShortEntriesForItsFirstFourBuckets)
{
    constexpr unsigned n_keys = 1000; // more than DT_AGG_HINTS
    Quantized s;
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(s.bytes_for(n_keys, 1u << i), n_keys * short_bytes) << i;
    EXPECT_EQ(s.bytes_for(n_keys, 4), 0u);
    EXPECT_EQ(s.bytes_for(n_keys, 16), n_keys * full_bytes);
    EXPECT_EQ(s.bytes_for(n_keys, 32), 0u);
    EXPECT_EQ(s.bytes_for(n_keys, 1), 0u);

    auto entries = s.aggregations();
    ASSERT_EQ(entries.size(), n_keys);
    const Words counts = {2, 1, 2, 1, 1, 1, 0};
    for (const AggEntry& entry : entries)
        EXPECT_EQ(Words(entry.value.begin() + 64, entry.value.begin() + 71), counts);
}

TEST(Aggregation, AKeyThatIsUpdatedOftenGetsAnEntryWithAllBuckets)
{
    Quantized one_bucket;
    EXPECT_EQ(one_bucket.bytes_for(1, 1), short_bytes);
    for (int i = 2; i <= 64; i++)
        EXPECT_EQ(one_bucket.bytes_for(1, 1), 0u) << i;
    EXPECT_EQ(one_bucket.bytes_for(1, 1), full_bytes);
    EXPECT_EQ(one_bucket.bytes_for(1, 2), 0u);
    auto entries = one_bucket.aggregations();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].value[64], 65u);
    EXPECT_EQ(entries[0].value[65], 1u);

    Quantized two_buckets;
    EXPECT_EQ(two_buckets.bytes_for(1, 1), short_bytes);
    EXPECT_EQ(two_buckets.bytes_for(1, 2), short_bytes);
    for (int i = 2; i <= 64; i++) {
        EXPECT_EQ(two_buckets.bytes_for(1, 1), 0u) << i;
        EXPECT_EQ(two_buckets.bytes_for(1, 2), 0u) << i;
    }
    EXPECT_EQ(two_buckets.bytes_for(1, 1), full_bytes);
    EXPECT_EQ(two_buckets.bytes_for(1, 4), 0u);
}

// Key 0 has a short entry. There is no space left for an entry with all buckets.
TEST(Aggregation, AFullBufferStillCountsInTheShortEntriesOfADistribution)
{
    Quantized s(4096);
    s.bytes_for(1, 1);
    for (unsigned key = 1; s.drops(DTRACEDROP_AGGREGATION) == 0; key++)
        s.fire("n", {key, 1});
    for (int i = 0; i < 200; i++)
        s.fire("n", {0, 1});
    EXPECT_EQ(s.drops(DTRACEDROP_AGGREGATION), 1u);
    for (const AggEntry& entry : s.aggregations())
        EXPECT_EQ(entry.value[64], entry.key == std::string(8, '\0') ? 201u : 1u);
}

// A fifth bucket would need an entry with all buckets, but only a short one fits.
TEST(Aggregation, AnAlmostFullBufferStillTakesShortEntries)
{
    Quantized s(4096);
    const std::uint64_t room = 4096 - 4ull * s.arena().plan.agg_buckets;
    std::uint64_t used = 0;
    for (unsigned i = 0; i < 4; i++)
        used += s.bytes_for(1, 1u << i);
    for (unsigned key = 1; room - used > full_bytes; key++) {
        s.fire("n", {key, 1});
        used += short_bytes;
    }
    s.fire("n", {0, 16});
    EXPECT_EQ(s.drops(DTRACEDROP_AGGREGATION), 0u);
    for (const AggEntry& entry : s.aggregations())
        if (entry.key == std::string(8, '\0')) {
            EXPECT_EQ(Words(entry.value.begin() + 64, entry.value.begin() + 70),
                      (Words{1, 1, 1, 1, 1, 0}));
        }
}

// Two of the four shards cannot be parked, so each firing still finds a free shard.
TEST(Aggregation, KeysAreDroppedWhenAllShardsThatCanBeParkedAre)
{
    Session s;
    s.config.options[DTRACEOPT_aggsize] = 2048;
    s.config.n_shards = 4;
    s.config.n_parkable = 2;
    DofBuilder dof;
    dof.clause("p:m:f:n").key(builtin(DIF_VAR_arg0)).aggregate(DTRACEAGG_count, 1, 1);
    ASSERT_EQ(s.load(dof), "");

    for (unsigned i = 0; i < 1000; i++)
        s.fire("n", {i});

    EXPECT_EQ(s.drops(DTRACEDROP_NOSHARD), 0u);
    const std::size_t kept = s.aggregations().size();
    EXPECT_GT(kept, 60u);
    EXPECT_EQ(kept + s.drops(DTRACEDROP_AGGREGATION), 1000u);
}

TEST(Aggregation, EachDrainGivesWhatHappenedSince)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").aggregate(DTRACEAGG_count, 1, 0);
    ASSERT_EQ(s.load(dof), "");

    for (unsigned round = 1; round <= 5; round++) {
        for (unsigned i = 0; i < round; i++)
            s.fire("n");
        auto entries = s.aggregations();
        ASSERT_EQ(entries.size(), 1u);
        EXPECT_EQ(entries[0].value, Words{round});
    }
    EXPECT_TRUE(s.aggregations().empty());
}

TEST(Aggregation, AFaultInAKeyAggregatesNothing)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n")
        .key(Difo().op(DIF_OP_UDIV, 0, 0, 1).ret(1))
        .aggregate(DTRACEAGG_count, 1, 1);
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    EXPECT_TRUE(s.aggregations().empty());
    EXPECT_EQ(s.records().size(), 1u);
}
