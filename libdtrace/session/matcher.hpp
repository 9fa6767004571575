// SPDX-License-Identifier: MIT
// Matches probe descriptions of programs that are compiled, and says why one matches nothing.
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <map>
#include <string>
#include <variant>

namespace dt {

class Matcher {
public:
    explicit Matcher(SessionState& state) : s_(state) {}

    // Returns the probes of a description, which its provider may make now. A description
    // that matches none is refused, except where probes may appear later.
    std::variant<ProbeMatch, Diagnostic> match(const ProbeSpec& spec);
    // Forgets the answers of the last compilation.
    void clear() { matches_.clear(); }

private:
    std::string hint_for(const ProbeSpec& spec);
    std::string kernel_hint(const ProbeSpec& spec);
    std::string why_not_in_process(const ProbeSpec& spec);
    std::string looked_at(const ProbeSpec& spec);

    SessionState& s_;
    std::map<std::string, ProbeMatch> matches_; // of the compilation under way
};

} // namespace dt
