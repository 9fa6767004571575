// SPDX-License-Identifier: MIT
// Planter::plan(): reports how each site would be probed.
//
// plan() takes the same steps as Planter::plant(), but it works on a temporary
// AddressSpace with copies of the agent's own breakpoints. It does not write to the
// target, which continues to run.
#include "ptrace-agent/confine/confinement.hpp"
#include "ptrace-agent/hold/guests.hpp"
#include "ptrace-agent/plant/placement.hpp"
#include "ptrace-agent/plant/planter.hpp"
#include "ptrace-agent/plant/site_extents.hpp"

#include <algorithm>
#include <linux/capability.h>
#include <unistd.h>

namespace dt::agent {

// Records the areas that planting would map, and maps nothing.
class SimulatedRoom : public Room {
public:
    explicit SimulatedRoom(pid_t pid) : mappings_(mappings_of(pid)) {}
    std::vector<Mapping> mappings() override { return mappings_; }
    bool map(TargetAddr at, std::uint64_t bytes, Holds) override
    {
        Mapping area;
        area.begin = at;
        area.end = at + bytes;
        // find_mapping() needs the mappings in ascending order.
        auto after = [](const Mapping& a, const Mapping& b) {
            return a.begin < b.begin;
        };
        mappings_.insert(
            std::upper_bound(mappings_.begin(), mappings_.end(), area, after), area);
        return true;
    }

private:
    std::vector<Mapping> mappings_;
};

// Returns why the runtime cannot be loaded into the process, or an empty string. Checks
// only for a seccomp filter, which the agent can suspend only with CAP_SYS_ADMIN.
static std::string runtime_refusal(pid_t pid)
{
    std::string status = read_proc_file(pid, "status");
    const std::string own = read_proc_file(tracer_pid(), "status");
    const std::uint64_t held = status_number(own, "CapEff", 0, 16);
    if (status_number(status, "Seccomp") == 0 || (held >> CAP_SYS_ADMIN & 1) != 0)
        return {};
    return "the runtime cannot be loaded into the process: it runs under seccomp, and "
           "dtrace cannot suspend its filter, which requires CAP_SYS_ADMIN";
}

// Fills in the plans for the sites of all new tracepoints.
static void plan_fresh(PlacedSites& work, const JumpReport& jumps, JumpPlan& plan,
                       const std::vector<Tracepoint*>& wanted, Mechanism mechanism,
                       std::vector<SitePlan>& plans)
{
    auto set_plan = [&](Tracepoint* tp, SitePlan site_plan) {
        const bool led_past =
            site_plan.form == SitePlan::jump && tp->loop_end.value != 0 && tp->led_past;
        if (site_plan.form != SitePlan::refused && tp->loop_end.value != 0 && !led_past)
            site_plan.text +=
                "; also fires when a loop goes back to the first instruction";
        for (std::uint32_t index : work.sites_of(*tp))
            plans[index] = site_plan;
    };
    for (Tracepoint* tp : work.fresh) {
        SitePlan site_plan = without_jump(*tp, jumps, mechanism);
        if (tp->purpose != Tracepoint::fires)
            site_plan.form = SitePlan::breakpoint; // the agent has already written it
        set_plan(tp, site_plan);
    }
    PatchBuilder builder;
    for (std::size_t i = 0; i < plan.windows.size(); ++i) {
        if (plan.taken[i].n_bytes == 0)
            continue;
        const Window& window = plan.windows[i];
        auto patch = build_patch(work.space, window, plan.taken[i].place, builder);
        if (!patch)
            continue; // the sites of this window keep the plan without a jump
        for (const WindowInsn& insn : window.insns) {
            if (insn.site)
                set_plan(wanted[*insn.site],
                         {SitePlan::jump, std::string(text_of(patch->form))});
        }
    }
}

// Copies the agent's own breakpoints. Adds the breakpoint in the dynamic linker to
// `linker`, because planting replaces it with a jump. Returns false if the process
// already has probes.
static bool copy_breakpoints(const AddressSpace& from, AddressSpace& to,
                             std::vector<Tracepoint*>& linker)
{
    for (const Tracepoint* tp : from.tracepoints.all()) {
        if (!tp->firings.empty() || tp->site)
            return false;
        if (!tp->written)
            continue;
        Tracepoint& copy = to.tracepoints.add(tp->insn);
        copy.purpose = tp->purpose;
        copy.written = true;
        if (copy.purpose != Tracepoint::library_change)
            continue;
        see_padding(to, copy);
        linker.push_back(&copy);
    }
    return true;
}

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
    if (auto may = check_number(tracees_, sites.size()); !may)
        return may.error().during("plan probes");
    AddressSpace& real = *(*process)->space;
    TracepointTable table;
    AddressSpace space(real.owner(), table);
    std::vector<Tracepoint*> linker;
    if (!copy_breakpoints(real, space, linker))
        return Error{Code::busy, "plan probes: the process already has probes"};
    PlacedSites work(space, tracees_.sessions().current().number);
    place_all(work, sites);
    work.fresh.insert(work.fresh.end(), linker.begin(), linker.end());
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
        PeriodicTask no_task;
        plan = plan_jumps(space, room, wanted, no_task);
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
