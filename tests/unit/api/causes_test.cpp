// SPDX-License-Identifier: MIT
// Tests the options that help to find errors, and the data that is cached for processes
// that are not targets.
#include "libdtrace/api/handle.hpp"

#include "session.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void name_in_this_program();
void name_in_this_program() {}

namespace {

TEST(Core, AnInternalErrorEndsTheProcessWhenAsked)
{
    SessionHandle session = open_session();
    session->state().internal_error("not printed");
    EXPECT_EXIT(
        {
            // Prevents a core file.
            rlimit none{};
            ::setrlimit(RLIMIT_CORE, &none);
            dtrace_setopt(session.get(), "core", "");
            session->state().internal_error("it cannot be");
        },
        testing::KilledBySignal(SIGABRT), "libdtrace: internal error: it cannot be");
}

TEST(Core, IsNotDumpedForAnErrorInAProgram)
{
    SessionHandle session = open_session();
    const char* text = "struct out { int o; }; translator struct out < int i > "
                       "{ o = i; }; BEGIN { xlate <struct out *> (1); }";
    EXPECT_EXIT(
        {
            rlimit none{};
            ::setrlimit(RLIMIT_CORE, &none);
            dtrace_setopt(session.get(), "core", "");
            auto* program = dtrace_program_strcompile(
                session.get(), text, DTRACE_PROBESPEC_NAME, 0, 0, nullptr);
            std::fputs(error_of(session).c_str(), stderr);
            std::exit(program == nullptr ? 0 : 1);
        },
        testing::ExitedWithCode(0), "cannot be used as a value");
}

TEST(Core, IsPermittedAsLargeAsItMayBe)
{
    rlimit before{}, after{};
    ASSERT_EQ(::getrlimit(RLIMIT_CORE, &before), 0);
    rlimit none{0, before.rlim_max};
    ::setrlimit(RLIMIT_CORE, &none);
    SessionHandle session = open_session();
    EXPECT_EQ(dtrace_setopt(session.get(), "core", ""), 0);
    ::getrlimit(RLIMIT_CORE, &after);
    EXPECT_EQ(after.rlim_cur, before.rlim_max);
    ::setrlimit(RLIMIT_CORE, &before);
}

TEST(Debug, IsOneSwitchOfTheProcess)
{
    SessionHandle session = open_session();
    EXPECT_EQ(_dtrace_debug, 0);
    testing::internal::CaptureStderr();
    dtrace_setopt(session.get(), "debug", "");
    dtrace_setopt(session.get(), "bufsize", "nothing");
    dtrace_setopt(session.get(), "debug", "off");
    dtrace_setopt(session.get(), "bufsize", "1m");
    std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(_dtrace_debug, 0);
    EXPECT_EQ(text.substr(0, 16), "libdtrace DEBUG ");
    EXPECT_NE(text.find(": option bufsize=nothing: refused\n"), std::string::npos)
        << text;
    EXPECT_EQ(text.find("1m"), std::string::npos) << text;

    ::setenv("DTRACE_DEBUG", "1", 1);
    testing::internal::CaptureStderr();
    SessionHandle second = open_session();
    EXPECT_NE(testing::internal::GetCapturedStderr().find(": open: "),
              std::string::npos);
    EXPECT_EQ(_dtrace_debug, 1);
    ::unsetenv("DTRACE_DEBUG");
    _dtrace_debug = 0;
}

// A child process that runs until the Child object is destroyed.
class Child {
public:
    Child()
    {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            ADD_FAILURE() << "no pipe";
        pid_ = ::fork();
        if (pid_ == 0) {
            char c = 0;
            ::close(ends[1]);
            (void)!::read(ends[0], &c, 1);
            ::_exit(0);
        }
        ::close(ends[0]);
        until_ = ends[1];
    }
    ~Child()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        ::close(until_);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    pid_t pid() const { return pid_; }

private:
    pid_t pid_ = 0;
    int until_ = -1;
};

TEST(Pgmax, IsHowManyProcessesThatAreNotTargetsHaveTheirSymbolsKept)
{
    SessionHandle session = open_session();
    ASSERT_EQ(dtrace_setopt(session.get(), "pgmax", "2"), 0);
    Child children[3];
    auto name_in = [&](const Child& child) {
        char text[256];
        auto addr = reinterpret_cast<std::uint64_t>(&name_in_this_program);
        dtrace_uaddr2str(session.get(), child.pid(), addr, text, sizeof text);
        return std::string(text);
    };
    auto n_removed = [&](auto run) {
        _dtrace_debug = 1;
        testing::internal::CaptureStderr();
        run();
        std::string text = testing::internal::GetCapturedStderr();
        _dtrace_debug = 0;
        int n = 0;
        for (std::size_t at = 0; (at = text.find("freeing the symbols of process",
                                                 at)) != std::string::npos;
             ++at)
            ++n;
        return n;
    };
    auto expect_name_in = [&](const Child& child) {
        EXPECT_NE(name_in(child).find("name_in_this_program"), std::string::npos);
    };
    EXPECT_EQ(n_removed([&] {
                  expect_name_in(children[0]);
                  expect_name_in(children[1]);
                  expect_name_in(children[0]);
              }),
              0);
    // children[1] was used least recently, so the next call frees its symbols.
    EXPECT_EQ(n_removed([&] { expect_name_in(children[2]); }), 1);
    EXPECT_EQ(n_removed([&] { expect_name_in(children[0]); }), 0);
    EXPECT_EQ(n_removed([&] { dtrace_setopt(session.get(), "pgmax", "1"); }), 1);
    EXPECT_EQ(dtrace_setopt(session.get(), "pgmax", "0"), -1);
}

} // namespace
