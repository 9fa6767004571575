// SPDX-License-Identifier: MIT
// Tests the syntax of -x, and that options without an effect are refused.
#include "libdtrace/session/options.hpp"

#include "libdtrace/api/include/dtrace.h"

#include <gtest/gtest.h>

namespace {

using dt::Options;
using Refused = dt::Options::Refused;

TEST(Options, SizesTakeUnitsOfEitherCaseAndNothingThatOverflows)
{
    EXPECT_EQ(dt::parse_size("0"), 0U);
    EXPECT_EQ(dt::parse_size("512"), 512U);
    EXPECT_EQ(dt::parse_size("3k"), 3072U);
    EXPECT_EQ(dt::parse_size("3KB"), 3072U);
    EXPECT_EQ(dt::parse_size("4m"), 4U << 20);
    EXPECT_EQ(dt::parse_size("1G"), 1U << 30);
    EXPECT_EQ(dt::parse_size("1t"), 1ULL << 40);
    EXPECT_EQ(dt::parse_size("16777215t"), 16777215ULL << 40);
    for (const char* wrong :
         {"", "k", "-1", "+1", " 1", "1 k", "1kk", "1x", "0x10", "1.5k", "16777216t",
          "18446744073709551616", "18446744073709551615k"})
        EXPECT_FALSE(dt::parse_size(wrong)) << wrong;
}

TEST(Options, RatesAreFrequenciesUnlessAUnitSaysOtherwise)
{
    EXPECT_EQ(dt::parse_rate("10"), 100'000'000U);
    EXPECT_EQ(dt::parse_rate("10hz"), 100'000'000U);
    EXPECT_EQ(dt::parse_rate("10HZ"), 100'000'000U);
    EXPECT_EQ(dt::parse_rate("7ns"), 7U);
    EXPECT_EQ(dt::parse_rate("7usec"), 7'000U);
    EXPECT_EQ(dt::parse_rate("7ms"), 7'000'000U);
    EXPECT_EQ(dt::parse_rate("7s"), 7'000'000'000U);
    EXPECT_EQ(dt::parse_rate("2min"), 120'000'000'000U);
    EXPECT_EQ(dt::parse_rate("2h"), 7'200'000'000'000U);
    EXPECT_EQ(dt::parse_rate("1day"), 86'400'000'000'000U);
    for (const char* wrong : {"", "0", "0s", "s", "-1s", "1parsec", "1 s", "1000000d",
                              "18446744073709551616"})
        EXPECT_FALSE(dt::parse_rate(wrong)) << wrong;
}

TEST(Options, BooleansAreWordsOfAnyCase)
{
    for (const char* on : {"", "yes", "ENABLE", "Enabled", "true", "On", "set"})
        EXPECT_EQ(dt::parse_boolean(on), true) << on;
    for (const char* off : {"no", "DISABLE", "Disabled", "false", "Off", "unset"})
        EXPECT_EQ(dt::parse_boolean(off), false) << off;
    EXPECT_FALSE(dt::parse_boolean("maybe"));
}

TEST(Options, ARunTimeOptionKeepsItsOldValueWhenTheNewOneIsWrong)
{
    Options options;
    EXPECT_EQ(options.set("bufsize", "64k", false), Refused::none);
    EXPECT_EQ(options.set("bufsize", "lots", false), Refused::value);
    EXPECT_EQ(options.get("bufsize"), 64U << 10);
    EXPECT_EQ(options.set("bufpolicy", "ring", false), Refused::none);
    EXPECT_EQ(options.set("bufpolicy", "spiral", false), Refused::value);
    EXPECT_EQ(options.get("bufpolicy"), unsigned{DT_BUFPOLICY_RING});
}

TEST(Options, OnlyDynamicOptionsChangeWhileTracing)
{
    Options options;
    EXPECT_EQ(options.set("quiet", "", true), Refused::none);
    EXPECT_EQ(options.set("switchrate", "5hz", true), Refused::none);
    EXPECT_EQ(options.set("bufsize", "1m", true), Refused::context);
    EXPECT_EQ(options.set("destructive", "", true), Refused::context);
}

TEST(Options, ValuesBeyondTheEnginesLimitsAreRefused)
{
    Options options;
    EXPECT_EQ(options.set("strsize", "1m", false), Refused::none);
    EXPECT_EQ(options.set("strsize", "2m", false), Refused::value);
    EXPECT_EQ(options.set("strsize", "0", false), Refused::value);
    EXPECT_EQ(options.set("nspec", "1024", false), Refused::none);
    EXPECT_EQ(options.set("nspec", "1025", false), Refused::value);
    EXPECT_EQ(options.set("ustackframes", "4294967297", false), Refused::value);
}

TEST(Options, OptionsWithoutEffectAreRefusedRatherThanIgnored)
{
    Options options;
    for (const char* name : {"ctypes", "dtypes", "tree"})
        EXPECT_EQ(options.set(name, "X", false), Refused::unsupported) << name;
}

TEST(Options, TheVersionMayBeLoweredAndNotRaised)
{
    Options options;
    EXPECT_EQ(options.version(), dt::latest_version);
    EXPECT_EQ(_dtrace_version, "Sun D " + version_text(options.version()));
    EXPECT_EQ(options.set("version", "1", false), Refused::version_malformed);
    EXPECT_EQ(options.set("version", "1.2.7", false), Refused::version_undefined);
    EXPECT_EQ(options.set("version", "9.9", false), Refused::version_undefined);
    EXPECT_EQ(options.set("version", "1.2.1", false), Refused::none);
    EXPECT_EQ(options.set("version", "1.2.1", false), Refused::none);
    EXPECT_EQ(options.set("version", "1.3", false), Refused::version_raised);
    EXPECT_EQ(version_text(options.version()), "1.2.1");
}

TEST(Options, TheMinimumOfAttributesHasThreeParts)
{
    Options options;
    EXPECT_FALSE(options.amin());
    EXPECT_EQ(options.set("amin", "Stable/Stable", false), Refused::value);
    EXPECT_EQ(options.set("amin", "evolving/PRIVATE/common", false), Refused::none);
    EXPECT_EQ(attributes_text(*options.amin()), "Evolving/Private/Common");
}

TEST(Options, TheLibraryReadsTheAttributesThatItWrites)
{
    dtrace_attribute_t attribute{};
    char text[64];
    ASSERT_EQ(dtrace_str2attr("stable/Private/isa", &attribute), 0);
    EXPECT_STREQ(dtrace_attr2str(attribute, text, sizeof text), "Stable/Private/ISA");
    EXPECT_EQ(dtrace_str2attr("Stable/Private", &attribute), -1);
}

TEST(Options, ListsGrowAndChoicesAreNumbered)
{
    Options options;
    for (const char* value : {"A=1", "B"})
        EXPECT_EQ(options.set("define", value, false), Refused::none);
    EXPECT_EQ(options.define, (std::vector<std::string>{"A=1", "B"}));
    EXPECT_EQ(options.set("define", "", false), Refused::value);
    EXPECT_EQ(options.get("format"), 1u);
    EXPECT_EQ(options.set("format", "folded", false), Refused::none);
    EXPECT_EQ(options.get("format"), 3u);
    EXPECT_EQ(options.set("format", "fold", false), Refused::value);
    EXPECT_EQ(options.get("format"), 3u);
}

TEST(Options, UnknownNamesAreRefusedWithTheNearestName)
{
    Options options;
    EXPECT_EQ(options.set("bufsise", "1m", false), Refused::name);
    ASSERT_FALSE(Options::suggest("bufsise").empty());
    EXPECT_EQ(Options::suggest("bufsise")[0], "bufsize");
    EXPECT_FALSE(options.get("bufsise"));
}

TEST(Options, EveryRunTimeOptionCanBeAskedForAndStartsWithItsDefault)
{
    Options options;
#define X(name, number, kind, value, dynamic)                                          \
    EXPECT_EQ(options.get(#name), std::uint64_t{value}) << #name;
    DIF_OPTIONS(X)
#undef X
}

} // namespace
