// SPDX-License-Identifier: MIT
// Counters: what native code adds to them is what the consumer gets, once.
#include <gtest/gtest.h>

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

TEST(Counters, OfEverySetAreToldAsWhatWasAddedSince)
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

TEST(Counters, OfALinearDistributionCarryItsParameters)
{
    Session s;
    const std::uint64_t arg = DTRACE_LQUANTIZE_ARG(10, 5, 0);
    const dt_action& a = action(loaded(s, DTRACEAGG_lquantize, arg), 0);
    words(s, 1, a)[2] = 4;
    auto entries = s.counters();
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].value, (std::vector<std::uint64_t>{arg, 0, 4, 0, 0, 0, 0, 0}));
}

TEST(Counters, ThatFitNoBufferComeByTheNextCalls)
{
    Session s;
    DofBuilder dof;
    for (int i = 0; i < 3; i++)
        dof.clause("p:m:f:n").aggregate(DTRACEAGG_count, 1 + i, 0,
                                        builtin(DIF_VAR_arg0));
    ASSERT_EQ(s.load(dof), "");
    for (unsigned i = 0; i < 3; i++)
        words(s, 0, action(s, i))[0] = i + 1;
    std::vector<char> copy(2 * (sizeof(dt_aggent) + 8) + 4);
    EXPECT_EQ(dt_drain_counters(s.memory(), 0, copy.data(), copy.size()), 80);
    EXPECT_EQ(dt_drain_counters(s.memory(), 0, copy.data(), copy.size()), 40);
    EXPECT_EQ(dt_drain_counters(s.memory(), 0, copy.data(), copy.size()), 0);
    EXPECT_EQ(dt_drain_counters(s.memory(), 1u << 20, copy.data(), copy.size()), 0);
}

TEST(Counters, AreNotHadByActionsForWhichThereIsNoRoom)
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
