// SPDX-License-Identifier: MIT
#include "libdtrace/session/session.hpp"

#include "base/clock_ns.hpp"
#include "libdtrace/session/anonymous.hpp"
#include "libdtrace/session/backends/arena_sizes.hpp"
#include "libdtrace/session/backends/backend_choice.hpp"
#include "libdtrace/session/backends/kernel_backend.hpp"
#include "libdtrace/session/backends/local_host.hpp"
#include "libdtrace/session/backends/memory_budget.hpp"
#include "libdtrace/session/backends/process_backend.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/on_cpu.hpp"
#include "libdtrace/session/option_changes.hpp"
#include "libdtrace/session/sampling/sample_contents.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace dt {

int Session::exec(dtrace_prog* prog)
{
    if (s_.active)
        return s_.fail(EDT_ACTIVE);
    if (prog->program->needs_kernel && !s_.kernel.has_value())
        return s_.fail(EDT_ENABLING_ERR,
                       "the program reads kernel memory, which is not possible: " +
                           s_.why_no_kernel);
    s_.enabled.push_back({prog});
    return 0;
}

int Session::make_backend()
{
    const BackendFacts facts = backend_facts(s_);
    switch (choose_backend(facts)) {
    case BackendChoice::processes_for_profile:
        s_.complain("profile-n samples only the traced processes, because this program "
                    "does not run in the kernel module; -x mechanism=uprobe samples "
                    "every CPU");
        [[fallthrough]];
    case BackendChoice::processes:
        backend_ = std::make_unique<ProcessBackend>(s_, reports_);
        return 0;
    case BackendChoice::module:
        backend_ = std::make_unique<KernelBackend>(s_, reports_);
        return 0;
    case BackendChoice::module_unusable:
        break;
    }
    const char* prefix =
        facts.module_wanted ? "-x mechanism=uprobe needs the kernel: " : "";
    return s_.fail(ENXIO, prefix + s_.why_no_kernel);
}

// Returns the error for a clause whose record exceeds its buffer.
static int too_large(const dtrace_prog& prog, std::size_t clause)
{
    const auto& probes = prog.matched[clause];
    bool only_end =
        !probes.empty() && std::all_of(probes.begin(), probes.end(),
                                       [](auto id) { return id == probe_end; });
    return only_end ? EDT_ENDTOOBIG : EDT_BUFTOOSMALL;
}

int Session::load(Enabling& enabling)
{
    dtrace_prog* prog = enabling.prog;
    auto dof = write_dof(*prog->program, 0);
    dt_load_error refused{};
    dt_u32 first = 0, n_clauses = 0;
    const int loaded =
        backend_->load(std::as_bytes(std::span(dof)), first, n_clauses, refused);
    if (loaded != 0) {
        if (refused.too_large != 0 && refused.too_large <= prog->matched.size())
            return s_.fail(too_large(*prog, refused.too_large - 1));
        s_.internal_error(std::string("the DOF that dtrace generated was refused: ") +
                          refused.text);
        return s_.fail(EDT_DIFINVAL, std::string("DOF was refused: ") + refused.text +
                                         " at " + std::to_string(refused.where));
    }
    enabling.first_clause = first;
    enabling.loaded = true;
    s_.consumer->add_program(prog->program, first);
    return 0;
}

static bool is_destructive(const dtrace_prog& prog)
{
    return std::any_of(prog.program->clauses.begin(), prog.program->clauses.end(),
                       [](const CompiledClause& clause) { return clause.destructive; });
}

int Session::go()
{
    if (s_.active)
        return s_.fail(EDT_ACTIVE);
    for (const Enabling& each : s_.enabled)
        if (is_destructive(*each.prog) && !s_.options.is_set(DTRACEOPT_destructive))
            return s_.fail(EDT_DESTRUCTIVE);
    if (const std::string probe = changed_after_sample(s_); !probe.empty())
        return s_.fail(EACCES,
                       probe + ": actions such as raise(), stop() and copyout() are "
                               "not possible, because this program runs after each "
                               "sample was taken; name processes with -p or -c");
    if (const std::string refused = why_not_recorded(s_); !refused.empty())
        return s_.fail(EACCES, refused);
    if (!s_.samples_in_consumer() && profile_contents(s_).kernel_stack &&
        !s_.kernel.has_value())
        return s_.fail(ENXIO,
                       "stack(), caller and stackdepth in a profile-n probe need the "
                       "kernel module if the D program also has other probes in the "
                       "targets, or reads their memory: " +
                           s_.why_no_kernel);
    if (start() == 0)
        return 0;
    back_out();
    return -1;
}

int Session::prepare()
{
    if (make_backend() != 0 || fit_options(s_, backend_->default_aggsize()) != 0 ||
        backend_->make_arena() != 0)
        return -1;
    targets_.grab_matched();
    if (s_.processes.agents().at(0) != nullptr && backend_->prepare_agents() != 0)
        return -1;
    compiler_.forget_announced_sites();
    make_consumer();

    for (Enabling& each : s_.enabled)
        if (load(each) != 0)
            return -1;
    if (check_sizes() != 0 || backend_->add_probes() != 0)
        return -1;
    for (const Enabling& each : s_.enabled)
        if (enable(each) != 0)
            return -1;
    backend_->touch_arenas();

    for (const auto& process : s_.processes.all())
        if (process->is_held() && targets_.plant(*process) != 0)
            return -1;
    return backend_->attach();
}

int Session::start()
{
    if (s_.options.is_set(DTRACEOPT_grabanon))
        return claim_anonymous();
    if (prepare() != 0)
        return -1;
    debug("go: %zu programs, %u probes, an arena of %zu KiB", s_.enabled.size(),
          s_.n_probes_added, std::size_t{s_.arena->total_bytes() >> 10});
    s_.active = true;
    advance(DT_ACTIVITY_INACTIVE, DT_ACTIVITY_WARMUP);
    tend(monotonic_ns());
    if (s_.new_processes.polls() && !s_.has_own_targets() && s_.awaits_statics())
        s_.complain(
            "dtrace looks for new processes ten times a second and can miss those that "
            "live for less than 0.1 s; run it with CAP_NET_ADMIN, outside any "
            "container, so that the kernel reports every new process");
    fire(probe_begin);
    // An exit() in BEGIN also stops the probes in the other arenas.
    advance(DT_ACTIVITY_WARMUP, dt_has_exited(s_.arena->base()) != 0
                                    ? DT_ACTIVITY_DRAINING
                                    : DT_ACTIVITY_ACTIVE);
    return backend_->start_timers();
}

void Session::make_consumer()
{
    Consumer::Config config;
    config.arena = s_.arena->base();
    config.symbols = &s_.processes;
    config.events = &s_.listener;
    config.owner = backend_->owner();
    config.alive = thread_alive;
    config.per_cpu = s_.options.flags.aggpercpu;
    config.max_aggregated_bytes = largest_aggregated_bytes();
    config.returns_memory = backend_->can_return_memory();
    s_.consumer = std::make_unique<Consumer>(config);
    for (const DomainArena& arena : s_.domain_arenas)
        s_.consumer->add_arena(arena.memory->base(), arena.number());
    apply_display();
}

// Sets the activity of all arenas whose activity is `from`.
void Session::advance(dt_activity from, dt_activity to)
{
    for (const ArenaMemory* arena : s_.all_arenas())
        dt_activity_advance(arena->base(), from, to);
}

// Moves the records of committed speculations to the principal buffers. dt_clean()
// moves a limited number of bytes, so it is repeated. Gives up after one second,
// because targets can keep committing speculations.
void Session::clean_all()
{
    constexpr std::uint64_t longest_ns = 1'000'000'000;
    const std::vector<ArenaMemory*> arenas = s_.all_arenas();
    for (const ArenaMemory* arena : arenas) {
        const std::uint64_t until = monotonic_ns() + longest_ns / arenas.size();
        while (dt_clean(arena->base(), backend_->owner(), monotonic_ns(),
                        thread_alive) != 0 &&
               monotonic_ns() < until)
            continue;
    }
}

// Refuses programs whose records do not fit into their buffers.
int Session::check_sizes()
{
    auto* header = static_cast<dt_arena*>(s_.arena->base());
    auto* clauses =
        static_cast<dt_clause*>(dt_at(s_.arena->base(), header->clauses.at));
    std::uint64_t bufsize = header->options[DTRACEOPT_bufsize];
    for (const Enabling& each : s_.enabled) {
        for (std::size_t k = 0; k < each.prog->program->clauses.size(); k++) {
            if (each.prog->matched[k].empty())
                continue;
            const dt_clause& clause = clauses[each.first_clause + k];
            if (clause.rec_bytes > bufsize)
                return s_.fail(too_large(*each.prog, k));
        }
    }
    return 0;
}

int Session::enable(const Enabling& enabling)
{
    const auto& matched = enabling.prog->matched;
    for (std::size_t k = 0; k < matched.size(); k++)
        if (backend_->enable(matched[k], enabling.first_clause + k) != 0)
            return -1;
    return 0;
}

// Fires a probe. If -x cpu names a CPU, the probe fires there.
void Session::fire(std::uint32_t probe)
{
    const OnCpu on_cpu(s_.options.run_time(DTRACEOPT_cpu));
    backend_->fire(probe);
}

// Undoes a start() that failed, so that go() may be called again.
void Session::back_out()
{
    if (backend_ && s_.arena) {
        backend_->stop_timers();
        // Failures are ignored, because the sites of the other targets must also be
        // removed.
        if (s_.processes.agents().at(0) != nullptr)
            for (const auto& process : s_.processes.all())
                if (process->is_held())
                    backend_->unplant(*process);
    }
    s_.active = s_.stopped = false;
    s_.consumer.reset();
    backend_.reset();
    s_.domain_arenas.clear();
    clock_lines_.clear();
    s_.arena.reset();
    s_.open_kernel();
    s_.listener.probes_renamed();
    s_.n_probes_added = 0;
    for (std::uint32_t id = 1; s_.registry.has(id); id++)
        s_.registry.at(id).enabled = false;
    for (Enabling& each : s_.enabled)
        each.loaded = false;
}

int Session::stop()
{
    if (!s_.active || s_.stopped)
        return 0;
    s_.stopped = true;
    debug("stop");
    targets_.handle_events(); // events before the stop must be reported, too
    backend_->stop_timers();
    targets_.reports().report_unmatched(UINT64_MAX);
    targets_.reports().report_cuts();
    for (dt_activity from :
         {DT_ACTIVITY_WARMUP, DT_ACTIVITY_ACTIVE, DT_ACTIVITY_DRAINING})
        advance(from, DT_ACTIVITY_COOLDOWN);
    clean_all();
    fire(probe_end);
    clean_all();
    advance(DT_ACTIVITY_COOLDOWN, DT_ACTIVITY_STOPPED);
    targets_.end_release();
    return 0;
}

static dt_session* session_of(const ArenaMemory& arena)
{
    const auto* header = static_cast<const dt_arena*>(arena.base());
    return static_cast<dt_session*>(dt_at(arena.base(), header->session));
}

int Session::status()
{
    if (!s_.active)
        return DTRACE_STATUS_NONE;
    if (s_.stopped)
        return DTRACE_STATUS_STOPPED;
    const std::vector<ArenaMemory*> arenas = s_.all_arenas();
    if (std::any_of(arenas.begin(), arenas.end(), [](const ArenaMemory* arena) {
            return dt_has_exited(arena->base()) != 0;
        })) {
        // An exit() in one trust domain ends tracing in all of them.
        advance(DT_ACTIVITY_ACTIVE, DT_ACTIVITY_DRAINING);
        return DTRACE_STATUS_EXITED;
    }
    auto* header = static_cast<dt_arena*>(s_.arena->base());
    auto* session = session_of(*s_.arena);
    // The kernel module sets KILLED. Without the module, a target could write KILLED,
    // so it is ignored.
    if (header->own == 0 &&
        __atomic_load_n(&session->activity, __ATOMIC_ACQUIRE) == DT_ACTIVITY_KILLED)
        return s_.fail(EDT_BRICKED);
    if (s_.options.run_time(DTRACEOPT_bufpolicy) == DT_BUFPOLICY_FILL &&
        std::any_of(arenas.begin(), arenas.end(), [](const ArenaMemory* arena) {
            return __atomic_load_n(&session_of(*arena)->filled, __ATOMIC_ACQUIRE) != 0;
        }))
        return DTRACE_STATUS_FILLED;
    return DTRACE_STATUS_OKAY;
}

void Session::apply_display()
{
    Display& display = s_.consumer->display();
    display.quiet = s_.options.is_set(DTRACEOPT_quiet);
    display.flowindent = s_.options.is_set(DTRACEOPT_flowindent);
    display.rawbytes = s_.options.is_set(DTRACEOPT_rawbytes);
    display.temporal = s_.options.is_set(DTRACEOPT_temporal);
    display.droptags = s_.options.flags.droptags;
    display.form = s_.options.format == FormatOption::json     ? OutputForm::json
                   : s_.options.format == FormatOption::folded ? OutputForm::folded
                                                               : OutputForm::text;
    display.aggsortkey = s_.options.is_set(DTRACEOPT_aggsortkey);
    display.aggsortrev = s_.options.is_set(DTRACEOPT_aggsortrev);
    auto encoding = s_.options.text.find("encoding");
    display.encoding = encoding != s_.options.text.end() && encoding->second == "utf8"
                           ? DrawnIn::utf8
                           : DrawnIn::ascii;
    display.agghist = s_.options.is_set(DTRACEOPT_agghist);
    display.aggpack = s_.options.is_set(DTRACEOPT_aggpack);
    display.aggzoom = s_.options.is_set(DTRACEOPT_aggzoom);
    display.stackindent = s_.options.run_time(DTRACEOPT_stackindent);
    if (s_.options.is_set(DTRACEOPT_aggsortpos))
        display.aggsortpos = s_.options.run_time(DTRACEOPT_aggsortpos);
    if (s_.options.is_set(DTRACEOPT_aggsortkeypos))
        display.aggsortkeypos = s_.options.run_time(DTRACEOPT_aggsortkeypos);
}

void Session::tend(std::uint64_t now)
{
    constexpr std::uint64_t lease_ns = 30'000'000'000, longest_ns = 10'000'000'000;
    const std::uint64_t renew_ns =
        std::min(s_.options.run_time(DTRACEOPT_statusrate), longest_ns);
    const std::vector<ArenaMemory*> arenas = s_.all_arenas();
    std::erase_if(clock_lines_, [&arenas](const auto& line) {
        return std::none_of(arenas.begin(), arenas.end(), [&line](auto arena) {
            return arena->base() == line.first;
        });
    });
    bool has_new_arena = false;
    for (const ArenaMemory* arena : arenas) {
        auto [line, is_new] = clock_lines_.try_emplace(arena->base());
        has_new_arena |= is_new;
        line->second.tend(session_of(*arena)->clock, now);
    }
    targets_.reports().report_unmatched(now);
    if (has_new_arena || now - lease_renewed_at_ >= renew_ns) {
        for (const ArenaMemory* arena : arenas)
            __atomic_store_n(&session_of(*arena)->lease_until, now + lease_ns,
                             __ATOMIC_RELEASE);
        lease_renewed_at_ = now;
        // Tables of files that were read for symbols may have been truncated.
        targets_.reports().report_cuts();
    }
    if (now - cleaned_at_ >= s_.options.run_time(DTRACEOPT_cleanrate)) {
        for (const ArenaMemory* arena : arenas)
            dt_clean(arena->base(), backend_->owner(), now, thread_alive);
        cleaned_at_ = now;
    }
    backend_->tend(now);
}

int Session::set_option(const char* name, const char* value)
{
    if (change_option(s_, name, value) != 0)
        return -1;
    if (s_.consumer)
        apply_display();
    return 0;
}

int Session::save_anonymous(FILE* to)
{
    if (s_.active)
        return s_.fail(EDT_ACTIVE);
    if (!s_.kernel)
        return s_.fail(ENXIO, s_.why_no_kernel);
    if (make_backend() != 0 || fit_options(s_, backend_->default_aggsize()) != 0)
        return -1;
    const int saved = dt::save_anonymous(s_, to);
    backend_.reset();
    return saved;
}

int Session::claim_anonymous()
{
    if (!s_.enabled.empty())
        return s_.fail(EDT_ISANON);
    if (!s_.kernel)
        return s_.fail(ENXIO, s_.why_no_kernel);
    auto claimed = s_.kernel->claim();
    if (!claimed)
        return claimed.error().code == Code::not_found ? s_.fail(EDT_NOANON)
                                                       : s_.fail(claimed.error());
    auto backend = std::make_unique<KernelBackend>(s_, reports_);
    backend->use(std::move(claimed->arena));
    backend_ = std::move(backend);
    make_consumer();
    if (restore_anonymous(s_, compiler_, claimed->file) != 0)
        return -1;
    s_.n_probes_added = static_cast<std::uint32_t>(s_.registry.size());
    s_.active = true;
    tend(monotonic_ns());
    return 0;
}

void Session::serve_targets()
{
    targets_.handle_events();
    if (!s_.active || s_.stopped)
        return;
    const std::uint64_t now = monotonic_ns();
    tend(now);
    targets_.check_new_processes(now);
}

} // namespace dt
