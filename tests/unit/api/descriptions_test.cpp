// SPDX-License-Identifier: MIT
// Tests the text form of probe descriptions, the information about probes, and the DOF
// of programs. Also tests the functions that perform single steps of dtrace_work().
#include "session.hpp"

#include "dif/dof.h"
#include "dif/faults.h"
#include "dif/subrs.h"

#include <cstring>

namespace {

std::string text_of(const dtrace_probedesc_t& desc)
{
    char text[512];
    return dtrace_desc2str(&desc, text, sizeof text);
}

TEST(Descriptions, AreReadFromTheRightAndWrittenCompletely)
{
    SessionHandle session = open_session();
    dtrace_probedesc_t desc{};
    auto read = [&](dtrace_probespec_t spec, const char* text) {
        int done = dtrace_str2desc(session.get(), spec, text, &desc);
        return done == 0 ? text_of(desc) : error_of(session);
    };
    EXPECT_EQ(read(DTRACE_PROBESPEC_NAME, "BEGIN"), ":::BEGIN");
    EXPECT_EQ(read(DTRACE_PROBESPEC_NAME, "pid1:libc.so.6:malloc:entry"),
              "pid1:libc.so.6:malloc:entry");
    EXPECT_EQ(read(DTRACE_PROBESPEC_FUNC, "libc.so.6:malloc"), ":libc.so.6:malloc:");
    EXPECT_EQ(read(DTRACE_PROBESPEC_PROVIDER, "dtrace"), "dtrace:::");
    EXPECT_EQ(read(DTRACE_PROBESPEC_FUNC, "a:b:c:d"),
              "Overspecified probe description");
    EXPECT_EQ(read(DTRACE_PROBESPEC_NAME, "tick-$1"),
              "Undefined macro variable in probe description");
    EXPECT_EQ(read(DTRACE_PROBESPEC_NAME, std::string(64, 'n').c_str()),
              std::strerror(ENAMETOOLONG));

    char zero[] = "zero", one[] = "5s";
    char* const words[] = {zero, one};
    ASSERT_EQ(dtrace_xstr2desc(session.get(), DTRACE_PROBESPEC_NAME, "tick-$1", 2,
                               words, &desc),
              0);
    EXPECT_EQ(text_of(desc), ":::tick-5s");
    for (const char* text : {"tick-$2", "tick-$2147483648", "tick-$4294967295",
                             "tick-$99999999999999999999"})
        EXPECT_EQ(dtrace_xstr2desc(session.get(), DTRACE_PROBESPEC_NAME, text, 2, words,
                                   &desc),
                  -1)
            << text;
}

TEST(Descriptions, WithAnIdAreThoseOfItsProbe)
{
    SessionHandle session = open_session();
    dtrace_probedesc_t begin{}, none{};
    ASSERT_EQ(dtrace_id2desc(session.get(), 1, &begin), 0);
    EXPECT_STREQ(begin.dtpd_provider, "dtrace");
    EXPECT_STREQ(begin.dtpd_name, "BEGIN");
    EXPECT_EQ(text_of(begin), "1");
    EXPECT_EQ(dtrace_id2desc(session.get(), 99999, &none), -1);
    EXPECT_EQ(dtrace_errno(session.get()), EDT_BADID);

    dtrace_probeinfo_t info{};
    ASSERT_EQ(dtrace_probe_info(session.get(), &begin, &info), 0);
    char text[64];
    EXPECT_STREQ(dtrace_attr2str(info.dtp_attr, text, sizeof text),
                 "Stable/Stable/Common");
    EXPECT_EQ(info.dtp_argc, 0);
    EXPECT_EQ(info.dtp_why, nullptr);
    EXPECT_EQ(dtrace_probe_info(session.get(), &none, &info), -1);
    EXPECT_EQ(dtrace_errno(session.get()), EDT_NOPROBE);
}

TEST(Descriptions, ForFaultsAndSubroutinesAreTheirNames)
{
    SessionHandle session = open_session();
    EXPECT_STREQ(dtrace_faultstr(session.get(), DTRACEFLT_DIVZERO), "divide-by-zero");
    EXPECT_STREQ(dtrace_faultstr(session.get(), 9999), "unknown fault");
    EXPECT_STREQ(dtrace_subrstr(session.get(), DIF_SUBR_strlen), "strlen");
    EXPECT_STREQ(dtrace_subrstr(session.get(), 9999), "unknown subroutine");
}

TEST(Dof, ContainsItsOwnSize)
{
    SessionHandle session = open_session();
    dtrace_prog_t* prog = compile(session, "BEGIN { exit(0); }");
    void* dof = dtrace_dof_create(session.get(), prog, 0);
    ASSERT_NE(dof, nullptr);
    EXPECT_GT(dtrace_dof_size(dof), sizeof(dof_hdr));
    EXPECT_EQ(std::memcmp(dof, "\177DOF", 4), 0);
    dtrace_dof_destroy(session.get(), dof);
}

TEST(Consume, IsAStepOfWorkAndAggregationsAreClearedForGood)
{
    SessionHandle session = open_session();
    std::string text;
    take_text(session, text);
    const std::string not_begun = "tracing has not begun: call dtrace_go() first";
    EXPECT_EQ(dtrace_consume(session.get(), nullptr, nullptr, nullptr, nullptr), -1);
    EXPECT_EQ(error_of(session), not_begun);
    EXPECT_EQ(dtrace_work(session.get(), nullptr, nullptr, nullptr, nullptr),
              DTRACE_WORKSTATUS_ERROR);
    EXPECT_EQ(error_of(session), not_begun);
    dtrace_program_exec(session.get(),
                        compile(session, "BEGIN { @n = count(); printf(\"up\"); }"),
                        nullptr);
    ASSERT_EQ(dtrace_go(session.get()), 0) << error_of(session);
    EXPECT_EQ(dtrace_status(session.get()), DTRACE_STATUS_OKAY);
    EXPECT_EQ(dtrace_stop(session.get()), 0);
    EXPECT_EQ(dtrace_status(session.get()), DTRACE_STATUS_STOPPED);
    EXPECT_EQ(dtrace_consume(session.get(), nullptr, nullptr, nullptr, nullptr), 0);
    EXPECT_EQ(text, "up");

    auto counted = [&] {
        std::int64_t n = -1;
        EXPECT_EQ(dtrace_aggregate_walk(
                      session.get(),
                      [](const dtrace_aggdata_t* data, void* arg) {
                          EXPECT_STREQ(data->dtada_pdesc->dtpd_name, "BEGIN");
                          EXPECT_EQ(data->dtada_edesc->dtepd_epid,
                                    data->dtada_desc->dtagd_epid);
                          *static_cast<std::int64_t*>(arg) = data->dtada_value[0];
                          return int{DTRACE_AGGWALK_NEXT};
                      },
                      &n),
                  0);
        return n;
    };
    EXPECT_EQ(dtrace_aggregate_snap(session.get()), 0);
    EXPECT_EQ(counted(), 1);
    dtrace_aggregate_clear(session.get());
    EXPECT_EQ(counted(), 0);
}

} // namespace
