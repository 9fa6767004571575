// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/site_extents.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace dt::agent {

// The number of bytes after an extent that are searched for the next breakpoint or
// window. No window is longer than this.
constexpr std::uint64_t n_examined = 64;

static bool is_jcc(const Instruction& insn)
{
    return (insn.opcode_map == 0 && (insn.opcode & 0xf0) == 0x70) ||
           (insn.opcode_map == 1 && (insn.opcode & 0xf0) == 0x80);
}

bool can_jump(const Tracepoint& tp)
{
    bool conditional_return =
        tp.insn.flow == ControlFlow::branch &&
        std::any_of(tp.firings.begin(), tp.firings.end(),
                    [](const Firing& f) { return f.kind == SiteKind::ret; });
    return (tp.purpose == Tracepoint::fires || tp.is_own()) && tp.first.value != 0 &&
           (!conditional_return || is_jcc(tp.insn));
}

// Shortens the site's extent so that it contains no byte of [from, to).
static void clip(PatchSite& site, TargetAddr from, TargetAddr to)
{
    if (from > site.at)
        site.end = std::min(site.end, from);
    else if (to <= site.at)
        site.first = std::max(site.first, to);
}

// Limits the bytes after the extent that the site's patch may overwrite or rely on. The
// patch must not use the byte at `used` or any later byte. A punned jump may rely on at
// most `most_steady` unchanged bytes. `end` is the end of the extent before clip(). If
// clip() has moved the end, the patch must not use any byte after the extent.
static void limit_after(PatchSite& site, TargetAddr end, TargetAddr used,
                        std::uint64_t most_steady)
{
    const TargetAddr limit = site.end == end ? used : site.end;
    site.limit_behind(limit);
    site.n_steady = static_cast<std::uint8_t>(
        std::min<std::uint64_t>(most_steady, limit - site.end));
}

static bool may_continue(const Instruction& insn)
{
    switch (insn.flow) {
    case ControlFlow::jump:
    case ControlFlow::jump_indirect:
    case ControlFlow::ret:
    case ControlFlow::stop:
        return false;
    default:
        return true;
    }
}

constexpr std::byte int3{0xcc};

// Finds the first breakpoint of another tracer in a block of code. An int3 after a
// return or jump is taken for padding. If an instruction cannot be decoded, returns its
// address. Later breakpoints cannot be found, because the length of the instruction
// under the first one is unknown.
static std::optional<TargetAddr> find_int3(const ReadText& read, TargetAddr from,
                                           TargetAddr to)
{
    const std::span<const std::byte> text = read(from, to > from ? to - from : 0);
    // In most blocks no byte has this value.
    if (std::ranges::find(text, int3) == text.end())
        return std::nullopt;
    bool is_padding = false;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == int3 && !is_padding)
            return from + i;
        auto insn = x86_64.decode(text.subspan(i), from + i);
        if (!insn)
            return from + i;
        is_padding = is_padding || !may_continue(*insn);
        i += insn->length;
    }
    return std::nullopt;
}

// Finds the first breakpoint of another tracer in the blocks after a site's extent, and
// in the bytes that may become kept bytes. If no known block follows the extent, an
// int3 there is padding or data.
static std::optional<TargetAddr> find_int3_after(const ReadText& read,
                                                 const PatchSite& site)
{
    constexpr std::uint64_t max_kept_bytes = 4;
    if (site.beyond <= site.end)
        return std::nullopt;
    const auto kept = read(site.end, max_kept_bytes);
    if (auto at = std::ranges::find(kept, int3); at != kept.end())
        return site.end + static_cast<std::uint64_t>(at - kept.begin());
    TargetAddr block = site.end, end = site.beyond;
    if (auto at = find_int3(read, block, end))
        return at;
    for (std::uint8_t length : site.further) {
        block = end;
        end = end + length;
        if (auto at = find_int3(read, block, end))
            return at;
    }
    return std::nullopt;
}

// Excludes the breakpoints of other tracers, for example uprobes, from the site's
// extent. Returns the address of the first one in the bytes after the extent.
static std::optional<TargetAddr> exclude_uprobes(const ReadText& read, PatchSite& site)
{
    if (find_int3(read, site.first, site.at))
        site.first = site.at;
    if (auto at = find_int3(read, site.at, site.end)) {
        site.end = *at;
        return std::nullopt;
    }
    return find_int3_after(read, site);
}

// Limits the bytes after the extent to those before `used`, the next breakpoint and the
// next window. `end` is the end of the extent before clip().
static void limit_blocks_after(AddressSpace& space,
                               const std::vector<TargetAddr>& breakpoints,
                               TargetAddr end, std::optional<TargetAddr> used,
                               PatchSite& site)
{
    constexpr std::uint64_t most_steady = 4; // bytes of a jump's offset
    if (site.end == end)
        site.beyond = std::max(site.beyond, end);
    TargetAddr first = std::min(used.value_or(end + n_examined), end + n_examined);
    auto near = std::lower_bound(breakpoints.begin(), breakpoints.end(), end);
    if (near != breakpoints.end())
        first = std::min(first, *near);
    if (const Planted* other = space.patches.first_from(end))
        first = std::min(first, std::max(end, other->patch.at));
    limit_after(site, end, first, most_steady);
}

// Excludes the breakpoints and the existing windows from the site's extent.
static void exclude_neighbours(AddressSpace& space,
                               const std::vector<TargetAddr>& breakpoints,
                               PatchSite& site)
{
    auto near = std::lower_bound(breakpoints.begin(), breakpoints.end(), site.first);
    for (; near != breakpoints.end() && *near < site.end; ++near) {
        Tracepoint* other = space.tracepoints.find(*near);
        clip(site, *near, *near + (other != nullptr ? other->insn.length : 1));
    }
    for (TargetAddr at = site.first; at < site.end;) {
        const Planted* other = space.patches.first_from(at);
        if (other == nullptr || other->patch.at >= site.end)
            break;
        TargetAddr end = other->patch.at + other->patch.original.size();
        clip(site, other->patch.at, end);
        at = end;
    }
}

// Returns the site of a tracepoint, with the ranges that the client has reported. They
// may still contain other breakpoints and windows.
static PatchSite reported_site(const Tracepoint& tp, std::uint32_t number)
{
    PatchSite site;
    site.at = tp.at();
    site.first = tp.first;
    site.end = tp.end;
    site.beyond = tp.beyond;
    site.further = tp.further;
    site.site = number;
    // If the window contains the entire loop at a function's entry, the probes fire
    // once per call. That is right only for entry probes.
    if (std::all_of(tp.firings.begin(), tp.firings.end(),
                    [](const Firing& f) { return f.kind == SiteKind::entry; }))
        site.loop_end = tp.loop_end;
    return site;
}

std::vector<PatchSite> patch_sites(AddressSpace& space,
                                   const std::vector<Tracepoint*>& wanted,
                                   const ReadText& read)
{
    std::vector<TargetAddr> breakpoints;
    for (const Tracepoint* tp : space.tracepoints.without_jump(wanted)) {
        if (tp->written || !can_jump(*tp)) // has a breakpoint, or will get one
            breakpoints.push_back(tp->at());
    }
    std::vector<PatchSite> sites;
    sites.reserve(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        PatchSite site = reported_site(*wanted[i], static_cast<std::uint32_t>(i));
        exclude_neighbours(space, breakpoints, site);
        const std::optional<TargetAddr> used = exclude_uprobes(read, site);
        limit_blocks_after(space, breakpoints, wanted[i]->end, used, site);
        sites.push_back(site);
    }
    return sites;
}

PatchSite limit_by_plan(PatchSite site, std::span<const PatchSite> sites,
                        std::span<const Window> planned)
{
    TargetAddr end = site.end;
    auto by_window = [](const Window& window, TargetAddr at) {
        return window.at() < at;
    };
    auto window =
        std::lower_bound(planned.begin(), planned.end(), site.first, by_window);
    if (window != planned.begin())
        --window;
    for (; window != planned.end() && window->at() < site.end; ++window)
        if (window->end() + window->n_kept > site.first)
            clip(site, window->at(), window->end() + window->n_kept);
    auto after = std::lower_bound(planned.begin(), planned.end(), site.end, by_window);
    TargetAddr free = after == planned.end() ? site.end + n_examined : after->at();
    auto next = std::lower_bound(
        sites.begin(), sites.end(), site.end,
        [](const PatchSite& other, TargetAddr at) { return other.at < at; });
    if (next != sites.end())
        free = std::min(free, next->at);
    limit_after(site, end, free, site.n_steady);
    return site;
}

} // namespace dt::agent
