// SPDX-License-Identifier: MIT
// Matches the enabled descriptions again when a target loads a library or executes a
// program, or when a process starts.
#include "libdtrace/session/targets.hpp"

#include "base/clock_ns.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/process_matcher.hpp"

#include <algorithm>

namespace dt {

// Called after dlopen or dlclose. Matches the descriptions again. `forgotten` lists the
// sites that were removed with their libraries.
void Targets::libraries_changed(ps_prochandle& process,
                                std::span<const ForgottenProbe> forgotten)
{
    if (!process.is_held() || process.symbols == nullptr)
        return;
    for (const ForgottenProbe& each : forgotten) {
        s_.providers.syscall_sites.set_planted(process.pid, each.at, each.probe, false);
        ProcessProbe* probe = s_.probes.probe(each.probe);
        if (probe == nullptr || probe->pid != process.pid)
            continue;
        probe->set_planted(each.at, false);
        process.unplanted.push_back(each.probe);
    }
    if (!process.symbols->refresh())
        return;
    if (rematch(process) != 0)
        s_.complain(s_.error_text);
}

// Called after exec. `program` is the path of the new program, or "" if unknown.
// `still_traced` says whether the agent still traces the process (-x follow).
void Targets::program_changed(ps_prochandle& process, bool still_traced,
                              const std::string& program)
{
    // A process that is no longer traced may match again as a new process.
    const bool is_new = !still_traced && !process.by_user() && !s_.has_own_targets();
    if (is_new && !process.is_followed()) {
        s_.processes.release(&process);
        process.kind = TargetKind::started_later;
    }
    if (is_new || (process.is_followed() && !still_traced)) {
        process.leave(HoldState::released); // the agent detached from it
        forget_sites(process.pid);
        if (is_new)
            s_.new_processes.check_again(process.pid, monotonic_ns());
        return;
    }
    forget_sites(process.pid);
    process.execed = true;
    process.watched = false;
    process.search_ns = 0;
    process.unplanted.clear();
    process.uprobes.clear();
    process.reported_probes.clear();
    process.reported_loops.clear();
    reports_.note_program(process, still_traced, program);
    // refresh() fails if the process has exited. An event reports the exit.
    if (process.symbols == nullptr || !process.symbols->refresh() || !still_traced ||
        !s_.active || s_.stopped)
        return;
    if (rematch(process) != 0 || plant(process) != 0)
        s_.complain(s_.error_text);
}

// Searches for new libraries in processes that the agent does not watch. Stacks that
// the profile provider records may contain addresses in these libraries. The pause
// between two searches begins at 10 ms and doubles up to 10 s.
void Targets::search_libraries(std::uint64_t now)
{
    constexpr std::uint64_t first_pause_ns = 10'000'000, longest_ns = 10'000'000'000;
    if (!s_.active || s_.stopped)
        return;
    for (const auto& process : s_.processes.all()) {
        if (!process->is_held() || process->watched || process->symbols == nullptr ||
            now < process->search_ns)
            continue;
        if (process->search_ns == 0)
            process->pause_ns = first_pause_ns;
        else
            (void)process->symbols->refresh(); // fails if the process has exited
        process->search_ns = now + process->pause_ns;
        process->pause_ns = std::min(2 * process->pause_ns, longest_ns);
    }
}

int Targets::rematch(ps_prochandle& process)
{
    if (ProcessMatcher(s_, backend(), recycler_, process).add_probes() != 0)
        return -1;
    if (!process.unplanted.empty())
        process.unmatched.clear();
    return 0;
}

void Targets::check_new_processes(std::uint64_t now)
{
    if (!s_.active || s_.stopped)
        return;
    for (pid_t pid : s_.new_processes.due(now)) {
        const ps_prochandle* known = s_.processes.find(pid);
        if (s_.has_own_targets() || (known != nullptr && known->is_held()))
            continue;
        auto symbols = s_.processes.open_symbols(pid);
        if (symbols == nullptr)
            s_.new_processes.forget(pid);
        else if (s_.is_any_enabled([&](const ProbeSpec& spec) {
                     return s_.providers.may_be_static(spec) &&
                            s_.providers.usdt.has_any(spec, *symbols);
                 }))
            grab_new(pid);
    }
}

void Targets::grab_new(pid_t pid)
{
    if (!admits(pid))
        return users_.report_left_out();
    auto grabbed = s_.processes.grab(pid, TargetKind::started_later);
    if (!grabbed) {
        debug("new process %d is not traced: %s", pid, grabbed.error().text.c_str());
        reports_.report_untraced(pid, grabbed.error());
        return;
    }
    ps_prochandle& process = **grabbed;
    if (backend().prepare_agents() != 0)
        return s_.complain(s_.error_text); // the process is no longer held
    if (rematch(process) != 0 || plant(process) != 0)
        s_.complain(s_.error_text);
}

} // namespace dt
