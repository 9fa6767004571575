// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/glob.hpp"

#include <gtest/gtest.h>
#include <string>

using dt::glob_match, dt::glob_valid, dt::is_glob;

TEST(Glob, MatchesByteForByteWithoutSpecialCharacters)
{
    EXPECT_TRUE(glob_match("malloc", "malloc"));
    EXPECT_FALSE(glob_match("malloc", "mallocx"));
    EXPECT_FALSE(glob_match("malloc", "mallo"));
    EXPECT_TRUE(glob_match("", ""));
    EXPECT_FALSE(glob_match("", "x"));
}

TEST(Glob, StarTakesAnyRunAndQuestionMarkOneByte)
{
    EXPECT_TRUE(glob_match("*", ""));
    EXPECT_TRUE(glob_match("m*c", "malloc"));
    EXPECT_TRUE(glob_match("*ll*", "malloc"));
    EXPECT_TRUE(glob_match("a*b*c", "aXbYbZc"));
    EXPECT_FALSE(glob_match("a*b*c", "aXbYbZ"));
    EXPECT_TRUE(glob_match("m?lloc", "malloc"));
    EXPECT_FALSE(glob_match("?", ""));
}

TEST(Glob, ClassesHoldRangesAndMayBeInverted)
{
    EXPECT_TRUE(glob_match("[a-cx]1", "b1"));
    EXPECT_TRUE(glob_match("[a-cx]1", "x1"));
    EXPECT_FALSE(glob_match("[a-cx]1", "d1"));
    EXPECT_TRUE(glob_match("[!a-c]", "d"));
    EXPECT_FALSE(glob_match("[!a-c]", "b"));
    EXPECT_TRUE(glob_match("[]]", "]"));
    EXPECT_TRUE(glob_match("[a-]", "-"));
    EXPECT_TRUE(glob_match("[\\]]", "]"));
}

TEST(Glob, BackslashTakesAwayTheMeaning)
{
    EXPECT_TRUE(glob_match("a\\*b", "a*b"));
    EXPECT_FALSE(glob_match("a\\*b", "axb"));
    EXPECT_TRUE(glob_match("operator\\[\\]", "operator[]"));
}

TEST(Glob, MalformedPatternsMatchNothingAndSaySo)
{
    for (const char* bad : {"[abc", "x\\", "[", "[!", "[a-", "[\\"}) {
        EXPECT_FALSE(glob_valid(bad)) << bad;
        EXPECT_FALSE(glob_match(bad, bad)) << bad;
    }
    EXPECT_TRUE(glob_valid("a[b]*?\\*"));
    EXPECT_TRUE(is_glob("a*"));
    EXPECT_FALSE(is_glob("main"));
}

TEST(Glob, ManyStarsDoNotTakeExponentialTime)
{
    std::string glob, text(20000, 'a');
    for (int i = 0; i < 200; i++)
        glob += "*a";
    EXPECT_TRUE(glob_match(glob, text));
    EXPECT_FALSE(glob_match(glob + "b", text));
}
