// SPDX-License-Identifier: MIT
// Samples of every CPU, taken by the kernel's timers (perf_event_open(2), cpu-clock). No
// kernel module is needed. No process is stopped.
//
//   one event for each timer and CPU ──▶ one ring for each CPU ──read()──▶ PerfBatch
//
// The kernel copies the registers and a part of the user stack into each sample. It also
// records the names, forks, execs and exits of all processes, in the same order.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace dt {

struct PerfTimer {
    std::uint32_t probe = 0;
    std::uint64_t interval_ns = 0;
};

struct PerfOptions {
    std::uint32_t stack_bytes = 0; // of the user stack; 0: samples have no user stack
    bool kernel_stack = false;
    std::optional<std::uint32_t> cpu; // the only CPU to sample
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
    // Creates the events, which do not run yet. Fails with Code::permission if the user
    // may not sample all processes.
    static Result<PerfEvents> open(std::span<const PerfTimer> timers,
                                   const PerfOptions& options);
    // Returns an error if the user may not sample all processes.
    static Result<Ok> check_permission();

    PerfEvents(PerfEvents&&) = default;
    PerfEvents& operator=(PerfEvents&&) = default;

    void start();
    void stop();
    // Waits until a ring is a quarter full, until `wake` is readable, or for timeout_ms.
    void wait(int wake, int timeout_ms) const;
    // Reads the records that were written before the call. If the events run, keeps
    // records for the next call if other CPUs may still write earlier ones.
    PerfBatch read();

    // Returns the probe of a sample by the id of its event, or 0.
    std::uint32_t probe_of(std::uint64_t id) const;
    const PerfOptions& options() const { return options_; }

private:
    PerfEvents() = default;
    Result<Ok> open_cpu(std::uint32_t cpu, std::span<const PerfTimer> timers,
                        std::size_t ring_bytes);

    struct Unmap {
        std::size_t bytes = 0;
        void operator()(void* at) const;
    };
    using Ring = std::unique_ptr<void, Unmap>;
    struct Event {
        Fd fd;
        std::uint64_t id = 0;
        std::uint32_t probe = 0;
    };
    static Ring map_ring(int event, std::size_t bytes);
    static void take(const Ring& ring, std::vector<std::byte>& to);

    PerfOptions options_;
    std::vector<Event> events_;
    struct CpuRing {
        int event; // the descriptor of the event that owns the ring
        Ring ring;
    };
    std::vector<CpuRing> rings_;
    std::vector<std::byte> later_; // records that read() has kept
    bool running_ = false;
};

} // namespace dt
