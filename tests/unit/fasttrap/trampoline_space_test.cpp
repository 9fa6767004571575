// SPDX-License-Identifier: MIT
// Tests where trampolines are placed. Some jump displacements must contain trap bytes,
// and some moved instructions must stay within reach of their data.
#include "window_text.hpp"

#include <gtest/gtest.h>

#include <chrono>

using namespace dt;
using namespace dt::test;

namespace {

TEST(TrampolineSpace, GivesAddressesWhoseJumpTrapsInside)
{
    Window window = window_of(Text("55 4889e5 4883ec10 c9 c3").site(0));
    TrampolineSpace space;
    space.add_area(area, 65536);
    std::size_t n = trampoline_bytes(window);
    std::vector<TargetAddr> taken;
    while (std::optional<Placement> at = space.take(window, n)) {
        Result<Patch> patch = build_patch(window, *at, *space.area_of(at->trampoline));
        ASSERT_TRUE(patch);
        EXPECT_LE(patch->code.size(), n);
        EXPECT_TRUE(x86_64.traps(patch->text[1]));
        EXPECT_TRUE(x86_64.traps(patch->text[4]));
        taken.push_back(at->trampoline);
    }
    EXPECT_GT(taken.size(), 65536 / n * 6 / 10);
    for (TargetAddr at : taken)
        space.give_back(at, n);
    std::size_t again = 0;
    while (space.take(window, n))
        ++again;
    EXPECT_GE(again, taken.size());
}

// Returns windows with different masks of trap bytes. Bit k of the mask is set if byte
// k of the displacement must be a trap byte.
std::vector<std::pair<std::string, unsigned>> windows_by_mask()
{
    return {{"b801000000", 0}, // mov $1,%eax
            {"50 41b801000000", 1},   {"4157 b801000000", 2}, {"50 50 50 4883ec10", 7},
            {"4889e5 b801000000", 4}, {"50 4889e5 55", 9},    {"4157 4156 55", 10},
            {"50 50 4157 55", 11},    {"50 50 50 50 55", 15}, {"4889e5 50 55", 12},
            {"4883ec10 55", 8}};
}

TEST(TrampolineSpace, ServesEveryCombinationOfTrappingBytes)
{
    for (const auto& [hex, mask] : windows_by_mask()) {
        Window window = window_of(Text(hex).site(0));
        EXPECT_EQ(trapping_bytes(window), mask) << hex;
        std::vector<Reach> reach = reach_of(window);
        ASSERT_FALSE(reach.empty());
        TargetAddr start = window.at() + 5 + static_cast<std::uint64_t>(reach[0].from);
        start = TargetAddr{(start.value + 4095) & ~4095ULL};
        TrampolineSpace space;
        space.add_area(start, 65536);
        std::optional<Placement> at = space.take(window, trampoline_bytes(window));
        ASSERT_TRUE(at) << hex;
        Result<Patch> patch = build_patch(window, *at, *space.area_of(at->trampoline));
        ASSERT_TRUE(patch);
        for (unsigned k = 0; k < 4; ++k)
            EXPECT_TRUE((mask >> k & 1) == 0 || x86_64.traps(patch->text[k + 1]))
                << hex;
        auto distance = static_cast<std::int64_t>(at->trampoline - (window.at() + 5));
        EXPECT_TRUE(std::any_of(reach.begin(), reach.end(), [&](const Reach& r) {
            return distance >= r.from && distance < r.to;
        }));
    }
}

// A debugger's breakpoint then does not change the jump.
TEST(TrampolineSpace, GivesAddressesForWhichAllTrapBytesAreInt3)
{
    for (const auto& [hex, mask] : windows_by_mask()) {
        Window window = window_of(Text(hex).site(0));
        window.trap_bytes = TrapBytes::int3;
        std::vector<Reach> reach = reach_of(window);
        ASSERT_FALSE(reach.empty());
        TargetAddr start = window.at() + 5 + static_cast<std::uint64_t>(reach[0].from);
        TrampolineSpace space;
        space.add_area({start.value & ~4095ULL}, 131072);
        auto at = space.take(window, trampoline_bytes(window));
        ASSERT_TRUE(at) << hex;
        auto patch = build_patch(window, *at, *space.area_of(at->trampoline));
        ASSERT_TRUE(patch) << hex;
        for (unsigned k = 0; k < 4; ++k)
            EXPECT_TRUE((mask >> k & 1U) == 0 || patch->text[k + 1] == std::byte{0xcc})
                << hex;
    }
}

TEST(TrampolineSpace, OneAreaServesAWholeModule)
{
    TargetAddr begin{text_at};
    TargetAddr end = begin + (16 << 20);
    std::vector<Reach> reaches = common_reach(x86_64, begin, end);
    ASSERT_GE(reaches.size(), 4U);
    for (const Reach& reach : reaches) {
        std::int64_t start = (reach.from + 4095) & ~4095;
        // Skip ranges that may begin below address 0 or are smaller than 4 MiB.
        if (start < 0 || reach.to - start < 4 << 20)
            continue;
        TrampolineSpace space;
        space.add_area(begin + static_cast<std::uint64_t>(start), 4 << 20);
        for (const auto& [hex, mask] : windows_by_mask()) {
            for (std::uint64_t at : {0, 0x54320, 0x7ffff0, 0xffff00}) {
                Window window = window_of(Text(hex).site(0));
                for (WindowInsn& w : window.insns)
                    w.insn.at = w.insn.at + at;
                EXPECT_TRUE(space.take(window, 60)) << hex << " " << at;
            }
        }
    }
    EXPECT_TRUE(common_reach(x86_64, begin, begin + (32 << 20)).empty());
}

TEST(TrampolineSpace, KeepsDataInReach)
{
    // mov 0x7fff0000(%rip),%rax reads data far above the text. So the trampoline must
    // not be far below the text.
    Window window = window_of(Text("488b050000ff7f c3").site(0));
    for (const Reach& reach : reach_of(window))
        EXPECT_GE(reach.from, -0x10000 - 0x2000);
    TrampolineSpace space;
    space.add_area(TargetAddr{0x100000}, 65536);
    EXPECT_FALSE(space.take(window, trampoline_bytes(window)));
    space.add_area(TargetAddr{0x500000}, 65536);
    std::optional<Placement> at = space.take(window, trampoline_bytes(window));
    ASSERT_TRUE(at);
    EXPECT_EQ(space.area_of(at->trampoline), TargetAddr{0x500000});
    EXPECT_TRUE(build_patch(window, *at, *space.area_of(at->trampoline)));
}

TEST(TrampolineSpace, NeverHandsOutAByteTwice)
{
    std::vector<Window> windows;
    for (const auto& [hex, mask] : windows_by_mask())
        windows.push_back(window_of(Text(hex).site(0)));
    TrampolineSpace space;
    space.add_area(area, 1 << 20);
    std::vector<std::uint8_t> owner(1 << 20);
    std::vector<std::pair<TargetAddr, std::size_t>> taken;
    auto mark = [&](TargetAddr at, std::size_t n, int by) {
        for (std::size_t i = 0; i < n; ++i) {
            std::uint8_t& byte = owner[at - area + i];
            ASSERT_EQ(byte, by == 1 ? 0 : 1);
            byte = static_cast<std::uint8_t>(by);
        }
    };
    std::uint64_t random = 1;
    for (int i = 0; i < 20000; ++i) {
        random = random * 6364136223846793005 + 1442695040888963407;
        if (!taken.empty() && (random >> 60) < 5) {
            std::size_t which = (random >> 33) % taken.size();
            auto [at, n] = taken[which];
            taken[which] = taken.back();
            taken.pop_back();
            space.give_back(at, n);
            mark(at, n, 0);
            continue;
        }
        const Window& window = windows[(random >> 33) % windows.size()];
        std::size_t n = 20 + (random >> 50) % 60;
        if (std::optional<Placement> at = space.take(window, n)) {
            EXPECT_GE(at->trampoline, area + 16);
            mark(at->trampoline, n, 1);
            taken.emplace_back(at->trampoline, n);
        }
    }
    EXPECT_GT(taken.size(), 3000U);
}

TEST(TrampolineSpace, HasAPlaceForEachOfFiftyThousandWindows)
{
    std::vector<Window> windows;
    for (const char* hex : {"55 4889e5 4883ec10", "4157 4156 4155", "4883ec08 31c0",
                            "41b801000000", "53 4889fb 31c0"})
        windows.push_back(window_of(Text(hex).site(0)));
    TrampolineSpace space;
    space.add_area(area, 6 << 20);
    unsigned n_taken = 0;
    for (std::uint64_t i = 0; i < 50000; ++i) {
        Window& window = windows[i % windows.size()];
        for (WindowInsn& w : window.insns) // as if functions were 16 bytes apart
            w.insn.at = w.insn.at + (i % 13 + 1) * 16 % 0x100;
        n_taken += space.take(window, 44) ? 1 : 0;
    }
    EXPECT_EQ(n_taken, 50000U);
}

TEST(TrampolineSpace, KnowsItsAreas)
{
    TrampolineSpace space;
    space.add_area(TargetAddr{0x20000}, 4096);
    space.add_area(TargetAddr{0x10000}, 4096);
    EXPECT_EQ(space.area_of(TargetAddr{0x10fff}), TargetAddr{0x10000});
    EXPECT_EQ(space.area_of(TargetAddr{0x20000}), TargetAddr{0x20000});
    EXPECT_FALSE(space.area_of(TargetAddr{0x11000}));
    EXPECT_FALSE(space.area_of(TargetAddr{0xffff}));
}

} // namespace
