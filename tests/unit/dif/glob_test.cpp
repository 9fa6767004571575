// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>

#include "dif/engine.h"

TEST(Glob, MatchesAsTheShellDoes)
{
    struct {
        const char *pattern, *text;
        int expected;
    } const cases[] = {
        {"", "anything", 1},   {"abc", "abc", 1},         {"abc", "abcd", 0},
        {"*", "", 1},          {"a*", "abc", 1},          {"*c", "abc", 1},
        {"a*c*e", "abcde", 1}, {"a*c*f", "abcde", 0},     {"?", "a", 1},
        {"?", "", 0},          {"[a-c]x", "bx", 1},       {"[a-c]x", "dx", 0},
        {"[!a-c]x", "dx", 1},  {"[!a-c]x", "ax", 0},      {"[]a]", "]", 1},
        {"a\\*", "a*", 1},     {"a\\*", "ab", 0},         {"[a", "[a", 1},
        {"**a", "bca", 1},     {"*.so*", "libc.so.6", 1}, {"\\", "\\", 1},
        {"[\\]]", "]", 1},     {"a[0-9]*", "a7z", 1},     {"a", "", 0},
    };
    for (const auto& c : cases)
        EXPECT_EQ(dt_glob(c.pattern, c.text), c.expected)
            << c.pattern << " on " << c.text;
    EXPECT_TRUE(dt_is_glob("a*"));
    EXPECT_FALSE(dt_is_glob("a.b"));
}

TEST(Glob, ManyStarsDoNotExplode)
{
    std::string pattern, text(2000, 'a');
    for (int i = 0; i < 200; i++)
        pattern += "*a";
    EXPECT_FALSE(dt_glob((pattern + "b").c_str(), text.c_str()));
}
