// SPDX-License-Identifier: MIT
// Limits how long an agent of another user may make its client wait.
//
// The agent may be any program of that user. It could use CPU time without end, or send
// one byte a second, or delay each of many replies. So all waits share a budget. It is
// 15 s at first. Each wait uses the budget up, and it grows by a tenth of the elapsed
// time until it is 15 s again.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dt::agent {

class Patience {
public:
    // Begins a wait. Returns the time at which the wait must end (monotonic, in ns).
    std::uint64_t begin(std::uint64_t now_ns)
    {
        if (at_ns_ != 0)
            left_ns_ = std::min(longest_ns, left_ns_ + (now_ns - at_ns_) / 10);
        at_ns_ = now_ns;
        return now_ns + left_ns_;
    }
    void end(std::uint64_t now_ns)
    {
        left_ns_ -= std::min(left_ns_, now_ns - at_ns_);
        at_ns_ = now_ns;
    }

private:
    static constexpr std::uint64_t longest_ns = 15'000'000'000;
    std::uint64_t left_ns_ = longest_ns;
    std::uint64_t at_ns_ = 0; // the beginning or the end of the last wait
};

} // namespace dt::agent
