// SPDX-License-Identifier: MIT
#include "libdtrace/session/site_reports.hpp"

#include "libdtrace/session/sites.hpp"

#include <utility>

namespace dt {

const SiteWords not_probed{"cannot probe ", "", " more places that cannot be probed"};
const SiteWords by_breakpoint{"", " fires through a breakpoint, about 20 us per hit",
                              " more places that fire through a breakpoint"};

// Returns whether to report a remark about a probe. If the user did not name the
// process, or if it executed another program, a remark is reported only once for the
// same module, function and probe name.
bool SiteReports::is_new_place(const ps_prochandle& process, std::string_view remark,
                               std::uint32_t id)
{
    // The number is limited, because targets choose the names of their modules.
    constexpr std::size_t max_remarks = 10'000;
    const bool repeats = !process.by_user() || process.execed;
    if (remarks_.size() >= max_remarks)
        return !repeats;
    const ProbeInfo& probe = s_.registry.at(id);
    std::string key(remark);
    for (std::string_view part : {probe.module, probe.function, probe.name})
        key.append(part).append(1, ':');
    return remarks_.insert(std::move(key)).second || !repeats;
}

void SiteReports::report_sites(ps_prochandle& process, const std::vector<Site>& sites,
                               const std::vector<Refusal>& refused,
                               const SiteWords& words)
{
    constexpr std::size_t max_reported = 10;
    std::size_t n = 0;
    std::vector<std::uint32_t> reported;
    for (const Refusal& refusal : refused) {
        if (refusal.site >= sites.size() || is_call(sites[refusal.site].kind) ||
            process.reported_probes.count(sites[refusal.site].probe) != 0)
            continue;
        reported.push_back(sites[refusal.site].probe);
        if (!is_new_place(process, words.before, sites[refusal.site].probe))
            continue;
        if (++n > max_reported)
            continue;
        const ProbeInfo& probe = s_.registry.at(sites[refusal.site].probe);
        s_.report(&process,
                  words.before + full_name(probe) + " at " +
                      s_.processes.uaddr(static_cast<std::uint64_t>(process.pid),
                                         sites[refusal.site].at.value) +
                      words.after + ": " + refusal.reason);
    }
    if (n > max_reported)
        s_.report(&process, "and " + std::to_string(n - max_reported) + words.more);
    process.reported_probes.insert(reported.begin(), reported.end());
}

void SiteReports::report_loops(ps_prochandle& process, const std::vector<Site>& sites,
                               const std::vector<std::uint32_t>& looping)
{
    constexpr std::size_t max_named = 5;
    std::string names;
    std::size_t n = 0;
    for (std::uint32_t i : looping) {
        if (i < sites.size() && process.reported_loops.insert(sites[i].probe).second &&
            is_new_place(process, "loops ", sites[i].probe) && ++n <= max_named)
            names.append(n == 1 ? "" : ", ")
                .append(s_.registry.at(sites[i].probe).function);
    }
    if (n > max_named)
        names += " and " + std::to_string(n - max_named) + " more";
    if (n != 0)
        s_.report(&process, "these entry probes also fire when a loop goes back to the "
                            "function's first instruction: " +
                                names);
}

} // namespace dt
