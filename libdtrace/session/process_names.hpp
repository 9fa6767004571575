// SPDX-License-Identifier: MIT
// Answers the compiler's questions about the traced processes: names with a backquote,
// and the functions that contain probes.
#pragma once

#include "libdtrace/session/kernel_facts.hpp"
#include "libdtrace/session/session_state.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dt {

class ProcessNames {
public:
    ProcessNames(SessionState& state, KernelFacts& kernel) : s_(state), kernel_(kernel)
    {
    }

    struct Scope {
        ps_prochandle* process = nullptr;
        std::string_view module;
        std::string why_not; // the reason why there is no process
    };
    // Finds the process and the module of a scope. A scope is the text before the last
    // backquote of a name, for example "pid42`libc.so.6", "a.out", "pid42" or "".
    Scope in_scope(std::string_view scope);
    // Returns nullopt if the symbol is not known.
    std::optional<std::uint64_t> symbol_address(std::string_view scope,
                                                std::string_view symbol);
    // Returns the modules of a scope, or why there are none.
    std::variant<std::vector<TargetModule>, std::string>
    modules_of(std::string_view scope);
    KernelFacts::Probed probed_function(std::uint32_t id);

private:
    SessionState& s_;
    KernelFacts& kernel_;
};

} // namespace dt
