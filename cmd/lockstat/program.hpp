// SPDX-License-Identifier: MIT
// The D program that tells of the events that were requested.
//
// For each event ID three aggregations: @nID counts, @tID sums ns, @qID distributes them, each
// by lock, caller, stack and, with -T, time. Of a wait the caller is found in the stack, which
// begins in the lock's code: its caller is 0.
#pragma once

#include <dtrace.h>

#include "arguments.hpp"

// How many frames the code of locks may have before its caller's.
constexpr unsigned n_lock_frames = 8;

// Frames in stack() of an event; 0: it has none.
unsigned stack_frames(const Arguments& args, const Event& event);

// An address and how far it reaches. Ends the program when there is no such symbol.
struct Range {
    std::uint64_t begin = 0, end = 0;
    bool has(std::uint64_t addr) const { return addr >= begin && addr < end; }
};
Range resolve(dtrace_hdl_t* session, const Place& place);

std::string program_text(const Arguments& args, const std::vector<Range>& locks);
