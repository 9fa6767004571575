// SPDX-License-Identifier: MIT
// The consumer's rounds. A round drains records, takes a snapshot of aggregations,
// sorts the records and runs them.
#include "libdtrace/consume/consumer.hpp"

#include "libdtrace/consume/cpu_flows.hpp"

#include "dif/distribution.h"

#include "base/clock_ns.hpp"
#include "dif/engine.h"
#include "libdtrace/consume/drops.hpp"
#include "libdtrace/consume/faults.hpp"
#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/round.hpp"
#include "libdtrace/consume/runner.hpp"
#include "libdtrace/consume/shard_reader.hpp"
#include "libdtrace/consume/structured.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace dt {

namespace {

// An aggregation buffer that contains this many bytes is read before the next round,
// and its memory may then be returned to the system (Config::returns_memory).
constexpr std::uint64_t early_bytes = 1 << 20;

int thread_lives(dt_u32 owner)
{
    return kill(static_cast<pid_t>(owner), 0) == 0 || errno == EPERM;
}

Consumer::Config completed(Consumer::Config config)
{
    if (config.owner == 0)
        config.owner = static_cast<std::uint32_t>(gettid());
    if (!config.alive)
        config.alive = thread_lives;
    return config;
}

std::uint64_t option(const dt_arena* arena, dif_option which, std::uint64_t unset)
{
    std::uint64_t value = arena->options[which];
    return value == DT_OPT_UNSET ? unset : value;
}

} // namespace

struct Consumer::Impl {
    explicit Impl(Config given)
        : config(completed(std::move(given))),
          arena(static_cast<const dt_arena*>(config.arena)),
          n_shards(std::min<std::uint32_t>(arena->n_shards, DT_MAX_SHARDS)),
          reader(config, n_shards), ecbs(arena),
          runner(config.symbols ? *config.symbols : no_symbols, config.events)
    {
        liars.resize(n_shards);
        runner.aggregates.limit_memory(config.max_aggregated_bytes);
        if (config.per_cpu)
            runner.aggregates.keep_places(arena->counters.n_cpus + 1);
        Display& display = runner.display;
#define X(name) display.name = option(arena, DTRACEOPT_##name, 0) != 0;
        X(quiet)
        X(flowindent)
        X(rawbytes)
        X(temporal)
        X(aggsortkey)
        X(aggsortrev)
        X(agghist)
        X(aggpack)
        X(aggzoom)
#undef X
        display.stackindent = option(arena, DTRACEOPT_stackindent, 14);
        display.aggsortpos = option(arena, DTRACEOPT_aggsortpos, 0);
        display.aggsortkeypos = option(arena, DTRACEOPT_aggsortkeypos, 0);
    }

    // Copies records from the shards, starting at next_shard, until all shards have
    // been read or the round has enough records. `began` is the start time of the
    // round.
    Result<Ok> collect(DrainKind kind, std::uint64_t began, std::uint32_t& n_left);
    // Returns how many full buffers a round may copy. Between two rounds, the threads
    // on n CPUs fill at most about n shared shards. Only forged data can fill more.
    std::uint64_t round_buffers() const
    {
        return std::uint64_t{arena->counters.n_cpus} + (n_shards - arena->n_shared) + 2;
    }
    std::uint64_t round_bytes() const
    {
        return round_buffers() * arena->plan.principal_bytes;
    }
    Result<Ok> snapshot(DrainKind kind);
    void return_memory(std::uint32_t shard);
    Result<Ok> snapshot_counters();
    void take_aggregations(std::uint32_t shard, std::span<const std::byte> bytes,
                           std::size_t place);
    Result<Ok> run(std::size_t index, Output& out, RecordSink& sink);
    Result<Ok> run_records(bool final, std::size_t n, Output& out, RecordSink& sink);
    Result<Ok> drain_round(DrainKind kind, std::uint64_t began, std::uint32_t& n_left,
                           Output& out, RecordSink& sink);
    void distrust(std::uint32_t shard, const char* what);
    void drop_key(std::uint32_t shard);

    Config config;
    const dt_arena* arena;
    std::uint32_t n_shards;
    ShardReader reader;
    HexSymbolizer no_symbols;
    EcbTable ecbs;
    Runner runner;
    Round round;
    ByteBuffer agg_copy;
    DropCounts drops;
    std::vector<bool> liars; // shards with invalid records, already reported
    bool dropped_keys = false;
    std::uint64_t watermark = 0;
    std::uint64_t delivered_until = 0; // the watermark of the last complete round
    std::size_t n_due = 0; // number of records that the last round had no time to run
    std::uint32_t next_shard = 0, next_agg_shard = 0;
    CpuFlows flows;
};

Consumer::Consumer(Config config) : impl_(std::make_unique<Impl>(std::move(config))) {}
Consumer::~Consumer() = default;

void Consumer::add_program(std::shared_ptr<const Program> program,
                           std::uint32_t first_clause)
{
    for (const AggregationInfo& info : program->aggregations) {
        AggDesc desc;
        desc.id = info.id;
        desc.name = info.name;
        desc.function = info.function;
        desc.arg = info.arg;
        desc.value_bytes = dt_agg_value_bytes(info.function, info.arg);
        impl_->runner.aggregates.announce(std::move(desc));
    }
    impl_->ecbs.add(std::move(program), first_clause);
}

Display& Consumer::display()
{
    return impl_->runner.display;
}

void Consumer::Impl::distrust(std::uint32_t shard, const char* what)
{
    if (!liars[shard] && config.events)
        config.events->complain("buffer " + std::to_string(shard) + " " + what +
                                ": a traced process has overwritten the buffer, and "
                                "the rest of its data is lost");
    liars[shard] = true;
}

// Counts a key that was dropped. The first dropped key is also reported, with advice
// for the user.
void Consumer::Impl::drop_key(std::uint32_t shard)
{
    drops.lose_aggregated(shard);
    if (!std::exchange(dropped_keys, true) && config.events)
        config.events->complain("aggregations use " +
                                std::to_string(config.max_aggregated_bytes >> 20) +
                                " MiB, the maximum for this session: further keys are "
                                "dropped; use fewer keys, or remove some with trunc()");
}

Result<Ok> Consumer::Impl::collect(DrainKind kind, std::uint64_t began,
                                   std::uint32_t& n_left)
{
    const std::uint64_t room_bytes = arena->plan.principal_bytes;
    // With the buffer policy "fill", a shard whose first buffer is full has the records
    // of END in its second buffer.
    const int n_buffers =
        arena->options[DTRACEOPT_bufpolicy] == DT_BUFPOLICY_FILL ? 2 : 1;
    const std::uint64_t enough = round_bytes();
    std::uint64_t copied = 0;
    for (; n_left > 0 && copied < enough; n_left--) {
        const std::uint32_t shard = next_shard;
        next_shard = (next_shard + 1) % n_shards;
        for (int buffer = 0; buffer < n_buffers; buffer++) {
            std::byte* to = round.room(room_bytes);
            if (!to)
                return Error{Code::limit, "drain buffers: out of memory", ENOMEM};
            const dt_s64 n = reader.take_records(kind, shard, to, room_bytes, began);
            if (n < 0)
                break;
            auto bytes = std::min(static_cast<std::uint64_t>(n), room_bytes);
            copied += bytes;
            if (bytes > 0 && !round.collect(bytes, shard, ecbs, config.clock()))
                distrust(shard, "holds a record that belongs to no clause");
        }
    }
    return Ok{};
}

void Consumer::Impl::take_aggregations(std::uint32_t shard,
                                       std::span<const std::byte> bytes,
                                       std::size_t place)
{
    while (bytes.size() >= sizeof(dt_aggent)) {
        auto entry = load_as<dt_aggent>(bytes.data());
        std::uint64_t needed =
            sizeof entry + std::uint64_t{entry.key_bytes} + entry.value_bytes;
        if (entry.bytes < needed || entry.bytes > bytes.size() || entry.bytes % 8 != 0)
            return distrust(shard, "holds an aggregation with an impossible size");
        EcbState* ecb = ecbs.find_in(shard, entry.epid);
        auto described = ecb ? ecb->aggregations.find(entry.action)
                             : decltype(ecb->aggregations.end()){};
        if (!ecb || described == ecb->aggregations.end() ||
            described->second.desc.id != entry.aggvar)
            return distrust(shard, "holds an aggregation that belongs to no clause");
        // The entry is untrusted. Its key and its value must have the lengths that the
        // clause determines.
        const AggDesc& desc = described->second.desc;
        AggDesc*& declared = described->second.declared;
        if (!declared)
            declared = &runner.aggregates.declare(AggDesc(desc));
        auto body = bytes.subspan(sizeof entry);
        const Merge merged =
            entry.key_bytes != desc.key_bytes || entry.value_bytes != desc.value_bytes
                ? Merge::Misfit
                : runner.aggregates.merge(
                      *declared, body.first(entry.key_bytes),
                      body.subspan(entry.key_bytes, entry.value_bytes), place);
        if (merged == Merge::Misfit)
            return distrust(shard,
                            "holds an aggregation that does not match its clause");
        if (merged == Merge::NoRoom)
            drop_key(shard);
        bytes = bytes.subspan(entry.bytes);
    }
}

// Reads the counters of native code. These counters do not belong to a shard.
Result<Ok> Consumer::Impl::snapshot_counters()
{
    constexpr std::uint64_t room_bytes =
        2 * DT_COUNTERS_BYTES; // enough for the largest entry
    std::byte* to = agg_copy.room(room_bytes);
    if (!to)
        return Error{Code::limit, "read the counters of aggregations: out of memory",
                     ENOMEM};
    for (std::uint32_t set = 0; set <= arena->counters.n_cpus; set++) {
        // dt_drain_counters() converts the counters to aggregation entries. These
        // entries are handled as entries of the last shard, which no target maps.
        for (dt_u64 from = 0; from != DT_COUNTERS_DONE;) {
            dt_s64 n = dt_drain_counters(config.arena, set, &from, to, room_bytes);
            if (n == 0)
                break;
            take_aggregations(n_shards - 1, {to, static_cast<std::uint64_t>(n)},
                              set > 0 ? set - 1 : arena->counters.n_cpus);
        }
    }
    return Ok{};
}

// Returns the memory of a shard's inactive aggregation buffer, which has just been
// read, to the system. Called only for shards that do not belong to a CPU. These shards
// are rarely used: threads take one only while the shards of the CPUs are held or
// parked.
void Consumer::Impl::return_memory(std::uint32_t shard)
{
    auto* header = static_cast<dt_shard*>(
        dt_at(arena, arena->shards + shard * arena->shard_bytes));
    const std::uint32_t active =
        __atomic_load_n(&header->agg_active, __ATOMIC_RELAXED) & 1;
    constexpr std::uintptr_t page = 4096;
    const auto begin =
        reinterpret_cast<std::uintptr_t>(header) + arena->plan.agg[active ^ 1];
    const std::uintptr_t end = (begin + arena->plan.agg_bytes) & ~(page - 1);
    // A failure is ignored, because it only leaves the memory in use.
    if (begin % page == 0 && begin < end)
        ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_REMOVE);
}

// Reads the aggregations of all shards once. Except in the last drain, stops when the
// round has read enough. The next round then starts with the first shard that was not
// read.
Result<Ok> Consumer::Impl::snapshot(DrainKind kind)
{
    const std::uint64_t room_bytes = arena->plan.agg_bytes;
    std::byte* to = agg_copy.room(room_bytes);
    if (!to)
        return Error{Code::limit, "read the aggregations: out of memory", ENOMEM};
    // Between two rounds, threads can fill round_buffers() buffers and, in addition,
    // the buffers of all shards that can be parked.
    const std::uint64_t enough =
        (round_buffers() + arena->plan.n_parkable) * room_bytes;
    std::uint64_t copied = 0;
    for (std::uint32_t n_left = n_shards;
         n_left > 0 && (copied < enough || kind == DrainKind::Final); n_left--) {
        const std::uint32_t shard = next_agg_shard;
        next_agg_shard = (next_agg_shard + 1) % n_shards;
        const dt_s64 n = reader.take_aggregations(kind, shard, to, room_bytes);
        if (n <= 0)
            continue;
        const auto bytes = std::min(static_cast<std::uint64_t>(n), room_bytes);
        copied += bytes;
        take_aggregations(shard, {to, bytes}, std::min(shard, arena->counters.n_cpus));
        if (config.returns_memory && shard >= arena->counters.n_cpus &&
            bytes >= early_bytes)
            return_memory(shard);
    }
    return snapshot_counters();
}

Result<Ok> Consumer::snapshot()
{
    impl_->reader.begin_snapshot();
    return impl_->snapshot(DrainKind::Round);
}

Result<Ok> Consumer::Impl::run(std::size_t index, Output& out, RecordSink& sink)
{
    const RoundRecord& record = round.records()[index];
    EcbState& ecb = *record.ecb;
    auto bytes = round.bytes(record);
    if (record.flags & DT_REC_ERROR) {
        auto error = load_as<dt_rec_error>(bytes.data() + sizeof(dt_rechdr));
        if (auto committed = out.commit(); !committed)
            return committed;
        if (config.events &&
            !config.events->fault(fault_event(ecb.info, record.cpu, error)))
            return Error{Code::invalid, "the error handler stopped the consumer"};
        return Ok{};
    }
    ProbeData data;
    data.ecb = &ecb.info;
    data.probe = ecb.info.probe;
    data.cpu = record.cpu;
    data.timestamp = record.timestamp;
    data.flow = ecb.flow;
    data.prefix = ecb.prefix;
    data.record = bytes;
    if (runner.display.flowindent)
        flows.set(round.records(), index, data);
    return runner.run(ecb, data, out, sink);
}

Result<Ok> Consumer::drain(DrainKind kind, Output& out, RecordSink& sink)
{
    const bool final = kind == DrainKind::Final;
    const std::uint64_t began = impl_->config.clock();
    std::uint32_t n_left = impl_->n_shards;
    impl_->reader.begin_drain();
    if (final)
        if (auto counted = impl_->snapshot(kind); !counted)
            return counted;
    for (;;) {
        auto done = impl_->drain_round(kind, began, n_left, out, sink);
        if (!done || !final || n_left == 0)
            return done;
    }
}

// Runs one round of a drain. The final drain consists of as many rounds as it needs.
// Any other drain consists of one round, and leaves the remaining records to the next
// drain.
Result<Ok> Consumer::Impl::drain_round(DrainKind kind, std::uint64_t began,
                                       std::uint32_t& n_left, Output& out,
                                       RecordSink& sink)
{
    const bool final = kind == DrainKind::Final;
    // Buffers with the policies ring and fill are read only once, at the end, because a
    // ring buffer keeps the newest records, and a fill buffer the oldest ones that fit.
    // No records are collected while records of the previous round are still waiting to
    // be processed.
    if (final ||
        (n_due == 0 && arena->options[DTRACEOPT_bufpolicy] == DT_BUFPOLICY_SWITCH)) {
        if (auto collected = collect(kind, began, n_left); !collected)
            return collected;
        // A locked shard may still deliver records that are older than `began`. So the
        // watermark is the earliest time at which a shard was last read; shards that
        // have been locked for too long are ignored.
        watermark = std::max(watermark, std::min(began, reader.read_until()));
    }
    if (!final)
        if (auto counted = snapshot(kind); !counted)
            return counted;
    round.order();
    auto records = round.records();
    std::size_t n = records.size();
    if (n_due != 0 && !final)
        n = n_due;
    // Records after the watermark are held back only while all held records
    // together are no larger than the records of two rounds. Without this limit,
    // forged timestamps could fill the memory.
    else if (!final && runner.display.temporal &&
             round.held_bytes() <= 2 * round_bytes())
        n = static_cast<std::size_t>(
            std::partition_point(
                records.begin(), records.end(),
                [&](const RoundRecord& r) { return r.timestamp < watermark; }) -
            records.begin());
    return run_records(final, n, out, sink);
}

// How long a round may process records before it leaves the rest for the next round. A
// record can take a long time: for example, printa() prints all keys. The session
// does no other work in this time.
constexpr std::uint64_t longest_run_ns = 500'000'000;

// Processes the first n records of the round, or fewer if the time limit is reached.
// Keeps the remaining records for the next round.
Result<Ok> Consumer::Impl::run_records(bool final, std::size_t n, Output& out,
                                       RecordSink& sink)
{
    constexpr std::size_t look_after = 8; // records between two readings of the clock
    const std::uint64_t ends = monotonic_ns() + longest_run_ns;
    Result<Ok> result = Ok{};
    std::size_t done = 0;
    flows.begin_round();
    while (done < n && result) {
        result = run(done, out, sink);
        done++;
        if (!final && done % look_after == 0 && monotonic_ns() >= ends)
            break;
    }
    n_due = result ? n - done : 0;
    if (n_due == 0)
        delivered_until = watermark;
    round.hold(done);
    auto committed = out.commit();
    return result ? committed : result;
}

std::uint64_t Consumer::consumed_until() const
{
    return impl_->delivered_until;
}

bool Consumer::is_late() const
{
    return impl_->n_due != 0;
}

void Consumer::rename_probe(std::uint32_t id)
{
    impl_->ecbs.rename(id);
}

bool Consumer::report_drops(DrainKind kind)
{
    return !impl_->config.events ||
           impl_->drops.report(impl_->arena, impl_->runner.display.droptags,
                               *impl_->config.events, impl_->config.clock(),
                               kind == DrainKind::Final
                                   ? DropCounts::When::Now
                                   : DropCounts::When::OncePerSecond);
}

Result<Ok> Consumer::print_aggregations(Output& out, bool all)
{
    Runner& runner = impl_->runner;
    auto rows = runner.aggregates.entries(0, AggOrder::ByOption, runner.display);
    if (!all)
        std::erase_if(rows, [&](const AggEntry* row) {
            return runner.aggregates.find(row->agg->id)->printed;
        });
    PackedTables tables(rows, runner.display);
    for (const AggEntry* row : rows)
        if (auto printed = print_entry(out, *row, &tables); !printed)
            return printed;
    return out.flush();
}

Result<Ok> Consumer::print_entry(Output& out, const AggEntry& entry,
                                 PackedTables* tables)
{
    AggColumn column{entry.agg, &entry};
    if (display().form != OutputForm::text) {
        put_structured(out.text(), impl_->runner.context(), display().form, entry);
        return out.commit();
    }
    return print_agg_row(out, impl_->runner.context(), {&column, 1}, {}, tables);
}

double Consumer::fullest() const
{
    const auto size = static_cast<double>(impl_->arena->plan.principal_bytes);
    std::uint64_t most = 0;
    for (std::uint32_t shard = 0; shard < impl_->n_shards; shard++)
        most = std::max(
            most, std::uint64_t{dt_fill(impl_->arena, shard, DT_BUFFER_PRINCIPAL)});
    return std::min(1.0, static_cast<double>(most) / size);
}

// Returns whether aggregations should be read now. The buffers are large, so that a
// delayed consumer loses nothing. Their pages use no memory until they are written, and
// frequent reads keep most pages unwritten.
bool Consumer::wants_snapshot() const
{
    const std::uint64_t mark =
        std::min(impl_->arena->plan.agg_bytes / 4, dt_u64{early_bytes});
    for (std::uint32_t shard = 0; shard < impl_->n_shards; shard++)
        if (dt_fill(impl_->arena, shard, DT_BUFFER_AGGREGATION) >= mark)
            return true;
    return false;
}

std::optional<int> Consumer::exit_status() const
{
    return impl_->runner.exit_status;
}

Aggregates& Consumer::aggregates()
{
    return impl_->runner.aggregates;
}

const EcbInfo* Consumer::ecb(std::uint32_t epid)
{
    EcbState* state = impl_->ecbs.find(epid);
    return state ? &state->info : nullptr;
}

} // namespace dt
