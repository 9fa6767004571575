// SPDX-License-Identifier: MIT
// Machine code that will be written to a known address.
#pragma once

#include "base/target_addr.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace dt {

struct CodeBuffer {
    TargetAddr at; // address of the first byte
    std::vector<std::byte> bytes;

    TargetAddr here() const { return at + bytes.size(); }
    void append(std::span<const std::byte> more)
    {
        bytes.insert(bytes.end(), more.begin(), more.end());
    }
};

} // namespace dt
