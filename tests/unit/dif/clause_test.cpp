// SPDX-License-Identifier: MIT
// Tests clauses: faults, ERROR, exit(), activity, clause-local variables, strtok().
#include <gtest/gtest.h>

#include "tests/unit/dif/session.hpp"

using namespace dif_test;

namespace {

Difo divides_by_zero()
{
    Difo d;
    d.setx(1, 1).op(DIF_OP_SDIV, 1, 0, 2).ret(2);
    return d;
}

Difo add_to_global(unsigned id, std::uint64_t n)
{
    Difo d;
    d.variable("g", id, DIFV_SCOPE_GLOBAL)
        .ldgs(id, 1)
        .setx(n, 2)
        .op(DIF_OP_ADD, 1, 2, 1)
        .indexed(DIF_OP_STGS, id, 1)
        .ret(1);
    return d;
}

Difo set_local(unsigned id, std::uint64_t n)
{
    Difo d;
    d.variable("l", id, DIFV_SCOPE_LOCAL).setx(n, 1).indexed(DIF_OP_STLS, id, 1).ret(1);
    return d;
}

Difo get_local(unsigned id)
{
    Difo d;
    d.variable("l", id, DIFV_SCOPE_LOCAL).indexed(DIF_OP_LDLS, id, 1).ret(1);
    return d;
}

} // namespace

TEST(Clause, AFaultEndsItsClauseAloneAndKeepsWhatItStored)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").run(add_to_global(0x500, 5)).trace(divides_by_zero());
    dof.clause("p:m:f:n").trace(
        Difo().variable("g", 0x500, DIFV_SCOPE_GLOBAL).ldgs(0x500, 1).ret(1));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].flags, DT_REC_ERROR);
    EXPECT_EQ(records[0].epid, 1u);
    EXPECT_EQ(records[0].error().action, 2u);
    EXPECT_EQ(records[0].error().offset, 4u);
    EXPECT_EQ(records[0].error().fault, unsigned{DTRACEFLT_DIVZERO});
    EXPECT_EQ(records[1].u64(), 5u);
}

TEST(Clause, AFaultInAPredicateIsReportedAsActionZero)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").when(divides_by_zero()).trace(constant(1));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].error().action, 0u);
}

TEST(Clause, ErrorFiresWithEpidActionOffsetFaultAndAddress)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(Difo().setx(0xbad, 1).op(DIF_OP_LDX, 1, 0, 2).ret(2));
    Clause& error = dof.clause("dtrace:::ERROR");
    for (unsigned arg = 1; arg <= 5; arg++)
        error.trace(builtin(DIF_VAR_arg0 + arg));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[1].flags, 0u);
    EXPECT_EQ(records[1].u64(0), 1u);
    EXPECT_EQ(records[1].u64(8), 1u);
    EXPECT_EQ(records[1].u64(16), 4u);
    EXPECT_EQ(records[1].u64(24), std::uint64_t{DTRACEFLT_BADADDR});
    EXPECT_EQ(records[1].u64(32), 0xbadu);
}

TEST(Clause, AFaultInErrorIsOnlyCounted)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(divides_by_zero());
    dof.clause("dtrace:::ERROR").trace(divides_by_zero());
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    EXPECT_EQ(s.records().size(), 1u);
    EXPECT_EQ(s.drops(DTRACEDROP_DBLERROR), 1u);
}

TEST(Clause, ClauseLocalsAreSharedByTheClausesOfAFiringAndZeroInTheNext)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(get_local(0x500)).run(set_local(0x500, 7));
    dof.clause("p:m:f:n").trace(get_local(0x500));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 4u);
    EXPECT_EQ(records[0].u64(), 0u);
    EXPECT_EQ(records[1].u64(), 7u);
    EXPECT_EQ(records[2].u64(), 0u);
    EXPECT_EQ(records[3].u64(), 7u);
}

TEST(Clause, ErrorHasClauseLocalsOfItsOwn)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").run(set_local(0x500, 7)).trace(divides_by_zero());
    dof.clause("p:m:f:n").trace(get_local(0x500));
    dof.clause("dtrace:::ERROR").trace(get_local(0x500)).run(set_local(0x500, 9));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[1].u64(), 0u);
    EXPECT_EQ(records[2].u64(), 7u);
}

TEST(Clause, StrtokGoesOnInALaterClauseOfTheSameFiringOnly)
{
    Difo first, next;
    first.sets("a,b", 1).push_string(1).sets(",", 2).push_string(2).call(
        DIF_SUBR_strtok, 3);
    first.ret(3).returns_string();
    next.push(0)
        .sets(",", 2)
        .push_string(2)
        .call(DIF_SUBR_strtok, 3)
        .ret(3)
        .returns_string();
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(first);
    dof.clause("p:m:f:n").trace(next);
    dof.clause("p:m:f:other").trace(next);
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    s.fire("other");
    auto records = s.records();
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0].text(), "a");
    EXPECT_EQ(records[1].text(), "b");
    EXPECT_EQ(records[2].flags, DT_REC_ERROR);
}

TEST(Clause, ScratchOfOneClauseCannotBeReadInTheNext)
{
    Difo keep, use;
    keep.variable("p", 0x500, DIFV_SCOPE_GLOBAL)
        .setx(8, 1)
        .op(DIF_OP_ALLOCS, 1, 0, 2)
        .indexed(DIF_OP_STGS, 0x500, 2)
        .ret(2);
    use.variable("p", 0x500, DIFV_SCOPE_GLOBAL)
        .ldgs(0x500, 1)
        .op(DIF_OP_RLDX, 1, 0, 2)
        .ret(2);
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").run(keep);
    dof.clause("p:m:f:n").trace(use);
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].error().fault, unsigned{DTRACEFLT_BADADDR});
}

TEST(Clause, TimestampEqualsTheRecordsAndDiffersBetweenClauses)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(builtin(DIF_VAR_timestamp));
    dof.clause("p:m:f:n").trace(builtin(DIF_VAR_timestamp));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].u64(), records[0].timestamp);
    EXPECT_EQ(records[1].u64(), records[1].timestamp);
    EXPECT_LT(records[0].timestamp, records[1].timestamp);
}

TEST(Clause, TimeNeverRunsBackwardsInAShard)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(constant(1));
    ASSERT_EQ(s.load(dof), "");

    s.host.clock = 5000;
    s.fire("n");
    s.host.clock = 100;
    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_GE(records[1].timestamp, records[0].timestamp);
}

TEST(Clause, ExitRunsTheRestOfItsClauseAndNoOtherClauseOrProbe)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n")
        .action({DTRACEACT_EXIT, constant(3, 4), 1})
        .trace(constant(8));
    dof.clause("p:m:f:n").trace(constant(9));
    dof.clause("dtrace:::END").action({DTRACEACT_EXIT, constant(4, 4), 1});
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    s.fire("n");
    EXPECT_EQ(s.session().activity, std::uint32_t{DT_ACTIVITY_DRAINING});
    EXPECT_EQ(s.session().exited, 1u);
    ASSERT_TRUE(
        dt_activity_advance(s.memory(), DT_ACTIVITY_DRAINING, DT_ACTIVITY_COOLDOWN));
    s.fire("END");
    auto records = s.records();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(static_cast<std::uint32_t>(records[0].u64()), 3u);
    EXPECT_EQ(records[0].u64(8), 8u);
    EXPECT_EQ(static_cast<std::uint32_t>(records[1].u64()), 4u);
}

TEST(Clause, ExitInBeginSuppressesLaterBeginClauses)
{
    Session s;
    s.start();
    s.session().activity = DT_ACTIVITY_WARMUP;
    DofBuilder dof;
    dof.clause("dtrace:::BEGIN").action({DTRACEACT_EXIT, constant(0, 4), 1});
    dof.clause("dtrace:::BEGIN").trace(constant(1));
    ASSERT_EQ(s.load(dof), "");

    s.fire("BEGIN");
    EXPECT_EQ(s.records().size(), 1u);
    EXPECT_EQ(s.session().activity, std::uint32_t{DT_ACTIVITY_DRAINING});
}

TEST(Clause, NothingButDtraceProbesFiresWhileBeginRuns)
{
    Session s;
    s.start();
    s.session().activity = DT_ACTIVITY_WARMUP;
    DofBuilder dof;
    dof.clause("dtrace:::BEGIN").trace(constant(1));
    dof.clause("p:m:f:n").trace(constant(2));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    s.fire("BEGIN");
    EXPECT_EQ(s.records().size(), 1u);
    for (unsigned state :
         {DT_ACTIVITY_INACTIVE, DT_ACTIVITY_STOPPED, DT_ACTIVITY_KILLED}) {
        s.session().activity = state;
        s.fire("BEGIN");
        EXPECT_TRUE(s.records().empty());
    }
}

TEST(Clause, NothingIsRecordedOnceTheLeaseRanOutAndThatIsCounted)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(constant(1));
    ASSERT_EQ(s.load(dof), "");

    s.session().lease_until = 2000;
    s.fire("n");
    EXPECT_EQ(s.session().drops[DTRACEDROP_LEASE], 0u);
    s.host.clock = 3000;
    for (int i = 0; i < 100; i++) // a firing that writes a record checks the lease
        s.fire("n");
    EXPECT_EQ(s.records().size(), 1u);
    EXPECT_EQ(s.session().drops[DTRACEDROP_LEASE], 100u);
    // The consumer renews the lease.
    s.session().lease_until = 9000;
    s.fire("n");
    EXPECT_EQ(s.records().size(), 1u);
}

TEST(Clause, NothingRunsOnceTheLeaseRanOutEvenIfItRecordsNothing)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").run(add_to_global(0x500, 1));
    dof.clause("p:m:f:shown")
        .trace(Difo().variable("g", 0x500, DIFV_SCOPE_GLOBAL).ldgs(0x500, 1).ret(1));
    ASSERT_EQ(s.load(dof), "");

    s.session().lease_until = 2000;
    s.host.clock = 3000;
    for (int i = 0; i < 1000; i++)
        s.fire("n");
    std::uint64_t lost = s.session().drops[DTRACEDROP_LEASE];
    // If firings record nothing, only every 64th firing checks the lease. So up to 63
    // firings can run after the lease has expired.
    EXPECT_GE(lost, 1000u - 63);
    s.session().lease_until = 1000000; // the test's clock advances each time it is read
    for (int i = 0; i < 1000; i++)
        s.fire("n");
    EXPECT_EQ(s.session().drops[DTRACEDROP_LEASE], lost);
    s.fire("shown");
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].u64(), 2000 - lost);
}

TEST(Clause, AClauseThatOnlyStoresMakesNoRecordAndAnEmptyOneDoes)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").run(add_to_global(0x500, 1));
    dof.clause("p:m:f:n");
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].epid, 2u);
    EXPECT_TRUE(records[0].payload.empty());
}

TEST(Clause, AClauseThatOnlyAssignsRecordsNothingAndAnEmptyOneItsProbe)
{
    Session s;
    s.config.options[DTRACEOPT_quiet] = DT_OPT_UNSET;
    DofBuilder dof;
    dof.clause("p:m:f:n").run(add_to_global(0x500, 1));
    dof.clause("p:m:f:empty");
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    EXPECT_TRUE(s.records().empty());
    s.fire("empty");
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_TRUE(records[0].payload.empty());
}

TEST(Clause, ValuesAreAlignedAfterEachOther)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n")
        .trace(constant(0x11, 1))
        .trace(constant(0x22, 4))
        .trace(constant(0x33, 8));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    ASSERT_EQ(records[0].payload.size(), 16u);
    EXPECT_EQ(records[0].payload[0], 0x11);
    EXPECT_EQ(records[0].payload[4], 0x22);
    EXPECT_EQ(records[0].u64(8), 0x33u);
}

TEST(Clause, UstackRecordsThePidAndZeroTerminatedFrames)
{
    Session s;
    s.host.numbers[DIF_VAR_pid] = 42;
    s.host.frames = {0x10, 0x20};
    DofBuilder dof;
    dof.clause("p:m:f:n")
        .action({DTRACEACT_USTACK, {}, 1, DTRACE_USTACK_ARG(4, 0)})
        .action({DTRACEACT_USYM, constant(0x99), 1});
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    std::uint64_t words[7];
    std::memcpy(words, records[0].payload.data(), sizeof(words));
    EXPECT_EQ(std::vector<std::uint64_t>(words, words + 7),
              (std::vector<std::uint64_t>{42, 0x10, 0x20, 0, 0, 42, 0x99}));
}

TEST(Clause, RaiseAndStopReachTheHostAndBadSignalsFault)
{
    Session s;
    s.config.options[DTRACEOPT_destructive] = 1;
    DofBuilder dof;
    dof.clause("p:m:f:n")
        .action({DTRACEACT_RAISE, constant(10), 1})
        .action({DTRACEACT_STOP, {}, 1})
        .action({DTRACEACT_RAISE, constant(99), 1});
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    EXPECT_EQ(s.host.raised, std::vector<int>{10});
    EXPECT_EQ(s.host.stopped, 1);
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].error().fault, unsigned{DTRACEFLT_ILLOP});
}

TEST(Clause, DestructiveActionsAreRefusedWithoutTheOption)
{
    for (std::uint32_t kind : {DTRACEACT_STOP, DTRACEACT_SYSTEM, DTRACEACT_FREOPEN}) {
        Session s;
        DofBuilder dof;
        dof.clause("p:m:f:n").action({kind, {}, 1});
        EXPECT_EQ(s.load(dof), "Destructive actions not allowed");
    }
}

TEST(Clause, ActionsOfAKernelAreRefused)
{
    for (std::uint32_t kind :
         {DTRACEACT_PANIC, DTRACEACT_BREAKPOINT, DTRACEACT_STACK}) {
        Session s;
        DofBuilder dof;
        dof.clause("p:m:f:n").action({kind, {}, 1});
        EXPECT_EQ(s.load(dof), "action is available only in the kernel");
    }
}

TEST(Clause, PrintfValuesAndItsFormatAreInTheArena)
{
    Session s;
    DofBuilder dof;
    Action first{DTRACEACT_PRINTF, constant(5, 4), 2};
    first.format = "%d %s\n";
    dof.clause("p:m:f:n").action(first).action({DTRACEACT_PRINTF, literal("abc")});
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    auto* actions = static_cast<dt_action*>(dt_at(s.memory(), s.clause(0).actions));
    EXPECT_EQ(s.text(actions[0].format), "%d %s\n");
    EXPECT_EQ(actions[0].rec_offset, sizeof(dt_rechdr));
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].text(actions[1].rec_offset - sizeof(dt_rechdr)), "abc");
}

TEST(Clause, TheCpuOptionKeepsRecordsOfThatCpuOnly)
{
    Session s;
    s.config.options[DTRACEOPT_cpu] = 1;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(constant(1));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n");
    s.host.host.cpu = 1;
    s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].cpu, 1u);
}
