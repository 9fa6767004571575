// SPDX-License-Identifier: MIT
// The runtime into a target, by system calls that one of its stopped threads makes.
//
//   scratch page ─ socketpair ─ the agent takes one end (pidfd_getfd) and sends three
//   descriptors through it ─ recvmsg ─ a region is reserved, its parts are mapped ─
//   descriptors closed, scratch unmapped ─ the image is written through /proc/PID/mem
//
// No file name is involved, so that mount namespaces do not matter, and no page is ever
// writable and executable. What the target gets of the program part and the config is a
// descriptor opened for reading. Any step that fails undoes those before it and is
// named; the target then keeps what it has, which is nothing.
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

    // Loads the runtime where it is not loaded yet. A refusal is remembered.
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
