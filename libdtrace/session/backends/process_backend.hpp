// SPDX-License-Identifier: MIT
// Probes that fire in processes: in dtrace itself (BEGIN, END, tick), in the
// ptrace-agent (breakpoints), and in the targets (jumps into the injected runtime). All
// of them share one arena.
#pragma once

#include "libdtrace/session/backends/backend.hpp"
#include "libdtrace/session/backends/local_host.hpp"
#include "libdtrace/session/backends/timer_thread.hpp"
#include "libdtrace/session/site_reports.hpp"

#include <memory>

namespace dt {

class ProcessBackend : public Backend {
public:
    ProcessBackend(SessionState& state, SiteReports& reports)
        : Backend(state), reports_(reports)
    {
    }
    ~ProcessBackend() override;

    int make_arena() override;
    int prepare_agent() override;
    bool agent_is_prepared() const override { return agent_is_prepared_; }
    int load(std::span<const std::byte> dof, dt_u32& first_clause, dt_u32& n_clauses,
             dt_load_error& refused) override;
    int add_probes() override;
    int enable(std::span<const std::uint32_t> ids, std::size_t clause) override;
    void touch_arena() override;
    void choose_mechanism(ps_prochandle& process) override;
    int plant(ps_prochandle& process, const std::vector<Site>& sites,
              const StaticTable& statics) override;
    void unplant(ps_prochandle& process) override;
    void fire(std::uint32_t probe) override;
    int start_timers() override;
    void stop_timers() override;
    std::uint32_t owner() const override { return host_->owner(); }
    bool targets_share_memory() const override { return true; }
    bool can_rename_probes() const override;
    std::uint64_t default_aggsize() const override;
    // Returns whether pages of the arena may be returned to the kernel. Returns false
    // if the arena is charged to dtrace. If a target touched a returned page, the
    // kernel would charge that page to the target.
    bool can_return_memory() const override { return !arena_is_charged_to_us_; }

private:
    bool has_little_memory(pid_t pid) const;
    void report_sampled();

    SiteReports& reports_;
    std::unique_ptr<LocalHost> host_;
    TimerThread timer_thread_;
    bool agent_is_prepared_ = false;
    // True if the control group of a target had little memory left when the arena was
    // created. In that case, dtrace touches the arena before any target does, so that
    // the kernel charges the arena to dtrace's control group.
    bool arena_is_charged_to_us_ = false;
};

} // namespace dt
