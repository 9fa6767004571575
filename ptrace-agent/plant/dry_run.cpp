// SPDX-License-Identifier: MIT
// What planting would do, for a listing: its steps up to the writing, in an address space
// that is like the target's and is thrown away. The target runs meanwhile.
#include "ptrace-agent/plant/placement.hpp"
#include "ptrace-agent/plant/planter.hpp"

#include <algorithm>
#include <unistd.h>

namespace dt::agent {

// For a listing: nothing is mapped, what would be is remembered.
class SimulatedRoom : public Room {
public:
    explicit SimulatedRoom(pid_t pid) : mappings_(mappings_of(pid)) {}
    std::vector<Mapping> mappings() override { return mappings_; }
    bool map(TargetAddr at, std::uint64_t bytes, Holds) override
    {
        Mapping area;
        area.begin = at;
        area.end = at + bytes;
        mappings_.push_back(area);
        return true;
    }

private:
    std::vector<Mapping> mappings_;
};

// Only root may suspend a filter, as injection does; that it works is seen then.
static std::string runtime_refusal(pid_t pid)
{
    std::string status = read_proc_file(pid, "status");
    if (status_number(status, "Seccomp") == 0 || geteuid() == 0)
        return {};
    return "the runtime could not be put into it: it runs under seccomp, and only root "
           "may suspend its filter";
}

// The jumps of all that are fresh, as plan_jumps() has them, into plans.
static void plan_fresh(PlacedSites& work, const JumpReport& jumps, JumpPlan& plan,
                       const std::vector<Tracepoint*>& wanted, Mechanism mechanism,
                       std::vector<SitePlan>& plans)
{
    auto tell = [&](Tracepoint* tp, SitePlan told) {
        const bool led_past =
            told.form == SitePlan::jump && tp->loop_end.value != 0 && tp->led_past;
        if (told.form != SitePlan::refused && tp->loop_end.value != 0 && !led_past)
            told.text += "; also fires when a loop goes back to the first instruction";
        for (std::uint32_t index : work.sites_of(*tp))
            plans[index] = told;
    };
    for (Tracepoint* tp : work.fresh) {
        SitePlan plan = without_jump(*tp, jumps, mechanism);
        if (tp->purpose != Tracepoint::fires)
            plan.form = SitePlan::breakpoint; // it stands already
        tell(tp, plan);
    }
    PatchBuilder builder;
    for (std::size_t i = 0; i < plan.windows.size(); ++i) {
        if (plan.taken[i].n_bytes == 0)
            continue;
        const Window& window = plan.windows[i];
        auto patch = build_patch(work.space, window, plan.taken[i].place, builder);
        if (!patch)
            continue; // its sites have told the reason
        for (const WindowInsn& insn : window.insns) {
            if (insn.site)
                tell(wanted[*insn.site],
                     {SitePlan::jump, std::string(text_of(patch->form))});
        }
    }
}

// The agent's own breakpoints: the linker's becomes a jump with the first probe. False:
// there are probes, too.
static bool copy_breakpoints(const AddressSpace& from, AddressSpace& to,
                             std::vector<Tracepoint*>& linker)
{
    for (const Tracepoint* tp : from.tracepoints()) {
        if (!tp->firings.empty() || tp->site)
            return false;
        if (!tp->written)
            continue;
        Tracepoint& copy = to.add(tp->insn);
        copy.purpose = tp->purpose;
        copy.written = true;
        if (copy.purpose != Tracepoint::library_change)
            continue;
        see_padding(to, copy);
        linker.push_back(&copy);
    }
    return true;
}

// The planning of do_plant(), in an address space that is like the target's and is
// thrown away.
Reply Planter::plan(Reader& in, const std::vector<Fd>& fds)
{
    auto process = tracees_.find_target(in.get<pid_t>(), "plan probes in");
    if (!process)
        return process.error();
    auto mechanism = in.get<Mechanism>();
    auto list = SiteList::take(in, fds);
    if (!list)
        return list.error().during("plan probes");
    std::span<const Site> sites = list->all();
    AddressSpace& real = *(*process)->space;
    TracepointTable table;
    AddressSpace space(real.owner(), table);
    std::vector<Tracepoint*> standing;
    if (!copy_breakpoints(real, space, standing))
        return Error{Code::busy, "plan probes: some are planted already"};
    PlacedSites work(space);
    place_all(work, sites);
    work.fresh.insert(work.fresh.end(), standing.begin(), standing.end());
    std::vector<Tracepoint*> wanted;
    std::copy_if(work.fresh.begin(), work.fresh.end(), std::back_inserter(wanted),
                 [](Tracepoint* tp) { return can_jump(*tp); });
    std::sort(wanted.begin(), wanted.end(),
              [](Tracepoint* a, Tracepoint* b) { return a->at() < b->at(); });
    JumpReport jumps;
    JumpPlan plan;
    if (!by_traps(mechanism)) {
        jumps.note = runtime_refusal(space.proc_tid());
        for (Tracepoint* tp : wanted)
            jumps.reasons[tp->at()] = jumps.note.empty() ? no_room : jumps.note;
    }
    if (!by_traps(mechanism) && jumps.note.empty()) {
        SimulatedRoom room(space.proc_tid());
        PeriodicTask nothing;
        plan = plan_jumps(space, room, wanted, nothing);
        for (auto& [at, reason] : plan.refused)
            jumps.reasons[at] = reason;
    }
    std::vector<SitePlan> plans(sites.size());
    plan_fresh(work, jumps, plan, wanted, mechanism, plans);
    for (auto& [index, why] : work.refused)
        plans[index] = {SitePlan::refused, why};

    Writer out;
    for (const SitePlan& each : plans)
        out.put(each.form).text(each.text);
    return Body(out.body());
}

} // namespace dt::agent
