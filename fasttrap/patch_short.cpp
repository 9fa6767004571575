// SPDX-License-Identifier: MIT
#include "fasttrap/patch_short.hpp"

#include <algorithm>

namespace dt {

namespace {

// The maximum number of bytes before a site that are decoded.
constexpr std::uint64_t most_bytes_before = 64;

// Window::way is 1 for a pair, 2 to 17 for a punned jump, and 18 to 20 for a chain.
// before_bytes and n_prefix are less than four, because a punned jump has at most four
// own bytes.
constexpr std::uint8_t way_of_pair = 1;
std::uint8_t way_of_pun(std::uint64_t before_bytes, std::size_t n_prefix)
{
    return static_cast<std::uint8_t>(2 + before_bytes * 4 + n_prefix);
}

std::uint8_t way_of_chain(ChainReach reach)
{
    return static_cast<std::uint8_t>(18 + static_cast<unsigned>(reach));
}

bool is_avoided(const PatchSite& site, std::uint8_t way)
{
    return (site.avoid >> way & 1U) != 0;
}

// Returns the end of the window, including its kept bytes.
TargetAddr last_byte_of(const Window& window)
{
    return window.end() + window.n_kept;
}

// Chooses the prefixes of a pair whose first jump has four own bytes. Without a prefix,
// the opcode of the second jump is the most significant byte of the first jump's
// displacement. So the first jump would lead to an address about 380 MB below.
void lead_elsewhere(Window& window)
{
    if (may_prefix(window, window.at(), 1)) {
        window.n_prefix = may_prefix(window, window.at(), 2) ? 2 : 1;
        return;
    }
    TargetAddr seam = window.block(1);
    bool has_room = window.end() - seam > window.arch->jump_bytes;
    if (!is_reachable(window) && has_room && may_prefix(window, seam, 1))
        window.chained[0].n_prefix = 1;
}

} // namespace

ShortWindows::ShortWindows(const Arch& arch, const ReadText& read,
                           std::span<const PatchSite> sites, std::vector<Window> plain)
    : arch_(arch), read_(read), sites_(sites), plain_(std::move(plain)),
      merged_(plain_.size()), run_(arch, read), second_(arch, read)
{
}

ShortWindows::Neighbours ShortWindows::around(TargetAddr at)
{
    Neighbours found;
    auto after =
        std::upper_bound(plain_.begin(), plain_.end(), at,
                         [](TargetAddr a, const Window& w) { return a < w.at(); });
    auto is_merged = [&](auto w) {
        return merged_[static_cast<std::size_t>(w - plain_.begin())];
    };
    auto behind = after;
    while (behind != plain_.end() && is_merged(behind))
        ++behind;
    if (behind != plain_.end())
        found.behind = &*behind;
    while (after != plain_.begin() && found.before == nullptr) {
        if (!is_merged(--after))
            found.before = &*after;
    }
    auto next = short_.upper_bound(at);
    if (next != short_.end() &&
        (found.behind == nullptr || next->first < found.behind->at()))
        found.behind = &next->second;
    if (next != short_.begin() &&
        (found.before == nullptr || found.before->at() < std::prev(next)->first))
        found.before = &std::prev(next)->second;
    return found;
}

bool ShortWindows::is_free(TargetAddr from, TargetAddr to)
{
    Neighbours near = around(from);
    return (near.before == nullptr || last_byte_of(*near.before) <= from) &&
           (near.behind == nullptr || near.behind->at() >= to);
}

bool ShortWindows::has_site_in(TargetAddr from, TargetAddr to) const
{
    auto site =
        std::lower_bound(sites_.begin(), sites_.end(), from,
                         [](const PatchSite& s, TargetAddr a) { return s.at < a; });
    return site != sites_.end() && site->at < to;
}

void ShortWindows::keep(Window window, const PatchSite& site, TargetAddr head)
{
    (void)probe_in(window, site, head); // succeeds, because the window contains head
    TargetAddr at = window.at();
    short_.emplace(at, std::move(window));
}

std::string_view ShortWindows::place(const PatchSite& site, std::string_view reason)
{
    if (site.at < site.first || site.at >= site.end)
        return reason;
    TargetAddr head = run_.forward(site.at, site.end, site.at);
    Window* before = around(head).before;
    if (before != nullptr && head < before->end())
        return probe_in(*before, site, head);
    TargetAddr end = run_.end(head);
    if (run_.insns.empty() || end - head >= arch_.jump_bytes || !is_free(head, end))
        return reason;
    if (run_.insns.front().insn.length == 0)
        return reason; // a system call needs a plain window before it
    if (pair(site, head) || chain(site, head, ChainReach::open) || pun(site, head) ||
        chain(site, head, ChainReach::far) || chain(site, head, ChainReach::any))
        return {};
    return reason;
}

// Makes a pair of a jump at `head` and a jump at the end of run_. Returns false if that
// is not possible.
bool ShortWindows::pair(const PatchSite& site, TargetAddr head)
{
    if (is_avoided(site, way_of_pair))
        return false;
    TargetAddr seam = run_.end(head);
    TargetAddr limit = seam < site.end ? site.end : site.beyond;
    Window window;
    window.arch = &arch_;
    window.form = PatchForm::pair;
    window.way = way_of_pair;
    window.insns = run_.insns;
    ChainedJump second;
    second.n_gap = run_.padding;
    std::copy_n(run_.padding_text.begin(), run_.padding, second.gap.begin());
    second.insn = window.insns.size();
    window.chained.push_back(second);
    Window* taken = around(seam).before;
    bool is_there = taken != nullptr && taken->at() == seam;
    if (is_there && taken->form != PatchForm::plain)
        return false;
    if (is_there) {
        window.insns.insert(window.insns.end(), taken->insns.begin(),
                            taken->insns.end());
        window.padding = taken->padding;
        window.padding_text = taken->padding_text;
    } else {
        bool for_prefix =
            seam - head + 1 == arch_.jump_bytes && !may_prefix(window, head, 1);
        second_.forward(seam, limit, {}, for_prefix ? 1 : 0);
        Window* behind = around(seam).behind;
        bool joins = behind != nullptr && behind->at() < second_.end(seam);
        taken = joins ? behind : nullptr;
        if (joins && !behind_first(window, limit))
            return false;
        if (!joins) {
            if (second_.end(seam) - seam < arch_.jump_bytes)
                return false;
            second_.append_to(window);
        }
    }
    if (window.own_bytes() + 1 == arch_.jump_bytes)
        lead_elsewhere(window);
    if (leads_into_itself(window) || !is_reachable(window))
        return false;
    if (taken != nullptr)
        merged_[static_cast<std::size_t>(taken - plain_.data())] = true;
    keep(std::move(window), site, head);
    return true;
}

// Completes a pair whose second jump would overlap a plain window. The pair absorbs
// this window. Returns false if that is not possible.
bool ShortWindows::behind_first(Window& window, TargetAddr limit)
{
    const Window& other = *around(window.insns.back().insn.at).behind;
    auto cut = std::find_if(second_.insns.begin(), second_.insns.end(),
                            [&](const auto& w) { return w.insn.at >= other.at(); });
    if (other.form != PatchForm::plain || cut == second_.insns.end() ||
        cut->insn.at != other.at() || other.end() > limit)
        return false;
    window.insns.insert(window.insns.end(), second_.insns.begin(), cut);
    window.insns.insert(window.insns.end(), other.insns.begin(), other.insns.end());
    window.padding = other.padding;
    window.padding_text = other.padding_text;
    return true;
}

// Makes a chain. Its first jump is at `head` or before it. The chain absorbs all
// windows that it overlaps. Returns false if that is not possible.
bool ShortWindows::chain(const PatchSite& site, TargetAddr head, ChainReach reach)
{
    if (is_avoided(site, way_of_chain(reach)))
        return false;
    Window first;
    run_.append_to(first);
    for (std::size_t n_before = reach_back(site, head, first);; --n_before) {
        std::vector<Window*> taken;
        std::optional<Window> window;
        auto chain = chain_from(second_, site, first.insns, first.end());
        if (chain && absorb(*chain, taken))
            window = chain->window(arch_, read_);
        if (window && !leads_into_itself(*window) && choose_prefixes(*window, reach) &&
            probe_all_in(*window)) {
            for (const Window* each : taken)
                remove(each);
            window->way = way_of_chain(reach);
            keep(std::move(*window), site, head);
            return true;
        }
        if (n_before == 0)
            return false;
        first.insns.erase(first.insns.begin());
    }
}

// Adds all windows that the chain overlaps to the chain and to `taken`. Returns false
// if that is not possible.
bool ShortWindows::absorb(Chain& chain, std::vector<Window*>& taken)
{
    TargetAddr start = chain.starts.front();
    Window* before = around(start).before;
    if (before != nullptr && last_byte_of(*before) > start)
        return false;
    for (Window* next = around(start).behind; next != nullptr && next->at() < chain.end;
         next = around(next->at()).behind) {
        if (!chain.absorb(*next))
            return false;
        taken.push_back(next);
    }
    return true;
}

// Adds a probe to the window for each site in it. Returns false if that fails for one
// site. The window must then not be used, because this site may become a breakpoint.
bool ShortWindows::probe_all_in(Window& window)
{
    auto site =
        std::lower_bound(sites_.begin(), sites_.end(), window.at(),
                         [](const PatchSite& s, TargetAddr a) { return s.at < a; });
    for (; site != sites_.end() && site->at < window.end(); ++site)
        if (site->at < site->first || site->at >= site->end ||
            !probe_in(window, *site, site->at).empty())
            return false;
    return true;
}

void ShortWindows::remove(const Window* window)
{
    if (window >= plain_.data() && window < plain_.data() + plain_.size())
        merged_[static_cast<std::size_t>(window - plain_.data())] = true;
    else
        short_.erase(window->at());
}

// Extends the window backwards, so that the first jump has more own bytes. Returns the
// number of added instructions.
std::size_t ShortWindows::reach_back(const PatchSite& site, TargetAddr head,
                                     Window& window)
{
    if (head - site.first > most_bytes_before)
        return 0;
    std::vector<WindowInsn> before;
    std::span<const std::byte> text = read_(site.first, head - site.first);
    for (TargetAddr at = site.first; at < head;) {
        auto insn = at - site.first < text.size()
                        ? arch_.decode(text.subspan(at - site.first), at)
                        : Result<Instruction>(Error{Code::corrupt, ""});
        if (!insn || insn->next() > head)
            return 0;
        if (arch_.moving(*insn).how == Moving::anywhere)
            before.push_back({*insn, std::nullopt});
        else
            before.clear();
        at = insn->next();
    }
    while (!before.empty() &&
           (window.end() - before.front().insn.at >= arch_.jump_bytes ||
            !is_free(before.front().insn.at, head)))
        before.erase(before.begin());
    window.insns.insert(window.insns.begin(), before.begin(), before.end());
    return before.size();
}

bool ShortWindows::pun(const PatchSite& site, TargetAddr head)
{
    Window window;
    window.arch = &arch_;
    window.form = PatchForm::punned;
    run_.append_to(window);
    for (std::size_t n_before = reach_back(site, head, window);; --n_before) {
        for (std::size_t n = 0;
             n < window.own_bytes() && may_prefix(window, window.at(), n) &&
             !leads_into_itself(window);
             ++n) {
            window.n_prefix = static_cast<std::uint8_t>(n);
            window.way = way_of_pun(head - window.at(), n);
            if (!keep_behind(site, window))
                break;
            if (is_avoided(site, window.way) || !is_reachable(window))
                continue;
            keep(std::move(window), site, head);
            return true;
        }
        if (n_before == 0)
            return false;
        window.insns.erase(window.insns.begin());
    }
}

// Determines the kept bytes of a punned window. Returns false if some of them may
// change.
bool ShortWindows::keep_behind(const PatchSite& site, Window& window)
{
    TargetAddr end = window.end();
    std::size_t n = window.origin() - end;
    std::span<const std::byte> text = read_(end, n);
    if (text.size() < n || end + n > site.end + site.n_steady ||
        !is_free(end, end + n) || has_site_in(end, end + n))
        return false;
    window.n_kept = static_cast<std::uint8_t>(n);
    std::copy_n(text.begin(), n, window.kept.begin());
    return true;
}

std::vector<Window> ShortWindows::take()
{
    if (short_.empty() &&
        std::find(merged_.begin(), merged_.end(), true) == merged_.end())
        return std::move(plain_);
    std::vector<Window> all;
    all.reserve(plain_.size() + short_.size());
    auto next = short_.begin();
    for (std::size_t i = 0; i < plain_.size(); ++i) {
        if (merged_[i])
            continue;
        for (; next != short_.end() && next->first < plain_[i].at(); ++next)
            all.push_back(std::move(next->second));
        all.push_back(std::move(plain_[i]));
    }
    for (; next != short_.end(); ++next)
        all.push_back(std::move(next->second));
    return all;
}

} // namespace dt
