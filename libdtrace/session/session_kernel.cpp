// SPDX-License-Identifier: MIT
// Sessions in the kernel: one probe or one value that only the module has, or the wish for
// it (-x mechanism=uprobe), and all of the session fires there, BEGIN, END and the clock's
// probes included. The clock's probes (profile, tick) put a session there as well, if the
// module is loaded and the program has no probes in processes. If it has some, profile does
// so only without targets of -c and -p.
//
// The arena is the module's then; what is drained from it, and how, is the same. A process
// could not write to the kernel's arena, and must not: probes in processes are uprobes
// (session_uprobes.cpp).
#include "libdtrace/session/session.hpp"

#include "libdtrace/session/debug.hpp"
#include "libdtrace/providers/kernel_provider.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <sched.h>
#include <unistd.h>

void dtrace_hdl::look_for_kernel()
{
    in_kernel = false;
    first_unattached = 1;
    kernel_unwind.reset();
    kernel.reset();
    providers = {&dtrace_provider, &profile_provider, &pid_provider, &usdt_provider};
    auto opened = dt::KernelDevice::open();
    if (!opened) {
        why_no_kernel = opened.error().text;
        return;
    }
    kernel.emplace(std::move(*opened));
    providers.insert(providers.end(), {&syscall_provider, &fbt_provider, &cpc_provider, &sdt_provider});
    for (const auto& provider : stable_providers)
        providers.push_back(provider.get());
}

void dtrace_hdl::provide_all()
{
    const dt::ProbeSpec any;
    for (dt::Provider* provider : providers)
        if (dynamic_cast<dt::KernelProvider*>(provider) != nullptr)
            provider->provide(any);
}

dt::KernelProvider* dtrace_hdl::kernel_provider_of(std::uint32_t id) const
{
    return dynamic_cast<dt::KernelProvider*>(registry.at(id).owner);
}

// What descriptions of the kernel's providers lack.
std::string dtrace_hdl::kernel_hint(const dt::ProbeSpec& spec)
{
    if (!kernel)
        return "; the " + spec.provider + " provider needs the kernel: " + why_no_kernel;
    if (spec.provider == "fbt")
        return fbt_provider.hint(spec);
    return spec.provider == "sdt" ? sdt_provider.hint() : "";
}

int dtrace_hdl::choose_host()
{
    const bool wanted = options.mechanism == "uprobe";
    bool of_kernel = false, profiles = false, ticks = false, in_processes = false;
    for (const dt::Enabling& each : enabled) {
        of_kernel |= each.prog->program->needs_kernel;
        // What a module to come may have (-Z).
        for (const auto& clause : each.prog->program->clauses)
            for (const dt::ProbeSpec& spec : clause.probes)
                of_kernel |= kernel && dt::is_kernel_provider(spec.provider);
        for (const auto& ids : each.prog->matched)
            for (std::uint32_t id : ids) {
                const dt::ProbeInfo& probe = registry.at(id);
                of_kernel |= kernel_provider_of(id) != nullptr;
                profiles |= probe.name.starts_with("profile-");
                ticks |= probe.name.starts_with("tick-");
                in_processes |= probe.owner == &pid_provider || probe.owner == &usdt_provider;
            }
    }
    in_processes |= awaits_statics();
    // Only the kernel sees all that runs on a CPU, with or without -c and -p. But a clock probe
    // alone must not turn probes in processes into uprobes, which cost many times as much.
    const bool of_clock = in_processes ? profiles && !has_own_targets() : profiles || ticks;
    in_kernel = of_kernel || wanted || (of_clock && kernel);
    if (kernel && !in_kernel && profiles)
        complain("profile-n samples only the traced processes, because this program does not "
                 "run in the kernel module; -x mechanism=uprobe samples every CPU");
    if (!in_kernel)
        return 0;
    if (kernel)
        return 0;
    return fail(ENXIO, (wanted ? "-x mechanism=uprobe needs the kernel: " : "") +
                           why_no_kernel);
}

dt_arena_config dtrace_hdl::kernel_config()
{
    dt_arena_config config{};
    std::size_t n_clauses = 0, n_ecbs = 0, n_bytes = 0;
    for (const dt::Enabling& each : enabled) {
        n_clauses += each.prog->program->clauses.size();
        n_bytes += dt::write_dof(*each.prog->program, 0).size();
        for (const auto& ids : each.prog->matched)
            n_ecbs += ids.size();
    }
    // What comes later (modules that are loaded) needs some room, too.
    constexpr std::size_t more = 4096, name_bytes = 64;
    auto count = [](std::size_t n) { return static_cast<dt_u32>(n); };
    config.max_probes = count(registry.size() + more);
    config.max_ecbs = count(n_ecbs + more);
    config.max_clauses = count(n_clauses + 64);
    config.max_vars = 1u << 14;
    config.heap_bytes = (1 << 20) + 4 * n_bytes + config.max_probes * name_bytes;
    config.globals_bytes = 4 << 20;
    config.locals_bytes = 256 << 10;
    for (int i = 0; i < DTRACEOPT_N; i++)
        config.options[i] = options.run_time(i);
    return config;
}

int dtrace_hdl::make_kernel_arena()
{
    if (options.run_time(DTRACEOPT_strsize) > DTK_MAX_STRSIZE)
        return fail(EDT_BADOPTVAL,
                    "strsize may be at most 64k where the kernel runs the program: its "
                    "interrupts are off while a string is copied");
    dt_arena_config config = kernel_config();
    static constexpr int resizable[] = {DTRACEOPT_bufsize, DTRACEOPT_aggsize,
                                        DTRACEOPT_specsize, DTRACEOPT_dynvarsize};
    for (;;) {
        for (int i = 0; i < DTRACEOPT_N; i++)
            config.options[i] = options.run_time(i);
        auto made = kernel->make_arena(config);
        if (made) {
            arena.emplace(std::move(*made));
            kernel_unwind.emplace(*kernel);
            return 0;
        }
        if (made.error().sys == EACCES)
            return fail(EDT_DESTRUCTIVE,
                        "the dtrace kernel module does not allow destructive actions: echo "
                        "1 > /sys/module/dtrace/parameters/destructive");
        auto largest = std::max_element(
            std::begin(resizable), std::end(resizable), [this](int a, int b) {
                return options.run_time(a) < options.run_time(b);
            });
        constexpr std::uint64_t smallest_halved = 64 << 10;
        if (made.error().sys != ENOMEM || options.run_time(*largest) <= smallest_halved ||
            options.run_time(DTRACEOPT_bufresize) == DT_BUFRESIZE_MANUAL)
            return fail(made.error());
        options.adjust(*largest, options.run_time(*largest) / 2);
    }
}

int dtrace_hdl::add_kernel_probes()
{
    std::string names;
    const auto n = static_cast<std::uint32_t>(registry.size()) - n_probes_added;
    if (n == 0)
        return 0;
    for (std::uint32_t id = n_probes_added + 1; registry.has(id); id++) {
        const dt::ProbeInfo& probe = registry.at(id);
        for (std::string_view part :
             {probe.provider, probe.module, probe.function, probe.name})
            names.append(part).push_back('\0');
    }
    auto added = kernel->add_probes(names, n);
    if (!added)
        return fail(added.error());
    n_probes_added += *added;
    return 0;
}

int dtrace_hdl::enable_in_kernel(std::span<const std::uint32_t> ids, std::size_t clause)
{
    std::vector<dtk_ecb> ecbs;
    for (std::uint32_t id : ids) {
        ecbs.push_back({id, static_cast<dt_u32>(clause)});
        registry.at(id).enabled = true;
    }
    auto added = kernel->add_ecbs(ecbs);
    return added ? 0 : fail(added.error());
}

// Nobody else's files need be read.
bool dtrace_hdl::walks_user_stacks() const
{
    return std::any_of(enabled.begin(), enabled.end(), [](const dt::Enabling& each) {
        const auto& clauses = each.prog->program->clauses;
        return std::any_of(clauses.begin(), clauses.end(), [](const auto& clause) {
            return std::any_of(clause.actions.begin(), clause.actions.end(),
                               [](const dt::Action& action) {
                                   return action.kind == DTRACEACT_USTACK ||
                                          action.kind == DTRACEACT_JSTACK;
                               });
        });
    });
}

int dtrace_hdl::attach_in_kernel()
{
    for (const auto& process : processes.all())
        if (process->alive && walks_user_stacks())
            kernel_unwind->know(process->pid);
    std::vector<dt::KernelSite> sites;
    std::vector<std::uint32_t> ids; // of each site
    for (std::uint32_t id = first_unattached; registry.has(id); id++) {
        dt::ProbeInfo& probe = registry.at(id);
        dt::KernelProvider* owner = kernel_provider_of(id);
        if (owner == nullptr || !probe.enabled)
            continue;
        for (dt::KernelSite& site : owner->sites(probe)) {
            sites.push_back(std::move(site));
            ids.push_back(id);
        }
    }
    first_unattached = static_cast<std::uint32_t>(registry.size()) + 1;
    return attach_in_kernel(sites, ids);
}

static std::string text_of_error(const dtk_site& site)
{
    const int error = -site.error;
    if (site.kind == DTK_CPC && error == EBUSY)
        return "all counters of the processor are in use";
    if (error == EPERM)
        return "the kernel forbids it: tracing runs through that function";
    return std::strerror(error);
}

// A probe that fires nowhere is told; one with several places may lack some.
int dtrace_hdl::attach_in_kernel(std::vector<dt::KernelSite>& sites,
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
    if (auto attached = kernel->attach(wanted); !attached)
        return fail(attached.error());
    for (std::size_t i = 0; i < wanted.size();) {
        std::size_t end = i;
        bool fires = false;
        while (end < wanted.size() && wanted[end].probe == wanted[i].probe)
            fires |= wanted[end++].error == 0;
        if (!fires) {
            const dt::ProbeInfo& probe = registry.at(wanted[i].probe);
            complain(std::string(probe.provider) + ":" + std::string(probe.module) + ":" +
                     std::string(probe.function) + ":" + std::string(probe.name) +
                     " cannot be probed: " + text_of_error(wanted[i]));
        }
        i = end;
    }
    return 0;
}

// Names of modules alone: how often one is used changes all the time.
static std::string loaded_modules()
{
    std::ifstream file("/proc/modules");
    std::string names;
    for (std::string line; std::getline(file, line);)
        names.append(line, 0, line.find(' ')).push_back(' ');
    return names;
}

// A module that is loaded while we trace has what enabled descriptions mean.
void dtrace_hdl::look_at_modules(std::uint64_t now)
{
    constexpr std::uint64_t every_ns = 500'000'000;
    if (!in_kernel || now - modules_looked_at < every_ns)
        return;
    modules_looked_at = now;
    std::string loaded = loaded_modules();
    const bool is_first = kernel_modules.empty();
    if (loaded == std::exchange(kernel_modules, loaded) || is_first)
        return;
    dt::debug("the kernel's modules have changed");
    processes.kernel().refresh();
    fbt_provider.forget();
    sdt_provider.forget();
    if (match_new_modules() != 0)
        complain(error_text);
}

int dtrace_hdl::match_new_modules()
{
    const auto n_known = static_cast<std::uint32_t>(registry.size());
    for (const dt::Enabling& each : enabled) {
        const auto& clauses = each.prog->program->clauses;
        for (std::size_t k = 0; k < clauses.size(); k++)
            for (const dt::ProbeSpec& spec : clauses[k].probes) {
                if (spec.id != 0)
                    continue;
                fbt_provider.provide(spec);
                sdt_provider.provide(spec);
                auto ids = registry.match(spec.provider, spec.module, spec.function,
                                          spec.name);
                std::erase_if(ids, [n_known](auto id) { return id <= n_known; });
                if (add_kernel_probes() != 0 ||
                    enable_in_kernel(ids, each.first_clause + k) != 0)
                    return -1;
            }
    }
    return attach_in_kernel();
}

int dtrace_hdl::start_kernel_clock()
{
    std::vector<dt::KernelSite> sites;
    std::vector<std::uint32_t> ids;
    for (const auto& [id, timer] : profile_provider.timers()) {
        if (!registry.at(id).enabled)
            continue;
        sites.push_back({static_cast<std::uint32_t>(timer.per_cpu ? DTK_PROFILE : DTK_TICK),
                         timer.interval_ns, "", 0});
        ids.push_back(id);
    }
    return sites.empty() ? 0 : attach_in_kernel(sites, ids);
}

namespace {

// Runs the calling thread on one CPU. Does nothing if that CPU is not available.
class OnCpu {
public:
    explicit OnCpu(std::uint64_t cpu)
    {
        cpu_set_t one;
        CPU_ZERO(&one);
        if (cpu >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof before_, &before_) != 0)
            return;
        CPU_SET(cpu, &one);
        moved_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
    }
    ~OnCpu()
    {
        if (moved_)
            ::sched_setaffinity(0, sizeof before_, &before_);
    }
    OnCpu(const OnCpu&) = delete;
    OnCpu& operator=(const OnCpu&) = delete;

private:
    cpu_set_t before_{};
    bool moved_ = false;
};

} // namespace

// With -x cpu, BEGIN and END run on that CPU, too.
void dtrace_hdl::fire(std::uint32_t probe)
{
    std::optional<OnCpu> on_cpu;
    if (std::uint64_t cpu = options.run_time(DTRACEOPT_cpu); cpu != DT_OPT_UNSET)
        on_cpu.emplace(cpu);
    if (!in_kernel) {
        host->fire(probe);
        return;
    }
    if (probe == dt::probe_end)
        if (auto detached = kernel->detach(); !detached)
            complain(detached.error().text);
    if (auto fired = kernel->fire(probe); !fired)
        complain(fired.error().text);
}
