// SPDX-License-Identifier: MIT
#include "libdtrace/session/processes/untraced_symbols.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;

namespace {

// A forked copy of this process. The kernel kills the copy when this process exits.
class Copy {
public:
    Copy()
    {
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            while (::getppid() == parent)
                ::pause();
            ::_exit(0);
        }
    }
    ~Copy() { end(); }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    pid_t pid() const { return pid_; }
    void end()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

private:
    pid_t pid_ = 0;
};

struct UntracedSymbolsTest : testing::Test {
    ImageCache images;
    UntracedSymbols untraced{images};
};

} // namespace

TEST_F(UntracedSymbolsTest, AreOpenedOnFirstUse)
{
    Copy copy;
    ProcessSymbols* symbols = untraced.find(copy.pid());
    ASSERT_NE(symbols, nullptr);
    EXPECT_EQ(symbols->pid(), copy.pid());
    EXPECT_EQ(untraced.find(copy.pid()), symbols);
}

TEST_F(UntracedSymbolsTest, AreKeptAfterTheProcessHasExited)
{
    Copy copy;
    ASSERT_NE(untraced.find(copy.pid()), nullptr);
    copy.end();
    EXPECT_NE(untraced.find(copy.pid()), nullptr);
    auto opened = untraced.open(copy.pid());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::gone);
    EXPECT_NE(untraced.find(copy.pid()), nullptr);
}

TEST_F(UntracedSymbolsTest, AreNotReadAgainIfTheyCouldNotBeRead)
{
    Copy copy;
    copy.end();
    EXPECT_EQ(untraced.find(copy.pid()), nullptr);
    EXPECT_TRUE(untraced.keeps(copy.pid()));
}

TEST_F(UntracedSymbolsTest, AreFreedInTheOrderOfTheirLastUse)
{
    untraced.set_limit(2);
    Copy first, second, third;
    untraced.find(first.pid());
    untraced.find(second.pid());
    untraced.find(first.pid());
    (void)untraced.open(third.pid());
    EXPECT_TRUE(untraced.keeps(first.pid()));
    EXPECT_FALSE(untraced.keeps(second.pid()));
    EXPECT_TRUE(untraced.keeps(third.pid()));
    untraced.set_limit(1);
    EXPECT_FALSE(untraced.keeps(first.pid()));
    EXPECT_TRUE(untraced.keeps(third.pid()));
}

TEST_F(UntracedSymbolsTest, ErrorsOfOpenDoNotNameTheProcessTwice)
{
    Copy copy;
    copy.end();
    auto opened = untraced.open(copy.pid());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().text, "no process " + std::to_string(copy.pid()));
}
