// SPDX-License-Identifier: MIT
#include "libdtrace/session/process_matcher.hpp"

#include <memory>
#include <utility>

namespace dt {

namespace {

// While this object exists, Registry::add() reuses probes of the same kin (see
// Registry::begin_kin()).
class KinOfNewProbes {
public:
    KinOfNewProbes(Registry& registry, std::string kin) : registry_(registry)
    {
        registry_.begin_kin(std::move(kin));
    }
    ~KinOfNewProbes() { registry_.begin_kin(""); }
    KinOfNewProbes(const KinOfNewProbes&) = delete;
    KinOfNewProbes& operator=(const KinOfNewProbes&) = delete;

private:
    Registry& registry_;
};

} // namespace

ProcessMatcher::ProcessMatcher(SessionState& state, Backend& backend,
                               ProbeRecycler& recycler, ps_prochandle& process)
    : s_(state), backend_(backend), recycler_(recycler), process_(process),
      provider_("pid" + state.id_in_providers(process)),
      plockstat_("plockstat" + state.id_in_providers(process))
{
}

// Returns whether the process's probes may be reused for later programs. A program from
// the command line keeps its probes.
bool ProcessMatcher::recycles() const
{
    return backend_.can_rename_probes() && s_.options.follow == FollowOption::exec &&
           process_.execed;
}

int ProcessMatcher::add_probes()
{
    s_.probes.drop_gone(*process_.symbols);
    s_.providers.syscall_sites.drop_gone(*process_.symbols);
    const std::string kin = recycles() ? provider_ : "";
    if (recycles() && process_.program_probes == nullptr)
        process_.program_probes =
            std::make_shared<ProgramProbes>(ProgramProbes{process_.pid, kin, {}});
    const KinOfNewProbes kin_of_new_probes(s_.registry, kin);
    s_.providers.pid.plants = [](std::size_t, unsigned) {};
    for (const Enabling& each : s_.enabled) {
        const auto& clauses = each.prog->program->clauses;
        for (std::size_t k = 0; k < clauses.size(); k++) {
            for (const ProbeSpec& spec : clauses[k].probes) {
                const std::vector<std::uint32_t>& ids = probes_of(spec);
                if (backend_.add_probes() != 0 || recycler_.rename(backend_) != 0)
                    return -1;
                if (each.loaded && backend_.enable(ids, each.first_clause + k) != 0)
                    return -1;
            }
        }
    }
    return 0;
}

const std::vector<std::uint32_t>& ProcessMatcher::probes_of(const ProbeSpec& spec)
{
    auto [known, is_new] = matched_.try_emplace(
        Names{spec.provider, spec.module, spec.function, spec.name});
    std::vector<std::uint32_t>& ids = known->second;
    if (is_new) {
        ids = provide(spec);
        process_.unplanted.insert(process_.unplanted.end(), ids.begin(), ids.end());
    }
    return ids;
}

std::vector<std::uint32_t> ProcessMatcher::provide(const ProbeSpec& spec)
{
    if (spec.provider == provider_) {
        ProbeSpec its = spec;
        its.provider = "pid" + std::to_string(process_.pid);
        auto outcome = s_.providers.pid.provide_new(its);
        return outcome.refused ? std::vector<std::uint32_t>{}
                               : std::move(outcome.provided.ids);
    }
    if (spec.provider == plockstat_) {
        ProbeSpec its = spec;
        its.provider = "plockstat" + std::to_string(process_.pid);
        return s_.providers.plockstat.provide_new(its).provided.ids;
    }
    if (s_.providers.may_be_static(spec))
        return s_.providers.usdt.provide_in(spec, *process_.symbols);
    return {};
}

} // namespace dt
