// SPDX-License-Identifier: MIT
// Reports drops, which are the differences between two readings of the counters in all
// arenas.
//
// Targets can write to the counters. If a counter has decreased, its change is not
// reported. Drops are reported at most once a second. For each kind of drop, the first
// 16 CPUs get a line each, and all other CPUs share a line.
#pragma once

#include "libdtrace/consume/record.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace dt {

class DropCounts {
public:
    // Reports the arena's drops from now on.
    void add_arena(const dt_arena* arena);
    // Reads the arena's counters for the last time.
    void remove_arena(const dt_arena* arena);
    // Calls events.drop() for the drops since the last report. With OncePerSecond,
    // reports nothing within a second of the last report. Returns false if a handler
    // stopped the consumer.
    enum class When { OncePerSecond, Now };
    bool report(bool tags, Events& events, std::uint64_t now, When when);
    // Counts an aggregated value that the consumer read but could not store.
    void lose_aggregated(std::uint32_t shard);

private:
    using Counts = std::array<std::uint64_t, DTRACEDROP_N>;
    // One arena's counters at the last reading.
    struct Known {
        const dt_arena* arena;
        Counts session{};
        std::vector<Counts> shards{};
    };
    void read(Known& known);
    bool tell(const DropEvent& event, Events& events);
    bool tell_by_cpu(std::uint32_t kind, bool tags, Events& events);

    std::vector<Known> arenas_;
    // Drops since the last report. lost_in_shard_ contains the kinds with a separate
    // count for each CPU. lost_ contains the other kinds.
    std::vector<Counts> lost_in_shard_;
    Counts lost_{};
    Counts totals_{};
    std::uint64_t next_report_ = 0; // earliest time of the next report, in ns
};

// Returns a name such as "PRINCIPAL", or "" for an unknown kind.
std::string_view drop_name(std::uint32_t kind);

// Returns a text such as "2 drops on CPU 0". `where` is the text after "on". It is
// ignored for kinds without a separate count for each CPU. `tags` adds a prefix such as
// "[DTRACEDROP_PRINCIPAL] ".
std::string drop_text(std::uint32_t kind, std::uint64_t count, std::string_view where,
                      bool tags);

} // namespace dt
