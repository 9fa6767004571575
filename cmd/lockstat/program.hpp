// SPDX-License-Identifier: MIT
// The D program for the requested events.
//
// For each event ID there are three aggregations: @nID counts, @tID sums ns, @qID
// distributes them. Each is keyed by lock, caller, stack and, with -T, time. For a
// wait, the caller is found in the stack, which starts in the lock's code; its caller
// key is 0.
#pragma once

#include <dtrace.h>

#include "arguments.hpp"

// The maximum number of frames between the top of the stack and the lock's caller.
constexpr unsigned n_lock_frames = 8;

// Returns the number of frames that stack() records for an event, or 0 if it has no
// stack.
unsigned stack_frames(const Arguments& args, const Event& event);

// A range of addresses.
struct Range {
    std::uint64_t begin = 0, end = 0;
    bool has(std::uint64_t addr) const { return addr >= begin && addr < end; }
};
// Returns the range of a place. Exits if its symbol does not exist.
Range resolve(dtrace_hdl_t* session, const Place& place);

std::string program_text(const Arguments& args, const std::vector<Range>& locks);
