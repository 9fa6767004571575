// SPDX-License-Identifier: MIT
#include "libdtrace/session/processes/session_agents.hpp"

#include "base/clock_ns.hpp"
#include "libdtrace/session/debug.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/refusals.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>

namespace dt {

// The maximum number of domains. Each has an agent.
constexpr std::size_t max_domains = 64;
// The maximum number of domains of one owner. All further processes of the owner share
// one more domain. So a user cannot use up all domains.
constexpr std::size_t max_domains_of_owner = 16;

namespace {

// The agent that traces a process. The kernel's tracer is the agent, or its broker.
struct Tracer {
    pid_t agent = 0; // 0 if the process is not traced
    bool confined = false;
};

Tracer tracer_of(pid_t pid)
{
    const auto tracer =
        static_cast<pid_t>(status_number(read_proc_file(pid, "status"), "TracerPid"));
    if (tracer == 0)
        return {};
    // A broker belongs to root, and is the child of its agent.
    const std::string status = read_proc_file(tracer, "status");
    if (status_field(status, "Name") == "ptrace-broker" &&
        status_number(status, "Uid", 1) == 0)
        return {static_cast<pid_t>(status_number(status, "PPid")), true};
    return {tracer, false};
}

} // namespace

void SessionAgents::hang_up()
{
    for (const auto& member : agents_)
        if (member->client)
            member->client->hang_up();
}

const std::optional<TrustDomain>& SessionAgents::own_domain() const
{
    if (!own_)
        own_ = trust_domain_of(::getpid());
    return own_;
}

// Returns the domain to which the rights of a process's agent must be limited. Returns
// nullopt if the process is in dtrace's own domain. Only root has more rights than are
// needed to trace the processes of a domain.
std::optional<TrustDomain>
SessionAgents::limit_for(const std::optional<TrustDomain>& key) const
{
    if (!key || !confines_ || ::geteuid() != 0 || key == own_domain())
        return std::nullopt;
    return key;
}

bool SessionAgents::has_unconfined() const
{
    for (std::size_t i = 0; i < agents_.size(); i++)
        if (is_in_use_(i) && !agents_[i]->limit && !agents_[i]->client->is_joined() &&
            limit_for(agents_[i]->key))
            return true;
    return false;
}

static Result<Ok> confine(AgentClient& agent, const TrustDomain& limit)
{
    MessageWriter out;
    put_domain(out, limit);
    if (auto confined = agent.confine(out.body()); !confined)
        return Error{confined.error().code, confined.error().text +
                                                "; with -x trust=user, the agent has "
                                                "dtrace's own rights"};
    return Ok{};
}

Result<AgentClient> SessionAgents::start_agent(const std::optional<TrustDomain>& limit)
{
    if (!starter_)
        return starter_.error();
    auto started = AgentClient::start(*starter_);
    if (started && limit)
        if (auto confined = confine(*started, *limit); !confined)
            return confined.error();
    return started;
}

Result<Ok> SessionAgents::add_agent(const std::optional<TrustDomain>& limit)
{
    auto started = start_agent(limit);
    if (!started)
        return started.error();
    agents_.push_back(std::make_unique<Member>(Member{std::move(*started)}));
    agents_.back()->limit = limit;
    set_key(agents_.size() - 1, std::nullopt);
    return Ok{};
}

// Sets the domain to which an agent belongs.
void SessionAgents::set_key(std::size_t agent, const std::optional<TrustDomain>& key)
{
    agents_[agent]->key = key;
    agents_[agent]->arena = agent;
    for (std::size_t i = 0; key && i < agent; i++)
        if (agents_[i]->client && agents_[i]->key == key) {
            agents_[agent]->arena = agents_[i]->arena;
            break;
        }
}

bool SessionAgents::is_arena_in_use(std::size_t arena) const
{
    return std::any_of(agents_.begin(), agents_.end(), [arena](const auto& member) {
        return member->client && member->arena == arena;
    });
}

Result<Ok> SessionAgents::ensure_first()
{
    return agents_.empty() ? add_agent(std::nullopt) : Ok{};
}

std::vector<AgentClient*> SessionAgents::all() const
{
    std::vector<AgentClient*> living;
    for (const auto& member : agents_)
        if (member->client)
            living.push_back(&*member->client);
    return living;
}

std::size_t SessionAgents::n_domains_in_use() const
{
    std::set<std::size_t> arenas;
    for (std::size_t i = 0; i < agents_.size(); i++)
        if (is_in_use_(i))
            arenas.insert(agents_[i]->arena);
    return arenas.size();
}

std::optional<TrustDomain> SessionAgents::key_of(pid_t pid) const
{
    return trusts_all_ ? TrustDomain{} : trust_domain_of(pid);
}

// Returns the number of the domain's agent that this process has started, if it lives.
std::optional<std::size_t> SessionAgents::agent_with(const TrustDomain& key) const
{
    for (std::size_t i = 0; i < agents_.size(); i++) {
        const Member& member = *agents_[i];
        if (member.client && !member.client->is_gone() && !member.client->is_joined() &&
            member.key && (trusts_all_ || *member.key == key))
            return i;
    }
    return std::nullopt;
}

bool SessionAgents::needs_new_domain(pid_t pid) const
{
    const auto key = key_of(pid);
    auto has_key = [&](const auto& member) { return member->key == key; };
    return key && std::none_of(agents_.begin(), agents_.end(), has_key) &&
           std::any_of(agents_.begin(), agents_.end(),
                       [](const auto& member) { return member->key.has_value(); });
}

// Returns the domain for a process with this key. Starts an agent for a new domain. A
// process without a key has exited, and any agent can report the exit.
Result<std::size_t> SessionAgents::for_domain(const std::optional<TrustDomain>& wanted)
{
    if (auto first = ensure_first(); !first)
        return first.error();
    TrustDomain key = wanted.value_or(TrustDomain{});
    if (wanted)
        if (auto known = agent_with(key))
            return *known;
    const std::optional<TrustDomain> limit = limit_for(wanted);
    std::size_t n_live = 0, n_of_owner = 0;
    std::optional<std::size_t> unused;
    for (std::size_t i = 0; i < agents_.size(); i++) {
        Member& member = *agents_[i];
        if (!member.client || member.client->is_gone() || member.client->is_joined())
            continue;
        if (!wanted || (!member.key && member.limit == limit)) {
            member.was_used = true;
            return i;
        }
        if (!member.key) {
            unused = i;
            continue;
        }
        n_live++;
        n_of_owner += member.key->owner == key.owner;
    }
    if (n_of_owner >= max_domains_of_owner) {
        key = remaining_domain(key.owner);
        if (auto known = agent_with(key))
            return *known;
    }
    if (n_live >= max_domains)
        return Error{Code::limit, "the session already traces processes of " +
                                      std::to_string(max_domains) +
                                      " users or sandboxes, the maximum; use -x "
                                      "trust=all if they may share memory"};
    const std::optional<TrustDomain> own_limit = limit ? std::optional(key) : limit;
    if (unused) {
        Member& member = *agents_[*unused];
        if (own_limit && !member.was_used) {
            if (auto confined = confine(*member.client, *own_limit); !confined) {
                member.client.reset();
                return confined.error();
            }
        } else {
            member.client.reset();
            auto started = start_agent(own_limit);
            if (!started)
                return started.error();
            member.client = std::move(*started);
        }
        member.limit = own_limit;
        set_key(*unused, key);
        member.was_used = true;
        return *unused;
    }
    if (auto added = add_agent(own_limit); !added)
        return added.error();
    if (wanted)
        set_key(agents_.size() - 1, key);
    debug("new trust domain %zu", agents_.size() - 1);
    return agents_.size() - 1;
}

void SessionAgents::forget_unused_domains()
{
    for (std::size_t i = 0; i < agents_.size(); i++)
        if (!is_in_use_(i))
            set_key(i, std::nullopt);
}

std::vector<std::size_t> SessionAgents::retire_unused(std::uint64_t now_ns)
{
    constexpr std::uint64_t longest_unused_ns = 1'000'000'000;
    std::vector<std::size_t> retired;
    for (std::size_t i = 0; i < agents_.size(); i++) {
        Member& member = *agents_[i];
        if (!member.client || member.client->has_event())
            continue;
        if (!member.client->is_gone()) {
            if (!member.key || is_in_use_(i))
                member.unused_since_ns = 0;
            else if (member.unused_since_ns == 0)
                member.unused_since_ns = now_ns;
            if (member.unused_since_ns == 0 ||
                now_ns - member.unused_since_ns < longest_unused_ns)
                continue;
        }
        member.client.reset();
        retired.push_back(i);
    }
    return retired;
}

void SessionAgents::assign(std::size_t agent, const std::optional<TrustDomain>& key)
{
    if (!agents_[agent]->key)
        set_key(agent, key);
}

bool SessionAgents::traces(std::size_t agent, pid_t pid) const
{
    return agents_[agent]->client &&
           tracer_of(pid).agent == agents_[agent]->client->agent_pid();
}

bool SessionAgents::has_foreign() const
{
    for (std::size_t i = 0; i < agents_.size(); i++)
        if (agents_[i]->client && agents_[i]->client->is_foreign() && is_in_use_(i))
            return true;
    return false;
}

// Returns an error if this session must not use the agent of another user. The agent
// gets the arena of the domain `key`, to which it has access anyway, because it traces a
// process of this domain.
Result<Ok> SessionAgents::may_join(const AgentClient& agent,
                                   const std::optional<TrustDomain>& key) const
{
    const std::string name = "process " + std::to_string(agent.agent_pid()) +
                             " (ptrace-agent) belongs to a dtrace of user " +
                             std::to_string(agent.user());
    if (trusts_all_)
        return Error{Code::permission,
                     name + ", which must not share the memory of all targets; trace "
                            "the process without -x trust=all"};
    // The socket may have been inherited from a process of another user.
    if (status_number(read_proc_file(agent.agent_pid(), "status"), "Uid", 1) !=
        agent.user())
        return Error{Code::permission, name + ", but runs as another user"};
    std::set<std::size_t> arenas, of_owner;
    for (const auto& member : agents_) {
        if (!member->client || member->client->is_gone() || !member->key ||
            member->key == key)
            continue;
        arenas.insert(member->arena);
        if (key && member->key->owner == key->owner)
            of_owner.insert(member->arena);
    }
    if (arenas.size() >= max_domains || of_owner.size() >= max_domains_of_owner)
        return Error{Code::limit, "the session already traces processes of too many "
                                  "users or sandboxes"};
    return Ok{};
}

// Begins a session with the agent that already traces the process.
Result<std::size_t> SessionAgents::join_tracer(pid_t pid,
                                               const std::optional<TrustDomain>& key)
{
    auto [tracer, confined] = tracer_of(pid);
    if (tracer == 0) // the other dtrace may have detached while the process is idle
        tracer = agent::absent_agent_of(pid).value_or(0);
    if (tracer == 0)
        return Error{Code::gone, "it is no longer traced"};
    for (std::size_t i = 0; i < agents_.size(); i++)
        if (agents_[i]->client && !agents_[i]->client->is_gone() &&
            agents_[i]->client->agent_pid() == tracer)
            return i;
    auto joined = AgentClient::join(tracer, confined);
    // An agent that ends its last session has no door any more.
    if (const std::string name = status_field(read_proc_file(tracer, "status"), "Name");
        !joined && joined.error().code == Code::not_found &&
        (name == "ptrace-agent" || name.empty()))
        return Error{Code::gone, joined.error().text};
    if (!joined)
        return joined.error();
    if (joined->is_foreign())
        if (auto may = may_join(*joined, key); !may)
            return may.error();
    debug("process %d: joined the ptrace-agent %d", pid, tracer);
    agents_.push_back(std::make_unique<Member>(Member{std::move(*joined)}));
    set_key(agents_.size() - 1, key);
    return agents_.size() - 1;
}

Result<SessionAgents::Attached>
SessionAgents::attach(pid_t pid, const std::optional<TrustDomain>& key)
{
    // The other dtrace may be about to begin or to end its session.
    constexpr std::uint64_t longest_ns = 5'000'000'000;
    constexpr useconds_t pause_us = 10'000;
    const auto usual = for_domain(key);
    if (!usual)
        return usual.error();
    for (const std::uint64_t end_ns = monotonic_ns() + longest_ns;;) {
        auto own = at(*usual)->grab(pid);
        if (!own && own.error().code != Code::busy)
            return own.error();
        if (own) {
            assign(*usual, key);
            return Attached{*usual, own->traced_before};
        }
        auto joined = join_tracer(pid, key);
        if (!joined && (joined.error().code == Code::permission ||
                        joined.error().code == Code::limit))
            return joined.error();
        if (!joined && joined.error().code != Code::gone)
            return own.error(); // traced by a debugger, for example
        Result<Target> target =
            joined ? at(*joined)->grab(pid) : Result<Target>(joined.error());
        if (target)
            return Attached{*joined, target->traced_before};
        const bool foreign = joined && at(*joined)->is_foreign();
        // An agent that does not accept this dtrace, or has exited, is not kept.
        if (joined && at(*joined)->is_gone() && *joined + 1 == agents_.size())
            agents_.pop_back();
        if (target.error().code != Code::busy && target.error().code != Code::gone)
            return target.error();
        if (monotonic_ns() >= end_ns && foreign)
            return Error{Code::permission,
                         own.error().text +
                             "; its ptrace-agent does not accept this dtrace, or does "
                             "not reply as it should: " +
                             target.error().text};
        if (monotonic_ns() >= end_ns && target.error().code == Code::gone)
            return Error{
                Code::permission,
                own.error().text +
                    "; its ptrace-agent does not accept this dtrace, because "
                    "this dtrace has another version, sandbox, user namespace or "
                    "set of capabilities than the first one, or because the agent "
                    "already has 64 sessions"};
        if (monotonic_ns() >= end_ns)
            return target.error();
        ::usleep(pause_us);
    }
}

bool SessionAgents::is_ours(pid_t pid) const
{
    return pid == ::getpid() || (starter_ && starter_->pid() == pid) ||
           std::any_of(agents_.begin(), agents_.end(),
                       [pid](const std::unique_ptr<Member>& member) {
                           return member->client &&
                                  (member->client->agent_pid() == pid ||
                                   member->client->broker_pid() == pid);
                       });
}

} // namespace dt
