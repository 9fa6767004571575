// SPDX-License-Identifier: MIT
// Reports sites that cannot be probed, sites that use a breakpoint, and functions whose
// entry probe also fires when a loop jumps back to the function's first instruction. A
// remark about sites is reported only once for each probe, even if libraries are loaded
// and unloaded repeatedly.
#pragma once

#include "libdtrace/session/session_state.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

// The wording of a report about sites. `before` and `after` surround the name of a
// site. If the list of sites is shortened, it ends with the number of omitted sites
// and `more`.
struct SiteWords {
    std::string before, after, more;
};
extern const SiteWords not_probed, by_breakpoint;

class SiteReports {
public:
    explicit SiteReports(SessionState& state) : s_(state) {}

    // Reports the first ten refused sites with their reasons, and the number of the
    // rest.
    void report_sites(ps_prochandle& process, const std::vector<Site>& sites,
                      const std::vector<Refusal>& refused, const SiteWords& words);
    // Reports the first few functions whose entry probe also fires when a loop jumps
    // back to the function's first instruction, and the number of the rest. `looping`
    // contains indexes into `sites`.
    void report_loops(ps_prochandle& process, const std::vector<Site>& sites,
                      const std::vector<std::uint32_t>& looping);

private:
    bool is_new_place(const ps_prochandle& process, std::string_view remark,
                      std::uint32_t id);

    SessionState& s_;
    std::set<std::string> remarks_; // already reported
};

} // namespace dt
