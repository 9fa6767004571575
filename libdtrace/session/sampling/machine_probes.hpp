// SPDX-License-Identifier: MIT
// Fires the probes of all processes without the kernel module: profile-N, and those of
// RecordedEvents. The D program runs in this process, after the kernel has made its
// records. No process is stopped.
//
//   PerfEvents ──▶ reader thread ──▶ queue ──▶ firing thread ──▶ SampleHost
//
// The firing thread may wait for the call frame information of a large file. Meanwhile
// the reader thread empties the kernel's buffers, so that fewer records are lost.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "libdtrace/session/sampling/perf_events.hpp"
#include "libdtrace/session/sampling/recorded_events.hpp"
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
#include <vector>

namespace dt {

class SampleHost;

struct SampleTimer {
    std::uint32_t probe = 0;
    std::uint64_t interval_ns = 0;
};

// The probes that fire in this process.
struct MachineSources {
    std::vector<SampleTimer> timers;
    PerfContents timer_contents;
    // The processes that timers sample. Nullopt if they sample all processes.
    std::optional<SampledTargets> targets;
    RecordedEvents events;
    std::optional<std::uint32_t> cpu; // the only CPU of these probes
};

class MachineProbes {
public:
    MachineProbes() = default;
    ~MachineProbes() { (void)stop(); }
    MachineProbes(const MachineProbes&) = delete;
    MachineProbes& operator=(const MachineProbes&) = delete;

    // Does nothing if there are no sources. Calls fired() in the firing thread after each
    // probe.
    Result<Ok> start(void* arena, MachineSources sources, std::function<void()> fired);
    // Fires the probes of the records that were made before the call. Returns a message
    // if records were lost, otherwise an empty string.
    std::string stop();

private:
    void read();
    void see(std::span<const std::byte> record);
    void fire(void* arena);
    void fire(SampleHost& host, std::size_t source, const PerfSample& sample);
    void change(SampleHost& host, const PerfTaskEvent& event);
    void lose(SampleHost& host, std::uint64_t n_records);
    void add(PerfBatch batch);
    std::optional<PerfBatch> next();

    std::optional<PerfEvents> events_;
    // The firing thread uses them. The reader thread calls only RecordedEvents::see().
    MachineSources sources_;
    std::function<void()> fired_;
    Fd wake_;
    std::atomic<bool> stopping_{false}, giving_up_{false}, has_dropped_{false};
    std::uint64_t learnt_ns_ = 0; // when lose() has read the names of all processes
    std::atomic<std::uint64_t> n_fired_{0}, n_lost_{0};
    std::mutex lock_; // protects the queue and the flags after it
    std::condition_variable changed_;
    std::deque<PerfBatch> queue_;
    std::size_t queued_bytes_ = 0;
    bool is_read_to_end_ = false, has_fired_all_ = false;
    std::thread reader_, firer_;
};

} // namespace dt
