// SPDX-License-Identifier: MIT
// Releases targets: restores every byte and detaches from every thread.
//
// The order of the steps keeps a target unharmed if the agent dies between two of them:
//
//   1. All threads stop. A hit that is not handled yet is undone.
//   2. The original text is restored.
//   3. The threads leave our code, and it is unmapped. Slots are unmapped if no thread may
//      be in one.
//   4. Each thread is detached, with the signal that it had stopped for.
//
// Some threads are detached later:
//   - a thread that waits for its vfork child: at its next stop, or by the kernel when the
//     agent exits
//   - a thread with deferred signals for which the kernel's queue has no space, or which
//     need their own siginfo: it runs and takes them at its next stops, for a second at
//     most. In a group-stop it is detached at once, and the signals are lost.
//
// When the consumer has exited, all targets are released in rounds. In each round a target
// gets a slice of time; one that needs more waits for the next round, and its threads run
// meanwhile. So targets that do not misbehave are released in the first round. The rest
// have stop_patience_ns together, then each of them is given up (deadlines.cpp).
#pragma once

#include "ptrace-agent/hold/follower.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/runtime_exit.hpp"
#include "ptrace-agent/trap/hit_handler.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/client_link.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace dt::agent {

class Releaser {
public:
    Releaser(Tracees& tracees, ClientLink& client, TracepointTable& table,
             Injector& injector, TrapSignals& trap_signals, HitHandler& hits,
             RuntimeExit& runtime_exit, Follower& follower)
        : tracees_(tracees), client_(client), table_(table), injector_(injector),
          trap_signals_(trap_signals), hits_(hits), runtime_exit_(runtime_exit),
          follower_(follower)
    {
    }

    Reply detach(Reader& in);      // the request `detach`
    Reply kill_target(Reader& in); // the request `kill`

    void release(std::shared_ptr<AddressSpace> space);
    // Releases a process that was given up. Called where no other world is stopped. Returns
    // false if there is none.
    bool release_given_up();
    void release_everything();

    // Removes the jumps from the text, the threads from our code, and our code from the
    // memory. Returns false if a thread needs another try.
    bool remove_runtime(StoppedWorld& world, Try which = Try::last);
    // After remove_runtime(): prepares the address space for another runtime.
    static void forget_jumps(AddressSpace& space);
    // Detaches from a stopped thread, with a signal (0: none).
    void detach_thread(Thread& thread, int signal);

private:
    bool remove_all(std::shared_ptr<AddressSpace> space, Try which);
    void await_signals(std::uint64_t patience_ns);
    void await_late_calls(std::uint64_t patience_ns);
    void wait_for(const std::function<bool(const Thread&)>& which, std::uint64_t ends);
    void report_lost_signals(const Thread& thread);
    std::uint64_t unmap_limit_ns() const;
    std::vector<std::shared_ptr<AddressSpace>> take_unreleased();

    Tracees& tracees_;
    ClientLink& client_;
    TracepointTable& table_;
    Injector& injector_;
    TrapSignals& trap_signals_;
    HitHandler& hits_;
    RuntimeExit& runtime_exit_;
    Follower& follower_;
    std::size_t n_slow_unmaps_ = 0; // since the consumer exited
};

} // namespace dt::agent
