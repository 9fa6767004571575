// SPDX-License-Identifier: MIT
// Loads the runtime into a target, and maps the memory of each session that traces the
// target. A stopped thread of the target makes the system calls.
//
//   1. Map a scratch page and create a socket pair. Send three descriptors through the
//      pair: the arena's program part, the arena's data part, and the config.
//   2. Reserve two regions and map the parts of the runtime and of the session in them.
//      If another session already traces the target, its runtime is used.
//   3. Write the image through /proc/PID/mem, and arm the doorbells.
//   4. Close the descriptors and unmap the scratch page.
//
// The steps use no file names, so mount namespaces do not matter. No page is ever both
// writable and executable. If a step fails, the earlier steps are undone, and the error
// names the step.
#pragma once

#include "base/result.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/remote_mappings.hpp"
#include "ptrace-agent/inject/rseq.hpp"
#include "ptrace-agent/inject/thread_bases.hpp"

namespace dt::agent {

// Returns whether a system call does not store its return address in %rcx, as on
// processors with FRED.
bool syscalls_keep_rcx();

class RuntimeLoader {
public:
    RuntimeLoader(Tracees& tracees, Injector& injector, ThreadBases& bases,
                  RseqAreas& rseq)
        : tracees_(tracees), injector_(injector), bases_(bases), rseq_(rseq)
    {
    }

    // Loads the runtime and the memory of these sessions if the target does not have
    // them yet. Returns Code::busy if no thread can make a system call at the moment.
    // After Code::busy and Code::gone, the next call tries again. After any other error
    // with the first session, all later calls return Code::unsupported with the text of
    // that error.
    Result<Ok> ensure(StoppedWorld& world, SessionSet sessions);

private:
    struct Part {
        TargetAddr at;
        std::uint64_t bytes;
        int protection, flags, fd;
        const char* step;
    };
    struct Layout;

    Result<Ok> load(StoppedWorld& world, Thread& thread, const AgentSession& session);
    static Result<TargetAddr> map_image(RemoteMappings& mappings, int config);
    static Result<Ok> map_session(RemoteMappings& mappings, const ArenaMap& arena,
                                  int program, int data, Layout& layout);
    static Result<Ok> map_parts(RemoteMappings& mappings, std::span<const Part> parts);
    void refresh_config(AddressSpace& space);

    Tracees& tracees_;
    Injector& injector_;
    ThreadBases& bases_;
    RseqAreas& rseq_;
};

} // namespace dt::agent
