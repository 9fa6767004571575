// SPDX-License-Identifier: MIT
// Tests windows in blocks of one to four bytes. Such windows get a pair or a punned
// jump.
#include "built_window.hpp"

#include <gtest/gtest.h>

#include <set>

using namespace dt;
using namespace dt::test;

namespace {

// Each text has two blocks. The first block has n bytes. The second block is
// mov %rdi,%rax; mov %rsi,%rdx; ret.
TEST(PatchForms, APairHasTwoJumpsThatShareBytes)
{
    for (const std::string first : {"c3", "5dc3", "89c8c3", "5dc390", "89c85dc3"}) {
        std::size_t n = first.size() / 2;
        Text text(first + "4889f8 4889f2 c3");
        const Window window = window_of(text.site(0, 7, 0, n).behind(n + 7, 0));
        EXPECT_EQ(window.form, PatchForm::pair);
        EXPECT_EQ(window.own_bytes(), n);
        EXPECT_EQ(window.end(), Text::at(n + 6));
        auto built = build(window);
        ASSERT_TRUE(built) << first;
        const Patch& patch = built->patch;
        EXPECT_EQ(copy_of(patch.original), bytes_of(first + "4889f8 4889f2"));
        EXPECT_EQ(patch.text.size(), patch.original.size());
        EXPECT_EQ(jump_at(patch.text, patch.at, window.n_prefix), patch.trampoline);
        EXPECT_EQ(jump_at(patch.text, patch.at, n), patch.stubs[0]);
        const Moved& second = patch.moved[window.chained[0].insn];
        EXPECT_EQ(second.from, Text::at(n));
        EXPECT_EQ(jump_at(patch.stub_code, patch.stubs[0], 0), second.head);
        for (const Moved& moved : patch.moved) {
            std::uint64_t offset = moved.from - patch.at;
            EXPECT_TRUE(offset == 0 || offset == n || offset >= n + 5 ||
                        x86_64.traps(patch.text[offset]))
                << first << " " << offset;
        }
        auto place = place_of(patch, patch.stubs[0]);
        ASSERT_TRUE(place);
        EXPECT_EQ(place->kind, PatchPlace::head);
        EXPECT_EQ(place->on, Text::at(n));
        EXPECT_FALSE(place_of(patch, patch.stubs[0] + 1));
        place = place_of(patch, patch.trampoline + patch.code.size() - 5);
        ASSERT_TRUE(place);
        EXPECT_EQ(place->on, window.end());
        built->space.give_back(built->place, trampoline_bytes(window));
        EXPECT_TRUE(built->space.take(window, trampoline_bytes(window)));
    }
}

TEST(PatchForms, APairOfFourBytesHasAPrefix)
{
    // mov %ecx,%eax; pop %rbp; ret | mov %rdi,%rax; mov %rsi,%rdx; ret
    const Window window =
        window_of(Text("89c85dc3 4889f8 4889f2 c3").site(0, 7, 0, 4).behind(11, 0));
    EXPECT_EQ(window.n_prefix, 1U);
    EXPECT_EQ(window.origin(), Text::at(6));
    auto built = build(window);
    ASSERT_TRUE(built);
    EXPECT_EQ(built->patch.text[0], std::byte{0x67});
    // A thread in the middle of the window continues at the copy of its instruction.
    EXPECT_EQ(place_of(built->patch, Text::at(2))->index, 1U);
    EXPECT_FALSE(place_of(built->patch, Text::at(1)));
}

TEST(PatchForms, APairOfFourBytesHasItBeforeTheSecondJump)
{
    // push %rbx; mov %rdi,%rbx. A thread that jumps to the mov must trap, so the first
    // jump has no prefix. The second jump has the prefix 67.
    const Window window =
        window_of(Text("534889fb 4889f8 4889f2 c3").site(0, 7, 0, 4).behind(11, 0));
    EXPECT_EQ(window.n_prefix, 0U);
    EXPECT_EQ(window.chained[0].n_prefix, 1U);
    const Reach reach = only_reach_of(window);
    EXPECT_EQ(reach.from, 0x67000000);
    auto built = build(window, TargetAddr{0x67000000 + text_at}, 32 << 20);
    ASSERT_TRUE(built);
    const Patch& patch = built->patch;
    EXPECT_EQ(jump_at(patch.text, patch.at, 0), patch.trampoline);
    EXPECT_EQ(patch.text[4], std::byte{0x67});
    EXPECT_EQ(jump_at(patch.text, patch.at, 5), patch.stubs[0]);
    EXPECT_EQ(jump_at(patch.stub_code, patch.stubs[0], 0), patch.moved[2].head);
    EXPECT_TRUE(x86_64.traps(patch.text[1])); // mov %rdi,%rbx, after the push
    EXPECT_TRUE(x86_64.traps(patch.text[7])); // mov %rsi,%rdx, in the second jump
}

TEST(PatchForms, NoInstructionBeginsBehindAPrefix)
{
    // In both jumps, an instruction begins at the second byte. So neither jump can have
    // a prefix.
    WindowPlan plan =
        Text("534889fb 50 51 4889f2 c3").site(0, 7, 0, 4).behind(9, 0).plan();
    EXPECT_EQ(plan.refused.size(), 1U);
    // The second jump has exactly five bytes, so it has no room for a prefix.
    plan = Text("534889fb b801000000 c3").site(0, 7, 0, 4).behind(9, 0).plan();
    EXPECT_EQ(plan.refused.size(), 1U);
}

TEST(PatchForms, APairTakesInTheWindowBehindIt)
{
    // ret | mov %rdi,%rax; mov %rsi,%rdx; ret
    Text text("c3 4889f8 4889f2 c3");
    const Window window =
        window_of(text.site(0, 1, 0, 1).behind(8, 0).site(1, 2, 1, 8));
    EXPECT_EQ(window.insns[0].site, 1U);
    EXPECT_EQ(window.insns[1].site, 2U);
    auto built = build(window);
    ASSERT_TRUE(built);
    EXPECT_EQ(jump_at(built->patch.stub_code, built->patch.stubs[0], 0),
              built->patch.moved[1].head);
}

TEST(PatchForms, APairReachesAWindowFurtherOn)
{
    // ret | push %rbx; mov $1,%eax; ret. The pair contains the site of the last ret.
    Text text("c3 53 b801000000 c3");
    const Window window =
        window_of(text.site(0, 1, 0, 1).behind(8, 0).site(7, 2, 1, 8));
    EXPECT_EQ(window.insns.size(), 4U);
    EXPECT_EQ(window.insns[3].site, 2U);
}

TEST(PatchForms, AnInstructionOfAPairIsProbedInIt)
{
    // xor %eax,%eax; ret | ... The entry and the return are sites.
    Text text("31c0 c3 4889f8 4889f2 c3");
    const Window window =
        window_of(text.site(0, 1, 0, 3).behind(10, 0).site(2, 2, 0, 3).behind(10, 0));
    EXPECT_EQ(window.insns[0].site, 1U);
    EXPECT_EQ(window.insns[1].site, 2U);
}

TEST(PatchForms, ACallsReturnAddressIsThePlaceOfASecondJump)
{
    // call *%rax | mov %rax,%rbx; pop %rbx; ret
    const Window window = window_of(Text("ffd0 4889c3 5b c3").site(0));
    EXPECT_EQ(window.form, PatchForm::pair);
    EXPECT_EQ(window.insns[window.chained[0].insn].insn.at, Text::at(2));
}

TEST(PatchForms, WhatIsKnownBehindASiteCanBeLimited)
{
    PatchSite site{Text::at(0), Text::at(0), Text::at(1)};
    site.beyond = Text::at(3);
    site.further = {2, 4, 1};
    PatchSite cut = site;
    cut.limit_behind(Text::at(6));
    EXPECT_EQ(cut.beyond, Text::at(3));
    EXPECT_EQ(cut.further, (FurtherBlocks{2, 1}));
    cut.limit_behind(Text::at(2));
    EXPECT_EQ(cut.beyond, Text::at(2));
    EXPECT_EQ(cut.further, FurtherBlocks{});
}

TEST(PatchForms, APunnedJumpEndsInBytesThatStay)
{
    // ret, followed by 10 20 30 06
    const Window window = window_of(Text("c3 10203006").site(0, 7, 0, 1));
    EXPECT_EQ(window.form, PatchForm::punned);
    EXPECT_EQ(window.end(), Text::at(1));
    const Reach reach = only_reach_of(window);
    EXPECT_EQ(reach.from, 0x06302010);
    EXPECT_EQ(reach.to, 0x06302011);

    TargetAddr exact = Text::at(5) + 0x06302010;
    TrampolineSpace space;
    space.add_area(TargetAddr{0x2000000}, 1 << 20);
    EXPECT_FALSE(space.take(window, trampoline_bytes(window)));
    space.add_area(TargetAddr{exact.value & ~4095ULL}, 4096);
    auto place = space.take(window, trampoline_bytes(window));
    ASSERT_TRUE(place);
    EXPECT_EQ(place->stubs[0], exact);
    EXPECT_EQ(space.area_of(place->trampoline), TargetAddr{0x2000000});
    EXPECT_FALSE(space.take(window, trampoline_bytes(window))); // the address is in use
    Result<Patch> patch = build_patch(window, *place, TargetAddr{0x2000000});
    ASSERT_TRUE(patch);
    EXPECT_EQ(copy_of(patch->original), bytes_of("c3 10203006"));
    EXPECT_EQ(copy_of(patch->text), bytes_of("e9 10203006"));
    EXPECT_EQ(jump_at(patch->stub_code, exact, 0), patch->moved[0].head);
    EXPECT_FALSE(place_of(*patch, Text::at(1))); // this address belongs to the program
    EXPECT_EQ(place_of(*patch, exact)->on, Text::at(0));
    space.give_back(*place, trampoline_bytes(window));
    EXPECT_TRUE(space.take(window, trampoline_bytes(window)));
}

TEST(PatchForms, APunnedJumpWithAPrefixEndsFurtherOn)
{
    // jmp *%rax, followed by 20 30 f6 05. Without a prefix, f6 would be the highest
    // byte, so the displacement would be negative.
    const Window window = window_of(Text("ffe0 2030f605").site(0, 7, 0, 2));
    EXPECT_EQ(window.n_prefix, 1U);
    EXPECT_EQ(window.n_kept, 4U);
    const Reach reach = only_reach_of(window);
    EXPECT_EQ(reach.from, 0x05f63020);
    EXPECT_EQ(reach.to, 0x05f63021);
    TargetAddr exact = window.origin() + 0x05f63020;
    Result<Patch> patch = build_patch(window, {area + 64, exact}, area);
    ASSERT_TRUE(patch);
    EXPECT_EQ(copy_of(patch->text), bytes_of("67e9 2030f605"));
    EXPECT_EQ(copy_of(patch->original), bytes_of("ffe0 2030f605"));
    EXPECT_EQ(Text("ffe0 2030f605").site(0, 7, 0, 2).behind(0, 3).plan().refused.size(),
              1U);
    // pop %rbp; ret. A thread that jumps to the ret would not trap.
    EXPECT_EQ(Text("5dc3 2030f605").site(0, 7, 0, 2).plan().refused.size(), 1U);
}

TEST(PatchForms, APunnedJumpTakesWhatItCanBeforeItself)
{
    // pop %rbp; mov %eax,%ecx; ret, followed by the byte 0x10. Two bytes of the jump
    // must trap.
    const Window window = window_of(Text("5d 89c1 c3 10").site(3, 7, 0, 4));
    EXPECT_EQ(window.at(), Text::at(0));
    EXPECT_EQ(trapping_bytes(window), 5U);
    auto built = build(window, TargetAddr{0x10000000 + text_at}, 32 << 20);
    ASSERT_TRUE(built);
    EXPECT_TRUE(x86_64.traps(built->patch.text[1]));
    EXPECT_TRUE(x86_64.traps(built->patch.text[3]));
    EXPECT_EQ(built->patch.text[4], std::byte{0x10});
}

std::size_t n_refused(const Text& text)
{
    return text.plan().refused.size();
}

TEST(PatchForms, NothingThatChangesIsReliedOn)
{
    std::string hex = "c3 10203006 90909090";
    EXPECT_EQ(n_refused(Text(hex).site(0, 7, 0, 1)), 0U);
    // Another patch begins three bytes after the ret.
    EXPECT_EQ(n_refused(Text(hex).site(0, 7, 0, 1).behind(0, 3)), 1U);
    // A breakpoint may be written at a site of unknown extent. So the kept bytes may
    // not contain such a site.
    EXPECT_EQ(n_refused(Text(hex).site(0, 7, 0, 1).site(3, 8, 3, 3)), 2U);
    // The kept bytes may not contain the start of a plain window.
    WindowPlan plan =
        Text("c3 102030 b801000000").site(0, 1, 0, 1).site(4, 2, 4, 9).plan();
    ASSERT_EQ(plan.refused.size(), 1U);
    EXPECT_EQ(plan.refused[0].site, 1U);
    ASSERT_EQ(plan.windows.size(), 1U);
    EXPECT_EQ(plan.windows[0].form, PatchForm::plain);
    // The last kept byte cannot be read.
    EXPECT_EQ(n_refused(Text("c3 102030").site(0, 7, 0, 1)), 1U);
    // The stub would be below address 0.
    EXPECT_EQ(n_refused(Text("c3 102030f6").site(0, 7, 0, 1)), 1U);
}

TEST(PatchForms, OfTwoPunnedJumpsOneKeepsTheOthersPlace)
{
    // The jumps of the two rets would overlap. The kept bytes of the first jump begin
    // with the second ret.
    WindowPlan plan = Text("c3 c3 203006 06").site(0, 1, 0, 1).site(1, 2, 1, 2).plan();
    ASSERT_EQ(plan.windows.size(), 1U);
    ASSERT_EQ(plan.refused.size(), 1U);
    EXPECT_EQ(plan.refused[0].site, 1U);
    EXPECT_EQ(plan.windows[0].at(), Text::at(1));
}

TEST(PatchForms, AWrongPlaceIsRefused)
{
    Window window = window_of(Text("c3 10203006").site(0, 7, 0, 1));
    TargetAddr exact = Text::at(5) + 0x06302010;
    EXPECT_FALSE(build_patch(window, {area + 64, {}}, area));
    EXPECT_FALSE(build_patch(window, {area + 64, exact + 1}, area));
    EXPECT_TRUE(build_patch(window, {area + 64, exact}, area));
}

TEST(PatchForms, EachHasItsText)
{
    EXPECT_EQ(text_of(PatchForm::plain), "a jump");
    EXPECT_NE(text_of(PatchForm::pair), text_of(PatchForm::punned));
}

TEST(PatchForms, AShortWindowThatFoundNoRoomIsMadeInAnotherWay)
{
    // pop %rbp; ret. A punned jump here leads to an address above the text.
    Text text("5dc3 8d4006 4889f2 c3");
    text.site(0, 7, 0, 2).behind(9, 4);
    std::set<PatchForm> forms;
    std::set<unsigned> ways;
    WindowPlan plan = text.plan();
    EXPECT_EQ(plan.windows.at(0).form, PatchForm::pair);
    while (!plan.windows.empty()) {
        forms.insert(plan.windows[0].form);
        ASSERT_TRUE(ways.insert(plan.windows[0].way).second);
        plan = text.avoiding(plan.windows[0]).plan();
    }
    EXPECT_EQ(forms, (std::set{PatchForm::pair, PatchForm::punned}));
    EXPECT_EQ(plan.refused.size(), 1U);
}

// The builder first refuses a patch whose trampoline is too far away. The refusal must
// not affect the next patch.
TEST(PatchForms, ABuilderThatWasUsedBuildsTheSame)
{
    struct Row {
        std::string text;
        std::uint64_t end, beyond; // limits of the site
    };
    PatchBuilder builder;
    for (const auto& [hex, end, beyond] :
         {Row{"55 4889e5 4883ec10 c9 c3", 10, 10}, Row{"c3 4889f8 4889f2 c3", 1, 8},
          Row{"55 4889e5 4883ec10 c9 c3", 10, 10},
          Row{"5dc3 4889f8 4889f2 c3", 2, 9}}) {
        Text text(hex);
        const Window window = window_of(text.site(0, 7, 0, end).behind(beyond, 0));
        TrampolineSpace space;
        space.add_area(area, 16 << 20);
        auto place = space.take(window, trampoline_bytes(window));
        ASSERT_TRUE(place) << hex;
        TargetAddr from = *space.area_of(place->trampoline);
        Placement far = *place;
        far.trampoline = TargetAddr{0x7f0000000000};
        EXPECT_FALSE(builder.build(window, far, from));
        auto used = builder.build(window, *place, from);
        auto fresh = build_patch(window, *place, from);
        ASSERT_TRUE(used && fresh) << hex;
        EXPECT_EQ(copy_of(used->text), copy_of(fresh->text));
        EXPECT_EQ(copy_of(used->original), copy_of(fresh->original));
        EXPECT_EQ(copy_of(used->code), copy_of(fresh->code));
        EXPECT_EQ(copy_of(used->stub_code), copy_of(fresh->stub_code));
        EXPECT_EQ(used->moved.size(), fresh->moved.size());
    }
}

} // namespace
