// SPDX-License-Identifier: MIT
// Runs a part of the calling thread on the one CPU that -x cpu names.
#pragma once

#include <cstdint>
#include <sched.h>

namespace dt {

// Moves the calling thread to a CPU. The destructor restores its former CPUs.
class OnCpu {
public:
    // Does nothing if cpu is DT_OPT_UNSET.
    explicit OnCpu(std::uint64_t cpu);
    ~OnCpu();
    OnCpu(const OnCpu&) = delete;
    OnCpu& operator=(const OnCpu&) = delete;

    // Whether the CPU is unavailable to this thread, as with a cpuset that excludes it.
    bool refused() const { return refused_; }

private:
    cpu_set_t before_{};
    bool moved_ = false, refused_ = false;
};

} // namespace dt
