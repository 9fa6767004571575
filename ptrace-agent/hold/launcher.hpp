// SPDX-License-Identifier: MIT
// dtrace -c: starts a command, runs it to the point that evaltime names and holds it there.
//
//   fork ─> child waits ─> agent seizes it ─> exec ──> preinit ──> entry point ──> main
//
// preinit is the dynamic linker's report that all objects are mapped. main() needs no
// symbol: the code at the entry point passes its address as the first argument of the
// first call, to __libc_start_main(), so the agent steps to that call and reads it.
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/client_link.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <string>

namespace dt::agent {

class Launcher {
public:
    Launcher(Tracees& tracees, ClientLink& client, TracepointTable& table,
             TrapSignals& trap_signals, LinkerWatch& linker, ClientWait& client_wait)
        : tracees_(tracees), client_(client), table_(table),
          trap_signals_(trap_signals), linker_(linker), client_wait_(client_wait)
    {
    }

    Reply create(Reader& in); // the request `create`

private:
    Result<Ok> run_to(Process& process, EvalTime evaltime, const std::string& name);
    Result<Ok> run_until(Process& process, TargetAddr at, const std::string& name);
    Result<Ok> step_to_main(Process& process, const std::string& name);

    Tracees& tracees_;
    ClientLink& client_;
    TracepointTable& table_;
    TrapSignals& trap_signals_;
    LinkerWatch& linker_;
    ClientWait& client_wait_;
};

} // namespace dt::agent
