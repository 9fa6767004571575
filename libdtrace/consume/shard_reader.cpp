// SPDX-License-Identifier: MIT
#include "libdtrace/consume/shard_reader.hpp"

#include "libdtrace/consume/record.hpp"

#include <algorithm>
#include <string>
#include <unistd.h>

namespace dt {

namespace {

// The maximum number of rounds for which a locked shard delays other shards' records.
constexpr int max_locked_rounds = 5;

// The maximum number of lock tests in a drain, and the minimum for each shard.
constexpr dt_u32 drain_spins = 4 * DT_WAIT_SPINS, least_spins = DT_WAIT_SPINS / 64;

} // namespace

ShardReader::ShardReader(const Consumer::Config& config, void* arena,
                         std::uint32_t n_shards, int& waits_left)
    : arena_(arena), owner_(config.owner), alive_(config.alive), events_(config.events),
      silent_(n_shards), read_at_(n_shards), waits_left_(waits_left)
{
}

void ShardReader::begin_snapshot()
{
    spins_left_ = drain_spins;
}

void ShardReader::take_over_locks()
{
    alive_ = [](dt_u32) { return 0; };
}

dt_s64 ShardReader::take_records(DrainKind kind, std::uint32_t shard, std::byte* to,
                                 std::uint64_t max, std::uint64_t began)
{
    const dt_s64 n = take(dt_drain_principal, "records", kind, shard, to, max);
    if (n < 0) {
        silent_[shard] = std::min(silent_[shard] + 1, max_locked_rounds + 1);
    } else {
        silent_[shard] = 0;
        read_at_[shard] = began;
    }
    return n;
}

dt_s64 ShardReader::take_aggregations(DrainKind kind, std::uint32_t shard,
                                      std::byte* to, std::uint64_t max)
{
    return take(dt_drain_agg, "aggregations", kind, shard, to, max);
}

dt_s64 ShardReader::take(Drain& drain, const char* contents, DrainKind kind,
                         std::uint32_t shard, std::byte* to, std::uint64_t max)
{
    constexpr int most_halvings = 6;
    for (;;) {
        const dt_u32 given = std::max(
            least_spins,
            std::min<dt_u32>(DT_WAIT_SPINS >> std::min(silent_[shard], most_halvings),
                             spins_left_));
        dt_u32 spins = given;
        const dt_s64 n = drain(arena_, shard, owner_, to, max, alive_, &spins);
        spins_left_ -= std::min(spins_left_, given - spins);
        if (n >= 0)
            return n;
        if (kind != DrainKind::Final || waits_left_ == 0)
            break;
        waits_left_--;
        usleep(1000);
    }
    if (kind == DrainKind::Final && events_ != nullptr)
        events_->complain("a thread is still using buffer " + std::to_string(shard) +
                          "; the last " + contents + " in it are lost");
    return -1;
}

std::uint64_t ShardReader::read_until() const
{
    std::uint64_t until = ~std::uint64_t{0};
    for (std::size_t shard = 0; shard < silent_.size(); shard++)
        if (silent_[shard] <= max_locked_rounds)
            until = std::min(until, read_at_[shard]);
    return until;
}

} // namespace dt
