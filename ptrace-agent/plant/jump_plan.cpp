// SPDX-License-Identifier: MIT
// plan_jumps(): finds windows for sites, and room for their trampolines near the text.
//
//   patch_sites() ──▶ plan_windows() ──▶ TrampolineSpace::take() ──▶ JumpPlan
//                          ▲                       │ no room
//                          │                       ├──▶ map another area, take() again
//                          └── limit_by_plan() ◀───┘
//
// If no other area helps, a short window (a pair, a chain or a punned jump) is planned
// in another way.
//
// A jump reaches 2 GiB in both directions, and some bytes of its displacement must be
// trap bytes (fasttrap/patch.hpp). Areas for trampolines are mapped in gaps between the
// target's mappings, but never where the heap or the main thread's stack may grow:
//
//   map_area()             an area for all windows in a part of the text, or for one
//                          window
//   map_stub_areas()       small areas for the stubs of punned jumps
//   map_far_areas(), map_areas_of_stubs()
//                          areas for the stubs of pairs and chains
#include "ptrace-agent/plant/jump_plan.hpp"

#include "base/page_bytes.hpp"
#include "ptrace-agent/plant/original_text.hpp"
#include "ptrace-agent/plant/site_extents.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace dt::agent {

constexpr std::uint64_t near_stack = 64 << 20; // bytes kept free below the stack
constexpr std::uint64_t near_heap = 256 << 20; // bytes kept free for brk(2)
constexpr std::uint64_t lowest_address = 1 << 20;
constexpr std::uint64_t highest_address = 0x7fff'ffff'f000;
// Sizes of areas in bytes. Only written pages take memory. An area of at least
// smallest_common bytes serves all windows in common_text bytes of text. Smaller areas
// are tried if no gap is large enough.
constexpr std::uint64_t area_sizes[] = {16 << 20, 4 << 20, 128 << 10};
constexpr std::uint64_t smallest_common = 4 << 20;
constexpr std::uint64_t common_text = 14 << 20;

// The largest area that TrampolineSpace uses only for stubs.
constexpr std::uint64_t stub_area_bytes = 4 * page_bytes;
// The kernel limits the number of mappings of a process.
constexpr std::size_t max_stub_areas = 4096;
constexpr std::size_t max_areas = max_stub_areas + 256; // areas of all sizes
// The number of areas from which on no area is mapped only to make trap bytes int3.
constexpr std::size_t max_int3_areas = 256;
// In each round, short windows for which no room was found are planned in another way.
// A site that has no room after the last round gets no jump.
constexpr int max_rounds = 14;

// The addresses in [start, end).
struct Gap {
    TargetAddr start, end;
};

// Returns the range that brk(2) may need later. Returns an empty range if the start of
// the heap is unknown.
static Gap heap_room(pid_t pid)
{
    constexpr int start_brk = 47; // number of the field in proc(5), stat
    TargetAddr heap{stat_number(read_proc_file(pid, "stat", 2048), start_brk)};
    if (heap.value == 0)
        return {};
    return {heap, heap + near_heap};
}

// Returns the ranges in which an area may be mapped, in ascending order.
static std::vector<Gap> gaps_between(const std::vector<Mapping>& mappings, Gap heap)
{
    std::vector<Gap> occupied{heap};
    for (const Mapping& m : mappings)
        occupied.push_back(
            {m.path == "[stack]" ? m.begin - near_stack : m.begin, m.end});
    std::sort(occupied.begin(), occupied.end(),
              [](const Gap& a, const Gap& b) { return a.start < b.start; });
    std::vector<Gap> gaps;
    TargetAddr from{lowest_address};
    for (const Gap& other : occupied) {
        if (from < other.start)
            gaps.push_back({from, other.start});
        from = std::max(from, other.end);
    }
    if (from.value < highest_address)
        gaps.push_back({from, {highest_address}});
    return gaps;
}

// The mappings of the target and the gaps between them. They are read again only after
// an area was mapped or could not be mapped. Reading them for each window would take
// seconds in a large program that has no free space.
class Surroundings {
public:
    Surroundings(AddressSpace& space, Room& room) : space_(space), room_(room) {}

    AddressSpace& space() { return space_; }
    const std::vector<Mapping>& mappings()
    {
        read();
        return mappings_;
    }
    const std::vector<Gap>& gaps()
    {
        read();
        return gaps_;
    }
    bool add_area(TargetAddr at, std::uint64_t bytes, Room::Holds holds)
    {
        is_known_ = false;
        if (!room_.map(at, bytes, holds))
            return false;
        space_.patches.areas.emplace_back(at, bytes);
        space_.patches.space().add_area(at, bytes);
        return true;
    }

private:
    void read()
    {
        if (std::exchange(is_known_, true))
            return;
        mappings_ = room_.mappings();
        gaps_ = gaps_between(mappings_, heap_room(space_.owner()));
    }

    AddressSpace& space_;
    Room& room_;
    bool is_known_ = false;
    std::vector<Mapping> mappings_;
    std::vector<Gap> gaps_;
};

// Returns at + distance, limited to the range of user-space addresses.
static std::uint64_t clamp_add(TargetAddr at, std::int64_t distance)
{
    auto sum = static_cast<__int128>(at.value) + distance;
    return static_cast<std::uint64_t>(std::clamp<__int128>(sum, 0, highest_address));
}

// Divides the mapping that contains an address into parts of common_text bytes. Returns
// the part that contains the address. If no mapping contains the address, returns only
// the byte at the address.
static Gap text_around(const std::vector<Mapping>& mappings, TargetAddr at)
{
    const Mapping* mapping = find_mapping(mappings, at);
    if (mapping == nullptr)
        return {at, at + 1};
    std::uint64_t part = (at - mapping->begin) / common_text;
    TargetAddr begin = mapping->begin + part * common_text;
    return {begin, std::min(mapping->end, begin + common_text)};
}

// Returns an address for an area of this size, or nothing if no gap is large enough.
// Each of `pieces` is a range that a jump from `origin` can reach. The area contains at
// least a page of one of them. The first pieces are preferred, because they are nearest
// to the text.
static std::optional<TargetAddr> find_room(const std::vector<Gap>& gaps,
                                           TargetAddr origin,
                                           const std::vector<Reach>& pieces,
                                           std::uint64_t bytes)
{
    for (const Reach& reach : pieces) {
        std::uint64_t low = clamp_add(origin, reach.from);
        std::uint64_t high = clamp_add(origin, reach.to);
        for (const Gap& gap : gaps) {
            std::uint64_t begin = std::max(low, gap.start.value);
            std::uint64_t end = std::min(high, gap.end.value);
            if (gap.end - gap.start < bytes || begin >= end ||
                end - begin < 2 * page_bytes)
                continue;
            std::uint64_t last = gap.end.value - bytes;
            std::uint64_t wanted = reach.to <= 0 ? std::max(end, bytes) - bytes : begin;
            std::uint64_t start = std::clamp(wanted, gap.start.value, last);
            return TargetAddr{(start + page_bytes - 1) & ~(page_bytes - 1)};
        }
    }
    return std::nullopt;
}

// Maps an area for the trampoline of a window. The first call for a part of the text
// (text_around()) tries to map an area for all windows in that part.
static bool map_area(Surroundings& around, const Window& window)
{
    const Gap text = text_around(around.mappings(), window.at());
    const bool is_first = around.space().patches.common_areas.insert(text.start).second;
    for (std::uint64_t bytes : area_sizes) {
        std::optional<TargetAddr> at;
        if (is_first && bytes >= smallest_common)
            at = find_room(around.gaps(), text.start,
                           common_reach(x86_64, text.start, text.end), bytes);
        if (!at)
            at = find_room(around.gaps(), window.origin(), reach_of(window), bytes);
        if (at && around.add_area(*at, bytes, Room::Holds::trampolines))
            return true;
    }
    return false;
}

// Maps areas for the stubs of a pair or chain. Handles only jumps that reach a single
// range of 16 MiB (far_reach_of()). Returns whether an area was mapped.
static bool map_far_areas(Surroundings& around, const Window& window)
{
    const AddressSpace& space = around.space();
    bool mapped = false;
    for (std::size_t k = 1; k < window.n_jumps(); ++k) {
        std::optional<Reach> reach = far_reach_of(window, k);
        if (!reach)
            continue;
        TargetAddr origin = window.jump(k) + x86_64.jump_bytes;
        TargetAddr from{clamp_add(origin, reach->from)};
        TargetAddr to{clamp_add(origin, reach->to)};
        bool is_there = std::any_of(space.patches.areas.begin(),
                                    space.patches.areas.end(), [&](const auto& area) {
                                        return area.second > stub_area_bytes &&
                                               area.first < to &&
                                               from < area.first + area.second;
                                    });
        if (is_there)
            continue;
        for (std::uint64_t bytes : area_sizes) {
            auto at = find_room(around.gaps(), origin, {*reach}, bytes);
            if (at && around.add_area(*at, bytes, Room::Holds::trampolines)) {
                mapped = true;
                break;
            }
        }
    }
    return mapped;
}

// Maps areas for the stubs of a pair or chain. Returns whether an area was mapped.
//
// The stub of a jump must be in one of the ranges of stub_reach_of(). If possible, the
// new area contains an entire range. In a part of a range, there may be no suitable
// address for the stub. The addresses of the mappings are random, so this would happen
// in some runs and not in others.
//
// Maps no area if an existing area already contains an entire range. At each end of the
// range, fewer than `missing` bytes may be outside that area.
static bool map_areas_of_stubs(Surroundings& around, const Window& window,
                               std::uint64_t missing)
{
    const AddressSpace& space = around.space();
    bool mapped = false;
    for (std::size_t k = 1; k < window.n_jumps(); ++k) {
        const TargetAddr origin = window.jump(k) + x86_64.jump_bytes;
        const std::vector<Reach> pieces = stub_reach_of(window, k);
        auto range_of = [&](const Reach& piece) {
            return Gap{TargetAddr{clamp_add(origin, piece.from)},
                       TargetAddr{clamp_add(origin, piece.to)}};
        };
        auto holds = [missing](const Gap& outer, const Gap& inner) {
            return outer.start < inner.start + missing &&
                   inner.end < outer.end + missing;
        };
        const bool is_held = std::any_of(
            space.patches.areas.begin(), space.patches.areas.end(), [&](auto area) {
                Gap all{area.first, area.first + area.second};
                return std::any_of(pieces.begin(), pieces.end(), [&](const Reach& p) {
                    return holds(all, range_of(p));
                });
            });
        if (pieces.empty() || is_held || space.patches.areas.size() >= max_areas)
            continue;
        const std::vector<Gap>& gaps = around.gaps();
        auto complete = std::find_if(pieces.begin(), pieces.end(), [&](const Reach& p) {
            return std::any_of(gaps.begin(), gaps.end(), [&](const Gap& gap) {
                return gap.start < range_of(p).start && range_of(p).end < gap.end;
            });
        });
        const std::vector<Reach> wanted =
            complete != pieces.end() ? std::vector<Reach>{*complete} : pieces;
        for (std::uint64_t bytes : area_sizes) {
            auto at = find_room(around.gaps(), origin, wanted, bytes);
            if (at && around.add_area(*at, bytes, Room::Holds::trampolines)) {
                mapped = true;
                break;
            }
        }
    }
    return mapped;
}

// Maps small areas for the stubs of punned jumps. A punned jump can lead to only a few
// addresses, so one or two pages are mapped there.
static void map_stub_areas(Surroundings& around, const std::vector<Window>& windows)
{
    const AddressSpace& space = around.space();
    std::vector<Gap> wanted;
    for (const Window& window : windows) {
        if (window.form != PatchForm::punned)
            continue;
        std::vector<Reach> reach = reach_of(window);
        if (reach.empty())
            continue;
        std::uint64_t at = clamp_add(window.origin(), reach.front().from);
        std::uint64_t n =
            static_cast<std::uint64_t>(reach.front().to - reach.front().from);
        std::uint64_t end = at + std::min(n - 1, page_bytes) + stub_bytes;
        wanted.push_back({TargetAddr{at & ~(page_bytes - 1)},
                          TargetAddr{(end + page_bytes - 1) & ~(page_bytes - 1)}});
    }
    if (wanted.empty())
        return;
    std::sort(wanted.begin(), wanted.end(),
              [](const Gap& a, const Gap& b) { return a.start < b.start; });
    const std::vector<Gap> gaps = around.gaps();
    auto n_stub_areas = static_cast<std::size_t>(
        std::count_if(space.patches.areas.begin(), space.patches.areas.end(),
                      [](const auto& area) { return area.second <= stub_area_bytes; }));
    TargetAddr last_end{0};
    for (Gap area : wanted) {
        area.start = std::max(area.start, last_end);
        auto gap =
            std::upper_bound(gaps.begin(), gaps.end(), area.start,
                             [](TargetAddr at, const Gap& g) { return at < g.end; });
        if (area.start >= area.end || gap == gaps.end() || gap->start > area.start ||
            gap->end < area.end || n_stub_areas == max_stub_areas)
            continue;
        last_end = area.end;
        if (around.add_area(area.start, area.end - area.start, Room::Holds::stubs))
            ++n_stub_areas;
    }
}

// Returns whether an area for trampolines begins within 1 GiB of the address.
static bool has_area_near(const AddressSpace& space, TargetAddr at)
{
    constexpr std::uint64_t near = 1 << 30;
    return std::any_of(
        space.patches.areas.begin(), space.patches.areas.end(), [at](const auto& area) {
            auto [start, bytes] = area;
            return bytes > stub_area_bytes && at - start + near < 2 * near;
        });
}

// Allocates room for a trampoline so that all trap bytes of the jump are int3 (TrapBytes).
// Maps at most one area for this. Returns nothing, and permits all trap bytes, if there
// is no such room.
static std::optional<Placement> take_for_int3(Surroundings& around, Window& window,
                                              std::size_t bytes)
{
    AddressSpace& space = around.space();
    if (!space.away.is_wanted || window.form != PatchForm::plain)
        return std::nullopt;
    window.trap_bytes = TrapBytes::int3;
    auto at = space.patches.space().take(window, bytes);
    const std::uint64_t area = area_sizes[1];
    if (!at && space.patches.areas.size() < max_int3_areas)
        if (auto room =
                find_room(around.gaps(), window.origin(), reach_of(window), area);
            room && around.add_area(*room, area, Room::Holds::trampolines))
            at = space.patches.space().take(window, bytes);
    if (!at)
        window.trap_bytes = TrapBytes::any;
    return at;
}

// Allocates room for the trampoline of each window, and adds the windows to the result.
// If there is no room for a window, refuses its sites. If the task is cancelled, maps
// nothing more.
static void take_room(Surroundings& around, const std::vector<Tracepoint*>& wanted,
                      std::vector<Window> windows, PeriodicTask& periodic,
                      JumpPlan& result)
{
    const AddressSpace& space = around.space();
    TrampolineSpace& trampolines = around.space().patches.space();
    map_stub_areas(around, windows);
    result.taken.reserve(result.taken.size() + windows.size());
    for (Window& window : windows) {
        periodic();
        std::size_t bytes = trampoline_bytes(window);
        auto at = take_for_int3(around, window, bytes);
        if (!at)
            at = trampolines.take(window, bytes);
        if (!at)
            periodic.look();
        if (!at && periodic.is_cancelled()) {
            result.taken.emplace_back();
            continue;
        }
        if (!at && map_far_areas(around, window))
            at = trampolines.take(window, bytes);
        // If a punned window has an area nearby, only the room for its stub is missing.
        // Another area would not help.
        bool may_map =
            window.form != PatchForm::punned || !has_area_near(space, window.at());
        // The first call may map the area for all windows in this part of the text. The
        // second call then maps an area for this window.
        for (int i = 0; i < 2 && !at && may_map && map_area(around, window); ++i)
            at = trampolines.take(window, bytes);
        for (std::uint64_t missing : {std::uint64_t{4 << 20}, page_bytes})
            if (!at && map_areas_of_stubs(around, window, missing))
                at = trampolines.take(window, bytes);
        if (at) {
            result.taken.push_back({*at, bytes});
            continue;
        }
        result.taken.emplace_back();
        for (const WindowInsn& insn : window.insns) {
            if (insn.site)
                result.refused[wanted[*insn.site]->at()] = no_room;
        }
    }
    std::move(windows.begin(), windows.end(), std::back_inserter(result.windows));
}

// Removes the short windows for which there is no room. Records in PatchSite::avoid how
// each of them was planned. Returns their sites, which must be planned again in another
// way.
static std::vector<PatchSite> drop_roomless(std::vector<PatchSite>& sites,
                                            JumpPlan& plan)
{
    std::vector<std::uint32_t> numbers;
    std::size_t n = 0;
    for (std::size_t i = 0; i < plan.windows.size(); ++i) {
        Window& window = plan.windows[i];
        if (plan.taken[i].n_bytes == 0 && window.form != PatchForm::plain) {
            for (const WindowInsn& insn : window.insns) {
                if (!insn.site)
                    continue;
                sites[*insn.site].avoid |= std::uint32_t{1} << window.way;
                numbers.push_back(*insn.site);
            }
            continue;
        }
        if (n != i) {
            plan.windows[n] = std::move(window);
            plan.taken[n] = plan.taken[i];
        }
        ++n;
    }
    plan.windows.resize(n);
    plan.taken.resize(n);
    std::sort(numbers.begin(), numbers.end());
    std::vector<PatchSite> again;
    for (std::uint32_t number : numbers)
        again.push_back(limit_by_plan(sites[number], sites, plan.windows));
    return again;
}

static void sort_windows(JumpPlan& plan)
{
    std::vector<std::size_t> order(plan.windows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return plan.windows[a].at() < plan.windows[b].at();
    });
    JumpPlan sorted;
    sorted.windows.reserve(order.size());
    sorted.taken.reserve(order.size());
    for (std::size_t i : order) {
        sorted.windows.push_back(std::move(plan.windows[i]));
        sorted.taken.push_back(plan.taken[i]);
    }
    plan.windows = std::move(sorted.windows);
    plan.taken = std::move(sorted.taken);
}

JumpPlan plan_jumps(AddressSpace& space, Room& room,
                    const std::vector<Tracepoint*>& wanted, PeriodicTask& periodic)
{
    JumpPlan result;
    Surroundings around(space, room);
    OriginalText text(space);
    ReadText read = [&](TargetAddr at, std::size_t n) {
        periodic();
        return text(at, n);
    };
    std::vector<PatchSite> sites = patch_sites(space, wanted, read);
    WindowPlan plan = plan_windows(x86_64, sites, read);
    for (const Refused& refused : plan.refused)
        result.refused[wanted[refused.site]->at()] = refused.reason;
    take_room(around, wanted, std::move(plan.windows), periodic, result);
    for (int round = 0; round < max_rounds && !periodic.is_cancelled(); ++round) {
        std::vector<PatchSite> again = drop_roomless(sites, result);
        if (again.empty())
            break;
        plan = plan_windows(x86_64, again, read);
        for (const Window& window : plan.windows)
            for (const WindowInsn& insn : window.insns)
                if (insn.site)
                    result.refused.erase(wanted[*insn.site]->at());
        take_room(around, wanted, std::move(plan.windows), periodic, result);
        sort_windows(result);
    }
    for (Tracepoint* tp : wanted)
        tp->led_past = false;
    for (std::size_t i = 0; i < result.windows.size(); ++i)
        for (const WindowInsn& insn : result.windows[i].insns)
            if (insn.site && result.taken[i].n_bytes != 0)
                wanted[*insn.site]->led_past = insn.loop_end.value != 0;
    return result;
}

Result<Patch> build_patch(AddressSpace& space, const Window& window,
                          const Placement& place, PatchBuilder& builder)
{
    return builder.build(window, place,
                         *space.patches.space().area_of(place.trampoline));
}

} // namespace dt::agent
