// SPDX-License-Identifier: MIT
// The consumer's aggregations: the values of all shards, merged by key.
//
//   shard buffers ──snapshot──> merge() ──> AggEntry per (aggregation, key bytes)
//
// Draining empties a shard's buffer, so merge() combines the drained values with those
// of earlier drains. clear(), trunc() and normalize() change the consumer's entries,
// never the arena.
//
// With keep_places(), an entry also stores one value for each CPU and one for an
// unknown CPU. A "place" is the index of such a value. If a thread uses the shard of
// another CPU, its values are counted for that CPU.
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

// One aggregation of a program. Offsets of the parts count from the start of the key.
struct AggDesc {
    std::uint32_t id = 0; // id of the variable
    std::string name;     // without the @
    std::uint32_t function = 0;
    std::uint64_t arg = 0;
    std::vector<RecordDesc> parts;
    std::uint32_t key_bytes = 0, value_bytes = 0;
    std::uint32_t epid = 0; // EPID of the first ECB found with this aggregation
    bool has_symbols =
        false;            // a part of the key names a symbol or module (is_symbol())
    bool printed = false; // printa() has printed it, so it is not printed at the end
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

// The order of a walk.
enum class AggOrder { Unsorted, ByOption, Key, Value, KeyVariable, ValueVariable };

// The request that a walk's callback returns for an entry.
enum class AggVerdict {
    Error = -1,
    Next = 0,
    Abort,
    Clear,
    Normalize,
    Denormalize,
    Remove
};

// One shard's value for one key.
struct AggUpdate {
    AggDesc* agg = nullptr;
    std::span<const std::byte> key, value;
};

struct Merged {
    std::size_t n = 0; // number of updates before the first invalid one
    // number of updates dropped because of the memory limit
    std::size_t n_dropped = 0;
};

class Aggregates {
public:
    // Declares an aggregation and the layout of its keys. Returns the existing
    // description if the layout is the same.
    AggDesc& declare(AggDesc desc);
    // Makes printa() print the aggregation as zero until declare() is called.
    void announce(AggDesc desc);
    // Returns null if the aggregation was neither declared nor announced.
    AggDesc* find(std::uint32_t id);
    const std::map<std::uint32_t, std::unique_ptr<AggDesc>>& all() const
    {
        return descs_;
    }

    // Makes each entry also store n_places values: one for each CPU, and one for an
    // unknown CPU. Must be called before the first merge().
    void keep_places(std::size_t n_places) { n_places_ = n_places; }
    // Returns n_places zero values of the aggregating function.
    std::vector<std::byte> zero_places(const AggDesc& agg) const;

    // Limits the approximate memory of all entries, because a target can create an
    // unlimited number of keys. Values for known keys are always added.
    void limit_memory(std::uint64_t bytes) { max_bytes_ = bytes; }

    static constexpr std::size_t most_updates = 32;
    // Adds values of one shard. Takes at most most_updates updates. `place` is the
    // number of the CPU, or n_places - 1 if the CPU is unknown. One call with many
    // updates is faster than many calls.
    Merged merge(std::span<const AggUpdate> updates, std::size_t place = 0);

    void clear(std::uint32_t id);
    void trunc(std::uint32_t id); // removes all keys
    // Keeps the n largest values. If n is negative, keeps the -n smallest values.
    void trunc(std::uint32_t id, std::int64_t n);
    void normalize(std::uint32_t id, std::uint64_t by);
    void denormalize(std::uint32_t id) { normalize(id, 1); }
    void clear_all(); // implements dtrace_aggregate_clear()

    // If id is 0, returns the entries of all aggregations.
    std::vector<AggEntry*> entries(std::uint32_t id, AggOrder order,
                                   const Display& display, bool reverse = false);
    // Joins aggregations by key. Returns one row for each key, with one column for each
    // aggregation. A column is null if its aggregation does not contain the key.
    std::vector<std::vector<AggEntry*>> joined(std::span<const std::uint32_t> ids,
                                               const Display& display);
    // Carries out the request of a walk's callback. Returns false for Error or Abort.
    bool obey(AggEntry& entry, AggVerdict verdict);
    // Calls fn for each entry and carries out fn's request. Returns false after Error
    // or Abort.
    bool walk(std::uint32_t id, AggOrder order, const Display& display, bool reverse,
              const std::function<AggVerdict(AggEntry&)>& fn);
    std::size_t size() const { return n_entries_; }

    // Compares the keys part by part, starting with first_part. A key with fewer parts
    // comes first.
    static int compare_keys(const AggEntry& a, const AggEntry& b,
                            std::size_t first_part);

private:
    // The keys are views of the bytes in the entries.
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
    // If an aggregation's keys have several layouts, descs_ contains the first layout,
    // and variants_ contains the other layouts.
    std::vector<std::unique_ptr<AggDesc>> variants_;
    std::map<std::uint32_t, Table> tables_;
    // A cache of entries, indexed by a hash of id and key. The size is a power of two.
    std::vector<AggEntry*> recent_ = std::vector<AggEntry*>(1024);
    std::size_t n_entries_ = 0, n_places_ = 0;
    std::uint64_t n_bytes_ = 0, max_bytes_ = ~std::uint64_t{0};
    std::uint64_t next_order_ = 0;
};

} // namespace dt
