// SPDX-License-Identifier: MIT
// Limits of a process that apply to the memory of the runtime: RLIMIT_AS and
// mlockall(2).
#pragma once

#include "base/target_addr.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace dt::agent {

// Returns why the runtime may not take so much address space of the process. Empty if
// it may.
std::string address_space_refusal(pid_t pid, std::uint64_t bytes);

// How mlockall(2) treats new mappings: not at all, or it locks a page when the program
// touches it (MCL_ONFAULT), or it locks all pages at once (MCL_FUTURE).
enum class FutureLocks : std::uint8_t { none, on_fault, at_once };
// Returns the size of the memory that the process has locked, in KiB.
std::uint64_t locked_kib(pid_t pid);
// Returns how mlockall(2) treated a page that was just mapped and not touched.
// locked_before is locked_kib() from before it was mapped.
FutureLocks future_locks(pid_t pid, std::uint64_t locked_before, TargetAddr page);

} // namespace dt::agent
