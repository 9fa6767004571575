// SPDX-License-Identifier: MIT
// Serves upcalls: the requests that threads make from inside the runtime. A thread uses
// a doorbell, or a trap if the target has no doorbells (probe_context.hpp).
//
// A thread that waits at a doorbell is in the kernel and is not stopped. The agent
// stops the thread only if the request needs registers, or if the thread must wait.
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/thread_bases.hpp"
#include "ptrace-agent/plant/linker.hpp"

#include <memory>

namespace dt::agent {

class Upcalls {
public:
    Upcalls(Tracees& tracees, ThreadBases& bases, LinkerWatch& linker,
            ClientWait& client_wait)
        : tracees_(tracees), bases_(bases), linker_(linker), client_wait_(client_wait)
    {
    }

    // Serves the doorbells that have rung in all targets. Does not wait.
    void serve_all();
    // Serves the doorbells that have rung in one target. Does not wait.
    void serve(const std::shared_ptr<AddressSpace>& space);
    // Serves one request. `at` is the address of its struct dt_rt_upcall in the target.
    void serve_call(Thread& thread, TargetAddr at);

private:
    void serve_ring(const std::shared_ptr<AddressSpace>& space, const Ring& ring);
    Thread* caller_of(AddressSpace& space, pid_t number);

    Tracees& tracees_;
    ThreadBases& bases_;
    LinkerWatch& linker_;
    ClientWait& client_wait_;
};

// Returns the thread's id in its innermost pid namespace, as in doorbell messages.
pid_t number_of(Thread& thread);

} // namespace dt::agent
