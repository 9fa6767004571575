// SPDX-License-Identifier: MIT
// The interface through which emulation accesses the memory of a target.
//
// read() and write() transfer all bytes, or return false and transfer none. They never
// fault. An emulated instruction writes at most once, after all other steps that can
// fail.
//
// Other threads of the target may be running. An aligned access of 2, 4 or 8 bytes
// should be a single access, as in process_vm_readv() and /proc/PID/mem.
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
