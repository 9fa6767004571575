// SPDX-License-Identifier: MIT
#include "libdtrace/session/backends/process_backend.hpp"

#include "libdtrace/session/backends/arena_sizes.hpp"
#include "libdtrace/session/backends/memory_budget.hpp"
#include "libdtrace/session/backends/shared_variables.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/on_cpu.hpp"
#include "libdtrace/session/sampling/sample_contents.hpp"
#include "libdtrace/session/sites.hpp"

#include <algorithm>
#include <memory>
#include <unistd.h>
#include <utility>

namespace dt {

// The default aggsize for probes in processes: space for 100,000 keys of two words.
static constexpr std::uint64_t aggsize_of_processes = 6 << 20;

ProcessBackend::~ProcessBackend()
{
    timer_thread_.stop();
    (void)machine_probes_.stop();
}

std::uint64_t ProcessBackend::default_aggsize() const
{
    return aggsize_of_processes;
}

bool ProcessBackend::can_rename_probes() const
{
    return s_.options.run_time(DTRACEOPT_bufpolicy) == DT_BUFPOLICY_SWITCH;
}

int ProcessBackend::make_arena()
{
    if (make_shared_arena(s_, arena_is_charged_to_us_) != 0)
        return -1;
    host_ = std::make_unique<LocalHost>(s_.arena->base());
    shared_ = dt::shared_between_targets(s_);
    s_.processes.agents().forget_unused_domains();
    const std::size_t n_domains = s_.processes.agents().n_domains_in_use();
    if (n_domains > 1 && s_.options.trust == TrustOption::all)
        return s_.fail(EACCES,
                       "-x trust=all must be set before targets of several users "
                       "are named: put it on the command line, before -p");
    if (s_.processes.agents().has_unconfined())
        return s_.fail(EACCES,
                       "-x trust=confined must be set before targets of other users "
                       "are named: put it on the command line, before -p");
    if (!shared_.empty() && n_domains > 1)
        return s_.fail(EACCES,
                       "the targets belong to several users or sandboxes, and the "
                       "program shares " +
                           shared_ +
                           " among them; use an aggregation or a self-> variable "
                           "instead, or -x trust=all if they may share memory");
    // The agent of another user can write to the private part of its arena. So this
    // process needs an arena of its own for the clauses of BEGIN, END and tick.
    const bool has_foreign = s_.processes.agents().has_foreign();
    if (!shared_.empty() && has_foreign)
        return s_.fail(EACCES,
                       "a dtrace of another user traces one of the targets, and the "
                       "program shares " +
                           shared_ +
                           " with the clauses that dtrace itself executes; use an "
                           "aggregation or a self-> variable instead, or end the other "
                           "dtrace");
    // Processes of other users can be found later if the user named no targets.
    has_own_arena_ =
        shared_.empty() && (n_domains > 1 || has_foreign ||
                            (s_.options.trust != TrustOption::all &&
                             !s_.has_own_targets() && s_.awaits_statics()));
    return 0;
}

// Returns the arena for an agent. If all targets are in one domain, this is the first
// arena. Otherwise each domain has an arena, which is created for its first agent.
Result<ArenaMemory*> ProcessBackend::arena_for(std::size_t agent)
{
    const std::size_t domain = s_.processes.agents().arena_of(agent);
    if (!has_own_arena_ && s_.processes.agents().at(agent)->is_foreign())
        return Error{Code::permission,
                     "a process that a dtrace of another user traces must be named "
                     "before tracing begins"};
    if (!has_own_arena_ && user_of_first_arena_.value_or(domain) == domain) {
        user_of_first_arena_ = domain;
        return &*s_.arena;
    }
    for (const DomainArena& known : s_.domain_arenas)
        if (known.domain == domain)
            return known.memory.get();
    if (!has_own_arena_)
        return Error{Code::permission,
                     "processes of several users must be named before tracing begins"};
    auto made = ArenaMemory::create_like(*s_.arena, DomainArena::number_of(domain));
    if (!made)
        return made.error();
    DomainArena arena{domain, std::make_unique<ArenaMemory>(std::move(*made))};
    ArenaMemory* memory = arena.memory.get();
    if (s_.consumer)
        s_.consumer->add_arena(memory->base(), arena.number());
    {
        const std::lock_guard lock(arenas_lock_);
        s_.domain_arenas.push_back(std::move(arena));
    }
    copy_variables();
    return memory;
}

// Passes an arena to the agent of a domain. If each domain has an arena of its own, the
// agent's death is not an error here, because an event reports it.
int ProcessBackend::prepare(std::size_t domain)
{
    AgentClient* agent = s_.processes.agents().at(domain);
    if (agent == nullptr)
        return 0; // retired before it was used
    auto arena = arena_for(domain);
    if (!arena)
        return s_.fail(arena.error());
    const ArenaMemory& to = **arena;
    touch(**arena);
    auto set = agent->set_arena(to.program_fd(), to.program_bytes(), to.data_fd(),
                                to.private_at() - to.program_bytes(), to.private_fd(),
                                to.total_bytes() - to.private_at());
    if (set && !sampled_.empty())
        if (auto sampling = agent->profile(sampled_); !sampling)
            set = sampling.error();
    if (!set && (set.error().code != Code::gone || !has_own_arena_))
        return s_.fail(set.error());
    return 0;
}

// Retires the arena of a domain that no longer has any process or agent.
void ProcessBackend::retire(std::size_t domain)
{
    if (s_.processes.agents().is_arena_in_use(s_.processes.agents().arena_of(domain)))
        return;
    for (const DomainArena& arena : s_.domain_arenas)
        if (arena.domain == s_.processes.agents().arena_of(domain) && s_.consumer)
            s_.consumer->retire_arena(arena.memory->base());
}

void ProcessBackend::tend(std::uint64_t now_ns)
{
    if (!has_own_arena_ || !s_.consumer)
        return;
    for (std::size_t domain : s_.processes.agents().retire_unused(now_ns))
        retire(domain);
    for (const void* base : s_.consumer->take_removed()) {
        const std::lock_guard lock(arenas_lock_);
        std::erase_if(s_.domain_arenas, [base](const DomainArena& arena) {
            return arena.memory->base() == base;
        });
    }
}

// Prepares the new agents. If there are many sites, the first agent prepares for them
// while this process continues.
int ProcessBackend::prepare_agents()
{
    const bool first = prepared_.empty();
    for (std::size_t domain = 0; domain < s_.processes.agents().size(); domain++) {
        if (!s_.processes.is_in_use(domain) || prepared_.contains(domain))
            continue;
        prepared_.insert(domain);
        if (prepare(domain) != 0) {
            s_.processes.end_agent(domain);
            retire(domain);
            return -1;
        }
    }
    AgentClient* agent = s_.processes.agents().at(0);
    if (agent == nullptr || !first)
        return 0;
    std::size_t n_sites = 0;
    for (const auto& process : s_.processes.all()) {
        process->unplanted = s_.probes.of_process(process->pid);
        n_sites += process->unplanted.size();
    }
    if (n_sites >= many_sites && s_.processes.is_in_use(0))
        agent->expect(n_sites, 1);
    return 0;
}

int ProcessBackend::load(std::span<const std::byte> dof, dt_u32& first_clause,
                         dt_u32& n_clauses, dt_load_error& refused)
{
    return dt_load(s_.arena->base(), dof.data(), dof.size(), &first_clause, &n_clauses,
                   &refused);
}

int ProcessBackend::add_probes()
{
    for (; s_.n_probes_added < s_.registry.size(); s_.n_probes_added++) {
        const ProbeInfo& probe = s_.registry.at(s_.n_probes_added + 1);
        if (dt_probe_add(s_.arena->base(), probe.provider.data(), probe.module.data(),
                         probe.function.data(), probe.name.data()) == 0)
            return s_.fail(ENOSPC, "the descriptions match " +
                                       std::to_string(s_.registry.size()) +
                                       " probes, but a session can hold only " +
                                       std::to_string(s_.n_probes_added));
    }
    return 0;
}

int ProcessBackend::enable(std::span<const std::uint32_t> ids, std::size_t clause)
{
    for (std::uint32_t id : ids) {
        if (dt_ecb_add(s_.arena->base(), id, static_cast<dt_u32>(clause)) == 0)
            return s_.fail(ENOSPC,
                           "the program enables too many combinations of a probe and a "
                           "clause: use fewer clauses, or match fewer probes");
        s_.registry.at(id).enabled = true;
        bind(id);
    }
    return 0;
}

// Makes the consumer accept a probe's records only from the arena of its process's
// domain. The probes of this process fire in the first arena.
void ProcessBackend::bind(std::uint32_t id)
{
    if (!has_own_arena_)
        return;
    if (s_.fires_in_consumer(id))
        return s_.consumer->bind_probe(id, 0);
    const ProcessProbe* probe = s_.probes.probe(id);
    if (probe == nullptr)
        return;
    const ps_prochandle* process = s_.processes.find(probe->pid);
    s_.consumer->bind_probe(
        id, process != nullptr ? std::optional(DomainArena::number_of(
                                     s_.processes.agents().arena_of(process->domain)))
                               : std::nullopt);
}

void ProcessBackend::touch_arenas()
{
    for (ArenaMemory* arena : s_.all_arenas())
        touch(*arena);
}

// Touches the memory to which firings will write. The kernel then charges this memory
// to dtrace's control group, and not to a target's control group.
void ProcessBackend::touch(ArenaMemory& arena)
{
    if (!arena_is_charged_to_us_)
        return;
    const auto* header = static_cast<const dt_arena*>(arena.base());
    arena.touch(header->session,
                header->globals + header->globals_used - header->session);
    arena.touch(header->dynvars, header->dynvars_bytes);
    arena.touch(header->shards, header->n_shards * header->shard_bytes);
    for (dt_u64 set = 0; set < header->counters.n_sets; set++)
        arena.touch(header->counters.sets + (set << DT_COUNTERS_SHIFT),
                    header->counters.used);
}

// Copies scalar global variables from the first arena to all other arenas. Only clauses
// of the consumer, which run in the first arena, write these variables
// (shared_variables.hpp).
void ProcessBackend::copy_variables()
{
    const std::lock_guard lock(arenas_lock_);
    const auto* header = static_cast<const dt_arena*>(s_.arena->base());
    const auto* from =
        static_cast<const std::uint64_t*>(dt_at(s_.arena->base(), header->globals));
    for (const DomainArena& arena : s_.domain_arenas) {
        auto* to =
            static_cast<std::uint64_t*>(dt_at(arena.memory->base(), header->globals));
        // A clause that runs at the same time reads the old or the new value of a word.
        for (std::size_t i = 0; i < header->globals_used / sizeof *to; i++)
            __atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_RELAXED),
                             __ATOMIC_RELAXED);
    }
}

// Returns whether a target's control group allows less than four times the size of
// n_busy_shards() shards. When the arena was created, each target's group allowed at
// least eight times that size.
bool ProcessBackend::has_little_memory(pid_t pid) const
{
    if (arena_is_charged_to_us_)
        return false;
    const auto* header = static_cast<const dt_arena*>(s_.arena->base());
    return control_group_left(pid) / 4 < header->shard_bytes * n_busy_shards();
}

void ProcessBackend::choose_mechanism(ps_prochandle& process)
{
    process.breakpoints_only = mechanism_of(s_.options) == Mechanism::automatic &&
                               has_little_memory(process.pid);
    if (process.breakpoints_only)
        s_.report(&process,
                  "its control group has too little memory for dtrace's buffers, "
                  "so breakpoints are used, which are slower");
}

int ProcessBackend::plant(ps_prochandle& process, const std::vector<Site>& sites,
                          const StaticTable& statics)
{
    // If the process has exited, and its agent has hidden this, the addresses may be
    // those of another process.
    if (!s_.processes.is_traced(process)) {
        s_.report(&process, "the ptrace-agent of another user no longer traces the "
                            "process, so it gets no further probes");
        return 0;
    }
    // The process may not have been a target when the probes were enabled.
    for (const Site& site : sites)
        bind(site.probe);
    AgentClient& agent = *s_.processes.agent_of(process);
    if (auto set = agent.set_call_probes(s_.providers.syscall.call_probes()); !set) {
        if (set.error().code == Code::gone)
            return 0;
        return s_.fail(set.error());
    }
    const Mechanism mechanism =
        process.breakpoints_only ? Mechanism::int3 : mechanism_of(s_.options);
    auto planted =
        agent.plant(process.pid, sites, mechanism, seen_text(process), statics);
    if (!planted) {
        if (planted.error().code == Code::gone)
            return 0; // the process has exited, which is reported as an event
        return s_.fail(planted.error());
    }
    if (int failed = set_task_probes(process, s_.providers.tasks.enabled_events());
        failed != 0)
        return failed;
    debug("process %d: %zu sites, %u planted, %zu refused, %zu gone", process.pid,
          sites.size(), planted->n_planted, planted->refused.size(),
          planted->gone.size());
    if (debugging())
        for (const Refusal& refusal : planted->refused)
            if (refusal.site < sites.size())
                debug("process %d: nothing planted at 0x%llx: %s", process.pid,
                      static_cast<unsigned long long>(sites[refusal.site].at.value),
                      refusal.reason.c_str());
    if (mechanism == Mechanism::int3 || !planted->breakpoints.empty())
        process.has_breakpoints = true;
    auto gone = planted->gone.begin();
    for (std::uint32_t i = 0; i < sites.size(); i++) {
        if (gone != planted->gone.end() && *gone == i) {
            ++gone;
            if (!is_call(sites[i].kind))
                process.unplanted.push_back(sites[i].probe);
        } else if (is_call(sites[i].kind)) {
            s_.providers.syscall_sites.set_planted(process.pid, sites[i].at,
                                                   sites[i].probe, true);
        } else {
            s_.probes.probe(sites[i].probe)->set_planted(sites[i].at, true);
        }
    }
    reports_.report_sites(process, sites, planted->refused, not_probed);
    reports_.report_sites(process, sites, planted->breakpoints, by_breakpoint);
    reports_.report_loops(process, sites, planted->fired_by_loops);
    return 0;
}

int ProcessBackend::set_task_probes(ps_prochandle& process, const TaskProbes& probes)
{
    if (!std::exchange(process.has_task_probes, probes != TaskProbes{}) &&
        !process.has_task_probes)
        return 0;
    for (const std::uint32_t probe : probes)
        if (probe != 0)
            bind(probe);
    auto set = s_.processes.agent_of(process)->set_task_probes(process.pid, probes);
    return set || set.error().code == Code::gone ? 0 : s_.fail(set.error());
}

void ProcessBackend::unplant(ps_prochandle& process)
{
    if (set_task_probes(process, {}) != 0)
        s_.complain(s_.error_text);
    std::vector<Site> sites;
    for (std::uint32_t id : s_.probes.of_process(process.pid)) {
        for (ProbeSite& at : s_.probes.probe(id)->sites)
            if (std::exchange(at.planted, false))
                sites.push_back(site_of(id, at));
    }
    for (const auto& [at, probe] : s_.providers.syscall_sites.planted(process.pid)) {
        Site site;
        site.at = at;
        site.probe = probe;
        sites.push_back(site);
        s_.providers.syscall_sites.set_planted(process.pid, at, probe, false);
    }
    if (auto removed = s_.processes.agent_of(process)->remove(process.pid, sites);
        !removed && removed.error().code != Code::gone)
        s_.report(&process, removed.error().text);
}

void ProcessBackend::fire(std::uint32_t probe)
{
    host_->fire(probe);
    copy_variables();
}

// Reports that profile-n samples only the targets, although the user named no
// processes.
void ProcessBackend::report_sampled()
{
    for (const auto& [id, timer] : s_.providers.profile.timers()) {
        if (!timer.per_cpu || !s_.registry.at(id).enabled || s_.has_own_targets() ||
            s_.samples_in_consumer())
            continue;
        const auto n =
            std::count_if(s_.processes.all().begin(), s_.processes.all().end(),
                          [](const auto& process) { return process->is_held(); });
        const std::string what =
            s_.processes.agents().at(0) == nullptr ? "only dtrace itself is"
            : n == 1                               ? "only the traced process is"
                     : "only the " + std::to_string(n) + " traced processes are";
        s_.complain(
            std::string(s_.registry.at(id).name) + ": " + what +
            " sampled; sampling all processes requires root, CAP_PERFMON, "
            "kernel.perf_event_paranoid of 0 or less, or the kernel module, and "
            "sampling a process requires -p or -c");
        return;
    }
}

// Returns the targets of profile-n probes that fire in this process. Returns nullopt if
// they sample all processes.
std::optional<SampledTargets> ProcessBackend::sampled_targets() const
{
    if (!s_.has_own_targets())
        return std::nullopt;
    const FollowOption follow = s_.options.follow;
    const bool execs = follow == FollowOption::exec;
    SampledTargets targets(execs || follow == FollowOption::fork, execs);
    for (const auto& process : s_.processes.all())
        if (process->is_held())
            targets.add(process->pid, execs || (process->kind == TargetKind::created &&
                                                follow != FollowOption::none));
    return targets;
}

Result<Ok> ProcessBackend::start_machine_probes(MachineSources sources)
{
    auto events = RecordedEvents::of(s_);
    if (!events)
        return events.error();
    sources.events = std::move(*events);
    if (!sources.timers.empty()) {
        sources.timer_contents = profile_contents(s_);
        sources.targets = sampled_targets();
    }
    if (const std::uint64_t cpu = s_.options.run_time(DTRACEOPT_cpu);
        cpu != DT_OPT_UNSET)
        sources.cpu = static_cast<std::uint32_t>(cpu);
    return machine_probes_.start(s_.arena->base(), std::move(sources),
                                 [this] { copy_variables(); });
}

int ProcessBackend::start_timers()
{
    std::vector<Timer> timers;
    MachineSources of_machine;
    for (const auto& [id, timer] : s_.providers.profile.timers()) {
        if (!s_.registry.at(id).enabled)
            continue;
        if (timer.per_cpu && s_.samples_in_consumer())
            of_machine.timers.push_back({timer.probe, timer.interval_ns});
        else if (timer.per_cpu && s_.processes.agents().at(0) != nullptr)
            sampled_.push_back({timer.probe, 0, timer.interval_ns});
        else
            timers.push_back(timer);
    }
    report_sampled();
    if (const std::uint64_t cpu = s_.options.run_time(DTRACEOPT_cpu);
        !timers.empty() && OnCpu(cpu).refused())
        s_.complain("-x cpu=" + std::to_string(cpu) +
                    ": dtrace is not allowed to run on this CPU, so tick and profile "
                    "probes do not fire; include the CPU in dtrace's cpuset");
    if (!sampled_.empty())
        for (AgentClient* agent : s_.processes.agents().all())
            if (auto set = agent->profile(sampled_);
                !set && set.error().code != Code::gone)
                return s_.fail(set.error());
    if (auto started = start_machine_probes(std::move(of_machine)); !started)
        return s_.fail(started.error());
    // The timer thread needs a LocalHost of its own.
    auto started = timer_thread_.start(std::move(timers), [this](const Timer& timer) {
        thread_local std::unique_ptr<LocalHost> clock_host;
        thread_local void* clock_arena = nullptr;
        if (clock_arena != s_.arena->base()) {
            clock_arena = s_.arena->base();
            clock_host = std::make_unique<LocalHost>(clock_arena);
        }
        auto pc = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
        const std::uint64_t cpu = s_.options.run_time(DTRACEOPT_cpu);
        const OnCpu on_cpu(cpu);
        const bool all_cpus = timer.per_cpu && cpu == DT_OPT_UNSET;
        const long times = all_cpus ? ::sysconf(_SC_NPROCESSORS_ONLN) : 1;
        for (long i = 0; i < times; i++)
            clock_host->fire(timer.probe, 0, pc);
        copy_variables();
    });
    return started ? 0 : s_.fail(started.error());
}

void ProcessBackend::stop_timers()
{
    timer_thread_.stop();
    if (const std::string lost = machine_probes_.stop(); !lost.empty())
        s_.complain(lost);
    if (sampled_.empty())
        return;
    for (AgentClient* agent : s_.processes.agents().all()) {
        auto left_out = agent->profile({});
        if (!left_out && left_out.error().code != Code::gone)
            s_.complain(left_out.error().text);
        else if (left_out && !left_out->empty())
            s_.complain(*left_out);
    }
}

} // namespace dt
