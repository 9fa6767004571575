// SPDX-License-Identifier: MIT
#include "libdtrace/providers/recorded_provider.hpp"

namespace dt {

namespace {

// If several probes fire at one tracepoint, they fire in the order of the rows.
//
// block_io_start exists since Linux 6.5. It is in the context of the process that starts
// the request. block_rq_issue may be in a thread of the kernel.
constexpr RecordedRow recorded[] = {
    {"io", "done", "block/block_rq_complete", Recorded::io_done},
    {"io", "start", "block/block_io_start", Recorded::io_start, "block/block_rq_issue"},
    {"proc", "create", "sched/sched_process_fork", Recorded::proc_create},
    {"proc", "lwp-create", "sched/sched_process_fork", Recorded::proc_lwp_create},
    {"proc", "start", "sched/sched_process_fork", Recorded::proc_start},
    {"proc", "lwp-start", "sched/sched_process_fork", Recorded::proc_lwp_start},
    {"proc", "exec", "raw_syscalls/sys_enter", Recorded::proc_exec},
    {"proc", "exec-failure", "raw_syscalls/sys_exit", Recorded::proc_exec_failure},
    {"proc", "exec-success", "sched/sched_process_exec", Recorded::proc_exec_success},
    {"proc", "exit", "signal/signal_generate", Recorded::follows_signals},
    {"proc", "exit", "signal/signal_deliver", Recorded::follows_signals},
    {"proc", "signal-handle", "signal/signal_generate", Recorded::follows_signals},
    {"proc", "exit", "sched/sched_process_exit", Recorded::proc_exit},
    {"proc", "lwp-exit", "sched/sched_process_exit", Recorded::proc_lwp_exit},
    {"proc", "fault", "signal/signal_generate", Recorded::proc_fault},
    {"proc", "signal-send", "signal/signal_generate", Recorded::proc_signal_send},
    {"proc", "signal-discard", "signal/signal_generate", Recorded::proc_signal_discard},
    {"proc", "signal-handle", "signal/signal_deliver", Recorded::proc_signal_handle},
    {"proc", "signal-clear", "raw_syscalls/sys_exit", Recorded::proc_signal_clear},
    {"sched", "preempt", "sched/sched_switch", Recorded::sched_preempt},
    {"sched", "sleep", "sched/sched_switch", Recorded::sched_sleep},
    {"sched", "off-cpu", "sched/sched_switch", Recorded::sched_off_cpu},
    {"sched", "on-cpu", "sched/sched_switch", Recorded::sched_on_cpu},
    {"sched", "wakeup", "sched/sched_wakeup", Recorded::sched_wakeup},
    {"sched", "wakeup", "sched/sched_wakeup_new", Recorded::sched_wakeup},
};

} // namespace

bool is_recorded_provider(std::string_view name)
{
    return prefers_targets(name) || name == "io" || name == "sched";
}

bool prefers_targets(std::string_view name)
{
    return name == "proc" || name == "syscall";
}

std::span<const RecordedRow> recorded_rows()
{
    return recorded;
}

ProviderAttributes RecordedProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Isa};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Unknown};
    return {evolving, hidden, hidden, evolving, evolving};
}

Provider::Outcome RecordedProvider::provide(const ProbeSpec& spec)
{
    if (!part_means(spec.provider, name_) || !spec.module.empty() ||
        !spec.function.empty() || !is_usable_())
        return {};
    for (const RecordedRow& row : recorded)
        if (row.provider == name_ && part_means(spec.name, row.probe))
            registry_.add(this, name_, "", "", row.probe);
    return {}; // the caller searches the registry for the new probes
}

} // namespace dt
