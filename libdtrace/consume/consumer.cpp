// SPDX-License-Identifier: MIT
// The rounds of the consumer. A round drains records, takes a snapshot of the
// aggregations, sorts the records and processes them.
#include "libdtrace/consume/consumer.hpp"

#include "libdtrace/consume/arena_reader.hpp"
#include "libdtrace/consume/cpu_flows.hpp"

#include "dif/distribution.h"

#include "base/clock_ns.hpp"
#include "dif/engine.h"
#include "libdtrace/consume/drops.hpp"
#include "libdtrace/consume/faults.hpp"
#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/round.hpp"
#include "libdtrace/consume/runner.hpp"
#include "libdtrace/consume/structured.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <unistd.h>
#include <utility>

namespace dt {

namespace {

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
          arena(static_cast<const dt_arena*>(config.arena)), ecbs(arena),
          runner(config.symbols ? *config.symbols : no_symbols, config.events)
    {
        add_arena(config.arena, 0);
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

    void add_arena(void* from, std::uint32_t number)
    {
        readers.push_back(std::make_unique<ArenaReader>(
            config, from, number, ecbs, runner.aggregates, drops, waits_left));
        drops.add_arena(static_cast<const dt_arena*>(from));
    }
    Result<Ok> remove_finished();
    Result<Ok> snapshot(DrainKind kind);
    bool has_unread() const;
    Result<Ok> run(std::size_t index, Output& out, RecordSink& sink);
    Result<Ok> run_records(bool final, std::size_t n, Output& out, RecordSink& sink);
    Result<Ok> drain_round(DrainKind kind, std::uint64_t began, Output& out,
                           RecordSink& sink);

    Config config;
    const dt_arena* arena;
    HexSymbolizer no_symbols;
    EcbTable ecbs;
    Runner runner;
    Round round;
    DropCounts drops;
    int waits_left = 0;                                // see ShardReader
    std::vector<std::unique_ptr<ArenaReader>> readers; // one for each arena
    std::vector<const void*> removed;                  // for take_removed()
    std::uint64_t watermark = 0;
    std::uint64_t delivered_until = 0; // the watermark of the last complete round
    std::size_t n_due = 0; // number of records that the last round did not finish
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

void Consumer::add_arena(void* arena, std::uint32_t number)
{
    impl_->add_arena(arena, number);
}

void Consumer::retire_arena(const void* arena)
{
    for (const std::unique_ptr<ArenaReader>& reader : impl_->readers)
        if (reader->arena() == arena)
            reader->retire(impl_->config.clock());
}

std::vector<const void*> Consumer::take_removed()
{
    return std::exchange(impl_->removed, {});
}

void Consumer::bind_probe(std::uint32_t id, std::optional<std::uint32_t> arena)
{
    impl_->ecbs.bind(id, arena);
}

// Removes the retired arenas that have been read completely.
Result<Ok> Consumer::Impl::remove_finished()
{
    // With the buffer policies ring and fill, records are processed only at the end of
    // tracing. The records of a retired arena are kept until then.
    const bool keeps_records =
        arena->options[DTRACEOPT_bufpolicy] != DT_BUFPOLICY_SWITCH;
    for (auto at = readers.begin(); at != readers.end();) {
        ArenaReader& reader = **at;
        if (keeps_records && reader.is_retired()) {
            constexpr std::size_t most_kept = 64 << 20;
            reader.begin_drain();
            if (round.held_bytes() < most_kept)
                if (auto collected =
                        reader.collect(DrainKind::Final, config.clock(), round);
                    !collected)
                    return collected;
            if (reader.has_unread() && config.events)
                config.events->complain("the buffers of ended processes were too full: "
                                        "some of their records are lost");
        } else if (!reader.is_finished()) {
            ++at;
            continue;
        }
        if (auto counted = reader.snapshot(DrainKind::Final); !counted)
            return counted;
        drops.remove_arena(reader.arena());
        removed.push_back(reader.arena());
        at = readers.erase(at);
    }
    return Ok{};
}

Display& Consumer::display()
{
    return impl_->runner.display;
}

Result<Ok> Consumer::snapshot()
{
    for (const auto& reader : impl_->readers)
        reader->begin_snapshot();
    return impl_->snapshot(DrainKind::Round);
}

Result<Ok> Consumer::Impl::snapshot(DrainKind kind)
{
    for (const auto& reader : readers)
        if (auto counted = reader->snapshot(kind); !counted)
            return counted;
    return Ok{};
}

bool Consumer::Impl::has_unread() const
{
    return std::any_of(readers.begin(), readers.end(),
                       [](const std::unique_ptr<ArenaReader>& reader) {
                           return reader->has_unread();
                       });
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

// The maximum number of times that the final drain waits 1 ms for threads in a probe.
constexpr int most_waits = 1000;

Result<Ok> Consumer::drain(DrainKind kind, Output& out, RecordSink& sink)
{
    const bool final = kind == DrainKind::Final;
    const std::uint64_t began = impl_->config.clock();
    impl_->waits_left = most_waits;
    for (const auto& reader : impl_->readers)
        reader->begin_drain();
    if (final)
        if (auto counted = impl_->snapshot(kind); !counted)
            return counted;
    for (;;) {
        auto done = impl_->drain_round(kind, began, out, sink);
        if (!done || !final || !impl_->has_unread())
            return done;
    }
}

// Runs one round. The final drain runs as many rounds as it needs. Any other drain runs
// one round and leaves the remaining records to the next drain.
Result<Ok> Consumer::Impl::drain_round(DrainKind kind, std::uint64_t began, Output& out,
                                       RecordSink& sink)
{
    const bool final = kind == DrainKind::Final;
    auto round_bytes = [this] {
        std::uint64_t bytes = 0;
        for (const auto& reader : readers)
            bytes += reader->round_bytes();
        return bytes;
    };
    // Buffers with the policies ring and fill are read only once, at the end. No
    // records are collected while records of the previous round wait to be processed.
    if (final ||
        (n_due == 0 && arena->options[DTRACEOPT_bufpolicy] == DT_BUFPOLICY_SWITCH)) {
        // A locked shard may still deliver records that are older than `began`. So the
        // watermark is not later than the last read of any shard. Shards that have been
        // locked for too long are ignored.
        std::uint64_t until = began;
        for (const auto& reader : readers) {
            if (auto collected = reader->collect(kind, began, round); !collected)
                return collected;
            until = std::min(until, reader->read_until());
        }
        watermark = std::max(watermark, until);
    }
    if (!final) {
        if (auto counted = snapshot(kind); !counted)
            return counted;
        if (auto done = remove_finished(); !done)
            return done;
    }
    round.order();
    auto records = round.records();
    std::size_t n = records.size();
    if (n_due != 0 && !final)
        n = n_due;
    else if (!final && arena->options[DTRACEOPT_bufpolicy] != DT_BUFPOLICY_SWITCH)
        n = 0; // see remove_finished()
    // Records after the watermark wait for the next round. The size of the waiting
    // records is limited, because timestamps can be forged.
    else if (!final && runner.display.temporal &&
             round.held_bytes() <= 2 * round_bytes())
        n = static_cast<std::size_t>(
            std::partition_point(
                records.begin(), records.end(),
                [&](const RoundRecord& r) { return r.timestamp < watermark; }) -
            records.begin());
    return run_records(final, n, out, sink);
}

// The maximum duration of a round. The session does no other work in this time.
constexpr std::uint64_t longest_run_ns = 500'000'000;

// Processes the first n records of the round, or fewer if the time limit is reached.
// Keeps the rest for the next round.
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
    if (result && n_due == 0)
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
           impl_->drops.report(impl_->runner.display.droptags, *impl_->config.events,
                               impl_->config.clock(),
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
    double most = 0;
    for (const auto& reader : impl_->readers)
        most = std::max(most, reader->fullest());
    return most;
}

bool Consumer::wants_snapshot() const
{
    return std::any_of(impl_->readers.begin(), impl_->readers.end(),
                       [](const std::unique_ptr<ArenaReader>& reader) {
                           return reader->wants_snapshot();
                       });
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
