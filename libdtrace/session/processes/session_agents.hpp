// SPDX-License-Identifier: MIT
// The agents of a session.
//
// Each trust domain (process/trust_domain.hpp) has an agent, which this session has
// started. If another dtrace process already traces a process, the session joins the
// agent of that dtrace. A domain can therefore have several agents, which share one
// arena.
//
// The agents have numbers from 0. If a domain has one agent, as usual, this is also the
// number of the domain.
#pragma once

#include "base/result.hpp"
#include "process/trust_domain.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace dt {

class SessionAgents {
public:
    // Returns whether the session holds a process of this agent.
    using IsInUse = std::function<bool(std::size_t agent)>;

    explicit SessionAgents(IsInUse is_in_use)
        : is_in_use_(std::move(is_in_use)), starter_(AgentStarter::begin())
    {
    }
    SessionAgents(const SessionAgents&) = delete;
    SessionAgents& operator=(const SessionAgents&) = delete;

    // Puts all processes to which this session attaches from now on into the first
    // domain (-x trust=all).
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

    // Returns the domain to which a process belongs in this session. Returns nullopt if
    // the process has exited.
    std::optional<TrustDomain> key_of(pid_t pid) const;
    // Returns whether the process belongs to none of the existing domains. Returns
    // false if there are no domains yet.
    bool needs_new_domain(pid_t pid) const;

    // Starts the first agent.
    Result<Ok> ensure_first();
    // Returns this session's own agent for a domain. Starts an agent for a new domain.
    // If the domain is not known, returns any agent.
    Result<std::size_t> for_domain(const std::optional<TrustDomain>& wanted);
    // Records that an agent belongs to this domain, unless it belongs to one already.
    void assign(std::size_t agent, const std::optional<TrustDomain>& key);
    struct Attached {
        std::size_t agent = 0;
        TracedBefore traced_before = TracedBefore::no;
    };
    // Attaches to a process of this domain. If another dtrace traces it, joins the agent
    // of that dtrace.
    Result<Attached> attach(pid_t pid, const std::optional<TrustDomain>& key);

    std::size_t size() const { return agents_.size(); }
    // Returns null if the agent has not been started or was ended.
    AgentClient* at(std::size_t agent) const
    {
        return agent < agents_.size() && agents_[agent]->client
                   ? &*agents_[agent]->client
                   : nullptr;
    }
    std::vector<AgentClient*> all() const;
    // Returns whether the kernel reports that the agent traces the process.
    bool traces(std::size_t agent, pid_t pid) const;
    // Returns whether the agent of another user is in use.
    bool has_foreign() const;
    // Returns whether the process is dtrace or a process that dtrace has started.
    bool is_ours(pid_t pid) const;

    // Returns the number of the first agent of the same domain. All agents of a domain
    // use the same arena.
    std::size_t arena_of(std::size_t agent) const { return agents_[agent]->arena; }
    // Returns whether an agent uses this arena.
    bool is_arena_in_use(std::size_t arena) const;
    std::size_t n_domains_in_use() const;
    // Makes the agents of unused domains available to other domains. Must not be called
    // while tracing, because an agent keeps its arena.
    void forget_unused_domains();

    // Closes the sockets of all agents. So all agents release their targets at the same
    // time. Must be called before the destructor, which waits for each agent in turn.
    void hang_up();
    // Ends an agent. Its processes are lost.
    void end(std::size_t agent) { agents_[agent]->client.reset(); }
    // Ends the agents of domains in which no process has been held for a second. Also
    // cleans up agents that have died. Returns the numbers of these agents.
    std::vector<std::size_t> retire_unused(std::uint64_t now_ns);

private:
    struct Member {
        std::optional<AgentClient> client;
        std::optional<TrustDomain> key{}; // nullopt until a process belongs to it
        // The domain to which the agent's rights are limited. nullopt if the agent has
        // dtrace's rights.
        std::optional<TrustDomain> limit{};
        bool was_used = false;             // the agent may have attached to a process
        std::uint64_t unused_since_ns = 0; // 0 while the agent is in use
        std::size_t arena = 0;             // arena_of()
    };

    Result<AgentClient> start_agent(const std::optional<TrustDomain>& limit);
    Result<Ok> add_agent(const std::optional<TrustDomain>& limit);
    const std::optional<TrustDomain>& own_domain() const;
    std::optional<TrustDomain> limit_for(const std::optional<TrustDomain>& key) const;
    std::optional<std::size_t> agent_with(const TrustDomain& key) const;
    void set_key(std::size_t agent, const std::optional<TrustDomain>& key);
    Result<Ok> may_join(const AgentClient& agent,
                        const std::optional<TrustDomain>& key) const;
    Result<std::size_t> join_tracer(pid_t pid, const std::optional<TrustDomain>& key);

    const IsInUse is_in_use_;
    Result<AgentStarter> starter_; // forked before anything is read from processes
    std::vector<std::unique_ptr<Member>> agents_;
    bool trusts_all_ = false;
    bool confines_ = true;
    // dtrace's own domain, which own_domain() reads when the first agent is started. It
    // is not read again when a session starts, because there may be no free descriptor
    // then.
    mutable std::optional<TrustDomain> own_;
};

} // namespace dt
