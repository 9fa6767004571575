// SPDX-License-Identifier: MIT
#include "libdtrace/session/on_cpu.hpp"

#include "dif/options.h"

#include <gtest/gtest.h>

namespace dt {
namespace {

TEST(OnCpu, MovesTheThreadAndRestoresItsCpus)
{
    cpu_set_t before, during, after;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    const int cpu = ::sched_getcpu();
    {
        const OnCpu on_cpu(static_cast<std::uint64_t>(cpu));
        EXPECT_FALSE(on_cpu.refused());
        ASSERT_EQ(::sched_getaffinity(0, sizeof during, &during), 0);
    }
    ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_EQ(CPU_COUNT(&during), 1);
    EXPECT_TRUE(CPU_ISSET(cpu, &during));
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(OnCpu, DoesNothingWithoutTheOption)
{
    cpu_set_t before, during;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    const OnCpu on_cpu(DT_OPT_UNSET);
    EXPECT_FALSE(on_cpu.refused());
    ASSERT_EQ(::sched_getaffinity(0, sizeof during, &during), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &during));
}

TEST(OnCpu, ReportsACpuThatIsUnavailable)
{
    EXPECT_TRUE(OnCpu(CPU_SETSIZE - 1).refused());
    EXPECT_TRUE(OnCpu(CPU_SETSIZE).refused());
}

} // namespace
} // namespace dt
