// SPDX-License-Identifier: MIT
// Runs the calling thread temporarily on the CPU that -x cpu names.
#pragma once

#include <cstdint>
#include <sched.h>

namespace dt {

// The destructor restores the thread's affinity.
class OnCpu {
public:
    // Does nothing if cpu is DT_OPT_UNSET.
    explicit OnCpu(std::uint64_t cpu);
    ~OnCpu();
    OnCpu(const OnCpu&) = delete;
    OnCpu& operator=(const OnCpu&) = delete;

    // Returns whether the kernel refused the CPU, for example because of a cpuset.
    bool refused() const { return refused_; }

private:
    cpu_set_t before_{};
    bool moved_ = false, refused_ = false;
};

} // namespace dt
