// SPDX-License-Identifier: MIT
// A straight run of instructions that may be moved: what windows are made of.
#pragma once

#include "fasttrap/patch.hpp"

namespace dt {

inline constexpr std::string_view inner_branch = "a branch in the window leads into it";

struct Run {
    Run(const Arch& arch, const ReadText& read) : arch_(arch), read_(read) {}

    std::vector<WindowInsn> insns;
    std::uint8_t padding = 0; // behind an instruction that does not go on
    std::array<std::byte, max_insn_bytes> padding_text{};
    std::string_view reason; // why it did not go on
    TargetAddr end(TargetAddr start) const
    {
        return (insns.empty() ? start : insns.back().insn.next()) + padding;
    }

    // What stands from start to `end`, until there is room for a jump and n bytes more. An
    // instruction at `site` that must stay is skipped. Where it then starts.
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

// Makes the instruction at head the site's. The reason of a refusal, or nothing.
std::string_view probe_in(Window& window, const PatchSite& site, TargetAddr head);
// A branch of it goes where no jump stands.
bool leads_into_itself(const Window& window);

} // namespace dt
