// SPDX-License-Identifier: MIT
// Probes that fire in processes: in dtrace itself (BEGIN, END, tick, and profile without
// named targets), in the ptrace-agent (breakpoints), and in the targets (jumps into the injected runtime).
//
// Each trust domain has its own agent and its own arena, so that targets share memory
// only with targets of their domain. All arenas have the same program part. If a probe
// is in a process, the consumer accepts its records only from the arena of this
// process's domain. The clauses of BEGIN, END and tick run in the first arena.
//
//   one domain        The agent and the targets also use the first arena.
//   several domains   Only the consumer uses the first arena. After each of its clauses,
//                     it copies the D program's scalar variables to all other arenas.
//
// If targets share data through the program (shared_variables.hpp), only one domain is
// possible.
#pragma once

#include "libdtrace/session/backends/backend.hpp"
#include "libdtrace/session/backends/local_host.hpp"
#include "libdtrace/session/backends/timer_thread.hpp"
#include "libdtrace/session/sampling/machine_probes.hpp"
#include "libdtrace/session/site_reports.hpp"

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace dt {

class ProcessBackend : public Backend {
public:
    ProcessBackend(SessionState& state, SiteReports& reports)
        : Backend(state), reports_(reports)
    {
    }
    ~ProcessBackend() override;

    int make_arena() override;
    int prepare_agents() override;
    int load(std::span<const std::byte> dof, dt_u32& first_clause, dt_u32& n_clauses,
             dt_load_error& refused) override;
    int add_probes() override;
    int enable(std::span<const std::uint32_t> ids, std::size_t clause) override;
    void touch_arenas() override;
    void choose_mechanism(ps_prochandle& process) override;
    int plant(ps_prochandle& process, const std::vector<Site>& sites,
              const StaticTable& statics) override;
    void unplant(ps_prochandle& process) override;
    void fire(std::uint32_t probe) override;
    int start_timers() override;
    void stop_timers() override;
    std::uint32_t owner() const override { return host_->owner(); }
    const std::string& shared_between_targets() const override { return shared_; }
    void bind(std::uint32_t probe) override;
    void tend(std::uint64_t now_ns) override;
    bool can_rename_probes() const override;
    std::uint64_t default_aggsize() const override;
    // Returns false if the arena is charged to dtrace. If a page were returned to the
    // system, the next target that touched it would be charged for it.
    bool can_return_memory() const override { return !arena_is_charged_to_us_; }

private:
    // Sets the probes of the process's tasks. Returns -1 if this fails.
    int set_task_probes(ps_prochandle& process, const TaskProbes& probes);
    int prepare(std::size_t domain);
    void retire(std::size_t domain);
    Result<ArenaMemory*> arena_for(std::size_t agent);
    void copy_variables();
    void touch(ArenaMemory& arena);
    bool has_little_memory(pid_t pid) const;
    void report_sampled();
    std::optional<SampledTargets> sampled_targets() const;
    // Starts the profile-n probes and the recorded probes that fire in this process.
    Result<Ok> start_machine_probes(MachineSources sources);

    SiteReports& reports_;
    std::unique_ptr<LocalHost> host_;
    TimerThread timer_thread_;
    MachineProbes machine_probes_;
    std::set<std::size_t> prepared_; // domains for which prepare() was called
    // The domain whose targets use the first arena (Processes::arena_of()).
    std::optional<std::size_t> user_of_first_arena_;
    std::string shared_;
    // only the consumer uses the first arena
    bool has_own_arena_ = false;
    // Protects state.domain_arenas, which the timer thread reads.
    std::mutex arenas_lock_;
    std::vector<ProfileTimer> sampled_; // probes that the agents fire on targets
    // True if a target's control group had little memory left when the arena was
    // created. If so, dtrace touches the arena before the targets do, and is charged
    // for it.
    bool arena_is_charged_to_us_ = false;
};

} // namespace dt
