// SPDX-License-Identifier: MIT
// Records of what the program has set for SIGTRAP, while the kernel's state differs
// (trap_mask.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

namespace dt::agent {

// The kernel's struct sigaction: handler, flags, restorer, mask.
using KernelAction = std::array<std::uint64_t, 4>;

// Records for signal masks whether the program blocks SIGTRAP in addition. The masks
// themselves do not contain SIGTRAP. A program may set any number of masks, so all records are
// forgotten when there are too many.
class MaskRecords {
public:
    static constexpr std::size_t max_records = 1024;

    void set(std::uint64_t mask, bool blocks)
    {
        if (blocks_.size() >= max_records)
            blocks_.clear();
        blocks_[mask] = blocks;
    }
    std::optional<bool> find(std::uint64_t mask) const
    {
        auto found = blocks_.find(mask);
        return found == blocks_.end() ? std::nullopt : std::optional(found->second);
    }

private:
    std::unordered_map<std::uint64_t, bool> blocks_;
};

// The records of a process.
struct TrapRecords {
    bool hides = false; // TrapMask hides SIGTRAP in the masks of its threads
    MaskRecords masks;  // that any of its threads has set
    // The program's actions for other signals, as far as they are known. An action of
    // zeros has no handler. If the mask of an action contains SIGTRAP, the kernel's
    // action has the same mask without SIGTRAP.
    std::map<int, KernelAction> actions;
};

} // namespace dt::agent
