// SPDX-License-Identifier: MIT
// The session's arena as this process maps it: the program part read-only, then the
// shared data, which targets map as well, then the private part, which targets do not
// map.
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

    // Replaces what was mapped before. Keeps descriptors of its own: the program part's
    // is opened for reading. private_bytes may be 0.
    Result<Ok> map(int program_fd, std::uint64_t program_bytes, int data_fd,
                   std::uint64_t data_bytes, int private_fd,
                   std::uint64_t private_bytes);
    void* base() const { return base_; }
    std::uint32_t n_shards() const { return n_shards_; }
    // Returns the number of shards that targets map.
    std::uint32_t n_shared() const { return n_shared_; }
    // Shards that a runtime locked with this pid; nobody runs there any more.
    void free_shards_of(pid_t pid);
    std::uint64_t program_bytes() const { return program_bytes_; }
    // Returns the bytes that a target maps: the program part and the shared data.
    std::uint64_t shared_bytes() const { return shared_bytes_; }
    int program_fd() const { return program_fd_.get(); }
    int data_fd() const { return data_fd_.get(); }

private:
    void unmap();

    void* base_ = nullptr;
    std::uint64_t bytes_ = 0, shared_bytes_ = 0, program_bytes_ = 0;
    Fd program_fd_, data_fd_;
    std::uint32_t n_shards_ = 1, n_shared_ = 1;
};

} // namespace dt::agent
