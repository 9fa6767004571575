// SPDX-License-Identifier: MIT
// The ranges of addresses that the agent has mapped in a target. If the agent is
// killed, the next agent finds them in the runtime's region (struct dt_rt_mapped_list)
// and unmaps them (remains.hpp).
//
// A range that is mapped before the runtime is loaded is written when the runtime is
// loaded. A target without a runtime has no list.
#pragma once

#include "base/target_addr.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace dt::agent {

class AddressSpace;

using AddressRange = std::pair<TargetAddr, std::uint64_t>; // first address, bytes

class MappedList {
public:
    // Adds a range. If the list in the target is full, the range is left out there.
    void add(AddressSpace& space, TargetAddr at, std::uint64_t bytes);
    // Writes the list into the runtime, which has just been loaded.
    void publish(AddressSpace& space) const;
    void forget_all() { all_.clear(); }

private:
    void write_from(AddressSpace& space, std::size_t first) const;

    std::vector<AddressRange> all_;
};

} // namespace dt::agent
