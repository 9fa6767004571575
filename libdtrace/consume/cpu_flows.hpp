// SPDX-License-Identifier: MIT
// How rows are indented with flowindent: by the calls of each CPU.
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
    // Forgets the records of the round before.
    void begin_round() { next_on_cpu_.clear(); }
    // Sets the arrow and the indentation of a record's row. Called once for each record of
    // the round, in their order. Several clauses of one firing indent once: an entry is
    // compared with the record before it on its CPU, a return with the record after it.
    void set(std::span<const RoundRecord> records, std::size_t index, ProbeData& data);

private:
    void link(std::span<const RoundRecord> records);

    struct CpuFlow {
        int indent = 0;
        std::uint32_t last_probe = 0;
    };
    std::unordered_map<std::uint32_t, CpuFlow> flows_; // by CPU
    // For each record of the round, the index of the next one of its CPU. Empty: not
    // computed.
    std::vector<std::uint32_t> next_on_cpu_;
};

} // namespace dt
