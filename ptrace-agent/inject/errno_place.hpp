// SPDX-License-Identifier: MIT
// The place at which a target's threads keep their errno. The agent finds it in the
// machine code of the C library.
#pragma once

#include <cstdint>
#include <optional>

namespace dt::agent {

class AddressSpace;

class ErrnoPlace {
public:
    // Returns the offset of errno from the thread's fs base. Returns nullopt if the
    // process has no known C library, or if the library is not relocated yet. No event
    // reports the relocation, so a failed search is repeated at the 2nd, 4th, 8th, ...
    // call.
    std::optional<std::int64_t> offset(AddressSpace& space);
    // Makes the next call to offset() search again.
    void libraries_changed() { n_calls_ = 0; }
    void forget_all() { *this = {}; }

private:
    std::uint32_t n_calls_ = 0; // calls to offset() that returned nullopt
    std::optional<std::int64_t> offset_;
};

} // namespace dt::agent
