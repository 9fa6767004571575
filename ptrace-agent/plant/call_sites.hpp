// SPDX-License-Identifier: MIT
// Finds the places in a target's text that make a given system call:
//
//   mov $NUMBER,%eax
//   ...                 at most six instructions without branches
//   syscall
#pragma once

#include "base/target_addr.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace dt::agent {

class AddressSpace;

struct CallSite {
    TargetAddr load; // the mov
    // The first instruction at which the first two arguments are in their registers.
    TargetAddr ready;
    TargetAddr call; // the syscall
};

// Returns the places in `text`, which is mapped at `at`.
std::vector<CallSite> call_sites(std::span<const std::byte> text, TargetAddr at,
                                 std::uint32_t number);

// Reads text as it was before the agent changed it. Returns an empty vector if it is
// larger than `max_bytes` or cannot be read.
std::vector<std::byte> original_text_of(const AddressSpace& space, TargetAddr from,
                                        TargetAddr end, std::uint64_t max_bytes);

} // namespace dt::agent
