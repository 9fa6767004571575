// SPDX-License-Identifier: MIT
// Tests which clauses are compiled, and where the engine continues.
#include "tests/unit/runtime/native_support.hpp"

#include <gtest/gtest.h>

using namespace runtime_test;

namespace {

// If the engine runs a clause, it also runs all later clauses of the probe.
TEST(Native, RunsTheClausesOfAProbeInTheirOrder)
{
    const char* const entries = "pid1:a.out:work:entry { self->n += arg0; }"
                                "pid1:a.out:work:entry /self->n > 10/ { @ = count(); }"
                                "pid1:a.out:work:entry { trace(self->n); }";
    const char* const more = "pid1:a.out:work:entry { this->n = self->n;"
                             " trace(-this->n); }"
                             "pid1:a.out:work:entry { self->n -= 1; }";
    for (bool with_engine : {false, true}) {
        InProcess runtime(std::string(entries) + (with_engine ? more : ""), 1);
        runtime.set_clock();
        runtime.add_thread();
        Function work = runtime.probed({entry}, address(probed_work));
        call(work, 5); // the engine creates the slot of self->n
        ASSERT_EQ(runtime.compile(work), "");
        for (int i = 0; i < 3; i++)
            call(work, 5);
        EXPECT_EQ(fired_by_engine(runtime), with_engine ? 4u : 1u);
        std::vector<std::int64_t> recorded;
        for (const auto& record : runtime.session.records())
            recorded.push_back(static_cast<std::int64_t>(record.u64()));
        if (with_engine)
            EXPECT_EQ(recorded,
                      (std::vector<std::int64_t>{5, -5, 9, -9, 13, -13, 17, -17}));
        else
            EXPECT_EQ(recorded, (std::vector<std::int64_t>{5, 10, 15, 20}));
        EXPECT_EQ(counted(runtime).all(), 2u);
    }
}

// The agent may be away from a target only if all of the target's clauses run alone.
TEST(Native, RunsAloneOnlyIfItNeedsNeitherTheAgentNorAShard)
{
    const struct {
        const char* body;
        bool runs_alone;
    } rows[] = {
        {"{ @ = count(); }", true},
        {"/arg0 > 7/ { @[arg1] = sum(arg0); @q = quantize(arg2 * 8); }", true},
        {"{ @[tid] = count(); }", false},
        {"{ self->n = arg0; }", false},
        {"/self->n > 7/ { self->n = 1; @ = count(); }", false},
        {"{ @ = sum(timestamp); }", false},
        {"{ trace(arg0); }", false},
    };
    for (const auto& row : rows) {
        InProcess runtime(std::string("pid1:a.out:work:entry ") + row.body, 1);
        const auto plan = dt::native::plan_clause(runtime.session.memory(), 0,
                                                  dt::native::Arguments::of_call, {});
        ASSERT_TRUE(plan) << row.body;
        EXPECT_EQ(plan->runs_alone(), row.runs_alone) << row.body;
    }
}

TEST(Native, CountsWhileTheAgentIsAway)
{
    InProcess runtime("pid1:a.out:work:entry { @ = count(); }", 1);
    runtime.set_clock();
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    for (dt_rt_away away : {DT_RT_AWAY, DT_RT_KEPT_OUT}) {
        runtime.config().away = away;
        call(work, 1);
    }
    EXPECT_EQ(counted(runtime).all(), 2u);
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 0u);
}

// The engine continues with the clause that compiled code cannot run. Earlier clauses
// do not run again.
TEST(Native, GoesOnInTheEngineWhereAClauseCannot)
{
    InProcess runtime("pid1:a.out:work:entry { @ = count(); }"
                      "pid1:a.out:work:entry { @k[arg0] = count(); }"
                      "pid1:a.out:work:entry { trace(arg0); }",
                      1);
    runtime.set_clock();
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    call(work, 1); // only the engine can store the new key
    EXPECT_EQ(fired_by_engine(runtime), 1u);
    call(work, 1);
    EXPECT_EQ(fired_by_engine(runtime), 1u);
    runtime.session.shard(0).lock = 1;
    call(work, 1);
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 1u);
    runtime.session.shard(0).lock = 0;
    EXPECT_EQ(counted(runtime).all(), 6u);
    EXPECT_EQ(runtime.session.records().size(), 2u);
}

TEST(Native, LeavesAProbeThatGotASecondClauseToTheEngine)
{
    InProcess runtime(count_entries);
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    work();
    runtime.load("pid1:a.out:work:entry { @second = count(); }");
    work();
    Counted n = counted(runtime);
    EXPECT_EQ(n.by_engine, 2u);
    EXPECT_EQ(n.all(), 3u);
}

TEST(Native, IsForOneClauseOfIntegers)
{
    const char* const texts[] = {
        "{ @[execname] = count(); }",
        "{ @[strlen(probefunc)] = count(); }",
        "{ @[arg0, arg1, arg2, arg4] = count(); }",
        "{ @[probename, arg0, arg1, arg2] = count(); }",
        "{ @[arg0] = max(arg1); }",
        "{ @[arg0] = lquantize(arg1, 0, 10); }",
        "{ self->k = arg0; @[self->k] = count(); }",
        "{ @[self->k = arg0] = count(); }",
        "{ trace(execname); }",
        "{ trace(arg0); exit(0); }",
        "{ @[arg0] = avg(arg1); }",
        "{ speculate(arg0); trace(arg0); }",
        "{ exit(0); }",
        "{ @ = quantize(*(int *)arg0); }",
        "{ this->x = arg0; @ = sum(this->x); }",
        "/execname == \"a\"/ { @ = count(); }",
        "{ @ = sum(arg0 / arg1); }",
        "{ x = arg0; }",
    };
    for (const char* text : texts) {
        InProcess runtime("pid1:a.out:work:entry " + std::string(text));
        Function work = runtime.probed({entry}, address(probed_work));
        EXPECT_NE(runtime.compile(work), "") << text;
    }
    InProcess ring("pid1:a.out:work:entry { trace(arg0); }", 1,
                   [](dt_arena_config& config) {
                       config.options[DTRACEOPT_bufpolicy] = DT_BUFPOLICY_RING;
                   });
    EXPECT_NE(ring.compile(ring.probed({entry}, address(probed_work))), "");
}

} // namespace
