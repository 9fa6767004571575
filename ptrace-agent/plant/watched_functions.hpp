// SPDX-License-Identifier: MIT
// The functions of a target that the agent watches for its own use. Each function has a
// tracepoint with a Tracepoint::Purpose.
#pragma once

#include "base/target_addr.hpp"

namespace dt::agent {

struct WatchedFunctions {
    // The dynamic linker, which LinkerWatch watches.
    struct Linker {
        TargetAddr debug; // address of its struct r_debug, or 0 if not watched
        TargetAddr stop;  // address of its function r_brk, or 0 if not watched
        bool known() const { return debug.value != 0; }
    };
    Linker linker;
    bool signal_calls = false; // watch_signal_calls() was called
    bool tracer_calls = false; // watch_tracer_calls() was called
};

} // namespace dt::agent
