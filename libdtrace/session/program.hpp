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
    // For each clause, the probes that matched at compile time.
    std::vector<std::vector<std::uint32_t>> matched;
    // The text and arguments of the program. Anonymous tracing saves them, and compiles
    // them again later.
    struct Source {
        std::string text, name;
        dtrace_probespec_t spec = DTRACE_PROBESPEC_NAME;
        uint_t cflags = 0;
        bool is_string = false;
        std::vector<std::string> arguments;
    } source;
};

namespace dt {

// The result of one dtrace_program_exec(). A program that is passed twice runs twice.
struct Enabling {
    dtrace_prog* prog = nullptr;
    std::uint32_t first_clause = 0; // index in the arena
    bool loaded = false;
};

} // namespace dt
