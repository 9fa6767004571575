// SPDX-License-Identifier: MIT
// A short text given in hex, and sites in it, for tests of windows.
#pragma once

#include "bytes.hpp"
#include "fasttrap/patch.hpp"

#include <algorithm>

namespace dt::test {

inline constexpr std::uint64_t text_at = 0x401000;
// The most significant byte of the distance to the area, 06, is a trap byte.
inline constexpr TargetAddr area{0x401000 + 0x06000000};

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
    // Describes the bytes after the extent of the site that was added last. `beyond` is
    // the end of the next block. n_steady is the number of bytes after the extent that
    // do not change while the site's patch exists.
    Text& behind(std::uint64_t beyond, std::uint8_t n_steady)
    {
        sites_.back().beyond = at(beyond);
        sites_.back().n_steady = n_steady;
        return *this;
    }
    // ends[0] is the start of the first block after `beyond`, and ends[i] is the end of
    // the i-th block.
    Text& further(const std::vector<std::uint64_t>& ends)
    {
        for (std::size_t i = 1; i < ends.size(); ++i)
            sites_.back().further[i - 1] =
                static_cast<std::uint8_t>(ends[i] - ends[i - 1]);
        return *this;
    }
    Text& loop(std::uint64_t end)
    {
        sites_.back().loop_end = at(end);
        return *this;
    }
    // Makes the planner avoid the form of `window` (Window::way) for the last site.
    Text& avoiding(const Window& window)
    {
        sites_.back().avoid |= std::uint32_t{1} << window.way;
        return *this;
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

inline Window window_of(const Text& text)
{
    WindowPlan plan = text.plan();
    EXPECT_TRUE(plan.refused.empty())
        << (plan.refused.empty() ? "" : plan.refused[0].reason);
    EXPECT_EQ(plan.windows.size(), 1U);
    return plan.windows.empty() ? Window{} : plan.windows[0];
}

} // namespace dt::test
