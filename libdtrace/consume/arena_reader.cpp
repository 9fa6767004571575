// SPDX-License-Identifier: MIT
#include "libdtrace/consume/arena_reader.hpp"

#include "dif/engine.h"
#include "libdtrace/consume/values.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <sys/mman.h>
#include <utility>

namespace dt {

// If an aggregation buffer contains at least this many bytes, wants_snapshot() returns
// true, so the buffer is read without waiting for the next round.
constexpr std::uint64_t early_bytes = 1 << 20;

ArenaReader::ArenaReader(const Consumer::Config& config, void* arena,
                         std::uint32_t number, EcbTable& ecbs, Aggregates& aggregates,
                         DropCounts& drops, int& waits_left)
    : config_(config), arena_(static_cast<dt_arena*>(arena)), number_(number),
      n_shards_(std::min<std::uint32_t>(arena_->n_shards, DT_MAX_SHARDS)), ecbs_(ecbs),
      aggregates_(aggregates), drops_(drops),
      reader_(config, arena, n_shards_, waits_left), liars_(n_shards_)
{
}

void ArenaReader::retire(std::uint64_t now)
{
    retired_at_ = now;
    reader_.take_over_locks();
}

bool ArenaReader::is_finished() const
{
    return retired_at_ && n_unread_ == 0 && reader_.read_until() >= *retired_at_;
}

void ArenaReader::begin_drain()
{
    begin_snapshot();
    n_unread_ = n_shards_;
}

// Returns how many full buffers a round may copy. Threads on n CPUs fill at most about
// n shared shards between two rounds. If more are full, a target has forged data.
std::uint64_t ArenaReader::round_buffers() const
{
    return std::uint64_t{arena_->counters.n_cpus} + (n_shards_ - arena_->n_shared) + 2;
}

std::uint64_t ArenaReader::round_bytes() const
{
    return round_buffers() * arena_->plan.principal_bytes;
}

void ArenaReader::distrust(std::uint32_t shard, const char* what)
{
    if (!liars_[shard] && config_.events)
        config_.events->complain("buffer " + std::to_string(shard) + " " + what +
                                 ": a traced process has overwritten the buffer, and "
                                 "the rest of its data is lost");
    liars_[shard] = true;
}

// Counts a dropped key. Reports only the first one.
void ArenaReader::drop_value(std::uint32_t shard)
{
    drops_.lose_aggregated(shard);
    if (!std::exchange(dropped_keys_, true) && config_.events)
        config_.events->complain(
            "aggregations use " + std::to_string(config_.max_aggregated_bytes >> 20) +
            " MiB, the maximum for this session: further keys are "
            "dropped; use fewer keys, or remove some with trunc()");
}

Result<Ok> ArenaReader::collect(DrainKind kind, std::uint64_t began, Round& round)
{
    const std::uint64_t room_bytes = arena_->plan.principal_bytes;
    // With the policy "fill", the second buffer contains the records of END if the
    // first buffer is full.
    const int n_buffers =
        arena_->options[DTRACEOPT_bufpolicy] == DT_BUFPOLICY_FILL ? 2 : 1;
    const std::uint64_t enough = round_bytes();
    std::uint64_t copied = 0;
    for (; n_unread_ > 0 && copied < enough; n_unread_--) {
        const std::uint32_t shard = next_shard_;
        next_shard_ = (next_shard_ + 1) % n_shards_;
        for (int buffer = 0; buffer < n_buffers; buffer++) {
            std::byte* to = round.room(room_bytes);
            if (!to)
                return Error{Code::limit, "drain buffers: out of memory", ENOMEM};
            const dt_s64 n = reader_.take_records(kind, shard, to, room_bytes, began);
            if (n < 0)
                break;
            auto bytes = std::min(static_cast<std::uint64_t>(n), room_bytes);
            copied += bytes;
            if (bytes > 0 &&
                !round.collect(bytes, number_, shard, ecbs_, config_.clock()))
                distrust(shard, "holds a record that belongs to no clause");
        }
    }
    return Ok{};
}

// Moves the first entry of `bytes` to `update`. Returns null on success, or the reason
// why the entry is invalid.
const char* ArenaReader::take_entry(From from, std::uint32_t shard,
                                    std::span<std::byte>& bytes, AggUpdate& update)
{
    auto entry = load_as<dt_aggent>(bytes.data());
    std::uint64_t needed =
        sizeof entry + std::uint64_t{entry.key_bytes} + entry.value_bytes;
    if (entry.bytes < needed || entry.bytes > bytes.size() || entry.bytes % 8 != 0)
        return "holds an aggregation with an impossible size";
    EcbState* ecb = from == From::counters ? ecbs_.find_counted(number_, entry.epid)
                                           : ecbs_.find_in(number_, shard, entry.epid);
    auto described = ecb ? ecb->aggregations.find(entry.action)
                         : decltype(ecb->aggregations.end()){};
    if (!ecb || described == ecb->aggregations.end() ||
        described->second.desc.id != entry.aggvar)
        return "holds an aggregation that belongs to no clause";
    AggDesc*& declared = described->second.declared;
    if (!declared)
        declared = &aggregates_.declare(AggDesc(described->second.desc));
    // The entry is untrusted. merge() checks the lengths of its key and value.
    auto body = bytes.subspan(sizeof entry);
    update = {declared, body.first(entry.key_bytes),
              body.subspan(entry.key_bytes, entry.value_bytes)};
    if (declared->has_symbols && config_.symbols != nullptr &&
        entry.key_bytes == declared->key_bytes)
        for (const RecordDesc& part : declared->parts)
            begin_symbol(*config_.symbols, part.action,
                         body.subspan(part.offset, part.size));
    bytes = bytes.subspan(entry.bytes);
    return nullptr;
}

void ArenaReader::take_aggregations(From from, std::uint32_t shard,
                                    std::span<std::byte> bytes, std::size_t place)
{
    while (bytes.size() >= sizeof(dt_aggent)) {
        std::array<AggUpdate, Aggregates::most_updates> updates;
        std::size_t n = 0;
        const char* wrong = nullptr;
        while (n < updates.size() && bytes.size() >= sizeof(dt_aggent)) {
            wrong = take_entry(from, shard, bytes, updates.at(n));
            if (wrong)
                break;
            n++;
        }
        const Merged merged = aggregates_.merge(std::span(updates).first(n), place);
        for (std::size_t i = 0; i < merged.n_dropped; i++)
            drop_value(shard);
        if (merged.n < n)
            return distrust(shard,
                            "holds an aggregation that does not match its clause");
        if (wrong)
            return distrust(shard, wrong);
    }
}

// Reads the counters of native code, which belong to no shard.
Result<Ok> ArenaReader::snapshot_counters()
{
    constexpr std::uint64_t room_bytes =
        2 * DT_COUNTERS_BYTES; // enough for the largest entry
    std::byte* to = agg_copy_.room(room_bytes);
    if (!to)
        return Error{Code::limit, "read the aggregation counters: out of memory",
                     ENOMEM};
    for (std::uint32_t set = 0; set <= arena_->counters.n_cpus; set++) {
        // Counters are handled as entries of the last shard, which no target maps.
        for (dt_u64 from = 0; from != DT_COUNTERS_DONE;) {
            dt_s64 n = dt_drain_counters(arena_, set, &from, to, room_bytes);
            if (n == 0)
                break;
            take_aggregations(From::counters, n_shards_ - 1,
                              {to, static_cast<std::uint64_t>(n)},
                              set > 0 ? set - 1 : arena_->counters.n_cpus);
        }
    }
    return Ok{};
}

// Returns the memory of a shard's inactive aggregation buffer to the system. The buffer
// has just been read. Called only for shards that belong to no CPU, because such shards
// are rarely used.
void ArenaReader::return_memory(std::uint32_t shard)
{
    auto* header = static_cast<dt_shard*>(
        dt_at(arena_, arena_->shards + shard * arena_->shard_bytes));
    const std::uint32_t active =
        __atomic_load_n(&header->agg_active, __ATOMIC_RELAXED) & 1;
    constexpr std::uintptr_t page = 4096;
    const auto begin =
        reinterpret_cast<std::uintptr_t>(header) + arena_->plan.agg[active ^ 1];
    const std::uintptr_t end = (begin + arena_->plan.agg_bytes) & ~(page - 1);
    // A failure only leaves the memory in use.
    if (begin % page == 0 && begin < end)
        ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_REMOVE);
}

Result<Ok> ArenaReader::snapshot(DrainKind kind)
{
    const std::uint64_t room_bytes = arena_->plan.agg_bytes;
    std::byte* to = agg_copy_.room(room_bytes);
    if (!to)
        return Error{Code::limit, "read the aggregations: out of memory", ENOMEM};
    // The limit includes the buffers of parked shards, which are almost full.
    const std::uint64_t enough =
        (round_buffers() + arena_->plan.n_parkable) * room_bytes;
    std::uint64_t copied = 0;
    for (std::uint32_t n_left = n_shards_;
         n_left > 0 && (copied < enough || kind == DrainKind::Final); n_left--) {
        const std::uint32_t shard = next_agg_shard_;
        next_agg_shard_ = (next_agg_shard_ + 1) % n_shards_;
        const dt_s64 n = reader_.take_aggregations(kind, shard, to, room_bytes);
        if (n <= 0)
            continue;
        const auto bytes = std::min(static_cast<std::uint64_t>(n), room_bytes);
        copied += bytes;
        take_aggregations(From::shard, shard, {to, bytes},
                          std::min(shard, arena_->counters.n_cpus));
        if (config_.returns_memory && shard >= arena_->counters.n_cpus &&
            bytes >= early_bytes)
            return_memory(shard);
    }
    return snapshot_counters();
}

double ArenaReader::fullest() const
{
    const auto size = static_cast<double>(arena_->plan.principal_bytes);
    std::uint64_t most = 0;
    for (std::uint32_t shard = 0; shard < n_shards_; shard++)
        most =
            std::max(most, std::uint64_t{dt_fill(arena_, shard, DT_BUFFER_PRINCIPAL)});
    return std::min(1.0, static_cast<double>(most) / size);
}

// Returns true long before a buffer is full. Frequent reads save memory, because
// firings then use only the first pages of a buffer.
bool ArenaReader::wants_snapshot() const
{
    const std::uint64_t mark =
        std::min(arena_->plan.agg_bytes / 4, dt_u64{early_bytes});
    for (std::uint32_t shard = 0; shard < n_shards_; shard++)
        if (dt_fill(arena_, shard, DT_BUFFER_AGGREGATION) >= mark)
            return true;
    return false;
}

} // namespace dt
