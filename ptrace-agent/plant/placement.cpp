// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/placement.hpp"

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/plant/statics.hpp"

#include <numeric>

namespace dt::agent {

// The maximum number of the agent's own tracepoints before it first plants probes.
constexpr std::size_t n_few = 4;

// Returns whether the text that is mapped at the address has changed since the client
// determined the sites in it.
static bool has_changed(const std::vector<SeenText>& seen, const Mapping* now,
                        TargetAddr at)
{
    auto after = std::upper_bound(
        seen.begin(), seen.end(), at,
        [](TargetAddr addr, const SeenText& text) { return addr < text.begin; });
    const bool was_there = after != seen.begin() && at < std::prev(after)->end;
    const bool is_there = now != nullptr && now->executable;
    if (!was_there || now == nullptr)
        return was_there || is_there;
    const SeenText& then = *std::prev(after);
    if (now->file.inode != then.inode || now->file.major != then.major ||
        now->file.minor != then.minor)
        return true;
    return now->file.inode != 0 &&
           now->offset + (at - now->begin) != then.offset + (at - then.begin);
}

// Makes a tracepoint for a site, or adds the site to `known`, an existing tracepoint.
// If the text has changed, only adds the site to work.gone. Returns the reason if the
// site is refused, otherwise an empty string.
static std::string place(PlacedSites& work, Tracepoint* known, std::uint32_t index,
                         const Site& site)
{
    Tracepoint* tp = known;
    const Mapping* mapping = find_mapping(work.mappings, site.at);
    if (!work.seen.empty() && has_changed(work.seen, mapping, site.at)) {
        work.gone.push_back(index);
        return {};
    }
    if (tp != nullptr && site.no_stack != 0 && tp->site)
        return "the probe needs a breakpoint, because Go code may have no free stack "
               "there, but another probe already has a jump at this address";
    if (tp != nullptr && tp->site && !work.space.runtime.has_session(work.session))
        return "another dtrace has a jump at this address, and the runtime in the "
               "process "
               "cannot serve this session";
    if (tp == nullptr) {
        if (site.never != NeverProbed::no)
            return std::string(text_of(site.never));
        if (mapping == nullptr || !mapping->executable)
            return "the address is not in executable memory";
        std::span<const std::byte> text = work.window.at(site.at);
        work.unreadable = work.unreadable || text.empty();
        std::size_t n_compared = std::min<std::size_t>(site.n_expected, 8);
        if (!std::equal(site.expected.begin(), site.expected.begin() + n_compared,
                        text.begin(), text.begin() + std::min(n_compared, text.size())))
            return "the instructions in memory differ from those in the file";
        auto insn = x86_64.decode(text, site.at);
        if (!insn)
            return insn.error().text;
        if (Displaced plan = x86_64.plan_displaced(*insn);
            plan.how == Displaced::refused)
            return std::string(plan.reason);
        tp = &work.space.tracepoints.add(*insn);
        tp->first = site.first;
        tp->end = site.end;
        tp->beyond = site.beyond;
        tp->further = site.further;
        tp->no_stack = site.no_stack != 0;
        tp->only_jump = site.only_jump != 0;
        if (site.kind == SiteKind::entry)
            tp->loop_end = {site.arg0};
        work.fresh.push_back(tp);
    }
    // Entry and return probes share the tracepoint with the probe at their offset.
    tp->only_jump = tp->only_jump && site.only_jump != 0;
    tp->may_be_breakpoint = tp->may_be_breakpoint || site.breakpoint != 0;
    if (!tp->site && (!tp->written || tp->purpose != Tracepoint::fires))
        work.sites.emplace_back(site.at, index);
    for (const Firing& firing : tp->firings) {
        if (firing.session == work.session && firing.probe == site.probe &&
            firing.kind == site.kind)
            return {}; // this probe is already planted here
    }
    std::uint64_t arg0 = site.kind == SiteKind::entry ? 0 : site.arg0;
    if (has_operands(site.kind)) {
        StaticFacts facts;
        if (arg0 < work.statics.sites.size())
            facts = work.statics.sites[arg0];
        auto operands = std::span<const dt_operand>(work.statics.operands);
        if (facts.first_operand > operands.size() ||
            facts.n_operands > operands.size() - facts.first_operand)
            facts.n_operands = facts.first_operand = 0;
        auto own = operands.subspan(facts.first_operand, facts.n_operands);
        std::vector<dt_operand> of_jump;
        if (site.kind == SiteKind::jump_out) {
            auto to = destination_of(tp->insn);
            if (!to || own.size() < 1 + operands_per_part)
                return "the destination of the indirect jump is unknown";
            of_jump.assign(own.begin(), own.end());
            // The client decoded the destination from the file. Use the one from the
            // target's memory.
            of_jump[0] = *to;
            own = of_jump;
        }
        auto entry = work.space.statics.add(site.at, facts, own);
        if (!entry)
            return "the table for arguments of static probes and indirect jumps is "
                   "full";
        arg0 = *entry;
    }
    tp->firings.push_back(
        {site.probe, site.kind, static_cast<std::uint8_t>(work.session), arg0});
    if (tp->site)
        work.grown.emplace_back(tp->at(), index);
    return {};
}

SitePlan without_jump(const Tracepoint& tp, const JumpReport& jumps,
                      Mechanism mechanism)
{
    if (tp.only_jump)
        return {SitePlan::refused,
                "no jump is possible there, and with breakpoints, loops in the vDSO "
                "that read the clock would hardly ever end"};
    if (mechanism == Mechanism::int3)
        return {SitePlan::breakpoint, "-x mechanism=int3"};
    if (mechanism == Mechanism::uprobe)
        return {SitePlan::breakpoint, "-x mechanism=uprobe"};
    bool unknown = tp.first.value == 0;
    auto why = jumps.reasons.find(tp.at());
    SitePlan plan{SitePlan::refused,
                  why != jumps.reasons.end() ? why->second
                  : tp.no_stack              ? "Go code may have no free stack there"
                  : unknown ? "the code around the instruction is unknown"
                            : "no jump can replace the instruction"};
    if (mechanism == Mechanism::automatic) {
        const bool surrounded = !unknown || tp.no_stack;
        if (!surrounded || !jumps.note.empty() || tp.may_be_breakpoint)
            plan.form = SitePlan::breakpoint;
        else
            plan.text += "; -x mechanism=any sets a breakpoint";
    }
    return plan;
}

void place_all(PlacedSites& work, std::span<const Site> sites, PeriodicTask periodic)
{
    work.mappings = mappings_of(work.space.proc_tid());
    work.space.tracepoints.expect(sites.size());
    std::vector<std::uint32_t> order(sites.size());
    std::iota(order.begin(), order.end(), 0u);
    auto before = [&sites](auto a, auto b) { return sites[a].at < sites[b].at; };
    if (!std::is_sorted(order.begin(), order.end(), before))
        std::stable_sort(order.begin(), order.end(), before);
    work.fresh.reserve(sites.size());
    work.sites.reserve(sites.size());
    // Looking up each site in the table is slow. If only the agent's own tracepoints
    // exist, a short list is searched instead.
    const bool any_there = work.space.tracepoints.size() > n_few;
    const std::vector<Tracepoint*> few =
        any_there ? std::vector<Tracepoint*>() : work.space.tracepoints.all();
    auto known = [&](TargetAddr at) -> Tracepoint* {
        if (!work.fresh.empty() && work.fresh.back()->at() == at)
            return work.fresh.back();
        if (any_there)
            return work.space.tracepoints.find(at);
        auto it = std::find_if(few.begin(), few.end(),
                               [at](const Tracepoint* tp) { return tp->at() == at; });
        return it == few.end() ? nullptr : *it;
    };
    for (std::uint32_t index : order) {
        periodic();
        const Site& site = sites[index];
        if (std::string reason = place(work, known(site.at), index, site);
            !reason.empty())
            work.refused.emplace_back(index, std::move(reason));
    }
}

bool is_fired_by_loops(const Tracepoint& tp)
{
    return tp.loop_end.value != 0 && !(tp.site && tp.led_past);
}

} // namespace dt::agent
