// SPDX-License-Identifier: MIT
// Releases targets: restores all bytes that were changed, and detaches from all
// threads.
//
// The order of the steps keeps a target unharmed if the agent dies between two of them:
//
//   1. All threads stop. A hit that is not handled yet is undone.
//   2. The original text is restored.
//   3. The threads leave our code, and it is unmapped. The slots (hit_handler.hpp) are
//      unmapped if no thread can be in one.
//   4. Each thread is detached, with the signal of its stop.
//
// Two kinds of thread are detached later: a thread that waits for its vfork child, and
// a thread with deferred signals (after at most a second). A thread in a group-stop is
// detached at once, but may lose deferred signals or their siginfo.
//
// When the consumer has exited, all targets are released in rounds. In each round a
// target gets a slice of time. After stop_timeout_ns the agent gives up on the
// remaining targets (deadlines.cpp).
#pragma once

#include "ptrace-agent/hold/follower.hpp"
#include "ptrace-agent/hold/left_mappings.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/runtime_exit.hpp"
#include "ptrace-agent/trap/hit_handler.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace dt::agent {

// The report for a process whose memory is released because of another process.
constexpr const char* shares_memory =
    "it shares its memory with another target that was released, so it is no longer "
    "traced";

class Releaser {
public:
    Releaser(Tracees& tracees, TracepointTable& table, Injector& injector,
             TrapSignals& trap_signals, HitHandler& hits, RuntimeExit& runtime_exit,
             Follower& follower, LeftMappings& left)
        : tracees_(tracees), table_(table), injector_(injector),
          trap_signals_(trap_signals), hits_(hits), runtime_exit_(runtime_exit),
          follower_(follower), left_(left)
    {
    }

    Reply kill_target(Reader& in); // handles the request `kill`

    // Releases all processes of an address space. If `why` is not empty, the sessions
    // that trace them get the event given_up with this reason.
    void release(std::shared_ptr<AddressSpace> space, const std::string& why = {});
    // Releases one process that the agent has given up on, and the processes that share
    // its memory. Called only while no world is stopped. Returns false if there is no
    // such process.
    bool release_given_up();
    // Releases the processes in one address space that has no target any more. Called only
    // while no world is stopped. Returns false if there is no such address space.
    bool release_abandoned();
    // Releases all targets, in rounds. Called when the consumer has exited.
    void release_everything();

    // Removes the jumps from the text, lets the threads leave our code, and unmaps our
    // code. If a thread does not leave our code in time, returns false with Try::again.
    // With Try::last, our code then stays mapped, but fires no probes.
    bool remove_runtime(StoppedWorld& world, Try which = Try::last);
    // Prepares the address space for another runtime, after remove_runtime().
    static void forget_jumps(AddressSpace& space);
    // Detaches from a stopped thread and delivers a signal to it, unless the signal is
    // 0. A thread with deferred signals continues, and is detached at a later stop.
    void detach_thread(Thread& thread, int signal);
    // Detaches from all threads of a stopped process, and leaves its probes in place.
    // `process` is a pidfd of the process. `away` is announced to the runtime.
    void leave_probes(StoppedWorld& world, Fd process, dt_rt_away away);

private:
    // Releases all processes of an address space. With Try::again, returns false if a
    // thread did not stop or leave our code in time. In that case the threads continue,
    // and our code stays mapped. The original text may already be restored.
    bool remove_all(std::shared_ptr<AddressSpace> space, Try which);
    // Waits for the threads that must receive deferred signals before they are
    // detached. After the timeout, detaches from them anyway, and deferred signals may
    // be lost.
    void await_signals(std::uint64_t timeout_ns);
    // A late call is an injected system call that did not return in time
    // (late_call.cpp). Waits for the late calls of released targets, while the targets
    // run. When a late call returns, its stub (call_stub.hpp) is removed from the text.
    void await_late_calls(std::uint64_t timeout_ns);
    // Handles stops until no thread meets the condition, or until the monotonic time
    // `ends`, in ns.
    void wait_for(const std::function<bool(const Thread&)>& which, std::uint64_t ends);
    // Ends the tracing of a process that the agent cannot attach to again. Makes its
    // jumps inert. They stay in the text, and the next session removes them.
    void leave_inert(const std::shared_ptr<AddressSpace>& space);
    void report_lost_signals(const Thread& thread);
    void report_given_up(SessionSet to, pid_t pid, const std::string& why);
    // Returns the time limit for all calls that unmap the runtime of one target.
    std::uint64_t unmap_limit_ns() const;
    // Returns the address spaces that have not been released yet. If a command (-c) is
    // still held because the client has not requested its start, kills its process.
    std::vector<std::shared_ptr<AddressSpace>> take_unreleased();

    Tracees& tracees_;
    TracepointTable& table_;
    Injector& injector_;
    TrapSignals& trap_signals_;
    HitHandler& hits_;
    RuntimeExit& runtime_exit_;
    Follower& follower_;
    LeftMappings& left_;
    // Number of targets whose unmapping took more than a quarter of its time limit,
    // since the consumer exited.
    std::size_t n_slow_unmaps_ = 0;
};

} // namespace dt::agent
