// SPDX-License-Identifier: MIT
// Fires the io, proc, sched and syscall probes for events that the kernel has recorded at
// its tracepoints, in any process. recorded_rows() says which probes fire at which
// tracepoint.
//
// The arguments of a probe are numbers. If an argument is a string, the number is its
// address in the record or in text that this class adds (SampleHost::text_base).
#pragma once

#include "base/result.hpp"
#include "libdtrace/providers/recorded_provider.hpp"
#include "libdtrace/providers/trace_event.hpp"
#include "libdtrace/session/sampling/fatal_signals.hpp"
#include "libdtrace/session/sampling/perf_events.hpp"
#include "libdtrace/session/sampling/program_arguments.hpp"
#include "libdtrace/session/sampling/sample_host.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dt {

struct SessionState;

class RecordedEvents {
public:
    // Returns the events of the enabled probes. Fails if the kernel does not have one of
    // their tracepoints.
    static Result<RecordedEvents> of(const SessionState& state);
    // Returns an error if the user may not record the tracepoints of all processes.
    static Result<Ok> check_permission();

    // Returns the causes of the records, one for each tracepoint.
    std::vector<PerfSource> sources() const;
    // Returns whether see() must be called for the samples of a source, which is the index
    // of a tracepoint in sources().
    bool must_see(std::size_t source) const;
    // Called for a sample as soon as it has been read, by another thread than fire().
    void see(std::size_t source, const PerfSample& sample);
    void change(const PerfTaskEvent& event);
    // Fires the probes of a tracepoint.
    void fire(SampleHost& host, std::size_t source, const PerfSample& sample);

private:
    struct Probe {
        std::uint32_t id; // 0 for Recorded::follows_signals
        Recorded what;
    };
    struct Tracepoint {
        std::string name;
        TraceEvent event;
        std::vector<Probe> probes;
        // The probes of system calls, by the number of the call.
        std::vector<std::uint32_t> calls;
        PerfContents contents;
    };
    // The arguments of a firing, and the thread in which the probe fires.
    struct Firing {
        std::array<std::uint64_t, 10> args{};
        std::uint32_t n_args = 0;
        // Nullopt if it is the thread that the record describes.
        std::optional<pid_t> tid;
        std::string text; // at SampleHost::text_base
        std::string name; // of the process, if its name is not known
    };
    class Fields;

    Result<Ok> add(const SessionState& state, const RecordedRow& row, std::uint32_t id);
    Result<Ok> add_calls(const SessionState& state);
    Result<Tracepoint*> tracepoint(const std::string& name);
    static std::string filter_of(const Tracepoint& tracepoint);
    bool choose(const Probe& probe, const Fields& in, SampleHost& host, Firing& out);
    void begin_program(const Fields& in, SampleHost& host);
    bool choose_exit(const Fields& in, Firing& out);
    static bool is_exec(const Fields& in);
    void follow_signals(const Tracepoint& tracepoint, const Fields& in,
                        SampleHost& host);
    void fire_call(const Tracepoint& tracepoint, const Fields& in, SampleHost& host);
    const std::string& device_name(std::uint64_t device);

    std::vector<Tracepoint> tracepoints_;
    std::unique_ptr<ProgramArguments> arguments_ = std::make_unique<ProgramArguments>();
    FatalSignals signals_;
    std::optional<RecordedSignal> delivered_; // by the current record
    std::map<std::uint64_t, std::string> device_names_;
};

} // namespace dt
