// SPDX-License-Identifier: MIT
// The engine's host for samples of PerfEvents. It runs in the consumer after the sample
// was taken. The clock, the registers, the stacks and the process's name are those of
// the sample. Other variables come from /proc. Only the copied part of the user stack
// can be read as user memory. Each thread needs its own SampleHost.
//
// A D program can read the record of a tracepoint at record_base, and further text at
// text_base. No address of a process or of the kernel has these values, because they are
// not canonical.
#pragma once

#include "dif/engine.h"
#include "libdtrace/session/sampling/sampled_stacks.hpp"
#include "libdtrace/session/sampling/sampled_tasks.hpp"
#include "process/task_vars.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace dt {

class SampleHost {
public:
    explicit SampleHost(void* arena);
    SampleHost(const SampleHost&) = delete;
    SampleHost& operator=(const SampleHost&) = delete;

    static constexpr std::uint64_t record_base = std::uint64_t{1} << 63;
    static constexpr std::uint64_t text_base = record_base + (std::uint64_t{1} << 32);

    // `error` is the value of errno.
    void fire(std::uint32_t probe, const PerfSample& sample,
              std::span<const std::uint64_t> args, std::uint64_t error = 0);
    // These functions apply to the next firing only: the text at text_base, and the name
    // of the process if it has no known name.
    void set_text(std::string text) { text_ = std::move(text); }
    void set_name(std::string name) { name_ = std::move(name); }
    // Reads the names of all processes. Called after the kernel has begun to record.
    void learn_processes() { tasks_.read_all(); }
    void change(const PerfTaskEvent& event);
    // Remembers the arguments of the program that a process has executed.
    void set_arguments(pid_t pid, std::string arguments)
    {
        tasks_.set_arguments(pid, std::move(arguments));
        tasks_.read_ids(pid);
    }
    // Returns the process of a thread, or 0 if it is unknown.
    pid_t process_of(pid_t tid) { return tasks_.process_of(tid); }
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
    std::optional<std::uint64_t> id_of_exited(std::uint32_t id);
    // Returns at most n bytes at an address. Returns fewer if the memory ends before.
    std::span<const std::byte> bytes_at(std::uint64_t addr, std::uint64_t n) const;

    dt_host host_{};
    SampledStacks stacks_;
    SampledTasks tasks_;
    const PerfSample* sample_ = nullptr; // the sample that fires
    std::uint64_t error_ = 0;
    std::string text_, name_;
    TaskVars vars_{0, 0}; // of the sampled thread
};

} // namespace dt
