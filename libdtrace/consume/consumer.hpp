// SPDX-License-Identifier: MIT
// The consumer of one session reads records and aggregations from the arena and prints
// text.
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
// Time order: a record is printed once its timestamp is before the start of the current
// round, because no shard can deliver an older record after that. Newer records wait
// for the next round. DrainKind::Final prints all records. Without the temporal option,
// a round prints all of its records, sorted only within the round.
//
// Targets can write the data part of the arena. The engine copies buffers within their
// bounds. This code checks each record against its clause before use. A shard with an
// invalid record is reported once, and the rest of its copy is discarded.
//
// Only one thread may use a consumer at a time.
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
        Symbolizer* symbols = nullptr; // null: addresses print in hex
        Events* events = nullptr;      // null: faults and drops are not reported
        std::uint32_t owner = 0;       // our id in the locks of shards; 0: the thread's
        int (*alive)(dt_u32 owner) = nullptr; // null: asks the system
        bool per_cpu = false; // aggregations also store the values of each CPU
        // The arena is a file in memory. After a burst of keys, the pages of buffers
        // that are rarely used are returned to the system.
        bool returns_memory = false;
        // The limit for all keys and values together.
        std::uint64_t max_aggregated_bytes = ~std::uint64_t{0};
        std::function<std::uint64_t()> clock = monotonic_ns;
    };
    explicit Consumer(Config config);
    ~Consumer();
    Consumer(const Consumer&) = delete;
    Consumer& operator=(const Consumer&) = delete;

    // Adds a program whose clause k is the arena's clause first_clause + k.
    void add_program(std::shared_ptr<const Program> program,
                     std::uint32_t first_clause);

    Display& display();

    // Runs one round: copies records from the shards, takes a snapshot of aggregations,
    // then runs the records. Therefore a printa() shows at least all values that were
    // aggregated before it was recorded.
    Result<Ok> drain(DrainKind kind, Output& out, RecordSink& sink);
    // Reads only the aggregations.
    Result<Ok> snapshot();
    // Returns whether the last round ran out of time before it had run all of its
    // records.
    bool is_late() const;
    // Returns the time (of Config::clock) before which all records have been delivered.
    std::uint64_t consumed_until() const;
    // See EcbTable::rename().
    void rename_probe(std::uint32_t id);
    // Reports the drops since the last report, by kind and CPU. After DrainKind::Round,
    // reports at most once a second. Returns false if a handler stopped the consumer.
    bool report_drops(DrainKind kind = DrainKind::Final);
    // Called at the end of tracing. Prints the aggregations that printa() has not
    // printed or, with `all`, every aggregation.
    Result<Ok> print_aggregations(Output& out, bool all = false);
    // Prints one entry as -x format says, by default like printa() without a format.
    // `tables` describes all rows that are printed with it.
    Result<Ok> print_entry(Output& out, const AggEntry& entry,
                           class PackedTables* tables = nullptr);

    // Returns the fill level of the fullest active principal buffer, from 0 to 1.
    double fullest() const;
    // Returns whether an aggregation buffer is so full that it should be read now.
    bool wants_snapshot() const;
    // Returns the status of the last exit() record, or nullopt if there was none.
    std::optional<int> exit_status() const;
    Aggregates& aggregates();
    // Returns null if there is no such EPID, or if its clause was not added.
    const EcbInfo* ecb(std::uint32_t epid);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace dt
