// SPDX-License-Identifier: MIT
// The consumer of one session: records and aggregations out of the arena, text out.
//
//   shards ──drain──> records ──merge by time──> RecordSink ──> printers ──> Output
//   shards ──snapshot──> Aggregates ──printa, print_aggregations──> Output
//   status ──report_drops──> Events
//
//   Consumer consumer(arena, bytes, symbols, events);
//   consumer.add_program(program, first_clause);   // after each dt_load()
//   loop: consumer.drain(DrainKind::Round, output, sink)  // at switchrate, or when
//         consumer.fullest() is high; snapshots, then report_drops()
//         consumer.snapshot()                   // when it wants_snapshot()
//   end:  consumer.drain(DrainKind::Final, ...), consumer.print_aggregations(output)
//
// Time order: a record is printed once its timestamp is below the time at which the
// round of draining began, because no shard can then bring an older one; the others
// wait for the next round. Final prints all. Without the temporal option shards are
// printed one after the other.
//
// The data part of the arena is writable by targets. The engine copies buffers out
// within their bounds; here each record is checked against its clause before use, and a
// shard that lies is reported once and its copy thrown away from there on.
//
// Not for use by several threads at once.
#pragma once

#include "base/clock_ns.hpp"
#include "libdtrace/consume/aggregates.hpp"
#include "libdtrace/consume/display.hpp"
#include "libdtrace/consume/output.hpp"
#include "libdtrace/consume/record.hpp"
#include "libdtrace/consume/symbolizer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace dt {

enum class DrainKind { Round, Final };

class Consumer {
public:
    struct Config {
        void* arena = nullptr;
        Symbolizer* symbols = nullptr;        // null: addresses in hex
        Events* events = nullptr;             // null: faults and drops go nowhere
        std::uint32_t owner = 0;              // our id for shard locks; 0: the thread's
        int (*alive)(dt_u32 owner) = nullptr; // null: asks the system
        bool per_cpu = false;                 // aggregations keep what each CPU counted
        std::uint64_t max_aggregated_bytes =
            ~std::uint64_t{0}; // of all keys and values
        std::function<std::uint64_t()> clock = monotonic_ns;
    };
    explicit Consumer(Config config);
    ~Consumer();
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;

    // Clause k of the program is the arena's clause first_clause + k.
    void add_program(std::shared_ptr<const Program> program,
                     std::uint32_t first_clause);

    Display& display();

    // One round: records out of all shards, then an aggregation snapshot, then the
    // records are run. So a printa() shows at least what was counted before it.
    Result<Ok> drain(DrainKind kind, Output& out, RecordSink& sink);
    // Aggregations alone.
    Result<Ok> snapshot();
    // Returns whether the last round had no time to run all its records.
    bool is_late() const;
    // Each record that was made before this time (of Config::clock) has been delivered.
    std::uint64_t consumed_until() const;
    // See EcbTable::rename().
    void rename_probe(std::uint32_t id);
    // Reports what was lost since the last report, per shard and kind. After a round it
    // does so at most once a second. Returns false if a handler ended the consumption.
    bool report_drops(DrainKind kind = DrainKind::Final);
    // The final dump: every aggregation that printa() has not shown; `all` shows those
    // too.
    Result<Ok> print_aggregations(Output& out, bool all = false);
    // One entry as the default printa() shows it (for walkers of the C API).
    // tables: of all rows that are printed with it.
    Result<Ok> print_entry(Output& out, const AggEntry& entry,
                           class PackedTables* tables = nullptr);

    // Fill of the fullest active principal buffer, 0 to 1.
    double fullest() const;
    // Returns whether an aggregation buffer is so full that it should be read now.
    bool wants_snapshot() const;
    // A record of exit() was seen; the last one's status.
    std::optional<int> exit_status() const;
    Aggregates& aggregates();
    // Null: no such EPID, or a clause that no program told of.
    const EcbInfo* ecb(std::uint32_t epid);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// The sink of dtrace(1): header once, a row per record, -q and -F as display says.
class RowPrinter : public RecordSink {
public:
    RowPrinter(Output& out, const Display& display) : out_(out), display_(display) {}
    Verdict probe(const ProbeData& data) override;
    Verdict record(const ProbeData& data, const RecordDesc* desc) override;
    bool writes_beside() const override { return false; }

private:
    Output& out_;
    const Display& display_;
    bool header_done_ = false;
};

} // namespace dt
