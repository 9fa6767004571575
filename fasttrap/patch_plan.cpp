// SPDX-License-Identifier: MIT
// Plans the windows for a list of sites, in ascending order. A site may be inside the
// last planned window. Otherwise the site gets a new window. A new window that overlaps
// the last window is merged with it.
#include "fasttrap/patch_run.hpp"
#include "fasttrap/patch_short.hpp"

#include <algorithm>

namespace dt {

namespace {

constexpr std::size_t max_back_bytes = 65536;
constexpr std::uint64_t max_loop_bytes =
    48; // maximum size, in bytes, of a loop for which a window is extended

class Planner {
public:
    Planner(const Arch& arch, std::span<const PatchSite> sites, const ReadText& read)
        : arch_(arch), read_(read), run_(arch, read), sites_(sites)
    {
        plan_.windows.reserve(sites.size());
    }

    void add(const PatchSite& site)
    {
        std::string_view reason = place(site);
        if (!reason.empty())
            left_.emplace_back(&site, reason);
    }

    // Makes short windows for the sites that have no plain window. Refuses a site if
    // this fails. Returns the plan.
    WindowPlan take()
    {
        ShortWindows others(arch_, read_, sites_, std::move(plan_.windows));
        for (const auto& [site, reason] : left_) {
            if (std::string_view why = others.place(*site, reason); !why.empty())
                plan_.refused.push_back({site->site, why});
        }
        plan_.windows = others.take();
        return std::move(plan_);
    }

private:
    Window* last() { return plan_.windows.empty() ? nullptr : &plan_.windows.back(); }

    // Makes a plain window for a site. Returns the reason if that fails, otherwise an
    // empty string.
    std::string_view place(const PatchSite& site)
    {
        TargetAddr head = site.at;
        Window* before = last();
        if (before != nullptr && head < before->end())
            return probe_in(*before, site, head);
        if (site.at < site.first || site.at >= site.end)
            return "it is not in code that may be moved";

        head = run_.forward(head, site.end, site.at);
        if (head != site.at) { // the site is an endbr64
            if (before != nullptr && head < before->end())
                return probe_in(*before, site, head);
        }
        if (run_.insns.empty())
            return run_.reason;
        if (run_.end(head) - head >= arch_.jump_bytes) {
            const bool led_past = reach_loop_end(site, head);
            open(head, site.site);
            if (std::string_view why = into_itself(); !why.empty())
                return why;
            for (WindowInsn& insn : plan_.windows.back().insns)
                if (led_past && insn.site && insn.insn.at == head)
                    insn.loop_end = site.loop_end;
            return {};
        }
        return reach_back(site, head);
    }

    // Extends run_ to the end of the last branch that leads back to the site. Returns
    // false if there is no such branch, or if the loop is too long or must not move.
    bool reach_loop_end(const PatchSite& site, TargetAddr head)
    {
        if (site.loop_end <= head || site.loop_end > site.end)
            return false;
        if (site.loop_end <= run_.end(head))
            return true;
        const std::uint64_t loop_bytes = site.loop_end - head;
        if (loop_bytes <= max_loop_bytes) {
            run_.forward(head, site.end, head, loop_bytes - arch_.jump_bytes);
            if (!run_.insns.empty() && run_.end(head) >= site.loop_end)
                return true;
        }
        run_.forward(head, site.end, head);
        return false;
    }

    // Adds a window that contains the instructions of run_, and marks the instruction
    // at `head` as the site.
    void open(TargetAddr head, std::uint32_t site)
    {
        Window window;
        window.arch = &arch_;
        run_.append_to(window);
        for (WindowInsn& insn : window.insns) {
            if (insn.insn.at == head)
                insn.site = site;
        }
        plan_.windows.push_back(std::move(window));
    }

    // Removes the last added window if a branch in it leads into the same window. The
    // caller's list of branches may be incomplete, so such a branch is possible.
    // Returns the reason if the window was removed, otherwise an empty string.
    std::string_view into_itself()
    {
        if (!leads_into_itself(plan_.windows.back()))
            return {};
        plan_.windows.pop_back();
        return inner_branch;
    }

    // Extends run_ backwards until it is long enough for a jump, and makes a window of
    // run_. Returns the reason if that fails, otherwise an empty string.
    std::string_view reach_back(const PatchSite& site, TargetAddr head)
    {
        std::uint64_t n = head - site.first;
        if (n == 0 || n > max_back_bytes)
            return run_.reason;
        std::span<const std::byte> text = read_(site.first, n + max_insn_bytes);
        if (text.size() < n)
            return "its code cannot be read";
        before_.clear();
        for (TargetAddr at = site.first; at < head;) {
            Result<Instruction> insn = arch_.decode(text.subspan(at - site.first), at);
            if (!insn)
                return "the instructions before it cannot be decoded";
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

    // Removes instructions and padding at the end of run_ that a jump does not need.
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

    // Makes a window of run_, which now begins before the site. If run_ overlaps the
    // last window, extends that window instead. Returns the reason if that fails,
    // otherwise an empty string.
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
            return "it overlaps code that another jump replaces and that was decoded "
                   "differently";
        for (auto w = rest; w != run_.insns.end(); ++w) {
            if (w->insn.target > before->at() && w->insn.target < run_.end(head))
                return inner_branch;
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
    std::span<const PatchSite> sites_;
    std::vector<std::pair<const PatchSite*, std::string_view>> left_;
    std::vector<WindowInsn> before_;
    WindowPlan plan_;
};

} // namespace

WindowPlan plan_windows(const Arch& arch, std::span<const PatchSite> sites,
                        const ReadText& read)
{
    Planner planner(arch, sites, read);
    for (const PatchSite& site : sites)
        planner.add(site);
    return planner.take();
}

} // namespace dt
