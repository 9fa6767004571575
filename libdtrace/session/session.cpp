// SPDX-License-Identifier: MIT
// From compiled programs to firing probes, and back to rest.
#include "libdtrace/session/session.hpp"

#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/memory_budget.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static constexpr std::size_t many_sites = 10'000;

dtrace_hdl::dtrace_hdl()
    : dtrace_provider(registry), profile_provider(registry),
      pid_provider(registry, probes,
                   [this](pid_t pid) { return processes.symbols_of(pid); }),
      usdt_provider(registry, probes,
                    [this](bool everybody) { return usdt_candidates(everybody); }),
      fbt_provider(registry, processes.kernel()), cpc_provider(registry), sdt_provider(registry),
      syscall_provider(registry), stable_places(processes.kernel()),
      stable_providers(dt::stable_providers(registry, stable_places)),
      providers{&dtrace_provider, &profile_provider, &pid_provider, &usdt_provider}
{
    wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    look_for_kernel();
}

dtrace_hdl::~dtrace_hdl()
{
    clock.stop();
    if (wake_fd >= 0)
        ::close(wake_fd);
}

int dtrace_hdl::fail(int number, std::string text)
{
    error = number;
    error_text = std::move(text);
    dt::debug("error %d: %s", number, dtrace_errmsg(this, number));
    return -1;
}

void dtrace_hdl::internal_error(const std::string& text) const
{
    dt::debug("internal error: %s", text.c_str());
    if (!options.flags.core)
        return;
    std::fprintf(stderr, "libdtrace: internal error: %s\n", text.c_str());
    std::abort();
}

int dtrace_hdl::fail(const dt::Error& cause)
{
    return fail(cause.sys != 0 ? cause.sys : EDT_ENABLING_ERR, cause.text);
}

int dtrace_hdl::exec(dtrace_prog* prog)
{
    if (active)
        return fail(EDT_ACTIVE);
    if (prog->program->needs_kernel && !has_kernel())
        return fail(EDT_ENABLING_ERR,
                    "the program reads the kernel's memory: " + why_no_kernel);
    enabled.push_back({prog});
    return 0;
}

// Why a clause whose record exceeds its buffer is refused.
static int too_large(const dtrace_prog& prog, std::size_t clause)
{
    const auto& probes = prog.matched[clause];
    bool only_end =
        !probes.empty() && std::all_of(probes.begin(), probes.end(),
                                       [](auto id) { return id == dt::probe_end; });
    return only_end ? EDT_ENDTOOBIG : EDT_BUFTOOSMALL;
}

int dtrace_hdl::load(dt::Enabling& enabling)
{
    dtrace_prog* prog = enabling.prog;
    auto dof = dt::write_dof(*prog->program, 0);
    dt_load_error refused{};
    dt_u32 first = 0, n_clauses = 0;
    int loaded = in_kernel ? kernel->load(std::as_bytes(std::span(dof)), &first,
                                          &n_clauses, &refused)
                           : dt_load(arena->base(), dof.data(), dof.size(), &first,
                                     &n_clauses, &refused);
    if (loaded != 0) {
        if (refused.too_large != 0 && refused.too_large <= prog->matched.size())
            return fail(too_large(*prog, refused.too_large - 1));
        internal_error(std::string("our own DOF was refused: ") + refused.text);
        return fail(EDT_DIFINVAL, std::string("DOF was refused: ") + refused.text +
                                      " at " + std::to_string(refused.where));
    }
    enabling.first_clause = first;
    enabling.loaded = true;
    consumer->add_program(prog->program, first);
    return 0;
}

int dtrace_hdl::add_new_probes()
{
    if (in_kernel)
        return add_kernel_probes();
    for (; n_probes_added < registry.size(); n_probes_added++) {
        const dt::ProbeInfo& probe = registry.at(n_probes_added + 1);
        if (dt_probe_add(arena->base(), probe.provider.data(), probe.module.data(),
                         probe.function.data(), probe.name.data()) == 0)
            return fail(ENOSPC, "the descriptions match " +
                                    std::to_string(registry.size()) +
                                    " probes; a session holds " +
                                    std::to_string(n_probes_added));
    }
    return 0;
}

static bool is_destructive(const dtrace_prog& prog)
{
    return std::any_of(
        prog.program->clauses.begin(), prog.program->clauses.end(),
        [](const dt::CompiledClause& clause) { return clause.destructive; });
}

int dtrace_hdl::go()
{
    if (active)
        return fail(EDT_ACTIVE);
    for (const dt::Enabling& each : enabled)
        if (is_destructive(*each.prog) && !options.is_set(DTRACEOPT_destructive))
            return fail(EDT_DESTRUCTIVE);
    if (start() == 0)
        return 0;
    back_out();
    return -1;
}

int dtrace_hdl::start()
{
    if (options.is_set(DTRACEOPT_grabanon))
        return claim_anonymous();
    if (choose_host() != 0 || fit_options() != 0 || make_arena() != 0)
        return -1;
    grab_found();
    if (give_arena() != 0)
        return -1;
    make_consumer();

    for (dt::Enabling& each : enabled)
        if (load(each) != 0)
            return -1;
    if (check_sizes() != 0 || add_new_probes() != 0)
        return -1;
    for (const dt::Enabling& each : enabled)
        if (enable(each) != 0)
            return -1;
    touch_arena();

    for (const auto& process : processes.all()) {
        if (process->alive && plant(process.get()) != 0)
            return -1;
    }
    if (in_kernel && attach_in_kernel() != 0)
        return -1;

    dt::debug("go: %zu programs, %u probes, an arena of %zu KiB", enabled.size(),
              n_probes_added, std::size_t{arena->total_bytes() >> 10});
    active = true;
    dt_activity_advance(arena->base(), DT_ACTIVITY_INACTIVE, DT_ACTIVITY_WARMUP);
    tend(dt::monotonic_ns());
    if (new_processes.polls() && !has_own_targets() && awaits_statics())
        complain("new processes are looked for ten times a second, and those that live "
                 "shorter are missed: without CAP_NET_ADMIN the kernel does not tell of them");
    fire(dt::probe_begin);
    dt_activity_advance(arena->base(), DT_ACTIVITY_WARMUP, DT_ACTIVITY_ACTIVE);
    return start_clock();
}

void dtrace_hdl::make_consumer()
{
    host = std::make_unique<dt::LocalHost>(arena->base());
    dt::Consumer::Config config;
    config.arena = arena->base();
    config.symbols = &processes;
    config.events = this;
    config.owner = host->owner();
    config.alive = dt::thread_alive;
    config.per_cpu = options.flags.aggpercpu;
    config.max_aggregated_bytes = dt::largest_aggregated_bytes();
    consumer = std::make_unique<dt::Consumer>(config);
    apply_display();
}

// To the agent, which prepares for what is to be planted while we go on.
int dtrace_hdl::give_arena()
{
    dt::AgentClient* agent = processes.agent();
    if (agent == nullptr)
        return 0;
    if (in_kernel) {
        foresee_planting();
        agent_has_arena = true; // all that it will have
        return 0;
    }
    auto set =
        agent->set_arena(arena->program_fd(), arena->program_bytes(), arena->data_fd(),
                         arena->private_at() - arena->program_bytes(),
                         arena->private_fd(), arena->total_bytes() - arena->private_at());
    if (!set)
        return fail(set.error());
    agent_has_arena = true;
    std::size_t n_sites = 0;
    for (const auto& process : processes.all()) {
        process->unplanted = probes.of_process(process->pid);
        n_sites += process->unplanted.size();
    }
    expect(n_sites, 1);
    n_foreseen = 0;
    return 0;
}

void dtrace_hdl::expect(std::size_t n_sites, unsigned n_threads)
{
    if (dt::AgentClient* agent = processes.agent();
        agent != nullptr && n_sites >= many_sites)
        agent->expect(n_sites, n_threads);
}

// Records must fit their buffers, or nothing would ever be recorded.
int dtrace_hdl::check_sizes()
{
    auto* header = static_cast<dt_arena*>(arena->base());
    auto* clauses = static_cast<dt_clause*>(dt_at(arena->base(), header->clauses.at));
    std::uint64_t bufsize = header->options[DTRACEOPT_bufsize];
    for (const dt::Enabling& each : enabled) {
        for (std::size_t k = 0; k < each.prog->program->clauses.size(); k++) {
            if (each.prog->matched[k].empty())
                continue;
            const dt_clause& clause = clauses[each.first_clause + k];
            if (clause.rec_bytes > bufsize)
                return fail(too_large(*each.prog, k));
        }
    }
    return 0;
}

int dtrace_hdl::enable(const dt::Enabling& enabling)
{
    const auto& matched = enabling.prog->matched;
    for (std::size_t k = 0; k < matched.size(); k++)
        if (enable(matched[k], enabling.first_clause + k) != 0)
            return -1;
    return 0;
}

int dtrace_hdl::enable(std::span<const std::uint32_t> ids, std::size_t clause)
{
    if (in_kernel)
        return enable_in_kernel(ids, clause);
    for (std::uint32_t id : ids) {
        if (dt_ecb_add(arena->base(), id, static_cast<dt_u32>(clause)) == 0)
            return fail(ENOSPC, "too many pairs of a probe and a clause");
        registry.at(id).enabled = true;
    }
    return 0;
}

// profile-n means all CPUs. Where it samples less, that is said.
void dtrace_hdl::report_sampled()
{
    for (const auto& [id, timer] : profile_provider.timers()) {
        if (!timer.per_cpu || !registry.at(id).enabled || has_own_targets())
            continue;
        const auto n = std::count_if(
            processes.all().begin(), processes.all().end(),
            [](const auto& process) { return process->alive; });
        const std::string what =
            processes.agent() == nullptr ? "only dtrace itself is"
            : n == 1                     ? "only the process that is traced is"
                                         : "only the " + std::to_string(n) +
                                       " processes that are traced are";
        complain(std::string(registry.at(id).name) + ": " + what +
                 " sampled; sampling the complete system needs the kernel module, sampling a "
                 "process needs -p or -c");
        return;
    }
}

int dtrace_hdl::start_clock()
{
    if (in_kernel)
        return start_kernel_clock();
    std::vector<dt::Timer> timers;
    std::vector<dt::ProfileTimer> sampled; // by the agent, in the targets
    for (const auto& [id, timer] : profile_provider.timers()) {
        if (!registry.at(id).enabled)
            continue;
        if (timer.per_cpu && processes.agent() != nullptr)
            sampled.push_back({timer.probe, 0, timer.interval_ns});
        else
            timers.push_back(timer);
    }
    report_sampled();
    if (!sampled.empty())
        if (auto set = processes.agent()->profile(sampled); !set)
            return fail(set.error());
    // The clock's thread is a host of its own.
    auto started = clock.start(std::move(timers), [this](const dt::Timer& timer) {
        thread_local std::unique_ptr<dt::LocalHost> clock_host;
        thread_local void* clock_arena = nullptr;
        if (clock_arena != arena->base()) {
            clock_arena = arena->base();
            clock_host = std::make_unique<dt::LocalHost>(clock_arena);
        }
        auto pc = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
        long times = timer.per_cpu ? ::sysconf(_SC_NPROCESSORS_ONLN) : 1;
        for (long i = 0; i < times; i++)
            clock_host->fire(timer.probe, 0, pc);
    });
    return started ? 0 : fail(started.error());
}

void dtrace_hdl::back_out()
{
    clock.stop();
    if (dt::AgentClient* agent = processes.agent()) {
        // A target or an agent that died needs nothing undone.
        (void)!agent->profile({});
        for (const auto& process : processes.all())
            if (process->alive)
                unplant(process.get());
    }
    active = stopped = agent_has_arena = false;
    consumer.reset();
    host.reset();
    arena.reset();
    look_for_kernel(); // its arena cannot be made anew
    views.clear();
    n_probes_added = 0;
    for (std::uint32_t id = 1; registry.has(id); id++)
        registry.at(id).enabled = false;
    for (dt::Enabling& each : enabled)
        each.loaded = false;
}

int dtrace_hdl::stop()
{
    if (!active || stopped)
        return 0;
    stopped = true;
    dt::debug("stop");
    clock.stop();
    report_unmatched(UINT64_MAX);
    if (dt::AgentClient* agent = processes.agent())
        if (auto ended = agent->profile({}); !ended)
            complain(ended.error().text);
    void* base = arena->base();
    for (dt_u32 from : {DT_ACTIVITY_WARMUP, DT_ACTIVITY_ACTIVE, DT_ACTIVITY_DRAINING})
        dt_activity_advance(base, from, DT_ACTIVITY_COOLDOWN);
    // What was committed and stands in other shards yet is part of the output.
    auto clean = [this, base] {
        dt_clean(base, host->owner(), dt::monotonic_ns(), dt::thread_alive);
    };
    clean();
    fire(dt::probe_end);
    clean();
    dt_activity_advance(base, DT_ACTIVITY_COOLDOWN, DT_ACTIVITY_STOPPED);
    return 0;
}

int dtrace_hdl::status()
{
    if (!active)
        return DTRACE_STATUS_NONE;
    if (stopped)
        return DTRACE_STATUS_STOPPED;
    auto* header = static_cast<dt_arena*>(arena->base());
    auto* session = static_cast<dt_session*>(dt_at(arena->base(), header->session));
    if (dt_has_exited(arena->base()))
        return DTRACE_STATUS_EXITED;
    // Targets can write the word, but not in an arena of the kernel module.
    if (header->own == 0 &&
        __atomic_load_n(&session->activity, __ATOMIC_ACQUIRE) == DT_ACTIVITY_KILLED)
        return fail(EDT_BRICKED);
    if (options.run_time(DTRACEOPT_bufpolicy) == DT_BUFPOLICY_FILL &&
        __atomic_load_n(&session->filled, __ATOMIC_ACQUIRE) != 0)
        return DTRACE_STATUS_FILLED;
    return DTRACE_STATUS_OKAY;
}

void dtrace_hdl::apply_display()
{
    dt::Display& display = consumer->display();
    display.quiet = options.is_set(DTRACEOPT_quiet);
    display.flowindent = options.is_set(DTRACEOPT_flowindent);
    display.rawbytes = options.is_set(DTRACEOPT_rawbytes);
    display.temporal = options.is_set(DTRACEOPT_temporal);
    display.droptags = options.flags.droptags;
    display.form = options.format == "json"     ? dt::OutputForm::json
                   : options.format == "folded" ? dt::OutputForm::folded
                                                : dt::OutputForm::text;
    display.aggsortkey = options.is_set(DTRACEOPT_aggsortkey);
    display.aggsortrev = options.is_set(DTRACEOPT_aggsortrev);
    auto encoding = options.text.find("encoding");
    display.encoding = encoding != options.text.end() && encoding->second == "utf8"
                           ? dt::DrawnIn::utf8
                           : dt::DrawnIn::ascii;
    display.agghist = options.is_set(DTRACEOPT_agghist);
    display.aggpack = options.is_set(DTRACEOPT_aggpack);
    display.aggzoom = options.is_set(DTRACEOPT_aggzoom);
    display.stackindent = options.run_time(DTRACEOPT_stackindent);
    if (options.is_set(DTRACEOPT_aggsortpos))
        display.aggsortpos = options.run_time(DTRACEOPT_aggsortpos);
    if (options.is_set(DTRACEOPT_aggsortkeypos))
        display.aggsortkeypos = options.run_time(DTRACEOPT_aggsortkeypos);
}

// The chores of a live consumer: the lease that keeps probes firing, the clock line, and
// the cleaning of dynamic variables and speculations.
void dtrace_hdl::tend(std::uint64_t now)
{
    constexpr std::uint64_t lease_ns = 30'000'000'000, longest_ns = 10'000'000'000;
    const std::uint64_t renew_ns =
        std::min(options.run_time(DTRACEOPT_statusrate), longest_ns);
    auto* header = static_cast<dt_arena*>(arena->base());
    auto* session = static_cast<dt_session*>(dt_at(arena->base(), header->session));
    clock_line.tend(session->clock, now);
    look_at_modules(now);
    report_unmatched(now);
    if (now - lease_renewed_at >= renew_ns) {
        __atomic_store_n(&session->lease_until, now + lease_ns, __ATOMIC_RELEASE);
        lease_renewed_at = now;
    }
    if (now - cleaned_at >= options.run_time(DTRACEOPT_cleanrate)) {
        dt_clean(arena->base(), host->owner(), now, dt::thread_alive);
        cleaned_at = now;
    }
    if (kernel_unwind)
        kernel_unwind->look(now); // may take longer than all the others
}
