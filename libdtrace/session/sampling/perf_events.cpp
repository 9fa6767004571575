// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/perf_events.hpp"

#include "base/clock_ns.hpp"
#include "base/page_bytes.hpp"
#include "libdtrace/session/sampling/perf_sample.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <linux/perf_event.h>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace dt {

// Other processors may still write records that are older than this.
static constexpr std::uint64_t write_time_ns = 1'000'000;
static constexpr std::size_t smallest_ring = 8 * page_bytes, largest_ring = 8 << 20;
// The rings of a machine with many processors are smaller than largest_ring.
static constexpr std::size_t max_total_ring_bytes = std::size_t{512} << 20;
// The part of a sample that is neither a stack nor a chain of addresses.
static constexpr std::size_t sample_head_bytes = 512;
static constexpr std::size_t kernel_stack_bytes = 127 * sizeof(std::uint64_t);

static Fd open_event(const perf_event_attr& attr, int cpu)
{
    constexpr pid_t all_processes = -1;
    return Fd(static_cast<int>(::syscall(SYS_perf_event_open, &attr, all_processes, cpu,
                                         -1, PERF_FLAG_FD_CLOEXEC)));
}

static perf_event_attr attr_of(const PerfSource& source)
{
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = source.tracepoint ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE;
    attr.config = source.tracepoint.value_or(PERF_COUNT_SW_CPU_CLOCK);
    attr.sample_period = source.tracepoint ? 1 : source.interval_ns;
    attr.sample_type = sample_type(source.contents);
    attr.sample_id_all = 1;
    attr.disabled = 1;
    attr.exclude_callchain_user = 1;
    attr.sample_regs_user = source.contents.registers ? sampled_registers : 0;
    attr.sample_stack_user = source.contents.stack_bytes;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    return attr;
}

// Returns the ids of the processors in a list such as "0-3,8".
static std::vector<std::uint32_t> processors_in(const std::string& list)
{
    std::vector<std::uint32_t> all;
    for (const char* at = list.c_str(); *at >= '0' && *at <= '9';) {
        char* end = nullptr;
        auto first = static_cast<std::uint32_t>(std::strtoul(at, &end, 10)),
             last = first;
        if (*end == '-')
            last = static_cast<std::uint32_t>(std::strtoul(end + 1, &end, 10));
        for (std::uint32_t cpu = first; cpu <= last; cpu++)
            all.push_back(cpu);
        at = *end == ',' ? end + 1 : end;
    }
    return all;
}

static std::vector<std::uint32_t> online_processors()
{
    std::ifstream file("/sys/devices/system/cpu/online");
    std::string list;
    std::getline(file, list);
    auto all = processors_in(list);
    if (all.empty()) // /sys is not mounted
        for (long cpu = 0; cpu < ::sysconf(_SC_NPROCESSORS_ONLN); cpu++)
            all.push_back(static_cast<std::uint32_t>(cpu));
    return all;
}

// Returns the size of a ring that has space for the samples of 0.2 s. The rate of a
// tracepoint is not known.
static std::size_t ring_bytes(std::span<const PerfSource> sources, std::size_t n_rings)
{
    constexpr std::uint64_t kept_ns = 200'000'000;
    std::size_t bytes = 0;
    for (const PerfSource& source : sources) {
        if (source.tracepoint) {
            bytes = largest_ring;
            break;
        }
        const std::size_t each =
            sample_head_bytes + source.contents.stack_bytes +
            (source.contents.kernel_stack ? kernel_stack_bytes : 0);
        bytes += (1 + kept_ns / source.interval_ns) * each;
    }
    const std::size_t largest = std::bit_floor(max_total_ring_bytes / n_rings);
    return std::clamp(std::bit_ceil(bytes), smallest_ring,
                      std::clamp(largest, smallest_ring, largest_ring));
}

static Error refused(int error)
{
    return errno_error("sample all processes (perf_event_open)", error);
}

Result<Ok> PerfEvents::check_permission()
{
    PerfSource timer;
    timer.interval_ns = 1'000'000'000;
    return check_permission(timer);
}

Result<Ok> PerfEvents::check_permission(const PerfSource& source)
{
    const auto cpus = online_processors();
    const perf_event_attr attr = attr_of(source);
    for (std::uint32_t cpu : cpus)
        if (open_event(attr, static_cast<int>(cpu)))
            return Ok{};
        else if (errno != ENODEV) // the processor is offline now
            break;
    return refused(errno);
}

void PerfEvents::Unmap::operator()(void* at) const
{
    ::munmap(at, bytes);
}

// Maps the ring of an event. Returns null if that fails. The ring may be smaller than
// requested, because the kernel limits the locked memory of a user (perf_event_mlock_kb).
PerfEvents::Ring PerfEvents::map_ring(int event, std::size_t bytes)
{
    for (; bytes >= smallest_ring; bytes /= 2) {
        void* at = ::mmap(nullptr, page_bytes + bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED, event, 0);
        if (at != MAP_FAILED)
            return {at, Unmap{page_bytes + bytes}};
    }
    return Ring(nullptr, Unmap{});
}

Result<Ok> PerfEvents::open_cpu(std::uint32_t cpu, std::span<const PerfSource> sources,
                                std::size_t bytes)
{
    for (std::size_t i = 0; i < sources.size(); i++) {
        perf_event_attr attr = attr_of(sources[i]);
        const bool owns_ring = i == 0;
        attr.comm = attr.comm_exec = attr.task = owns_ring;
        attr.watermark = sources[i].wakes ? 0 : 1;
        if (sources[i].wakes)
            attr.wakeup_events = 1;
        else
            attr.wakeup_watermark = static_cast<std::uint32_t>(bytes / 4);
        Fd event = open_event(attr, static_cast<int>(cpu));
        if (!event && errno == ENODEV)
            return Ok{};
        std::uint64_t id = 0;
        if (!event || ::ioctl(event.get(), PERF_EVENT_IOC_ID, &id) != 0)
            return refused(errno);
        if (!sources[i].filter.empty() &&
            ::ioctl(event.get(), PERF_EVENT_IOC_SET_FILTER,
                    sources[i].filter.c_str()) != 0)
            return errno_error("filter the kernel's records: " + sources[i].filter);
        if (!owns_ring) {
            if (::ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, rings_.back().event) !=
                0)
                return refused(errno);
        } else {
            auto ring = map_ring(event.get(), bytes);
            if (!ring)
                return errno_error("map the kernel's buffer of samples");
            rings_.push_back({event.get(), std::move(ring)});
        }
        sources_[id] = i;
        events_.push_back(std::move(event));
    }
    return Ok{};
}

Result<PerfEvents> PerfEvents::open(std::span<const PerfSource> sources,
                                    std::optional<std::uint32_t> cpu)
{
    PerfEvents all;
    for (const PerfSource& source : sources)
        all.contents_.push_back(source.contents);
    const auto processors = online_processors();
    const std::size_t bytes = ring_bytes(sources, cpu ? 1 : processors.size());
    for (std::uint32_t each : processors) {
        if (cpu && *cpu != each)
            continue;
        if (auto opened = all.open_cpu(each, sources, bytes); !opened)
            return opened.error();
    }
    return all;
}

void PerfEvents::start()
{
    running_ = true;
    for (const Fd& event : events_)
        ::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0);
}

void PerfEvents::stop()
{
    for (const Fd& event : events_)
        ::ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
    running_ = false;
}

void PerfEvents::wait(int wake, int timeout_ms) const
{
    std::vector<pollfd> all{{wake, POLLIN, 0}};
    for (const CpuRing& each : rings_)
        all.push_back({each.event, POLLIN, 0});
    ::poll(all.data(), all.size(), timeout_ms);
}

// Appends the unread records of a ring.
void PerfEvents::take(const Ring& ring, std::vector<std::byte>& to)
{
    auto* page = static_cast<perf_event_mmap_page*>(ring.get());
    const auto* data = static_cast<const std::byte*>(ring.get()) + page->data_offset;
    const std::uint64_t size = page->data_size, tail = page->data_tail;
    const std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    const std::uint64_t first = std::min(head - tail, size - tail % size);
    to.insert(to.end(), data + tail % size, data + tail % size + first);
    to.insert(to.end(), data, data + (head - tail - first));
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

PerfBatch PerfEvents::read(const std::function<void(std::span<const std::byte>)>& see)
{
    const std::uint64_t until = running_ ? monotonic_ns() - write_time_ns : UINT64_MAX;
    PerfBatch batch;
    std::vector<std::byte>& bytes = batch.bytes_;
    bytes.swap(later_);
    const std::size_t n_seen = bytes.size();
    for (const CpuRing& each : rings_)
        take(each.ring, bytes);
    std::vector<PerfBatch::Record>& records = batch.records_;
    for (std::size_t at = 0; at + sizeof(perf_event_header) <= bytes.size();) {
        perf_event_header header;
        std::memcpy(&header, &bytes[at], sizeof header);
        if (header.size < sizeof header || header.size > bytes.size() - at)
            break;
        const auto record = std::span(bytes).subspan(at, header.size);
        if (at >= n_seen)
            see(record);
        records.push_back({record_time(record), record});
        at += header.size;
    }
    std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
        return a.time_ns < b.time_ns;
    });
    const auto kept =
        std::find_if(records.begin(), records.end(),
                     [until](const auto& r) { return r.time_ns >= until; });
    for (auto each = kept; each != records.end(); ++each)
        later_.insert(later_.end(), each->bytes.begin(), each->bytes.end());
    records.erase(kept, records.end());
    return batch;
}

std::optional<std::size_t> PerfEvents::source_of(std::uint64_t id) const
{
    const auto source = sources_.find(id);
    return source != sources_.end() ? std::optional(source->second) : std::nullopt;
}

} // namespace dt
