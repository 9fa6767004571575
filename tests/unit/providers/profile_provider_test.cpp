// SPDX-License-Identifier: MIT
// Tests the names of timed probes.
#include "libdtrace/providers/profile_provider.hpp"

#include <gtest/gtest.h>

namespace {

using namespace dt;

ProbeSpec named(std::string name, std::string provider = "")
{
    ProbeSpec spec;
    spec.provider = std::move(provider);
    spec.name = std::move(name);
    return spec;
}

std::string refusal(const std::string& name)
{
    Registry registry;
    ProfileProvider profile(registry);
    auto outcome = profile.provide(named(name));
    return outcome.refused ? outcome.refused->text : "";
}

TEST(ProfileProvider, EveryUnitHasItsIntervalAndAFrequencyIsTheDefault)
{
    struct {
        const char* text;
        std::uint64_t ns;
    } rows[] = {{"1", 1'000'000'000},
                {"4999", 200'040},
                {"5000", 200'000},
                {"5000hz", 200'000},
                {"200000ns", 200'000},
                {"200000nsec", 200'000},
                {"200us", 200'000},
                {"200usec", 200'000},
                {"1ms", 1'000'000},
                {"1msec", 1'000'000},
                {"1s", 1'000'000'000},
                {"1sec", 1'000'000'000},
                {"1m", 60'000'000'000},
                {"1min", 60'000'000'000},
                {"1h", 3600ULL * 1'000'000'000},
                {"1hour", 3600ULL * 1'000'000'000},
                {"1d", 86400ULL * 1'000'000'000},
                {"1day", 86400ULL * 1'000'000'000}};
    for (const auto& row : rows)
        EXPECT_EQ(parse_interval(row.text), row.ns) << row.text;
}

TEST(ProfileProvider, InvalidIntervalsAreRefused)
{
    for (const char* wrong :
         {"", "0", "0s", "-1", "+1", "1.5s", "s", "1parsec", "1S", "1 s", "0x10",
          "200000d", "18446744073709551616", "99999999999999d"})
        EXPECT_FALSE(parse_interval(wrong)) << wrong;
}

TEST(ProfileProvider, AnIntervalBelow200MicrosecondsIsRefusedAndSaysWhy)
{
    EXPECT_EQ(refusal("tick-200us"), "");
    EXPECT_EQ(refusal("profile-5000"), "");
    for (const char* name :
         {"tick-199us", "tick-5001", "profile-199999ns", "profile-1000000"})
        EXPECT_NE(
            refusal(name).find(
                std::string(":::") + name +
                " does not match any probes: the interval must be at least 200 us"),
            std::string::npos)
            << refusal(name);
}

TEST(ProfileProvider, AMisspeltIntervalIsRefusedWithTheListOfUnits)
{
    for (const char* name : {"tick-1parsec", "tick-", "profile-0", "tick-1ss"})
        EXPECT_NE(refusal(name).find("ns us ms s m h d hz"), std::string::npos) << name;
}

TEST(ProfileProvider, OtherProbesNamesAreNotItsMatter)
{
    EXPECT_EQ(refusal("ticker"), "");
    EXPECT_EQ(refusal("BEGIN"), "");
    EXPECT_EQ(refusal("tick-*us"), "");
    Registry registry;
    ProfileProvider profile(registry);
    std::size_t presets = registry.size();
    EXPECT_FALSE(profile.provide(named("tick-1us", "myapp123")).refused);
    ProbeSpec with_function = named("tick-3s");
    with_function.function = "f";
    EXPECT_FALSE(profile.provide(with_function).refused);
    EXPECT_EQ(registry.size(), presets);
}

TEST(ProfileProvider, AProbeThatADescriptionNamesIsMadeOnce)
{
    Registry registry;
    ProfileProvider profile(registry);
    for (const char* provider : {"", "profile", "prof*"})
        EXPECT_FALSE(profile.provide(named("tick-7ms", provider)).refused);
    auto ids = registry.match("profile", "", "", "tick-7ms");
    ASSERT_EQ(ids.size(), 1U);
    EXPECT_EQ(profile.timers().at(ids[0]).interval_ns, 7'000'000U);
    EXPECT_FALSE(profile.timers().at(ids[0]).per_cpu);
    EXPECT_TRUE(
        profile.timers().at(registry.find("profile", "", "", "profile-97")).per_cpu);
}

} // namespace
