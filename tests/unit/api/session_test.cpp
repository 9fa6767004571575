// SPDX-License-Identifier: MIT
// Tests C API sessions in which steps fail or are repeated.
#include "session.hpp"

#include <algorithm>
#include <cerrno>

namespace {

TEST(Session, AGoThatFailedLeavesItAsBeforeAndMayBeRepeated)
{
    SessionHandle session = open_session();
    dtrace_prog_t* prog =
        compile(session, "BEGIN { printf(\"%s\\n\", \"up\"); exit(0); }");
    ASSERT_EQ(dtrace_program_exec(session.get(), prog, nullptr), 0);
    ASSERT_EQ(dtrace_setopt(session.get(), "bufsize", "64"), 0);
    EXPECT_EQ(dtrace_go(session.get()), -1);
    EXPECT_EQ(dtrace_errno(session.get()), EDT_BUFTOOSMALL);
    EXPECT_EQ(dtrace_status(session.get()), DTRACE_STATUS_NONE);

    ASSERT_EQ(dtrace_setopt(session.get(), "bufsize", "1m"), 0);
    EXPECT_EQ(run(session), "up\n");
}

TEST(Session, AProgramThatIsExecutedTwiceFiresTwice)
{
    SessionHandle session = open_session();
    dtrace_prog_t* prog = compile(session, "BEGIN { printf(\"up\\n\"); }");
    ASSERT_EQ(dtrace_program_exec(session.get(), prog, nullptr), 0);
    ASSERT_EQ(dtrace_program_exec(session.get(), prog, nullptr), 0);
    ASSERT_EQ(dtrace_program_exec(session.get(), compile(session, "BEGIN { exit(0); }"),
                                  nullptr),
              0);
    EXPECT_EQ(run(session), "up\nup\n");
}

TEST(Session, TwoLiveInOneProcessWithoutKnowingOfEachOther)
{
    SessionHandle first = open_session(), second = open_session();
    dtrace_program_exec(first.get(),
                        compile(first, "int n; tick-1ms { n++; }"
                                       "tick-1ms /n == 20/ { exit(1); }"
                                       "END { printf(\"first %d\\n\", n); }"),
                        nullptr);
    dtrace_program_exec(second.get(),
                        compile(second, "int n; BEGIN { n = -7; exit(2); }"
                                        "END { printf(\"second %d\\n\", n); }"),
                        nullptr);
    std::string text;
    take_text(first, text);
    dtrace_setopt(first.get(), "quiet", "");
    ASSERT_EQ(dtrace_go(first.get()), 0) << error_of(first);
    EXPECT_EQ(run(second), "second -7\n");
    dtrace_workstatus_t status = DTRACE_WORKSTATUS_OKAY;
    for (int rounds = 0; status == DTRACE_WORKSTATUS_OKAY && rounds < 1000; rounds++) {
        dtrace_sleep(first.get());
        status = dtrace_work(first.get(), nullptr, nullptr, nullptr, nullptr);
    }
    EXPECT_EQ(text, "first 20\n");
    EXPECT_EQ(dtrace_exit_status(first.get()), 1);
    EXPECT_EQ(dtrace_exit_status(second.get()), 2);
}

TEST(Session, AFillBufferIsReadWhenItIsFullAndNothingIsLost)
{
    SessionHandle session = open_session();
    dtrace_setopt(session.get(), "bufpolicy", "fill");
    dtrace_setopt(session.get(), "bufsize", "2k");
    // A full buffer ends the tracing. The buffer is full long before tick-30s fires.
    // END can still record.
    dtrace_program_exec(session.get(),
                        compile(session, "tick-1ms { printf(\"%d\\n\", ++n); }"
                                         "tick-30s { exit(9); }"
                                         "END { printf(\"end\\n\"); }"),
                        nullptr);
    std::string text = run(session);
    EXPECT_EQ(dtrace_exit_status(session.get()), 0);
    EXPECT_EQ(text.substr(0, 6), "1\n2\n3\n");
    EXPECT_EQ(text.substr(text.size() - 4), "end\n");
    auto n_lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_EQ(text.find(std::to_string(n_lines - 1) + "\nend"),
              text.size() - 4 - std::to_string(n_lines - 1).size() - 1);
}

TEST(Session, BuffersThatDoNotFitAreHalvedOrRefusedAsBufresizeSays)
{
    SessionHandle session = open_session();
    dtrace_program_exec(session.get(), compile(session, "BEGIN { exit(0); }"), nullptr);
    dtrace_setopt(session.get(), "bufsize", "100t");
    dtrace_setopt(session.get(), "bufresize", "manual");
    EXPECT_EQ(dtrace_go(session.get()), -1);
    EXPECT_EQ(dtrace_errno(session.get()), ENOMEM);
    dtrace_setopt(session.get(), "bufresize", "auto");
    EXPECT_EQ(dtrace_go(session.get()), 0) << error_of(session);
    dtrace_optval_t got = 0;
    ASSERT_EQ(dtrace_getopt(session.get(), "bufsize", &got), 0);
    EXPECT_LE(got, dtrace_optval_t{1} << 32);
    EXPECT_GE(got, 64 << 10);
}

TEST(Session, StatementsOfAProgramAreItsDescriptions)
{
    SessionHandle session = open_session();
    dtrace_prog_t* prog = compile(session, "BEGIN, dtrace:::END {} tick-3s /1/ {}");
    std::string names;
    EXPECT_EQ(
        dtrace_stmt_iter(
            session.get(), prog,
            [](dtrace_hdl_t*, dtrace_prog_t*, dtrace_stmtdesc_t* stmt, void* arg) {
                const dtrace_probedesc_t& probe = stmt->dtsd_ecbdesc->dted_probe;
                *static_cast<std::string*>(arg) +=
                    std::string(probe.dtpd_provider) + ":" + probe.dtpd_name + " ";
                return 0;
            },
            &names),
        0);
    EXPECT_EQ(names, ":BEGIN dtrace:END :tick-3s ");
}

} // namespace
