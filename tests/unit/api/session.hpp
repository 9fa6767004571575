// SPDX-License-Identifier: MIT
// Shared code for tests of sessions.
#pragma once

#include <dtrace.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>

struct CloseSession {
    void operator()(dtrace_hdl_t* session) const { dtrace_close(session); }
};
using SessionHandle = std::unique_ptr<dtrace_hdl_t, CloseSession>;

inline SessionHandle open_session()
{
    int error = 0;
    SessionHandle session(dtrace_open(DTRACE_VERSION, 0, &error));
    EXPECT_NE(session, nullptr) << error;
    return session;
}

inline std::string error_of(const SessionHandle& session)
{
    return dtrace_errmsg(session.get(), dtrace_errno(session.get()));
}

inline dtrace_prog_t* compile(const SessionHandle& session, const char* text)
{
    dtrace_prog_t* prog = dtrace_program_strcompile(
        session.get(), text, DTRACE_PROBESPEC_NAME, 0, 0, nullptr);
    EXPECT_NE(prog, nullptr) << error_of(session);
    return prog;
}

inline void take_text(const SessionHandle& session, std::string& text)
{
    dtrace_handle_buffered(
        session.get(),
        [](const dtrace_bufdata_t* data, void* arg) {
            *static_cast<std::string*>(arg) += data->dtbda_buffered;
            return DTRACE_HANDLE_OK;
        },
        &text);
}

// Calls dtrace_work() until `done` returns true, the status is no longer OKAY, or 1000
// rounds have passed. Returns the last status.
template <class Done>
dtrace_workstatus_t work_until(const SessionHandle& session, Done done)
{
    dtrace_workstatus_t status = DTRACE_WORKSTATUS_OKAY;
    for (int i = 0; status == DTRACE_WORKSTATUS_OKAY && i < 1000 && !done(); i++) {
        dtrace_sleep(session.get());
        status = dtrace_work(session.get(), nullptr, nullptr, nullptr, nullptr);
    }
    return status;
}

inline std::string run(const SessionHandle& session)
{
    std::string text;
    take_text(session, text);
    dtrace_setopt(session.get(), "quiet", "");
    EXPECT_EQ(dtrace_go(session.get()), 0) << error_of(session);
    EXPECT_EQ(work_until(session, [] { return false; }), DTRACE_WORKSTATUS_DONE)
        << error_of(session);
    return text;
}
