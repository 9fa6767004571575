// SPDX-License-Identifier: MIT
// Generates the D program. Its clauses record one system call in one firing:
//
//   kind of the record, thread id, the six argument registers, the result, errno, the
//   times of the entry and of the return, the CPU time, then one record for each memory
//   argument, and the stack if it was requested
//
// The clauses for calls with memory arguments come first. If such a clause cannot read
// the memory, the last clause records the call without it.
#pragma once

#include "arguments.hpp"

#include <string>
#include <string_view>
#include <vector>

enum RecordKind {
    record_call = 1, // a call that has returned
    record_entry,    // a call that does not return, or is execve
    record_executed, // a program was executed
    record_signal,   // a signal that the thread receives
};

constexpr unsigned n_numbers = 13; // numbers before the memory arguments
constexpr unsigned buffer_bytes = 32;

// Returns the number of bytes that are recorded for a memory argument. Returns 0 for a
// path, which is a string.
unsigned bytes_of(char kind);
// Returns whether the letter denotes a buffer, of which only the first bytes are recorded.
bool is_buffer(char kind);
// Returns whether the letter denotes a path or memory.
bool is_memory(char kind);

std::string program_text(const Arguments& args);
