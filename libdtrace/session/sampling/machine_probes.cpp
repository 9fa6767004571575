// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/machine_probes.hpp"

#include "base/clock_ns.hpp"
#include "base/no_signals.hpp"
#include "libdtrace/session/sampling/perf_sample.hpp"
#include "libdtrace/session/sampling/sample_host.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace dt {

// Samples that wait for the firing thread. Later ones are lost.
static constexpr std::size_t max_queued_bytes = std::size_t{256} << 20;
static constexpr int read_interval_ms = 50;
// The time that stop() waits for the firing thread.
static constexpr std::chrono::seconds longest_end{5};

Result<Ok> MachineProbes::start(void* arena, MachineSources sources,
                                std::function<void()> fired)
{
    std::vector<PerfSource> all;
    for (const SampleTimer& timer : sources.timers) {
        all.emplace_back();
        all.back().interval_ns = timer.interval_ns;
        all.back().contents = sources.timer_contents;
    }
    std::ranges::move(sources.events.sources(), std::back_inserter(all));
    if (all.empty())
        return Ok{};
    auto opened = PerfEvents::open(all, sources.cpu);
    if (!opened)
        return opened.error();
    wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_)
        return errno_error("create an eventfd for the kernel's records");
    events_.emplace(std::move(*opened));
    sources_ = std::move(sources);
    fired_ = std::move(fired);
    events_->start();
    try {
        const NoSignals here;
        reader_ = std::thread([this] { read(); });
        firer_ = std::thread([this, arena] { fire(arena); });
    } catch (const std::system_error& error) {
        (void)stop();
        return errno_error("start the threads that read the kernel's records",
                           error.code().value());
    }
    return Ok{};
}

void MachineProbes::see(std::span<const std::byte> record)
{
    const auto id = event_in(record);
    const auto source = id ? events_->source_of(*id) : std::nullopt;
    const std::size_t n_timers = sources_.timers.size();
    if (!source || *source < n_timers || !sources_.events.must_see(*source - n_timers))
        return;
    if (const auto sample = sample_in(record, events_->contents_of(*source)))
        sources_.events.see(*source - n_timers, *sample);
}

void MachineProbes::read()
{
    // The reader needs little time, but records are lost if it waits for a processor. If
    // the user may not change the priority, it stays the same.
    constexpr int niceness = -10;
    (void)::setpriority(PRIO_PROCESS, 0, niceness); // of this thread
    auto see_each = [this](std::span<const std::byte> record) { see(record); };
    while (!stopping_) {
        events_->wait(wake_.get(), read_interval_ms);
        if (!stopping_)
            add(events_->read(see_each));
    }
    events_->stop();
    add(events_->read(see_each));
    const std::lock_guard lock(lock_);
    is_read_to_end_ = true;
    changed_.notify_all();
}

void MachineProbes::add(PerfBatch batch)
{
    if (batch.records().empty())
        return;
    const std::lock_guard lock(lock_);
    if (queued_bytes_ + batch.bytes() > max_queued_bytes) {
        n_lost_ += batch.records().size();
        has_dropped_ = true;
        return;
    }
    queued_bytes_ += batch.bytes();
    queue_.push_back(std::move(batch));
    changed_.notify_all();
}

// Returns the next batch. Returns nullopt after the last one.
std::optional<PerfBatch> MachineProbes::next()
{
    std::unique_lock lock(lock_);
    changed_.wait(lock, [this] { return !queue_.empty() || is_read_to_end_; });
    if (queue_.empty() || giving_up_)
        return std::nullopt;
    PerfBatch batch = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= batch.bytes();
    return batch;
}

void MachineProbes::fire(SampleHost& host, std::size_t source, const PerfSample& sample)
{
    const std::vector<SampleTimer>& timers = sources_.timers;
    const std::optional<SampledTargets>& targets = sources_.targets;
    if (source >= timers.size()) {
        sources_.events.fire(host, source - timers.size(), sample);
    } else if (!targets || targets->contains(sample.pid)) {
        const std::array<std::uint64_t, 2> args{sample.in_kernel ? sample.pc : 0,
                                                sample.in_kernel ? 0 : sample.pc};
        host.fire(timers[source].probe, sample, args);
    } else {
        return;
    }
    ++n_fired_;
    fired_();
}

void MachineProbes::change(SampleHost& host, const PerfTaskEvent& event)
{
    host.change(event);
    sources_.events.change(event);
    if (sources_.targets)
        sources_.targets->change(event);
}

void MachineProbes::lose(SampleHost& host, std::uint64_t n_records)
{
    n_lost_ += n_records;
    host.forget_processes();
    // Many losses may follow each other.
    constexpr std::uint64_t pause_ns = 1'000'000'000;
    if (const std::uint64_t now = monotonic_ns(); now >= learnt_ns_ + pause_ns) {
        learnt_ns_ = now;
        host.learn_processes();
    }
}

void MachineProbes::fire(void* arena)
{
    SampleHost host(arena);
    host.learn_processes();
    while (const auto batch = next()) {
        if (has_dropped_.exchange(false))
            lose(host, 0); // they are counted already
        for (const PerfBatch::Record& record : batch->records()) {
            if (giving_up_)
                break;
            if (const auto id = event_in(record.bytes)) {
                const auto source = events_->source_of(*id);
                if (!source)
                    continue;
                if (const auto sample =
                        sample_in(record.bytes, events_->contents_of(*source)))
                    fire(host, *source, *sample);
            } else if (const auto event = task_event_in(record.bytes)) {
                change(host, *event);
            } else if (const std::uint64_t n = lost_in(record.bytes); n != 0) {
                lose(host, n);
            }
        }
    }
    const std::lock_guard lock(lock_);
    has_fired_all_ = true;
    changed_.notify_all();
}

std::string MachineProbes::stop()
{
    if (!reader_.joinable()) {
        events_.reset();
        return {};
    }
    stopping_ = true;
    const std::uint64_t one = 1;
    // The counter of the eventfd cannot overflow, because this is the only write.
    (void)!::write(wake_.get(), &one, sizeof one);
    reader_.join();
    if (firer_.joinable()) {
        std::unique_lock lock(lock_);
        giving_up_ =
            !changed_.wait_for(lock, longest_end, [this] { return has_fired_all_; });
        for (const PerfBatch& batch : queue_)
            n_lost_ += batch.records().size();
        lock.unlock();
        firer_.join();
    }
    events_.reset();
    if (n_lost_ == 0)
        return {};
    const std::string lost =
        std::to_string(n_lost_) + " of " + std::to_string(n_fired_ + n_lost_);
    if (sources_.events.sources().empty())
        return "profile: " + lost +
               " samples were lost, because they were taken faster than they could be "
               "processed; use a lower rate to get all samples";
    return lost + " of the kernel's records were lost, because they were made faster "
                  "than they "
                  "could be processed; enable fewer probes of all processes, or name "
                  "processes "
                  "with -p or -c";
}

} // namespace dt
