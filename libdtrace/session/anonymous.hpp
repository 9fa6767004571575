// SPDX-License-Identifier: MIT
// The anonymous enabling. One session saves it, the kernel module enables it when the
// module is loaded (kmod/anonymous.c), and another session claims it.
//
//   save    Writes the programs as DOF, the D source, and the names and sites of the
//           probes. A site has a symbol name instead of an address.
//   claim   Takes over the arena. Compiles the source again, because records can be
//           read only with their programs. The new DOF must equal the saved DOF.
//
// Functions with an int result return 0, or -1 after SessionState::fail().
#pragma once

#include "libdtrace/session/program_compiler.hpp"
#include "libdtrace/session/session_state.hpp"

#include <cstddef>
#include <cstdio>
#include <span>

namespace dt {

// Writes the enabled programs to the file `to`. The kernel module reads this file if
// the module parameter `anonymous` names it.
int save_anonymous(SessionState& state, FILE* to);
// Sets the options and compiles the programs of a claimed enabling (struct
// dtk_anonymous). The state must already have an arena and a consumer.
int restore_anonymous(SessionState& state, ProgramCompiler& compiler,
                      std::span<const std::byte> from);

} // namespace dt
