// SPDX-License-Identifier: MIT
// Reports sites that cannot be probed, sites with a breakpoint, and entry probes that
// also fire in a loop. A remark is reported once for each probe.
#pragma once

#include "libdtrace/session/session_state.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

// `before` and `after` surround the name of a site. `more` follows the number of
// omitted sites.
struct SiteWords {
    std::string before, after, more;
};
extern const SiteWords not_probed, by_breakpoint;

class SiteReports {
public:
    explicit SiteReports(SessionState& state) : s_(state) {}

    // Reports the first ten refused sites, and the number of the rest.
    void report_sites(ps_prochandle& process, const std::vector<Site>& sites,
                      const std::vector<Refusal>& refused, const SiteWords& words);
    // Reports the first functions whose entry probe also fires when a loop jumps back
    // to the first instruction. `looping` contains indexes into `sites`.
    void report_loops(ps_prochandle& process, const std::vector<Site>& sites,
                      const std::vector<std::uint32_t>& looping);

private:
    bool is_new_place(const ps_prochandle& process, std::string_view remark,
                      std::uint32_t id);

    SessionState& s_;
    std::set<std::string> remarks_; // already reported
};

} // namespace dt
