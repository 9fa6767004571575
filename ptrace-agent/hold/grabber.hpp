// SPDX-License-Identifier: MIT
// Attaches to a process that is already running.
//
// PTRACE_SEIZE does not stop a thread. The agent seizes the threads until a pass over
// /proc/PID/task finds no new one. If a seized thread creates a thread or process, the
// kernel attaches the agent to it. refusals.hpp finds out why a process cannot be
// seized.
#pragma once

#include "ptrace-agent/hold/follower.hpp"
#include "ptrace-agent/hold/releaser.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace dt::agent {

class Grabber {
public:
    Grabber(Tracees& tracees, TracepointTable& table, TrapSignals& trap_signals,
            Follower& follower, Releaser& releaser, LeftMappings& left)
        : tracees_(tracees), table_(table), trap_signals_(trap_signals),
          follower_(follower), releaser_(releaser), left_(left)
    {
    }

    // These functions handle the requests `grab` and `put_back`.
    Reply grab(Reader& in);
    Reply put_back(Reader& in);

    // Attaches again to a process that the agent has detached from (attendance.hpp), and
    // stops it. If that fails, the process is not traced. It may have exited, or may
    // have executed another program; Process::space then differs from before.
    Result<std::unique_ptr<StoppedWorld>> grab_again(pid_t pid);
    // Returns the processes that have the same memory layout as the target. These are
    // the processes that share its memory, and its forked children.
    std::vector<pid_t> with_layout(pid_t target);

private:
    Result<std::unique_ptr<StoppedWorld>> stop_seized(pid_t pid,
                                                      std::set<pid_t>& no_guests);
    void leave_again(const std::shared_ptr<AddressSpace>& space);
    Reply grab_once(pid_t pid, const Fd& requested);
    enum class Pass : std::uint8_t {
        found_none,  // all threads of the list are traced
        found_some,  // there may be further threads
        interrupted, // a thread is inside execve(2)
        late,
    };

    // One pass over the process's list of threads. Ends at the monotonic time `ends`, in
    // ns, if it is not 0.
    Result<Pass> seize_listed(Process& process, std::uint64_t ends);
    // Attaches to all threads of the process (PTRACE_SEIZE), in one or more passes over
    // its list of threads. Fails if new threads are still found after the monotonic
    // time `ends`, in ns. If `ends` is 0, the first pass has no deadline and then sets
    // `ends`.
    Result<Ok> seize_all(Process& process, std::uint64_t& ends);
    // Attaches to the other processes that share the target's memory, such as vfork
    // children. They execute the same text, so they would reach its breakpoints.
    // Returns whether a process was added. `known` are processes that do not share the
    // memory; the function adds to them.
    Result<bool> seize_guests(pid_t target, std::set<pid_t>& known);
    // Reads the signal masks, and the actions for SIGTRAP, of all processes in a stopped
    // address space.
    void learn_signals(StoppedWorld& world);
    // Returns the processes that run in the address space.
    std::vector<pid_t> members_of(const AddressSpace& space) const;
    // Returns whether the process seems to have a thread that is not traced.
    bool has_missed_thread(const Process& process);
    // Waits for a thread that is inside execve(2). Returns false if there is no such
    // thread. Otherwise the caller stops all threads and calls this function again.
    bool await_exec(const AddressSpace& space);

    Tracees& tracees_;
    TracepointTable& table_;
    TrapSignals& trap_signals_;
    Follower& follower_;
    Releaser& releaser_;
    LeftMappings& left_;
    // The memory layouts of all processes, as with_layout() last found them.
    std::unordered_map<pid_t, std::string> layouts_;
};

} // namespace dt::agent
