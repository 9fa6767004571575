// SPDX-License-Identifier: MIT
// The consumer's aggregations: the values of all shards, merged by key.
//
//   shard buffers ──snapshot──> merge() ──> AggEntry per (aggregation, key bytes)
//
// Draining empties a shard's buffer, so merge() adds the drained values to those of
// earlier drains. For min(), merge() keeps the smaller value, and for max() the larger
// one. All other functions add up 64-bit integers or doubles (stddev()'s sum of integer
// squares has 128 bits). clear(), trunc() and normalize() change the consumer's
// entries, never the arena.
//
// With keep_places(), an entry also stores one value for each CPU, and one for the
// values whose CPU is not known. In the code, "place" means the index of such a value.
// If a thread finds the shard of its CPU busy, it uses the next shard, and its values
// are counted for the CPU of that shard.
//
// limit_memory() limits the memory of all entries, because a target can create keys
// faster than a user can read them. Values for known keys are always added.
#pragma once

#include "libdtrace/consume/display.hpp"
#include "libdtrace/consume/record.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dt {

// One aggregation of a program. The parts describe the key. Their offsets are counted
// from the start of the key.
struct AggDesc {
    std::uint32_t id = 0; // id of the variable
    std::string name;     // without the @
    std::uint32_t function = 0;
    std::uint64_t arg = 0;
    std::vector<RecordDesc> parts;
    std::uint32_t key_bytes = 0, value_bytes = 0;
    std::uint32_t epid = 0; // EPID of the first ECB found with this aggregation
    bool printed = false;   // printa() has printed it, so it is not printed at the end
};

struct AggEntry {
    const AggDesc* agg = nullptr;
    std::vector<std::byte> bytes; // the key, then the value
    std::uint64_t normal = 1;
    std::uint64_t order = 0;       // creation sequence number
    std::vector<std::byte> places; // one value per CPU; empty without keep_places()
    std::vector<bool> counted;     // true for each CPU that has a value

    std::span<const std::byte> key() const
    {
        return std::span(bytes).first(agg->key_bytes);
    }
    std::span<const std::byte> part(std::size_t n) const
    {
        const RecordDesc& desc = agg->parts[n];
        return key().subspan(desc.offset, desc.size);
    }
    std::span<const std::byte> value() const
    {
        return std::span(bytes).subspan(agg->key_bytes);
    }
    // Returns the size of the value in 64-bit words.
    std::size_t n_words() const { return agg->value_bytes / 8; }
    std::int64_t word(std::size_t n) const;
    std::span<const std::byte> place(std::size_t n) const
    {
        return std::span(places).subspan(n * agg->value_bytes, agg->value_bytes);
    }
};

// The order of a walk. The C API's dtrace_aggregate_walk_*() functions use these orders
// and their reversals.
enum class AggOrder { Unsorted, ByOption, Key, Value, KeyVariable, ValueVariable };

// The request that a walk's callback returns for an entry. The C API calls these
// requests DTRACE_AGGWALK_*.
enum class AggVerdict {
    Error = -1,
    Next = 0,
    Abort,
    Clear,
    Normalize,
    Denormalize,
    Remove
};

// The value that one shard contains for one key of an aggregation.
struct AggUpdate {
    AggDesc* agg = nullptr;
    std::span<const std::byte> key, value;
};

// The result of merge(), which handles the updates in their order.
struct Merged {
    std::size_t n = 0; // number of updates before the first invalid one
    // number of updates that were dropped because their keys are new and the entries
    // have reached the memory limit
    std::size_t n_dropped = 0;
};

class Aggregates {
public:
    // Declares an aggregation and the layout of its keys. Declaring the same id with
    // the same layout again returns the existing description.
    AggDesc& declare(AggDesc desc);
    // Announces an aggregation of a program before its keys are known. Until declare()
    // is called, printa() prints the aggregation as zero next to other aggregations.
    void announce(AggDesc desc);
    // Returns null if the aggregation was neither declared nor announced.
    AggDesc* find(std::uint32_t id);
    const std::map<std::uint32_t, std::unique_ptr<AggDesc>>& all() const
    {
        return descs_;
    }

    // Makes each entry also store n_places values: one for each CPU, and one for an
    // unknown CPU. Call it before the first merge().
    void keep_places(std::size_t n_places) { n_places_ = n_places; }
    // Returns the initial value of AggEntry::places for a new entry: n_places zero
    // values of the aggregating function.
    std::vector<std::byte> zero_places(const AggDesc& agg) const;

    // Limits the memory of all entries to approximately this number of bytes.
    void limit_memory(std::uint64_t bytes) { max_bytes_ = bytes; }

    static constexpr std::size_t most_updates = 32;
    // Adds the values of one shard. `place` is the number of the CPU on which the
    // values were aggregated, or n_places - 1 if the CPU is unknown. Accepts at most
    // most_updates updates. Several updates take less time in one call than in many,
    // because the processor loads their entries from memory at the same time.
    Merged merge(std::span<const AggUpdate> updates, std::size_t place = 0);

    void clear(std::uint32_t id);
    void trunc(std::uint32_t id); // removes all keys
    // Keeps the n keys with the largest values or, if n is negative, the -n keys with
    // the smallest values.
    void trunc(std::uint32_t id, std::int64_t n);
    void normalize(std::uint32_t id, std::uint64_t by);
    void denormalize(std::uint32_t id) { normalize(id, 1); }
    void clear_all(); // implements dtrace_aggregate_clear()

    // Returns the entries of one aggregation, or of all aggregations if id is 0, in the
    // given order.
    std::vector<AggEntry*> entries(std::uint32_t id, AggOrder order,
                                   const Display& display, bool reverse = false);
    // Joins several aggregations by key. Returns one row for each key, with one column
    // for each aggregation. A column is null if its aggregation does not contain the
    // key. The options in `display` determine the order of the rows.
    std::vector<std::vector<AggEntry*>> joined(std::span<const std::uint32_t> ids,
                                               const Display& display);
    // Carries out the request of a walk's callback. Returns false for Error or Abort.
    bool obey(AggEntry& entry, AggVerdict verdict);
    // Calls fn for each entry and carries out the request that fn returns. Returns
    // false if fn requested Error or Abort.
    bool walk(std::uint32_t id, AggOrder order, const Display& display, bool reverse,
              const std::function<AggVerdict(AggEntry&)>& fn);
    std::size_t size() const { return n_entries_; }

    // Compares the keys part by part, starting with part first_part. A key with fewer
    // parts comes first.
    static int compare_keys(const AggEntry& a, const AggEntry& b,
                            std::size_t first_part);

private:
    // Maps keys to entries. Each string_view refers to the key's bytes in the entry.
    using Table = std::unordered_map<std::string_view, std::unique_ptr<AggEntry>>;
    std::uint64_t bytes_of_entry(const AggDesc& agg) const;
    std::size_t recent_slot(std::uint32_t id, std::string_view key) const;
    void prefetch(std::span<const AggUpdate> updates,
                  std::span<const std::size_t> slots) const;
    AggEntry* find(const AggUpdate& update, std::size_t slot);
    bool add(const AggUpdate& update, std::size_t place);
    void erase(AggEntry& entry);
    void zero(AggEntry& entry);
    void count_at(AggEntry& entry, std::span<const std::byte> value, std::size_t place);

    std::map<std::uint32_t, std::unique_ptr<AggDesc>> descs_;
    std::map<std::uint32_t, AggDesc> announced_;
    // If the keys of an aggregation have different layouts in different clauses, descs_
    // describes the first layout, and variants_ the other layouts.
    std::vector<std::unique_ptr<AggDesc>> variants_;
    std::map<std::uint32_t, Table> tables_;
    // A cache of entries, indexed by a hash of id and key. Its size is a power of two.
    std::vector<AggEntry*> recent_ = std::vector<AggEntry*>(1024);
    std::size_t n_entries_ = 0, n_places_ = 0;
    std::uint64_t n_bytes_ = 0, max_bytes_ = ~std::uint64_t{0};
    std::uint64_t next_order_ = 0;
};

} // namespace dt
