// SPDX-License-Identifier: MIT
// Grabs, creates and finds processes, and symbolizes addresses in them.
#include "libdtrace/session/processes.hpp"

#include "base/clock_ns.hpp"
#include "base/hex_text.hpp"
#include "base/pidfd.hpp"
#include "libdtrace/providers/process_patches.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/error_prefix.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/refusals.hpp"

#include <algorithm>
#include <poll.h>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt {

// The maximum number of domains. Each has an agent.
constexpr std::size_t max_domains = 64;
// The maximum number of domains of one owner. All further processes of the owner share
// one more domain. So a user cannot use up all domains.
constexpr std::size_t max_domains_of_owner = 16;

// Closes the sockets of all agents before waiting for any of them. So all agents
// release their targets at the same time.
Processes::~Processes()
{
    for (const auto& domain : domains_)
        if (domain->agent)
            domain->agent->hang_up();
}

const std::optional<TrustDomain>& Processes::own_domain() const
{
    if (!own_)
        own_ = trust_domain_of(::getpid());
    return own_;
}

// Returns the domain to which the rights of a process's agent must be limited. Returns
// nullopt if the process is in dtrace's own domain. Only root has more rights than are
// needed to trace the processes of a domain.
std::optional<TrustDomain>
Processes::limit_for(const std::optional<TrustDomain>& key) const
{
    if (!key || !confines_ || ::geteuid() != 0 || key == own_domain())
        return std::nullopt;
    return key;
}

bool Processes::has_unconfined() const
{
    for (std::size_t i = 0; i < domains_.size(); i++)
        if (is_in_use(i) && !domains_[i]->limit && !domains_[i]->agent->is_joined() &&
            limit_for(domains_[i]->key))
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

Result<AgentClient> Processes::start_agent(const std::optional<TrustDomain>& limit)
{
    if (!starter_)
        return starter_.error();
    auto started = AgentClient::start(*starter_);
    if (started && limit)
        if (auto confined = confine(*started, *limit); !confined)
            return confined.error();
    return started;
}

Result<Ok> Processes::add_agent(const std::optional<TrustDomain>& limit)
{
    auto started = start_agent(limit);
    if (!started)
        return started.error();
    domains_.push_back(std::make_unique<Domain>(Domain{std::move(*started)}));
    domains_.back()->limit = limit;
    set_key(domains_.size() - 1, std::nullopt);
    return Ok{};
}

// Sets the domain to which an agent belongs.
void Processes::set_key(std::size_t agent, const std::optional<TrustDomain>& key)
{
    domains_[agent]->key = key;
    domains_[agent]->arena = agent;
    for (std::size_t i = 0; key && i < agent; i++)
        if (domains_[i]->agent && domains_[i]->key == key) {
            domains_[agent]->arena = domains_[i]->arena;
            break;
        }
}

bool Processes::is_arena_in_use(std::size_t arena) const
{
    return std::any_of(domains_.begin(), domains_.end(), [arena](const auto& domain) {
        return domain->agent && domain->arena == arena;
    });
}

Result<Ok> Processes::ensure_agent()
{
    return domains_.empty() ? add_agent(std::nullopt) : Ok{};
}

std::vector<AgentClient*> Processes::agents()
{
    std::vector<AgentClient*> all;
    for (const auto& domain : domains_)
        if (domain->agent)
            all.push_back(&*domain->agent);
    return all;
}

bool Processes::is_in_use(std::size_t domain) const
{
    return std::any_of(processes_.begin(), processes_.end(), [&](const auto& process) {
        return process->domain == domain && process->is_held();
    });
}

std::size_t Processes::n_domains_in_use() const
{
    std::set<std::size_t> arenas;
    for (std::size_t domain = 0; domain < domains_.size(); domain++)
        if (is_in_use(domain))
            arenas.insert(domains_[domain]->arena);
    return arenas.size();
}

std::optional<TrustDomain> Processes::key_of(pid_t pid) const
{
    return trusts_all_ ? TrustDomain{} : trust_domain_of(pid);
}

// Returns the number of the domain's agent that this process has started, if it lives.
std::optional<std::size_t> Processes::domain_with(const TrustDomain& key) const
{
    for (std::size_t i = 0; i < domains_.size(); i++) {
        const Domain& domain = *domains_[i];
        if (domain.agent && !domain.agent->is_gone() && !domain.agent->is_joined() &&
            domain.key && (trusts_all_ || *domain.key == key))
            return i;
    }
    return std::nullopt;
}

bool Processes::needs_new_domain(pid_t pid) const
{
    const auto key = key_of(pid);
    auto has_key = [&](const auto& domain) { return domain->key == key; };
    return key && std::none_of(domains_.begin(), domains_.end(), has_key) &&
           std::any_of(domains_.begin(), domains_.end(),
                       [](const auto& domain) { return domain->key.has_value(); });
}

// Returns the domain for a process with this key. Starts an agent for a new domain. A
// process without a key has exited, and any agent can report the exit.
Result<std::size_t> Processes::domain_for(const std::optional<TrustDomain>& wanted)
{
    if (auto agent = ensure_agent(); !agent)
        return agent.error();
    TrustDomain key = wanted.value_or(TrustDomain{});
    if (wanted)
        if (auto known = domain_with(key))
            return *known;
    const std::optional<TrustDomain> limit = limit_for(wanted);
    std::size_t n_live = 0, n_of_owner = 0;
    std::optional<std::size_t> unused;
    for (std::size_t i = 0; i < domains_.size(); i++) {
        Domain& domain = *domains_[i];
        if (!domain.agent || domain.agent->is_gone() || domain.agent->is_joined())
            continue;
        if (!wanted || (!domain.key && domain.limit == limit)) {
            domain.was_used = true;
            return i;
        }
        if (!domain.key) {
            unused = i;
            continue;
        }
        n_live++;
        n_of_owner += domain.key->owner == key.owner;
    }
    if (n_of_owner >= max_domains_of_owner) {
        key = remaining_domain(key.owner);
        if (auto known = domain_with(key))
            return *known;
    }
    if (n_live >= max_domains)
        return Error{Code::limit, "the session already traces processes of " +
                                      std::to_string(max_domains) +
                                      " users or sandboxes, the maximum; use -x "
                                      "trust=all if they may share memory"};
    const std::optional<TrustDomain> own_limit = limit ? std::optional(key) : limit;
    if (unused) {
        Domain& domain = *domains_[*unused];
        if (own_limit && !domain.was_used) {
            if (auto confined = confine(*domain.agent, *own_limit); !confined) {
                domain.agent.reset();
                return confined.error();
            }
        } else {
            domain.agent.reset();
            auto started = start_agent(own_limit);
            if (!started)
                return started.error();
            domain.agent = std::move(*started);
        }
        domain.limit = own_limit;
        set_key(*unused, key);
        domain.was_used = true;
        return *unused;
    }
    if (auto added = add_agent(own_limit); !added)
        return added.error();
    if (wanted)
        set_key(domains_.size() - 1, key);
    debug("new trust domain %zu", domains_.size() - 1);
    return domains_.size() - 1;
}

void Processes::forget_unused_domains()
{
    for (std::size_t i = 0; i < domains_.size(); i++)
        if (!is_in_use(i))
            set_key(i, std::nullopt);
}

void Processes::end_agent(std::size_t domain)
{
    domains_[domain]->agent.reset();
    for (const auto& process : processes_)
        if (process->domain == domain)
            process->leave(HoldState::lost);
}

std::vector<std::size_t> Processes::retire_unused(std::uint64_t now_ns)
{
    constexpr std::uint64_t longest_unused_ns = 1'000'000'000;
    std::vector<std::size_t> retired;
    for (std::size_t i = 0; i < domains_.size(); i++) {
        Domain& domain = *domains_[i];
        if (!domain.agent || domain.agent->has_event())
            continue;
        if (!domain.agent->is_gone()) {
            if (!domain.key || is_in_use(i))
                domain.unused_since_ns = 0;
            else if (domain.unused_since_ns == 0)
                domain.unused_since_ns = now_ns;
            if (domain.unused_since_ns == 0 ||
                now_ns - domain.unused_since_ns < longest_unused_ns)
                continue;
        }
        domain.agent.reset();
        retired.push_back(i);
    }
    return retired;
}

Result<ps_prochandle*> Processes::adopt(pid_t pid, TargetKind kind, std::size_t domain)
{
    auto process = std::make_unique<ps_prochandle>(pid, kind);
    process->domain = domain;
    process->symbols = searched_.take(pid);
    if (process->symbols == nullptr) {
        auto symbols = ProcessSymbols::open(pid, images_);
        if (!symbols)
            return symbols.error();
        process->symbols = std::move(*symbols);
    }
    debug("process %d: %s, %zu modules", process->pid,
          kind == TargetKind::created ? "created" : "grabbed",
          process->symbols->modules().size());
    processes_.push_back(std::move(process));
    return processes_.back().get();
}

Result<ps_prochandle*> Processes::create(const std::vector<std::string>& argv,
                                         const std::vector<EnvChange>& env,
                                         EvalTime evaltime)
{
    // The agent is dtrace's child, so the command runs as dtrace's user.
    const auto key = key_of(::getpid());
    const auto domain = domain_for(key);
    if (!domain)
        return domain.error();
    images_.prepare();
    auto target = agent(*domain)->create(argv, env, evaltime);
    if (!target)
        return without_prefix(argv[0], without_prefix("start", target.error()));
    if (!domains_[*domain]->key)
        set_key(*domain, key);
    return adopt(target->pid, TargetKind::created, *domain);
}

namespace {

// The agent that traces a process. The tracer is the agent, or its broker.
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

bool Processes::is_traced(const ps_prochandle& process) const
{
    const auto& agent = domains_[process.domain]->agent;
    return agent && (!agent->is_foreign() ||
                     (!has_exited(process.pidfd) &&
                      tracer_of(process.pid).agent == agent->agent_pid()));
}

bool Processes::has_foreign() const
{
    for (std::size_t i = 0; i < domains_.size(); i++)
        if (domains_[i]->agent && domains_[i]->agent->is_foreign() && is_in_use(i))
            return true;
    return false;
}

std::vector<ps_prochandle*> Processes::hidden_exits(std::uint64_t now_ns)
{
    constexpr std::uint64_t longest_ns =
        2'000'000'000; // until the agent's event arrives
    std::vector<ps_prochandle*> hidden;
    for (const auto& process : processes_) {
        if (!process->is_held() || !process->pidfd || !has_exited(process->pidfd))
            continue;
        if (process->exit_found_ns == 0)
            process->exit_found_ns = now_ns;
        else if (now_ns - process->exit_found_ns >= longest_ns)
            hidden.push_back(process.get());
    }
    return hidden;
}

// Returns an error if this session must not use the agent of another user. The agent
// gets the arena of the domain `key`, to which it has access anyway, because it traces a
// process of this domain.
Result<Ok> Processes::may_join(const AgentClient& agent,
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
    for (const auto& domain : domains_) {
        if (!domain->agent || domain->agent->is_gone() || !domain->key ||
            domain->key == key)
            continue;
        arenas.insert(domain->arena);
        if (key && domain->key->owner == key->owner)
            of_owner.insert(domain->arena);
    }
    if (arenas.size() >= max_domains || of_owner.size() >= max_domains_of_owner)
        return Error{Code::limit, "the session already traces processes of too many "
                                  "users or sandboxes"};
    return Ok{};
}

// Begins a session with the agent that already traces the process.
Result<std::size_t> Processes::join_tracer(pid_t pid,
                                           const std::optional<TrustDomain>& key)
{
    auto [tracer, confined] = tracer_of(pid);
    if (tracer == 0) // the other dtrace may have detached while the process is idle
        tracer = agent::absent_agent_of(pid).value_or(0);
    if (tracer == 0)
        return Error{Code::gone, "it is no longer traced"};
    for (std::size_t i = 0; i < domains_.size(); i++)
        if (domains_[i]->agent && !domains_[i]->agent->is_gone() &&
            domains_[i]->agent->agent_pid() == tracer)
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
    domains_.push_back(std::make_unique<Domain>(Domain{std::move(*joined)}));
    set_key(domains_.size() - 1, key);
    return domains_.size() - 1;
}

// Attaches to a process. If another dtrace traces it, joins the agent of that dtrace.
// Returns the number of the agent.
Result<std::size_t> Processes::attach(pid_t pid, const std::optional<TrustDomain>& key)
{
    // The other dtrace may be about to begin or to end its session.
    constexpr std::uint64_t longest_ns = 5'000'000'000;
    constexpr useconds_t pause_us = 10'000;
    const auto domain = domain_for(key);
    if (!domain)
        return domain.error();
    images_.prepare();
    for (const std::uint64_t end_ns = monotonic_ns() + longest_ns;;) {
        auto own = agent(*domain)->grab(pid);
        if (own || own.error().code != Code::busy) {
            if (own && !domains_[*domain]->key)
                set_key(*domain, key);
            return own ? Result<std::size_t>(*domain) : own.error();
        }
        auto joined = join_tracer(pid, key);
        if (!joined && (joined.error().code == Code::permission ||
                        joined.error().code == Code::limit))
            return joined.error();
        if (!joined && joined.error().code != Code::gone)
            return own.error(); // traced by a debugger, for example
        Result<Target> target =
            joined ? agent(*joined)->grab(pid) : Result<Target>(joined.error());
        if (target)
            return *joined;
        const bool foreign = joined && agent(*joined)->is_foreign();
        // An agent that does not accept this dtrace, or has exited, is not kept.
        if (joined && agent(*joined)->is_gone() && *joined + 1 == domains_.size())
            domains_.pop_back();
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

Result<ps_prochandle*> Processes::grab(pid_t pid, TargetKind kind)
{
    if (ps_prochandle* known = find(pid);
        known != nullptr && known->is_held() && is_traced(*known))
        return known;
    const auto key = key_of(pid);
    const auto domain = attach(pid, key);
    if (!domain)
        return without_prefix("grab process " + std::to_string(pid), domain.error());
    const bool foreign = agent(*domain)->is_foreign();
    Fd pidfd = foreign ? open_pidfd(pid) : Fd();
    if (foreign && tracer_of(pid).agent != agent(*domain)->agent_pid()) {
        (void)agent(*domain)->detach(pid);
        return Error{Code::busy,
                     "its tracer changed while dtrace attached to it; try again"};
    }
    // The process may have changed its user since the domain was chosen.
    if (const auto now = key_of(pid); !key || now != key) {
        (void)agent(*domain)->detach(pid);
        return Error{now ? Code::busy : Code::gone,
                     now ? "its user ids, capabilities or sandbox changed while dtrace "
                           "attached to it; try again"
                         : "it has exited"};
    }
    auto adopted = adopt(pid, kind, *domain);
    if (adopted)
        (*adopted)->pidfd = std::move(pidfd);
    if (!adopted || agent(*domain)->is_joined())
        return adopted;
    // Sites cannot be planned in text that an earlier tracer patched, so the agent
    // restores the text.
    auto left = left_behind(*(*adopted)->symbols);
    if (left && !left->empty()) {
        if (auto put = agent(*domain)->put_back(pid, *left); !put)
            return without_prefix("grab process " + std::to_string(pid), put.error());
    }
    return adopted;
}

Result<ProcessSymbols*> Processes::symbols_of(pid_t pid)
{
    ps_prochandle* process = find(pid);
    if (process == nullptr) {
        auto grabbed = grab(pid, TargetKind::matched);
        if (!grabbed)
            return grabbed.error();
        process = *grabbed;
    }
    return process->symbols.get();
}

bool Processes::is_ours(pid_t pid) const
{
    return pid == ::getpid() || (starter_ && starter_->pid() == pid) ||
           std::any_of(domains_.begin(), domains_.end(),
                       [pid](const std::unique_ptr<Domain>& domain) {
                           return domain->agent && (domain->agent->agent_pid() == pid ||
                                                    domain->agent->broker_pid() == pid);
                       });
}

std::unique_ptr<ProcessSymbols> Processes::open_symbols(pid_t pid)
{
    if (is_ours(pid))
        return nullptr;
    auto opened = ProcessSymbols::open(pid, images_);
    return opened ? std::move(*opened) : nullptr;
}

ReadableProcesses Processes::all_readable()
{
    ReadableProcesses all;
    for (pid_t pid : pids_in_proc()) {
        if (is_ours(pid))
            continue;
        if (ps_prochandle* process = find(pid);
            process != nullptr && process->is_held()) {
            if (process->symbols != nullptr)
                all.symbols.push_back(process->symbols.get());
        } else if (auto read = searched_.read(pid)) {
            all.symbols.push_back(*read);
        } else if (read.error().code == Code::permission) {
            ++all.n_forbidden;
        }
    }
    return all;
}

void Processes::release(ps_prochandle* process)
{
    debug("process %d: released", process->pid);
    // Detaching fails if the target has died. This error is ignored.
    if (AgentClient* agent = agent_of(*process); process->is_held() && agent != nullptr)
        (void)agent->detach(process->pid);
    process->leave(HoldState::released);
}

bool Processes::follow(std::size_t domain, pid_t parent, pid_t child)
{
    const ps_prochandle* from = find(domain, parent);
    auto process = std::make_unique<ps_prochandle>(child, TargetKind::followed);
    process->parent = parent;
    process->domain = domain;
    process->origin = from != nullptr && from->is_followed() ? from->origin : parent;
    const bool foreign = agent(domain) != nullptr && agent(domain)->is_foreign();
    if (foreign) {
        const ps_prochandle* known = find(domain, child);
        process->pidfd = open_pidfd(child);
        if (from == nullptr || (known != nullptr && known->is_held()) ||
            !is_traced(*process))
            return false;
    }
    if (auto symbols = ProcessSymbols::open(child, images_))
        process->symbols = std::move(*symbols);
    // If the child has exited meanwhile, the symbols may be those of another process.
    if (foreign && !is_traced(*process))
        return false;
    processes_.push_back(std::move(process));
    return true;
}

int Processes::n_followed() const
{
    int n = 0;
    for (const auto& process : processes_)
        n += process->is_followed() && process->is_held() ? 1 : 0;
    return n;
}

ps_prochandle* Processes::find(pid_t pid)
{
    for (auto at = processes_.rbegin(); at != processes_.rend(); ++at)
        if ((*at)->pid == pid)
            return at->get();
    return nullptr;
}

ps_prochandle* Processes::find(std::size_t domain, pid_t pid)
{
    for (auto at = processes_.rbegin(); at != processes_.rend(); ++at)
        if ((*at)->pid == pid && (*at)->domain == domain)
            return at->get();
    return nullptr;
}

void Processes::remove_ended()
{
    auto is_done = [](const auto& process) {
        return !process->is_held() &&
               (process->is_followed() || process->kind == TargetKind::started_later);
    };
    bool traced = false;
    for (auto& process : processes_) {
        if (!is_done(process))
            continue;
        // A child that has not executed a program can use its parent's symbols.
        const ProcessSymbols* parent =
            process->is_followed() ? traced_symbols(process->parent, traced) : nullptr;
        const bool like_parent =
            parent != nullptr && !process->execed &&
            (process->symbols == nullptr || parent->has_modules_of(*process->symbols));
        ended_.add(process->pid, like_parent ? process->parent : 0,
                   like_parent ? nullptr : std::move(process->symbols));
    }
    std::erase_if(processes_, is_done);
}

ps_prochandle* Processes::first()
{
    return processes_.empty() || !processes_[0]->by_user() ? nullptr
                                                           : processes_[0].get();
}

// Returns the symbols of a process that is or was traced, or of its nearest ancestor
// with the same modules. Returns null if there are none. `traced` receives whether the
// process is or was traced.
ProcessSymbols* Processes::traced_symbols(pid_t pid, bool& traced)
{
    // The chain of ancestors may be circular, because pids are reused.
    constexpr int max_ancestors = 32;
    traced = false;
    for (int i = 0; i < max_ancestors; ++i) {
        if (const ps_prochandle* process = find(pid)) {
            traced = true;
            if (process->symbols != nullptr || !process->is_followed())
                return process->symbols.get();
            pid = process->parent;
        } else if (const EndedProcess* ended = ended_.find(pid)) {
            traced = true;
            if (ended->symbols != nullptr || ended->like == 0)
                return ended->symbols.get();
            pid = ended->like;
        } else {
            return nullptr;
        }
    }
    return nullptr;
}

ProcessSymbols* Processes::known_symbols(std::uint64_t pid)
{
    auto id = static_cast<pid_t>(pid);
    bool traced = false;
    if (ProcessSymbols* symbols = traced_symbols(id, traced); traced)
        return symbols;
    return untraced_.find(id);
}

std::string Processes::uaddr(std::uint64_t pid, std::uint64_t addr)
{
    ProcessSymbols* symbols = known_symbols(pid);
    return symbols != nullptr ? symbols->format_address({addr}) : hex_text(addr);
}

std::string Processes::usym(std::uint64_t pid, std::uint64_t addr)
{
    ProcessSymbols* symbols = known_symbols(pid);
    return symbols != nullptr ? symbols->format_function({addr}) : hex_text(addr);
}

std::string Processes::umod(std::uint64_t pid, std::uint64_t addr)
{
    ProcessSymbols* symbols = known_symbols(pid);
    return symbols != nullptr ? symbols->format_module({addr}) : hex_text(addr);
}

std::string Processes::kaddr(std::uint64_t addr)
{
    return kernel_.format_address(addr);
}

std::string Processes::ksym(std::uint64_t addr)
{
    return kernel_.format_symbol(addr);
}

std::string Processes::kmod(std::uint64_t addr)
{
    return kernel_.format_module(addr);
}

std::uint64_t Processes::target()
{
    ps_prochandle* process = first();
    return process != nullptr ? static_cast<std::uint64_t>(process->pid) : 0;
}

} // namespace dt
