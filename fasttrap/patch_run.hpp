// SPDX-License-Identifier: MIT
// A run of consecutive instructions that may be moved.
#pragma once

#include "fasttrap/patch.hpp"

namespace dt {

inline constexpr std::string_view inner_branch =
    "a branch targets code that the jump would replace";

struct Run {
    Run(const Arch& arch, const ReadText& read) : arch_(arch), read_(read) {}

    std::vector<WindowInsn> insns;
    // Number of bytes of padding after the last instruction. Only padding that is never
    // executed counts.
    std::uint8_t padding = 0;
    std::array<std::byte, max_insn_bytes> padding_text{};
    std::string_view reason; // why the run is not longer
    TargetAddr end(TargetAddr start) const
    {
        return (insns.empty() ? start : insns.back().insn.next()) + padding;
    }

    // Collects instructions from `start` on, but skips an endbr64 at `site`. Stops at
    // the first of these points:
    //
    //   - when the instructions are at least n_more bytes longer than a jump
    //   - at `end`
    //   - before an instruction that must not move
    //   - after an instruction that must be the last one of a window
    //
    // A system call at `site` is added with length 0, as the only instruction.
    //
    // Returns `start`, or the address after a skipped endbr64.
    TargetAddr forward(TargetAddr start, TargetAddr end, TargetAddr site,
                       std::size_t n_more = 0);
    void append_to(Window& window) const;

private:
    std::optional<Instruction> decode(std::span<const std::byte> text, TargetAddr at,
                                      TargetAddr end);
    bool is_nop(std::span<const std::byte> text, TargetAddr at);
    void take_padding(std::span<const std::byte> text, TargetAddr at, TargetAddr end,
                      std::size_t wanted);

    const Arch& arch_;
    const ReadText& read_;
};

// Marks the instruction at the address `head` as a site. Returns the reason if that is
// not possible, otherwise an empty string.
std::string_view probe_in(Window& window, const PatchSite& site, TargetAddr head);
// Returns whether a branch in the window leads into the window. A branch to the start
// of one of the window's blocks does not count.
bool leads_into_itself(const Window& window);

} // namespace dt
