// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/elf/function_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace dt;

static FunctionSymbol symbol(std::uint64_t addr, std::uint64_t n_bytes,
                             const char* name, Binding binding = Binding::global,
                             bool indirect = false, bool old_version = false)
{
    return {addr, n_bytes, {name, binding, indirect, old_version}};
}

TEST(FunctionTable, PrefersTypeThenNotLocalThenUnderscoresThenLength)
{
    FunctionTable table({symbol(16, 4, "indirect", Binding::global, true),
                         symbol(16, 4, "zlocal", Binding::local),
                         symbol(16, 4, "weak", Binding::weak),
                         symbol(16, 4, "__global"), symbol(16, 4, "_longglobal"),
                         symbol(16, 4, "_global"), symbol(16, 4, "_globaa")});
    ASSERT_EQ(table.all().size(), 1U);
    std::vector<std::string> names;
    for (const FunctionName& name : table.names(table.all()[0]))
        names.emplace_back(name.text);
    EXPECT_EQ(names,
              (std::vector<std::string>{"weak", "_globaa", "_global", "_longglobal",
                                        "__global", "zlocal", "indirect"}));
}

TEST(FunctionTable, FindsAFunctionByEachOfItsNames)
{
    FunctionTable table({symbol(32, 8, "b"), symbol(16, 8, "malloc"),
                         symbol(16, 8, "__libc_malloc"), symbol(16, 8, "malloc")});
    EXPECT_EQ(table.all().size(), 2U);
    EXPECT_EQ(table.names(table.all()[0]).size(), 2U);
    ASSERT_TRUE(table.find("malloc"));
    EXPECT_EQ(table.find("malloc"), table.find("__libc_malloc"));
    EXPECT_EQ(table.name(*table.find("__libc_malloc")), "malloc");
    EXPECT_FALSE(table.find("mallo"));
}

// With 12-bit addresses, many symbols have the same address.
TEST(FunctionTable, OrdersByAddressWhateverComesInWhateverOrder)
{
    for (unsigned bits : {12u, 24u, 40u, 64u}) {
        for (std::size_t n : {10u, 2047u, 2048u, 50'000u}) {
            std::mt19937_64 random(bits);
            std::vector<FunctionSymbol> symbols;
            std::set<std::uint64_t> addresses;
            for (std::size_t i = 0; i < n; ++i) {
                std::uint64_t at = random() >> (64 - bits);
                addresses.insert(at);
                symbols.push_back(
                    symbol(at, 1, i % 2 == 0 ? "local" : "global",
                           i % 2 == 0 ? Binding::local : Binding::global));
            }
            FunctionTable table(symbols);
            ASSERT_EQ(table.all().size(), addresses.size());
            auto expected = addresses.begin();
            for (const Function& function : table.all()) {
                ASSERT_EQ(function.addr, *expected++);
                ASSERT_TRUE(function.n_names == 1 || table.name(function) == "global");
            }
        }
    }
}

TEST(FunctionTable, OffersTheGlobalAndCurrentOneOfSeveralWithOneName)
{
    FunctionTable table({symbol(16, 8, "f", Binding::local),
                         symbol(32, 8, "f", Binding::global, false, true),
                         symbol(48, 8, "f", Binding::global)});
    EXPECT_EQ(table.find("f")->addr, 48U);
    EXPECT_EQ(table.find_all("f").size(), 3U);
}

TEST(FunctionTable, TellsNamesOfPartsThatWereSplitOff)
{
    for (const char* name : {"f.cold", "f.cold.3", "f.part.0.cold"})
        EXPECT_TRUE(FunctionName{name}.is_of_part()) << name;
    for (const char* name : {"f", "cold", ".cold", "f.colder", "f.part.0"})
        EXPECT_FALSE(FunctionName{name}.is_of_part()) << name;
    FunctionName made_up{"fde.1234"};
    EXPECT_FALSE(made_up.is_of_part());
    made_up.split_off = true;
    EXPECT_TRUE(made_up.is_of_part());
}

TEST(FunctionTable, FindsTheFunctionThatHoldsAnAddress)
{
    FunctionTable table(
        {symbol(100, 100, "outer"), symbol(120, 10, "inner"), symbol(300, 10, "last")});
    EXPECT_EQ(table.at(99), nullptr);
    EXPECT_EQ(table.name(*table.at(100)), "outer");
    EXPECT_EQ(table.name(*table.at(125)), "inner");
    EXPECT_EQ(table.name(*table.at(130)), "outer");
    EXPECT_EQ(table.at(200), nullptr);
    EXPECT_EQ(table.name(*table.at(309)), "last");
    EXPECT_EQ(table.at(310), nullptr);
    EXPECT_EQ(FunctionTable().at(1), nullptr);
}

TEST(FunctionTable, MatchesGlobsOnAliasesToo)
{
    FunctionTable table({symbol(16, 8, "malloc"), symbol(16, 8, "__libc_malloc"),
                         symbol(32, 8, "_Z3fooi"), symbol(48, 8, "calloc")});
    EXPECT_EQ(table.match("__libc_*").size(), 1U);
    EXPECT_EQ(table.match("*alloc").size(), 2U);
    EXPECT_EQ(table.match("foo").size(), 1U);
    EXPECT_EQ(table.match("foo(int)").size(), 1U);
    EXPECT_EQ(table.suggest("mallok"), (std::vector<std::string>{"malloc", "calloc"}));
}
