// SPDX-License-Identifier: MIT
// Tracepoints as jumps: windows planned, trampolines placed, text written, and back.
//
// All threads stand still. Sites that cannot have a jump are left to the breakpoint,
// with the reason. A site inside a window that stands already has that window planned
// again, both sites together. A thread that stands inside a new window goes on in the
// moved copy, at the instruction that it was about to run.
#include "ptrace-agent/agent.hpp"

#include "ptrace-agent/proc_files.hpp"
#include "ptrace-agent/runtime/image.hpp"
#include "ptrace-agent/tracing.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace dt::agent {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t near_stack = 64 << 20; // room that a stack may want
constexpr std::uint64_t near_heap = 256 << 20; // room that brk(2) may want
constexpr std::uint64_t lowest_address = 1 << 20;
constexpr std::uint64_t highest_address = 0x7fff'ffff'f000;
// Address space, not memory: what is not written stays unused. A large one serves all
// windows of so much text; a target with little address space gets small ones.
constexpr std::uint64_t area_sizes[] = {16 << 20, 4 << 20, 128 << 10};
constexpr std::uint64_t smallest_common = 4 << 20;
constexpr std::uint64_t common_text = 14 << 20;

constexpr std::uint64_t stub_area_bytes = 4 * page_bytes; // at most, as TrampolineSpace
constexpr std::size_t max_stub_areas = 4096;              // each is a mapping

struct Gap {
    TargetAddr start, end;
};

// What brk(2) may come to want: the kernel puts the heap somewhere behind the program.
static Gap heap_room(pid_t pid)
{
    constexpr int start_brk = 47; // proc(5), counted from 1; the name is the second
    std::string stat = read_proc_file(pid, "stat", 2048);
    std::size_t at = stat.rfind(')');
    for (int field = 2; at != std::string::npos && field < start_brk; ++field)
        at = stat.find(' ', at + 1);
    if (at == std::string::npos)
        return {};
    TargetAddr heap{std::strtoull(stat.c_str() + at, nullptr, 10)};
    return {heap, heap + near_heap};
}

static std::vector<Gap> gaps_between(const std::vector<Mapping>& mappings, Gap heap)
{
    std::vector<Gap> taken{heap};
    for (const Mapping& m : mappings)
        taken.push_back({m.path == "[stack]" ? m.start - near_stack : m.start, m.end});
    std::sort(taken.begin(), taken.end(),
              [](const Gap& a, const Gap& b) { return a.start < b.start; });
    std::vector<Gap> gaps;
    TargetAddr from{lowest_address};
    for (const Gap& other : taken) {
        if (from < other.start)
            gaps.push_back({from, other.start});
        from = std::max(from, other.end);
    }
    if (from.value < highest_address)
        gaps.push_back({from, {highest_address}});
    return gaps;
}

static std::uint64_t clamp_add(TargetAddr at, std::int64_t distance)
{
    auto sum = static_cast<__int128>(at.value) + distance;
    return static_cast<std::uint64_t>(std::clamp<__int128>(sum, 0, highest_address));
}

// The executable memory around a window, as much of it as one area can serve.
static Gap text_around(const std::vector<Mapping>& mappings, TargetAddr at)
{
    const Mapping* mapping = find_mapping(mappings, at);
    if (mapping == nullptr)
        return {at, at + 1};
    std::uint64_t part = (at - mapping->start) / common_text;
    TargetAddr begin = mapping->start + part * common_text;
    return {begin, std::min(mapping->end, begin + common_text)};
}

// Room for an area with at least a page of one of the pieces that are asked for, in the
// nearest such piece. The area reaches away from the text.
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

std::optional<TargetAddr> Agent::map_area(StoppedWorld& world, const Window& window)
{
    AddressSpace& space = world.space();
    std::vector<Mapping> mappings = mappings_of(space.speaker());
    std::vector<Gap> gaps = gaps_between(mappings, heap_room(space.owner()));
    Gap text = text_around(mappings, window.at());
    for (std::uint64_t bytes : area_sizes) {
        std::optional<TargetAddr> room;
        if (bytes >= smallest_common && space.common_areas.insert(text.start).second)
            room = find_room(gaps, text.start,
                             common_reach(x86_64, text.start, text.end), bytes);
        if (!room)
            room = find_room(gaps, window.at() + 5, reach_of(window), bytes);
        Thread* thread = world.any_thread();
        if (!room || thread == nullptr)
            continue;
        auto mapped =
            inject(*thread, SYS_mmap,
                   {room->value, bytes, PROT_READ | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                    ~0ull, 0});
        if (!mapped || *mapped > ~4095ull)
            continue;
        std::uint64_t enter = space.runtime.image.value + runtime_header().enter;
        if (*mapped != room->value ||
            !space.write_text(*room, std::as_bytes(std::span(&enter, 1)))) {
            (void)inject(*thread, SYS_munmap, {*mapped, bytes, 0, 0, 0, 0});
            continue;
        }
        space.patches.areas.emplace_back(*room, bytes);
        space.patches.space().add_area(*room, bytes);
        return room;
    }
    return std::nullopt;
}

// A punned jump leads to one place, where a page or two are mapped for its stub. Those of
// neighbours lie together.
void Agent::map_stub_areas(StoppedWorld& world, const std::vector<Window>& windows)
{
    AddressSpace& space = world.space();
    std::vector<Gap> wanted;
    for (const Window& window : windows) {
        if (window.form != PatchForm::punned)
            continue;
        std::vector<Reach> reach = reach_of(window);
        if (reach.empty())
            continue;
        // The whole range where it is small, else a page of it.
        std::uint64_t at = clamp_add(window.at() + 5, reach.front().from);
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
    std::vector<Gap> gaps =
        gaps_between(mappings_of(space.speaker()), heap_room(space.owner()));
    auto n_stub_areas = static_cast<std::size_t>(
        std::count_if(space.patches.areas.begin(), space.patches.areas.end(),
                      [](const auto& area) { return area.second <= stub_area_bytes; }));
    TargetAddr behind{0};
    for (Gap area : wanted) {
        area.start = std::max(area.start, behind);
        auto gap =
            std::upper_bound(gaps.begin(), gaps.end(), area.start,
                             [](TargetAddr at, const Gap& g) { return at < g.end; });
        Thread* thread = world.any_thread();
        if (area.start >= area.end || gap == gaps.end() || gap->start > area.start ||
            gap->end < area.end || thread == nullptr || n_stub_areas == max_stub_areas)
            continue;
        behind = area.end;
        std::uint64_t bytes = area.end - area.start;
        auto mapped =
            inject(*thread, SYS_mmap,
                   {area.start.value, bytes, PROT_READ | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                    ~0ull, 0});
        if (!mapped || *mapped > ~4095ull)
            continue;
        if (*mapped != area.start.value) { // a kernel that does not know the flag
            (void)inject(*thread, SYS_munmap, {*mapped, bytes, 0, 0, 0, 0});
            continue;
        }
        space.patches.areas.emplace_back(area.start, bytes);
        space.patches.space().add_area(area.start, bytes);
        ++n_stub_areas;
    }
}

// Original text for the planner, some pages at a time.
class OriginalText {
public:
    explicit OriginalText(const AddressSpace& space) : space_(space) {}
    std::span<const std::byte> operator()(TargetAddr at, std::size_t n)
    {
        if (!(at >= from_ && at - from_ + n <= text_.size()))
            fill(at, n);
        if (at < from_ || at - from_ >= text_.size())
            return {};
        std::size_t skip = at - from_;
        return std::span(text_).subspan(skip, std::min(n, text_.size() - skip));
    }

private:
    void fill(TargetAddr at, std::size_t n)
    {
        from_ = TargetAddr{at.value & ~(page_bytes - 1)};
        std::size_t wanted = (at - from_) + n;
        for (std::size_t bytes :
             {std::size_t(16 * page_bytes),
              (wanted + page_bytes - 1) & ~(page_bytes - 1), std::size_t(page_bytes)}) {
            text_.resize(std::max(bytes, std::size_t(page_bytes)));
            if (space_.read_original(from_, text_))
                return;
        }
        text_.clear();
    }

    const AddressSpace& space_;
    TargetAddr from_;
    std::vector<std::byte> text_;
};

std::vector<dt_rt_firing> firings_of(const Tracepoint& tp)
{
    std::vector<dt_rt_firing> all;
    if (tp.purpose == Tracepoint::library_change)
        all.push_back({0, DT_RT_LIBRARIES, 0});
    for (const Firing& firing : tp.firings) {
        dt_u32 kind = firing.kind == SiteKind::ret     ? DT_RT_RETURN
                      : firing.kind == SiteKind::entry ? DT_RT_ENTRY
                                                       : DT_RT_OFFSET;
        all.push_back({firing.probe, kind, firing.arg0});
    }
    return all;
}

// A jump stands for the tracepoint already, and its list of probes changed.
bool Agent::update_jump(AddressSpace& space, const Tracepoint& tp)
{
    return tp.site && space.runtime.set_firings(*tp.site, firings_of(tp));
}

static bool is_jcc(const Instruction& insn)
{
    return (insn.opcode_map == 0 && (insn.opcode & 0xf0) == 0x70) ||
           (insn.opcode_map == 1 && (insn.opcode & 0xf0) == 0x80);
}

static bool can_jump(const Tracepoint& tp)
{
    bool conditional_return =
        tp.insn.flow == ControlFlow::branch &&
        std::any_of(tp.firings.begin(), tp.firings.end(),
                    [](const Firing& f) { return f.kind == SiteKind::ret; });
    return (tp.purpose == Tracepoint::fires ||
            tp.purpose == Tracepoint::library_change) &&
           tp.first.value != 0 && (!conditional_return || is_jcc(tp.insn));
}

// The window that a site is in. An endbr64 stays in its place: the window with its probe
// begins behind it.
static Planted* window_over(const AddressSpace& space, const Tracepoint& tp)
{
    static constexpr std::array endbr64{std::byte{0xf3}, std::byte{0x0f},
                                        std::byte{0x1e}, std::byte{0xfa}};
    if (Planted* over = space.patches.covering(tp.at()))
        return over;
    bool stays = std::equal(endbr64.begin(), endbr64.end(), tp.insn.bytes.begin());
    return stays ? space.patches.covering(tp.insn.next()) : nullptr;
}

// The extents end where another tracepoint's bytes begin. A window that stands over one of
// the sites, or keeps its bytes, is taken out, and its tracepoints are planned again. Of
// `fresh` are those, too, that will have a breakpoint.
void Agent::clear_way(AddressSpace& space, const std::vector<Tracepoint*>& fresh,
                      std::vector<Tracepoint*>& wanted)
{
    for (std::size_t i = 0; i < wanted.size() + fresh.size(); ++i) {
        Tracepoint* site = i < fresh.size() ? fresh[i] : wanted[i - fresh.size()];
        Planted* over = window_over(space, *site);
        if (over == nullptr)
            continue;
        space.patches.take_out(space, {over->patch.at});
        for (const Planted::Probed& probed : over->probed) {
            Tracepoint* tp = space.find(probed.at);
            if (tp != nullptr && tp->site == probed.site) {
                tp->site.reset();
                wanted.push_back(tp);
            }
        }
    }
    std::sort(wanted.begin(), wanted.end(),
              [](Tracepoint* a, Tracepoint* b) { return a->at() < b->at(); });
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
}

static bool is_padding(const Instruction& insn)
{
    bool nop = (insn.opcode_map == 0 && insn.opcode == 0x90) ||
               (insn.opcode_map == 1 && insn.opcode == 0x1f);
    return nop || insn.bytes[0] == std::byte{0xcc};
}

// The dynamic linker's r_brk while a breakpoint stands there: an empty function, with
// padding behind it where it can have a jump.
Tracepoint* Agent::linker_tracepoint(AddressSpace& space)
{
    for (Tracepoint* tp : space.tracepoints()) {
        if (tp->purpose != Tracepoint::library_change || !tp->written)
            continue;
        see_padding(space, *tp);
        return tp;
    }
    return nullptr;
}

// Its surroundings are what is empty there.
void see_padding(const AddressSpace& space, Tracepoint& tp)
{
    std::array<std::byte, 32> text{};
    tp.first = tp.at();
    tp.end = tp.insn.next();
    if (!space.read_original(tp.at(), text))
        return;
    while (tp.end - tp.at() < text.size()) {
        auto insn = x86_64.decode(std::span(text).subspan(tp.end - tp.at()), tp.end);
        bool padding = insn && (is_padding(*insn) || insn->flow == ControlFlow::ret);
        if (!padding || tp.end - tp.at() + insn->length > text.size())
            break;
        tp.end = insn->next();
    }
}

static void clip(PatchSite& site, TargetAddr from, TargetAddr to)
{
    if (from > site.at)
        site.end = std::min(site.end, from);
    else if (to <= site.at)
        site.first = std::max(site.first, to);
}

JumpReport Agent::plant_jumps(StoppedWorld& world, std::vector<Tracepoint*>& fresh)
{
    AddressSpace& space = world.space();
    JumpReport report;
    std::vector<Tracepoint*> wanted;
    std::copy_if(fresh.begin(), fresh.end(), std::back_inserter(wanted),
                 [](Tracepoint* tp) { return can_jump(*tp); });
    if (std::none_of(wanted.begin(), wanted.end(),
                     [](Tracepoint* tp) { return tp->purpose == Tracepoint::fires; }))
        return report;
    // No breakpoint of ours is to stand where a jump can.
    if (Tracepoint* linker = linker_tracepoint(space))
        wanted.push_back(linker);
    if (auto ready = ensure_runtime(world); !ready) {
        report.note = "the runtime could not be put into it: " + ready.error().text;
        for (Tracepoint* tp : wanted)
            report.reasons[tp->at()] = report.note;
        return report;
    }
    if (Tracepoint* linker = linker_tracepoint(space)) {
        space.restore_originals({linker});
        fresh.push_back(linker);
    }
    reclaim_trampolines(space);
    clear_way(space, fresh, wanted);
    std::vector<PatchSite> sites = patch_sites(space, wanted);
    OriginalText text(space);
    WindowPlan plan = plan_windows(
        x86_64, sites, [&text](TargetAddr at, std::size_t n) { return text(at, n); });
    std::vector<std::unique_ptr<Planted>> all;
    for (const Refused& refused : plan.refused)
        report.reasons[wanted[refused.site]->at()] = refused.reason;
    map_stub_areas(world, plan.windows);
    for (Window& window : plan.windows) {
        auto planted = build(world, window, wanted);
        if (planted) {
            all.push_back(std::move(planted));
            continue;
        }
        for (const WindowInsn& insn : window.insns) {
            if (insn.site)
                report.reasons[wanted[*insn.site]->at()] =
                    "no room within a jump's reach";
        }
    }
    std::vector<Planted*> list;
    for (auto& planted : all)
        list.push_back(planted.get());
    space.patches.write(space, std::move(all), [&](std::span<Planted* const> windows) {
        move_into_copies(space, windows);
    });
    for (Planted* planted : list) {
        if (planted->written)
            claim(space, *planted);
    }
    // What did not get its jump gets a breakpoint.
    std::erase_if(fresh, [](const Tracepoint* tp) { return tp->site.has_value(); });
    for (Tracepoint* tp : wanted) {
        if (!tp->site && std::find(fresh.begin(), fresh.end(), tp) == fresh.end())
            fresh.push_back(tp);
    }
    return report;
}

// Behind the site's own extent, too, what stands already stays.
static void limit_behind(AddressSpace& space,
                         const std::vector<TargetAddr>& breakpoints, TargetAddr end,
                         PatchSite& site)
{
    if (site.end != end) {
        site.beyond = site.end;
        site.n_steady = 0;
        return;
    }
    constexpr std::uint64_t n_looked_at = 64; // more than a window
    site.beyond = std::min(std::max(site.beyond, end), end + n_looked_at);
    TargetAddr first = end + n_looked_at;
    auto near = std::lower_bound(breakpoints.begin(), breakpoints.end(), end);
    if (near != breakpoints.end())
        first = std::min(first, *near);
    for (TargetAddr at = end; at < first; at = at + 1) {
        if (space.patches.covering(at) != nullptr)
            first = at;
    }
    site.beyond = std::min(site.beyond, first);
    site.n_steady = static_cast<std::uint8_t>(std::min<std::uint64_t>(4, first - end));
}

std::vector<PatchSite> Agent::patch_sites(AddressSpace& space,
                                          const std::vector<Tracepoint*>& wanted)
{
    std::vector<TargetAddr> breakpoints;
    for (Tracepoint* tp : space.tracepoints()) {
        if (tp->written || (!tp->site && !can_jump(*tp))) // that stand or will
            breakpoints.push_back(tp->at());
    }
    std::vector<PatchSite> sites;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const Tracepoint& tp = *wanted[i];
        PatchSite site;
        site.at = tp.at();
        site.first = tp.first;
        site.end = tp.end;
        site.beyond = tp.beyond;
        site.site = static_cast<std::uint32_t>(i);
        auto near =
            std::lower_bound(breakpoints.begin(), breakpoints.end(), site.first);
        for (; near != breakpoints.end() && *near < site.end; ++near) {
            Tracepoint* other = space.find(*near);
            clip(site, *near, *near + (other != nullptr ? other->insn.length : 1));
        }
        for (TargetAddr at = site.first; at < site.end;) {
            Planted* other = space.patches.covering(at);
            if (other == nullptr) {
                at = at + 1;
                continue;
            }
            TargetAddr end = other->patch.at + other->patch.original.size();
            clip(site, other->patch.at, end);
            at = end;
        }
        limit_behind(space, breakpoints, tp.end, site);
        sites.push_back(site);
    }
    return sites;
}

std::unique_ptr<Planted> Agent::build(StoppedWorld& world, Window window,
                                      const std::vector<Tracepoint*>& wanted)
{
    AddressSpace& space = world.space();
    std::size_t bytes = trampoline_bytes(window);
    auto at = space.patches.space().take(window, bytes);
    bool may_map = window.form != PatchForm::punned ||
                   space.patches.areas.empty(); // the stub's place is all that counts
    if (!at && may_map && map_area(world, window))
        at = space.patches.space().take(window, bytes);
    if (!at)
        return nullptr;
    auto planted = std::make_unique<Planted>();
    for (WindowInsn& insn : window.insns) {
        if (!insn.site)
            continue;
        TargetAddr site = wanted[*insn.site]->at(); // an endbr64, where there is one
        auto number = space.runtime.add_site(site);
        if (!number) {
            space.patches.space().give_back(*at, bytes);
            return nullptr;
        }
        insn.site = *number;
        planted->probed.push_back({*number, site});
    }
    auto patch =
        build_patch(window, *at, *space.patches.space().area_of(at->trampoline));
    if (!patch) {
        space.patches.space().give_back(*at, bytes);
        return nullptr;
    }
    planted->patch = std::move(*patch);
    for (const Moved& moved : planted->patch.moved) {
        if (moved.site)
            space.runtime.set_back(*moved.site, moved.tail);
    }
    return planted;
}

void Agent::claim(AddressSpace& space, Planted& planted)
{
    for (const Planted::Probed& probed : planted.probed) {
        Tracepoint* tp = space.find(probed.at);
        if (tp == nullptr)
            continue;
        tp->site = probed.site;
        if (tp->insn.flow == ControlFlow::branch)
            space.runtime.set_condition(probed.site,
                                        DT_RT_CONDITIONAL | tp->insn.condition);
        update_jump(space, *tp);
    }
}

// A thread that stands in the middle of a window goes on in its copy.
void Agent::move_into_copies(AddressSpace& space, std::span<Planted* const> windows)
{
    for (Thread* thread : threads_in(space)) {
        user_regs_struct user;
        if (!thread->stopped || !get_regs(thread->tid, user))
            continue;
        auto after = std::upper_bound(
            windows.begin(), windows.end(), user.rip,
            [](std::uint64_t pc, Planted* p) { return pc < p->patch.at.value; });
        if (after == windows.begin() || (*std::prev(after))->patch.at.value == user.rip)
            continue;
        Planted* planted = *std::prev(after);
        auto place = place_of(planted->patch, {user.rip});
        if (!place || place->kind != PatchPlace::window)
            continue;
        user.rip = planted->patch.moved[place->index].head.value;
        set_regs(thread->tid, user);
    }
}

void Agent::reclaim_trampolines(AddressSpace& space)
{
    for (Thread* thread : threads_in(space)) {
        user_regs_struct user;
        if (!thread->stopped || !get_regs(thread->tid, user) ||
            in_our_code(space, {user.rip}))
            return;
    }
    for (std::uint32_t site : space.patches.reclaim())
        space.runtime.free_site(site);
}

// Probes were removed: a window that serves nobody goes, a site that serves nobody in a
// window that others need is inert.
void Agent::remove_jumps(AddressSpace& space, const std::vector<Tracepoint*>& idle)
{
    std::vector<TargetAddr> windows;
    for (Tracepoint* tp : idle) {
        if (Planted* planted = window_over(space, *tp))
            windows.push_back(planted->patch.at);
        if (tp->site)
            space.runtime.set_firings(*tp->site, {});
    }
    std::sort(windows.begin(), windows.end());
    windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
    std::vector<TargetAddr> useless;
    for (TargetAddr window : windows) {
        const Planted* planted = space.patches.at(window);
        bool serves = std::any_of(planted->probed.begin(), planted->probed.end(),
                                  [&space](const Planted::Probed& probed) {
                                      Tracepoint* tp = space.find(probed.at);
                                      return tp != nullptr && tp->serves();
                                  });
        if (!serves)
            useless.push_back(window);
    }
    space.patches.take_out(space, useless);
}

} // namespace dt::agent
