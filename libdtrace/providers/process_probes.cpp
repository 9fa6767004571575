// SPDX-License-Identifier: MIT
#include "libdtrace/providers/process_probes.hpp"

#include "libdtrace/providers/registry.hpp"

#include <algorithm>
#include <utility>

namespace dt {

bool ProcessProbe::has_site(TargetAddr at) const
{
    return std::any_of(sites.begin(), sites.end(),
                       [at](const ProbeSite& site) { return site.at == at; });
}

void ProcessProbe::set_planted(TargetAddr at, bool planted)
{
    for (ProbeSite& site : sites)
        if (site.at == at)
            site.planted = planted;
}

const ProcessProbe* ProcessProbes::probe(std::uint32_t id) const
{
    return id < probes_.size() && probes_[id].pid != 0 ? &probes_[id] : nullptr;
}

ProcessProbe* ProcessProbes::probe(std::uint32_t id)
{
    return const_cast<ProcessProbe*>(std::as_const(*this).probe(id));
}

std::vector<std::uint32_t> ProcessProbes::of_process(pid_t pid) const
{
    std::vector<std::uint32_t> all;
    if (auto known = ids_.find(pid); known != ids_.end())
        for (const auto& [module, ids] : known->second)
            all.insert(all.end(), ids.begin(), ids.end());
    sort_ids(all);
    return all;
}

void ProcessProbes::reserve(std::size_t n_probes)
{
    if (n_probes + 1 > probes_.capacity())
        probes_.reserve(std::max(n_probes + 1, 2 * probes_.capacity()));
}

void ProcessProbes::add(std::uint32_t id, pid_t pid, const Module* module,
                        std::vector<ProbeSite> sites)
{
    if (id >= probes_.size())
        probes_.resize(id + 1);
    ProcessProbe& probe = probes_[id];
    probe.pid = pid;
    ids_[pid][module].push_back(id);
    if (probe.sites.empty()) {
        probe.sites = std::move(sites);
        return;
    }
    // Static functions with the same name share the probe.
    for (const ProbeSite& site : sites)
        if (!probe.has_site(site.at))
            probe.sites.push_back(site);
}

void ProcessProbes::inherit(pid_t parent, pid_t child)
{
    std::set<TargetAddr> sites;
    if (auto grand = inherited_.find(parent); grand != inherited_.end())
        sites = grand->second;
    for (std::uint32_t id : of_process(parent))
        for (const ProbeSite& site : probes_[id].sites)
            if (site.kind == ProbeSiteKind::Static && site.planted)
                sites.insert(site.at);
    if (!sites.empty())
        inherited_[child] = std::move(sites);
}

bool ProcessProbes::is_inherited(pid_t pid, TargetAddr at) const
{
    auto known = inherited_.find(pid);
    return known != inherited_.end() && known->second.contains(at);
}

void ProcessProbes::drop_gone(const ProcessSymbols& symbols)
{
    const pid_t pid = symbols.pid();
    if (auto inherited = inherited_.find(pid); inherited != inherited_.end())
        std::erase_if(inherited->second, [&symbols](TargetAddr at) {
            return symbols.module_at(at) == nullptr;
        });
    auto known = ids_.find(pid);
    if (known == ids_.end())
        return;
    std::erase_if(known->second, [this](const auto& of_module) {
        const auto& [module, ids] = of_module;
        if (module->live)
            return false;
        for (std::uint32_t id : ids)
            std::erase_if(probes_[id].sites, [module = module](const ProbeSite& site) {
                return module->contains(site.at);
            });
        return true;
    });
}

void ProcessProbes::forget(pid_t pid)
{
    for (std::uint32_t id : of_process(pid))
        probes_[id].sites.clear();
    ids_.erase(pid);
    inherited_.erase(pid);
}

// Looks up a module only if the previous site was in another module.
void ProcessProbes::find_extents(ProcessSymbols& symbols,
                                 std::span<const std::uint32_t> ids)
{
    const Module* module = nullptr; // the module of the previous site
    const ExtentMap* extents = nullptr;
    for (std::uint32_t id : ids) {
        if (id >= probes_.size() || probes_[id].pid != symbols.pid())
            continue;
        for (ProbeSite& site : probes_[id].sites) {
            // Only jumps need extents. A no_stack site gets a breakpoint, so it does
            // not need them. But a report needs loop_end of an entry site.
            if (site.end != TargetAddr{} ||
                (site.no_stack && site.kind != ProbeSiteKind::Entry))
                continue;
            if (module == nullptr || !module->contains(site.at)) {
                module = symbols.module_at(site.at);
                if (module == nullptr || module->image == nullptr) {
                    module = nullptr;
                    continue;
                }
                extents = extents_.of(module->image);
            }
            if (extents != nullptr)
                set_extent(site, *module, *extents);
        }
    }
}

void set_extent(ProbeSite& site, const Module& module, const ExtentMap& extents)
{
    const TargetAddr at{module.link_addr(site.at)};
    if (site.kind == ProbeSiteKind::Entry)
        if (TargetAddr end = extents.loop_end(at); end.value != 0)
            site.loop_end = module.target_addr(end.value);
    if (site.no_stack)
        return;
    const Extent extent = extents.extent(at);
    site.restartable = extents.is_restartable(at);
    // A static probe's site is code, because its note says so.
    site.unknown = site.kind != ProbeSiteKind::Static && !extents.is_code(at);
    site.first = module.target_addr(extent.first.value);
    site.end = module.target_addr(extent.end.value);
    const TargetAddr beyond = extents.extent(extent.end).end;
    site.beyond = module.target_addr(beyond.value);
    site.further = extents.blocks_from(beyond);
}

} // namespace dt
