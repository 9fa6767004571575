// SPDX-License-Identifier: MIT
// Tests that system calls are found in text, and which of them prepare a tracer.
#include "ptrace-agent/plant/call_sites.hpp"
#include "ptrace-agent/plant/tracepoints.hpp"
#include "ptrace-agent/plant/tracer_calls.hpp"

#include <cstddef>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <vector>

using namespace dt;
using namespace dt::agent;

namespace {

constexpr TargetAddr base{0x401000};

std::vector<std::byte> text(std::vector<int> values)
{
    std::vector<std::byte> bytes;
    for (int value : values)
        bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

TEST(CallSites, AreFoundByTheNumberInTheMov)
{
    const auto bytes = text({0x90,                   // nop
                             0xb8, 0x38, 0,    0, 0, // mov $56,%eax
                             0x0f, 0x05,             // syscall
                             0xb8, 0x39, 0,    0, 0, // mov $57,%eax
                             0x0f, 0x05,             // syscall
                             0xb8, 0x38, 0,    0, 0, // mov $56,%eax
                             0x4d, 0x89, 0xca,       // mov %r9,%r10
                             0x0f, 0x05});           // syscall
    const auto sites = call_sites(bytes, base, SYS_clone);
    ASSERT_EQ(sites.size(), 2u);
    EXPECT_EQ(sites[0].load, base + 1);
    EXPECT_EQ(sites[0].call, base + 6);
    EXPECT_EQ(sites[1].load, base + 15);
    EXPECT_EQ(sites[1].call, base + 23);
    EXPECT_EQ(sites[0].ready, sites[0].load);
    EXPECT_EQ(sites[1].ready, sites[1].load);
}

TEST(CallSites, SayWhereTheArgumentsAreReady)
{
    const auto sites = call_sites(text({0xb8, 0x9d, 0, 0, 0, // mov $157,%eax
                                        0x48, 0x89, 0xdf,    // mov %rbx,%rdi
                                        0x4c, 0x89, 0xc2,    // mov %r8,%rdx
                                        0x0f, 0x05}),        // syscall
                                  base, SYS_prctl);
    ASSERT_EQ(sites.size(), 1u);
    EXPECT_EQ(sites[0].ready, base + 8);
    EXPECT_EQ(sites[0].call, base + 11);
}

TEST(CallSites, AreNotFoundIfACallOrTheEndOfTheTextComesFirst)
{
    EXPECT_TRUE(call_sites(text({0xb8, 0x38, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0x0f, 0x05}),
                           base, SYS_clone)
                    .empty());
    EXPECT_TRUE(call_sites(text({0xb8, 0x38, 0, 0, 0, 0x0f}), base, SYS_clone).empty());
    EXPECT_TRUE(call_sites(text({0xb8, 0x38, 0}), base, SYS_clone).empty());
}

bool prepares(std::uint32_t number, std::uint64_t first, std::uint64_t second)
{
    return dt_rt_prepares_tracer(number, first, second) != 0;
}

TEST(TracerCalls, AreCloneWithCloneUntracedAndSetPtracerWithAProcess)
{
    EXPECT_TRUE(prepares(SYS_clone, CLONE_VM | CLONE_UNTRACED, 0));
    EXPECT_FALSE(prepares(SYS_clone, CLONE_VM | CLONE_THREAD, 0));
    EXPECT_TRUE(prepares(SYS_prctl, PR_SET_PTRACER, 42));
    EXPECT_FALSE(prepares(SYS_prctl, PR_SET_PTRACER, 0));
    EXPECT_FALSE(prepares(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY));
    EXPECT_FALSE(prepares(SYS_prctl, PR_SET_NAME, 42));
}

} // namespace
