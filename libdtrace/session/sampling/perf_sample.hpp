// SPDX-License-Identifier: MIT
// The records of PerfEvents in the kernel's format (perf_event_open(2)).
#pragma once

#include "fasttrap/registers.hpp"
#include "libdtrace/session/sampling/perf_events.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dt {

// The registers in a sample, as a mask of PERF_REG_X86_*.
extern const std::uint64_t sampled_registers;
// The fields of a sample, as a mask of PERF_SAMPLE_*.
std::uint64_t sample_type(const PerfContents& contents);

struct PerfSample {
    std::uint64_t event = 0; // id of the event
    std::uint32_t cpu = 0;
    pid_t pid = 0, tid = 0;    // 0: the CPU was idle
    std::uint64_t time_ns = 0; // CLOCK_MONOTONIC
    std::uint64_t pc = 0;
    bool in_kernel = false;
    std::vector<std::uint64_t>
        kernel_stack; // innermost frame first; begins with the pc
    // Nullopt if the thread has no user mode or a 32-bit program. fs_base and gs_base are always 0.
    std::optional<Registers> user;
    std::span<const std::byte> user_stack; // begins at the user's %rsp
    std::span<const std::byte> record;     // the fields of the tracepoint
};

// A change of a process.
struct PerfTaskEvent {
    enum Kind { named, execed, forked, exited } kind = named;
    pid_t pid = 0, tid = 0;
    pid_t parent = 0; // for forked
    std::string name; // for named and execed
};

// Returns the CLOCK_MONOTONIC time of a record, in ns.
std::uint64_t record_time(std::span<const std::byte> record);
// Returns the id of the event of a sample. Returns nullopt if the record is not a sample.
std::optional<std::uint64_t> event_in(std::span<const std::byte> record);
// These functions return nullopt if the record is of another kind, or malformed.
std::optional<PerfSample> sample_in(std::span<const std::byte> record,
                                    const PerfContents& contents);
std::optional<PerfTaskEvent> task_event_in(std::span<const std::byte> record);
// Returns the number of records that were lost because the ring was full. Returns 0 if
// the record reports no loss.
std::uint64_t lost_in(std::span<const std::byte> record);

} // namespace dt
