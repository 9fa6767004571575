// SPDX-License-Identifier: MIT
#include "fasttrap/patch_run.hpp"

#include <algorithm>
#include <utility>

namespace dt {

// Decodes the instruction at `at`. If that fails, or if the instruction ends after
// `end`, sets reason and returns nothing.
std::optional<Instruction> Run::decode(std::span<const std::byte> text, TargetAddr at,
                                       TargetAddr end)
{
    Result<Instruction> insn = arch_.decode(text, at);
    if (!insn) {
        reason = "the bytes at or after it are not a known instruction";
        return std::nullopt;
    }
    if (insn->next() > end) {
        reason = "an instruction extends beyond the code that may be moved";
        return std::nullopt;
    }
    return std::move(*insn);
}

TargetAddr Run::forward(TargetAddr start, TargetAddr limit, TargetAddr site,
                        std::size_t n_more)
{
    insns.clear();
    padding = 0;
    reason = "there are too few bytes before the next branch target";
    std::size_t wanted = arch_.jump_bytes + n_more;
    std::size_t most = 2 * wanted + 2 * max_insn_bytes;
    // Read more than `room` bytes, because the last instruction may end beyond the
    // limit.
    const std::uint64_t room =
        limit <= start ? 0 : std::min<std::uint64_t>(most, limit - start);
    std::span<const std::byte> text =
        read_(start, room == 0 ? 0 : room + max_insn_bytes);
    TargetAddr end = start + std::min<std::uint64_t>(room, text.size());
    TargetAddr at = start;
    while (at < end && at - start < wanted) {
        std::optional<Instruction> insn = decode(text.subspan(at - start), at, end);
        if (!insn)
            return start;
        if (insn->flow == ControlFlow::syscall && at == site) {
            WindowInsn bare;
            bare.insn.at = at;
            insns.push_back(bare);
            reason = arch_.moving(*insn).reason;
            return start;
        }
        Moving moving = arch_.moving(*insn);
        if (moving.how == Moving::stays && at == site) {
            text = text.subspan(insn->length);
            start = at = insn->next();
            continue;
        }
        if (moving.how == Moving::stays || moving.how == Moving::refused) {
            reason = moving.reason;
            return start;
        }
        at = insn->next();
        insns.push_back({*insn, std::nullopt});
        if (moving.how == Moving::last) {
            reason = "a jump must not replace the code after a call";
            return start;
        }
        // A nop after a ud2 or hlt is not padding, because a signal handler may skip
        // the ud2 or hlt.
        if (insn->flow == ControlFlow::stop && at < end &&
            is_nop(text.subspan(at - start), at))
            continue;
        if (moving.how == Moving::ends) {
            if (at - start < wanted)
                take_padding(text.subspan(at - start), at, end, wanted - (at - start));
            return start;
        }
    }
    return start;
}

bool Run::is_nop(std::span<const std::byte> text, TargetAddr at)
{
    Result<Instruction> insn = arch_.decode(text, at);
    return insn && arch_.is_padding(*insn) &&
           arch_.moving(*insn).how == Moving::anywhere;
}

void Run::take_padding(std::span<const std::byte> text, TargetAddr at, TargetAddr end,
                       std::size_t wanted)
{
    std::size_t n = 0;
    while (n < wanted && n < text.size()) {
        Result<Instruction> insn = arch_.decode(text.subspan(n), at + n);
        if (!insn || !arch_.is_padding(*insn))
            break;
        n += insn->length;
    }
    n = std::min<std::size_t>(n, end - at);
    padding = static_cast<std::uint8_t>(std::min(n, wanted));
    std::copy_n(text.begin(), padding, padding_text.begin());
    reason = "there is too little padding after it";
}

void Run::append_to(Window& window) const
{
    window.insns.insert(window.insns.end(), insns.begin(), insns.end());
    window.padding = padding;
    window.padding_text = padding_text;
}

std::string_view probe_in(Window& window, const PatchSite& site, TargetAddr head)
{
    auto found = std::find_if(window.insns.begin(), window.insns.end(),
                              [&](const auto& w) { return w.insn.at == head; });
    if (found == window.insns.end())
        return head >= window.insns.back().insn.next()
                   ? "it is in padding that is never executed"
                   : "it is not the start of an instruction";
    if (!found->site) {
        found->site = site.site;
        return {};
    }
    // The instruction already has a site. A second site is possible only if one of the
    // two sites is at the endbr64 before the instruction.
    if (*found->site == site.site || found->insn.length == 0)
        return {};
    WindowInsn bare;
    bare.insn.at = head;
    bare.site = found->site;
    bare.loop_end = std::exchange(found->loop_end, {});
    found->site = site.site;
    for (ChainedJump& jump : window.chained)
        if (found - window.insns.begin() < static_cast<std::ptrdiff_t>(jump.insn))
            ++jump.insn;
    window.insns.insert(found, bare);
    return {};
}

bool leads_into_itself(const Window& window)
{
    return std::any_of(window.insns.begin(), window.insns.end(), [&](const auto& w) {
        TargetAddr to = w.insn.target;
        return to > window.at() && to < window.end() && !window.is_chained(to);
    });
}

} // namespace dt
