// SPDX-License-Identifier: MIT
#include "libdtrace/session/sites.hpp"

#include "libdtrace/symbols/glob.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace dt {

Site site_of(std::uint32_t probe, const ProbeSite& at)
{
    Site site;
    site.at = at.at;
    site.probe = probe;
    site.kind = at.kind == ProbeSiteKind::Entry          ? SiteKind::entry
                : at.kind == ProbeSiteKind::Return       ? SiteKind::ret
                : at.kind == ProbeSiteKind::Static       ? SiteKind::static_probe
                : at.kind == ProbeSiteKind::SystemCall   ? SiteKind::system_call
                : at.kind == ProbeSiteKind::SystemReturn ? SiteKind::system_return
                                                         : SiteKind::offset;
    site.arg0 = static_cast<std::uint64_t>(at.offset);
    if (at.kind == ProbeSiteKind::Entry)
        site.arg0 = at.loop_end.value;
    site.first = at.first;
    site.end = at.end;
    site.beyond = at.beyond;
    site.further = at.further;
    site.never = at.restartable ? NeverProbed::restartable
                 : at.unknown   ? NeverProbed::no_known_code
                                : NeverProbed::no;
    site.no_stack = at.no_stack ? 1 : 0;
    site.only_jump = at.only_jump ? 1 : 0;
    return site;
}

Mechanism mechanism_of(const Options& options)
{
    switch (options.mechanism) {
    case MechanismOption::uprobe:
        return Mechanism::uprobe;
    case MechanismOption::int3:
        return Mechanism::int3;
    case MechanismOption::jump:
        return Mechanism::jump;
    case MechanismOption::automatic:
    case MechanismOption::any:
        break;
    }
    return Mechanism::automatic;
}

// Adds the data of a site to the table. Returns the index of the new entry.
static std::uint64_t add_static(StaticTable& table, const StaticArguments& from)
{
    table.sites.push_back({from.semaphore,
                           static_cast<std::uint32_t>(table.operands.size()),
                           static_cast<std::uint32_t>(from.operands.size())});
    table.operands.insert(table.operands.end(), from.operands.begin(),
                          from.operands.end());
    return table.sites.size() - 1;
}

// Appends the sites of the enabled probes that fire at system calls. A thread that maps a
// library waits until the library's calls have sites, too.
static void add_missing_calls(SessionState& state, ps_prochandle& process,
                              std::vector<Site>& sites)
{
    std::vector<CallProbe> enabled = state.providers.syscall.enabled();
    std::ranges::move(state.providers.tasks.enabled_calls(),
                      std::back_inserter(enabled));
    if (enabled.empty() || !state.syscalls_fire_in_targets() ||
        process.symbols == nullptr)
        return;
    SyscallSites& calls = state.providers.syscall_sites;
    auto add = [&](const ProbeSite& at, std::uint32_t probe, std::uint64_t arg0,
                   std::optional<SiteKind> kind = std::nullopt) {
        if (calls.is_planted(process.pid, at.at, probe))
            return;
        sites.push_back(site_of(probe, at));
        sites.back().arg0 = arg0;
        sites.back().breakpoint = 1;
        if (kind)
            sites.back().kind = *kind;
    };
    constexpr std::uint32_t sys_mmap = 9; // maps the text of libraries
    const bool any_return = std::ranges::any_of(enabled, &CallProbe::returns);
    for (const SyscallSite& site : calls.of_process(*process.symbols)) {
        if (site.number == sys_mmap)
            add(site.after, 0, 0, SiteKind::new_text);
        // A block begins at the address if a branch leads there.
        const bool is_branched_to = site.after.first == site.after.at;
        for (const CallProbe& call : enabled) {
            std::uint64_t arg0 = call.task_call;
            if (!site.number && call.task_call == 0)
                continue; // ProcessBackend::plant() sends these probes
            if (!site.number)
                arg0 |= any_call;
            else if (std::ranges::find(call.numbers, *site.number) ==
                     call.numbers.end())
                continue;
            else
                arg0 |=
                    *site.number | (call.returns && is_branched_to ? check_return : 0);
            add(call.returns ? site.after : site.call, call.probe, arg0);
        }
        if (!site.number) {
            add(site.call, 0, any_call);
            if (any_return)
                add(site.after, 0, any_call);
        }
    }
}

// Returns the ids of the probes that the user named individually, in ascending order.
// The description of such a probe contains its id, or its function without a wildcard.
static std::vector<std::uint32_t> named_probes(const SessionState& state)
{
    std::vector<std::uint32_t> named;
    for (const Enabling& each : state.enabled) {
        const auto& clauses = each.prog->program->clauses;
        for (std::size_t k = 0; k < each.prog->matched.size(); k++) {
            const auto& specs = clauses[k].probes;
            auto is_named = [](const ProbeSpec& spec) {
                return spec.id != 0 ||
                       (!spec.function.empty() && !is_glob(spec.function));
            };
            auto n = std::count_if(specs.begin(), specs.end(), is_named);
            if (n == 0)
                continue;
            // If every description of the clause is of this kind, all matched probes
            // are taken. Names are then not compared, because a description may name an
            // alias of the function.
            bool all = n == std::ssize(specs);
            for (std::uint32_t id : each.prog->matched[k]) {
                auto fits = [&](const ProbeSpec& spec) {
                    return is_named(spec) &&
                           (spec.id == id ||
                            spec.function == state.registry.at(id).function);
                };
                if (all || std::any_of(specs.begin(), specs.end(), fits))
                    named.push_back(id);
            }
        }
    }
    sort_ids(named);
    return named;
}

std::vector<Site> missing_sites(SessionState& state, ps_prochandle& process,
                                StaticTable& statics)
{
    std::vector<std::uint32_t> ids = std::exchange(process.unplanted, {});
    sort_ids(ids);
    std::erase_if(ids,
                  [&](std::uint32_t id) { return !state.registry.at(id).enabled; });
    if (process.symbols != nullptr)
        state.probes.find_extents(*process.symbols, ids);
    std::vector<Site> sites;
    sites.reserve(ids.size()); // most probes have one site
    const bool any = state.options.mechanism == MechanismOption::any;
    const std::vector<std::uint32_t> named =
        any ? std::vector<std::uint32_t>() : named_probes(state);
    for (std::uint32_t id : ids) {
        const ProcessProbe* probe = state.probes.probe(id);
        const bool breakpoint =
            any || std::binary_search(named.begin(), named.end(), id) ||
            state.registry.at(id).owner == &state.providers.plockstat;
        for (const ProbeSite& at : probe->sites) {
            if (at.planted)
                continue;
            sites.push_back(site_of(id, at));
            sites.back().breakpoint = breakpoint && !at.only_jump ? 1 : 0;
            if (at.arguments == nullptr)
                continue;
            sites.back().arg0 = add_static(statics, *at.arguments);
            if (at.kind == ProbeSiteKind::Return)
                sites.back().kind = SiteKind::jump_out;
        }
    }
    add_missing_calls(state, process, sites);
    return sites;
}

std::vector<SeenText> seen_text(const ps_prochandle& process)
{
    std::vector<SeenText> seen;
    if (process.symbols == nullptr)
        return seen;
    for (const Mapping& m : process.symbols->maps().all()) {
        if (m.executable)
            seen.push_back(
                {m.begin, m.end, m.offset, m.file.major, m.file.minor, m.file.inode});
    }
    return seen;
}

} // namespace dt
