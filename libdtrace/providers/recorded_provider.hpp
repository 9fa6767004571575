// SPDX-License-Identifier: MIT
// Probes of all processes without the kernel module. The kernel records an event at one
// of its tracepoints, and the probe fires in the consumer afterwards (MachineProbes).
// The providers are io, proc and sched. The system calls of all processes are recorded in
// the same way, but their probes are those of SyscallProvider.
//
// A record has fewer values than the kernel module can read. The D files in recorded/
// and target/proc.d translate them. Probes without a tracepoint, for example
// sched:::enqueue, need the module.
#pragma once

#include "libdtrace/providers/provider.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace dt {

// A probe, or another use of a record. It determines how the arguments are computed from
// the record.
enum class Recorded {
    io_done,
    io_start,
    proc_create,
    proc_exec,
    proc_exec_failure,
    proc_exec_success,
    proc_exit,
    proc_fault,
    proc_lwp_create,
    proc_lwp_exit,
    proc_lwp_start,
    proc_signal_clear,
    proc_signal_discard,
    proc_signal_handle,
    proc_signal_send,
    proc_start,
    sched_off_cpu,
    sched_on_cpu,
    sched_preempt,
    sched_sleep,
    sched_wakeup,
    follows_signals, // fires no probe, but determines the arguments of others
};

struct RecordedRow {
    std::string_view provider, probe;
    std::string_view tracepoint; // for example "sched/sched_switch"
    Recorded what;
    // Used if the kernel does not have `tracepoint`. Empty if all kernels have it.
    std::string_view fallback = "";
};

// A probe fires at the tracepoints of all its rows, except those with follows_signals.
std::span<const RecordedRow> recorded_rows();

// Returns whether probes of this provider can fire for recorded events.
bool is_recorded_provider(std::string_view name);
// Returns whether such probes fire in targets instead if the user has named some.
bool prefers_targets(std::string_view name);

class RecordedProvider : public Provider {
public:
    // is_usable() returns whether the probes can fire.
    RecordedProvider(Registry& registry, std::string_view name,
                     std::function<bool()> is_usable)
        : registry_(registry), name_(name), is_usable_(std::move(is_usable))
    {
    }
    std::string name() const override { return std::string(name_); }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    bool is_usable() const { return is_usable_(); }

private:
    Registry& registry_;
    std::string_view name_;
    std::function<bool()> is_usable_;
};

} // namespace dt
