// SPDX-License-Identifier: MIT
// Plants probes in a target and removes them. Even for thousands of probes, the target
// is stopped only twice:
//
//   first stop    load the runtime, and make the other system calls in the target
//   target runs   turn sites into tracepoints, plan and build the jumps
//   second stop   write the jumps and the breakpoints
//
// The jumps are planned in the second stop if the target has loaded or unloaded text
// since the first stop, or if a new site is inside an existing window.
//
// The agent trusts neither the client nor the file, and decodes the bytes in memory. A
// site is refused if its bytes are not those that the client expects, or if its
// instruction cannot be displaced.
//
// Files: planter.cpp, placement.cpp (sites become tracepoints), dry_run.cpp (the
// request `plan`, which plants nothing).
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/releaser.hpp"
#include "ptrace-agent/hold/session_closer.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/runtime_loader.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/plant/periodic_task.hpp"
#include "ptrace-agent/plant/prefault.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace dt::agent {

class Planter {
public:
    Planter(Tracees& tracees, TracepointTable& table, Injector& injector,
            RuntimeLoader& loader, JumpWriter& jumps, TrapSignals& trap_signals,
            LinkerWatch& linker, ClientWait& client_wait, Releaser& releaser,
            SessionCloser& closer)
        : tracees_(tracees), table_(table), injector_(injector), loader_(loader),
          jumps_(jumps), trap_signals_(trap_signals), linker_(linker),
          client_wait_(client_wait), releaser_(releaser), closer_(closer)
    {
    }

    // These functions handle the requests of the same names (wire/protocol.hpp).
    Reply expect(Reader& in);
    Reply plan(Reader& in, const std::vector<Fd>& fds);
    Reply plant(Reader& in, const std::vector<Fd>& fds);
    Reply remove(Reader& in, const std::vector<Fd>& fds);

    // Prefaults the memory for the sites that `expect` announced.
    Prefault& prefault() { return prefault_; }

private:
    struct Planting;

    // The steps of plant(), in order.
    Result<Ok> prepare(Planting& p);
    void place(Planting& p);
    void plan_jumps_of(Planting& p);
    void replan_if_changed(Planting& p, bool planned);
    Result<Ok> write(Planting& p);
    static Error cancel(Planting& p);
    Body report(Planting& p);

    Result<Ok> check_stopped(const Planting& p) const;
    PeriodicTask periodic_task(const Planting& p);
    void await_calls(std::optional<StoppedWorld>& world, pid_t pid,
                     const std::shared_ptr<AddressSpace>& space, Mechanism mechanism);
    Result<Ok> prepare_target(StoppedWorld& world, Mechanism mechanism,
                              std::vector<Tracepoint*>& linker);

    Tracees& tracees_;
    TracepointTable& table_;
    Injector& injector_;
    RuntimeLoader& loader_;
    JumpWriter& jumps_;
    TrapSignals& trap_signals_;
    LinkerWatch& linker_;
    ClientWait& client_wait_;
    Releaser& releaser_;
    SessionCloser& closer_;
    Prefault prefault_;
};

} // namespace dt::agent
