// SPDX-License-Identifier: MIT
// What injecting the runtime does inside a target: calls, mappings and descriptors, undone
// when it fails.
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
              DT_RT_BELLS + bells_bytes <= DT_RT_STACKS);

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

    // A call's result; an errno is an Error that names the step.
    Result<std::uint64_t> call(long number, std::array<std::uint64_t, 6> args,
                               const char* step = "");
    Result<TargetAddr> map(TargetAddr at, std::uint64_t bytes, int protection,
                           int flags, int fd, const char* step);
    // Reserved address space, unmapped again unless keep() is called. Not where
    // trampolines may have to be, if the kernel agrees.
    Result<TargetAddr> reserve(std::uint64_t bytes, const char* step);
    void keep() { undone_.erase(undone_.begin() + 1, undone_.end()); }

    // A program that locks all that it maps (mlockall) is not to have all of the arena in
    // memory at once, and none of it locked. Now only what is touched, until the end.
    Result<Ok> defer_locks();
    // Ours is not locked, and no part of the program's core.
    void own(TargetAddr at, std::uint64_t bytes);

    // Three of ours as descriptors of the target.
    Result<std::array<int, 3>> send(std::array<int, 3> ours);
    bool hang_bells(TargetAddr at); // false: this kernel has none, or none for it

private:
    TargetAddr far_from_text(std::uint64_t bytes);
    template <std::size_t n> Result<std::array<int, n>> free_numbers();
    Fd take(int fd); // a descriptor of the target; closed if it has none

    Tracees& tracees_;
    Injector& injector_;
    pid_t tid_;
    pid_t pid_; // whose descriptors the thread's are
    std::shared_ptr<AddressSpace> space_;
    std::vector<std::pair<TargetAddr, std::uint64_t>> undone_; // scratch is the first
    std::vector<int> fds_;                                     // known to be ours
    Fd process_;
    FutureLocks locks_ = FutureLocks::none;
    TargetAddr far_; // of what was reserved last
};

} // namespace dt::agent
