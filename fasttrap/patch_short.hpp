// SPDX-License-Identifier: MIT
// Forms short windows: pairs, chains and punned jumps. A site gets a short window if it
// cannot get a plain window.
//
// A short window can absorb an existing window. This means that it takes over the
// instructions and sites of the existing window, and replaces that window.
//
//   - A pair absorbs the plain window that its second jump would overlap.
//   - A chain absorbs all windows that it overlaps, of any form.
//   - A punned jump absorbs no window. Its kept bytes must not contain a site or be
//     part of another window, because the kept bytes must not change.
#pragma once

#include "fasttrap/patch_chain.hpp"
#include "fasttrap/patch_run.hpp"

#include <map>

namespace dt {

class ShortWindows {
public:
    // `plain` must be in ascending order. The object keeps references to the other
    // arguments.
    ShortWindows(const Arch& arch, const ReadText& read,
                 std::span<const PatchSite> sites, std::vector<Window> plain);
    // Adds a site to the window that contains it, or makes a short window for it.
    // `reason` says why the site has no plain window. Returns the reason for a failure,
    // or an empty string on success.
    std::string_view place(const PatchSite& site, std::string_view reason);
    std::vector<Window> take();

private:
    // The windows next to an address.
    struct Neighbours {
        Window* before = nullptr; // the last window at or before the address
        Window* behind = nullptr; // the first window after the address
    };
    Neighbours around(TargetAddr at);
    bool is_free(TargetAddr from, TargetAddr to);
    bool pair(const PatchSite& site, TargetAddr head);
    bool behind_first(Window& window, TargetAddr limit);
    bool chain(const PatchSite& site, TargetAddr head, ChainReach reach);
    bool absorb(Chain& chain, std::vector<Window*>& taken);
    bool probe_all_in(Window& window);
    void remove(const Window* window);
    bool pun(const PatchSite& site, TargetAddr head);
    bool keep_behind(const PatchSite& site, Window& window);
    std::size_t reach_back(const PatchSite& site, TargetAddr head, Window& window);
    bool has_site_in(TargetAddr from, TargetAddr to) const;
    void keep(Window window, const PatchSite& site, TargetAddr head);

    const Arch& arch_;
    const ReadText& read_;
    std::span<const PatchSite> sites_;
    std::vector<Window> plain_;
    // True for each window in plain_ that a short window has absorbed.
    std::vector<bool> merged_;
    std::map<TargetAddr, Window> short_;
    Run run_, second_;
};

} // namespace dt
