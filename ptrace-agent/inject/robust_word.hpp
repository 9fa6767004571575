// SPDX-License-Identifier: MIT
// A word that the kernel marks (FUTEX_OWNER_DIED) when this process dies, however it
// dies, before any thread of a target is released.
//
//   | node: our own memory | word: the first page of a memfd, shared with the target |
//
// The kernel follows a list of the futexes that a dying thread holds
// (set_robust_list(2)) and finds each word at a fixed distance from its node. The page
// of the word contains nothing else: the nodes, which contain addresses of this
// process, are not in memory that a target can read.
#pragma once

#include "base/result.hpp"

namespace dt::agent {

class RobustWord {
public:
    RobustWord() = default;
    RobustWord(const RobustWord&) = delete;
    RobustWord& operator=(const RobustWord&) = delete;
    ~RobustWord() { release(); }

    // Holds the word, which is the first of the file. Only the calling thread holds it.
    Result<Ok> hold(int fd);
    void release();

private:
    void* pages_ = nullptr;
};

} // namespace dt::agent
