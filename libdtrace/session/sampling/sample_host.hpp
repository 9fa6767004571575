// SPDX-License-Identifier: MIT
// The engine's host for samples of PerfEvents. It runs in the consumer after the sample
// was taken. The clock, the registers, the stacks and the process's name are those of
// the sample. Other variables come from /proc. Only the copied part of the user stack
// can be read as user memory. Each thread needs its own SampleHost.
#pragma once

#include "dif/engine.h"
#include "libdtrace/session/sampling/sampled_stacks.hpp"
#include "libdtrace/session/sampling/sampled_tasks.hpp"
#include "process/task_vars.hpp"

#include <cstdint>

namespace dt {

class SampleHost {
public:
    explicit SampleHost(void* arena);
    SampleHost(const SampleHost&) = delete;
    SampleHost& operator=(const SampleHost&) = delete;

    void fire(std::uint32_t probe, const PerfSample& sample);
    void change(const PerfTaskEvent& event);
    // Discards what is known about processes. Called when records were lost.
    void forget_processes();

    // The engine's operations.
    std::uint64_t timestamp() const { return sample_->time_ns; }
    std::uint64_t walltime() const;
    int load(std::uint64_t addr, void* to, std::uint64_t bytes,
             std::uint64_t* bad) const;
    std::int64_t load_string(std::uint64_t addr, char* to, std::uint64_t max,
                             std::uint64_t* bad) const;
    int var(std::uint32_t id, std::uint32_t index, std::uint64_t* value);
    std::uint64_t var_string(std::uint32_t id, std::uint32_t index, char* to,
                             std::uint64_t max);
    std::int64_t ustack(std::uint64_t* pcs, std::uint32_t max);
    std::int64_t stack(std::uint64_t* pcs, std::uint32_t max) const;
    bool progenyof(std::uint64_t pid);

private:
    dt_host host_{};
    SampledStacks stacks_;
    SampledTasks tasks_;
    const PerfSample* sample_ = nullptr; // the sample that fires
    TaskVars vars_{0, 0};                // of the sampled thread
};

} // namespace dt
