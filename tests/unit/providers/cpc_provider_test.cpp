// SPDX-License-Identifier: MIT
// Tests how names of cpc probes are parsed (event, mode, mask and count), and the
// resulting sites.
#include "libdtrace/providers/cpc_provider.hpp"

#include "abi/cpc.h"

#include <gtest/gtest.h>

namespace {

using namespace dt;

ProbeSpec described(std::string name)
{
    ProbeSpec spec;
    spec.provider = "cpc";
    spec.name = std::move(name);
    return spec;
}

std::string why_refused(const std::string& name)
{
    auto parsed = parse_cpc(name);
    return parsed ? "" : parsed.error().text;
}

TEST(CpcProvider, ANameIsParsedFromItsEnd)
{
    struct {
        const char* name;
        std::uint32_t type, mode;
        std::uint64_t config, count;
    } rows[] = {{"PAPI_tot_cyc-all-1000000", DT_CPC_HARDWARE, 3, 0, 1000000},
                {"cpu_cycles-user-5000", DT_CPC_HARDWARE, 1, 0, 5000},
                {"L1-dcache-load-misses-kernel-5000", DT_CPC_CACHE, 2, 0x10000, 5000},
                {"page_faults-user-1", DT_CPC_SOFTWARE, 1, 2, 1},
                {"cpu-clock-all-200000", DT_CPC_SOFTWARE, 3, 0, 200000},
                {"r01c2-all-5000", DT_CPC_RAW, 3, 0x1c2, 5000},
                {"rc2-all-0x01-5000", DT_CPC_RAW, 3, 0x1c2, 5000}};
    for (const auto& row : rows) {
        auto counter = parse_cpc(row.name);
        ASSERT_TRUE(counter) << row.name << ": " << counter.error().text;
        EXPECT_EQ(counter->type, row.type) << row.name;
        EXPECT_EQ(counter->mode, row.mode) << row.name;
        EXPECT_EQ(counter->config, row.config) << row.name;
        EXPECT_EQ(counter->count, row.count) << row.name;
    }
}

TEST(CpcProvider, EveryRefusalNamesThePartThatIsNotValid)
{
    EXPECT_EQ(why_refused("cycles-all-4999"), "the minimum count for cycles is 5000");
    EXPECT_EQ(why_refused("cpu-clock-all-199999"),
              "the minimum count for cpu-clock is 200000");
    EXPECT_EQ(why_refused("cycles-some-5000"),
              "the mode some is not user, kernel or all");
    EXPECT_EQ(why_refused("cycles-all-0xzz-5000"),
              "the mask 0xzz is not a hexadecimal number of at most 64 bits");
    EXPECT_EQ(why_refused("nothing-all-5000"),
              "there is no event nothing; dtrace -l -P cpc lists "
              "the events of this machine");
    EXPECT_NE(why_refused("cycles-all-0x1-5000").find("only raw events"),
              std::string::npos);
    EXPECT_NE(why_refused("r1c2-all-0x1-5000").find("at most two hexadecimal digits"),
              std::string::npos);
    for (const char* name :
         {"", "cycles", "cycles-all", "cycles-all-0", "cycles-all-5k",
          "cycles-all-281474976710656", "cycles-all--1"})
        EXPECT_NE(why_refused(name), "") << name;
}

TEST(CpcProvider, APatternListsTheEventsOfTheMachineAlone)
{
    Registry registry;
    CpcProvider cpc(
        registry, [](const CpcCounter& each) { return each.type == DT_CPC_SOFTWARE; });
    cpc.provide(described("*"));
    EXPECT_NE(registry.find("cpc", "", "", "page-faults-all-100"), 0u);
    EXPECT_EQ(registry.find("cpc", "", "", "cycles-all-1000000"), 0u);
}

TEST(CpcProvider, APatternThatDoesNotNameTheProviderMakesNoCounters)
{
    Registry registry;
    CpcProvider cpc(registry, [](const CpcCounter&) { return true; });
    for (const char* provider : {"", "*", "c*"}) {
        ProbeSpec spec = described("*");
        spec.provider = provider;
        EXPECT_FALSE(cpc.provide(spec).refused) << provider;
        spec.name.clear();
        EXPECT_FALSE(cpc.provide(spec).refused) << provider;
    }
    EXPECT_EQ(registry.size(), 0u);
}

TEST(CpcProvider, AnEventThatTheMachineLacksIsRefused)
{
    Registry registry;
    CpcProvider cpc(registry, [](const CpcCounter&) { return false; });
    auto outcome = cpc.provide(described("cycles-all-5000"));
    ASSERT_TRUE(outcome.refused);
    EXPECT_NE(outcome.refused->text.find("this machine cannot count the event"),
              std::string::npos);
    EXPECT_EQ(registry.size(), 0u);
}

TEST(CpcProvider, ASiteHasTheEventTheCountTheModeAndTheType)
{
    Registry registry;
    CpcProvider cpc(registry, [](const CpcCounter&) { return true; });
    cpc.provide(described("r1c2-kernel-5000"));
    auto sites = cpc.sites(registry.at(1));
    ASSERT_EQ(sites.size(), 1u);
    EXPECT_EQ(sites[0].where, 0x1c2u);
    EXPECT_EQ(DT_CPC_COUNT_OF(sites[0].more), 5000u);
    EXPECT_EQ(DT_CPC_MODE_OF(sites[0].more), static_cast<dt_u32>(DT_CPC_KERNEL));
    EXPECT_EQ(DT_CPC_TYPE_OF(sites[0].more), static_cast<dt_u32>(DT_CPC_RAW));
}

} // namespace
