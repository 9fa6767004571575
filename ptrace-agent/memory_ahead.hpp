// SPDX-License-Identifier: MIT
// Memory for what is about to come, got while nobody wants anything else of us.
//
// Page by page it takes a tenth of the time of planting. What is got is on the heap, and
// free again with end(): run_agent() has malloc keep it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace dt::agent {

class MemoryAhead {
public:
    void begin(std::size_t n_bytes); // in all
    bool wants_more() const { return n_wanted_ > n_got_; }
    void get_some(); // some 50 us
    void end();

private:
    std::size_t n_wanted_ = 0, n_got_ = 0;
    std::vector<std::unique_ptr<std::byte[]>> parts_;
};

// Without taking a processor from somebody else's thread, a target's say; n_clients: of
// the client's threads that want one, too.
bool is_a_processor_idle(std::size_t n_clients);

} // namespace dt::agent
