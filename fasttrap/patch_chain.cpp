// SPDX-License-Identifier: MIT
#include "fasttrap/patch_chain.hpp"

#include "fasttrap/displacement.hpp"

#include <algorithm>

namespace dt {

namespace {

constexpr std::uint8_t most_prefixes = 2;
constexpr std::uint64_t lowest_address = 1 << 16;
constexpr std::uint64_t highest_address = 0x7fff'ffff'f000;

// Returns the ends of the site's block and of the later blocks that may be moved, in
// ascending order.
std::vector<TargetAddr> block_ends(const PatchSite& site)
{
    std::vector<TargetAddr> ends{site.end};
    if (site.beyond > site.end)
        ends.push_back(site.beyond);
    for (std::uint8_t length : site.further) {
        if (length == 0 || ends.size() < 2)
            break;
        ends.push_back(ends.back() + length);
    }
    return ends;
}

bool fits(const Window& window, ChainReach reach)
{
    if (reach != ChainReach::any &&
        is_highest_given(window, 0) != (reach == ChainReach::far))
        return false;
    for (std::size_t k = 1; k < window.n_jumps(); ++k)
        if (reach != ChainReach::any && is_highest_given(window, k))
            return false;
    return is_reachable(window);
}

bool choose_from(Window& window, std::size_t k, ChainReach reach)
{
    if (k == window.n_jumps())
        return fits(window, reach);
    const bool last = k + 1 == window.n_jumps();
    const std::uint64_t own =
        (last ? window.end() : window.block(k + 1)) - window.block(k);
    const std::uint64_t needed = last ? window.arch->jump_bytes : 1;
    std::uint8_t& n_prefix = k == 0 ? window.n_prefix : window.chained[k - 1].n_prefix;
    for (n_prefix = 0; n_prefix <= most_prefixes; ++n_prefix) {
        if (n_prefix + needed > own || !may_prefix(window, window.block(k), n_prefix))
            break;
        if (choose_from(window, k + 1, reach))
            return true;
    }
    n_prefix = 0;
    return false;
}

} // namespace

bool may_prefix(const Window& window, TargetAddr at, std::size_t n)
{
    return std::none_of(window.insns.begin(), window.insns.end(),
                        [&](const auto& w) { return w.insn.at - at - 1 < n; });
}

bool is_reachable(const Window& window)
{
    for (std::size_t k = 1; k < window.n_jumps(); ++k) {
        auto reach = far_reach_of(window, k);
        auto origin =
            static_cast<std::int64_t>((window.jump(k) + window.arch->jump_bytes).value);
        if (reach &&
            (origin + reach->from < static_cast<std::int64_t>(lowest_address) ||
             origin + reach->to > static_cast<std::int64_t>(highest_address)))
            return false;
    }
    TargetAddr origin = window.origin();
    std::vector<Reach> pieces = reach_of(window);
    return std::any_of(pieces.begin(), pieces.end(), [&](const Reach& piece) {
        auto from = static_cast<std::int64_t>(origin.value) + piece.from;
        auto to = static_cast<std::int64_t>(origin.value) + piece.to;
        return to > static_cast<std::int64_t>(lowest_address) &&
               from < static_cast<std::int64_t>(highest_address);
    });
}

bool choose_prefixes(Window& window, ChainReach reach)
{
    return choose_from(window, 0, reach);
}

std::optional<Chain> chain_from(Run& run, const PatchSite& site,
                                std::vector<WindowInsn> first, TargetAddr end)
{
    std::vector<TargetAddr> ends = block_ends(site);
    Chain chain;
    chain.starts.push_back(first.front().insn.at);
    chain.insns = std::move(first);
    chain.end = end;
    while (chain.starts.size() < max_jumps) {
        auto limit = std::upper_bound(ends.begin(), ends.end(), chain.end);
        if (limit == ends.end())
            return std::nullopt;
        // If this block has four bytes, leave space for a prefix in the next block.
        // Without a prefix, the opcode of the next jump would be the most significant
        // byte of this jump's displacement.
        bool for_prefix = chain.end - chain.starts.back() + 1 == x86_64.jump_bytes;
        run.forward(chain.end, *limit, {}, for_prefix ? 1 : 0);
        if (run.insns.empty())
            return std::nullopt;
        chain.starts.push_back(chain.end);
        chain.insns.insert(chain.insns.end(), run.insns.begin(), run.insns.end());
        chain.end = run.end(chain.end);
        chain.limit = *limit;
        if (chain.end - chain.starts.back() >= x86_64.jump_bytes)
            return chain;
    }
    return std::nullopt;
}

bool Chain::absorb(const Window& window)
{
    auto at_or_behind = [this](TargetAddr at) {
        return std::find_if(insns.begin(), insns.end(),
                            [at](const auto& w) { return w.insn.at >= at; });
    };
    auto is_start = [this](TargetAddr at) {
        return std::find(starts.begin(), starts.end(), at) != starts.end();
    };
    for (std::size_t k = 1; k < window.n_jumps(); ++k)
        if (!is_start(window.block(k)))
            return false;
    if (window.end() > end) {
        if (window.at() < starts.back() || window.end() > limit)
            return false;
        end = window.end();
    }
    auto first = at_or_behind(window.at());
    auto last = at_or_behind(window.end());
    // The chain and the window must have the same instructions where they overlap.
    auto mine = first;
    for (const WindowInsn& w : window.insns) {
        if (mine != last && w.insn.at != mine->insn.at)
            return false;
        if (mine != last && w.insn.length != 0)
            ++mine;
    }
    if (mine != last)
        return false;
    auto at = insns.erase(first, last);
    insns.insert(at, window.insns.begin(), window.insns.end());
    return true;
}

std::optional<Window> Chain::window(const Arch& arch, const ReadText& read) const
{
    Window made;
    made.arch = &arch;
    made.form = starts.size() > 2 ? PatchForm::chain : PatchForm::pair;
    made.insns = insns;
    auto copy_padding = [&](TargetAddr from, TargetAddr to, auto& into) {
        std::span<const std::byte> text =
            from < to ? read(from, to - from) : std::span<const std::byte>{};
        if (text.size() != to - from || text.size() > into.size())
            return false;
        std::copy(text.begin(), text.end(), into.begin());
        return true;
    };
    std::size_t i = 0;
    for (std::size_t k = 1; k < starts.size(); ++k) {
        while (i < insns.size() && insns[i].insn.at < starts[k])
            ++i;
        if (i == 0 || i == insns.size() || insns[i].insn.at != starts[k])
            return std::nullopt;
        ChainedJump jump;
        jump.insn = i;
        TargetAddr before = insns[i - 1].insn.next();
        if (!copy_padding(before, starts[k], jump.gap))
            return std::nullopt;
        jump.n_gap = static_cast<std::uint8_t>(starts[k] - before);
        made.chained.push_back(jump);
    }
    TargetAddr bare = insns.back().insn.next();
    if (!copy_padding(bare, end, made.padding_text))
        return std::nullopt;
    made.padding = static_cast<std::uint8_t>(end - bare);
    return made;
}

} // namespace dt
