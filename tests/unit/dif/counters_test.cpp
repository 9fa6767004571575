// SPDX-License-Identifier: MIT
// Tests that the consumer receives each count of native code exactly once.
#include <algorithm>
#include <gtest/gtest.h>

#include "dif/counters.h"
#include "tests/unit/dif/session.hpp"

using namespace dif_test;

namespace {

const dt_action& action(Session& s, unsigned clause, unsigned index = 0)
{
    return static_cast<dt_action*>(dt_at(s.memory(), s.clause(clause).actions))[index];
}

std::uint64_t* words(Session& s, unsigned set, const dt_action& a)
{
    return static_cast<std::uint64_t*>(
        dt_at(s.memory(), s.arena().counters.sets +
                              (std::uint64_t{set} << DT_COUNTERS_SHIFT) + a.counters));
}

Session& loaded(Session& s, dif_agg kind, std::uint64_t arg = 0)
{
    DofBuilder dof;
    dof.clause("p:m:f:n").aggregate(kind, 1, 0, builtin(DIF_VAR_arg0), arg);
    EXPECT_EQ(s.load(dof), "");
    return s;
}

} // namespace

TEST(Counters, AreForAggregationsWithoutAKeyThatOnlyAddUp)
{
    for (auto [kind, counted] : {std::pair(DTRACEAGG_count, true),
                                 {DTRACEAGG_sum, true},
                                 {DTRACEAGG_quantize, true},
                                 {DTRACEAGG_min, false},
                                 {DTRACEAGG_max, false},
                                 {DTRACEAGG_avg, false},
                                 {DTRACEAGG_stddev, false}}) {
        Session s;
        EXPECT_EQ(action(loaded(s, kind), 0).counters != 0, counted) << kind;
    }
}

TEST(Counters, InEverySetAreReportedAsTheAdditionsSince)
{
    Session s;
    const dt_action& a = action(loaded(s, DTRACEAGG_quantize), 0);
    words(s, 0, a)[3] = 2;
    words(s, 2, a)[126] = 5;
    auto first = s.counters();
    ASSERT_EQ(first.size(), 2u);
    EXPECT_EQ(first[0].value[3], 2u);
    EXPECT_EQ(first[1].value[126], 5u);
    EXPECT_EQ(first[1].value.size(), 127u);
    EXPECT_EQ(s.counters().size(), 0u);
    words(s, 2, a)[126] += 3;
    auto second = s.counters();
    ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(second[0].value[126], 3u);
    EXPECT_EQ(second[0].value[3], 0u);
    EXPECT_EQ(second[0].aggvar, 1u);
    EXPECT_EQ(second[0].epid, 1u);
}

TEST(Counters, TellASumOfZerosAndOneThatWentBack)
{
    Session s;
    const dt_action& a = action(loaded(s, DTRACEAGG_sum), 0);
    EXPECT_EQ(s.counters().size(), 0u);
    for (int i = 0; i < 2; i++) {
        words(s, 1, a)[1] = 1;
        auto entries = s.counters();
        ASSERT_EQ(entries.size(), 1u);
        EXPECT_EQ(entries[0].value, std::vector<std::uint64_t>{0});
        EXPECT_EQ(s.counters().size(), 0u);
    }
    words(s, 1, a)[0] = -7ull;
    auto entries = s.counters();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].value[0], -7ull);
}

namespace {

dt_counted_key& table(Session& s, const dt_action& a, unsigned n)
{
    return *static_cast<dt_counted_key*>(
        dt_at(s.memory(), s.arena().counters.sets + dt_counted_at(&a) +
                              (std::uint64_t{n} << dt_counted_key_shift(&a))));
}

// Stores a key as native code does. Returns the counters of this key.
std::uint64_t* known(Session& s, unsigned set, const dt_action& a, unsigned n,
                     std::vector<std::uint64_t> key)
{
    table(s, a, a.counted_keys).state = 1;
    std::copy(key.begin(), key.end(), table(s, a, n).key);
    table(s, a, n).state = DT_COUNTED_KNOWN;
    return words(s, set, a) + (n << dt_counted_shift(&a)) / 8;
}

std::string bytes_of(const std::vector<std::uint64_t>& words)
{
    return {reinterpret_cast<const char*>(words.data()), words.size() * 8};
}

} // namespace

TEST(Counters, AreReportedWithTheirKeys)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n")
        .key(builtin(DIF_VAR_arg0))
        .key(builtin(DIF_VAR_arg1))
        .aggregate(DTRACEAGG_sum, 1, 2, builtin(DIF_VAR_arg2));
    dof.clause("p:m:f:n")
        .key(builtin(DIF_VAR_arg0))
        .aggregate(DTRACEAGG_quantize, 2, 1, builtin(DIF_VAR_arg2));
    ASSERT_EQ(s.load(dof), "");
    const dt_action &sum = action(s, 0, 2), &quantize = action(s, 1, 1);
    ASSERT_GT(sum.counted_keys, 4000u);
    ASSERT_GT(quantize.counted_keys, 100u);
    EXPECT_EQ(s.counters().size(), 0u);
    std::uint64_t* last = known(s, 2, sum, sum.counted_keys - 1, {7, 8});
    last[1] = 1;
    known(s, 1, sum, 0, {0, 0})[0] = 5;
    known(s, 0, sum, 1, {1, 1});                 // nothing is counted for this key
    table(s, sum, 3).state = DT_COUNTED_CLAIMED; // the key is not stored yet
    words(s, 1, sum)[3 * 4] = 9;
    known(s, 1, quantize, quantize.counted_keys - 1, {~0ull})[126] = 3;
    auto entries = s.counters();
    ASSERT_EQ(entries.size(), 3u);
    EXPECT_EQ(entries[0].key, bytes_of({0, 0}));
    EXPECT_EQ(entries[0].value, std::vector<std::uint64_t>{5});
    EXPECT_EQ(entries[1].key, bytes_of({~0ull}));
    EXPECT_EQ(entries[1].aggvar, 2u);
    EXPECT_EQ(entries[1].value[126], 3u);
    EXPECT_EQ(entries[2].key, bytes_of({7, 8}));
    EXPECT_EQ(entries[2].value, std::vector<std::uint64_t>{0});
    EXPECT_EQ(s.counters().size(), 0u);
    last[0] += 4;
    entries = s.counters();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].value, std::vector<std::uint64_t>{4});
}

// The target can write an invalid EPID into a key. In this case, the names of the probe
// are empty.
TEST(Counters, WithAProbesNamesAreReportedAsByTheEngine)
{
    Session s;
    s.config.options[DTRACEOPT_strsize] = 8;
    DofBuilder dof;
    dof.clause("p:m:function:n")
        .key(builtin(DIF_VAR_arg0, 2))
        .key(builtin(DIF_VAR_probefunc).returns_string())
        .key(builtin(DIF_VAR_arg1, 1))
        .key(builtin(DIF_VAR_probename).returns_string())
        .aggregate(DTRACEAGG_count, 1, 4, {});
    ASSERT_EQ(s.load(dof), "");
    const dt_action& count = action(s, 0, 4);
    ASSERT_EQ(count.counted_words, 3u);
    s.fire("n", {0x12345, 0x678});
    auto by_engine = s.aggregations();
    ASSERT_EQ(by_engine.size(), 1u);
    known(s, 1, count, 0, {1, 0x12345, 0x678})[0] = 2;
    auto entries = s.counters();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].key, by_engine[0].key);
    EXPECT_EQ(entries[0].key.substr(8, 8), std::string("functio\0", 8));
    for (std::uint64_t epid : {std::uint64_t{0}, std::uint64_t{2}, ~std::uint64_t{0}}) {
        known(s, 1, count, 0, {epid, 0x12345, 0x678})[0]++;
        entries = s.counters();
        ASSERT_EQ(entries.size(), 1u);
        EXPECT_EQ(entries[0].key.substr(8, 8), std::string(8, '\0'));
    }
}

TEST(Counters, TablesAreSmallerWhereThereIsLessRoom)
{
    Session s;
    DofBuilder dof;
    for (unsigned i = 0; i < 100; i++)
        dof.clause("p:m:f:n")
            .key(builtin(DIF_VAR_arg0))
            .aggregate(DTRACEAGG_quantize, 1 + i, 1, builtin(DIF_VAR_arg1));
    ASSERT_EQ(s.load(dof), "");
    std::uint32_t least = ~0u, n = 0;
    for (; n < 100 && action(s, n, 1).counters != 0; n++)
        least = std::min(least, action(s, n, 1).counted_keys);
    EXPECT_GE(n, 5u);
    EXPECT_LT(n, 100u);
    EXPECT_EQ(least, 32u + DT_COUNTED_REACH - 1);
    EXPECT_EQ(action(s, 0, 1).counted_keys, 128u + DT_COUNTED_REACH - 1);
    EXPECT_LE(s.arena().counters.used, DT_COUNTERS_BYTES);
}

TEST(Counters, ThatFitNoBufferAreReportedByTheNextCalls)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n")
        .key(builtin(DIF_VAR_arg0))
        .aggregate(DTRACEAGG_count, 1, 1, {});
    ASSERT_EQ(s.load(dof), "");
    for (unsigned i = 0; i < 5; i++)
        *known(s, 0, action(s, 0, 1), i, {i}) = 1;
    std::vector<char> copy(2 * (sizeof(dt_aggent) + 16) + 4);
    dt_u64 from = 0;
    for (int bytes : {96, 96, 48}) {
        EXPECT_NE(from, DT_COUNTERS_DONE);
        EXPECT_EQ(dt_drain_counters(s.memory(), 0, &from, copy.data(), copy.size()),
                  bytes);
    }
    EXPECT_EQ(from, DT_COUNTERS_DONE);
}

TEST(Counters, AreNotForKeysThatAreNotAFewIntegers)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n")
        .key(builtin(DIF_VAR_execname).returns_string())
        .aggregate(DTRACEAGG_count, 1, 1, {});
    dof.clause("p:m:f:n")
        .key(builtin(DIF_VAR_arg0))
        .key(builtin(DIF_VAR_arg1))
        .key(builtin(DIF_VAR_arg2))
        .key(builtin(DIF_VAR_arg3))
        .aggregate(DTRACEAGG_count, 2, 4, {});
    dof.clause("p:m:f:n")
        .key(builtin(DIF_VAR_arg0))
        .aggregate(DTRACEAGG_max, 3, 1, builtin(DIF_VAR_arg1));
    ASSERT_EQ(s.load(dof), "");
    EXPECT_EQ(action(s, 0, 1).counters, 0u);
    EXPECT_EQ(action(s, 1, 4).counters, 0u);
    EXPECT_EQ(action(s, 2, 1).counters, 0u);
}

TEST(Counters, ForALinearDistributionContainItsParameters)
{
    Session s;
    const std::uint64_t arg = DTRACE_LQUANTIZE_ARG(10, 5, 0);
    const dt_action& a = action(loaded(s, DTRACEAGG_lquantize, arg), 0);
    words(s, 1, a)[2] = 4;
    auto entries = s.counters();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].value, (std::vector<std::uint64_t>{arg, 0, 4, 0, 0, 0, 0, 0}));
}

static std::string load_three_counts(Session& s)
{
    DofBuilder dof;
    for (int i = 0; i < 3; i++)
        dof.clause("p:m:f:n").aggregate(DTRACEAGG_count, 1 + i, 0,
                                        builtin(DIF_VAR_arg0));
    return s.load(dof);
}

TEST(Counters, ThatFitNoBufferComeByTheNextCalls)
{
    Session s;
    ASSERT_EQ(load_three_counts(s), "");
    for (unsigned i = 0; i < 3; i++)
        words(s, 0, action(s, i))[0] = i + 1;
    std::vector<char> copy(2 * (sizeof(dt_aggent) + 8) + 4);
    dt_u64 from = 0;
    EXPECT_EQ(dt_drain_counters(s.memory(), 0, &from, copy.data(), copy.size()), 80);
    EXPECT_EQ(dt_drain_counters(s.memory(), 0, &from, copy.data(), copy.size()), 40);
    EXPECT_EQ(from, DT_COUNTERS_DONE);
    from = 0;
    EXPECT_EQ(dt_drain_counters(s.memory(), 0, &from, copy.data(), copy.size()), 0);
    EXPECT_EQ(dt_drain_counters(s.memory(), 1u << 20, &from, copy.data(), copy.size()),
              0);
    EXPECT_EQ(from, DT_COUNTERS_DONE);
}

TEST(Counters, ThatGrowWhileTheyAreDrainedAreEachReadOnce)
{
    Session s;
    ASSERT_EQ(load_three_counts(s), "");
    std::vector<char> copy(sizeof(dt_aggent) + 8);
    unsigned n_calls = 0;
    for (dt_u64 from = 0; from != DT_COUNTERS_DONE && n_calls < 10; n_calls++) {
        for (unsigned i = 0; i < 3; i++)
            words(s, 0, action(s, i))[0]++;
        EXPECT_GE(dt_drain_counters(s.memory(), 0, &from, copy.data(), copy.size()), 0);
    }
    EXPECT_EQ(n_calls, 3u);
}

TEST(Counters, AreOmittedForActionsWithoutSpace)
{
    Session s;
    s.config.options[DTRACEOPT_aggsize] = 4 << 20;
    DofBuilder dof;
    for (unsigned i = 0; i < 200; i++)
        dof.clause("p:m:f:n").aggregate(DTRACEAGG_llquantize, 1 + i, 0,
                                        builtin(DIF_VAR_arg0),
                                        DTRACE_LLQUANTIZE_ARG(10, 0, 16, 100));
    ASSERT_EQ(s.load(dof), "");
    EXPECT_NE(action(s, 0).counters, 0u);
    EXPECT_EQ(action(s, 199).counters, 0u);
    EXPECT_LE(s.arena().counters.used, DT_COUNTERS_BYTES);
    s.fire("n", {5});
    EXPECT_EQ(s.aggregations().size(), 200u);
}

TEST(Counters, AProbeWithASecondClauseSaysSo)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(constant(1));
    ASSERT_EQ(s.load(dof), "");
    dt_probe& probe = s.probes()[s.arena().probes.n - 1];
    EXPECT_EQ(probe.flags & DT_PROBE_MANY, 0u);
    DofBuilder more;
    more.clause("p:m:f:n").trace(constant(2));
    ASSERT_EQ(s.load(more), "");
    EXPECT_EQ(probe.flags & DT_PROBE_MANY, 0u + DT_PROBE_MANY);
}
