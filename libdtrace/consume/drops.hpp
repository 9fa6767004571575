// SPDX-License-Identifier: MIT
// Drops: the differences between two looks at the arena's counts.
//
// Counts are in the data part of the arena, where targets can write anything. A count that
// fell is the new start and reports nothing. Reports have a limited number of lines: they
// come once a second, and CPUs after the first ones share a line.
#pragma once

#include "libdtrace/consume/record.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace dt {

class DropCounts {
public:
    // Calls events.drop() for each kind and shard that lost something since the last
    // report. Does so only if the last report was a second before `now`, or at once if `when`
    // says so. Returns false if a handler ended the consumption.
    enum class When { OncePerSecond, Now };
    bool report(const dt_arena* arena, bool tags, Events& events, std::uint64_t now,
                When when);
    // Counts an aggregated value that the consumer took from a shard and could not keep.
    void lose_aggregated(std::uint32_t shard);

private:
    using Counts = std::array<std::uint64_t, DTRACEDROP_N>;
    struct Shard {
        Counts known{}; // what the shard said when it was last read
        Counts lost{};  // since the last report, of kinds that are counted by CPU
    };
    void read(const dt_arena* arena);
    bool tell(const DropEvent& event, Events& events);
    bool tell_by_cpu(std::uint32_t kind, bool tags, Events& events);

    std::vector<Shard> shards_;
    Counts session_{}; // what the session said when it was last read
    Counts lost_{};    // since the last report, of kinds that are not counted by CPU
    Counts totals_{};
    std::uint64_t next_report_ = 0; // ns
};

// "PRINCIPAL", "" when there is no such kind.
std::string_view drop_name(std::uint32_t kind);

// Returns "2 drops on CPU 0". `where` is "CPU 0", and is only used for kinds that are
// counted by CPU.
std::string drop_text(std::uint32_t kind, std::uint64_t count, std::string_view where,
                      bool tags);

} // namespace dt
