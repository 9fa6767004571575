// SPDX-License-Identifier: MIT
// The traced processes of a session: held by the ptrace-agent, named by their symbols.
//
// The agent is started with the first process. A process that ended stays known, so that
// addresses recorded before still get names; of those that nobody named (followed, taken up
// later) only what that needs (ended_processes.hpp).
#pragma once

#include "libdtrace/consume/symbolizer.hpp"
#include "libdtrace/providers/pid_provider.hpp"
#include "libdtrace/session/ended_processes.hpp"
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"
#include "libdtrace/symbols/process_symbols.hpp"
#include "ptrace-agent/client.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace dt {

// Probes of one program that a process executed, while a process may fire them by their
// ids: that process, and children that have not executed another program since they
// were forked.
struct ProgramProbes {
    pid_t pid = 0;
    std::string kin;                // Registry::begin_kin()
    std::vector<std::uint32_t> ids; // once the process exited or ran another program
};

} // namespace dt

// The handle of the C API.
struct ps_prochandle {
    pid_t pid = 0;
    bool created = false; // by dtrace_proc_create(): ours to start
    bool alive = true;
    bool implied = false; // grabbed because a description named it
    bool watched = false; // its libraries, by the agent
    bool cramped = false; // it gets breakpoints (ProcessBackend::choose_mechanism)
    bool newcomer =
        false;          // taken up because it began while descriptions mean everybody's
    pid_t followed = 0; // its parent, of a child that is traced for that
    pid_t origin = 0;   // of a followed one: the first of its ancestors that was not
    bool execed = false;   // and by now it runs another program than that
    int status = 0;        // of waitpid(2), once it has ended; -1: nobody holds it
    std::string unmatched; // the program it executed, if no probe matches there
    std::uint64_t executed_ns = 0;               // monotonic time of that exec
    std::unique_ptr<dt::ProcessSymbols> symbols; // may be null of a followed one
    std::set<std::uint32_t> told; // probes of which it was said that they cannot be
    std::shared_ptr<dt::ProgramProbes> program_probes; // null: not recycled
    std::vector<std::uint32_t> unplanted; // probes that may have sites not in place yet
    // Uprobes of the program that it runs, which stay: probe, device and inode, offset.
    std::set<std::tuple<std::uint32_t, dt::FileId, std::uint64_t>> uprobes;
};

namespace dt {

std::vector<pid_t> pids_in_proc(); // of whoever may be seen

class Processes : public Symbolizer {
public:
    Result<ps_prochandle*> create(const std::vector<std::string>& argv,
                                  const std::vector<EnvChange>& env, EvalTime evaltime);
    Result<ps_prochandle*> grab(pid_t pid);
    // The process with its symbols, grabbed if it is not yet (pid provider).
    Result<ProcessSymbols*> symbols_of(pid_t pid);
    // Of every process that we may look at and that is none of ours. What is found by them
    // holds when one is grabbed later.
    std::vector<ProcessSymbols*> everybody();
    // For a look at a process of everybody; null: it is none of them.
    std::unique_ptr<ProcessSymbols> glance_at(pid_t pid);
    int n_forbidden() const { return n_forbidden_; } // by the last everybody()
    // Names alone, of a process that need not be grabbed.
    Result<ProcessSymbols*> look_at(pid_t pid);
    // Of processes that are not grabbed; the one that was asked for longest ago goes.
    void keep_at_most(std::size_t n_visitors);
    std::size_t n_visitors() const { return visitors_.size(); }
    void release(ps_prochandle* process);
    // A child that the agent holds already; it may have ended.
    void follow(pid_t parent, pid_t child);
    int n_followed() const; // that live

    // Handles of processes that ended and that nobody named are none any more.
    void bury();

    ps_prochandle* find(pid_t pid);
    ps_prochandle* first(); // $target
    const std::vector<std::unique_ptr<ps_prochandle>>& all() const
    {
        return processes_;
    }
    AgentClient* agent() { return agent_ ? &*agent_ : nullptr; }
    Result<Ok> ensure_agent();
    // Returns sentences about files of targets of which not everything is read.
    std::vector<std::string> take_cuts() { return images_.take_cuts(); }

    // Symbolizer
    std::string uaddr(std::uint64_t pid, std::uint64_t addr) override;
    std::string usym(std::uint64_t pid, std::uint64_t addr) override;
    std::string umod(std::uint64_t pid, std::uint64_t addr) override;
    // The kernel's symbols are no process', but whoever names addresses needs them, too.
    KernelSymbols& kernel() { return kernel_; }
    std::string kaddr(std::uint64_t addr) override;
    std::string ksym(std::uint64_t addr) override;
    std::string kmod(std::uint64_t addr) override;
    std::uint64_t target() override;

private:
    bool is_ours(pid_t pid) const;
    Result<ps_prochandle*> adopt(Target target);
    ProcessSymbols* traced_symbols(pid_t pid, bool& traced);
    ProcessSymbols* known_symbols(std::uint64_t pid);
    std::unique_ptr<ProcessSymbols>& visitor(pid_t pid);

    KernelSymbols kernel_;
    std::optional<AgentClient> agent_;
    ImageCache images_;
    std::vector<std::unique_ptr<ps_prochandle>> processes_;
    EndedProcesses ended_;
    // Processes that are only symbolized.
    struct Visitor {
        std::unique_ptr<ProcessSymbols> symbols; // null: they could not be had
        std::uint64_t used = 0;
    };
    std::map<pid_t, Visitor> visitors_;
    std::map<pid_t, std::unique_ptr<ProcessSymbols>>
        everybody_; // but those in processes_
    int n_forbidden_ = 0;
    std::size_t max_visitors_ = 8; // pgmax
    std::uint64_t n_uses_ = 0;
};

} // namespace dt
