// SPDX-License-Identifier: MIT
// Tests windows with one to four bytes of their own: pairs, punned jumps, and the bytes
// that these must not change.
#include "window_text.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

using namespace dt;
using namespace dt::test;

namespace {

// Returns the destination of the jmp rel32 at this offset in code that is at `at`.
TargetAddr jump_at(std::span<const std::byte> code, TargetAddr at, std::size_t offset)
{
    std::int32_t distance = 0;
    EXPECT_GE(code.size(), offset + 5);
    EXPECT_EQ(code[offset], std::byte{0xe9});
    std::memcpy(&distance, &code[offset + 1], 4);
    return at + offset + 5 + static_cast<std::uint64_t>(std::int64_t{distance});
}

Reach only_reach_of(const Window& window)
{
    std::vector<Reach> reach = reach_of(window);
    EXPECT_EQ(reach.size(), 1U);
    return reach.empty() ? Reach{} : reach[0];
}

struct Built {
    TrampolineSpace space;
    Placement place;
    Patch patch;
};

std::unique_ptr<Built> build(const Window& window, TargetAddr start = area,
                             std::uint64_t bytes = 16 << 20)
{
    auto built = std::make_unique<Built>();
    built->space.add_area(start, bytes);
    auto place = built->space.take(window, trampoline_bytes(window));
    EXPECT_TRUE(place);
    if (!place)
        return nullptr;
    built->place = *place;
    Result<Patch> patch =
        build_patch(window, *place, *built->space.area_of(place->trampoline));
    EXPECT_TRUE(patch) << (patch ? "" : patch.error().text);
    if (!patch)
        return nullptr;
    built->patch = std::move(*patch);
    return built;
}

// Each window has n bytes of its own and ends at a branch target. The code at the
// target is mov %rdi,%rax; mov %rsi,%rdx; ret.
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
    // A thread that has stopped in the middle of the window continues at the copy of
    // its instruction.
    EXPECT_EQ(place_of(built->patch, Text::at(2))->index, 1U);
    EXPECT_FALSE(place_of(built->patch, Text::at(1)));
}

TEST(PatchForms, APairOfFourBytesHasItBeforeTheSecondJump)
{
    // push %rbx; mov %rdi,%rbx. If the first jump had a prefix, a thread that jumps to
    // the mov would not trap. So the second jump has the prefix 67. This prefix is also
    // the highest byte of the first displacement. If that byte were e9, the opcode of
    // the second jump, the first jump would lead 380 MB below the text, where no memory
    // can be mapped for this text.
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
    // In both jumps, the second byte is the start of an instruction, so neither jump
    // can have a prefix. This instruction is a mov in the first jump, and a push that
    // follows a push in the second one.
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
    // ret | push %rbx; mov $1,%eax; ret. Without the site at the first ret, the last
    // ret would get a window that begins at the mov.
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

// Checks that each jump leads to the copy of its instruction, and that each other
// instruction that begins inside a jump starts with a trap byte.
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
    bool far = false; // the first jump leads 380 MB down or 1.7 GB up
};

// Returns the row's text, with a site at the start of the first block. If probe_all is
// set, each other block except the last one also has a site at its start. A site knows
// the ends of all blocks after its own.
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
    // The highest byte of the second jump is the first byte of the fourth jump.
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
    // of the second displacement, so this byte must be a trap byte.
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
    // The first and the last instruction of the last block are also sites.
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
    EXPECT_EQ(branch_to(patch.moved[0]), Text::at(3)); // enters the function
    EXPECT_EQ(branch_to(patch.moved[3]), patch.moved[2].to);
}

TEST(PatchForms, AChainMovesNothingThatMayBecomeABreakpoint)
{
    // The instructions around the second ret may not be moved, so the site at the first
    // ret gets no chain that contains the second ret.
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
    // byte of the displacement, which would be negative.
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
    // No jump is possible if only three bytes after the extent may be kept.
    EXPECT_EQ(Text("ffe0 2030f605").site(0, 7, 0, 2).behind(0, 3).plan().refused.size(),
              1U);
    // pop %rbp; ret: a thread that jumps to the ret would not trap.
    EXPECT_EQ(Text("5dc3 2030f605").site(0, 7, 0, 2).plan().refused.size(), 1U);
}

TEST(PatchForms, APunnedJumpTakesWhatItCanBeforeItself)
{
    // pop %rbp; mov %eax,%ecx; ret, followed by 10. The jump has three displacement
    // bytes of its own, and two of them must be trap bytes.
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
    // A site of unknown extent is in the kept bytes. It may become a breakpoint.
    EXPECT_EQ(n_refused(Text(hex).site(0, 7, 0, 1).site(3, 8, 3, 3)), 2U);
    // A plain window begins in the kept bytes. The ret is refused, and the plain window
    // remains.
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
    // Two rets whose jumps would overlap: the kept bytes of the first begin with the
    // second ret.
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
    // pop %rbp; ret. A punned jump that keeps the bytes after these two instructions
    // leads to an address above the text.
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

// Builds several patches with one builder. Before each of them, the builder refuses a
// patch whose trampoline is too far away.
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
