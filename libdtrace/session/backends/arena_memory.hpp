// SPDX-License-Identifier: MIT
// The memory of an arena in user space: three memfds, mapped one after the other.
//
//   program fd   written only through the mapping of this process; sealed against new
//                writable mappings
//   data fd      written by every host; targets map it
//   private fd   written by this process and by the agent; no other process maps it
//
// The memfds are closed on exec and fixed in size. Child processes do not inherit the
// mappings. The kernel module's arena has no private part.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "dif/engine.h"

namespace dt {

class ArenaMemory {
public:
    static Result<ArenaMemory> create(const dt_arena_config& config);
    // Creates an arena that has the program part of `first`, mapped read-only. Its data
    // part and private part are new. `first` must come from create(). `number` is 1 or
    // more, and unique.
    static Result<ArenaMemory> create_like(const ArenaMemory& first,
                                           std::uint64_t number);
    // Maps the kernel module's arena. The program part is read-only. `device` is an
    // open descriptor of /dev/dtrace.
    static Result<ArenaMemory> map(int device, std::uint64_t program_bytes,
                                   std::uint64_t total_bytes);
    ArenaMemory(ArenaMemory&& other) noexcept;
    ArenaMemory& operator=(ArenaMemory&& other) noexcept;
    ~ArenaMemory();

    // Prefaults pages outside the program part, so that they are charged to this
    // process's control group.
    void touch(std::uint64_t at, std::uint64_t bytes);

    void* base() const { return base_; }
    std::uint64_t program_bytes() const { return program_bytes_; }
    std::uint64_t private_at() const { return private_at_; }
    std::uint64_t total_bytes() const { return total_bytes_; }
    int program_fd() const { return program_.get(); }
    int data_fd() const { return data_.get(); }
    int private_fd() const { return private_.get(); }

private:
    ArenaMemory() = default;
    Result<Ok> reserve();
    Result<Ok> map_data();
    void* base_ = nullptr;
    std::uint64_t program_bytes_ = 0, private_at_ = 0, total_bytes_ = 0;
    Fd program_, data_, private_;
};

} // namespace dt
