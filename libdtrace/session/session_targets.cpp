// SPDX-License-Identifier: MIT
// What happens to targets: sites planted, libraries that come and go, exec, exit.
#include "libdtrace/session/session.hpp"

#include "dif/dof.h"
#include "libdtrace/session/clock.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/providers/process_patches.hpp"
#include "libdtrace/symbols/demangle.hpp"
#include "libdtrace/symbols/glob.hpp"
#include "ptrace-agent/proc_files.hpp"

#include <algorithm>
#include <csignal>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

static constexpr std::uint64_t max_handling_ns = 100'000'000;

const dt::SiteWords dt::not_probed{"cannot probe ", "",
                                   " more places that cannot be probed"};
const dt::SiteWords dt::by_breakpoint{"", " fires by a breakpoint, some 20 us a hit",
                                      " more places that fire by a breakpoint"};

dt::Site dt::site_of(std::uint32_t probe, const ProbeSite& at)
{
    Site site;
    site.at = at.at;
    site.probe = probe;
    site.kind = at.kind == ProbeSiteKind::Entry    ? SiteKind::entry
                : at.kind == ProbeSiteKind::Return ? SiteKind::ret
                : at.kind == ProbeSiteKind::Static ? SiteKind::static_probe
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
    return site;
}

dt::Mechanism dt::mechanism_of(const Options& options)
{
    if (options.mechanism == "uprobe")
        return Mechanism::uprobe;
    if (options.mechanism == "int3")
        return Mechanism::int3;
    return options.mechanism == "jump" ? Mechanism::jump : Mechanism::automatic;
}

// Its index.
static std::uint64_t add_static(dt::StaticTable& table, const dt::StaticArguments& from)
{
    table.sites.push_back({from.semaphore,
                           static_cast<std::uint32_t>(table.operands.size()),
                           static_cast<std::uint32_t>(from.operands.size())});
    table.operands.insert(table.operands.end(), from.operands.begin(),
                          from.operands.end());
    return table.sites.size() - 1;
}

// Probes whose function an enabled description names without a wildcard; ascending.
static std::vector<std::uint32_t> named_probes(const dtrace_hdl& session)
{
    std::vector<std::uint32_t> named;
    for (const dt::Enabling& each : session.enabled) {
        const auto& clauses = each.prog->program->clauses;
        for (std::size_t k = 0; k < each.prog->matched.size(); k++) {
            const auto& specs = clauses[k].probes;
            auto is_named = [](const dt::ProbeSpec& spec) {
                return spec.id != 0 ||
                       (!spec.function.empty() && !dt::is_glob(spec.function));
            };
            auto n = std::count_if(specs.begin(), specs.end(), is_named);
            if (n == 0)
                continue;
            // A description may name an alias of the function. If no description of the clause
            // has a wildcard, all of its probes count. Otherwise a probe counts only if a
            // description gives its id or the function's name as dtrace shows it.
            bool all = n == std::ssize(specs);
            for (std::uint32_t id : each.prog->matched[k]) {
                auto fits = [&](const dt::ProbeSpec& spec) {
                    return is_named(spec) &&
                           (spec.id == id ||
                            spec.function == session.registry.at(id).function);
                };
                if (all || std::any_of(specs.begin(), specs.end(), fits))
                    named.push_back(id);
            }
        }
    }
    dt::sort_ids(named);
    return named;
}

// The sites of the process' enabled probes that are not in place yet.
static std::vector<dt::Site> missing_sites(dtrace_hdl& session, ps_prochandle& process,
                                           dt::StaticTable& statics)
{
    std::vector<std::uint32_t> ids = std::exchange(process.unplanted, {});
    dt::sort_ids(ids);
    std::erase_if(ids,
                  [&](std::uint32_t id) { return !session.registry.at(id).enabled; });
    if (process.symbols != nullptr)
        session.probes.find_extents(*process.symbols, ids);
    std::vector<dt::Site> sites;
    sites.reserve(ids.size()); // most probes have one
    const bool any = session.options.mechanism == "any";
    const std::vector<std::uint32_t> named =
        any ? std::vector<std::uint32_t>() : named_probes(session);
    for (std::uint32_t id : ids) {
        const dt::ProcessProbe* probe = session.probes.probe(id);
        const bool breakpoint =
            any || std::binary_search(named.begin(), named.end(), id);
        for (const dt::ProbeSite& at : probe->sites) {
            if (at.planted)
                continue;
            sites.push_back(dt::site_of(id, at));
            sites.back().breakpoint = breakpoint ? 1 : 0;
            if (at.arguments == nullptr)
                continue;
            sites.back().arg0 = add_static(statics, *at.arguments);
            if (at.kind == dt::ProbeSiteKind::Return)
                sites.back().kind = dt::SiteKind::jump_out;
        }
    }
    return sites;
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

// Once for each probe: a library may come and go all the time.
// Returns whether a remark on the places of a probe is to be reported for this process. A
// process that the user has not named, or that executed another program, repeats no remark
// on a function of the same name in the same module: a shell loop would print it for each
// process that it starts.
bool dtrace_hdl::is_new_place(const ps_prochandle& process, std::string_view remark,
                              std::uint32_t id)
{
    constexpr std::size_t max_remarks = 10'000; // module names are the targets' choice
    const bool repeats = process.implied || process.execed;
    if (remarks.size() >= max_remarks)
        return !repeats;
    const dt::ProbeInfo& probe = registry.at(id);
    std::string key(remark);
    for (std::string_view part : {probe.module, probe.function, probe.name})
        key.append(part).append(1, ':');
    return remarks.insert(std::move(key)).second || !repeats;
}

void dtrace_hdl::report_sites(ps_prochandle* process,
                              const std::vector<dt::Site>& sites,
                              const std::vector<dt::Refusal>& refused,
                              const dt::SiteWords& words)
{
    constexpr std::size_t max_told = 10;
    std::size_t n = 0;
    std::vector<std::uint32_t> told;
    for (const dt::Refusal& refusal : refused) {
        if (refusal.site >= sites.size() ||
            process->told.count(sites[refusal.site].probe) != 0)
            continue;
        told.push_back(sites[refusal.site].probe);
        if (!is_new_place(*process, words.before, sites[refusal.site].probe))
            continue;
        if (++n > max_told)
            continue;
        const dt::ProbeInfo& probe = registry.at(sites[refusal.site].probe);
        std::string name;
        for (std::string_view part :
             {probe.provider, probe.module, probe.function, probe.name})
            name.append(name.empty() ? "" : ":").append(part);
        report_process(process,
                       words.before + name + " at " +
                           processes.uaddr(static_cast<std::uint64_t>(process->pid),
                                           sites[refusal.site].at.value) +
                           words.after + ": " + refusal.reason);
    }
    if (n > max_told)
        report_process(process,
                       "and " + std::to_string(n - max_told) + words.more);
    process->told.insert(told.begin(), told.end());
}

int dtrace_hdl::plant(ps_prochandle* process)
{
    dt::StaticTable statics;
    std::vector<dt::Site> sites = missing_sites(*this, *process, statics);
    // The agent watches libraries from the first call on, also when nothing is there yet
    // that a description could match.
    if (sites.empty() && (process->watched || !awaits_libraries(*process)))
        return 0;
    if (!std::exchange(process->watched, true)) {
        process->cramped = mechanism_of(options) == dt::Mechanism::automatic &&
                           is_cramped(process->pid);
        if (process->cramped)
            report_process(process, "its control group has too little memory for dtrace's "
                                    "buffers, so breakpoints are used, which are slower");
    }
    const bool children = options.follow == "fork" || options.follow == "exec";
    const dt::Follow what = children           ? dt::Follow::all
                            : awaits_statics() ? dt::Follow::statics
                                               : dt::Follow::none;
    const dt::FollowExec exec = options.follow == "exec" ? dt::FollowExec::all
                                : process->created && options.follow != "none"
                                    ? dt::FollowExec::itself
                                    : dt::FollowExec::none;
    if (what != dt::Follow::none || exec != dt::FollowExec::none) {
        auto followed = processes.agent()->follow(process->pid, what, exec);
        if (!followed && followed.error().code != dt::Code::gone)
            return fail(followed.error());
    }
    if (in_kernel)
        return plant_by_kernel(*process, sites, statics);
    auto planted = processes.agent()->plant(
        process->pid, sites, process->cramped ? dt::Mechanism::int3 : mechanism_of(options),
        seen_text(*process), statics);
    if (!planted) {
        if (planted.error().code == dt::Code::gone)
            return 0; // its exit is reported as an event
        return fail(planted.error());
    }
    dt::debug("process %d: %zu places to fire at, %u planted, %zu refused, %zu gone",
              process->pid, sites.size(), planted->n_planted, planted->refused.size(),
              planted->gone.size());
    if (dt::debugging())
        for (const dt::Refusal& refusal : planted->refused)
            if (refusal.site < sites.size())
                dt::debug("process %d: nothing planted at 0x%llx: %s", process->pid,
                          static_cast<unsigned long long>(sites[refusal.site].at.value),
                          refusal.reason.c_str());
    auto gone = planted->gone.begin();
    for (std::uint32_t i = 0; i < sites.size(); i++) {
        if (gone != planted->gone.end() && *gone == i) {
            ++gone;
            process->unplanted.push_back(sites[i].probe);
        } else {
            probes.probe(sites[i].probe)->set_planted(sites[i].at, true);
        }
    }
    report_sites(process, sites, planted->refused, dt::not_probed);
    report_sites(process, sites, planted->breakpoints, dt::by_breakpoint);
    report_loops(process, sites, planted->fired_by_loops);
    report_notes(process);
    return 0;
}

// Reports the first functions by name, and the number of the others.
void dtrace_hdl::report_loops(ps_prochandle* process, const std::vector<dt::Site>& sites,
                              const std::vector<std::uint32_t>& looping)
{
    constexpr std::size_t max_named = 5;
    std::string names;
    std::size_t n = 0;
    for (std::uint32_t i : looping) {
        if (i < sites.size() && process->told.insert(sites[i].probe).second &&
            is_new_place(*process, "loops ", sites[i].probe) && ++n <= max_named)
            names.append(n == 1 ? "" : ", ")
                .append(registry.at(sites[i].probe).function);
    }
    if (n > max_named)
        names += " and " + std::to_string(n - max_named) + " more";
    if (n != 0)
        report_process(process, "entry probes that also fire when a loop goes back to the "
                                "function's first instruction: " +
                                    names);
}

void dtrace_hdl::report_notes(ps_prochandle* process)
{
    for (const std::string& note : pid_provider.take_notes())
        report_process(process, note);
    for (const std::string& note : usdt_provider.take_notes())
        report_process(process, note);
}

void dtrace_hdl::unplant(ps_prochandle* process)
{
    std::vector<dt::Site> sites;
    for (std::uint32_t id : probes.of_process(process->pid)) {
        for (dt::ProbeSite& at : probes.probe(id)->sites)
            if (std::exchange(at.planted, false))
                sites.push_back(dt::site_of(id, at));
    }
    if (in_kernel)
        return; // they go with the device's file
    if (auto removed = processes.agent()->remove(process->pid, sites);
        !removed && removed.error().code != dt::Code::gone)
        report_process(process, removed.error().text);
}

// Those of the session, or where it has none everybody.
std::vector<dt::ProcessSymbols*> dtrace_hdl::usdt_candidates(bool everybody)
{
    std::vector<dt::ProcessSymbols*> all;
    for (const auto& process : processes.all())
        if (process->alive && !process->implied && process->symbols != nullptr)
            all.push_back(process->symbols.get());
    if (!all.empty() || !everybody)
        return all;
    new_processes.begin(); // before we look, so that nobody comes between
    return processes.everybody();
}

// Processes that descriptions found by their probes alone. One that cannot be traced is
// told, and the others are.
void dtrace_hdl::grab_found()
{
    std::set<pid_t> pids;
    for (const dt::Enabling& each : enabled)
        for (const auto& ids : each.prog->matched)
            for (std::uint32_t id : ids)
                if (const dt::ProcessProbe* probe = probes.probe(id))
                    pids.insert(probe->pid);
    for (pid_t pid : pids) {
        if (processes.find(pid) != nullptr || !shares_with_others(pid))
            continue;
        auto grabbed = processes.grab(pid);
        if (grabbed)
            (*grabbed)->implied = true;
        else
            tell_untraced(pid, grabbed.error());
    }
    report_left_out();
}

// Returns whether a process may become a target, by its user. All targets of a session
// write to one memory, so one of them can spoil the records of another. If descriptions
// find processes only by their probes, processes of dtrace's user and of one other user
// become targets; those of further users only with -x trust=all.
bool dtrace_hdl::shares_with_others(pid_t pid)
{
    if (in_kernel || options.trust == "all")
        return true;
    const std::string status = dt::agent::read_proc_file(pid, "status");
    if (status.empty())
        return true; // it has exited; grabbing it will report that
    const std::uint64_t ours = ::geteuid();
    for (int n = 0; n < 4; n++) { // real, effective, saved, of the file system
        const std::uint64_t user = dt::agent::status_number(status, "Uid", n);
        if (user == ours)
            continue;
        if (!other_user)
            other_user = user;
        if (user == *other_user)
            continue;
        left_out.insert(pid);
        left_out_users.insert(user);
        return false;
    }
    return true;
}

// Reports processes that were left out, once for each user.
void dtrace_hdl::report_left_out()
{
    if (std::includes(told_users.begin(), told_users.end(), left_out_users.begin(),
                      left_out_users.end()))
        return;
    told_users = left_out_users;
    auto counted = [](std::size_t n, const char* one, const char* several) {
        return std::to_string(n) + " " + (n == 1 ? one : several);
    };
    complain(counted(left_out.size(), "process", "processes") + " of " +
             counted(left_out_users.size(), "further user is", "further users are") +
             " left out: all targets share memory, and those of user " +
             std::to_string(*other_user) +
             " are traced. Name processes by -p, or trace all users by -x trust=all");
}

// Nobody named it: said once. One that ended meanwhile is none.
void dtrace_hdl::tell_untraced(pid_t pid, const dt::Error& why)
{
    if (why.code == dt::Code::gone || why.code == dt::Code::not_found ||
        !told_untraced.insert(pid).second)
        return;
    std::string name = dt::agent::read_proc_file(pid, "comm", 64);
    name = dt::printable_name(name.substr(0, name.find('\n')));
    complain("process " + std::to_string(pid) + (name.empty() ? "" : " (" + name + ")") +
             " is not traced: " + why.text);
}

// Returns whether probes are recycled. Records get their probe's name when they are
// read, and with ring and fill that is at the end, so these policies exclude it.
bool dtrace_hdl::recycles_probes() const
{
    return options.follow == "exec" && arena && !in_kernel &&
           options.run_time(DTRACEOPT_bufpolicy) == DT_BUFPOLICY_SWITCH;
}

// Retires the probes of a process that exits or executes another program, once no
// process can fire them any more.
void dtrace_hdl::end_program(ps_prochandle& process)
{
    std::shared_ptr<dt::ProgramProbes> probes = std::move(process.program_probes);
    process.program_probes.reset();
    if (probes == nullptr)
        return;
    // A child that only forked has sites by the ids of its parent, and none of its own.
    for (std::uint32_t id : this->probes.of_process(process.pid))
        if (registry.at(id).owner == &pid_provider)
            probes->ids.push_back(id);
    if (probes.use_count() == 1 && !probes->ids.empty())
        retired_probes.push_back({std::move(probes), dt::monotonic_ns()});
}

void dtrace_hdl::recycle_probes()
{
    while (!retired_probes.empty() &&
           retired_probes.front().since_ns < consumer->consumed_until()) {
        dt::ProgramProbes& probes = *retired_probes.front().probes;
        dt::sort_ids(probes.ids);
        // The process may have the same functions in the program that it runs now.
        const std::string provider = "pid" + std::to_string(probes.pid);
        std::erase_if(probes.ids, [&](std::uint32_t id) {
            const dt::ProcessProbe* probe = this->probes.probe(id);
            return registry.at(id).provider != provider || probe == nullptr ||
                   !probe->sites.empty();
        });
        registry.recycle(probes.kin, probes.ids);
        retired_probes.pop_front();
    }
}

int dtrace_hdl::rename_probes()
{
    std::uint32_t like = 0;
    for (std::uint32_t id : registry.take_renamed()) {
        if (dt_probe_rename(arena->base(), id, registry.at(id).provider.data(), like) != 0)
            return fail(ENOSPC, "the names of too many processes' probes");
        consumer->rename_probe(id);
        like = id;
    }
    if (like != 0)
        views.clear();
    return 0;
}

void dtrace_hdl::forget_sites(pid_t pid)
{
    if (ps_prochandle* process = processes.find(pid))
        end_program(*process);
    pid_provider.forget(pid);
    probes.forget(pid);
}

void dtrace_hdl::report_process(ps_prochandle* process, const std::string& text)
{
    if (on_proc.func != nullptr)
        on_proc.func(process, text.c_str(), on_proc.arg);
}

void dtrace_hdl::resume_changed(const dt::AgentEvent& event)
{
    auto resumed =
        processes.agent()->resume_after_library_change(event.pid, event.status);
    if (!resumed && resumed.error().code != dt::Code::gone)
        complain(resumed.error().text);
}

// Returns how many threads block SIGTRAP. After the agent's death the target restores
// its text at the first breakpoint that a thread runs into. If that thread blocks
// SIGTRAP, the target ends instead.
static std::size_t n_blocking_traps(pid_t pid)
{
    using namespace dt::agent;
    const std::vector<pid_t> threads = threads_of(pid);
    return static_cast<std::size_t>(
        std::count_if(threads.begin(), threads.end(), [pid](pid_t tid) {
            const auto mask = status_number(thread_status(pid, tid), "SigBlk", 0, 16);
            return (mask >> (SIGTRAP - 1) & 1) != 0;
        }));
}

void dtrace_hdl::report_threads_in_danger(const ps_prochandle& process)
{
    const std::size_t n = n_blocking_traps(process.pid);
    if (n != 0)
        complain(std::to_string(n) + " threads of process " + std::to_string(process.pid) +
                 " block SIGTRAP: a breakpoint that one of them hits before any other "
                 "thread does ends the process");
}

static const char* event_text(dt::AgentEvent::Kind kind)
{
    switch (kind) {
    case dt::AgentEvent::exited:
        return "ended";
    case dt::AgentEvent::execed:
        return "runs another program";
    case dt::AgentEvent::libraries_changed:
        return "its libraries changed";
    case dt::AgentEvent::forked:
        return "forked";
    case dt::AgentEvent::given_up:
        return "is not traced any more";
    case dt::AgentEvent::agent_error:
        return "the agent reports an error";
    case dt::AgentEvent::agent_gone:
        return "the agent is gone";
    }
    return "";
}

// A program that loads libraries all the time makes events faster than they are handled:
// what is left waits until records were drained.
void dtrace_hdl::handle_agent_events()
{
    dt::AgentClient* agent = processes.agent();
    if (agent == nullptr)
        return;
    processes.bury();
    if (active)
        recycle_probes();
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
        dt::debug("process %d: %s", event.pid, event_text(event.kind));
        switch (event.kind) {
        case dt::AgentEvent::exited:
            if (process == nullptr || !process->alive)
                break;
            process->alive = false;
            process->status = event.status;
            report_unmatched(*process);
            forget_sites(event.pid);
            if (on_proc.func != nullptr)
                on_proc.func(process, nullptr, on_proc.arg);
            break;
        case dt::AgentEvent::execed:
            if (process != nullptr)
                program_changed(*process, event.status != 0);
            if (event.status != 0)
                resume_changed(event);
            break;
        case dt::AgentEvent::libraries_changed: {
            if (active && !stopped) {
                libraries_changed(event.pid, event.forgotten);
                if (process != nullptr && plant(process) != 0)
                    complain(error_text);
            } else if (process != nullptr && process->symbols != nullptr) {
                (void)process->symbols->refresh();
            }
            resume_changed(event);
            break;
        }
        case dt::AgentEvent::forked:
            if (event.status == 0)
                break;
            processes.follow(event.pid, event.child);
            probes.inherit(event.pid, event.child);
            if (ps_prochandle* child = processes.find(event.child);
                child != nullptr && process != nullptr)
                child->program_probes = process->program_probes;
            break;
        case dt::AgentEvent::given_up:
            report_process(process, event.text);
            if (process == nullptr || !std::exchange(process->alive, false))
                break;
            process->status = -1;
            forget_sites(event.pid);
            if (on_proc.func != nullptr)
                on_proc.func(process, nullptr, on_proc.arg);
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
                if (mechanism_of(options) == dt::Mechanism::int3)
                    report_threads_in_danger(*other);
                dt::lower_semaphores(other->pid);
                forget_sites(other->pid);
                if (on_proc.func != nullptr)
                    on_proc.func(other.get(), nullptr, on_proc.arg);
            }
            return;
        }
    }
}
