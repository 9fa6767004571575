// SPDX-License-Identifier: MIT
// Reports drops, which are the differences between two readings of the counters in the
// session's arenas. The drops of all arenas are added up.
//
// The counters are in the data part of an arena, where targets can write anything. If
// a counter has decreased, its new value becomes the base for later differences, and
// nothing is reported. The number of lines is limited: drops are reported at most once
// a second, and all CPUs after the first 16 with drops share a line.
#pragma once

#include "libdtrace/consume/record.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace dt {

class DropCounts {
public:
    // Adds an arena. Its drops are reported from now on.
    void add_arena(const dt_arena* arena);
    // Reads the counters of an arena for the last time.
    void remove_arena(const dt_arena* arena);
    // Calls events.drop() for each kind of drop that has occurred since the last
    // report, and for each CPU if the kind is counted by CPU. Unless `when` is Now,
    // reports nothing within a second of the last report. Returns false if a handler
    // stopped the consumer.
    enum class When { OncePerSecond, Now };
    bool report(bool tags, Events& events, std::uint64_t now, When when);
    // Counts an aggregated value that the consumer took from a shard and could not
    // store.
    void lose_aggregated(std::uint32_t shard);

private:
    using Counts = std::array<std::uint64_t, DTRACEDROP_N>;
    // The counters of one arena at the last reading.
    struct Known {
        const dt_arena* arena;
        Counts session{};
        std::vector<Counts> shards{};
    };
    void read(Known& known);
    bool tell(const DropEvent& event, Events& events);
    bool tell_by_cpu(std::uint32_t kind, bool tags, Events& events);

    std::vector<Known> arenas_;
    // Drops since the last report. lost_in_shard_ is indexed by shard, and contains the
    // kinds that are counted by CPU. lost_ contains the other kinds.
    std::vector<Counts> lost_in_shard_;
    Counts lost_{};
    Counts totals_{};
    std::uint64_t next_report_ = 0; // earliest time of the next report, in ns
};

// Returns the name of a kind of drop, for example "PRINCIPAL". Returns "" if there is
// no such kind.
std::string_view drop_name(std::uint32_t kind);

// Returns the text of a report, for example "2 drops on CPU 0". `where` is the text
// after "on", such as "CPU 0" or "3 more CPUs". It is ignored for kinds that are not
// counted by CPU. With `tags`, the result begins with the name of the kind, for example
// "[DTRACEDROP_PRINCIPAL] ".
std::string drop_text(std::uint32_t kind, std::uint64_t count, std::string_view where,
                      bool tags);

} // namespace dt
