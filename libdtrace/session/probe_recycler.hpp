// SPDX-License-Identifier: MIT
// When a traced program ends, its probes are reused for programs that are executed
// later. Without reuse, a session that follows execs would run out of probes.
//
//   a program ends ──▶ its probes are retired until their records have been read
//   ──▶ the registry keeps them ──▶ they are renamed for a process that executes the
//   same program
#pragma once

#include "libdtrace/session/backends/backend.hpp"
#include "libdtrace/session/session_state.hpp"

#include <cstdint>
#include <deque>
#include <memory>

namespace dt {

class ProbeRecycler {
public:
    explicit ProbeRecycler(SessionState& state) : s_(state) {}

    // Called when a process exits or executes another program. Retires probes that no
    // other process can fire.
    void end_program(ps_prochandle& process);
    // Gives retired probes to the registry after their records have been read.
    void recycle();
    // Renames the reused probes in the arena. Returns 0, or -1 after
    // SessionState::fail().
    int rename(Backend& backend);

private:
    // Probes that no process can fire any more. Their records may still be in buffers.
    struct Retired {
        std::shared_ptr<ProgramProbes> probes;
        std::uint64_t since_ns = 0;
    };

    SessionState& s_;
    std::deque<Retired> retired_;
};

} // namespace dt
