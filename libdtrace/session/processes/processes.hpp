// SPDX-License-Identifier: MIT
// The traced processes of a session. This class also symbolizes addresses in them.
//
// SessionAgents attaches to the processes. An agent can belong to another user. Then this
// class checks with the kernel that the agent traces the processes of which it reports
// events, and is_traced() must be called before addresses in a process are sent to the
// agent.
//
// An exited process remains known, so that addresses in records can still be symbolized
// (ended_processes.hpp). Processes that are not traced can also be symbolized
// (untraced_symbols.hpp) and searched for static probes (searched_processes.hpp).
#pragma once

#include "libdtrace/consume/symbolizer.hpp"
#include "libdtrace/providers/pid_provider.hpp"
#include "libdtrace/session/processes/ended_processes.hpp"
#include "libdtrace/session/processes/process_handle.hpp"
#include "libdtrace/session/processes/searched_processes.hpp"
#include "libdtrace/session/processes/session_agents.hpp"
#include "libdtrace/session/processes/untraced_symbols.hpp"
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"
#include "libdtrace/symbols/process_symbols.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace dt {

struct ReadableProcesses {
    std::vector<ProcessSymbols*> symbols;
    std::size_t n_forbidden = 0; // processes that this user may not read
};

class Processes : public Symbolizer {
public:
    Processes() : agents_([this](std::size_t agent) { return is_in_use(agent); }) {}
    ~Processes() override { agents_.hang_up(); }
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;

    Result<ps_prochandle*> create(const std::vector<std::string>& argv,
                                  const std::vector<EnvChange>& env, EvalTime evaltime);
    // Grabs a process. Returns the existing handle if the process is already held.
    Result<ps_prochandle*> grab(pid_t pid, TargetKind kind = TargetKind::named);
    // Returns the symbols of a process. Grabs the process if it is not a target yet.
    Result<ProcessSymbols*> symbols_of(pid_t pid);
    // Reads the symbols of all processes, except dtrace and its agents. Probes in a
    // process stay valid if the process is grabbed later.
    ReadableProcesses all_readable();
    // Returns the symbols of a process that is not a target. Returns null if they
    // cannot be read, or if the process is dtrace or its agent.
    std::unique_ptr<ProcessSymbols> open_symbols(pid_t pid);
    void release(ps_prochandle* process);
    // Adds a child that an agent holds. The child belongs to its parent's domain,
    // because it maps the memory of that domain. The child may have exited. Returns false
    // if an agent of another user names a process that it does not trace.
    bool follow(std::size_t domain, pid_t parent, pid_t child);
    // Returns whether the agent of the process still traces it. If the agent does not
    // belong to another user, returns true without a check.
    bool is_traced(const ps_prochandle& process) const;
    // Returns the held processes that have exited for some time, although an agent of
    // another user has not reported their exit.
    std::vector<ps_prochandle*> hidden_exits(std::uint64_t now_ns);
    int n_followed() const; // children that are held

    // Removes handles of followed children and of TargetKind::started_later, if they
    // are no longer held.
    void remove_ended();

    ps_prochandle* find(pid_t pid);
    // Finds a process that the agent of this domain holds, or has held.
    ps_prochandle* find(std::size_t domain, pid_t pid);
    ps_prochandle* first(); // the process of $target, or null
    const std::vector<std::unique_ptr<ps_prochandle>>& all() const
    {
        return processes_;
    }
    UntracedSymbols& untraced() { return untraced_; }
    SessionAgents& agents() { return agents_; }
    AgentClient* agent_of(const ps_prochandle& process)
    {
        return agents_.at(process.domain);
    }
    // Returns whether a process of this agent is held.
    bool is_in_use(std::size_t agent) const;
    // Ends an agent that cannot be used. Its processes are lost.
    void end_agent(std::size_t agent);
    // Returns, and forgets, the messages about truncated tables in files.
    std::vector<std::string> take_cuts() { return images_.take_cuts(); }

    std::string uaddr(std::uint64_t pid, std::uint64_t addr) override;
    std::string usym(std::uint64_t pid, std::uint64_t addr) override;
    std::uint64_t usym_begin(std::uint64_t pid, std::uint64_t addr) override;
    std::uint64_t umod_begin(std::uint64_t pid, std::uint64_t addr) override;
    std::uint64_t ksym_begin(std::uint64_t addr) override;
    std::uint64_t kmod_begin(std::uint64_t addr) override;
    std::string umod(std::uint64_t pid, std::uint64_t addr) override;
    // The kernel's symbols are here because a Symbolizer also names kernel addresses.
    KernelSymbols& kernel() { return kernel_; }
    std::string kaddr(std::uint64_t addr) override;
    std::string ksym(std::uint64_t addr) override;
    std::string kmod(std::uint64_t addr) override;
    std::uint64_t target() override;

private:
    Result<ps_prochandle*> adopt(pid_t pid, TargetKind kind, std::size_t domain);
    ProcessSymbols* traced_symbols(pid_t pid, bool& traced);
    ProcessSymbols* known_symbols(std::uint64_t pid);

    SessionAgents agents_;
    KernelSymbols kernel_;
    ImageCache images_;
    std::vector<std::unique_ptr<ps_prochandle>> processes_;
    EndedProcesses ended_;
    UntracedSymbols untraced_{images_};
    SearchedProcesses searched_{images_};
};

} // namespace dt
