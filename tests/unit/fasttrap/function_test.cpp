// SPDX-License-Identifier: MIT
#include "own_functions.hpp"
#include "tests/unit/n_cases.hpp"

#include <gtest/gtest.h>

#include <map>

extern "C" void ft_one_ret(); // links the corpus into the program

using namespace dt;
using namespace dt::test;

namespace {

using Sites = std::vector<std::pair<ReturnSite::Kind, std::uint32_t>>;

class FunctionTest : public testing::Test {
protected:
    static const Image& self()
    {
        static const Image image("/proc/self/exe");
        return image;
    }
    static FunctionSites analyze(const std::string& name)
    {
        auto found = self().functions.find(name);
        if (found == self().functions.end()) {
            ADD_FAILURE() << "no function " << name;
            return {};
        }
        Result<FunctionSites> sites = self().analyze(found->second);
        EXPECT_TRUE(sites);
        return sites ? *sites : FunctionSites{};
    }
    static Sites returns(const FunctionSites& sites)
    {
        Sites out;
        for (const ReturnSite& site : sites.returns)
            out.emplace_back(site.kind, site.offset);
        return out;
    }
    void (*corpus_)() = ft_one_ret;
};

TEST_F(FunctionTest, FindsEveryFormOfRet)
{
    EXPECT_EQ(returns(analyze("ft_one_ret")), (Sites{{ReturnSite::ret, 0}}));
    EXPECT_EQ(returns(analyze("ft_endbr_ret")), (Sites{{ReturnSite::ret, 4}}));
    EXPECT_EQ(
        returns(analyze("ft_all_rets")),
        (Sites{{ReturnSite::ret, 3}, {ReturnSite::ret, 5}, {ReturnSite::ret, 8}}));
}

TEST_F(FunctionTest, CountsJumpsOutAsReturnsAndNamesTheirTarget)
{
    FunctionSites sites = analyze("ft_tail_jumps");
    ASSERT_EQ(returns(sites),
              (Sites{{ReturnSite::tail_branch, 2}, {ReturnSite::tail_jump, 8}}));
    EXPECT_EQ(sites.returns[0].target, self().functions.at("ft_one_ret").at);
    EXPECT_EQ(sites.returns[1].target, self().functions.at("ft_endbr_ret").at);
}

TEST_F(FunctionTest, DoesNotCountJumpsInside)
{
    EXPECT_EQ(returns(analyze("ft_jumps_inside")), (Sites{{ReturnSite::ret, 11}}));
}

TEST_F(FunctionTest, TakesIndirectJumpsWithoutAnIndexForTailCalls)
{
    EXPECT_EQ(returns(analyze("ft_tail_memory")),
              (Sites{{ReturnSite::tail_indirect, 0},
                     {ReturnSite::tail_indirect, 6},
                     {ReturnSite::tail_indirect, 9},
                     {ReturnSite::tail_indirect, 11}}));
}

TEST_F(FunctionTest, LeavesAJumpTableInTheTextOutOfTheInstructions)
{
    FunctionSites sites = analyze("ft_data_in_text");
    ASSERT_EQ(sites.tables.size(), 1U);
    EXPECT_EQ(sites.tables[0].jump, 19U);
    EXPECT_EQ(sites.tables[0].n_entries, 4U);
    EXPECT_EQ(sites.tables[0].targets, (std::vector<std::uint32_t>{37, 43, 49}));
    EXPECT_EQ(sites.instructions, (std::vector<std::uint32_t>{0, 3, 5, 12, 16, 19, 37,
                                                              42, 43, 48, 49, 51}));
    EXPECT_TRUE(sites.exact());
    EXPECT_TRUE(sites.is_boundary(37));
    EXPECT_FALSE(sites.is_boundary(21));
}

TEST_F(FunctionTest, ReportsBytesThatAreNoInstruction)
{
    FunctionSites sites = analyze("ft_undecodable");
    EXPECT_EQ(sites.undecodable, std::vector<std::uint32_t>{1});
    EXPECT_EQ(sites.instructions, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_FALSE(sites.exact());
}

TEST_F(FunctionTest, FindsNoReturnInsideOfTheShadowStacksInstructions)
{
    // incsspq %rcx; sub $255, %rax; ret. The last byte of incsspq is the opcode of a
    // jump.
    const unsigned char text[] = {0xf3, 0x48, 0x0f, 0xae, 0xe9, 0x48,
                                  0x2d, 0xff, 0x00, 0x00, 0x00, 0xc3};
    auto sites =
        analyze_function(x86_64, std::as_bytes(std::span(text)), TargetAddr{0x401000});
    ASSERT_TRUE(sites);
    EXPECT_TRUE(sites->exact());
    EXPECT_EQ(returns(*sites), (Sites{{ReturnSite::ret, 11}}));
}

TEST_F(FunctionTest, RefusesAnEmptyFunction)
{
    EXPECT_FALSE(analyze_function(x86_64, {}, TargetAddr{}));
}

class SwitchTest : public FunctionTest,
                   public testing::WithParamInterface<const char*> {
protected:
    FunctionSites named(const std::string& name) { return analyze(name + GetParam()); }

    static unsigned n_of(const FunctionSites& sites, ReturnSite::Kind kind)
    {
        unsigned n = 0;
        for (const ReturnSite& site : sites.returns)
            n += site.kind == kind ? 1 : 0;
        return n;
    }
};

TEST_P(SwitchTest, IsNoTailCall)
{
    for (const auto& [name, entries] :
         {std::pair{"dense_switch_", 10U}, std::pair{"loop_switch_", 8U}}) {
        FunctionSites sites = named(name);
        EXPECT_EQ(n_of(sites, ReturnSite::tail_indirect), 0U) << name;
        EXPECT_GE(n_of(sites, ReturnSite::ret), 1U) << name;
        EXPECT_TRUE(sites.unresolved_jumps.empty()) << name;
        EXPECT_TRUE(sites.undecodable.empty()) << name;
        ASSERT_EQ(sites.tables.size(), 1U) << name;
        EXPECT_EQ(sites.tables[0].n_entries, entries) << name;
        for (std::uint32_t target : sites.tables[0].targets)
            EXPECT_TRUE(sites.is_boundary(target)) << name << " " << target;
    }
}

TEST_P(SwitchTest, ComputedGotoIsNoTailCallEvenWhenItsTableIsNotRelocated)
{
    FunctionSites sites = named("computed_goto_");
    EXPECT_EQ(n_of(sites, ReturnSite::tail_indirect), 0U);
    EXPECT_EQ(n_of(sites, ReturnSite::tail_jump), 0U);
    EXPECT_EQ(n_of(sites, ReturnSite::ret), 1U);
    EXPECT_GE(sites.tables.size() + sites.unresolved_jumps.size(), 1U);
    EXPECT_EQ(n_of(sites, ReturnSite::unresolved), sites.unresolved_jumps.size());
}

TEST_P(SwitchTest, StandsBesideATailCallThatIsOne)
{
    FunctionSites sites = named("tail_through_pointer_");
    EXPECT_EQ(sites.returns.size(), 1U); // a ret if not optimised, otherwise a jmp
    EXPECT_EQ(n_of(named("plain_loop_"), ReturnSite::tail_indirect), 0U);
}

INSTANTIATE_TEST_SUITE_P(Compiled, SwitchTest,
                         testing::Values("O0", "O1", "O2", "Os", "O2cet", "O2nopic"),
                         [](const auto& info) { return std::string(info.param); });

// In real binaries, few instructions are refused or cannot be decoded. The tables of
// almost all indirect jumps are found.
TEST(FunctionsOfRealBinaries, AreDecodedWholeAndHardlyRefused)
{
    for (const char* path :
         {"/usr/lib/x86_64-linux-gnu/libc.so.6",
          "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/python3"}) {
        if (test::few_cases() && !std::string_view(path).ends_with("libc.so.6"))
            continue;
        Image image(path);
        std::size_t n_instructions = 0;
        std::size_t n_undecodable = 0;
        std::size_t n_unresolved = 0;
        std::size_t n_tables = 0;
        std::map<Displaced::How, std::size_t> how;
        for (const auto& [name, function] : image.functions) {
            Result<FunctionSites> sites = image.analyze(function);
            ASSERT_TRUE(sites) << name;
            n_instructions += sites->instructions.size();
            n_undecodable += sites->undecodable.size();
            n_unresolved += sites->unresolved_jumps.size();
            n_tables += sites->tables.size();
            std::vector<std::byte> text = image.text(function);
            for (std::uint32_t offset : sites->instructions) {
                Result<Instruction> insn = x86_64.decode(
                    std::span(text).subspan(offset), function.at + offset);
                ASSERT_TRUE(insn);
                ++how[x86_64.plan_displaced(*insn).how];
            }
        }
        std::printf(
            "%s: %zu functions, %zu instructions: %zu emulated, %zu copied, %zu "
            "refused; %zu undecodable, %zu tables, %zu unresolved jumps\n",
            path, image.functions.size(), n_instructions, how[Displaced::emulate],
            how[Displaced::out_of_line], how[Displaced::refused], n_undecodable,
            n_tables, n_unresolved);
        EXPECT_LE(how[Displaced::refused] * 2000, n_instructions) << path;
        EXPECT_LE(n_undecodable * 2000, n_instructions) << path;
        EXPECT_LE(n_unresolved, 5U) << path;
    }
}

} // namespace
