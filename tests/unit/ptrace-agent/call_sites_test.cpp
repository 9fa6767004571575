// SPDX-License-Identifier: MIT
// Tests that system calls are found in text, and which of them prepare a tracer.
#include "ptrace-agent/plant/call_sites.hpp"
#include "ptrace-agent/plant/tracepoints.hpp"
#include "ptrace-agent/plant/tracer_calls.hpp"

#include "ptrace-agent/address_space.hpp"

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
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

std::vector<CallSite> sites_of(std::vector<int> values, std::uint32_t number)
{
    return call_sites(text(std::move(values)), base, std::span(&number, 1));
}

TEST(CallSites, AreFoundByTheNumberInTheMov)
{
    const auto sites = sites_of({0x90,                   // nop
                                 0xb8, 0x38, 0,    0, 0, // mov $56,%eax
                                 0x0f, 0x05,             // syscall
                                 0xb8, 0x39, 0,    0, 0, // mov $57,%eax
                                 0x0f, 0x05,             // syscall
                                 0xb8, 0x38, 0,    0, 0, // mov $56,%eax
                                 0x4d, 0x89, 0xca,       // mov %r9,%r10
                                 0x0f, 0x05},            // syscall
                                SYS_clone);
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
    const auto sites = sites_of({0xb8, 0x9d, 0, 0, 0, // mov $157,%eax
                                 0x48, 0x89, 0xdf,    // mov %rbx,%rdi
                                 0x4c, 0x89, 0xc2,    // mov %r8,%rdx
                                 0x0f, 0x05},         // syscall
                                SYS_prctl);
    ASSERT_EQ(sites.size(), 1u);
    EXPECT_EQ(sites[0].ready, base + 8);
    EXPECT_EQ(sites[0].call, base + 11);
}

TEST(CallSites, AreNotFoundIfACallOrTheEndOfTheTextComesFirst)
{
    EXPECT_TRUE(sites_of({0xb8, 0x38, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0x0f, 0x05}, SYS_clone)
                    .empty());
    EXPECT_TRUE(sites_of({0xb8, 0x38, 0, 0, 0, 0x0f}, SYS_clone).empty());
    EXPECT_TRUE(sites_of({0xb8, 0x38, 0}, SYS_clone).empty());
}

TEST(CallSites, AreFoundForEachOfSeveralNumbers)
{
    const std::uint32_t numbers[] = {SYS_clone, SYS_prctl};
    const auto sites =
        call_sites(text({0xb8, 0x9d, 0,    0,    0,    0x0f, 0x05, 0xb8, 0x39, 0,   0,
                         0,    0x0f, 0x05, 0xb8, 0x38, 0,    0,    0,    0x0f, 0x05}),
                   base, numbers);
    ASSERT_EQ(sites.size(), 2u);
    EXPECT_EQ(sites[0].number, std::uint32_t{SYS_prctl});
    EXPECT_EQ(sites[1].number, std::uint32_t{SYS_clone});
    EXPECT_EQ(sites[1].load, base + 14);
}

// A search reads the text in pieces. A place on the border of two is found once.
TEST(CallSites, AreFoundInAllPiecesOfLongText)
{
    constexpr std::size_t n = 3 << 18;
    const std::uint32_t number = SYS_clone;
    const auto call = text({0xb8, 0x38, 0, 0, 0, 0x0f, 0x05});
    void* map =
        ::mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(map, MAP_FAILED);
    auto* bytes = static_cast<std::byte*>(map);
    const auto at = TargetAddr{reinterpret_cast<std::uint64_t>(map)};
    std::vector<TargetAddr> want;
    for (std::size_t from : {std::size_t{0}, (n / 3) - 3, (2 * n / 3) - 5, n - 7}) {
        std::copy(call.begin(), call.end(), bytes + from);
        want.push_back(at + from);
    }
    TracepointTable table;
    AddressSpace space(::getpid(), table);
    std::vector<TargetAddr> found;
    for (const CallSite& site :
         CallSearch(space).search(at, at + n, std::span(&number, 1)))
        found.push_back(site.load);
    ::munmap(map, n);
    EXPECT_EQ(found, want);
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
