// SPDX-License-Identifier: MIT
// Drops: the differences between two looks at the arena's counts.
//
// Counts lie in the data part and may say anything: one that fell is taken as the new
// start and reports nothing.
#pragma once

#include "libdtrace/consume/record.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace dt {

class DropCounts {
public:
    // Calls events.drop() for each kind and shard that lost something since the last
    // time. False: a handler said no.
    bool report(const dt_arena* arena, bool tags, Events& events);
    // Counts an aggregated value that the consumer took from a shard and could not keep.
    void lose_aggregated(std::uint32_t shard);

private:
    using Counts = std::array<std::uint64_t, DTRACEDROP_N>;
    std::vector<Counts> shards_;
    Counts session_{};
    Counts totals_{};
    std::vector<std::uint64_t> not_kept_; // by shard, since the last report
};

// "PRINCIPAL", "" when there is no such kind.
std::string_view drop_name(std::uint32_t kind);

// "2 drops on CPU 0"; cpu counts only for kinds that are counted by CPU.
std::string drop_text(std::uint32_t kind, std::uint64_t count, std::uint32_t cpu,
                      bool tags);

} // namespace dt
