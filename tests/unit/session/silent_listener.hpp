// SPDX-License-Identifier: MIT
// A listener for tests that ignore the events of a session.
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

struct SilentListener : Listener {
    std::optional<std::string> setopt(std::string_view, std::string_view) override
    {
        return "not here";
    }
    void complain(std::string_view) override {}
    void process(ps_prochandle*, const char*) override {}
    void probes_renamed() override {}
};

} // namespace dt
