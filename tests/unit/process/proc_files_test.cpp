// SPDX-License-Identifier: MIT
// Tests the readers of /proc/PID/stat, syscall and pagemap.
#include "base/page_bytes.hpp"
#include "process/page_map.hpp"
#include "process/proc_files.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dt {
namespace {

TEST(StatNumber, ReadsAFieldAfterANameWithParenthesesAndSpaces)
{
    const std::string stat = "12 (a) b (c)) S 34 56 18446744073709551615 78\n";
    EXPECT_EQ(stat_number(stat, 4), 34u);
    EXPECT_EQ(stat_number(stat, 6), 18446744073709551615ull);
    EXPECT_EQ(stat_number(stat, 7), 78u);
    EXPECT_EQ(stat_number(stat, 8), 0u);
    EXPECT_EQ(stat_number("", 4), 0u);
}

TEST(StatNumber, ReadsTheParentOfThisProcess)
{
    EXPECT_EQ(stat_number(read_proc_file(getpid(), "stat"), 4),
              static_cast<std::uint64_t>(getppid()));
}

static pid_t start_child(bool waits)
{
    const pid_t child = fork();
    while (child == 0)
        if (waits)
            pause();
    return child;
}

TEST(BlockedPlace, IsKnownOnlyForAThreadThatIsBlocked)
{
    const pid_t waiting = start_child(true), running = start_child(false);
    std::optional<UserPlace> place;
    for (int i = 0; i < 3000 && (!place || !blocked_call(waiting, waiting)); ++i) {
        usleep(1000);
        place = blocked_place(waiting, waiting);
    }
    EXPECT_FALSE(blocked_place(running, running));
    for (pid_t child : {waiting, running}) {
        ::kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    ASSERT_TRUE(place);
    // The child has the same stack as this process, and libc at the same address.
    int on_stack = 0;
    const auto here = reinterpret_cast<std::uint64_t>(&on_stack);
    EXPECT_LT(place->sp.value - here + (1 << 20), 2u << 20);
    EXPECT_LT(place->pc.value - reinterpret_cast<std::uint64_t>(&pause) + (64 << 20),
              128u << 20);
}

TEST(PageMap, DistinguishesPagesThatWereWrittenTo)
{
    auto* memory =
        static_cast<char*>(mmap(nullptr, 3 * page_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    memory[page_bytes] = 1;
    const auto pages = PageMap(getpid()).pages(
        TargetAddr{reinterpret_cast<std::uint64_t>(memory) + 7}, 3 * page_bytes - 7);
    ASSERT_EQ(pages.size(), 3u);
    EXPECT_FALSE(pages[0].has_content());
    EXPECT_TRUE(pages[1].has_content() && pages[1].is_own());
    EXPECT_FALSE(pages[2].has_content() || pages[2].is_own());
    munmap(memory, 3 * page_bytes);
}

} // namespace
} // namespace dt
