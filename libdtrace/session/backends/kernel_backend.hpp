// SPDX-License-Identifier: MIT
// Probes that fire in the kernel module. This backend is used if a program needs the
// module, or with -x mechanism=uprobe (backend_choice.hpp). In both cases, all probes
// of the session fire in the module, including BEGIN, END, tick and profile.
//
// The module owns the arena. Targets cannot write to it, so probes in processes are
// uprobes (uprobes.hpp).
#pragma once

#include "libdtrace/session/backends/backend.hpp"
#include "libdtrace/session/backends/kernel_unwind.hpp"
#include "libdtrace/session/site_reports.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dt {

dt_arena_config kernel_arena_config(const SessionState& state);

class KernelBackend : public Backend {
public:
    // state.kernel must contain the open device.
    KernelBackend(SessionState& state, SiteReports& reports)
        : Backend(state), reports_(reports)
    {
    }

    int make_arena() override;
    // Uses an arena that the device already has, such as that of anonymous tracing.
    void use(ArenaMemory arena);
    int prepare_agents() override;
    int load(std::span<const std::byte> dof, dt_u32& first_clause, dt_u32& n_clauses,
             dt_load_error& refused) override;
    int add_probes() override;
    int enable(std::span<const std::uint32_t> ids, std::size_t clause) override;
    int plant(ps_prochandle& process, const std::vector<Site>& sites,
              const StaticTable& statics) override;
    void unplant(ps_prochandle& process) override;
    int attach() override;
    void fire(std::uint32_t probe) override;
    int start_timers() override;
    void tend(std::uint64_t now_ns) override;
    std::uint32_t owner() const override;
    const std::string& shared_between_targets() const override { return nothing_; }
    bool can_rename_probes() const override { return false; }

private:
    bool walks_user_stacks() const;
    int attach_sites(std::vector<KernelSite>& sites,
                     const std::vector<std::uint32_t>& ids);
    void look_at_modules(std::uint64_t now_ns);
    int match_new_modules();

    SiteReports& reports_;
    const std::string
        nothing_; // empty, because targets cannot access the kernel's arena
    bool prepared_ = false;
    std::optional<KernelUnwind> unwind_;
    std::uint32_t first_unattached_ =
        1;                // the first probe that attach() has not handled
    std::string modules_; // names of the kernel's modules at the last check
    std::uint64_t modules_looked_at_ = 0; // time of the last check, in monotonic ns
};

} // namespace dt
