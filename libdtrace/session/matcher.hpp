// SPDX-License-Identifier: MIT
// Matches the probe descriptions of a program while it is compiled.
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <map>
#include <string>
#include <variant>

namespace dt {

class Matcher {
public:
    explicit Matcher(SessionState& state) : s_(state) {}

    // Returns the probes that a description matches. Providers may create them in this
    // call. Refuses a description that matches nothing, unless probes may appear later.
    std::variant<ProbeMatch, Diagnostic> match(const ProbeSpec& spec);
    // Forgets the results of the last compilation.
    void clear() { matches_.clear(); }

private:
    std::string hint_for(const ProbeSpec& spec);
    std::string hint_without_kernel(const ProbeSpec& spec);
    std::string near_name(const std::string& provider, const std::string& name,
                          std::string_view ProbeInfo::*part);
    std::string kernel_hint(const ProbeSpec& spec);
    std::string why_not_in_process(const ProbeSpec& spec);
    std::string searched_text(const ProbeSpec& spec);

    SessionState& s_;
    std::map<std::string, ProbeMatch> matches_; // of the current compilation
};

} // namespace dt
