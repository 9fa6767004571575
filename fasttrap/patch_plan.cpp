// SPDX-License-Identifier: MIT
// Choosing windows.
//
// Sites come in ascending order, and so do windows: a site either lies in the last window,
// or gets one behind it, or reaches back into it, and then the two become one.
#include "fasttrap/patch.hpp"

#include <algorithm>

namespace dt {

namespace {

constexpr std::size_t max_insn_bytes = 15;
constexpr std::size_t max_back_bytes = 65536;

// Consecutive instructions that may be moved, and what stood in the way of more.
struct Run {
    std::vector<WindowInsn> insns;
    std::uint8_t padding = 0;
    std::array<std::byte, 15> padding_text{};
    std::string_view reason; // why it did not go on
    TargetAddr end(TargetAddr start) const
    {
        return (insns.empty() ? start : insns.back().insn.next()) + padding;
    }
};

class Planner {
public:
    Planner(const Arch& arch, const ReadText& read) : arch_(arch), read_(read) {}

    void add(const PatchSite& site)
    {
        std::string_view reason = place(site);
        if (!reason.empty())
            plan_.refused.push_back({site.site, reason});
    }

    WindowPlan take() { return std::move(plan_); }

private:
    Window* last() { return plan_.windows.empty() ? nullptr : &plan_.windows.back(); }

    // The reason of a refusal, or nothing.
    std::string_view place(const PatchSite& site)
    {
        TargetAddr head = site.at;
        Window* before = last();
        if (before != nullptr && head < before->end())
            return probe(*before, site, head);
        if (site.at < site.first || site.at >= site.end)
            return "nothing around it may be moved";

        run_forward(site, head);
        if (!run_.insns.empty() && run_.insns.front().insn.at != head) {
            head = run_.insns.front().insn.at; // behind an endbr64
            if (before != nullptr && head < before->end())
                return probe(*before, site, head);
        }
        if (run_.insns.empty())
            return run_.reason;
        if (run_.end(head) - head >= arch_.jump_bytes) {
            open(head, site.site);
            return into_itself();
        }
        return reach_back(site, head);
    }

    // A window of run_, whose instruction at head is the site's.
    void open(TargetAddr head, std::uint32_t site)
    {
        Window window;
        window.arch = &arch_;
        window.insns.assign(run_.insns.begin(), run_.insns.end());
        window.padding = run_.padding;
        window.padding_text = run_.padding_text;
        for (WindowInsn& insn : window.insns) {
            if (insn.insn.at == head)
                insn.site = site;
        }
        plan_.windows.push_back(std::move(window));
    }

    static std::string_view probe(Window& window, const PatchSite& site,
                                  TargetAddr head)
    {
        auto found = std::find_if(window.insns.begin(), window.insns.end(),
                                  [&](const auto& w) { return w.insn.at == head; });
        if (found == window.insns.end())
            return head >= window.insns.back().insn.next()
                       ? "it lies in padding that nobody runs"
                       : "it is not the start of an instruction";
        if (!found->site) {
            found->site = site.site;
            return {};
        }
        // Two sites on one instruction: one of them is an endbr64, before it.
        if (*found->site == site.site || found->insn.length == 0)
            return {};
        WindowInsn bare;
        bare.insn.at = head;
        bare.site = found->site;
        found->site = site.site;
        window.insns.insert(found, bare);
        return {};
    }

    // No branch of the window may lead into it: the caller's limits exclude that, but
    // not every caller has seen every branch.
    std::string_view into_itself()
    {
        const Window& window = plan_.windows.back();
        for (const WindowInsn& w : window.insns) {
            TargetAddr to = w.insn.target;
            if (to > window.at() && to < window.end()) {
                plan_.windows.pop_back();
                return "a branch in the window leads into it";
            }
        }
        return {};
    }

    // The instruction at `at`, which ends at or before `end`.
    std::optional<Instruction> decode(std::span<const std::byte> text, TargetAddr at,
                                      TargetAddr end)
    {
        Result<Instruction> insn = arch_.decode(text, at);
        if (!insn) {
            run_.reason = "its bytes are no instruction that is known";
            return std::nullopt;
        }
        if (insn->next() > end) {
            run_.reason = "an instruction goes beyond where the site's limits end";
            return std::nullopt;
        }
        return std::move(*insn);
    }

    // Fills run_ from start until there is room for the jump.
    void run_forward(const PatchSite& site, TargetAddr start)
    {
        run_.insns.clear();
        run_.padding = 0;
        run_.reason = "too few bytes before the next branch target";
        std::size_t most = 2 * arch_.jump_bytes + 2 * max_insn_bytes;
        std::span<const std::byte> text =
            read_(start, std::min<std::uint64_t>(most, site.end - start));
        TargetAddr end = start + text.size();
        TargetAddr at = start;
        while (at < end && at - start < arch_.jump_bytes) {
            std::optional<Instruction> insn = decode(text.subspan(at - start), at, end);
            if (!insn)
                return;
            Moving moving = arch_.moving(*insn);
            if (moving.how == Moving::stays && at == site.at) {
                text = text.subspan(insn->length);
                start = at = insn->next();
                continue;
            }
            if (moving.how == Moving::stays || moving.how == Moving::refused) {
                run_.reason = moving.reason;
                return;
            }
            at = insn->next();
            run_.insns.push_back({*insn, std::nullopt});
            if (moving.how == Moving::last) {
                run_.reason = "a call ends the window too early";
                return;
            }
            if (moving.how == Moving::ends) {
                if (at - start < arch_.jump_bytes)
                    take_padding(text.subspan(at - start), at, end,
                                 arch_.jump_bytes - (at - start));
                return;
            }
        }
    }

    void take_padding(std::span<const std::byte> text, TargetAddr at, TargetAddr end,
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
        run_.padding = static_cast<std::uint8_t>(std::min(n, wanted));
        std::copy_n(text.begin(), run_.padding, run_.padding_text.begin());
        run_.reason = "no padding behind it";
    }

    // run_ is too short: instructions before it, up to the last one that must not move.
    std::string_view reach_back(const PatchSite& site, TargetAddr head)
    {
        std::uint64_t n = head - site.first;
        if (n == 0 || n > max_back_bytes)
            return run_.reason;
        std::span<const std::byte> text = read_(site.first, n + max_insn_bytes);
        if (text.size() < n)
            return "its text cannot be read";
        before_.clear();
        for (TargetAddr at = site.first; at < head;) {
            Result<Instruction> insn = arch_.decode(text.subspan(at - site.first), at);
            if (!insn)
                return "the instructions before it are not known";
            Moving::How how = arch_.moving(*insn).how;
            if (how == Moving::anywhere)
                before_.push_back({*insn, std::nullopt});
            else
                before_.clear();
            at = insn->next();
            if (at > head)
                return "it is not the start of an instruction";
        }
        TargetAddr end = run_.end(head);
        auto from = before_.end();
        while (from != before_.begin() &&
               end - (from == before_.end() ? head : from->insn.at) < arch_.jump_bytes)
            --from;
        if (from == before_.end() || end - from->insn.at < arch_.jump_bytes)
            return run_.reason;
        run_.insns.insert(run_.insns.begin(), from, before_.end());
        trim(head);
        return join(site, head);
    }

    // What is not needed behind the probed instruction goes again.
    void trim(TargetAddr head)
    {
        TargetAddr start = run_.insns.front().insn.at;
        while (run_.insns.back().insn.at > head &&
               run_.insns.back().insn.at - start >= arch_.jump_bytes) {
            run_.insns.pop_back();
            run_.padding = 0;
        }
        TargetAddr bare = run_.insns.back().insn.next();
        std::size_t missing =
            bare - start >= arch_.jump_bytes ? 0 : arch_.jump_bytes - (bare - start);
        run_.padding =
            static_cast<std::uint8_t>(std::min<std::size_t>(run_.padding, missing));
    }

    // Opens a window that reaches back, or lengthens the one that it reaches into.
    std::string_view join(const PatchSite& site, TargetAddr head)
    {
        Window* before = last();
        TargetAddr start = run_.insns.front().insn.at;
        if (before == nullptr || start >= before->end()) {
            open(head, site.site);
            return into_itself();
        }
        TargetAddr seam = before->end();
        auto rest = std::find_if(run_.insns.begin(), run_.insns.end(),
                                 [&](const auto& w) { return w.insn.at == seam; });
        bool same_instructions =
            std::any_of(before->insns.begin(), before->insns.end(),
                        [&](const auto& w) { return w.insn.at == start; });
        if (rest == run_.insns.end() || !same_instructions)
            return "it overlaps a window that was decoded differently";
        for (auto w = rest; w != run_.insns.end(); ++w) {
            if (w->insn.target > before->at() && w->insn.target < run_.end(head))
                return "a branch in the window leads into it";
        }
        for (auto w = rest; w != run_.insns.end(); ++w) {
            before->insns.push_back(*w);
            if (w->insn.at == head)
                before->insns.back().site = site.site;
        }
        before->padding = run_.padding;
        before->padding_text = run_.padding_text;
        return {};
    }

    const Arch& arch_;
    const ReadText& read_;
    Run run_;
    std::vector<WindowInsn> before_;
    WindowPlan plan_;
};

} // namespace

WindowPlan plan_windows(const Arch& arch, std::span<const PatchSite> sites,
                        const ReadText& read)
{
    Planner planner(arch, read);
    for (const PatchSite& site : sites)
        planner.add(site);
    return planner.take();
}

} // namespace dt
