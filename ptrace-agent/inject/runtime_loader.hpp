// SPDX-License-Identifier: MIT
// Loads the runtime into a target. A stopped thread of the target makes the system
// calls.
//
//   1. Map a scratch page and create a socket pair. The agent copies both ends
//      (pidfd_getfd) and sends three descriptors through one of them: those of the
//      arena's program and data parts, and that of the config.
//   2. Reserve two regions and map the parts of the runtime and the arena in them.
//   3. Write the image through /proc/PID/mem, and arm the doorbells.
//   4. Close the descriptors and unmap the scratch page.
//
// The steps use no file names, so mount namespaces do not matter. No page is ever both
// writable and executable. The target's descriptors for the program part and for the
// config are read-only. If a step fails, the earlier steps are undone, and the error
// names the step.
#pragma once

#include "base/result.hpp"
#include "ptrace-agent/inject/arena_map.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/rseq.hpp"
#include "ptrace-agent/inject/thread_bases.hpp"

namespace dt::agent {

class RuntimeLoader {
public:
    RuntimeLoader(Tracees& tracees, Injector& injector, const ArenaMap& arena,
                  ThreadBases& bases, RseqAreas& rseq)
        : tracees_(tracees), injector_(injector), arena_(arena), bases_(bases),
          rseq_(rseq)
    {
    }

    // Loads the runtime if the target does not have it yet. If loading fails, later
    // calls do not try again. They fail with Code::unsupported and the text of the
    // first error. There are two errors after which the next call tries again:
    //   - Code::gone
    //   - Code::busy because no thread could make a system call
    Result<Ok> ensure(StoppedWorld& world);

private:
    Result<Ok> load(StoppedWorld& world, Thread& thread);
    void refresh_config(AddressSpace& space);

    Tracees& tracees_;
    Injector& injector_;
    const ArenaMap& arena_;
    ThreadBases& bases_;
    RseqAreas& rseq_;
};

} // namespace dt::agent
