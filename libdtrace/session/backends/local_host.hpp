// SPDX-License-Identifier: MIT
// The consumer as a host of the engine. BEGIN, END, tick and profile fire here. A load
// from user memory causes a fault. Variables such as pid describe the consumer. Each
// thread needs its own LocalHost.
#pragma once

#include "dif/engine.h"

#include <cstdint>
#include <sys/types.h>

namespace dt {

class LocalHost {
public:
    explicit LocalHost(void* arena);
    // Runs every ECB of a probe in the calling thread.
    void fire(std::uint32_t probe, std::uint64_t arg0 = 0, std::uint64_t arg1 = 0);
    std::uint32_t owner() const { return host_.owner; }

private:
    dt_host host_{};
};

// Returns the shard at which a host that runs in the consumer begins to search.
std::uint32_t shard_for(const void* arena, std::uint32_t cpu);

// Returns 1 if any process has a thread with this id, or if the id stands for a CPU
// (DTK_IS_CPU). The engine uses this to find shards whose owners have exited.
int thread_alive(dt_u32 tid);

} // namespace dt
