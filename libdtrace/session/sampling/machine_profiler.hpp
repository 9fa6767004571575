// SPDX-License-Identifier: MIT
// Fires profile-N without the kernel module. The D program runs in this process, after the
// samples were taken. No process is stopped.
//
//   PerfEvents ──▶ reader thread ──▶ queue ──▶ firing thread ──▶ SampleHost
//
// The firing thread may wait for the call frame information of a large file. Meanwhile
// the reader thread empties the kernel's buffers, so that no sample is lost.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "libdtrace/session/sampling/perf_events.hpp"
#include "libdtrace/session/sampling/sampled_targets.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

namespace dt {

class SampleHost;

class MachineProfiler {
public:
    MachineProfiler() = default;
    ~MachineProfiler() { (void)stop(); }
    MachineProfiler(const MachineProfiler&) = delete;
    MachineProfiler& operator=(const MachineProfiler&) = delete;

    // Samples all processes, or only the targets. Calls fired() in the firing thread after
    // each probe.
    Result<Ok> start(void* arena, std::span<const PerfTimer> timers,
                     const PerfOptions& options, std::optional<SampledTargets> targets,
                     std::function<void()> fired);
    // Fires the probes of the samples that were taken before the call. Returns a message
    // if samples were lost, otherwise an empty string.
    std::string stop();

private:
    void read();
    void fire(void* arena);
    void fire(SampleHost& host, const PerfSample& sample);
    void change(SampleHost& host, const PerfTaskEvent& event);
    void lose(SampleHost& host, std::uint64_t n_records);
    void add(PerfBatch batch);
    std::optional<PerfBatch> next();

    std::optional<PerfEvents> events_;
    std::optional<SampledTargets> targets_; // only the firing thread uses it
    std::function<void()> fired_;
    Fd wake_;
    std::atomic<bool> stopping_{false}, giving_up_{false};
    std::atomic<std::uint64_t> n_fired_{0}, n_lost_{0};
    std::mutex lock_; // protects the queue and the flags after it
    std::condition_variable changed_;
    std::deque<PerfBatch> queue_;
    std::size_t queued_bytes_ = 0;
    bool is_read_to_end_ = false, has_fired_all_ = false;
    std::thread reader_, firer_;
};

} // namespace dt
