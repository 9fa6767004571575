// SPDX-License-Identifier: MIT
#include "base/printable.hpp"
#include "libdtrace/symbols/demangle.hpp"

#include <chrono>
#include <gtest/gtest.h>

using namespace dt;

TEST(Demangle, GivesTheNameAsItIsWritten)
{
    EXPECT_EQ(demangle("_ZNK4shop4Cart5totalEiPKc"),
              "shop::Cart::total(int, char const*) const");
    EXPECT_FALSE(demangle("malloc"));
    EXPECT_FALSE(demangle("_Zbroken"));
    EXPECT_EQ(demangle("_Z3fooi"), "foo(int)");
}

TEST(Demangle, CutsReturnTypeAndParameters)
{
    EXPECT_EQ(without_parameters("shop::Cart::total(int, char const*) const"),
              "shop::Cart::total");
    EXPECT_EQ(without_parameters("int shop::twice<int>(int)"), "shop::twice<int>");
    EXPECT_EQ(without_parameters("shop::Cart::operator()(int)"),
              "shop::Cart::operator()");
    EXPECT_EQ(without_parameters("(anonymous namespace)::helper(int)"),
              "(anonymous namespace)::helper");
    EXPECT_EQ(without_parameters("operator new(unsigned long)"), "operator new");
    EXPECT_EQ(without_parameters("f(void (*)(int)) [clone .cold]"), "f");
    EXPECT_EQ(without_parameters("vtable"), "vtable");
}

TEST(Demangle, PatternsMatchEveryFormOfAName)
{
    const char* name = "_ZNK4shop4Cart5totalEiPKc";
    for (const char* pattern :
         {"_ZNK4shop4Cart5totalEiPKc", "_ZNK4shop*", "shop::Cart::total",
          "shop::Cart::total(int, char const\\*) const", "shop::*::total", "*total*",
          "*"})
        EXPECT_TRUE(NameMatcher(pattern).matches(name)) << pattern;
    for (const char* pattern : {"total", "Cart::total", "shop::Cart", "malloc"})
        EXPECT_FALSE(NameMatcher(pattern).matches(name)) << pattern;
}

TEST(Demangle, PatternsMayNameWhatOnlyTheDemanglerWrites)
{
    EXPECT_TRUE(NameMatcher("*unsigned long*").matches("_Z3foom"));
    EXPECT_TRUE(NameMatcher("std::basic_string*")
                    .matches("_ZNSbIwSt11char_traitsIwESaIwEE6appendEPKw"));
    EXPECT_TRUE(NameMatcher("*anonymous namespace*")
                    .matches("_ZN12_GLOBAL__N_113hidden_helperEi"));
    EXPECT_TRUE(NameMatcher("operator new*").matches("_Znwm"));
}

// A matching name need not contain the words inside a character class.
TEST(Demangle, ABracketAtTheStartOfAClassIsAMemberOfIt)
{
    for (const char* pattern :
         {"[]shopping]hop::*", "[!]abcdef]hop::*", "[\\]shopping]hop::*"})
        EXPECT_TRUE(NameMatcher(pattern).matches("_ZNK4shop4Cart5totalEiPKc"))
            << pattern;
}

// Returns a mangled name. Each level doubles the length of the demangled name. With 40
// levels, the demangled name is longer than a terabyte.
static std::string doubling_name(int levels)
{
    auto reference = [](int number) {
        std::string text;
        for (int n = number - 1; n >= 0; n = n / 36 - 1) {
            text.insert(text.begin(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 36]);
            if (n < 36)
                break;
        }
        return "S" + text + "_";
    };
    std::string name = "_Z1f1x1bIS_S_E";
    for (int i = 0; i < levels; i++)
        name += "S0_I" + reference(2 + i) + reference(2 + i) + "E";
    return name;
}

TEST(Demangle, RefusesNamesThatStandForGigabytes)
{
    EXPECT_TRUE(demangle(doubling_name(3)));
    auto start = std::chrono::steady_clock::now();
    for (int levels = 8; levels < 200; levels++) {
        auto text = demangle(doubling_name(levels));
        EXPECT_TRUE(!text || text->size() <= max_demangled_bytes) << levels;
    }
    EXPECT_FALSE(demangle(doubling_name(30)));
    for (int depth : {100, 1000, 8000, 1000000})
        demangle("_Z1f" + std::string(static_cast<std::size_t>(depth), 'P') + "i");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Demangle, PrintsNoControlBytesAndNoEndlessNames)
{
    EXPECT_EQ(printable_name("a\nb\x1b[31m\x7f\\"), "a\\012b\\033[31m\\177\\134");
    EXPECT_EQ(printable_name("stra\xc3\x9f"
                             "e"),
              "stra\xc3\x9f"
              "e");
    EXPECT_EQ(printable_name(std::string(5000, 'x'), 10), "xxxxxxxxxx...");
}

TEST(Printable, EscapesControlCharactersAndBytesThatAreNotUtf8)
{
    const auto name = [](std::string_view text) {
        return printable(text, Escaping::Names);
    };
    EXPECT_EQ(name("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
              "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
    EXPECT_EQ(name("\x1b]0;x\a\n\t\\\x7f"), "\\033]0;x\\007\\012\\011\\134\\177");
    EXPECT_EQ(name("\xc2\x9b"
                   "2J \xc2\xa0"),
              "\\302\\2332J \xc2\xa0");
    EXPECT_EQ(name("\x9b \xff \xc3"), "\\233 \\377 \\303");
    // Invalid UTF-8: overlong forms of ESC, a surrogate, and a value above U+10FFFF.
    EXPECT_EQ(name("\xc0\x9b"), "\\300\\233");
    EXPECT_EQ(name("\xe0\x80\x9b"), "\\340\\200\\233");
    EXPECT_EQ(name("\xed\xa0\x80"), "\\355\\240\\200");
    EXPECT_EQ(name("\xf4\x90\x80\x80"), "\\364\\220\\200\\200");
    EXPECT_EQ(printable("a\n\tb\\\x1b", Escaping::Strings), "a\n\tb\\\\033");
    EXPECT_EQ(printable("\x1b", Escaping::None), "\x1b");
}
