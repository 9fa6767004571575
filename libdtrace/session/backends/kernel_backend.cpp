// SPDX-License-Identifier: MIT
#include "libdtrace/session/backends/kernel_backend.hpp"

#include "libdtrace/session/backends/local_host.hpp"
#include "libdtrace/session/backends/uprobes.hpp"
#include "libdtrace/session/debug.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace dt {

dt_arena_config kernel_arena_config(const SessionState& state)
{
    dt_arena_config config{};
    std::size_t n_clauses = 0, n_ecbs = 0, n_bytes = 0;
    for (const Enabling& each : state.enabled) {
        n_clauses += each.prog->program->clauses.size();
        n_bytes += write_dof(*each.prog->program, 0).size();
        for (const auto& ids : each.prog->matched)
            n_ecbs += ids.size();
    }
    // Leaves space for the probes of modules that are loaded later.
    constexpr std::size_t more = 4096, name_bytes = 64;
    auto count = [](std::size_t n) { return static_cast<dt_u32>(n); };
    config.max_probes = count(state.registry.size() + more);
    config.max_ecbs = count(n_ecbs + more);
    config.max_clauses = count(n_clauses + 64);
    config.max_vars = 1u << 14;
    config.heap_bytes = (1 << 20) + 4 * n_bytes + config.max_probes * name_bytes;
    config.globals_bytes = 4 << 20;
    config.locals_bytes = 256 << 10;
    for (int i = 0; i < DTRACEOPT_N; i++)
        config.options[i] = state.options.run_time(i);
    return config;
}

// Uses the arena of the device, and begins to pass unwind tables to the module.
void KernelBackend::use(ArenaMemory arena)
{
    s_.arena.emplace(std::move(arena));
    unwind_.emplace(*s_.kernel);
}

std::uint32_t KernelBackend::owner() const
{
    return LocalHost(s_.arena->base()).owner();
}

int KernelBackend::make_arena()
{
    if (s_.options.run_time(DTRACEOPT_strsize) > DTK_MAX_STRSIZE)
        return s_.fail(
            EDT_BADOPTVAL,
            "strsize may be at most 64k if the program runs in the kernel, because "
            "interrupts are disabled while a string is copied");
    dt_arena_config config = kernel_arena_config(s_);
    static constexpr int resizable[] = {DTRACEOPT_bufsize, DTRACEOPT_aggsize,
                                        DTRACEOPT_specsize, DTRACEOPT_dynvarsize};
    for (;;) {
        for (int i = 0; i < DTRACEOPT_N; i++)
            config.options[i] = s_.options.run_time(i);
        auto made = s_.kernel->make_arena(config);
        if (made) {
            use(std::move(*made));
            return 0;
        }
        if (made.error().sys == EACCES)
            return s_.fail(
                EDT_DESTRUCTIVE,
                "the dtrace kernel module does not allow destructive actions; to allow "
                "them, echo 1 > /sys/module/dtrace/parameters/destructive");
        if (made.error().sys == EPERM)
            return s_.fail(EDT_DESTRUCTIVE,
                           "destructive actions in the kernel require CAP_SYS_ADMIN");
        auto largest = std::max_element(
            std::begin(resizable), std::end(resizable), [this](int a, int b) {
                return s_.options.run_time(a) < s_.options.run_time(b);
            });
        constexpr std::uint64_t smallest_halved = 64 << 10;
        if (made.error().sys != ENOMEM ||
            s_.options.run_time(*largest) <= smallest_halved ||
            s_.options.run_time(DTRACEOPT_bufresize) == DT_BUFRESIZE_MANUAL)
            return s_.fail(made.error());
        s_.options.adjust(*largest, s_.options.run_time(*largest) / 2);
    }
}

// Lists all probes in processes as not yet planted.
int KernelBackend::prepare_agents()
{
    if (std::exchange(prepared_, true))
        return 0;
    for (const auto& process : s_.processes.all())
        process->unplanted = s_.probes.of_process(process->pid);
    return 0;
}

int KernelBackend::load(std::span<const std::byte> dof, dt_u32& first_clause,
                        dt_u32& n_clauses, dt_load_error& refused)
{
    return s_.kernel->load(dof, &first_clause, &n_clauses, &refused);
}

int KernelBackend::add_probes()
{
    std::string names;
    const auto n = static_cast<std::uint32_t>(s_.registry.size()) - s_.n_probes_added;
    if (n == 0)
        return 0;
    for (std::uint32_t id = s_.n_probes_added + 1; s_.registry.has(id); id++) {
        const ProbeInfo& probe = s_.registry.at(id);
        for (std::string_view part :
             {probe.provider, probe.module, probe.function, probe.name})
            names.append(part).push_back('\0');
    }
    auto added = s_.kernel->add_probes(names, n);
    if (!added)
        return s_.fail(added.error());
    s_.n_probes_added += *added;
    return 0;
}

int KernelBackend::enable(std::span<const std::uint32_t> ids, std::size_t clause)
{
    std::vector<dtk_ecb> ecbs;
    for (std::uint32_t id : ids) {
        ecbs.push_back({id, static_cast<dt_u32>(clause)});
        s_.registry.at(id).enabled = true;
    }
    auto added = s_.kernel->add_ecbs(ecbs);
    return added ? 0 : s_.fail(added.error());
}

// Returns whether a program walks user stacks. If none does, files of targets need not
// be read.
bool KernelBackend::walks_user_stacks() const
{
    return std::any_of(s_.enabled.begin(), s_.enabled.end(), [](const Enabling& each) {
        const auto& clauses = each.prog->program->clauses;
        return std::any_of(clauses.begin(), clauses.end(), [](const auto& clause) {
            return std::any_of(clause.actions.begin(), clause.actions.end(),
                               [](const Action& action) {
                                   return action.kind == DTRACEACT_USTACK ||
                                          action.kind == DTRACEACT_JSTACK;
                               });
        });
    });
}

int KernelBackend::attach()
{
    for (const auto& process : s_.processes.all())
        if (process->is_held() && walks_user_stacks())
            unwind_->pass_maps(process->pid);
    std::vector<KernelSite> sites;
    std::vector<std::uint32_t> ids; // the probe of each site
    for (std::uint32_t id = first_unattached_; s_.registry.has(id); id++) {
        ProbeInfo& probe = s_.registry.at(id);
        KernelProvider* owner = s_.providers.of_kernel(id);
        if (owner == nullptr || !probe.enabled)
            continue;
        for (KernelSite& site : owner->sites(probe)) {
            sites.push_back(std::move(site));
            ids.push_back(id);
        }
    }
    first_unattached_ = static_cast<std::uint32_t>(s_.registry.size()) + 1;
    return attach_sites(sites, ids);
}

static std::string text_of_error(const dtk_site& site)
{
    const int error = -site.error;
    if (site.kind == DTK_CPC && error == EBUSY)
        return "all counters of the processor are in use";
    if (error == EPERM)
        return "the kernel's own tracing code uses this function";
    return std::strerror(error);
}

// Attaches sites. `ids` contains the probe of each site. Reports a probe if none of its
// sites can be attached.
int KernelBackend::attach_sites(std::vector<KernelSite>& sites,
                                const std::vector<std::uint32_t>& ids)
{
    std::vector<dtk_site> wanted;
    for (std::size_t i = 0; i < sites.size(); i++) {
        dtk_site site{};
        site.probe = ids[i];
        site.kind = sites[i].kind;
        site.where = sites[i].name.empty()
                         ? sites[i].where
                         : reinterpret_cast<dt_u64>(sites[i].name.c_str());
        site.more = sites[i].more;
        wanted.push_back(site);
    }
    if (auto attached = s_.kernel->attach(wanted); !attached)
        return s_.fail(attached.error());
    for (std::size_t i = 0; i < wanted.size();) {
        std::size_t end = i;
        bool fires = false;
        while (end < wanted.size() && wanted[end].probe == wanted[i].probe)
            fires |= wanted[end++].error == 0;
        if (!fires) {
            const ProbeInfo& probe = s_.registry.at(wanted[i].probe);
            s_.complain(full_name(probe) +
                        " cannot be probed: " + text_of_error(wanted[i]));
        }
        i = end;
    }
    return 0;
}

// Returns the names of the loaded modules. Omits the use counts, because they change
// constantly.
static std::string loaded_modules()
{
    std::ifstream file("/proc/modules");
    std::string names;
    for (std::string line; std::getline(file, line);)
        names.append(line, 0, line.find(' ')).push_back(' ');
    return names;
}

// Creates probes in newly loaded modules for the enabled probe descriptions.
void KernelBackend::look_at_modules(std::uint64_t now)
{
    constexpr std::uint64_t every_ns = 500'000'000;
    if (now - modules_looked_at_ < every_ns)
        return;
    modules_looked_at_ = now;
    std::string loaded = loaded_modules();
    const bool is_first = modules_.empty();
    if (loaded == std::exchange(modules_, loaded) || is_first)
        return;
    debug("the kernel's modules have changed");
    s_.processes.kernel().refresh();
    s_.providers.fbt.forget();
    s_.providers.sdt.forget();
    if (match_new_modules() != 0)
        s_.complain(s_.error_text);
}

int KernelBackend::match_new_modules()
{
    const auto n_known = static_cast<std::uint32_t>(s_.registry.size());
    for (const Enabling& each : s_.enabled) {
        const auto& clauses = each.prog->program->clauses;
        for (std::size_t k = 0; k < clauses.size(); k++)
            for (const ProbeSpec& spec : clauses[k].probes) {
                if (spec.id != 0)
                    continue;
                s_.providers.fbt.provide(spec);
                s_.providers.sdt.provide(spec);
                auto ids = s_.registry.match(spec.provider, spec.module, spec.function,
                                             spec.name);
                std::erase_if(ids, [n_known](auto id) { return id <= n_known; });
                if (add_probes() != 0 || enable(ids, each.first_clause + k) != 0)
                    return -1;
            }
    }
    return attach();
}

int KernelBackend::start_timers()
{
    std::vector<KernelSite> sites;
    std::vector<std::uint32_t> ids;
    for (const auto& [id, timer] : s_.providers.profile.timers()) {
        if (!s_.registry.at(id).enabled)
            continue;
        sites.push_back(
            {static_cast<std::uint32_t>(timer.per_cpu ? DTK_PROFILE : DTK_TICK),
             timer.interval_ns, "", 0});
        ids.push_back(id);
    }
    return sites.empty() ? 0 : attach_sites(sites, ids);
}

void KernelBackend::unplant(ps_prochandle& process)
{
    // Only marks the sites. Closing the device removes the uprobes.
    for (std::uint32_t id : s_.probes.of_process(process.pid))
        for (ProbeSite& at : s_.probes.probe(id)->sites)
            at.planted = false;
}

void KernelBackend::fire(std::uint32_t probe)
{
    if (probe == probe_end)
        if (auto detached = s_.kernel->detach(); !detached)
            s_.complain(detached.error().text);
    if (auto fired = s_.kernel->fire(probe); !fired)
        s_.complain(fired.error().text);
}

void KernelBackend::tend(std::uint64_t now_ns)
{
    // No arena is retired, because the kernel owns the only arena.
    (void)s_.processes.agents().retire_unused(now_ns);
    look_at_modules(now_ns);
    unwind_->pass_unknown(now_ns); // called last, because it may take longest
}

// Creates uprobes for the sites. The agent plants nothing, but watches for loaded
// libraries.
int KernelBackend::plant(ps_prochandle& process, const std::vector<Site>& sites,
                         const StaticTable& statics)
{
    auto watched = s_.processes.agent_of(process)->plant(process.pid, {},
                                                         Mechanism::uprobe, {}, {});
    if (!watched && watched.error().code == Code::gone)
        return 0; // the process has exited, which is reported as an event
    if (!watched)
        return s_.fail(watched.error());
    if (walks_user_stacks())
        unwind_->pass_maps(process.pid);
    Uprobes uprobes(process, statics,
                    s_.options.follow == FollowOption::fork ||
                        s_.options.follow == FollowOption::exec);
    std::vector<Refusal> refused;
    std::vector<std::uint32_t> of; // for each request, the index of its site
    for (std::size_t left = sites.size(); left > 0; left--) {
        auto i = static_cast<std::uint32_t>(left - 1);
        const Mapping* mapping = process.symbols->maps().at(sites[i].at);
        if (mapping != nullptr &&
            !process.uprobes
                 .insert({sites[i].probe, mapping->file,
                          mapping->offset + (sites[i].at - mapping->begin)})
                 .second)
            continue;
        if (std::string why = uprobes.add(sites[i]); why.empty())
            of.push_back(i);
        else
            refused.push_back({i, std::move(why)});
    }
    std::vector<dtk_site> wanted;
    for (std::size_t k = 0; k < of.size(); k++) {
        dtk_site site{};
        site.probe = sites[of[k]].probe;
        site.kind = uprobe_kind(sites[of[k]].kind);
        site.where = reinterpret_cast<dt_u64>(&uprobes.requests()[k]);
        wanted.push_back(site);
    }
    if (auto attached = s_.kernel->attach(wanted); !attached)
        return s_.fail(attached.error());
    std::size_t n_gone = 0;
    for (std::size_t k = 0; k < wanted.size(); k++) {
        if (wanted[k].error == -ESRCH)
            n_gone++;
        else if (wanted[k].error != 0)
            refused.push_back({of[k], uprobe_error_text(-wanted[k].error)});
    }
    if (debugging())
        for (const Refusal& refusal : refused)
            debug("no uprobe for %s: %s",
                  full_name(s_.registry.at(sites[refusal.site].probe)).c_str(),
                  refusal.reason.c_str());
    for (const Site& site : sites)
        s_.probes.probe(site.probe)->set_planted(site.at, true);
    debug(
        "process %d: %zu uprobes requested, %zu sites refused; %zu uprobes not needed, "
        "because their code is no longer mapped",
        process.pid, wanted.size(), refused.size(), n_gone);
    reports_.report_sites(process, sites, refused, not_probed);
    std::vector<std::uint32_t> looping;
    for (std::size_t i = 0; i < sites.size(); i++)
        if (sites[i].kind == SiteKind::entry && sites[i].arg0 != 0)
            looping.push_back(static_cast<std::uint32_t>(i));
    reports_.report_loops(process, sites, looping);
    return 0;
}

} // namespace dt
