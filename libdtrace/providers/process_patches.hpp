// SPDX-License-Identifier: MIT
// What of ours is in a process, found in its memory alone: nobody who put it there is
// asked, or need live.
//
//   /proc/PID/maps ── executable memory of files ── bytes that are not the file's
//        └── the runtime's image ── its config ── the sites, and whether they fire
//
// The config is read only behind an image that is byte for byte ours: another version's
// has another layout. What it says is believed where it fits the text.
#pragma once

#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "libdtrace/symbols/process_symbols.hpp"
#include "ptrace-agent/client.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

struct ProcessPatch {
    enum Kind : std::uint8_t {
        jump,       // into a trampoline of ours
        breakpoint, // int3, whoever's
        unknown,    // other bytes
    } kind = unknown;
    // A jump is live when it fires probes, else inert. A breakpoint is live while somebody
    // traces the process: else it kills who runs into it. Of unknown bytes nothing is known.
    bool live = false;
    TargetAddr at;
    std::uint32_t n_bytes = 0;
    TargetAddr trampoline;       // of a jump
    std::uint32_t n_firings = 0; // of a jump: probes that it would fire
    bool for_libraries = false;  // of a jump: in the dynamic linker, for dtrace itself
    std::string text;            // "a jump to 0x7f0000001000", "48 8b instead of 55 53"
};

struct ProcessPatches {
    std::vector<ProcessPatch> patches; // ascending
    std::vector<std::string> notes;    // files that the text could not be compared with
    TargetAddr runtime;                // the image; 0: there is none
    bool other_version = false;        // of the runtime: sites are not read
    bool enabled = false;              // the runtime may fire
    pid_t agent = 0;                   // whose runtime it is, while it lives
    bool agent_lives = false;
    pid_t tracer = 0; // who traces the process now

    std::size_t count(ProcessPatch::Kind kind) const;
    std::size_t n_live_jumps() const;
};

// gone, permission: its memory cannot be read.
Result<ProcessPatches> find_patches(const ProcessSymbols& symbols);

// What a tracer of ours left in a process that nobody else can be tracing now: text, and
// what the file has there; runtimes of our version. Quick where no runtime was ever put.
Result<LeftBehind> left_behind(const ProcessSymbols& symbols);

// The agent that held the process died: semaphores of static probes that it had raised go
// back to what they were. Its jumps are harmless, and stay.
void lower_semaphores(pid_t pid);

} // namespace dt
