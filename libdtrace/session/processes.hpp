// SPDX-License-Identifier: MIT
// The traced processes of a session. This class also symbolizes addresses in them.
//
// Each trust domain (process/trust_domain.hpp) has an agent. If another dtrace process
// already traces a process, this class joins the agent of that dtrace. A domain can
// therefore have several agents, which share one arena. An exited process remains known,
// so that addresses in records can still be symbolized (ended_processes.hpp).
//
// A joined agent can belong to another user. Then this class checks with the kernel that
// the agent traces the processes of which it reports events, and is_traced() must be
// called before addresses in a process are sent to the agent.
// Processes that are not traced can also be symbolized (untraced_symbols.hpp) and
// searched for static probes (searched_processes.hpp).
#pragma once

#include "libdtrace/consume/symbolizer.hpp"
#include "libdtrace/providers/pid_provider.hpp"
#include "libdtrace/session/ended_processes.hpp"
#include "libdtrace/session/process_handle.hpp"
#include "libdtrace/session/searched_processes.hpp"
#include "libdtrace/session/untraced_symbols.hpp"
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"
#include "libdtrace/symbols/process_symbols.hpp"
#include "process/trust_domain.hpp"
#include "ptrace-agent/wire/client.hpp"

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
    Processes() : starter_(AgentStarter::begin()) {}
    ~Processes() override;
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
    // Returns whether a process in use is traced by the agent of another user.
    bool has_foreign() const;
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
    // Starts the first agent.
    Result<Ok> ensure_agent();
    // The agents have numbers from 0. If a domain has one agent, as usual, this is also
    // the number of the domain.
    std::size_t n_agents() const { return domains_.size(); }
    // Returns the number of the first agent of the same domain. All agents of a domain
    // use the same arena.
    std::size_t arena_of(std::size_t agent) const { return domains_[agent]->arena; }
    // Returns whether an agent uses this arena.
    bool is_arena_in_use(std::size_t arena) const;
    // Returns null if the agent has not been started or was ended.
    AgentClient* agent(std::size_t domain = 0)
    {
        return domain < domains_.size() && domains_[domain]->agent
                   ? &*domains_[domain]->agent
                   : nullptr;
    }
    std::vector<AgentClient*> agents();
    AgentClient* agent_of(const ps_prochandle& process)
    {
        return agent(process.domain);
    }
    // Puts all processes that are grabbed from now on into the first domain (-x
    // trust=all).
    //
    // If `confines` is true, the agents of other domains that are started from now on
    // have no rights (-x trust=confined, the default).
    void set_trust(bool trusts_all, bool confines)
    {
        trusts_all_ = trusts_all;
        confines_ = confines;
    }
    // Returns whether an agent in use has rights that set_trust() now denies.
    bool has_unconfined() const;
    // Returns whether the process belongs to none of the existing domains. Returns
    // false if there are no domains yet.
    bool needs_new_domain(pid_t pid) const;
    // Returns whether a process of the domain is held.
    bool is_in_use(std::size_t domain) const;
    std::size_t n_domains_in_use() const;
    // Makes the agents of unused domains available to other domains. Must not be called
    // while tracing, because an agent keeps its arena.
    void forget_unused_domains();
    // Ends an agent that cannot be used. Its processes are lost.
    void end_agent(std::size_t domain);
    // Ends the agents of domains in which no process has been held for a second. Also
    // cleans up agents that have died. Returns the numbers of these domains.
    std::vector<std::size_t> retire_unused(std::uint64_t now_ns);
    // Returns, and forgets, the messages about truncated tables in files.
    std::vector<std::string> take_cuts() { return images_.take_cuts(); }

    std::string uaddr(std::uint64_t pid, std::uint64_t addr) override;
    std::string usym(std::uint64_t pid, std::uint64_t addr) override;
    std::string umod(std::uint64_t pid, std::uint64_t addr) override;
    // The kernel's symbols are here because a Symbolizer also names kernel addresses.
    KernelSymbols& kernel() { return kernel_; }
    std::string kaddr(std::uint64_t addr) override;
    std::string ksym(std::uint64_t addr) override;
    std::string kmod(std::uint64_t addr) override;
    std::uint64_t target() override;

private:
    bool is_ours(pid_t pid) const;
    Result<AgentClient> start_agent(const std::optional<TrustDomain>& limit);
    Result<Ok> add_agent(const std::optional<TrustDomain>& limit);
    const std::optional<TrustDomain>& own_domain() const;
    std::optional<TrustDomain> limit_for(const std::optional<TrustDomain>& key) const;
    std::optional<TrustDomain> key_of(pid_t pid) const;
    std::optional<std::size_t> domain_with(const TrustDomain& key) const;
    Result<std::size_t> domain_for(const std::optional<TrustDomain>& wanted);
    void set_key(std::size_t agent, const std::optional<TrustDomain>& key);
    Result<Ok> may_join(const AgentClient& agent,
                        const std::optional<TrustDomain>& key) const;
    Result<std::size_t> join_tracer(pid_t pid, const std::optional<TrustDomain>& key);
    Result<std::size_t> attach(pid_t pid, const std::optional<TrustDomain>& key);
    Result<ps_prochandle*> adopt(pid_t pid, TargetKind kind, std::size_t domain);
    ProcessSymbols* traced_symbols(pid_t pid, bool& traced);
    ProcessSymbols* known_symbols(std::uint64_t pid);

    Result<AgentStarter> starter_; // forked before anything is read from processes
    KernelSymbols kernel_;
    struct Domain {
        std::optional<AgentClient> agent;
        std::optional<TrustDomain> key{}; // nullopt until a process belongs to it
        // The domain to which the agent's rights are limited. nullopt if the agent has
        // dtrace's rights.
        std::optional<TrustDomain> limit{};
        bool was_used = false;             // the agent may have attached to a process
        std::uint64_t unused_since_ns = 0; // 0 while the domain is in use
        std::size_t arena = 0;             // arena_of()
    };
    std::vector<std::unique_ptr<Domain>> domains_;
    bool trusts_all_ = false;
    bool confines_ = true;
    // dtrace's own domain, which own_domain() reads when the first agent is started. It
    // is not read again when a session starts, because there may be no free descriptor
    // then.
    mutable std::optional<TrustDomain> own_;
    ImageCache images_;
    std::vector<std::unique_ptr<ps_prochandle>> processes_;
    EndedProcesses ended_;
    UntracedSymbols untraced_{images_};
    SearchedProcesses searched_{images_};
};

} // namespace dt
