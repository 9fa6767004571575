// SPDX-License-Identifier: MIT
// Tests the agent's side of the runtime's config: sites, firings, and the additional
// sites of probes with several compiled clauses.
#include "ptrace-agent/inject/runtime_map.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using dt::TargetAddr;
using dt::agent::RuntimeMap;

namespace {

constexpr dt_rt_firing firing{7, DT_RT_ENTRY, 0};

RuntimeMap::Compiled clause(std::uint64_t code, std::uint32_t epid)
{
    return {TargetAddr{code}, TargetAddr{0x1000}, 0, epid};
}

// Returns the first n entries of config().sites for one site, in the order of use.
// There is one entry for each compiled clause.
std::vector<dt_rt_site> chain(const RuntimeMap& map, std::uint32_t site, std::size_t n)
{
    std::vector<dt_rt_site> all;
    for (; all.size() < n; site = all.back().next)
        all.push_back(map.config().sites[site]);
    return all;
}

class RuntimeMapTest : public testing::Test {
protected:
    RuntimeMapTest()
    {
        EXPECT_TRUE(map.make(getpid()));
        site = *map.add_site(TargetAddr{0x400000}, 0);
        map.set_back(site, TargetAddr{0x500000});
    }
    void fire_by(std::vector<RuntimeMap::Compiled> clauses)
    {
        ASSERT_TRUE(map.set_firings(site, std::span(&firing, 1)));
        map.set_compiled(site, clauses);
    }
    RuntimeMap map;
    std::uint32_t site = 0;
};

// Root can open the inode for writing despite its permissions, but the seal prevents
// writes.
TEST_F(RuntimeMapTest, ATargetCannotWriteToTheConfigThroughTheDescriptorThatItMaps)
{
    struct stat info {};
    ASSERT_EQ(fstat(map.read_only_fd(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0u);
    EXPECT_EQ(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, map.read_only_fd(), 0),
        MAP_FAILED);
    std::string path = "/proc/self/fd/" + std::to_string(map.read_only_fd());
    dt::Fd again(open(path.c_str(), O_RDWR));
    EXPECT_EQ(static_cast<bool>(again), geteuid() == 0);
    if (!again)
        return;
    EXPECT_LT(write(again.get(), &site, sizeof site), 0);
    EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0),
              MAP_FAILED);
}

// Even if a hostile process can write to the config, it must not control an index or an
// address that the agent uses.
TEST(RuntimeMap, ReadsNothingBackFromTheConfigThatItShares)
{
    // The test overwrites these two parts of the config: from `magic` to sites[999],
    // and the first 1000 elements of `firings`. It does not overwrite the robust word,
    // which is before `magic`.
    constexpr std::array<std::array<std::size_t, 2>, 2> parts{
        {{offsetof(dt_rt_config, magic), offsetof(dt_rt_config, sites[1000])},
         {offsetof(dt_rt_config, firings), offsetof(dt_rt_config, firings[1000])}}};
    auto used = [&](bool spoil) {
        RuntimeMap map;
        EXPECT_TRUE(map.make(getpid()));
        const auto all = std::as_bytes(std::span(&map.config(), 1));
        auto step = [&] {
            for (auto [begin, end] : parts) {
                if (spoil)
                    std::ranges::fill(
                        map.writer().shared_pages(all.subspan(begin, end - begin)),
                        std::byte{0xff});
            }
        };
        for (int i = 0; i < 20; i++) {
            const std::uint32_t site = *map.add_site(TargetAddr{0x400000}, 0);
            step();
            map.set_back(site, TargetAddr{0x500000});
            step();
            EXPECT_TRUE(map.set_firings(site, std::span(&firing, 1)));
            step();
            std::vector<RuntimeMap::Compiled> clauses{clause(0x10, 3), clause(0x20, 5)};
            map.set_compiled(site, clauses);
            step();
            if (i % 3 == 0)
                map.set_firings(site, {});
            step();
            if (i % 2 == 0)
                map.free_site(site);
            step();
        }
        std::vector<std::byte> result;
        for (auto [begin, end] : parts) {
            const auto part = all.subspan(begin, end - begin);
            result.insert(result.end(), part.begin(), part.end());
        }
        return result;
    };
    EXPECT_TRUE(used(true) == used(false));
}

TEST_F(RuntimeMapTest, EachCompiledClauseHasASiteWithTheEpidAtWhichTheProbeContinues)
{
    // The last clause has no compiled code, so the engine runs it.
    fire_by({clause(0x10, 3), clause(0x20, 5), clause(0, 9)});
    map.set_back(site, TargetAddr{0x600000});
    auto sites = chain(map, site, 3);
    EXPECT_EQ(sites[0].code, 0x10u);
    EXPECT_EQ(sites[0].from, 0u);
    EXPECT_EQ(sites[1].code, 0x20u);
    EXPECT_EQ(sites[1].from, 5u);
    EXPECT_EQ(sites[1].epid, 5u);
    EXPECT_EQ(sites[2].from, 9u);
    for (const dt_rt_site& each : sites) {
        EXPECT_EQ(each.at, 0x400000u);
        EXPECT_EQ(each.back, 0x600000u);
        EXPECT_EQ(each.probe, 0x1000u);
        EXPECT_EQ(each.n_firings, 1u);
        EXPECT_EQ(map.config().firings[each.first_firing].probe, 7u);
    }
}

TEST_F(RuntimeMapTest, AProbeThatIsEnabledRepeatedlyReusesItsSites)
{
    std::set<std::uint32_t> seen;
    for (int i = 0; i < 1000; i++) {
        fire_by({clause(0x10, 3), clause(0x20, 5), clause(0x30, 9)});
        seen.insert(map.config().sites[site].next);
        map.set_firings(site, {});
    }
    EXPECT_EQ(seen.size(), 1u);
    std::uint32_t next = *map.add_site(TargetAddr{0x400100}, 0);
    EXPECT_LE(next, site + 3);
}

TEST_F(RuntimeMapTest, ALibraryThatIsLoadedRepeatedlyReusesThePlacesOfItsFirings)
{
    const std::vector<dt_rt_firing> two{{7, DT_RT_ENTRY, 0}, {8, DT_RT_OFFSET, 0}};
    // `site` keeps its entry in the table until the end of the test.
    ASSERT_TRUE(map.set_firings(site, std::span(&firing, 1)));
    for (std::uint32_t i = 0; i < DT_RT_MAX_FIRINGS; i++) {
        auto other = map.add_site(TargetAddr{0x400100}, 0);
        ASSERT_TRUE(other);
        ASSERT_TRUE(map.set_firings(*other, std::span(two).first(1 + i % 2)));
        if (i % 3 == 0) // as if the probes of this site had been removed
            map.set_firings(*other, {});
        map.free_site(*other);
    }
    const dt_rt_site& stays = map.config().sites[site];
    EXPECT_EQ(stays.n_firings, 1u);
    EXPECT_EQ(map.config().firings[stays.first_firing].probe, 7u);
}

TEST_F(RuntimeMapTest, FreeingASiteAlsoFreesTheSitesOfItsOtherClauses)
{
    fire_by({clause(0x10, 3), clause(0x20, 5), clause(0x30, 9)});
    auto sites = chain(map, site, 3);
    map.free_site(site);
    std::set<std::uint32_t> again;
    for (int i = 0; i < 3; i++)
        again.insert(*map.add_site(TargetAddr{0x400100}, 0));
    EXPECT_EQ(again, (std::set<std::uint32_t>{site, sites[0].next, sites[1].next}));
}

// Probes with several clauses must leave enough sites for other probes.
TEST_F(RuntimeMapTest, TheEngineRunsProbesOfSeveralClausesIfHalfOfTheSitesAreInUse)
{
    for (std::uint32_t i = 1; i < DT_RT_MAX_SITES / 2; i++)
        ASSERT_TRUE(map.add_site(TargetAddr{0x400000}, 0));
    fire_by({clause(0x10, 3), clause(0x20, 5)});
    EXPECT_NE(map.config().sites[site].code, 0x10u);
    fire_by({clause(0x10, 3)});
    EXPECT_EQ(map.config().sites[site].code, 0x10u);
}

} // namespace
