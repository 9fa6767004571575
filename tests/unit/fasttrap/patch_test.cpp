// SPDX-License-Identifier: MIT
// Tests windows, the bytes of their trampolines, and place_of().
#include "window_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace dt;
using namespace dt::test;

namespace {

std::string reason_of(const Text& text)
{
    WindowPlan plan = text.plan();
    EXPECT_EQ(plan.refused.size(), 1U);
    return plan.refused.empty() ? "" : std::string(plan.refused[0].reason);
}

struct Shape {
    std::uint64_t at, end;
    std::vector<std::uint64_t> probed;
    bool operator==(const Shape&) const = default;
};

Shape shape(const Window& window)
{
    Shape s{window.at() - TargetAddr{text_at}, window.end() - TargetAddr{text_at}, {}};
    for (const WindowInsn& w : window.insns) {
        if (w.site)
            s.probed.push_back(w.insn.at - TargetAddr{text_at});
    }
    return s;
}

std::vector<std::byte> part(const Patch& patch, TargetAddr from, std::size_t n)
{
    auto first =
        patch.code.begin() + static_cast<std::ptrdiff_t>(from - patch.trampoline);
    return {first, first + static_cast<std::ptrdiff_t>(n)};
}

TEST(PatchPlan, TakesWholeInstructionsUntilTheJumpHasRoom)
{
    // push %rbp; mov %rsp,%rbp; sub $16,%rsp; leave; ret
    Text text("55 4889e5 4883ec10 c9 c3");
    EXPECT_EQ(shape(window_of(text.site(0))), (Shape{0, 8, {0}}));
}

TEST(PatchPlan, TakesOneInstructionWhenItIsLongEnough)
{
    // mov $1,%eax; ret
    EXPECT_EQ(shape(window_of(Text("b801000000 c3").site(0))), (Shape{0, 5, {0}}));
}

TEST(PatchPlan, TakesThePaddingBehindAReturn)
{
    // ret; nopw 0(%rax,%rax,1)
    Window window = window_of(Text("c3 660f1f440000").site(0));
    EXPECT_EQ(shape(window), (Shape{0, 5, {0}}));
    EXPECT_EQ(window.insns.size(), 1U);
    Result<Patch> patch = build_patch(window, {area + 64, {}}, area);
    ASSERT_TRUE(patch);
    EXPECT_EQ(copy_of(patch->original), bytes_of("c3 660f1f44"));
    EXPECT_FALSE(patch->leaves);
    EXPECT_EQ(patch->code.size(), 17U + 9 + 1);
    // jmp short, then int3s
    EXPECT_EQ(shape(window_of(Text("eb20 cccccc c3").site(0))), (Shape{0, 5, {0}}));
}

TEST(PatchPlan, ReachesBackWhenThereIsNoPadding)
{
    // sub $8,%rsp; xor %eax,%eax; pop %rbx; pop %rbp; ret
    EXPECT_EQ(shape(window_of(Text("4883ec08 31c0 5b 5d c3").site(8))),
              (Shape{4, 9, {8}}));
    // The window extends back only as far as needed.
    EXPECT_EQ(shape(window_of(Text("31c0 5b c3 909090").site(3))), (Shape{2, 7, {3}}));
    // The window does not extend over a branch target, a call, a system call or an
    // endbr64.
    EXPECT_EQ(reason_of(Text("31c0 5b 5d c3").site(4, 7, 2, 5)),
              "there is too little padding after it");
    EXPECT_EQ(reason_of(Text("e800000000 5d c3").site(6)),
              "there is too little padding after it");
    EXPECT_EQ(reason_of(Text("0f05 31c0 c3").site(4)),
              "there is too little padding after it");
    EXPECT_EQ(reason_of(Text("f30f1efa c3").site(4)),
              "there is too little padding after it");
}

// Returns the target of the jcc rel32 that is the copy of moved[i].
TargetAddr branch_to(const Patch& patch, std::size_t i)
{
    std::int32_t distance = 0;
    const auto jcc = part(patch, patch.moved[i].to, 6);
    std::memcpy(&distance, &jcc[2], sizeof distance);
    return patch.moved[i].to + 6 + static_cast<std::uint64_t>(std::int64_t{distance});
}

TEST(PatchPlan, LeadsTheBranchesOfALoopPastTheHeadOfTheFunction)
{
    // subl $1,(%rdi); jne 0; ret
    Window window = window_of(Text("832f01 75fb c3").site(0).loop(5));
    EXPECT_EQ(shape(window), (Shape{0, 5, {0}}));
    Result<Patch> patch = build_patch(window, {area + 64, {}}, area);
    ASSERT_TRUE(patch);
    EXPECT_EQ(branch_to(*patch, 1), patch->moved[0].to);
    // Without loop_end, the branch leads back to the probe, which fires in each
    // iteration.
    patch =
        build_patch(window_of(Text("832f01 75fb c3").site(0)), {area + 64, {}}, area);
    ASSERT_TRUE(patch);
    EXPECT_EQ(branch_to(*patch, 1), TargetAddr{text_at});
}

TEST(PatchPlan, LengthensAWindowToTheEndOfALoop)
{
    // mov (%rsi),%rax; lea 1(%rax),%rax; mov %rax,(%rsi); test %eax,%eax; jne 0; ret
    Text text("488b06 488d4001 488906 85c0 75f2 c3");
    Window window = window_of(text.site(0).loop(14));
    EXPECT_EQ(shape(window), (Shape{0, 14, {0}}));
    Result<Patch> patch = build_patch(window, {area + 64, {}}, area);
    ASSERT_TRUE(patch);
    EXPECT_EQ(branch_to(*patch, 4), patch->moved[0].to);
    // The window is not lengthened if the extent ends before the branch, or if one of
    // the instructions must not be moved.
    window = window_of(
        Text("488b06 488d4001 488906 85c0 75f2 c3").site(0, 7, 0, 12).loop(14));
    EXPECT_EQ(shape(window), (Shape{0, 7, {0}}));
    EXPECT_EQ(window.insns[0].loop_end, TargetAddr{});
    window = window_of(Text("488b06 488d4001 0f05 85c0 75f3 c3").site(0).loop(13));
    EXPECT_EQ(shape(window), (Shape{0, 7, {0}}));
    EXPECT_EQ(window.insns[0].loop_end, TargetAddr{});
}

TEST(PatchPlan, JoinsWindowsThatOverlap)
{
    // push %rbp; mov %rsp,%rbp; xor %eax,%eax; pop %rbp; ret
    // The sites are the entry and the return.
    Text text("55 4889e5 31c0 5d c3");
    EXPECT_EQ(shape(window_of(text.site(0, 1).site(7, 2))), (Shape{0, 8, {0, 7}}));
}

TEST(PatchPlan, GivesEverySiteOfALineItsHead)
{
    // push %rbp; mov %rsp,%rbp; sub $16,%rsp; xor %eax,%eax; leave; ret; int3 ...
    Text text("55 4889e5 4883ec10 31c0 c9 c3 cccccccc");
    for (std::uint64_t offset : {0, 1, 4, 8, 10, 11})
        text.site(offset, static_cast<std::uint32_t>(offset));
    WindowPlan plan = text.plan();
    EXPECT_TRUE(plan.refused.empty());
    ASSERT_EQ(plan.windows.size(), 2U);
    EXPECT_EQ(shape(plan.windows[0]), (Shape{0, 8, {0, 1, 4}}));
    EXPECT_EQ(shape(plan.windows[1]), (Shape{8, 13, {8, 10, 11}}));
}

TEST(PatchPlan, EndsAWindowAtACall)
{
    // push %rbx; call; pop %rbx; ret. The window ends after the call.
    EXPECT_EQ(shape(window_of(Text("53 e800010000 5b c3").site(0))),
              (Shape{0, 6, {0}}));
    // call *%rax is too short, and a window cannot continue after a call.
    EXPECT_EQ(reason_of(Text("ffd0 4889").site(0)),
              "a jump must not replace the code after a call");
    // The window may begin at an instruction before the call.
    EXPECT_EQ(shape(window_of(Text("4889f7 ffd0 4889c3").site(3))), (Shape{0, 5, {3}}));
}

TEST(PatchPlan, LeavesEndbr64InPlace)
{
    EXPECT_EQ(shape(window_of(Text("f30f1efa 55 4889e5 4883ec10").site(0))),
              (Shape{4, 12, {4}}));
    EXPECT_EQ(shape(window_of(Text("f30f1efa c3 90909090").site(0))),
              (Shape{4, 9, {4}}));
    EXPECT_EQ(reason_of(Text("f30f1efa 55 4889e5").site(0, 7, 0, 4)),
              "there are too few bytes before the next branch target");
    EXPECT_EQ(reason_of(Text("4889e5 f30f1efa c3").site(0, 7, 0, 3).behind(0, 0)),
              "there are too few bytes before the next branch target");
}

TEST(PatchPlan, PutsTwoHeadsBeforeTheInstructionBehindAProbedEndbr64)
{
    Window window =
        window_of(Text("f30f1efa 55 4889e5 4883ec10").site(0, 1).site(4, 2));
    EXPECT_EQ(shape(window), (Shape{4, 12, {4, 4}}));
    Result<Patch> patch = build_patch(window, {area + 64, {}}, area);
    ASSERT_TRUE(patch);
    ASSERT_EQ(patch->moved.size(), 4U);
    EXPECT_EQ(patch->moved[0].site, 1U);
    EXPECT_EQ(patch->moved[1].site, 2U);
    EXPECT_EQ(patch->moved[0].to, patch->moved[1].head);
    EXPECT_EQ(copy_of(patch->original), bytes_of("55 4889e5 4883ec10"));
    EXPECT_EQ(place_of(*patch, Text::at(4))->index, 0U);
}

TEST(PatchPlan, EndsTheWindowOfASystemCallBeforeIt)
{
    // mov $39,%eax; syscall; cmp $-4096,%rax; ret
    Window window = window_of(Text("b827000000 0f05 483d00f0ffff c3").site(5));
    EXPECT_EQ(shape(window), (Shape{0, 5, {5}}));
    Result<Patch> patch = build_patch(window, {area + 64, {}}, area);
    ASSERT_TRUE(patch);
    EXPECT_EQ(copy_of(patch->original), bytes_of("b827000000"));
    ASSERT_EQ(patch->moved.size(), 2U);
    const Moved& call = patch->moved[1];
    EXPECT_EQ(call.head, patch->trampoline + 5);
    EXPECT_EQ(place_of(*patch, call.head)->on, Text::at(5));
    EXPECT_EQ(place_of(*patch, call.tail)->on, Text::at(5));
    // The trampoline ends with a jump to the system call.
    EXPECT_EQ(call.to + 5, patch->trampoline + patch->code.size());
    EXPECT_EQ(place_of(*patch, call.to)->kind, PatchPlace::leaving);
    EXPECT_EQ(place_of(*patch, call.to)->on, Text::at(5));
    // The instruction after the call has a window of its own.
    WindowPlan plan =
        Text("b827000000 0f05 483d00f0ffff c3").site(5, 1).site(7, 2).plan();
    ASSERT_EQ(plan.windows.size(), 2U);
    EXPECT_EQ(shape(plan.windows[1]), (Shape{7, 13, {7}}));
    // cmpb $0,(%rip); je; xor %eax,%eax; syscall. The window contains the branch.
    EXPECT_EQ(shape(window_of(Text("803d0000000000 7410 31c0 0f05 c3").site(11))),
              (Shape{0, 11, {11}}));
    // A site at the instruction before the call shares the window.
    EXPECT_EQ(shape(window_of(Text("b827000000 0f05 c3").site(0, 1).site(5, 2))),
              (Shape{0, 5, {0, 5}}));
}

TEST(PatchPlan, TakesAFunctionThatIsNothingButATrap)
{
    // ud2 and two nops. The nops are executed if the program's signal handler skips the
    // ud2.
    Window window = window_of(Text("0f0b 6690 6690 55 c3").site(0, 3, 0, 6));
    EXPECT_EQ(shape(window), (Shape{0, 6, {0}}));
    auto patch = build_patch(window, {area + 64, {}}, area);
    ASSERT_TRUE(patch) << patch.error().text;
    EXPECT_EQ(part(*patch, patch->moved[0].to, 2), bytes_of("0f0b"));
    EXPECT_TRUE(patch->leaves);
    EXPECT_EQ(place_of(*patch, patch->moved[0].to + 2)->on, Text::at(2));
    EXPECT_EQ(trapping_bytes(window) & 2U, 2U);
    // The exception is reported at the original address.
    EXPECT_EQ(place_of(*patch, patch->moved[0].to)->on, Text::at(0));
}

TEST(PatchPlan, TakesAFunctionThatIsOneHlt)
{
    Window window = window_of(Text("f4 6690 6690 55 c3").site(0, 3, 0, 5));
    EXPECT_EQ(shape(window), (Shape{0, 5, {0}}));
    auto patch = build_patch(window, {area + 64, {}}, area);
    ASSERT_TRUE(patch) << patch.error().text;
    EXPECT_TRUE(patch->leaves);
    EXPECT_EQ(place_of(*patch, patch->moved[0].to + 1)->on, Text::at(1));
    EXPECT_EQ(trapping_bytes(window) & 1U, 1U);
    EXPECT_EQ(place_of(*patch, patch->moved[0].to)->on, Text::at(0));
}

TEST(PatchPlan, TakesSitesOfOneAddressOnce)
{
    EXPECT_EQ(shape(window_of(Text("b801000000 c3").site(0, 3).site(0, 3))),
              (Shape{0, 5, {0}}));
}

TEST(PatchPlan, RefusesByName)
{
    EXPECT_EQ(reason_of(Text("0f05 4889c3 c3").site(0)),
              "a system call cannot be moved");
    EXPECT_EQ(reason_of(Text("55 0fff00 909090").site(0)), "ud0 raises an exception");
    EXPECT_EQ(reason_of(Text("06 5548 89e5").site(0)),
              "the bytes at or after it are not a known instruction");
    // sub $0x100, %rsp is longer than the extent.
    EXPECT_EQ(reason_of(Text("4881ec00010000 c3").site(0, 7, 0, 6)),
              "an instruction extends beyond the code that may be moved");
    // The jmp leads to the second instruction of its own window.
    EXPECT_EQ(reason_of(Text("31c0 ffc0 ebfc").site(0)),
              "a branch targets code that the jump would replace");
    WindowPlan plan = Text("b801000000 c3").site(0, 1).site(2, 2).plan();
    ASSERT_EQ(plan.refused.size(), 1U);
    EXPECT_EQ(plan.refused[0].site, 2U);
    EXPECT_EQ(plan.refused[0].reason, "it is not the start of an instruction");
    plan = Text("c3 90909090").site(0, 1).site(2, 2).plan();
    ASSERT_EQ(plan.refused.size(), 1U);
    EXPECT_EQ(plan.refused[0].reason, "it is in padding that is never executed");
    EXPECT_EQ(reason_of(Text("b85ac30000 c3").site(2, 7, 0, 3)),
              "it is not the start of an instruction");
}

TEST(PatchPlan, RefusesASiteWithoutRoom)
{
    // push %rbp; mov %rsp,%rbp, followed by a branch target
    EXPECT_EQ(reason_of(Text("55 4889e5 4883ec10").site(0, 7, 0, 4).behind(0, 0)),
              "there are too few bytes before the next branch target");
    EXPECT_EQ(reason_of(Text("55 4889e5 4883ec10").site(0, 7, 0, 0)),
              "it is not in code that may be moved");
}

TEST(PatchBuild, MakesHeadTailMovedInstructionsAndTheJumpBack)
{
    Window window = window_of(Text("55 4889e5 4883ec10 c9 c3").site(0, 0x12345));
    TargetAddr to = area + 64;
    Result<Patch> patch = build_patch(window, {to, {}}, area);
    ASSERT_TRUE(patch);
    EXPECT_EQ(copy_of(patch->original), bytes_of("55 4889e5 4883ec10"));
    // lea -128(%rsp),%rsp; push %rbx; mov $0x12345,%ebx; jmp *area(%rip)
    EXPECT_EQ(part(*patch, to, 17), bytes_of("488d642480 53 bb45230100 ff25afffffff"));
    EXPECT_EQ(patch->moved[0].tail, to + 17);
    // pop %rbx; lea 128(%rsp),%rsp
    EXPECT_EQ(part(*patch, to + 17, 9), bytes_of("5b 488da42480000000"));
    EXPECT_EQ(part(*patch, patch->moved[0].to, 8), bytes_of("55 4889e5 4883ec10"));
    EXPECT_EQ(patch->code.size(), 17U + 9 + 8 + 5);
    std::int32_t back = 0;
    std::memcpy(&back, patch->code.data() + 35, 4);
    EXPECT_EQ(to + 39 + static_cast<std::uint64_t>(back), window.end());
    EXPECT_EQ(patch->text[0], std::byte{0xe9});
    std::memcpy(&back, patch->text.data() + 1, 4);
    EXPECT_EQ(window.at() + 5 + static_cast<std::uint64_t>(back), to);
    EXPECT_TRUE(std::equal(patch->text.begin() + 5, patch->text.end(),
                           patch->original.begin() + 5));
}

TEST(PatchBuild, SaysWhereAThreadIsAndHowItLeaves)
{
    // push %rbp; loop; call
    Window window = window_of(Text("55 e2fd e800010000").site(0, 1).site(3, 2));
    TargetAddr to = area + 64;
    Result<Patch> patch = build_patch(window, {to, {}}, area);
    ASSERT_TRUE(patch);
    auto place = [&](TargetAddr pc) { return place_of(*patch, pc); };
    const Moved& push = patch->moved[0];
    const Moved& loop = patch->moved[1];
    const Moved& call = patch->moved[2];

    EXPECT_EQ(place(Text::at(0))->kind, PatchPlace::window);
    EXPECT_EQ(place(Text::at(3))->index, 2U);
    EXPECT_FALSE(place(Text::at(2)));
    EXPECT_FALSE(place(Text::at(8)));

    EXPECT_EQ(place(to)->kind, PatchPlace::head);
    EXPECT_EQ(place(to)->rsp_add, 0);
    EXPECT_EQ(place(to + 5)->rsp_add, 128);
    EXPECT_FALSE(place(to + 5)->rbx_on_stack);
    EXPECT_EQ(place(to + 6)->rsp_add, 136);
    EXPECT_TRUE(place(to + 11)->rbx_on_stack);
    EXPECT_EQ(place(to + 11)->on, Text::at(0));
    EXPECT_FALSE(place(to + 7));
    EXPECT_EQ(place(push.tail)->kind, PatchPlace::tail);
    EXPECT_EQ(place(push.tail)->rsp_add, 136);
    EXPECT_EQ(place(push.tail + 1)->rsp_add, 128);

    EXPECT_EQ(place(push.to)->kind, PatchPlace::moved);
    EXPECT_EQ(loop.head, loop.to);
    EXPECT_EQ(place(loop.to)->on, Text::at(1));
    EXPECT_EQ(place(loop.to + 2)->kind, PatchPlace::inside);
    EXPECT_EQ(place(loop.to + 2)->on, Text::at(3)); // the branch is not taken
    EXPECT_EQ(place(loop.to + 4)->on, Text::at(0)); // the branch is taken
    EXPECT_EQ(place(call.head)->on, Text::at(3));
    EXPECT_EQ(place(call.to)->kind, PatchPlace::moved);
    EXPECT_EQ(place(call.to + 5)->kind, PatchPlace::inside);
    EXPECT_EQ(place(call.to + 5)->rsp_add, 8);
    EXPECT_FALSE(place(to + patch->code.size()));
}

TEST(PatchBuild, KnowsTheJumpBack)
{
    Window window = window_of(Text("55 4889e5 4883ec10 c9 c3").site(0));
    Result<Patch> patch = build_patch(window, {area + 64, {}}, area);
    ASSERT_TRUE(patch);
    std::optional<PatchPlace> place =
        place_of(*patch, patch->trampoline + patch->code.size() - 5);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->kind, PatchPlace::leaving);
    EXPECT_EQ(place->on, window.end());
}

TEST(PatchBuild, RefusesATrampolineOutOfReach)
{
    Window window = window_of(Text("b801000000 c3").site(0));
    EXPECT_FALSE(build_patch(window, {TargetAddr{0x7f0000000000}, {}},
                             TargetAddr{0x7f0000000000}));
}

} // namespace
