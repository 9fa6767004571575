// SPDX-License-Identifier: MIT
// A word that the kernel marks (FUTEX_OWNER_DIED) when this process dies for any
// reason. The kernel marks it before it resumes any thread of a target.
//
//   | node: our own memory | word: the first page of a memfd, shared with the target |
//
// The kernel follows a list of nodes (set_robust_list(2)), and finds each word at a
// fixed distance from its node. Nodes contain our addresses, which a target must not
// read. So a node is never in the page of its word.
#pragma once

#include "base/result.hpp"

namespace dt::agent {

class RobustWord {
public:
    RobustWord() = default;
    RobustWord(const RobustWord&) = delete;
    RobustWord& operator=(const RobustWord&) = delete;
    ~RobustWord() { release(); }

    // Maps the file and makes the calling thread the owner of its first word. Returns
    // an Error if mmap(2) fails. Releases the previous word in any case.
    Result<Ok> hold(int fd);
    // Unmaps the word, so that the kernel no longer marks it.
    void release();

private:
    void* pages_ = nullptr;
};

} // namespace dt::agent
