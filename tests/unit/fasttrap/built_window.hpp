// SPDX-License-Identifier: MIT
// Builds the patch of a window in a trampoline area, for tests of all kinds of patches.
#pragma once

#include "window_text.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <memory>

namespace dt::test {

// Returns the destination of the jmp rel32 at `offset` in code that is at `at`.
inline TargetAddr jump_at(std::span<const std::byte> code, TargetAddr at,
                          std::size_t offset)
{
    std::int32_t distance = 0;
    EXPECT_GE(code.size(), offset + 5);
    EXPECT_EQ(code[offset], std::byte{0xe9});
    std::memcpy(&distance, &code[offset + 1], 4);
    return at + offset + 5 + static_cast<std::uint64_t>(std::int64_t{distance});
}

inline Reach only_reach_of(const Window& window)
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

inline std::unique_ptr<Built> build(const Window& window, TargetAddr start = area,
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

} // namespace dt::test
