// SPDX-License-Identifier: MIT
// Tests dif/work.c: the time limit of one firing.
#include <gtest/gtest.h>

#include "tests/unit/dif/session.hpp"

namespace dif_test {

namespace {

constexpr std::uint64_t ms = 1'000'000;

void load_clauses(Session& s, int n_clauses)
{
    DofBuilder dof;
    for (int i = 0; i < n_clauses; i++)
        dof.clause("p:m:f:n").trace(constant(1));
    ASSERT_EQ(s.load(dof), "");
}

Difo zero_division()
{
    Difo d;
    d.setx(1, 1).op(DIF_OP_SDIV, 1, 0, 2).ret(2);
    return d;
}

} // namespace

TEST(Work, AFiringEndsWhenItsBudgetIsUsedUpAndThatIsCounted)
{
    Session s;
    load_clauses(s, 200);
    // The clock advances at each reading, and each clause reads it once.
    s.host.step = 5 * ms;
    s.host.host.budget_ns = 300 * ms;
    s.fire("n");
    const auto n = s.records().size();
    EXPECT_GE(n, 50u);
    EXPECT_LE(n, 80u);
    EXPECT_EQ(s.session().drops[DTRACEDROP_TIME], 1u);
    EXPECT_GT(s.host.host.spent_ns, s.host.host.budget_ns);

    s.host.host.spent_ns = 0;
    s.fire("n");
    EXPECT_EQ(s.records().size(), n);
    EXPECT_EQ(s.session().drops[DTRACEDROP_TIME], 2u);
}

TEST(Work, WithoutABudgetAFiringRunsAllItsClauses)
{
    Session s;
    load_clauses(s, 200);
    s.host.step = 1000 * ms;
    s.fire("n");
    EXPECT_EQ(s.records().size(), 200u);
    EXPECT_EQ(s.session().drops[DTRACEDROP_TIME], 0u);
    EXPECT_EQ(s.host.host.spent_ns, 0u);
}

TEST(Work, APauseOfTheMachineDoesNotUseUpTheBudget)
{
    Session s;
    load_clauses(s, 40);
    s.host.step = 10'000 * ms;
    s.host.host.budget_ns = 500 * ms;
    s.fire("n");
    EXPECT_EQ(s.records().size(), 40u);
    EXPECT_EQ(s.session().drops[DTRACEDROP_TIME], 0u);
}

// The clauses of the ERROR probe belong to the same firing, so they share its time
// limit.
TEST(Work, TheBudgetHoldsForTheClausesOfErrorsToo)
{
    Session s;
    DofBuilder dof;
    for (int i = 0; i < 100; i++)
        dof.clause("p:m:f:n").trace(zero_division());
    for (int i = 0; i < 100; i++)
        dof.clause("dtrace:::ERROR").trace(constant(1));
    ASSERT_EQ(s.load(dof), "");
    s.host.step = 5 * ms;
    s.host.host.budget_ns = 300 * ms;
    s.fire("n");
    EXPECT_LE(s.records().size(), 80u);
    EXPECT_EQ(s.session().drops[DTRACEDROP_TIME], 1u);
    EXPECT_EQ(s.session().drops[DTRACEDROP_DBLERROR], 0u);
}

} // namespace dif_test
