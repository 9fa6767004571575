// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/recorded_events.hpp"

#include "libdtrace/session/sampling/sample_contents.hpp"
#include "libdtrace/session/session_state.hpp"
#include "process/proc_files.hpp"
#include "process/signals.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt {

// The kernel's filter has a limit, and comparing many numbers takes longer than a record.
static constexpr std::size_t most_filtered = 16;
// The copied part of a new program's stack, which contains its arguments.
static constexpr std::uint32_t arguments_bytes = 16 << 10;

static constexpr std::string_view entry_of_calls = "raw_syscalls/sys_enter",
                                  return_of_calls = "raw_syscalls/sys_exit",
                                  exec_tracepoint = "sched/sched_process_exec";

// The fields of a record, and the thread that the record describes.
class RecordedEvents::Fields {
public:
    Fields(const TraceEvent& event, const PerfSample& sample)
        : event_(event), sample(sample)
    {
    }
    // Returns 0 if there is no such field.
    std::uint64_t number(std::string_view name) const
    {
        return number_in(sample.record, event_.field(name));
    }
    int integer(std::string_view name) const { return static_cast<int>(number(name)); }
    bool has(std::string_view name) const { return event_.field(name) != nullptr; }
    // Returns a 64-bit number of an array.
    std::uint64_t number(std::string_view name, std::size_t i) const
    {
        const TraceField* array = event_.field(name);
        if (array == nullptr || 8 * (i + 1) > array->bytes)
            return 0;
        const TraceField element{"", array->offset + 8 * i, 8, false};
        return number_in(sample.record, &element);
    }
    // Returns the address of an array of characters for D programs.
    std::uint64_t address(std::string_view name) const
    {
        const TraceField* field = event_.field(name);
        return field != nullptr ? SampleHost::record_base + field->offset : 0;
    }
    std::string text(std::string_view name) const
    {
        const TraceField* field = event_.field(name);
        return field != nullptr ? text_at(field->offset, field->bytes) : "";
    }
    // Returns the text of a field with the type __data_loc. The field contains its offset
    // and its length, 16 bits each.
    std::string dynamic_text(std::string_view name) const
    {
        const std::uint64_t place = number(name);
        return text_at(place & 0xffff, place >> 16 & 0xffff);
    }

private:
    std::string text_at(std::size_t offset, std::size_t n) const
    {
        if (offset > sample.record.size())
            return "";
        const auto bytes =
            sample.record.subspan(offset, std::min(n, sample.record.size() - offset));
        const auto* text = reinterpret_cast<const char*>(bytes.data());
        return {text, ::strnlen(text, bytes.size())};
    }

    const TraceEvent& event_;

public:
    const PerfSample& sample;
};

Result<Ok> RecordedEvents::check_permission()
{
    // The fields of tracepoints have the ids of the first pid namespace (PROC_PID_INIT_INO).
    constexpr std::string_view first_namespace = "pid:[4026531836]";
    if (read_proc_link(::getpid(), "ns/pid") != first_namespace)
        return Error{Code::unsupported, "dtrace runs in a pid namespace of its own"};
    auto event = trace_event("sched/sched_switch");
    if (!event)
        return event.error();
    PerfSource source;
    source.tracepoint = event->number;
    source.contents.record = true;
    return PerfEvents::check_permission(source);
}

Result<RecordedEvents::Tracepoint*> RecordedEvents::tracepoint(const std::string& name)
{
    const auto known = std::ranges::find(tracepoints_, name, &Tracepoint::name);
    if (known != tracepoints_.end())
        return &*known;
    auto event = trace_event(name);
    if (!event)
        return event.error();
    tracepoints_.push_back({name, std::move(*event), {}, {}, {}});
    tracepoints_.back().contents.registers = false;
    tracepoints_.back().contents.record = true;
    return &tracepoints_.back();
}

static void add_contents(PerfContents& to, const PerfContents& more)
{
    to.stack_bytes = std::max(to.stack_bytes, more.stack_bytes);
    to.kernel_stack |= more.kernel_stack;
    to.registers |= more.registers;
}

Result<Ok> RecordedEvents::add(const SessionState& state, const RecordedRow& row,
                               std::uint32_t id)
{
    auto place = tracepoint(std::string(row.tracepoint));
    if (!place && place.error().code == Code::not_found && !row.fallback.empty())
        place = tracepoint(std::string(row.fallback));
    if (!place)
        return place.error().during("enable " + full_name(state.registry.at(id)));
    Tracepoint& tracepoint = **place;
    const bool fires = row.what != Recorded::follows_signals;
    tracepoint.probes.push_back({fires ? id : 0, row.what});
    add_contents(tracepoint.contents, sample_contents(state, [id](std::uint32_t probe) {
                     return probe == id;
                 }));
    if (row.what == Recorded::proc_exec_success)
        add_contents(tracepoint.contents, {true, arguments_bytes, false, false});
    return Ok{};
}

Result<Ok> RecordedEvents::add_calls(const SessionState& state)
{
    for (const CallProbe& call : state.providers.syscall.enabled()) {
        if (!state.is_recorded(call.probe))
            continue;
        auto place =
            tracepoint(std::string(call.returns ? return_of_calls : entry_of_calls));
        if (!place)
            return place.error().during("enable the probes of system calls");
        auto& calls = (*place)->calls;
        const std::uint32_t number = call.numbers.front();
        calls.resize(std::max<std::size_t>(calls.size(), number + 1));
        calls[number] = call.probe;
    }
    for (Tracepoint& each : tracepoints_)
        if (!each.calls.empty())
            add_contents(
                each.contents, sample_contents(state, [&each](std::uint32_t probe) {
                    return std::ranges::find(each.calls, probe) != each.calls.end();
                }));
    return Ok{};
}

Result<RecordedEvents> RecordedEvents::of(const SessionState& state)
{
    RecordedEvents events;
    for (const RecordedRow& row : recorded_rows()) {
        const std::uint32_t id = state.registry.find(row.provider, "", "", row.probe);
        if (id == 0 || !state.registry.at(id).enabled || !state.is_recorded(id))
            continue;
        if (auto added = events.add(state, row, id); !added)
            return added.error();
    }
    if (auto added = events.add_calls(state); !added)
        return added.error();
    return events;
}

// Returns the kernel's filter for the records of a few system calls, or "".
std::string RecordedEvents::filter_of(const Tracepoint& tracepoint)
{
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < tracepoint.calls.size(); i++)
        if (tracepoint.calls[i] != 0)
            numbers.push_back(i);
    for (const Probe& probe : tracepoint.probes)
        switch (probe.what) {
        case Recorded::proc_exec:
        case Recorded::proc_exec_failure:
            numbers.insert(numbers.end(), {SYS_execve, SYS_execveat});
            break;
        case Recorded::proc_signal_clear:
            numbers.push_back(SYS_rt_sigtimedwait);
            break;
        default:
            return "";
        }
    if (numbers.size() > most_filtered)
        return "";
    std::string filter;
    for (const std::size_t number : numbers)
        filter += (filter.empty() ? "id == " : " || id == ") + std::to_string(number);
    return filter;
}

std::vector<PerfSource> RecordedEvents::sources() const
{
    std::vector<PerfSource> all;
    for (const Tracepoint& each : tracepoints_) {
        PerfSource source;
        source.tracepoint = each.event.number;
        source.filter = filter_of(each);
        source.contents = each.contents;
        source.wakes = each.name == exec_tracepoint;
        all.push_back(std::move(source));
    }
    return all;
}

// Returns the name of a block device, for example "sda1", by the kernel's number.
const std::string& RecordedEvents::device_name(std::uint64_t device)
{
    const auto known = device_names_.find(device);
    if (known != device_names_.end())
        return known->second;
    std::ifstream file("/sys/dev/block/" + std::to_string(device >> 20) + ":" +
                       std::to_string(device & 0xfffff) + "/uevent");
    std::string name = "<none>";
    constexpr std::string_view word = "DEVNAME=";
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(word))
            name = line.substr(word.size());
    return device_names_[device] = name;
}

namespace {

// The flags of bufinfo_t, as in recorded/io.d.
constexpr std::uint64_t b_error = 0x4, b_read = 0x40, b_write = 0x100, b_async = 0x400;

// Translates the kernel's letters, for example "WS" (blk_fill_rwbs()).
std::uint64_t flags_of(const std::string& letters, std::uint64_t error)
{
    const bool is_read = letters.find('R') != std::string::npos;
    const bool is_sync = letters.find('S') != std::string::npos;
    return (is_read ? b_read : b_write) | (is_sync ? 0 : b_async) |
           (error != 0 ? b_error : 0);
}

// Returns the error number in the result of a system call, or 0.
std::uint64_t error_of(std::uint64_t result)
{
    constexpr std::uint64_t max_error = 4095; // MAX_ERRNO
    return result >= -max_error ? -result : 0;
}

bool is_preempted(std::uint64_t state)
{
    constexpr std::uint64_t sleeping = 0xff; // TASK_REPORT_MAX - 1
    return (state & sleeping) == 0;
}

} // namespace

bool RecordedEvents::must_see(std::size_t source) const
{
    return tracepoints_[source].name == exec_tracepoint;
}

void RecordedEvents::see(std::size_t source, const PerfSample& sample)
{
    const Fields in(tracepoints_[source].event, sample);
    arguments_->see(sample, in.dynamic_text("filename"));
}

// Called for each record, before its probes fire.
void RecordedEvents::follow_signals(const Tracepoint& tracepoint, const Fields& in,
                                    SampleHost& host)
{
    auto signal = [&in] {
        return RecordedSignal{in.integer("sig"), in.integer("code"),
                              in.integer("errno")};
    };
    if (tracepoint.name == "signal/signal_generate" && in.number("result") == 0)
        signals_.generate(host.process_of(in.integer("pid")), signal());
    else if (tracepoint.name == "signal/signal_deliver")
        delivered_ =
            signals_.deliver(in.sample.pid, signal(), in.number("sa_handler") != 0);
    else if (tracepoint.name == exec_tracepoint)
        signals_.forget(in.sample.pid);
}

void RecordedEvents::begin_program(const Fields& in, SampleHost& host)
{
    std::string arguments = arguments_->take(in.sample);
    if (arguments.empty())
        arguments = in.dynamic_text("filename");
    host.set_arguments(in.sample.pid, std::move(arguments));
}

// Chooses proc:::exit for the last thread of a process.
bool RecordedEvents::choose_exit(const Fields& in, Firing& out)
{
    const PerfSample& sample = in.sample;
    const bool is_last =
        in.has("group_dead") ? in.number("group_dead") != 0 : sample.pid == sample.tid;
    if (!is_last)
        return false;
    out.args[0] = signals_.exit(sample.pid) ? CLD_KILLED : CLD_EXITED;
    out.n_args = 1;
    return true;
}

bool RecordedEvents::is_exec(const Fields& in)
{
    const std::uint64_t number = in.number("id");
    return number == SYS_execve || number == SYS_execveat;
}

void RecordedEvents::change(const PerfTaskEvent& event)
{
    // The id may be that of a process that has exited.
    if (event.kind == PerfTaskEvent::forked && event.pid == event.tid)
        signals_.forget(event.pid);
}

// Computes the arguments of a probe. Returns false if the probe does not fire.
bool RecordedEvents::choose(const Probe& probe, const Fields& in, SampleHost& host,
                            Firing& out)
{
    auto pass = [&out](std::initializer_list<std::uint64_t> args) {
        std::ranges::copy(args, out.args.begin());
        out.n_args = static_cast<std::uint32_t>(args.size());
        return true;
    };
    auto process_of = [&host](int tid) {
        return static_cast<std::uint64_t>(host.process_of(tid));
    };
    const PerfSample& sample = in.sample;
    const int child = in.integer("child_pid");
    switch (probe.what) {
    case Recorded::io_start:
    case Recorded::io_done: {
        out.text = device_name(in.number("dev"));
        const bool is_done = probe.what == Recorded::io_done;
        const std::uint64_t error =
            is_done ? static_cast<std::uint64_t>(-in.integer("error")) : 0;
        // The same number at start and done, so that a D program can use it as a key.
        constexpr std::uint64_t spread = 0x9e37'79b9'7f4a'7c15; // 2^64 / golden ratio
        const std::uint64_t request = in.number("dev") * spread ^ in.number("sector");
        return pass({request, request, request, in.number("dev"), in.number("sector"),
                     is_done ? in.number("nr_sector") * 512 : in.number("bytes"), error,
                     flags_of(in.text("rwbs"), error), SampleHost::text_base});
    }
    case Recorded::sched_off_cpu: {
        out.name = in.text("prev_comm");
        const int next = in.integer("next_pid");
        return pass({static_cast<std::uint64_t>(next), process_of(next),
                     in.address("next_comm"), in.number("next_prio"), sample.cpu});
    }
    case Recorded::sched_on_cpu:
        out.tid = in.integer("next_pid");
        out.name = in.text("next_comm");
        return true;
    case Recorded::sched_preempt:
        out.name = in.text("prev_comm");
        return is_preempted(in.number("prev_state")) && in.integer("prev_pid") != 0;
    case Recorded::sched_sleep:
        out.name = in.text("prev_comm");
        return !is_preempted(in.number("prev_state"));
    case Recorded::sched_wakeup: {
        const int woken = in.integer("pid");
        return pass({static_cast<std::uint64_t>(woken), process_of(woken),
                     in.address("comm"), in.number("prio"), in.number("target_cpu")});
    }
    case Recorded::proc_create:
        return host.process_of(child) == child &&
               pass({static_cast<std::uint64_t>(child) | new_process});
    case Recorded::proc_lwp_create:
        return host.process_of(child) != child &&
               pass({static_cast<std::uint64_t>(child), process_of(child)});
    case Recorded::proc_start:
        out.tid = child;
        return host.process_of(child) == child;
    case Recorded::proc_lwp_start:
        out.tid = child;
        return true;
    case Recorded::proc_exec_success:
        begin_program(in, host);
        return true;
    case Recorded::proc_exit:
        return choose_exit(in, out);
    case Recorded::proc_lwp_exit:
        return true;
    case Recorded::follows_signals:
        return false;
    case Recorded::proc_fault: {
        const int fault = fault_of(in.integer("sig"), in.integer("code"));
        return fault != 0 && in.integer("pid") == sample.tid &&
               pass({static_cast<std::uint64_t>(fault), in.number("sig"), 0,
                     in.number("code"), 0, 0, 0, 0, 0, in.number("errno")});
    }
    case Recorded::proc_signal_handle:
        return delivered_ &&
               pass({static_cast<std::uint64_t>(delivered_->number),
                     static_cast<std::uint64_t>(delivered_->number),
                     in.number("sa_handler"),
                     static_cast<std::uint64_t>(delivered_->code), 0, 0, 0, 0, 0,
                     static_cast<std::uint64_t>(delivered_->error)});
    case Recorded::proc_signal_discard: {
        constexpr std::uint64_t ignored = 1; // TRACE_SIGNAL_IGNORED
        if (in.number("result") != ignored)
            return false;
        [[fallthrough]];
    }
    case Recorded::proc_signal_send: {
        const int receiver = in.integer("pid");
        return pass({static_cast<std::uint64_t>(receiver), process_of(receiver),
                     in.number("sig")});
    }
    case Recorded::proc_exec:
        return is_exec(in) &&
               pass({in.number("args", in.number("id") == SYS_execveat)});
    case Recorded::proc_exec_failure: {
        const std::uint64_t error = error_of(in.number("ret"));
        return is_exec(in) && error != 0 && pass({error});
    }
    case Recorded::proc_signal_clear: {
        const std::uint64_t signal = in.number("ret");
        return in.number("id") == SYS_rt_sigtimedwait && signal != 0 &&
               error_of(signal) == 0 && pass({signal});
    }
    }
    return false;
}

void RecordedEvents::fire_call(const Tracepoint& tracepoint, const Fields& in,
                               SampleHost& host)
{
    const std::uint64_t number = in.number("id");
    // To execute a clause, this process makes system calls, too.
    if (number >= tracepoint.calls.size() || tracepoint.calls[number] == 0 ||
        in.sample.pid == ::getpid())
        return;
    std::array<std::uint64_t, 6> args{};
    if (tracepoint.name == entry_of_calls) {
        for (std::size_t i = 0; i < args.size(); i++)
            args[i] = in.number("args", i);
        host.fire(tracepoint.calls[number], in.sample, args);
        return;
    }
    const std::uint64_t result = in.number("ret");
    const std::uint64_t error = error_of(result);
    args[0] = args[1] = error != 0 ? ~std::uint64_t{0} : result;
    host.fire(tracepoint.calls[number], in.sample, std::span(args).first(2), error);
}

// Returns the sample with the ids of its thread. If the thread is exiting, the kernel
// records them only among the fields of the tracepoint.
static PerfSample with_ids(const TraceEvent& event, PerfSample sample, SampleHost& host)
{
    if (sample.tid < 0)
        sample.tid =
            static_cast<pid_t>(number_in(sample.record, event.field("common_pid")));
    if (sample.pid < 0)
        sample.pid = host.process_of(sample.tid);
    return sample;
}

void RecordedEvents::fire(SampleHost& host, std::size_t source,
                          const PerfSample& recorded)
{
    const Tracepoint& tracepoint = tracepoints_[source];
    const PerfSample sample = with_ids(tracepoint.event, recorded, host);
    const Fields in(tracepoint.event, sample);
    follow_signals(tracepoint, in, host);
    for (const Probe& probe : tracepoint.probes) {
        Firing firing;
        if (!choose(probe, in, host, firing))
            continue;
        const auto args = std::span(firing.args).first(firing.n_args);
        host.set_text(std::move(firing.text));
        host.set_name(std::move(firing.name));
        if (!firing.tid) {
            host.fire(probe.id, sample, args);
            continue;
        }
        PerfSample other;
        other.cpu = sample.cpu;
        other.time_ns = sample.time_ns;
        other.tid = *firing.tid;
        other.pid = host.process_of(*firing.tid);
        host.fire(probe.id, other, args);
    }
    if (!tracepoint.calls.empty())
        fire_call(tracepoint, in, host);
}

} // namespace dt
