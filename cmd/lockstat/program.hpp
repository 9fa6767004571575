// SPDX-License-Identifier: MIT
// Generates the D program for the requested events.
//
// The event with the number ID has up to three aggregations: @nID counts events, @tID
// is the sum of their times in ns, and @qID is the distribution of the times. The keys
// are the lock, the caller, the stack if it is needed and, with -T, the time stamp. For
// a wait (contention), the key for the caller is 0, and the caller is found in the
// stack later.
#pragma once

#include <dtrace.h>

#include "arguments.hpp"

// The maximum number of lock functions at the top of a stack. Their frames are recorded
// in addition to the requested frames.
constexpr unsigned n_lock_frames = 8;

// Returns the number of frames that stack() records for an event, or 0 if it has no
// stack.
unsigned stack_frames(const Arguments& args, const Event& event);

struct Range {
    std::uint64_t begin = 0, end = 0;
    bool has(std::uint64_t addr) const { return addr >= begin && addr < end; }
};
// Returns the address range of a place. The default size is that of the symbol. Exits
// with a message if the symbol does not exist.
Range resolve(dtrace_hdl_t* session, const Place& place);

// Returns the D program. If `locks` is not empty, the program watches only these locks.
std::string program_text(const Arguments& args, const std::vector<Range>& locks);
