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
    std::uint32_t number = 0;
};

// Returns the places in `text`, which is mapped at `at`, that make one of these calls.
std::vector<CallSite> call_sites(std::span<const std::byte> text, TargetAddr at,
                                 std::span<const std::uint32_t> numbers);

// Searches the text of a target as it was before the agent changed it. Searches no more
// than 64 MB in all, because a target may map any amount of text.
class CallSearch {
public:
    explicit CallSearch(const AddressSpace& space) : space_(space) {}
    // Returns the places from `from` to `end`, or to text that cannot be read. Returns
    // none if the limit would be exceeded.
    std::vector<CallSite> search(TargetAddr from, TargetAddr end,
                                 std::span<const std::uint32_t> numbers);

private:
    const AddressSpace& space_;
    std::uint64_t left_bytes_ = 64 << 20;
    std::vector<std::byte> piece_; // the text is read in pieces
};

} // namespace dt::agent
