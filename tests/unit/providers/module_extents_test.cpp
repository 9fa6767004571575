// SPDX-License-Identifier: MIT
// Tests the extents of this program and of common libraries.
#include "libdtrace/providers/module_extents.hpp"

#include "libdtrace/providers/pid_provider.hpp"
#include "libdtrace/symbols/elf/code_places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <unistd.h>

extern "C" __attribute__((noinline, used)) int extents_test_throws(int n)
{
    if (n > 3)
        throw std::runtime_error("more than three");
    return n + 1;
}

extern "C" __attribute__((noinline, used)) int extents_test_catches(int n)
{
    try {
        return extents_test_throws(n) * 3;
    } catch (const std::runtime_error& error) {
        return error.what()[0];
    }
}

// Two stores in a restartable sequence, with a descriptor as librseq declares it.
extern "C" __attribute__((noinline, used)) void extents_test_restarts(long* into)
{
    asm volatile(".pushsection __rseq_cs, \"aw\"\n"
                 ".balign 32\n"
                 ".long 0, 0\n"
                 ".quad 1f, 2f - 1f, 3f\n"
                 ".popsection\n"
                 ".globl extents_test_sequence, extents_test_sequence_end\n"
                 "extents_test_sequence:\n"
                 "1: movq $1, (%0)\n"
                 "movq $2, 8(%0)\n"
                 "extents_test_sequence_end:\n"
                 "2: nop\n"
                 "3:\n"
                 :
                 : "r"(into)
                 : "memory");
}
extern "C" const char extents_test_sequence[], extents_test_sequence_end[];

namespace {

using namespace dt;

std::shared_ptr<ElfImage> image_of(const char* path)
{
    auto image = ElfImage::open(path);
    EXPECT_TRUE(image) << path;
    return image ? *image : nullptr;
}

class OwnExtents : public testing::Test {
protected:
    // The extents are computed once, because a program with sanitizers is large.
    static void SetUpTestSuite()
    {
        image = image_of("/proc/self/exe");
        extents = map_extents(*image);
    }
    static void TearDownTestSuite()
    {
        extents.reset();
        image.reset();
    }

    static std::uint64_t link_addr(const void* at)
    {
        const Function* known = image->functions().find("extents_test_throws");
        return reinterpret_cast<std::uint64_t>(at) -
               reinterpret_cast<std::uint64_t>(&extents_test_throws) + known->addr;
    }

    static inline std::shared_ptr<ElfImage> image;
    static inline std::unique_ptr<ExtentMap> extents;
};

TEST_F(OwnExtents, ALandingPadIsABranchTarget)
{
    ASSERT_EQ(extents_test_catches(9), 'm');
    CodePlaces places = image->code_places();
    const FunctionTable& table = image->functions();
    std::vector<const Function*> parts{table.find("extents_test_catches")};
    if (const Function* cold = table.find("extents_test_catches.cold"))
        parts.push_back(cold);
    std::size_t n_pads = 0;
    for (std::uint64_t label : places.labels)
        for (const Function* part : parts)
            if (part->contains(label)) {
                ++n_pads;
                EXPECT_EQ(extents->extent({label}).first.value, label);
            }
    EXPECT_GE(n_pads, 1U);
    for (const Function* part : parts) {
        EXPECT_TRUE(std::binary_search(places.functions.begin(), places.functions.end(),
                                       part->addr));
    }
}

TEST_F(OwnExtents, ARestartableSequenceIsFoundByItsDescriptor)
{
    long into[2];
    extents_test_restarts(into);
    std::uint64_t begin = link_addr(extents_test_sequence);
    std::uint64_t end = link_addr(extents_test_sequence_end);
    CodePlaces places = image->code_places();
    auto found = std::find_if(places.restartable.begin(), places.restartable.end(),
                              [&](const AddressRange& r) { return r.addr == begin; });
    ASSERT_NE(found, places.restartable.end());
    EXPECT_EQ(found->addr + found->n_bytes, end);
    EXPECT_EQ(extents->extent({begin}), (Extent{{begin}, {begin}}));
    EXPECT_EQ(extents->extent({end}).first.value, end);
}

TEST_F(OwnExtents, ThePidProviderGivesThemToTheSitesThatAreAskedFor)
{
    ImageCache images;
    Registry registry;
    auto symbols = ProcessSymbols::open(getpid(), images);
    ASSERT_TRUE(symbols);
    ProcessProbes probes;
    PidProvider provider(registry, probes, [&](pid_t) -> Result<ProcessSymbols*> {
        return symbols->get();
    });
    auto ids = [&](const char* function, const char* name) {
        ProbeSpec spec;
        spec.provider = "pid" + std::to_string(getpid());
        spec.module = "a.out";
        spec.function = function;
        spec.name = name;
        return provider.provide(spec).provided.ids;
    };
    std::vector<std::uint32_t> asked = ids("extents_test_throws", "entry");
    for (std::uint32_t id : ids("extents_test_throws", "return"))
        asked.push_back(id);
    std::vector<std::uint32_t> others = ids("extents_test_catches", "entry");
    ASSERT_EQ(asked.size(), 2U);
    ASSERT_EQ(others.size(), 1U);
    probes.find_extents(**symbols, asked);

    auto at = TargetAddr{reinterpret_cast<std::uint64_t>(&extents_test_throws)};
    const ProbeSite& entry = probes.probe(asked[0])->sites.at(0);
    EXPECT_EQ(entry.at, at);
    EXPECT_EQ(entry.first, at);
    EXPECT_GE(entry.end - at, 2U);
    for (const ProbeSite& site : probes.probe(asked[1])->sites) {
        EXPECT_GE(site.first, at);
        EXPECT_LE(site.first, site.at);
        EXPECT_GT(site.end, site.at);
    }
    EXPECT_EQ(probes.probe(others[0])->sites.at(0).end, TargetAddr{});
}

// The sweep over a module's text must give the same results as decoding each function.
class ExtentsOfRealBinaries : public testing::TestWithParam<const char*> {
protected:
    void expect_target(TargetAddr target) const
    {
        ASSERT_EQ(extents->extent(target).first, target) << std::hex << target.value;
        ASSERT_LE(extents->extent(target - 1).end, target) << std::hex << target.value;
    }
    bool read(TargetAddr from, std::span<std::byte> into) const
    {
        return image->read(from.value, into);
    }
    template <class F> void each_function(const F& look) const
    {
        for (const Function& function : image->functions().all()) {
            auto text = image->bytes(function.addr, function.n_bytes);
            ASSERT_TRUE(text);
            auto sites =
                analyze_function(x86_64, *text, {function.addr},
                                 [this](TargetAddr from, std::span<std::byte> into) {
                                     return read(from, into);
                                 });
            ASSERT_TRUE(sites);
            if (sites->exact())
                look(function, *text, *sites);
        }
    }

    std::shared_ptr<ElfImage> image = image_of(GetParam());
    std::unique_ptr<ExtentMap> extents = map_extents(*image);
};

TEST_P(ExtentsOfRealBinaries, KnowEveryInstruction)
{
    std::size_t n_instructions = 0, n_unknown = 0;
    each_function([&](const Function& function, auto, const FunctionSites& sites) {
        for (std::uint32_t offset : sites.instructions) {
            TargetAddr at = TargetAddr{function.addr} + offset;
            n_instructions++;
            n_unknown += extents->extent(at).end == at ? 1 : 0;
        }
    });
    EXPECT_GT(n_instructions, 10'000U);
    EXPECT_LE(n_unknown * 20'000, n_instructions);
}

TEST_P(ExtentsOfRealBinaries, CrossNoTargetOfADirectBranch)
{
    each_function([&](const Function& function, auto text, const FunctionSites& sites) {
        for (std::uint32_t offset : sites.instructions) {
            auto insn =
                x86_64.decode(text.subspan(offset), TargetAddr{function.addr} + offset);
            if (insn && insn->target - TargetAddr{function.addr} < function.n_bytes)
                expect_target(insn->target);
        }
    });
}

// If analyze_function() does not find the end of a table, the test stops at the next
// table.
TEST_P(ExtentsOfRealBinaries, CrossNoTargetOfAJumpTable)
{
    std::vector<TargetAddr> tables;
    each_function([&](const Function&, auto, const FunctionSites& sites) {
        for (const JumpTable& table : sites.tables)
            tables.push_back(table.table);
    });
    std::sort(tables.begin(), tables.end());
    std::size_t n_entries = 0;
    each_function([&](const Function& function, auto, const FunctionSites& sites) {
        for (const JumpTable& table : sites.tables) {
            auto next = std::upper_bound(tables.begin(), tables.end(), table.table);
            for (std::uint32_t i = 0; i < table.n_entries; ++i) {
                TargetAddr at = table.table + i * std::uint64_t{4};
                std::int32_t offset = 0;
                if (next != tables.end() && at >= *next)
                    break;
                if (!read(at, std::as_writable_bytes(std::span(&offset, 1))))
                    break;
                TargetAddr target =
                    table.table + static_cast<std::uint64_t>(std::int64_t{offset});
                auto within =
                    static_cast<std::uint32_t>(target - TargetAddr{function.addr});
                // The entry is an address instead of an offset, or the table has ended.
                if (target - TargetAddr{function.addr} >= function.n_bytes ||
                    !sites.is_boundary(within))
                    break;
                n_entries++;
                expect_target(target);
            }
        }
    });
    EXPECT_GT(n_entries, 0U);
}

INSTANTIATE_TEST_SUITE_P(Of, ExtentsOfRealBinaries,
                         testing::Values("/usr/lib/x86_64-linux-gnu/libc.so.6",
                                         "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"),
                         [](const auto& info) {
                             std::string name(info.param);
                             return name.find("libc.so") != name.npos ? "libc"
                                                                      : "libstdcxx";
                         });

} // namespace
