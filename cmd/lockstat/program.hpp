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

// The maximum number of frames in the lock's code before its caller.
constexpr unsigned n_lock_frames = 8;

// Returns the number of frames in stack() for an event; 0: it has no stack.
unsigned stack_frames(const Arguments& args, const Event& event);

// A range of addresses. Exits if there is no such symbol.
struct Range {
    std::uint64_t begin = 0, end = 0;
    bool has(std::uint64_t addr) const { return addr >= begin && addr < end; }
};
Range resolve(dtrace_hdl_t* session, const Place& place);

std::string program_text(const Arguments& args, const std::vector<Range>& locks);
