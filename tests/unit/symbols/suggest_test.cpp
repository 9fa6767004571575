// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/suggest.hpp"

#include <gtest/gtest.h>

using dt::edit_distance, dt::Suggestions;

TEST(Suggest, CountsEditsAndStopsAtTheLimit)
{
    EXPECT_EQ(edit_distance("malloc", "malloc", 2), 0U);
    EXPECT_EQ(edit_distance("maloc", "malloc", 2), 1U);
    EXPECT_EQ(edit_distance("mallco", "malloc", 2), 1U);
    EXPECT_EQ(edit_distance("readlin", "readline", 2), 1U);
    EXPECT_EQ(edit_distance("free", "malloc", 2), 3U);
    EXPECT_EQ(edit_distance("", "abc", 2), 3U);
}

TEST(Suggest, OffersTheNearestFirstAndThenPrefixes)
{
    Suggestions suggestions("mallo");
    for (const char* name :
         {"free", "malloc_usable_size", "malloc", "calloc", "malloc"})
        suggestions.consider(name);
    EXPECT_EQ(suggestions.nearest(),
              (std::vector<std::string>{"malloc", "calloc", "malloc_usable_size"}));
}

TEST(Suggest, ShortNamesAllowOneEditOnly)
{
    Suggestions suggestions("ab");
    suggestions.consider("xy");
    suggestions.consider("ac");
    EXPECT_EQ(suggestions.nearest(), std::vector<std::string>{"ac"});
}

TEST(Suggest, SaysItInOneForm)
{
    EXPECT_EQ(dt::did_you_mean({}), "");
    EXPECT_EQ(dt::did_you_mean({"malloc"}), " (did you mean malloc?)");
    EXPECT_EQ(dt::did_you_mean({"a", "b", "c"}), " (did you mean a, b or c?)");
    EXPECT_EQ(dt::did_you_mean({"a\x1b[1m"}), " (did you mean a\\033[1m?)");
}
