// SPDX-License-Identifier: MIT
// Reads the buffers of one arena for the consumer.
//
//   shards ──collect()──> Round           records, which the round sorts by time
//   shards ──snapshot()──> Aggregates     aggregation buffers, and the counters of
//                                         native code
//
// Each drain or snapshot reads a limited number of buffers, because a hostile target
// can fill buffers faster than the consumer reads them. The next drain continues with
// the first unread shard. All data are checked against the clause to which they belong.
// A shard with invalid data is reported once, and the rest of the copied data is
// discarded.
#pragma once

#include "libdtrace/consume/aggregates.hpp"
#include "libdtrace/consume/consumer.hpp"
#include "libdtrace/consume/drops.hpp"
#include "libdtrace/consume/ecb_table.hpp"
#include "libdtrace/consume/round.hpp"
#include "libdtrace/consume/shard_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dt {

class ArenaReader {
public:
    // The references must outlive this object. config.owner and config.alive must be
    // set. `number` identifies the arena in EcbTable::bind().
    ArenaReader(const Consumer::Config& config, void* arena, std::uint32_t number,
                EcbTable& ecbs, Aggregates& aggregates, DropCounts& drops,
                int& waits_left);

    const dt_arena* arena() const { return arena_; }
    // Called when all processes that used the arena have exited. The next drains read
    // the remaining data.
    void retire(std::uint64_t now);
    bool is_retired() const { return retired_at_.has_value(); }
    // Returns whether the arena is retired and all of its data have been read.
    bool is_finished() const;

    // Must be called before snapshot().
    void begin_snapshot() { reader_.begin_snapshot(); }
    // Must be called at the beginning of a drain, before the first collect() and
    // snapshot().
    void begin_drain();

    // Copies records of shards to `round`, until all shards have been read or the round
    // has enough records. `began` is the start time of the drain.
    Result<Ok> collect(DrainKind kind, std::uint64_t began, Round& round);
    // Returns whether this drain has not yet read the records of some shards.
    bool has_unread() const { return n_unread_ > 0; }
    // Returns the time up to which the records of all shards have been copied.
    std::uint64_t read_until() const { return reader_.read_until(); }
    // Returns the maximum size of the records that one round copies from this arena.
    std::uint64_t round_bytes() const;

    // Reads the aggregations of all shards once. If `kind` is Round, stops after the
    // maximum number of bytes for one round.
    Result<Ok> snapshot(DrainKind kind);

    // Implement Consumer::fullest() and Consumer::wants_snapshot() for this arena.
    double fullest() const;
    bool wants_snapshot() const;

private:
    std::uint64_t round_buffers() const;
    enum class From { shard, counters };
    const char* take_entry(From from, std::uint32_t shard, std::span<std::byte>& bytes,
                           AggUpdate& update);
    void take_aggregations(From from, std::uint32_t shard, std::span<std::byte> bytes,
                           std::size_t place);
    Result<Ok> snapshot_counters();
    void return_memory(std::uint32_t shard);
    void distrust(std::uint32_t shard, const char* what);
    void drop_value(std::uint32_t shard);

    const Consumer::Config& config_;
    dt_arena* arena_;
    std::uint32_t number_, n_shards_;
    std::optional<std::uint64_t> retired_at_;
    EcbTable& ecbs_;
    Aggregates& aggregates_;
    DropCounts& drops_;
    ShardReader reader_;
    ByteBuffer agg_copy_;
    std::vector<bool> liars_; // shards with invalid data, already reported
    bool dropped_keys_ = false;
    std::uint32_t next_shard_ = 0, next_agg_shard_ = 0, n_unread_ = 0;
};

} // namespace dt
