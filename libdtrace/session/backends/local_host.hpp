// SPDX-License-Identifier: MIT
// The consumer as a host of the engine. BEGIN, END, tick and profile fire here.
//
// There is no traced process here: loads of its memory fault, and pid, execname and
// similar variables are the consumer's own. One LocalHost belongs to one thread.
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

// Returns whether a thread exists, in any process. Shards of a dead owner are
// recovered.
int thread_alive(dt_u32 tid);

} // namespace dt
