// SPDX-License-Identifier: MIT
// The state that the parts of a session share.
//
//   Session ──owns──▶ SessionState, ProgramCompiler, SiteReports, Targets, Backend
//                     the last four hold a reference to the state, and change it
//
// Only the caller's thread changes the state.
#pragma once

#include "libdtrace/consume/consumer.hpp"
#include "libdtrace/session/backends/arena_memory.hpp"
#include "libdtrace/session/backends/kernel_device.hpp"
#include "libdtrace/session/new_processes.hpp"
#include "libdtrace/session/options.hpp"
#include "libdtrace/session/processes/processes.hpp"
#include "libdtrace/session/program.hpp"
#include "libdtrace/session/provider_set.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

// With at least this many sites, the agent prepares in advance (AgentClient::expect()).
constexpr std::size_t many_sites = 10'000;

// Receives the events of a session. The C API passes them to its handlers.
class Listener : public Events {
public:
    // Reports a message about a process. If `text` is null, the process has exited or
    // was lost. `process` may be null.
    virtual void process(ps_prochandle* process, const char* text) = 0;
    // Called after probes were renamed. The listener must discard data with the old
    // names.
    virtual void probes_renamed() = 0;
};

// The arena of one trust domain, if it is not the session's first arena.
struct DomainArena {
    std::size_t domain = 0; // Processes::arena_of() of its agents
    std::unique_ptr<ArenaMemory> memory;
    // Returns the arena's number, which is at least 1. The first arena has the number
    // 0.
    std::uint32_t number() const { return number_of(domain); }
    static std::uint32_t number_of(std::size_t domain)
    {
        return static_cast<std::uint32_t>(domain) + 1;
    }
};

struct SessionState {
    explicit SessionState(Listener& to);

    // Stores an error of the C API (EDT_* or errno) and returns -1. An empty text means
    // the standard text of the number.
    int fail(int number, std::string text = "");
    int fail(const Error& cause);
    // Reports a defect in this library. With -x core, the process ends with a core
    // file.
    void internal_error(const std::string& text) const;
    void complain(std::string_view text) { listener.complain(text); }
    void report(ps_prochandle* process, const std::string& text)
    {
        listener.process(process, text.c_str());
    }

    // Opens the kernel module's device, or reopens it. Each arena needs a new
    // descriptor.
    void open_kernel();
    // Returns whether the user named processes, by -p or -c.
    bool has_own_targets() const;
    // Returns whether profile-n can sample all processes without the kernel module
    // (sampling/machine_probes.hpp).
    bool can_sample_machine() const;
    // Returns whether this process can fire probes after the kernel has recorded the
    // events of all processes.
    bool can_record_events() const;
    // Returns whether a probe fires in this process after the kernel has recorded its
    // event.
    bool is_recorded(std::uint32_t probe) const;
    // Returns whether profile-n fires in this process, after each sample was taken.
    // Otherwise, it fires in the targets.
    bool samples_in_consumer() const;
    // Returns whether a probe fires only in clauses that this process executes. ERROR
    // also fires in targets.
    bool fires_in_consumer(std::uint32_t probe) const;
    // Returns the processes to search for static probes. If the scope contains all
    // processes of the machine, also begins to watch for new ones.
    std::vector<ProcessSymbols*> usdt_candidates(SearchScope scope);
    // Returns the process id in the names of a process's providers, for example "123" in
    // pid123. For a followed child after an exec, this is ps_prochandle::origin.
    std::string id_in_providers(const ps_prochandle& process) const;
    // Returns whether an enabled description may match libraries that are loaded later.
    bool awaits_libraries(const ps_prochandle& process) const;
    // Returns whether an enabled description may match static probes of any process.
    bool awaits_statics() const;
    // Returns whether the probes of the syscall provider fire in the targets. They do so
    // if the kernel module cannot be used.
    bool syscalls_fire_in_targets() const;
    template <class Condition> bool is_any_enabled(Condition condition) const
    {
        for (const Enabling& each : enabled)
            for (const auto& clause : each.prog->program->clauses)
                for (const ProbeSpec& spec : clause.probes)
                    if (condition(spec))
                        return true;
        return false;
    }
    std::set<pid_t> found_by_probes() const;

    Listener& listener;
    int error = 0;
    std::string error_text;  // text of the last error; empty: the standard text
    std::string error_quote; // source line and caret of the last compile error
    Options options;
    Processes processes;
    NewProcesses new_processes; // used if descriptions apply to all processes
    ProviderSet providers;
    Registry& registry = providers.registry;
    ProcessProbes& probes = providers.probes;
    std::vector<std::unique_ptr<dtrace_prog>> programs;
    std::vector<Enabling> enabled; // in the order of the calls to Session::exec()
    // The kernel module's device, if it exists and this process may use it.
    std::optional<KernelDevice> kernel;
    std::string why_no_kernel;

    // Returns the first arena, and the arenas of the trust domains.
    std::vector<ArenaMemory*> all_arenas();

    std::optional<ArenaMemory> arena;       // the first arena
    std::vector<DomainArena> domain_arenas; // see process_backend.hpp
    // The number of the registry's probes that are in the arena.
    std::uint32_t n_probes_added = 0;
    std::unique_ptr<Consumer> consumer;
    bool active = false, stopped = false;

private:
    // Nullopt until they are checked.
    mutable std::optional<bool> may_sample_machine_, may_record_events_;
};

} // namespace dt
