// SPDX-License-Identifier: MIT
// Finds our patches in a process by comparing its memory with its files. The dtrace
// that wrote the patches may have exited.
//
//   /proc/PID/maps ── executable file mappings ── bytes that differ from the file
//        └── the runtime's image ── its config ── the sites, and whether they fire
//
// The config is read only if the runtime's image is identical to this version's image.
// The content of the config is used only if it agrees with the text.
#pragma once

#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "libdtrace/symbols/process_symbols.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

struct ProcessPatch {
    enum Kind : std::uint8_t {
        jump,       // a jump into a trampoline of dtrace
        breakpoint, // int3, which dtrace or any other debugger may have written
        unknown,    // any other bytes
    } kind = unknown;
    // A jump is live if it fires probes. A breakpoint is live if a tracer is attached.
    // Without a tracer, a breakpoint normally kills the process. Unknown bytes are
    // never live.
    bool live = false;
    TargetAddr at;
    std::uint32_t n_bytes = 0;
    TargetAddr trampoline;       // for a jump: the trampoline to which it leads
    std::uint32_t n_firings = 0; // for a jump: the number of probes that it would fire
    bool for_libraries = false;  // for a jump: fires when the list of libraries changes
    bool for_tracers = false;    // for a jump: fires before the program traces itself
    bool is_call_stub = false;   // for unknown bytes: they make our system calls
    std::string text;            // "a jump to 0x7f0000001000", "48 8b instead of 55 53"
};

struct ProcessPatches {
    std::vector<ProcessPatch> patches; // sorted by address
    std::vector<std::string> notes;    // files whose text could not be compared
    TargetAddr runtime;                // the runtime's image; 0: there is no runtime
    bool other_version = false;        // the runtime's version differs from ours
    bool enabled = false;              // the runtime may fire
    pid_t agent = 0;                   // the runtime's agent; 0: exited or unknown
    bool agent_lives = false;
    pid_t tracer = 0; // the process's tracer; 0: there is no tracer

    std::size_t count(ProcessPatch::Kind kind) const;
    std::size_t n_live_jumps() const;
};

// Finds all patches in a process. Returns Code::gone or Code::permission if the memory
// of the process cannot be read.
Result<ProcessPatches> find_patches(const ProcessSymbols& symbols);

// Finds the remains of an earlier dtrace in a process: the modified text with its
// original bytes, and the runtimes of our version. Must be called only if no other
// tracer is attached.
Result<LeftBehind> left_behind(const ProcessSymbols& symbols);

// Lowers the semaphores that a dead agent raised. Does not remove the agent's jumps,
// which are harmless.
void lower_semaphores(pid_t pid);

} // namespace dt
