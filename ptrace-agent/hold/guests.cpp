// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/guests.hpp"

#include "process/proc_files.hpp"

#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <set>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace dt::agent {

namespace {

// Returns the Yama module's ptrace_scope as a character. Returns '0' if the module is
// not loaded.
char yama_scope()
{
    const Fd file(::open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
    char scope = '0';
    if (file && ::read(file.get(), &scope, 1) != 1)
        return '3'; // forbids everything
    return scope;
}

// Returns whether the files in /proc/PID belong to the process's user, which is the case
// only if the process is dumpable (proc(5)).
bool is_dumpable(pid_t pid, std::uint64_t user)
{
    const Fd file(::open(proc_path(pid, "status").c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    return file && ::fstat(file.get(), &info) == 0 && info.st_uid == user;
}

// Makes the same checks as the kernel if a process of this domain calls ptrace(2). The
// exceptions of the Yama module for declared tracers are not known, so these tracers are
// refused.
Result<Ok> may_trace(const TrustDomain& domain, pid_t client, pid_t pid)
{
    constexpr int hexadecimal = 16;
    const std::string status = read_proc_file(pid, "status");
    auto denied = [](const std::string& why) {
        return Error{Code::permission, "not permitted: " + why};
    };
    for (int i = 0; i < 3; ++i)
        if (status_number(status, "Uid", i) != domain.users[0] ||
            status_number(status, "Gid", i) != domain.groups[0])
            return denied("it has other user or group ids than this dtrace");
    if ((status_number(status, "CapPrm", 0, hexadecimal) & ~domain.capabilities) != 0)
        return denied("it has capabilities that this dtrace does not have");
    if (!is_dumpable(pid, domain.users[0]))
        return denied(
            "it is not dumpable (prctl PR_SET_DUMPABLE, or a set-id program)");
    const char scope = yama_scope();
    if (scope != '0' && !(scope == '1' && is_descendant(pid, client)))
        return denied(std::string("kernel.yama.ptrace_scope is ") + scope);
    return Ok{};
}

} // namespace

Result<Ok> check_guest(const Request& request, const Tracees& tracees,
                       const TrustDomain& domain, pid_t client)
{
    switch (request.word) {
    case request_grab: {
        const auto pid = Reader(request.body).get<pid_t>();
        const std::string doing = "grab process " + std::to_string(pid);
        const Process* process = tracees.find_process(pid);
        if (process == nullptr || process->no_events)
            return Error{Code::gone, doing + ": the ptrace-agent does not trace it"};
        if (auto may = may_trace(domain, client, pid); !may)
            return may.error().during(doing);
        return Ok{};
    }
    case request_create:
    case request_kill:
    case request_put_back:
    case request_confine:
        return Error{Code::permission,
                     "the ptrace-agent of root does not do this for another user"};
    default:
        return Ok{};
    }
}

Result<Ok> check_number(const Tracees& tracees, std::size_t n_new)
{
    const AgentSession& session = tracees.sessions().current();
    if (!session.is_guest())
        return Ok{};
    std::size_t n = n_new;
    std::set<const AddressSpace*> counted;
    for (const auto& [pid, process] : tracees.processes()) {
        if (!counted.insert(process->space.get()).second)
            continue;
        for (const Tracepoint* tp : process->space->tracepoints.all())
            n += static_cast<std::size_t>(std::count_if(
                tp->firings.begin(), tp->firings.end(), [&](const Firing& firing) {
                    return firing.session == session.number;
                }));
    }
    if (n > max_guest_sites)
        return Error{Code::limit, "the ptrace-agent of root permits at most " +
                                      std::to_string(max_guest_sites) +
                                      " probe sites of another user"};
    return Ok{};
}

} // namespace dt::agent
