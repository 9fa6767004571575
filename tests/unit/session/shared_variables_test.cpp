// SPDX-License-Identifier: MIT
// Tests which data all targets of a D program must share in one arena. The descriptions
// `later*:::beat` match no probe yet. Their probes may appear later, in any target.
#include "libdtrace/session/backends/shared_variables.hpp"

#include "libdtrace/session/program_compiler.hpp"
#include "libdtrace/session/sampling/perf_events.hpp"
#include "silent_listener.hpp"

#include <gtest/gtest.h>

using namespace dt;

namespace {

std::string shared_in(const char* text)
{
    SilentListener listener;
    SessionState state(listener);
    ProgramCompiler compiler(state);
    dtrace_prog* program = compiler.compile(text, "", DTRACE_PROBESPEC_NAME,
                                            DTRACE_C_ZDEFS, 0, nullptr, true);
    if (program == nullptr)
        return "error: " + state.error_text;
    state.enabled.push_back({program});
    return shared_between_targets(state);
}

} // namespace

TEST(SharedVariables, AreThoseThatClausesInTargetsWrite)
{
    EXPECT_EQ(shared_in("later*:::beat { n++; } tick-1s { printf(\"%d\", n); }"),
              "the variable n");
    EXPECT_EQ(shared_in("later*:::beat { last = execname; }"), "the variable last");
    EXPECT_EQ(shared_in("later*:::beat { seen[pid] = 1; }"), "the variable seen");
    EXPECT_EQ(shared_in("BEGIN { n = 1; } ERROR { n = 2; }"), "the variable n");
    // A user who may sample all processes executes these clauses in the consumer.
    EXPECT_EQ(shared_in("profile-97 { n++; }"),
              PerfEvents::check_permission() ? "" : "the variable n");
    EXPECT_EQ(shared_in("struct s { int x; }; struct s whole; "
                        "later*:::beat { whole.x = 1; }"),
              "the variable whole");
}

TEST(SharedVariables, AreArraysThatTheConsumerWritesAndTargetsRead)
{
    EXPECT_EQ(
        shared_in("BEGIN { set[1] = 2; } later*:::beat /set[arg0]/ { trace(arg0); }"),
        "the variable set");
    EXPECT_EQ(shared_in("BEGIN { set[1] = 2; } tick-1s { trace(set[1]); } "
                        "later*:::beat { trace(arg0); }"),
              "");
}

TEST(SharedVariables, AreNotThoseThatOnlyTheConsumerWrites)
{
    EXPECT_EQ(shared_in("BEGIN { on = 0; } tick-1s { on = !on; } END { on = 2; } "
                        "later*:::beat /on/ { @[on] = count(); }"),
              "");
}

TEST(SharedVariables, AreNeitherThreadLocalNorClauseLocalNorAggregations)
{
    EXPECT_EQ(shared_in("later*:::beat { self->t = timestamp; this->x = 1; @n[pid] = "
                        "sum(this->x); self->a[1] = 2; }"),
              "");
}

TEST(SharedVariables, IncludeSpeculationsThatBothKindsOfClausesUse)
{
    EXPECT_EQ(shared_in("BEGIN { s = speculation(); } "
                        "later*:::beat { speculate(s); trace(arg0); }"),
              "speculations");
    EXPECT_EQ(
        shared_in("BEGIN { trace(1); } later*:::beat { self->s = speculation(); } "
                  "later*:::beat { speculate(self->s); trace(arg0); } "
                  "later*:::beat { commit(self->s); }"),
        "");
}
