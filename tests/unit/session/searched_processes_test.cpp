// SPDX-License-Identifier: MIT
#include "libdtrace/session/processes/searched_processes.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;

TEST(SearchedProcesses, KeepTheSymbolsForTheNextSearch)
{
    ImageCache images;
    SearchedProcesses searched(images);
    auto first = searched.read(::getpid());
    ASSERT_TRUE(first) << first.error().text;
    EXPECT_EQ((*first)->pid(), ::getpid());
    auto second = searched.read(::getpid());
    ASSERT_TRUE(second) << second.error().text;
    EXPECT_EQ(*second, *first);
}

TEST(SearchedProcesses, PassTheSymbolsOnWhenTheProcessBecomesATarget)
{
    ImageCache images;
    SearchedProcesses searched(images);
    EXPECT_EQ(searched.take(::getpid()), nullptr);
    auto read = searched.read(::getpid());
    ASSERT_TRUE(read) << read.error().text;
    std::unique_ptr<ProcessSymbols> taken = searched.take(::getpid());
    EXPECT_EQ(taken.get(), *read);
    EXPECT_EQ(searched.take(::getpid()), nullptr);
}

TEST(SearchedProcesses, ForgetAProcessThatHasExited)
{
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::pause();
        ::_exit(0);
    }
    ImageCache images;
    SearchedProcesses searched(images);
    EXPECT_TRUE(searched.read(child));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    auto read = searched.read(child);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::gone);
    EXPECT_EQ(searched.take(child), nullptr);
}
