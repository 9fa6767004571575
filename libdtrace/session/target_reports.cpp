// SPDX-License-Identifier: MIT
#include "libdtrace/session/target_reports.hpp"

#include "base/clock_ns.hpp"
#include "base/printable.hpp"
#include "libdtrace/symbols/demangle.hpp"
#include "process/proc_files.hpp"

#include <algorithm>
#include <csignal>
#include <utility>
#include <vector>

namespace dt {

void TargetReports::report_notes(ps_prochandle& process)
{
    for (const std::string& note : s_.providers.pid.take_notes())
        s_.report(&process, note);
    for (const std::string& note : s_.providers.usdt.take_notes())
        s_.report(&process, note);
    report_cuts();
}

void TargetReports::report_cuts()
{
    // The number of reports is limited, because a process can map many files with
    // truncated tables.
    constexpr std::size_t most = 100;
    for (const std::string& cut : s_.processes.take_cuts())
        if (n_cuts_reported_++ < most)
            s_.complain(printable(cut, Escaping::Names));
}

void TargetReports::report_untraced(pid_t pid, const Error& why)
{
    if (why.code == Code::gone || why.code == Code::not_found ||
        !reported_untraced_.insert(pid).second)
        return;
    std::string name = read_proc_file(pid, "comm", 64);
    name = printable_name(name.substr(0, name.find('\n')));
    s_.complain("process " + std::to_string(pid) +
                (name.empty() ? "" : " (" + name + ")") +
                " is not traced: " + why.text);
}

// Returns how many threads block SIGTRAP. After the agent's death, a breakpoint in such
// a thread kills the target. In other threads, a breakpoint makes the target restore
// its text.
static std::size_t n_blocking_traps(pid_t pid)
{
    const std::vector<pid_t> threads = threads_of(pid);
    return static_cast<std::size_t>(
        std::count_if(threads.begin(), threads.end(), [pid](pid_t tid) {
            const auto mask = status_number(thread_status(pid, tid), "SigBlk", 0, 16);
            return (mask >> (SIGTRAP - 1) & 1) != 0;
        }));
}

void TargetReports::report_danger(const ps_prochandle& process)
{
    const char state = thread_state(process.pid, process.pid);
    if (state == '\0' || (state == 'Z' && threads_of(process.pid).size() == 1))
        return s_.complain("process " + std::to_string(process.pid) +
                           " has ended in the meantime; one of dtrace's breakpoints "
                           "may have killed it");
    const std::size_t n = n_blocking_traps(process.pid);
    if (n != 0)
        s_.complain(
            std::to_string(n) +
            (n == 1 ? " thread of process " : " threads of process ") +
            std::to_string(process.pid) +
            (n == 1 ? " blocks SIGTRAP: if it" : " block SIGTRAP: if one of them") +
            " is the first thread to hit a breakpoint, the process is killed");
}

void TargetReports::report_unmatched(ps_prochandle& process)
{
    if (process.unmatched.empty())
        return;
    s_.report(&process, "process " + std::to_string(process.pid) + " executed " +
                            printable_name(std::exchange(process.unmatched, {})) +
                            ", where no probe matches");
}

void TargetReports::report_unmatched(std::uint64_t now_ns)
{
    constexpr std::uint64_t time_to_load_ns = 2'000'000'000;
    for (const auto& process : s_.processes.all())
        if (!process->unmatched.empty() &&
            now_ns - process->executed_ns >= time_to_load_ns)
            report_unmatched(*process);
}

void TargetReports::note_program(ps_prochandle& process, bool still_traced,
                                 const std::string& program)
{
    report_unmatched(process); // reports the previous program
    if (!process.by_user() || s_.options.follow == FollowOption::none || !s_.active ||
        s_.stopped || !s_.awaits_libraries(process))
        return;
    if (!still_traced) {
        s_.report(&process,
                  "process " + std::to_string(process.pid) + " executed " +
                      (program.empty() ? "another program" : printable_name(program)) +
                      ", which is not traced (use -x follow=exec to trace it)");
        return;
    }
    process.unmatched = program.empty() ? "another program" : program;
    process.executed_ns = monotonic_ns();
}

} // namespace dt
