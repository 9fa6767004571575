// SPDX-License-Identifier: MIT
// Maps the session's arena into the agent, in three adjacent parts:
//
//   part      access of the agent and of targets
//   program   read-only
//   data      read-write
//   private   read-write for the agent; no target maps this part
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "dif/arena.h"

#include <cstdint>

namespace dt::agent {

class ArenaMap {
public:
    ArenaMap() = default;
    ArenaMap(const ArenaMap&) = delete;
    ArenaMap& operator=(const ArenaMap&) = delete;
    ~ArenaMap() { unmap(); }

    // Maps the three parts and removes the previous mapping. If this fails, the
    // previous mapping remains. Sizes are multiples of 64 KiB; private_bytes may be 0.
    // The object duplicates the descriptors of the program and data parts.
    Result<Ok> map(int program_fd, std::uint64_t program_bytes, int data_fd,
                   std::uint64_t data_bytes, int private_fd,
                   std::uint64_t private_bytes);
    void* base() const { return base_; }
    std::uint32_t n_shards() const { return n_shards_; }
    // Returns the number of shards that targets map.
    std::uint32_t n_shared() const { return n_shared_; }
    // Unlocks the shards that the process `pid` has locked. No thread of that process
    // may be in the runtime.
    void free_shards_of(pid_t pid);
    std::uint64_t program_bytes() const { return program_bytes_; }
    // Returns the size of the parts that a target maps: the program and the data.
    std::uint64_t shared_bytes() const { return shared_bytes_; }
    // Returns a number that changes with each call of map().
    unsigned generation() const { return generation_; }
    int program_fd() const { return program_fd_.get(); }
    int data_fd() const { return data_fd_.get(); }

private:
    void unmap();

    void* base_ = nullptr;
    std::uint64_t bytes_ = 0, shared_bytes_ = 0, program_bytes_ = 0;
    unsigned generation_ = 0;
    Fd program_fd_, data_fd_;
    std::uint32_t n_shards_ = 1, n_shared_ = 1;
};

} // namespace dt::agent
