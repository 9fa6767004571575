// SPDX-License-Identifier: MIT
#include "libdtrace/session/processes/ended_processes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

using namespace dt;

namespace {

std::unique_ptr<ProcessSymbols> own_symbols(ImageCache& cache)
{
    auto opened = ProcessSymbols::open(getpid(), cache);
    return opened ? std::move(*opened) : nullptr;
}

} // namespace

TEST(EndedProcesses, AreKnownByThoseThatTheyAreLike)
{
    EndedProcesses ended;
    ended.add(100, 10, nullptr);
    ASSERT_NE(ended.find(100), nullptr);
    EXPECT_EQ(ended.find(100)->like, 10);
    EXPECT_EQ(ended.find(101), nullptr);
}

TEST(EndedProcesses, TheLastOfAPidIsMeant)
{
    EndedProcesses ended;
    ended.add(100, 10, nullptr);
    ended.add(100, 20, nullptr);
    EXPECT_EQ(ended.find(100)->like, 20);
    EXPECT_EQ(ended.size(), 1u);
}

TEST(EndedProcesses, TheFirstSymbolsAreFreedButTheProcessesAreKept)
{
    ImageCache cache;
    EndedProcesses ended;
    const auto n = static_cast<pid_t>(EndedProcesses::max_symbols);
    for (pid_t pid = 1; pid <= n + 2; ++pid)
        ended.add(pid, 0, own_symbols(cache));
    EXPECT_EQ(ended.find(1)->symbols, nullptr);
    EXPECT_EQ(ended.find(2)->symbols, nullptr);
    EXPECT_NE(ended.find(3)->symbols, nullptr);
    EXPECT_NE(ended.find(n + 2)->symbols, nullptr);
}

TEST(EndedProcesses, AreForgottenInTheirTurnAndNotForAnotherOfTheirPid)
{
    EndedProcesses ended;
    const auto n = static_cast<pid_t>(EndedProcesses::max_ended);
    ended.add(1, 10, nullptr);
    ended.add(2, 10, nullptr);
    ended.add(1, 20, nullptr); // the pid is reused
    for (pid_t pid = 3; pid <= n + 1; ++pid)
        ended.add(pid, 10, nullptr);
    EXPECT_EQ(ended.find(2), nullptr);
    ASSERT_NE(ended.find(1), nullptr);
    EXPECT_EQ(ended.find(1)->like, 20);
    ended.add(n + 2, 10, nullptr);
    EXPECT_EQ(ended.find(1), nullptr);
}
