// SPDX-License-Identifier: MIT
// Ends the tracing of targets by one session, while other sessions may continue to
// trace them.
//
//   another session traces the target:   the session's probes are removed, then its
//                                        memory is unmapped
//   no other session:                    the target is released (releaser.hpp)
//
// A thread may still be in the session's stacks, its compiled code, or the runtime's
// entry when the probes are removed. In that case the memory is unmapped later.
#pragma once

#include "ptrace-agent/hold/releaser.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/trap/hit_handler.hpp"
#include "ptrace-agent/wire/alarms.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <memory>
#include <vector>

namespace dt::agent {

class SessionCloser {
public:
    SessionCloser(Tracees& tracees, TracepointTable& table, Injector& injector,
                  JumpWriter& jumps, HitHandler& hits, Alarms& alarms,
                  Releaser& releaser)
        : tracees_(tracees), table_(table), injector_(injector), jumps_(jumps),
          hits_(hits), alarms_(alarms), releaser_(releaser)
    {
    }

    Reply detach(Reader& in); // handles the request `detach`

    // Ends the tracing of all processes by a session, after its client has exited.
    void end_session(unsigned session);
    // Removes the probes of a session from all targets that have mapped its arena.
    void leave_arena(unsigned session);
    // Removes the jumps and breakpoints that no longer serve any probe. `changed` are
    // tracepoints that have lost probes.
    void remove_idle(StoppedWorld& world, std::vector<Tracepoint*> changed);
    // Unmaps the memory of sessions that no longer trace the target. Returns false if a
    // thread may still use some of it.
    bool unmap_left(StoppedWorld& world);
    // Calls unmap_left() again for the targets for which it has returned false.
    void unmap_left_if_due();

private:
    // Ends the tracing of an address space by a session. Releases its processes if no
    // other session traces them. Processes other than `pid` are reported to the session.
    void leave(unsigned session, std::shared_ptr<AddressSpace> space, pid_t pid);
    void remove_probes_of(unsigned session, const std::shared_ptr<AddressSpace>& space);

    Tracees& tracees_;
    TracepointTable& table_;
    Injector& injector_;
    JumpWriter& jumps_;
    HitHandler& hits_;
    Alarms& alarms_;
    Releaser& releaser_;
    std::uint64_t pause_ns_ = 0; // before the next unmap_left_if_due()
};

} // namespace dt::agent
