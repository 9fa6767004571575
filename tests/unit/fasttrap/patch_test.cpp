// SPDX-License-Identifier: MIT
// Windows, their trampolines' bytes, and where a program counter in them belongs.
#include "bytes.hpp"
#include "fasttrap/patch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace dt;
using namespace dt::test;

namespace {

constexpr std::uint64_t text_at = 0x401000;
constexpr TargetAddr area{0x401000 + 0x06000000}; // a page at a distance that traps

// A little text and the sites in it.
class Text {
public:
    explicit Text(const std::string& hex) : bytes_(bytes_of(hex)) {}

    Text& site(std::uint64_t offset, std::uint32_t number, std::uint64_t first,
               std::uint64_t end)
    {
        sites_.push_back({at(offset), at(first), at(end), number});
        return *this;
    }
    Text& site(std::uint64_t offset, std::uint32_t number = 7)
    {
        return site(offset, number, 0, bytes_.size());
    }
    WindowPlan plan() const
    {
        return plan_windows(x86_64, sites_, [this](TargetAddr from, std::size_t n) {
            std::span<const std::byte> all(bytes_);
            std::uint64_t offset = from - TargetAddr{text_at};
            return offset >= all.size()
                       ? std::span<const std::byte>{}
                       : all.subspan(offset, std::min(n, all.size() - offset));
        });
    }
    static TargetAddr at(std::uint64_t offset) { return TargetAddr{text_at + offset}; }

private:
    std::vector<std::byte> bytes_;
    std::vector<PatchSite> sites_;
};

Window window_of(const Text& text)
{
    WindowPlan plan = text.plan();
    EXPECT_TRUE(plan.refused.empty())
        << (plan.refused.empty() ? "" : plan.refused[0].reason);
    EXPECT_EQ(plan.windows.size(), 1U);
    return plan.windows.empty() ? Window{} : plan.windows[0];
}

std::string reason_of(const Text& text)
{
    WindowPlan plan = text.plan();
    EXPECT_EQ(plan.refused.size(), 1U);
    return plan.refused.empty() ? "" : std::string(plan.refused[0].reason);
}

// First and end offset of a window, and offsets of probed instructions.
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

TEST(PatchPlan, RefusesASiteWithoutRoom)
{
    // push %rbp; mov %rsp,%rbp, and a branch target behind
    EXPECT_EQ(reason_of(Text("55 4889e5 4883ec10").site(0, 7, 0, 4)),
              "too few bytes before the next branch target");
    EXPECT_EQ(reason_of(Text("55 4889e5 4883ec10").site(0, 7, 0, 0)),
              "nothing around it may be moved");
}

TEST(PatchBuild, MakesHeadTailMovedInstructionsAndTheJumpBack)
{
    Window window = window_of(Text("55 4889e5 4883ec10 c9 c3").site(0, 0x12345));
    TargetAddr to = area + 64;
    Result<Patch> patch = build_patch(window, to, area);
    ASSERT_TRUE(patch);
    EXPECT_EQ(patch->original, bytes_of("55 4889e5 4883ec10"));
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

TEST(TrampolineSpace, GivesAddressesWhoseJumpTrapsInside)
{
    Window window = window_of(Text("55 4889e5 4883ec10 c9 c3").site(0));
    TrampolineSpace space;
    space.add_area(area, 65536);
    std::size_t n = trampoline_bytes(window);
    std::vector<TargetAddr> taken;
    while (std::optional<TargetAddr> at = space.take(window, n)) {
        Result<Patch> patch = build_patch(window, *at, *space.area_of(*at));
        ASSERT_TRUE(patch);
        EXPECT_LE(patch->code.size(), n);
        EXPECT_TRUE(x86_64.traps(patch->text[1]));
        EXPECT_TRUE(x86_64.traps(patch->text[4]));
        taken.push_back(*at);
    }
    EXPECT_GT(taken.size(), 65536 / n * 6 / 10);
    for (TargetAddr at : taken)
        space.give_back(at, n);
    std::size_t again = 0;
    while (space.take(window, n))
        ++again;
    EXPECT_GE(again, taken.size());
}

} // namespace
