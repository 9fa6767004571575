// SPDX-License-Identifier: MIT
// What happens to targets: sites planted, libraries that come and go, exec, exit.
#include "libdtrace/api/session.hpp"

#include "dif/dof.h"
#include "libdtrace/api/clock.hpp"

#include <cstring>
#include <sys/wait.h>
#include <utility>

static constexpr std::uint64_t max_handling_ns = 100'000'000;

dt::Site dt::site_of(std::uint32_t probe, const PidSite& at)
{
    Site site;
    site.at = at.at;
    site.probe = probe;
    site.kind = at.kind == PidSiteKind::Entry    ? SiteKind::entry
                : at.kind == PidSiteKind::Return ? SiteKind::ret
                                                 : SiteKind::offset;
    site.arg0 = static_cast<std::uint64_t>(at.offset);
    site.first = at.first;
    site.end = at.end;
    site.beyond = at.beyond;
    site.restartable = at.restartable;
    return site;
}

dt::Mechanism dt::mechanism_of(const Options& options)
{
    if (options.mechanism == "int3")
        return Mechanism::int3;
    return options.mechanism == "jump" ? Mechanism::jump : Mechanism::automatic;
}

// The sites of all enabled probes of a process that are not in place yet.
static std::vector<dt::Site> missing_sites(dtrace_hdl& session,
                                           const ps_prochandle& process)
{
    std::vector<std::uint32_t> ids;
    for (std::uint32_t id = 1; id <= session.registry.size(); id++) {
        const dt::PidProbe* probe =
            session.registry.at(id).enabled ? session.pid_provider.probe(id) : nullptr;
        if (probe != nullptr && probe->pid == process.pid)
            ids.push_back(id);
    }
    if (process.symbols != nullptr)
        session.pid_provider.find_extents(*process.symbols, ids);
    std::vector<dt::Site> sites;
    for (std::uint32_t id : ids) {
        const dt::PidProbe* probe = session.pid_provider.probe(id);
        for (const dt::PidSite& at : probe->sites)
            if (process.planted.count({at.at, id}) == 0)
                sites.push_back(dt::site_of(id, at));
    }
    return sites;
}

// Does an enabled description name the process?
static bool describes(const dtrace_hdl& session, pid_t pid)
{
    std::string provider = "pid" + std::to_string(pid);
    for (const dt::Enabling& each : session.enabled)
        for (const auto& clause : each.prog->program->clauses)
            for (const dt::ProbeSpec& spec : clause.probes)
                if (spec.provider == provider)
                    return true;
    return false;
}

// The text that sites were made from.
static std::vector<dt::SeenText> seen_text(const ps_prochandle& process)
{
    std::vector<dt::SeenText> seen;
    if (process.symbols == nullptr)
        return seen;
    for (const dt::Mapping& m : process.symbols->maps().all()) {
        if (m.executable)
            seen.push_back(
                {m.begin, m.end, m.offset, m.file.major, m.file.minor, m.file.inode});
    }
    return seen;
}

int dtrace_hdl::plant(ps_prochandle* process)
{
    std::vector<dt::Site> sites = missing_sites(*this, *process);
    // The agent watches libraries from the first call on, also when nothing is there yet
    // that a description could match.
    if (sites.empty() && (process->watched || !describes(*this, process->pid)))
        return 0;
    process->watched = true;
    if (options.follow == "fork") {
        auto followed = processes.agent()->follow(process->pid);
        if (!followed && followed.error().code != dt::Code::gone)
            return fail(followed.error());
    }
    auto planted = processes.agent()->plant(process->pid, sites, mechanism_of(options),
                                            seen_text(*process));
    if (!planted) {
        if (planted.error().code == dt::Code::gone)
            return 0; // its exit is reported as an event
        return fail(planted.error());
    }
    auto gone = planted->gone.begin();
    for (std::uint32_t i = 0; i < sites.size(); i++) {
        if (gone != planted->gone.end() && *gone == i)
            ++gone;
        else
            process->planted.insert({sites[i].at, sites[i].probe});
    }
    constexpr std::size_t max_told = 10;
    for (std::size_t i = 0; i < planted->refused.size(); i++) {
        if (i == max_told) {
            report_process(process,
                           "and " + std::to_string(planted->refused.size() - max_told) +
                               " more places that cannot be probed");
            break;
        }
        const dt::Refusal& refusal = planted->refused[i];
        if (refusal.site >= sites.size())
            continue;
        const dt::ProbeInfo& probe = registry.at(sites[refusal.site].probe);
        report_process(process,
                       "cannot probe " + probe.provider + ":" + probe.module + ":" +
                           probe.function + ":" + probe.name + " at " +
                           processes.uaddr(static_cast<std::uint64_t>(process->pid),
                                           sites[refusal.site].at.value) +
                           ": " + refusal.reason);
    }
    for (const std::string& note : pid_provider.take_notes())
        report_process(process, note);
    return 0;
}

void dtrace_hdl::unplant(ps_prochandle* process)
{
    std::vector<dt::Site> sites;
    for (const auto& [at, probe] : process->planted) {
        dt::Site site;
        site.at = at;
        site.probe = probe;
        sites.push_back(site);
    }
    process->planted.clear();
    if (auto removed = processes.agent()->remove(process->pid, sites);
        !removed && removed.error().code != dt::Code::gone)
        report_process(process, removed.error().text);
}

// After dlopen or dlclose: the descriptions of this process once more, over the libraries
// that are there now.
void dtrace_hdl::rematch(pid_t pid)
{
    ps_prochandle* process = processes.find(pid);
    if (process == nullptr || !process->alive || process->symbols == nullptr)
        return;
    if (!process->symbols->refresh())
        return;
    std::string provider = "pid" + std::to_string(pid);
    pid_provider.forget_sites(pid);
    pid_provider.zdefs = true;
    matches.clear();
    for (const dt::Enabling& each : enabled) {
        dtrace_prog* prog = each.prog;
        for (std::size_t k = 0; k < prog->program->clauses.size(); k++) {
            for (const dt::ProbeSpec& spec : prog->program->clauses[k].probes) {
                if (spec.provider != provider)
                    continue;
                auto found = match(spec);
                auto* hit = std::get_if<dt::ProbeMatch>(&found);
                if (hit == nullptr)
                    continue;
                if (add_new_probes() != 0) {
                    complain(error_text);
                    return;
                }
                for (std::uint32_t id : hit->ids) {
                    if (!each.loaded ||
                        dt_ecb_add(arena->base(), id,
                                   each.first_clause + static_cast<dt_u32>(k)) == 0)
                        continue;
                    registry.at(id).enabled = true;
                }
            }
        }
    }
    // Sites whose text is gone: the agent forgot them with the mapping.
    std::set<std::pair<dt::TargetAddr, std::uint32_t>> still;
    for (const auto& [at, id] : process->planted) {
        const dt::PidProbe* probe = pid_provider.probe(id);
        for (const dt::PidSite& site : probe->sites)
            if (site.at == at)
                still.insert({at, id});
    }
    process->planted = std::move(still);
}

void dtrace_hdl::report_process(ps_prochandle* process, const std::string& text)
{
    if (on_proc.func != nullptr)
        on_proc.func(process, text.c_str(), on_proc.arg);
}

// A program that loads libraries all the time makes events faster than they are handled:
// what is left waits until records were drained.
void dtrace_hdl::handle_agent_events()
{
    dt::AgentClient* agent = processes.agent();
    if (agent == nullptr)
        return;
    for (std::uint64_t began = dt::monotonic_ns();
         dt::monotonic_ns() - began < max_handling_ns;) {
        auto next = agent->next_event();
        if (!next) {
            complain(next.error().text);
            return;
        }
        if (!*next)
            return;
        const dt::AgentEvent& event = **next;
        ps_prochandle* process = processes.find(event.pid);
        switch (event.kind) {
        case dt::AgentEvent::exited:
            if (process == nullptr || !process->alive)
                break;
            process->alive = false;
            process->status = event.status;
            process->planted.clear();
            if (on_proc.func != nullptr)
                on_proc.func(process, nullptr, on_proc.arg);
            break;
        case dt::AgentEvent::execed:
            if (process == nullptr)
                break;
            if (process->followed != 0) {
                process->alive = false; // the agent let it go
                break;
            }
            pid_provider.forget_sites(event.pid);
            process->planted.clear();
            // Fails when it has ended since; its exited event is on the way, and is what
            // says so.
            (void)process->symbols->refresh();
            break;
        case dt::AgentEvent::libraries_changed: {
            if (active && !stopped) {
                rematch(event.pid);
                if (process != nullptr && plant(process) != 0)
                    complain(error_text);
            } else if (process != nullptr && process->symbols != nullptr) {
                (void)process->symbols->refresh();
            }
            if (auto resumed = agent->resume_after_library_change(event.pid); !resumed)
                complain(resumed.error().text);
            break;
        }
        case dt::AgentEvent::forked:
            if (event.status != 0)
                processes.follow(event.pid, event.child);
            break;
        case dt::AgentEvent::agent_error:
            report_process(process, event.text);
            break;
        case dt::AgentEvent::agent_gone:
            complain("the process that holds the targets died: " + event.text);
            // They may live on, but as far as we are concerned all have ended.
            for (const auto& other : processes.all()) {
                if (!std::exchange(other->alive, false))
                    continue;
                other->status = -1;
                other->planted.clear();
                if (on_proc.func != nullptr)
                    on_proc.func(other.get(), nullptr, on_proc.arg);
            }
            return;
        }
    }
}
