// SPDX-License-Identifier: MIT
// Enabled descriptions over what comes later: libraries that a target loads, the program
// that it execs, processes that begin where descriptions mean everybody's.
//
// What a description matched when it was compiled is in its program (dtrace_prog::matched);
// what it matches from then on goes from here into the arena at once.
#include "libdtrace/session/session.hpp"

#include "base/clock_ns.hpp"
#include "libdtrace/session/debug.hpp"

#include "libdtrace/symbols/demangle.hpp"
#include "ptrace-agent/proc_files.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

// Static probes may come for it, in whatever process.
bool dtrace_hdl::may_be_static(const dt::ProbeSpec& spec)
{
    return dt::UsdtProvider::may_mean(spec) &&
           std::none_of(providers.begin(), providers.end(), [&](dt::Provider* each) {
               return each->name() == spec.provider;
           });
}

// As descriptions call the pid provider that means it. One that was followed into another
// program is meant by those of the process that it came from.
std::string dtrace_hdl::pid_provider_of(const ps_prochandle& process)
{
    const bool like_origin = process.followed != 0 && process.execed;
    pid_t pid = like_origin ? process.origin : process.pid;
    return "pid" + std::to_string(pid);
}

static bool is_any(const std::vector<dt::Enabling>& enabled, auto concerns)
{
    for (const dt::Enabling& each : enabled)
        for (const auto& clause : each.prog->program->clauses)
            if (std::any_of(clause.probes.begin(), clause.probes.end(), concerns))
                return true;
    return false;
}

// Is there an enabled description that libraries of the process may have probes for?
bool dtrace_hdl::awaits_libraries(const ps_prochandle& process)
{
    const std::string provider = pid_provider_of(process);
    return is_any(enabled, [&](const dt::ProbeSpec& spec) {
        return spec.provider == provider || may_be_static(spec);
    });
}

bool dtrace_hdl::awaits_statics()
{
    return is_any(enabled,
                  [this](const dt::ProbeSpec& spec) { return may_be_static(spec); });
}

// After dlopen or dlclose.
void dtrace_hdl::libraries_changed(pid_t pid,
                                   std::span<const dt::ForgottenProbe> forgotten)
{
    ps_prochandle* process = processes.find(pid);
    if (process == nullptr || !process->alive || process->symbols == nullptr)
        return;
    for (const dt::ForgottenProbe& each : forgotten) {
        dt::ProcessProbe* probe = probes.probe(each.probe);
        if (probe == nullptr || probe->pid != pid)
            continue;
        probe->set_planted(each.at, false);
        process->unplanted.push_back(each.probe);
    }
    if (!process->symbols->refresh())
        return;
    if (rematch(*process) != 0)
        complain(error_text);
}

// Reports a command's program that has no probes. Called when the program had time to load
// its libraries, and when it ends.
void dtrace_hdl::report_unmatched(ps_prochandle& process)
{
    if (process.unmatched.empty())
        return;
    report_process(&process,
                   "process " + std::to_string(process.pid) + " executed " +
                       dt::printable_name(std::exchange(process.unmatched, {})) +
                       ", where no probe matches");
}

void dtrace_hdl::report_unmatched(std::uint64_t now_ns)
{
    constexpr std::uint64_t time_to_load_ns = 2'000'000'000;
    for (const auto& process : processes.all())
        if (!process->unmatched.empty() &&
            now_ns - process->executed_ns >= time_to_load_ns)
            report_unmatched(*process);
}

// Notes which program a target now runs, if it is a target that the user named.
void dtrace_hdl::note_program(ps_prochandle& process, bool goes_on)
{
    report_unmatched(process); // the program before this one
    if (process.followed != 0 || process.implied || options.follow == "none" ||
        !active || stopped || !awaits_libraries(process))
        return;
    std::string program = dt::agent::read_proc_link(process.pid, "exe");
    if (program.empty())
        return; // it has ended, which an event reports
    if (!goes_on) {
        report_process(&process,
                       "process " + std::to_string(process.pid) + " executed " +
                           dt::printable_name(program) +
                           ", which is not traced (-x follow=exec traces it)");
        return;
    }
    process.unmatched = std::move(program);
    process.executed_ns = dt::monotonic_ns();
}

// Updates a process after exec. goes_on: it is also traced in its new program (-x
// follow).
void dtrace_hdl::program_changed(ps_prochandle& process, bool goes_on)
{
    // Where everybody is meant it is a process that begins: it is looked at like any other.
    const bool begins = !goes_on && process.implied && !has_own_targets();
    if (begins && process.followed == 0) {
        processes.release(&process);
        process.newcomer = true;
    }
    if (begins || (process.followed != 0 && !goes_on)) {
        process.alive = false; // the agent let it go
        forget_sites(process.pid);
        if (begins)
            new_processes.look_again(process.pid, dt::monotonic_ns());
        return;
    }
    forget_sites(process.pid);
    process.execed = true;
    process.watched = false;
    process.unplanted.clear();
    process.uprobes.clear();
    process.told.clear();
    note_program(process, goes_on);
    // That fails when it has ended since; its exited event is on the way, and is what says
    // so.
    if (process.symbols == nullptr || !process.symbols->refresh() || !goes_on || !active ||
        stopped)
        return;
    if (rematch(process) != 0 || plant(&process) != 0)
        complain(error_text);
}

// All descriptions over the modules of one process that were not there before. A
// description that several clauses have is one.
int dtrace_hdl::rematch(ps_prochandle& process)
{
    probes.drop_gone(*process.symbols);
    // Probes are recycled only for programs that were executed under follow=exec. A
    // program that the command line named keeps its probes.
    const bool recycles = recycles_probes() && process.execed;
    const std::string kin = recycles ? pid_provider_of(process) : "";
    if (recycles && process.program_probes == nullptr)
        process.program_probes = std::make_shared<dt::ProgramProbes>(dt::ProgramProbes{process.pid, kin, {}});
    registry.begin_kin(kin);
    struct EndKin {
        dt::Registry& registry;
        ~EndKin() { registry.begin_kin(""); }
    } end_kin{registry};
    pid_provider.plants = [](std::size_t, unsigned) {};
    const std::string provider = pid_provider_of(process);
    using Names = std::tuple<std::string, std::string, std::string, std::string>;
    std::map<Names, std::vector<std::uint32_t>> matched;
    auto matches_of = [&](const dt::ProbeSpec& spec) -> const auto& {
        auto [known, first] = matched.try_emplace(
            Names{spec.provider, spec.module, spec.function, spec.name});
        std::vector<std::uint32_t>& ids = known->second;
        if (!first)
            return ids;
        if (spec.provider == provider) {
            dt::ProbeSpec its = spec;
            its.provider = "pid" + std::to_string(process.pid);
            auto outcome = pid_provider.provide_new(its);
            if (!outcome.refused)
                ids = std::move(outcome.provided.ids);
        } else if (may_be_static(spec)) {
            ids = usdt_provider.provide_in(spec, *process.symbols);
        }
        process.unplanted.insert(process.unplanted.end(), ids.begin(), ids.end());
        return ids;
    };
    for (const dt::Enabling& each : enabled) {
        const auto& clauses = each.prog->program->clauses;
        for (std::size_t k = 0; k < clauses.size(); k++) {
            for (const dt::ProbeSpec& spec : clauses[k].probes) {
                const std::vector<std::uint32_t>& ids = matches_of(spec);
                if (add_new_probes() != 0 || rename_probes() != 0)
                    return -1;
                if (each.loaded && enable(ids, each.first_clause + k) != 0)
                    return -1;
            }
        }
    }
    if (!process.unplanted.empty())
        process.unmatched.clear();
    return 0;
}

bool dtrace_hdl::has_own_targets() const
{
    return std::any_of(processes.all().begin(), processes.all().end(),
                       [](const auto& process) { return !process->implied; });
}

void dtrace_hdl::look_at_new_processes(std::uint64_t now)
{
    if (!active || stopped)
        return;
    for (pid_t pid : new_processes.due(now)) {
        const ps_prochandle* known = processes.find(pid);
        if (has_own_targets() || (known != nullptr && known->alive))
            continue;
        auto symbols = processes.glance_at(pid);
        if (symbols == nullptr)
            new_processes.forget(pid);
        else if (is_any(enabled, [&](const dt::ProbeSpec& spec) {
                     return may_be_static(spec) &&
                            usdt_provider.has_any(spec, *symbols);
                 }))
            take_up(pid);
    }
}

void dtrace_hdl::take_up(pid_t pid)
{
    if (!shares_with_others(pid))
        return report_left_out();
    auto grabbed = processes.grab(pid);
    if (!grabbed) {
        dt::debug("process %d: new, but %s", pid, grabbed.error().text.c_str());
        tell_untraced(pid, grabbed.error());
        return;
    }
    ps_prochandle& process = **grabbed;
    process.implied = process.newcomer = true;
    if ((!agent_has_arena && give_arena() != 0) || rematch(process) != 0 ||
        plant(&process) != 0)
        complain(error_text);
}
