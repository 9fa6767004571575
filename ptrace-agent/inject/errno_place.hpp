// SPDX-License-Identifier: MIT
// The place at which a target's threads keep their errno. The agent finds it in the
// machine code of the C library, and writes it to the runtime's config.
#pragma once

#include <cstdint>
#include <optional>

namespace dt::agent {

class AddressSpace;

class ErrnoPlace {
public:
    // Returns the offset of errno from the thread's fs base. Returns nullopt if the
    // process has no C library, or if the agent does not know the library's code.
    std::optional<std::int64_t> offset(AddressSpace& space);
    // Makes offset() search again if it has found nothing so far, because the C library
    // may be mapped now.
    void libraries_changed() { searched_ = offset_.has_value(); }
    void forget_all() { *this = {}; }

private:
    bool searched_ = false;
    std::optional<std::int64_t> offset_;
};

} // namespace dt::agent
