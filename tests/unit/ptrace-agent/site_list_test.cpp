// SPDX-License-Identifier: MIT
// Tests how the agent accepts a list of sites from a client.
#include "ptrace-agent/wire/site_list.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace dt;
using namespace dt::agent;

static std::vector<Site> numbered(std::size_t n)
{
    std::vector<Site> sites(n);
    for (std::size_t i = 0; i < n; ++i)
        sites[i].at = TargetAddr{i};
    return sites;
}

static Fd memfd_with(std::span<const Site> sites, int seals)
{
    Fd fd(memfd_create("sites", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(write(fd.get(), sites.data(), sites.size_bytes()),
              static_cast<ssize_t>(sites.size_bytes()));
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    return fd;
}

static Result<SiteList> take(std::uint32_t n, std::span<const Fd> fds,
                             std::span<const Site> in_body = {})
{
    Writer body;
    body.put(n).raw(in_body.data(), in_body.size_bytes());
    Reader reader(body.body());
    return SiteList::take(reader, fds);
}

static void expect_numbered(const Result<SiteList>& list, std::size_t n)
{
    ASSERT_TRUE(list) << list.error().text;
    ASSERT_EQ(list->all().size(), n);
    for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(list->all()[i].at, TargetAddr{i});
}

TEST(SiteList, IsInTheBodyOfTheMessageIfItIsShortAndInAMemfdOtherwise)
{
    expect_numbered(take(0, {}), 0);
    expect_numbered(take(few_sites, {}, numbered(few_sites)), few_sites);
    for (std::size_t n : {few_sites + 1, std::size_t{70'000}}) {
        std::vector<Fd> fds;
        auto list = list_of(numbered(n));
        ASSERT_TRUE(list);
        fds.push_back(std::move(*list));
        expect_numbered(take(static_cast<std::uint32_t>(n), fds), n);
    }
}

TEST(SiteList, IsRefusedIfTheClientCouldStillChangeOrShortenIt)
{
    constexpr int sealed = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    const std::vector<Site> sites = numbered(1000);
    EXPECT_FALSE(take(1000, {}));
    for (int seals :
         {0, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, sealed & ~F_SEAL_SHRINK}) {
        std::vector<Fd> fds;
        fds.push_back(memfd_with(sites, seals));
        EXPECT_FALSE(take(1000, fds)) << seals;
    }
    std::vector<Fd> fds;
    fds.push_back(memfd_with(sites, sealed));
    EXPECT_FALSE(take(1001, fds));
    EXPECT_FALSE(take(~0u, fds));
    expect_numbered(take(1000, fds), 1000);
    fds.push_back(memfd_with(sites, sealed));
    EXPECT_FALSE(take(1000, fds)); // two descriptors are ambiguous
}

// The kernel adds a seal by itself if vm.memfd_noexec is set.
TEST(SiteList, IsAcceptedWithAdditionalSeals)
{
    std::vector<Fd> fds;
    fds.push_back(memfd_with(numbered(1000), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
                                                 F_SEAL_WRITE | F_SEAL_FUTURE_WRITE));
    expect_numbered(take(1000, fds), 1000);
}
