// SPDX-License-Identifier: MIT
// Samples of all CPUs, which the kernel takes at its timers and tracepoints
// (perf_event_open(2)). No kernel module is needed. No process is stopped.
//
//   one event for each source and CPU ──▶ one ring for each CPU ──read()──▶ PerfBatch
//
// The kernel copies the registers and a part of the user stack into each sample. It also
// records the names, forks, execs and exits of all processes, in the same order.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace dt {

// The parts of a sample.
struct PerfContents {
    bool registers = true;         // the user's
    std::uint32_t stack_bytes = 0; // of the user stack; 0: samples have no user stack
    bool kernel_stack = false;
    bool record = false; // the fields of a tracepoint
};

// A cause of samples: a timer or a tracepoint.
struct PerfSource {
    std::uint64_t interval_ns = 0; // of the timer
    // The number of the tracepoint in tracefs. Nullopt for a timer.
    std::optional<std::uint64_t> tracepoint;
    // A condition in the syntax of tracefs. Other events of the tracepoint are not
    // recorded. Empty if all are recorded.
    std::string filter;
    PerfContents contents;
    bool wakes = false; // wait() returns at each record
};

// The records that were read from all rings, sorted by time.
class PerfBatch {
public:
    struct Record {
        std::uint64_t time_ns = 0;        // CLOCK_MONOTONIC
        std::span<const std::byte> bytes; // begins with perf_event_header
    };
    std::span<const Record> records() const { return records_; }
    std::size_t bytes() const { return bytes_.size(); }

private:
    friend class PerfEvents;
    std::vector<std::byte> bytes_;
    std::vector<Record> records_;
};

class PerfEvents {
public:
    // Creates the events of all CPUs, or of one CPU. They do not run yet. Fails with
    // Code::permission if the user may not sample all processes.
    static Result<PerfEvents> open(std::span<const PerfSource> sources,
                                   std::optional<std::uint32_t> cpu);
    // Returns an error if the user may not sample all processes at a source.
    static Result<Ok> check_permission(const PerfSource& source);
    // Returns an error if the user may not sample all processes at timers.
    static Result<Ok> check_permission();

    PerfEvents(PerfEvents&&) = default;
    PerfEvents& operator=(PerfEvents&&) = default;

    void start();
    void stop();
    // Waits until a ring is a quarter full, until the kernel makes a record of a source
    // whose `wakes` is set, until `wake` is readable, or for timeout_ms.
    void wait(int wake, int timeout_ms) const;
    // Reads the records that were written before the call. If the events run, keeps
    // records for the next call if other CPUs may still write earlier ones. Calls see()
    // for each record that was not read before.
    PerfBatch read(const std::function<void(std::span<const std::byte>)>& see);

    // Returns the index of the source of a sample, by the id of its event. Returns
    // nullopt if there is no such event.
    std::optional<std::size_t> source_of(std::uint64_t id) const;
    const PerfContents& contents_of(std::size_t source) const
    {
        return contents_[source];
    }

private:
    PerfEvents() = default;
    Result<Ok> open_cpu(std::uint32_t cpu, std::span<const PerfSource> sources,
                        std::size_t ring_bytes);

    struct Unmap {
        std::size_t bytes = 0;
        void operator()(void* at) const;
    };
    using Ring = std::unique_ptr<void, Unmap>;
    static Ring map_ring(int event, std::size_t bytes);
    static void take(const Ring& ring, std::vector<std::byte>& to);

    std::vector<PerfContents> contents_; // of each source
    std::vector<Fd> events_;
    std::unordered_map<std::uint64_t, std::size_t> sources_; // by the id of the event
    struct CpuRing {
        int event; // the descriptor of the event that owns the ring
        Ring ring;
    };
    std::vector<CpuRing> rings_;
    std::vector<std::byte> later_; // records that read() has kept
    bool running_ = false;
};

} // namespace dt
