// SPDX-License-Identifier: MIT
// Tracepoints as jumps: what was planned (jump_plan.hpp) is written, and taken back.
//
// All threads stand still. Sites that cannot have a jump are left to the breakpoint,
// with the reason. A site inside a window that stands already has that window planned
// again, both sites together. A thread that stands inside a new window goes on in the
// moved copy, at the instruction that it was about to run.
#include "ptrace-agent/agent.hpp"

#include "ptrace-agent/jump_plan.hpp"
#include "ptrace-agent/proc_files.hpp"
#include "ptrace-agent/runtime/image.hpp"
#include "ptrace-agent/tracing.hpp"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace dt::agent {

// Mapped by a system call that the target makes.
class Agent::MappedRoom : public Room {
public:
    MappedRoom(Agent& agent, StoppedWorld& world) : agent_(agent), world_(world) {}

    std::vector<Mapping> mappings() override
    {
        return mappings_of(world_.space().speaker());
    }
    bool map(TargetAddr at, std::uint64_t bytes, Holds holds) override
    {
        AddressSpace& space = world_.space();
        Thread* thread = world_.any_thread();
        if (thread == nullptr)
            return false;
        auto mapped = agent_.inject(
            *thread, SYS_mmap,
            {at.value, bytes, PROT_READ | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, ~0ull,
             0});
        if (!mapped || *mapped > ~4095ull)
            return false;
        std::uint64_t enter = space.runtime.image.value + runtime_header().enter;
        // At another place: a kernel that does not know the flag.
        if (*mapped == at.value &&
            (holds == Holds::stubs ||
             space.write_text(at, std::as_bytes(std::span(&enter, 1)))))
            return true;
        (void)agent_.inject(*thread, SYS_munmap, {*mapped, bytes, 0, 0, 0, 0});
        return false;
    }

private:
    Agent& agent_;
    StoppedWorld& world_;
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
    if (!tp.site)
        return false;
    std::vector<dt_rt_firing> firings = firings_of(tp);
    if (!space.runtime.set_firings(*tp.site, firings))
        return false;
    compile_site(space, *tp.site, firings);
    return true;
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
    Tracepoint* tp = space.find(space.linker_stop);
    if (tp == nullptr || tp->purpose != Tracepoint::library_change || !tp->written)
        return nullptr;
    see_padding(space, *tp);
    return tp;
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

JumpReport Agent::plant_jumps(StoppedWorld& world, std::vector<Tracepoint*>& fresh)
{
    AddressSpace& space = world.space();
    JumpReport report;
    std::vector<Tracepoint*> wanted;
    std::copy_if(fresh.begin(), fresh.end(), std::back_inserter(wanted),
                 [](Tracepoint* tp) { return can_jump(*tp); });
    // No breakpoint of ours is to stand where a jump can.
    if (Tracepoint* linker = linker_tracepoint(space))
        wanted.push_back(linker);
    if (wanted.empty())
        return report;
    if (auto ready = ensure_runtime(world); !ready) {
        std::string why = "the runtime could not be put into it: " + ready.error().text;
        for (Tracepoint* tp : wanted) {
            report.reasons[tp->at()] = why;
            if (tp->purpose == Tracepoint::fires)
                report.note = why;
        }
        return report;
    }
    if (Tracepoint* linker = linker_tracepoint(space)) {
        space.restore_originals({linker});
        fresh.push_back(linker);
    }
    reclaim_trampolines(space);
    clear_way(space, fresh, wanted);
    MappedRoom room(*this, world);
    JumpPlan plan = plan_jumps(space, room, wanted);
    report.reasons = std::move(plan.refused);
    std::vector<std::unique_ptr<Planted>> all;
    for (const PlacedWindow& placed : plan.windows) {
        if (auto planted = build(space, placed, wanted)) {
            all.push_back(std::move(planted));
            continue;
        }
        for (const WindowInsn& insn : placed.window.insns) {
            if (insn.site)
                report.reasons[wanted[*insn.site]->at()] = no_room;
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
    report.spent = std::make_shared<JumpPlan>(std::move(plan));
    for (Tracepoint* tp : wanted) {
        if (!tp->site && std::find(fresh.begin(), fresh.end(), tp) == fresh.end())
            fresh.push_back(tp);
    }
    return report;
}

// Null: the site table is full, or an instruction cannot be moved there.
std::unique_ptr<Planted> Agent::build(AddressSpace& space, PlacedWindow placed,
                                      const std::vector<Tracepoint*>& wanted)
{
    std::size_t bytes = trampoline_bytes(placed.window);
    auto planted = std::make_unique<Planted>();
    for (WindowInsn& insn : placed.window.insns) {
        if (!insn.site)
            continue;
        TargetAddr site = wanted[*insn.site]->at(); // an endbr64, where there is one
        auto number = space.runtime.add_site(site);
        if (!number) {
            space.patches.space().give_back(placed.place, bytes);
            return nullptr;
        }
        insn.site = *number;
        planted->probed.push_back({*number, site});
    }
    auto patch = build_patch(space, placed);
    if (!patch) {
        space.patches.space().give_back(placed.place, bytes);
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
