// SPDX-License-Identifier: MIT
// With flowindent, computes the indentation of each row from the calls and returns on
// its CPU.
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
    // Forgets the records of the previous round.
    void begin_round() { next_on_cpu_.clear(); }
    // Sets the arrow and the indentation of a record's row. Call it once for each
    // record of the round, in order. If several clauses run in one firing, the
    // indentation changes only once. To detect such a firing, the record of an entry is
    // compared with the previous record on its CPU, and the record of a return with the
    // next one.
    void set(std::span<const RoundRecord> records, std::size_t index, ProbeData& data);

private:
    void link(std::span<const RoundRecord> records);

    struct CpuFlow {
        int indent = 0;
        std::uint32_t last_probe = 0;
    };
    std::unordered_map<std::uint32_t, CpuFlow> flows_; // indexed by CPU
    // For each record of the round, the index of the next one on its CPU. Empty if not
    // computed yet.
    std::vector<std::uint32_t> next_on_cpu_;
};

} // namespace dt
