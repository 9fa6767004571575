// SPDX-License-Identifier: MIT
// The memory of a target, as emulation sees it.
//
// read() and write() are all or nothing and say false when any byte cannot be had; they
// never fault. An emulated instruction makes at most one write, and it is the last
// thing that can fail, so that a false leaves the target as it was.
//
// Other threads of the target may be running. An implementation should make an aligned
// access of 2, 4 or 8 bytes in one piece, as the instruction itself would have done
// (process_vm_readv and /proc/PID/mem do).
#pragma once

#include "base/target_addr.hpp"

#include <cstddef>
#include <span>

namespace dt {

class TargetMemory {
public:
    virtual ~TargetMemory() = default;
    virtual bool read(TargetAddr from, std::span<std::byte> into) = 0;
    virtual bool write(TargetAddr to, std::span<const std::byte> bytes) = 0;
};

} // namespace dt
