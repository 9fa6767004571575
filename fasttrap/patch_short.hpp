// SPDX-License-Identifier: MIT
// Windows with fewer than five bytes of their own: pairs, chains and punned jumps.
//
// They come after all plain windows of a batch, whose bytes they respect: a pair takes
// the plain window behind it in, or makes one there; a chain takes in all windows that it
// reaches, of whichever form; a punned jump keeps only bytes that
// no window changes and where no site is, because that may become a breakpoint.
#pragma once

#include "fasttrap/patch_chain.hpp"
#include "fasttrap/patch_run.hpp"

#include <map>

namespace dt {

class ShortWindows {
public:
    // plain: ascending. All but `plain` are referred to.
    ShortWindows(const Arch& arch, const ReadText& read,
                 std::span<const PatchSite> sites, std::vector<Window> plain);
    // A site that got no plain window for that reason. The reason of a refusal, or
    // nothing.
    std::string_view place(const PatchSite& site, std::string_view reason);
    std::vector<Window> take();

private:
    // Text that a window needs as it is, or changes.
    struct Neighbours {
        Window* before = nullptr; // begins at or before an address
        Window* behind = nullptr; // begins behind it
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
    std::vector<bool> merged_; // of plain_: part of a pair now
    std::map<TargetAddr, Window> short_;
    Run run_, second_;
};

} // namespace dt
