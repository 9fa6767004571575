// SPDX-License-Identifier: MIT
// Tests chains, which are overlapping jumps that replace several adjacent blocks.
#include "built_window.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

using namespace dt;
using namespace dt::test;

namespace {

// Checks that each jump leads to the copy of its instruction. An instruction that
// begins inside a jump must begin with a trap byte.
void check_chain(const Window& window, const Built& built)
{
    const Patch& patch = built.patch;
    ASSERT_EQ(patch.stubs.size(), window.chained.size());
    EXPECT_EQ(jump_at(patch.text, patch.at, window.n_prefix), patch.trampoline);
    for (std::size_t k = 1; k < window.n_jumps(); ++k) {
        TargetAddr stub = patch.stubs[k - 1];
        EXPECT_EQ(jump_at(patch.text, patch.at, window.jump(k) - patch.at), stub);
        const Moved& moved = patch.moved[window.chained[k - 1].insn];
        EXPECT_EQ(moved.from, window.block(k));
        EXPECT_EQ(jump_at(patch.code_of_stub(k - 1), stub, 0), moved.head);
        auto place = place_of(patch, stub);
        ASSERT_TRUE(place);
        EXPECT_EQ(place->kind, PatchPlace::head);
        EXPECT_EQ(place->on, window.block(k));
        EXPECT_FALSE(place_of(patch, stub + 1));
    }
    TargetAddr end = window.jump(window.n_jumps() - 1) + 5;
    for (const Moved& moved : patch.moved)
        EXPECT_TRUE(moved.from == patch.at || window.is_chained(moved.from) ||
                    moved.from >= end ||
                    x86_64.traps(patch.text[moved.from - patch.at]))
            << (moved.from - patch.at);
}

struct ChainRow {
    std::string text; // | separates the blocks
    PatchForm form;
    // Set if the trampoline must be 380 MB below or 1.7 GB above the first jump.
    bool far = false;
};

// Returns the row's text with a site at the start of the first block. With probe_all,
// the later blocks except the last one also have a site.
Text text_of(const ChainRow& row, bool probe_all)
{
    std::string hex;
    std::vector<std::uint64_t> ends;
    std::uint64_t n = 0;
    for (char c : row.text + "|") {
        if (c == '|')
            ends.push_back(n / 2);
        else if (c != ' ')
            ++n;
        if (c != '|')
            hex += c;
    }
    Text text(hex);
    for (std::size_t i = 0; i + 1 < (probe_all ? ends.size() : 2); ++i) {
        std::uint64_t first = i == 0 ? 0 : ends[i - 1];
        text.site(first, static_cast<std::uint32_t>(i), first, ends[i])
            .behind(ends[i + 1], 0)
            .further({ends.begin() + static_cast<std::ptrdiff_t>(i) + 1, ends.end()});
    }
    return text;
}

TEST(PatchForms, AChainHasAJumpForEachBlock)
{
    for (const ChainRow& row :
         {ChainRow{"c3|31c0c3|4889f8 4889f2 c3", PatchForm::chain, true},
          ChainRow{"c3|c3|4889f8 4889f2 c3", PatchForm::chain},
          ChainRow{"c3|c3|c3|4889f8 4889f2 c3", PatchForm::chain},
          ChainRow{"31c0c3|31c0c3|31c0c3|4889f8 4889f2 c3", PatchForm::chain},
          ChainRow{"5bc3|89f8c3|4889f8 4889f2 c3", PatchForm::chain},
          ChainRow{"8b4708c3|31c0c3|4889f8 4889f2 c3", PatchForm::chain},
          // with padding between the blocks
          ChainRow{"c3 90|c3 6690|4889f8 4889f2 c3", PatchForm::chain}}) {
        Window window = window_of(text_of(row, true));
        EXPECT_EQ(window.form, row.form) << row.text;
        EXPECT_EQ(window.insns[0].site, 0U) << row.text;
        for (std::size_t k = 0; k + 1 < window.chained.size(); ++k)
            EXPECT_TRUE(window.insns[window.chained[k].insn].site) << row.text;
        std::vector<Reach> reach = reach_of(window);
        ASSERT_FALSE(reach.empty()) << row.text;
        auto built =
            row.far ? build(window,
                            window.origin() + static_cast<std::uint64_t>(reach[0].from),
                            32 << 20)
                    : build(window);
        ASSERT_TRUE(built) << row.text;
        check_chain(window, *built);
        built->space.give_back(built->place, trampoline_bytes(window));
        EXPECT_TRUE(built->space.take(window, trampoline_bytes(window)));
    }
}

TEST(PatchForms, ALaterJumpOfAChainMayNeedAnAreaOfItsOwn)
{
    // The second jump's highest displacement byte is the first byte of the fourth jump.
    const Window window =
        window_of(text_of({"c3|c3|31c0c3|4889f8 4889f2 c3", PatchForm::chain}, true));
    EXPECT_EQ(window.form, PatchForm::chain);
    ASSERT_EQ(window.n_jumps(), 4U);
    EXPECT_FALSE(far_reach_of(window, 2));
    const std::optional<Reach> reach = far_reach_of(window, 1);
    ASSERT_TRUE(reach);
    EXPECT_EQ(reach->to - reach->from, 16 << 20);
    const TargetAddr far = window.jump(1) + 5 + static_cast<std::uint64_t>(reach->from);
    Built built;
    built.space.add_area(area, 16 << 20);
    EXPECT_FALSE(built.space.take(window, trampoline_bytes(window)));
    built.space.add_area(far, 16 << 20);
    const auto place = built.space.take(window, trampoline_bytes(window));
    ASSERT_TRUE(place);
    EXPECT_LT(place->stubs[0] - far, 16U << 20);
    built.place = *place;
    Result<Patch> patch =
        build_patch(window, *place, *built.space.area_of(place->trampoline));
    ASSERT_TRUE(patch) << patch.error().text;
    built.patch = std::move(*patch);
    check_chain(window, built);
}

TEST(PatchForms, ALaterJumpWhoseHighestByteMustTrapMayNeedAnAreaOfItsOwn)
{
    // ret | mov %edi,%eax; mov %esi,%ecx; ret. The last ret begins at the highest byte
    // of the second displacement.
    const Window window = window_of(text_of({"c3|89f889f1c3", PatchForm::pair}, true));
    ASSERT_EQ(window.n_jumps(), 2U);
    EXPECT_FALSE(far_reach_of(window, 1));
    const std::vector<Reach> reach = stub_reach_of(window, 1);
    ASSERT_FALSE(reach.empty());
    for (const Reach& piece : reach) {
        EXPECT_EQ(piece.to - piece.from, 16 << 20);
        EXPECT_TRUE(x86_64.traps(static_cast<std::byte>(piece.from >> 24)));
    }
    TrampolineSpace space;
    space.add_area(Text::at(1 << 24), 16 << 20);
    const std::size_t n_bytes = trampoline_bytes(window);
    EXPECT_FALSE(space.take(window, n_bytes));
    const auto upwards = std::find_if(reach.begin(), reach.end(),
                                      [](const Reach& r) { return r.from > 0; });
    ASSERT_NE(upwards, reach.end());
    const TargetAddr own =
        window.jump(1) + 5 + static_cast<std::uint64_t>(upwards->from);
    space.add_area(own, 16 << 20);
    const auto place = space.take(window, n_bytes);
    ASSERT_TRUE(place);
    EXPECT_LT(place->stubs[0] - own, 16U << 20);
}

TEST(PatchForms, AChainTakesInTheWindowsThatItReaches)
{
    // The last block has two sites of its own.
    Text text("c3 c3 4889f8 4889f2 31c0 c3");
    const Window window = window_of(text.site(0, 1, 0, 1)
                                        .behind(2, 0)
                                        .further({2, 11})
                                        .site(2, 2, 2, 11)
                                        .site(10, 3, 2, 11));
    EXPECT_EQ(window.form, PatchForm::chain);
    std::vector<std::uint32_t> sites;
    for (const WindowInsn& insn : window.insns)
        if (insn.site)
            sites.push_back(*insn.site);
    EXPECT_EQ(sites, (std::vector<std::uint32_t>{1, 2, 3}));
    auto built = build(window);
    ASSERT_TRUE(built);
    check_chain(window, *built);
}

TEST(PatchForms, AChainLeadsOnlyALoopsOwnBranchesPastTheHead)
{
    // je 3 (from another function); ret; subl $1,(%rdi); jne 3; ret
    Text text("7401 c3 832f01 75fb c3");
    const Window window = window_of(text.site(0, 1, 0, 2)
                                        .behind(3, 0)
                                        .further({3, 9})
                                        .site(2, 2, 2, 3)
                                        .behind(9, 0)
                                        .site(3, 3, 3, 9)
                                        .loop(8));
    EXPECT_EQ(window.form, PatchForm::chain);
    ASSERT_EQ(window.insns.size(), 4U);
    EXPECT_EQ(window.insns[2].site, 3U);
    auto built = build(window);
    ASSERT_TRUE(built);
    check_chain(window, *built);
    const Patch& patch = built->patch;
    auto branch_to = [&](const Moved& moved) {
        const std::byte* jcc = patch.code.data() + (moved.to - patch.trampoline);
        std::int32_t distance = 0;
        std::memcpy(&distance, jcc + 2, sizeof distance);
        return moved.to + 6 + static_cast<std::uint64_t>(std::int64_t{distance});
    };
    // The je of the other function still leads to the text, so the probe fires there.
    EXPECT_EQ(branch_to(patch.moved[0]), Text::at(3));
    EXPECT_EQ(branch_to(patch.moved[3]), patch.moved[2].to);
}

TEST(PatchForms, AChainMovesNothingThatMayBecomeABreakpoint)
{
    // The instructions around the second ret may not be moved. So no chain contains it.
    Text text("c3 c3 4889f8 4889f2 c3");
    EXPECT_EQ(text.site(0, 1, 0, 1)
                  .behind(2, 0)
                  .further({2, 9})
                  .site(1, 2, 1, 1)
                  .plan()
                  .windows.size(),
              0U);
}

TEST(PatchForms, AChainEndsWhereTheBlocksDo)
{
    EXPECT_EQ(Text("c3 c3 4889f8 4889f2 c3")
                  .site(0, 1, 0, 1)
                  .behind(2, 0)
                  .plan()
                  .refused.size(),
              1U);
    // A system call is never moved.
    EXPECT_EQ(Text("c3 c3 0f05 4889f2 c3")
                  .site(0, 1, 0, 1)
                  .behind(2, 0)
                  .further({2, 8})
                  .plan()
                  .refused.size(),
              1U);
}

} // namespace
