// SPDX-License-Identifier: MIT
// A compiled program of a session, and the result of a dtrace_program_exec().
#pragma once

#include "libdtrace/api/include/dtrace.h"
#include "libdtrace/compile/compiler.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct dtrace_prog {
    std::shared_ptr<const dt::Program> program;
    // For each clause, the probes that its descriptions matched when the program was
    // compiled, in the order of the descriptions.
    std::vector<std::vector<std::uint32_t>> matched;
    // The text and the arguments from which the program was compiled. They are saved
    // with an anonymous enabling. When the enabling is claimed, its programs are
    // compiled from them again.
    struct Source {
        std::string text, name;
        dtrace_probespec_t spec = DTRACE_PROBESPEC_NAME;
        uint_t cflags = 0;
        bool is_string = false;
        std::vector<std::string> arguments;
    } source;
};

namespace dt {

// The result of one dtrace_program_exec(). If a program is passed to it twice, each
// firing of a probe runs the program's clauses twice.
struct Enabling {
    dtrace_prog* prog = nullptr;
    std::uint32_t first_clause = 0; // index in the arena
    bool loaded = false;
};

} // namespace dt
