// SPDX-License-Identifier: MIT
// Indents each row according to the calls and returns on its CPU (option flowindent).
#pragma once

#include "libdtrace/consume/record.hpp"
#include "libdtrace/consume/round.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace dt {

class CpuFlows {
public:
    void begin_round() { next_on_cpu_.clear(); }
    // Sets the arrow and the indentation of a record's row. Must be called once for
    // each record of the round, in order. The records of one firing change the
    // indentation only once.
    void set(std::span<const RoundRecord> records, std::size_t index, ProbeData& data);

private:
    void link(std::span<const RoundRecord> records);

    struct CpuFlow {
        int indent = 0;
        std::uint32_t last_probe = 0;
    };
    std::unordered_map<std::uint32_t, CpuFlow> flows_; // indexed by CPU
    // For each record of the round, the index of the next record on the same CPU. Empty
    // if not computed yet.
    std::vector<std::uint32_t> next_on_cpu_;
};

} // namespace dt
