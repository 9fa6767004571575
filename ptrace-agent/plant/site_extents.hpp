// SPDX-License-Identifier: MIT
// The extents of sites: which bytes around a site its jump may replace or rely on.
//
//        extent             blocks after it
//   [first .. at .. end) [end .. beyond) [further)     see PatchSite
//
// The client derives these ranges from the branch targets, and does not know the
// breakpoints and jumps in the text. The functions here shorten the ranges, so that no
// two patches change the same byte, and no patch relies on a byte that may change.
//
//   patch_sites()    The extent excludes all breakpoints and existing windows. The
//                    blocks after the extent end at the next of these. Other
//                    tracers' breakpoints (uprobes) are found in the text. New sites do
//                    not limit each other, because they may share a window.
//   limit_by_plan()  For a site that is planned again. The extent excludes the planned
//                    windows. The blocks after the extent end at the next planned
//                    window or site.
//
// Kept bytes (fasttrap/patch.hpp) count as part of their window. If the end of an
// extent is moved, the site has no blocks after it.
#pragma once

#include "fasttrap/patch.hpp"
#include "ptrace-agent/address_space.hpp"

#include <span>
#include <vector>

namespace dt::agent {

// Returns whether a jump may replace the instruction of a tracepoint. A breakpoint is
// needed in three cases:
// - The code around the instruction is unknown.
// - A return probe is at a conditional branch other than jcc. The runtime can evaluate
//   only the condition of a jcc.
// - The agent itself needs the tracepoint for a purpose other than
//   Tracepoint::library_change and Tracepoint::tracer_call.
bool can_jump(const Tracepoint& tp);
// Returns the sites for plan_windows(). PatchSite::site is the index in `wanted`, which
// is in ascending order. The extents exclude the existing windows and all breakpoints.
// `read` reads the original text.
std::vector<PatchSite> patch_sites(AddressSpace& space,
                                   const std::vector<Tracepoint*>& wanted,
                                   const ReadText& read);
// Prepares a site to be planned again. Its window was short (fasttrap/patch.hpp), and
// there was no place for the trampoline or the stubs. The patch may use the bytes after
// the extent up to the next window or site. `sites` and `planned` are in ascending
// order.
PatchSite limit_by_plan(PatchSite site, std::span<const PatchSite> sites,
                        std::span<const Window> planned);

} // namespace dt::agent
