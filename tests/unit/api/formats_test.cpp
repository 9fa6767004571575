// SPDX-License-Identifier: MIT
// Tests callbacks that print records themselves, and the data that callbacks receive in
// the machine-readable formats.
#include "session.hpp"

#include "dif/actions.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <unistd.h>

namespace {

using Print = std::function<int(dtrace_hdl_t*, FILE*, const dtrace_probedata_t*,
                                const dtrace_recdesc_t*, uint_t)>;

// The text that a Print function wrote, and the number of records that each call used.
struct Printed {
    std::string text;
    std::vector<int> used;
};
struct Call {
    const Print* print;
    FILE* to;
    Printed* into;
    int to_skip = 0;
};

int on_record(const dtrace_probedata_t* data, const dtrace_recdesc_t* record, void* arg)
{
    Call& call = *static_cast<Call*>(arg);
    if (record == nullptr || call.to_skip-- > 0)
        return DTRACE_CONSUME_NEXT;
    auto left = static_cast<uint_t>(data->dtpda_edesc->dtepd_rec +
                                    data->dtpda_edesc->dtepd_nrecs - record);
    int used = (*call.print)(data->dtpda_handle, call.to, data, record, left);
    call.into->used.push_back(used);
    call.to_skip = used - 1;
    return DTRACE_CONSUME_NEXT;
}

Printed printed(const SessionHandle& session, const char* program, const Print& print)
{
    Printed result;
    char* text = nullptr;
    std::size_t size = 0;
    FILE* to = open_memstream(&text, &size);
    Call call{&print, to, &result};
    std::string rest;
    take_text(session, rest);
    dtrace_program_exec(session.get(), compile(session, program), nullptr);
    EXPECT_EQ(dtrace_go(session.get()), 0) << error_of(session);
    dtrace_workstatus_t status = DTRACE_WORKSTATUS_OKAY;
    while (status == DTRACE_WORKSTATUS_OKAY) {
        dtrace_sleep(session.get());
        status = dtrace_work(session.get(), nullptr, nullptr, on_record, &call);
    }
    EXPECT_EQ(status, DTRACE_WORKSTATUS_DONE) << error_of(session);
    std::fclose(to);
    result.text = text;
    std::free(text);
    return result;
}

template <class Function> Print by(Function* function, void* format)
{
    return
        [function, format](dtrace_hdl_t* dtp, FILE* to, const dtrace_probedata_t* data,
                           const dtrace_recdesc_t* recs, uint_t n) {
            return function(dtp, to, format, data, recs, n, data->dtpda_data,
                            data->dtpda_edesc->dtepd_size);
        };
}

TEST(Formats, ARecordIsPrintedByItsOwnFormatOrByOneOfTheCaller)
{
    const char* program = "BEGIN { printf(\"%d %s|\", -1, \"one\"); exit(0); }";
    auto only_printf = [](const Print& print) -> Print {
        return [print](dtrace_hdl_t* dtp, FILE* to, const dtrace_probedata_t* data,
                       const dtrace_recdesc_t* recs, uint_t n) {
            return recs->dtrd_action == DTRACEACT_PRINTF ? print(dtp, to, data, recs, n)
                                                         : 1;
        };
    };
    SessionHandle session = open_session();
    Printed own = printed(session, program, only_printf(by(dtrace_fprintf, nullptr)));
    EXPECT_EQ(own.text, "-1 one|");
    EXPECT_EQ(own.used, (std::vector{2, 1}));

    session = open_session();
    void* format = dtrace_printf_create(session.get(), "<%5d,%-5s>");
    ASSERT_NE(format, nullptr);
    EXPECT_EQ(printed(session, program, only_printf(by(dtrace_fprintf, format))).text,
              "<   -1,one  >");
}

TEST(Formats, ThatAskForMoreThanThereIsAreRefused)
{
    SessionHandle session = open_session();
    void* format = dtrace_printf_create(session.get(), "%d %d %d");
    int error = 0;
    Printed none =
        printed(session, "BEGIN { trace(1); exit(0); }",
                [&](dtrace_hdl_t* dtp, FILE* to, const dtrace_probedata_t* data,
                    const dtrace_recdesc_t* recs, uint_t n) {
                    int used =
                        dtrace_fprintf(dtp, to, format, data, recs, n, data->dtpda_data,
                                       data->dtpda_edesc->dtepd_size);
                    error = dtrace_errno(dtp);
                    return used < 0 ? 1 : used;
                });
    EXPECT_EQ(none.text, "");
    EXPECT_EQ(error, EDT_DMISMATCH);

    EXPECT_EQ(dtrace_printf_create(session.get(), "%!"), nullptr);
    EXPECT_EQ(dtrace_errno(session.get()), EDT_COMPILER);
    char text[6];
    EXPECT_EQ(dtrace_printf_format(session.get(), format, text, sizeof text), 9u);
    EXPECT_STREQ(text, "%d %d");
}

TEST(Formats, AggregationsArePrintedByTheIdsOfTheirRecords)
{
    SessionHandle session = open_session();
    void* format = dtrace_printa_create(session.get(), "%s=%@d/%@d;");
    Printed both = printed(
        session,
        "BEGIN { @a[\"k\"] = count(); @b[\"k\"] = sum(7); printa(@a, @b); exit(0); }",
        [&](dtrace_hdl_t* dtp, FILE* to, const dtrace_probedata_t* data,
            const dtrace_recdesc_t* recs, uint_t n) {
            return recs->dtrd_action == DTRACEACT_PRINTA
                       ? dtrace_fprinta(dtp, to, format, data, recs, n,
                                        data->dtpda_data, data->dtpda_edesc->dtepd_size)
                       : 1;
        });
    EXPECT_EQ(both.text, "k=1/7;");
    EXPECT_EQ(both.used, (std::vector{2, 1}));
}

TEST(Formats, CommandsRunAndFilesAreReopened)
{
    char path[] = "/tmp/api-formats-XXXXXX";
    int fd = ::mkstemp(path);
    FILE* file = ::fdopen(fd, "w");
    SessionHandle session = open_session();
    void* command = dtrace_printf_create(session.get(),
                                         ("echo %d >> " + std::string(path)).c_str());
    void* away = dtrace_printf_create(session.get(), "/dev/null");
    void* back = dtrace_printf_create(session.get(), "");
    void* number = dtrace_printf_create(session.get(), "%d\n");
    printed(session, "BEGIN { trace(5); exit(0); }",
            [&](dtrace_hdl_t* dtp, FILE*, const dtrace_probedata_t* data,
                const dtrace_recdesc_t* recs, uint_t n) {
                if (recs->dtrd_action == DTRACEACT_EXIT)
                    return 1;
                auto call = [&](auto* function, void* format) {
                    EXPECT_GT(function(dtp, file, format, data, recs, n,
                                       data->dtpda_data, data->dtpda_edesc->dtepd_size),
                              0)
                        << dtrace_errmsg(dtp, dtrace_errno(dtp));
                };
                call(dtrace_system, command);
                std::fseek(file, 0, SEEK_END);
                call(dtrace_freopen, away);
                call(dtrace_fprintf, number);
                call(dtrace_freopen, back);
                call(dtrace_fprintf, number);
                return 1;
            });
    std::fclose(file);
    FILE* again = std::fopen(path, "r");
    char text[32] = {};
    EXPECT_EQ(std::fread(text, 1, sizeof text - 1, again), 4u);
    EXPECT_STREQ(text, "5\n5\n");
    std::fclose(again);
    ::unlink(path);
}

TEST(Formats, ValuesArePrintedByTheNameOfTheirType)
{
    SessionHandle session = open_session();
    std::string text;
    take_text(session, text);
    const int number = 42;
    EXPECT_EQ(dtrace_print(session.get(), nullptr, "int", &number, sizeof number), 0)
        << error_of(session);
    EXPECT_NE(text.find("0x2a"), std::string::npos) << text;
    EXPECT_EQ(dtrace_print(session.get(), nullptr, "long", &number, sizeof number), -1);
    EXPECT_EQ(dtrace_errno(session.get()), EDT_DMISMATCH);
    EXPECT_EQ(dtrace_print(session.get(), nullptr, "nothing_t", &number, 4), -1);
    EXPECT_EQ(dtrace_errno(session.get()), EDT_NOTYPE);
}

TEST(Json, CallbacksAndHandlersAreCalledAndWhatTheySkipIsNotPrinted)
{
    SessionHandle session = open_session();
    dtrace_setopt(session.get(), "format", "json");
    static int n_probes, n_errors, n_ends;
    n_probes = n_errors = n_ends = 0;
    std::string text;
    take_text(session, text);
    dtrace_handle_err(
        session.get(),
        [](const dtrace_errdata_t*, void*) {
            n_errors++;
            return DTRACE_HANDLE_OK;
        },
        nullptr);
    dtrace_program_exec(session.get(),
                        compile(session,
                                "BEGIN { trace(111); trace(222); }"
                                "BEGIN { trace(*(int*)0); } END { trace(333); }"
                                "BEGIN { exit(0); }"),
                        nullptr);
    ASSERT_EQ(dtrace_go(session.get()), 0);
    dtrace_workstatus_t status = DTRACE_WORKSTATUS_OKAY;
    while (status == DTRACE_WORKSTATUS_OKAY) {
        dtrace_sleep(session.get());
        status = dtrace_work(
            session.get(), nullptr,
            [](const dtrace_probedata_t* data, void*) -> int {
                n_probes++;
                return std::strcmp(data->dtpda_pdesc->dtpd_name, "END") == 0
                           ? DTRACE_CONSUME_NEXT
                           : DTRACE_CONSUME_THIS;
            },
            [](const dtrace_probedata_t* data, const dtrace_recdesc_t* record,
               void*) -> int {
                n_ends += record == nullptr;
                std::int32_t value = 0;
                if (record != nullptr && record->dtrd_size == sizeof value)
                    std::memcpy(&value, data->dtpda_data + record->dtrd_offset,
                                sizeof value);
                return value == 222 ? DTRACE_CONSUME_NEXT : DTRACE_CONSUME_THIS;
            },
            nullptr);
    }
    EXPECT_EQ(status, DTRACE_WORKSTATUS_DONE) << error_of(session);
    EXPECT_EQ(n_probes, 3);
    EXPECT_EQ(n_ends, 2);
    EXPECT_EQ(n_errors, 1);
    EXPECT_NE(text.find("\"value\":111"), std::string::npos) << text;
    EXPECT_EQ(text.find("\"value\":222"), std::string::npos) << text;
    EXPECT_EQ(text.find("\"value\":333"), std::string::npos) << text;
    EXPECT_NE(text.find("\"type\":\"error\""), std::string::npos) << text;
}

TEST(PerCpu, ValuesAddUpToTheTotal)
{
    for (bool kept : {true, false}) {
        SessionHandle session = open_session();
        if (kept)
            dtrace_setopt(session.get(), "aggpercpu", "");
        dtrace_program_exec(
            session.get(),
            compile(session, "tick-1ms { @n = count(); } tick-50ms { exit(0); }"),
            nullptr);
        run(session);
        static bool expected;
        expected = kept;
        EXPECT_EQ(dtrace_aggregate_snap(session.get()), 0);
        EXPECT_EQ(dtrace_aggregate_walk(
                      session.get(),
                      [](const dtrace_aggdata_t* data, void*) {
                          if (!expected) {
                              EXPECT_EQ(data->dtada_percpu, nullptr);
                              EXPECT_EQ(data->dtada_npercpu, 0);
                              return int{DTRACE_AGGWALK_NEXT};
                          }
                          EXPECT_EQ(data->dtada_npercpu,
                                    ::sysconf(_SC_NPROCESSORS_CONF) + 1);
                          std::int64_t sum = 0;
                          for (int i = 0; i < data->dtada_npercpu; i++) {
                              std::int64_t value = 0;
                              std::memcpy(&value, data->dtada_percpu[i], sizeof value);
                              sum += value;
                          }
                          EXPECT_EQ(sum, data->dtada_value[0]);
                          EXPECT_GT(sum, 0);
                          return int{DTRACE_AGGWALK_NEXT};
                      },
                      nullptr),
                  0);
    }
}

} // namespace
