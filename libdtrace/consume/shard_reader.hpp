// SPDX-License-Identifier: MIT
// Copies the buffers of shards, which threads of targets may have locked.
//
//   begin_snapshot() ──> take_records(), take_aggregations() per shard
//
// A firing locks its shard only briefly, but targets can hold locks forever. So all
// shards of a round share a budget of lock tests. Each time that a shard is found
// locked, its part of the budget becomes smaller. If the final drain cannot lock a
// shard, the shard's data is lost. So only the final drain also waits for locks.
#pragma once

#include "dif/engine.h"
#include "libdtrace/consume/consumer.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

class ShardReader {
public:
    // config.owner and config.alive must be set. `waits_left` is how often the final
    // drain may still wait 1 ms for a lock. All arenas share it.
    ShardReader(const Consumer::Config& config, void* arena, std::uint32_t n_shards,
                int& waits_left);

    // Refills the budget of lock tests.
    void begin_snapshot();

    // Swap the two buffers of a shard, and copy the previously active buffer to `to`.
    // `max` is the size of a buffer. Return the number of bytes copied, or -1 if the
    // shard stays locked. `began` is the start time of the round.
    dt_s64 take_records(DrainKind kind, std::uint32_t shard, std::byte* to,
                        std::uint64_t max, std::uint64_t began);
    dt_s64 take_aggregations(DrainKind kind, std::uint32_t shard, std::byte* to,
                             std::uint64_t max);

    // Returns the time up to which all records have been copied. Ignores shards that
    // have been locked for many rounds.
    std::uint64_t read_until() const;

    // Takes over all locks, as if their holders were dead.
    void take_over_locks();

private:
    using Drain = decltype(dt_drain_principal);
    dt_s64 take(Drain& drain, const char* contents, DrainKind kind, std::uint32_t shard,
                std::byte* to, std::uint64_t max);

    void* arena_;
    std::uint32_t owner_;
    int (*alive_)(dt_u32 owner);
    Events* events_; // null if problems are not reported
    // number of consecutive rounds in which the shard was locked
    std::vector<int> silent_;
    // start time of the last round that read the shard
    std::vector<std::uint64_t> read_at_;
    dt_u32 spins_left_ = 0; // how many more times a drain may test locks
    int& waits_left_;
};

} // namespace dt
