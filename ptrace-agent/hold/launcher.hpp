// SPDX-License-Identifier: MIT
// Starts a command (dtrace -c), runs it to the point that evaltime selects, and holds
// it there.
//
//   fork ─> child waits ─> agent seizes it ─> exec ──> preinit ──> entry point ──> main
//
// preinit is the point at which the dynamic linker reports that all objects are mapped.
// main() is found without a symbol. The agent single-steps from the entry point to the
// first call, which calls __libc_start_main(). The first argument of this call is the
// address of main().
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <string>

namespace dt::agent {

class Launcher {
public:
    Launcher(Tracees& tracees, TracepointTable& table, LinkerWatch& linker,
             ClientWait& client_wait)
        : tracees_(tracees), table_(table), linker_(linker), client_wait_(client_wait)
    {
    }

    // Handles the request `create`. Replies with the pid of the command.
    Reply create(Reader& in);

private:
    // Runs the process to the point that evaltime selects. Fails if the process exits
    // first. `name` is the start of error messages, here and below.
    Result<Ok> run_to(Process& process, EvalTime evaltime, const std::string& name);
    // Runs the process to the address, or to preinit if the address is 0.
    Result<Ok> run_until(Process& process, TargetAddr at, const std::string& name);
    // Runs a process from its entry point to main(). Without C start-up code, the
    // process stays near the entry point.
    Result<Ok> step_to_main(Process& process, const std::string& name);

    Tracees& tracees_;
    TracepointTable& table_;
    LinkerWatch& linker_;
    ClientWait& client_wait_;
};

} // namespace dt::agent
