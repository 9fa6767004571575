// SPDX-License-Identifier: MIT
// Grabs, creates and finds processes, and symbolizes addresses in them.
#include "libdtrace/session/processes/processes.hpp"

#include "base/hex_text.hpp"
#include "base/pidfd.hpp"
#include "libdtrace/providers/process_patches.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/error_prefix.hpp"
#include "process/proc_files.hpp"

#include <algorithm>
#include <unistd.h>

namespace dt {

bool Processes::is_in_use(std::size_t agent) const
{
    return std::any_of(processes_.begin(), processes_.end(), [&](const auto& process) {
        return process->domain == agent && process->is_held();
    });
}

void Processes::end_agent(std::size_t agent)
{
    agents_.end(agent);
    for (const auto& process : processes_)
        if (process->domain == agent)
            process->leave(HoldState::lost);
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
    const auto key = agents_.key_of(::getpid());
    const auto agent = agents_.for_domain(key);
    if (!agent)
        return agent.error();
    images_.prepare();
    auto target = agents_.at(*agent)->create(argv, env, evaltime);
    if (!target)
        return without_prefix(argv[0], without_prefix("start", target.error()));
    agents_.assign(*agent, key);
    return adopt(target->pid, TargetKind::created, *agent);
}

bool Processes::is_traced(const ps_prochandle& process) const
{
    const AgentClient* agent = agents_.at(process.domain);
    return agent != nullptr &&
           (!agent->is_foreign() || (!has_exited(process.pidfd) &&
                                     agents_.traces(process.domain, process.pid)));
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

Result<ps_prochandle*> Processes::grab(pid_t pid, TargetKind kind)
{
    if (ps_prochandle* known = find(pid);
        known != nullptr && known->is_held() && is_traced(*known))
        return known;
    images_.prepare();
    const auto key = agents_.key_of(pid);
    const auto attached = agents_.attach(pid, key);
    if (!attached)
        return without_prefix("grab process " + std::to_string(pid), attached.error());
    if (kind == TargetKind::started_later &&
        attached->traced_before == TracedBefore::for_session)
        return Error{Code::gone, "it is a child of a target, so an event reports it"};
    AgentClient& agent = *agents_.at(attached->agent);
    const bool foreign = agent.is_foreign();
    Fd pidfd = foreign ? open_pidfd(pid) : Fd();
    if (foreign && !agents_.traces(attached->agent, pid)) {
        (void)agent.detach(pid);
        return Error{Code::busy,
                     "its tracer changed while dtrace attached to it; try again"};
    }
    // The process may have changed its user since the domain was chosen.
    if (const auto now = agents_.key_of(pid); !key || now != key) {
        (void)agent.detach(pid);
        return Error{now ? Code::busy : Code::gone,
                     now ? "its user ids, capabilities or sandbox changed while dtrace "
                           "attached to it; try again"
                         : "it has exited"};
    }
    auto adopted = adopt(pid, kind, attached->agent);
    if (adopted)
        (*adopted)->pidfd = std::move(pidfd);
    if (!adopted || agent.is_joined() || attached->traced_before != TracedBefore::no)
        return adopted;
    // Sites cannot be planned in text that an earlier tracer patched, so the agent
    // restores the text.
    auto left = left_behind(*(*adopted)->symbols);
    if (left && !left->empty()) {
        if (auto put = agent.put_back(pid, *left); !put)
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

std::unique_ptr<ProcessSymbols> Processes::open_symbols(pid_t pid)
{
    if (agents_.is_ours(pid))
        return nullptr;
    auto opened = ProcessSymbols::open(pid, images_);
    return opened ? std::move(*opened) : nullptr;
}

ReadableProcesses Processes::all_readable()
{
    ReadableProcesses all;
    for (pid_t pid : pids_in_proc()) {
        if (agents_.is_ours(pid))
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
    const AgentClient* agent = agents_.at(domain);
    const bool foreign = agent != nullptr && agent->is_foreign();
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

std::uint64_t Processes::usym_begin(std::uint64_t pid, std::uint64_t addr)
{
    const ProcessSymbols* symbols = known_symbols(pid);
    return symbols != nullptr ? addr - symbols->lookup({addr}).offset : addr;
}

std::uint64_t Processes::umod_begin(std::uint64_t pid, std::uint64_t addr)
{
    const ProcessSymbols* symbols = known_symbols(pid);
    const Module* module = symbols != nullptr ? symbols->module_at({addr}) : nullptr;
    return module != nullptr ? module->begin.value : addr;
}

std::uint64_t Processes::ksym_begin(std::uint64_t addr)
{
    const auto found = kernel_.at(addr);
    return found ? addr - found->offset : addr;
}

std::uint64_t Processes::kmod_begin(std::uint64_t addr)
{
    return kernel_.module_begin(addr);
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
