// SPDX-License-Identifier: MIT
// Makes system calls in a target while the runtime is loaded into it.
//
// The destructor undoes the calls: it closes the descriptors, unmaps the scratch page
// and restores mlockall(2). It also unmaps the reserved regions unless keep() was
// called.
#pragma once

#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/memory_limits.hpp"

#include <array>
#include <utility>
#include <vector>

namespace dt::agent {

constexpr int no_fd = -1;
constexpr std::uint64_t bells_bytes = DT_RT_GATE + DT_RT_BELL_BYTES - DT_RT_BELLS;
static_assert(DT_RT_CONFIG + sizeof(dt_rt_config) <= DT_RT_BELLS &&
              DT_RT_BELLS + bells_bytes <= DT_RT_LINKS);

class RemoteMappings {
public:
    RemoteMappings(Tracees& tracees, Injector& injector, Thread& thread)
        : tracees_(tracees), injector_(injector), tid_(thread.tid),
          pid_(thread.process->pid), space_(thread.process->space)
    {
    }
    ~RemoteMappings();
    RemoteMappings(const RemoteMappings&) = delete;
    RemoteMappings& operator=(const RemoteMappings&) = delete;

    // Makes a system call in the target and returns its result. If the call fails, the
    // Error names the step.
    Result<std::uint64_t> call(long number, std::array<std::uint64_t, 6> args,
                               const char* step = "");
    Result<TargetAddr> map(TargetAddr at, std::uint64_t bytes, int protection,
                           int flags, int fd, const char* step);
    // Reserves address space, far from the text if possible. map() can replace parts of
    // it. A forked child will inherit only the first `n_inherited` bytes.
    Result<TargetAddr> reserve(Ours kind, std::uint64_t bytes,
                               std::uint64_t n_inherited, const char* step);
    // Makes the destructor keep the reserved regions mapped.
    void keep() { undone_.erase(undone_.begin() + 1, undone_.end()); }

    // Adds MCL_ONFAULT to the program's mlockall(MCL_FUTURE) until the destructor runs.
    // Without MCL_ONFAULT, the kernel would load the entire arena at once.
    Result<Ok> defer_locks();
    // Unlocks one of our regions and excludes it from the program's core dumps.
    void own(TargetAddr at, std::uint64_t bytes);

    // Sends copies of three of the agent's descriptors to the target. Returns the
    // numbers that they have in the target.
    Result<std::array<int, 3>> send(std::array<int, 3> agent_fds);
    // Arms the doorbells at `at`. Returns false if the kernel does not support or
    // permit doorbells.
    bool hang_bells(TargetAddr at);

private:
    Result<TargetAddr> map_ours(const OurMapping& wanted, const char* step);
    TargetAddr far_from_text(std::uint64_t bytes);
    template <std::size_t n> Result<std::array<int, n>> free_numbers();
    void close_descriptors();
    Fd take(int fd); // returns a copy of the target's descriptor, or an empty Fd

    Tracees& tracees_;
    Injector& injector_;
    pid_t tid_;
    pid_t pid_; // the process that owns the thread's descriptors
    std::shared_ptr<AddressSpace> space_;
    std::vector<std::pair<TargetAddr, std::uint64_t>>
        undone_; // mappings that the destructor unmaps; [0] is the scratch page
    std::vector<int> fds_; // descriptors of the target that the destructor closes
    Fd process_;
    FutureLocks locks_ = FutureLocks::none;
    TargetAddr far_; // start of the region that was reserved last
};

} // namespace dt::agent
