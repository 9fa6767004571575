// SPDX-License-Identifier: MIT
// Finds out whether the threads of a stopped target may still use memory that a killed
// agent has left.
//
// A thread uses a range if its pc or its stack pointer is in the range. It may return to
// a range if a signal handler has interrupted code in the range, or if the handler itself
// returns to the range (Rescue::restorer()). Both addresses are in a signal frame, on the
// thread's stack or on another stack. So the stacks are searched for signal frames.
// A stale frame looks the same, so a range may count as used although no thread needs it.
//
// In Go programs, all stacks are in the heap, which is one mapping. The search of a stack
// also finds the frames on all stacks after it, and an alternate signal stack keeps the
// frame of its last signal. So a frame on an alternate stack counts only if a stack that
// is in use ends below the frame, on the same alternate stack.
//
// No return address on a stack leads to our code, because a moved call pushes the
// original return address (fasttrap).
//
// One case is not detected: a coroutine switches to another stack inside a signal
// handler, and no thread runs on the interrupted stack or on the handler's stack.
#pragma once

#include "base/target_addr.hpp"
#include "process/maps.hpp"
#include "process/page_map.hpp"
#include "ptrace-agent/hold/tracees.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace dt::agent {

class CodeUse {
public:
    CodeUse(Tracees& tracees, AddressSpace& space, const std::vector<Mapping>& mappings)
        : tracees_(tracees), space_(space), mappings_(mappings),
          pages_(space.proc_tid())
    {
    }

    // Adds a range, which must not overlap the other ranges.
    void add(TargetAddr begin, TargetAddr end) { ranges_.push_back({begin, end}); }
    // Examines all threads. Returns false if that is not possible, or if the stacks are
    // too large. All ranges then count as used.
    bool examine();
    // Returns whether a range that was added is used and overlaps [begin, end).
    bool is_used(TargetAddr begin, TargetAddr end) const;

private:
    struct Range {
        TargetAddr begin, end;
        bool used = false;
    };
    // A signal frame.
    struct Frame {
        TargetAddr at;              // the word with the segment registers
        TargetAddr alternate_stack; // its first address, or 0 if the frame is not on it
        TargetAddr restorer, pc, sp;
    };

    bool examine(const Thread& thread);
    bool search(TargetAddr from);
    bool search_pages(TargetAddr from, TargetAddr end);
    void see_words();
    void use(const Frame& frame);
    bool use_frames_in_use();
    bool is_in_use(const Frame& frame) const;
    void mark(TargetAddr address);

    Tracees& tracees_;
    AddressSpace& space_;
    const std::vector<Mapping>& mappings_;
    PageMap pages_;
    std::vector<Range> ranges_; // ascending, once examine() was called
    bool complete_ = false;
    std::vector<TargetAddr>
        stacks_; // addresses from which stacks are still to be searched
    std::vector<TargetAddr> ends_; // the lowest addresses in use of all stacks so far
    std::vector<Frame> unused_; // frames on alternate stacks that are not in use so far
    // The lowest address from which the stack in a mapping was searched, by the start of
    // the mapping.
    std::map<TargetAddr, TargetAddr> searched_;
    std::uint64_t n_searched_ = 0;     // bytes
    std::vector<std::uint64_t> words_; // consecutive words of a stack
    TargetAddr words_at_;              // the address of the first of them
};

} // namespace dt::agent
