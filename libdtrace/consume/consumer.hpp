// SPDX-License-Identifier: MIT
// The consumer of one session reads records and aggregations from the session's arenas
// and prints text. Each trust domain (process/trust_domain.hpp) has an arena. All
// arenas have the same program part.
//
//   shards ──drain──> records ──merge by time──> RecordSink ──> printers ──> Output
//   shards ──snapshot──> Aggregates ──printa, print_aggregations──> Output
//   drop counters ──report_drops──> Events
//
//   Consumer consumer(config);
//   consumer.add_program(program, first_clause);   // after each dt_load()
//   loop, at the rate of the option switchrate, or earlier if fullest() is high:
//         consumer.drain(DrainKind::Round, output, sink), consumer.report_drops()
//   between the drains, if consumer.wants_snapshot():
//         consumer.snapshot()
//   end:  consumer.drain(DrainKind::Final, ...), consumer.print_aggregations(output)
//
// With -x temporal, records are printed in chronological order. A round prints the
// records before the watermark, which is usually the start of the round. If a shard is
// locked, the watermark is the time at which that shard was last read. Newer records
// wait for the next round.
//
// Targets can write the data part of an arena, so each record is checked against its
// clause.
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
#include <vector>

namespace dt {

enum class DrainKind { Round, Final };

class Consumer {
public:
    struct Config {
        void* arena = nullptr;         // the first arena
        Symbolizer* symbols = nullptr; // if null, addresses are printed in hex
        Events* events = nullptr;      // if null, faults and drops are not reported
        std::uint32_t owner = 0; // id written to shard locks; 0 for the thread's id
        // Returns whether the owner of a lock is alive. If null, kill(2) is used.
        int (*alive)(dt_u32 owner) = nullptr;
        bool per_cpu = false; // aggregations also store the values of each CPU
        // Whether the consumer may return the memory of rarely used buffers to the
        // system. Only an arena in a memory file allows that.
        bool returns_memory = false;
        // The maximum size of all keys and values in bytes.
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

    // Adds an arena with the same program part as the first one. `number` must be
    // unique. The first arena has the number 0.
    void add_arena(void* arena, std::uint32_t number);
    // Removes an arena after the next drains have read its remaining data. Probes must
    // no longer fire in the arena. Must not be called for the first arena.
    void retire_arena(const void* arena);
    // Returns the arenas that were removed since the last call.
    std::vector<const void*> take_removed();
    // See EcbTable::bind().
    void bind_probe(std::uint32_t id, std::optional<std::uint32_t> arena);

    Display& display();

    // Runs one round: copies records, takes a snapshot of aggregations, and processes
    // the records. So a printa() shows all values that were aggregated before it. With
    // DrainKind::Final, runs rounds until all shards have been read.
    Result<Ok> drain(DrainKind kind, Output& out, RecordSink& sink);
    // Reads only the aggregations.
    Result<Ok> snapshot();
    // Returns whether the last round ran out of time.
    bool is_late() const;
    // Returns the time (of Config::clock) before which all records have been delivered.
    std::uint64_t consumed_until() const;
    // See EcbTable::rename().
    void rename_probe(std::uint32_t id);
    // Reports the drops since the last report. With DrainKind::Round, reports at most
    // once a second. Returns false if a handler stopped the consumer.
    bool report_drops(DrainKind kind = DrainKind::Final);
    // Prints the aggregations that printa() has not printed. With `all`, prints every
    // aggregation.
    Result<Ok> print_aggregations(Output& out, bool all = false);
    // Prints one entry in the form that -x format selects. `tables` describes all rows
    // that are printed with this entry.
    Result<Ok> print_entry(Output& out, const AggEntry& entry,
                           class PackedTables* tables = nullptr);

    // Returns how full the fullest active principal buffer is, from 0 to 1.
    double fullest() const;
    // Returns whether an aggregation buffer should be read now.
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
