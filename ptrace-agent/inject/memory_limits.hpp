// SPDX-License-Identifier: MIT
// Limits of a process that apply to the memory of the runtime: RLIMIT_AS and
// mlockall(2).
#pragma once

#include "base/target_addr.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace dt::agent {

// Returns why the runtime may not take this much of the process's address space. Empty
// if it may.
std::string address_space_refusal(pid_t pid, std::uint64_t bytes);

// Which pages of new mappings mlockall(2) locks: none, those that the program touches
// (MCL_ONFAULT), or all at once (MCL_FUTURE).
enum class FutureLocks : std::uint8_t { none, on_fault, at_once };
// Returns the size of the memory that the process has locked, in KiB.
std::uint64_t locked_kib(pid_t pid);
// Returns how mlockall(2) treats new mappings, judging by a page that was just mapped
// and has not been touched. locked_before: the result of locked_kib() before it was
// mapped.
FutureLocks future_locks(pid_t pid, std::uint64_t locked_before, TargetAddr page);

} // namespace dt::agent
